//! Flags that need more of the source than names and bytes do to a copy of another host what they do on one host,
//! whatever comes ahead, and whatever is requested together.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::listing::{Entry, differences, listing};
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, expect, make_folder, make_symlink, noise_file, set_mtime, set_xattr};

const FLAGS: [&[&str]; 12] = [
    &["--backup"],
    &["--backup=numbered"],
    &["--backup", "--update=differs"],
    &["--backup", "--checksum"],
    &["--backup", "--delete"],
    &["--backup", "--files-from=list"],
    &["--files-from=list", "--update=differs"],
    &["--checksum"],
    &["--update=differs"],
    &["-i"],
    &["-i", "--update=differs"],
    &["-n", "--update=differs"],
];

/// The source is `served/from`; `before` is what its target has.
fn trees(home: &Home) {
    for name in ["served", "served/from", "served/from/many", "before", "before/many"] {
        make_folder(home, name);
    }
    for number in 0..150 {
        noise_file(home, &format!("served/from/many/{number}"), 100 + number * 7, number as u64);
        home.file(format!("served/from/many/empty-{number}"), 0);
        noise_file(home, &format!("before/many/{number}"), 100 + (number % 3) * number * 7, number as u64);
        home.file(format!("before/many/empty-{number}"), number % 2);
        let holed = fs::File::create(home.path(format!("served/from/many/holed-{number}"))).expect("room");
        holed.set_len(20_000).expect("a hole");
    }
    // Names that backups would have, of names that are replaced.
    for name in ["many/7~", "many/empty-9~", "many/11.~1~"] {
        noise_file(home, &format!("served/from/{name}"), 50, 3);
        noise_file(home, &format!("before/{name}"), 20, 4);
    }
    fs::hard_link(home.path("served/from/many/1"), home.path("served/from/many/one"))
        .expect("one file system");
    fs::hard_link(home.path("served/from/many/empty-1"), home.path("served/from/none"))
        .expect("one file system");
    make_symlink(home, "many/1", "served/from/link");
    make_symlink(home, "elsewhere", "before/link");
    for name in ["served/from/many/5", "served/from/many/empty-5", "before/many/6"] {
        set_xattr(&home.path(name), "user.kept", b"1");
    }
    for (number, name) in ["many/20", "many/21", "many/empty-20"].into_iter().enumerate() {
        fs::copy(home.path(format!("served/from/{name}")), home.path(format!("before/{name}")))
            .expect("room");
        for place in ["served/from", "before"] {
            set_mtime(&home.path(format!("{place}/{name}")), 1_000_000_000_000_000_000 + number as u64);
        }
        let mode = fs::Permissions::from_mode(0o600);
        fs::set_permissions(home.path(format!("before/{name}")), mode).expect("it is ours");
    }
    let listed: String = (0..60).map(|number| format!("many/{number}\nmany/empty-{number}\n")).collect();
    fs::write(home.path("list"), listed + "link\nnone\n").expect("room");
}

/// Entries of a target. Folders that a list does not name keep no times: those of them are when they were made. Notes of a
/// run that did not end well are in the order in which it went.
fn target_of(home: &Home, name: &str) -> BTreeMap<PathBuf, Entry> {
    let mut target = listing(&home.path(name));
    let is_note =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".pump-"));
    target.retain(|path, _| !is_note(path));
    target.values_mut().filter(|entry| entry.kind == "folder").for_each(|entry| entry.mtime = (0, 0));
    target
}

/// The lines of a run in an order of their own, without those that tell how fast it was.
fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        text.lines().filter(|line| line.contains('/') || line.contains("link")).map(String::from).collect();
    lines.sort();
    lines
}

/// A list whose names lie in more folders than are looked at together; with names that are missing, folders that are
/// none, links to folders, folders with all that lies in them, and one deep below others.
fn listed_folders(home: &Home) {
    for name in ["served", "served/from", "before"] {
        make_folder(home, name);
    }
    let (deep, mut list) = (["deeper"; 70].join("/"), String::new());
    for number in 0..600 {
        let folder = format!("{:02}/{number}", number % 40);
        fs::create_dir_all(home.path(format!("served/from/{folder}/below"))).expect("room");
        for name in ["listed", "other", "below/listed~", "below/other"] {
            fs::write(home.path(format!("served/from/{folder}/{name}")), format!("{name} {number}"))
                .expect("room");
        }
        list += &format!("{folder}/listed\n{folder}/missing\n{folder}/below/listed~\n");
    }
    for root in ["served/from", "before"] {
        fs::create_dir_all(home.path(format!("{root}/{deep}"))).expect("room");
        fs::create_dir_all(home.path(format!("{root}/00/0/below"))).expect("room");
    }
    fs::write(home.path(format!("served/from/{deep}/file")), "deep").expect("room");
    for name in ["before/00/0/listed", "before/00/0/below/listed~", "before/00/0/listed~"] {
        fs::write(home.path(name), "older").expect("room");
    }
    fs::write(home.path("served/from/file"), "no folder").expect("room");
    fs::write(home.path("before/01"), "no folder").expect("room");
    make_symlink(home, "00/0", "served/from/link");
    list += &format!(
        "{deep}/file\nfile/below\nlink/listed\nnowhere/below\n02/2/\n03/3/below/\n03/3/below/other\n"
    );
    fs::write(home.path("list"), list).expect("room");
}

#[test]
fn lists_of_names_in_many_folders_do_between_hosts_what_they_do_on_one() {
    let flags: [&[&str]; 5] =
        [&[], &["--update=differs"], &["--backup"], &["-n", "-i"], &["-c", "--exclude=4?"]];
    let rows: Vec<Vec<&str>> = flags.iter().map(|flags| [&["--files-from=list"], *flags].concat()).collect();
    compared(listed_folders, &["from/"], &rows);
}

/// Files that are named one by one, and existing files under their names at the target.
fn named_files(home: &Home) {
    for name in ["served", "served/from", "served/from/folder", "before"] {
        make_folder(home, name);
    }
    for number in 0..NAMED {
        noise_file(home, &format!("served/from/{number}"), 100 + 70 * (number % 9), number as u64);
        if number % 3 == 0 {
            noise_file(home, &format!("before/{number}"), 100 + 70 * (number % 9), (number % 2) as u64);
        }
        if number % 6 == 0 {
            fs::copy(home.path(format!("served/from/{number}")), home.path(format!("before/{number}")))
                .expect("room");
            for place in ["served/from", "before"] {
                set_mtime(&home.path(format!("{place}/{number}")), 1_000_000_000_000_000_000);
            }
        }
    }
    home.file("served/from/1", 0);
    fs::remove_file(home.path("served/from/17")).expect("it was made");
    fs::hard_link(home.path("served/from/30"), home.path("served/from/again")).expect("one file system");
    fs::write(home.path("served/from/folder/in it"), "in it").expect("room");
    noise_file(home, "served/from/large", 3_000_000, 7);
    fs::File::create(home.path("served/from/holed")).and_then(|file| file.set_len(40_000)).expect("a hole");
    make_symlink(home, "folder/in it", "served/from/link");
    set_xattr(&home.path("served/from/6"), "user.kept", b"1");
}

const NAMED: usize = 80;

#[test]
fn files_named_one_by_one_do_between_hosts_what_they_do_on_one() {
    let numbers = (0..NAMED).map(|number| format!("from/{number}"));
    let others = ["again", "folder", "large", "holed", "link"].map(|name| format!("from/{name}"));
    let names: Vec<String> = numbers.chain(others).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let flags: [&[&str]; 7] = [
        &[],
        &["--update=differs"],
        &["--checksum"],
        &["--backup"],
        &["-i"],
        &["-n", "-u"],
        &["--min-size=200B"],
    ];
    let rows: Vec<Vec<&str>> = flags.iter().map(|flags| flags.to_vec()).collect();
    compared(named_files, &names, &rows);
}

#[test]
fn flags_do_between_hosts_what_they_do_on_one() {
    let rows: Vec<Vec<&str>> = FLAGS.iter().map(|flags| flags.to_vec()).collect();
    compared(trees, &["from/"], &rows);
}

/// Copies these of the source with each row of flags, here and from and to another host.
fn compared(make: fn(&Home), sources: &[&str], rows: &[Vec<&str>]) {
    let home = Home::new();
    make(&home);
    let begin = |target: &str| {
        let _ = fs::remove_dir_all(home.path(target));
        expect(&home.pump(&["copy", "-q", "--sync=none", "before/", target]), 0, &[], target);
    };
    let [here, pushed, pulled] = Way::SERVED.map(|way| TwoHosts::new(&home, way));
    let local: Vec<String> = sources.iter().map(|source| format!("served/{source}")).collect();
    let local: Vec<&str> = local.iter().map(String::as_str).collect();
    for session in ["--read-ahead=never", "--read-ahead=always"] {
        for flags in rows {
            ["here", "pulled", "served/pushed"].into_iter().for_each(begin);
            let words = |session: &[&'static str]| [&["copy", "--sync=none"], session, flags].concat();
            let on_one = here.pump(&words(&[]), &local, "here");
            let expected = target_of(&home, "here");
            for (hosts, sources, to) in [(&pulled, sources, "pulled"), (&pushed, &local[..], "pushed")] {
                let (row, target) = (format!("{session} {flags:?} {to}"), hosts.target(to));
                let run = hosts.pump(&words(&[session]), sources, to);
                expect(&run, on_one.status, &[], &row);
                assert_eq!(differences(&expected, &target_of(&home, &target)), [""; 0], "{row}");
                let own = |text: &str| {
                    let text = text.replace(&hosts.to(to), "here").replace(&hosts.from("from"), "from");
                    let text = text.replace(&target, "here");
                    lines(&text.replace("served/from", "from").replace("'pushed", "'here"))
                };
                assert_eq!(own(&run.out), own(&on_one.out), "{row}");
            }
        }
    }
}
