//! Flags that need more of the source than names and bytes do to a copy of another host what they do on one host,
//! whatever comes ahead, and whatever is requested together.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::listing::{Entry, differences, listing};
use crate::support::serving::Serving;
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

/// What stands at a target. Folders that a list does not name keep no times: those of them are when they were made.
fn target_of(home: &Home, name: &str) -> BTreeMap<PathBuf, Entry> {
    let mut target = listing(&home.path(name));
    target.values_mut().filter(|entry| entry.kind == "folder").for_each(|entry| entry.mtime = (0, 0));
    target
}

/// The lines of a run in an order of their own, without those that tell how fast it was.
fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| line.contains("many/") || line.contains("link"))
        .map(String::from)
        .collect();
    lines.sort();
    lines
}

#[test]
fn flags_do_between_hosts_what_they_do_on_one() {
    let home = Home::new();
    trees(&home);
    let begin = |target: &str| {
        let _ = fs::remove_dir_all(home.path(target));
        expect(&home.pump(&["copy", "-q", "--sync=none", "before/", target]), 0, &[], target);
    };
    for session in ["--read-ahead=never", "--read-ahead=always"] {
        let serving = Serving::new(&home, &[]);
        for flags in FLAGS {
            let row = format!("{session} {flags:?}");
            let copy = |words: &[&str], from: &str, to: &str| {
                home.pump(&[&["copy", "--sync=none"], words, flags, &[from, to]].concat())
            };
            ["here", "pulled", "served/pushed"].into_iter().for_each(begin);
            let words = ["--ticket-file=ticket", session];
            let here = copy(&[], "served/from/", "here");
            let pulled = copy(&words, &serving.at("from/"), "pulled");
            let pushed = copy(&words, "served/from/", &serving.at("pushed"));
            let target = target_of(&home, "here");
            for (run, to) in [(pulled, "pulled"), (pushed, "served/pushed")] {
                expect(&run, here.status, &[], &row);
                let found = differences(&target, &target_of(&home, to));
                assert_eq!(found, [""; 0], "{row} {to}");
                let own = |text: &str| {
                    let text = text.replace(&serving.at("pushed"), "here").replace(to, "here");
                    lines(&text.replace("served/from", "from").replace("'pushed/", "'here/"))
                };
                assert_eq!(own(&run.out), own(&here.out), "{row} {to}");
            }
        }
    }
}
