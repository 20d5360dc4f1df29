//! Names that a file cannot get, known before its bytes are moved: append-only folders, files that nobody may replace,
//! mounted files, sticky folders, letters that a file system refuses. Nothing remains that needs chattr(1) to be removed.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use datapump_engine::Errno;
use datapump_engine::os::linux::{KernelCall, answer_calls_with};

use crate::support::serving::Serving;
use crate::support::{
    Home, Outcome, PUMP, as_ordinary_user, expect, has_content, listing, make_folder, noise, noise_file,
    outcome, set_mode,
};
use crate::wider_parts::mounts::{Bind, Chattr};
use crate::wider_parts::{
    Kind, Mount, leftovers, program, pump, pump_command, pump_with, report, with_content,
};

const MIB: usize = 1 << 20;
const KEPT: &str =
    "its folder is append-only: nothing in it can be replaced or removed (chattr -a FOLDER allows it)";

/// A tree with what is named otherwise: small, large and linked files, links, folders.
fn make_tree(at: &str) {
    std::fs::create_dir_all(format!("{at}/below")).expect("room");
    with_content(&format!("{at}/small"), 10_000, 1);
    with_content(&format!("{at}/large"), 3 * MIB, 2);
    with_content(&format!("{at}/below/large"), 3 * MIB, 3);
    std::fs::hard_link(format!("{at}/small"), format!("{at}/second name")).expect("room");
    symlink("small", format!("{at}/link")).expect("room");
    program(&["mkfifo", &format!("{at}/pipe")]);
}

/// Nothing in it has a name that only pump knows.
fn is_clean(folder: &str, row: &str) {
    let names = listing::paths(Path::new(folder));
    let own: Vec<_> = names.iter().filter(|path| path.to_string_lossy().contains(".pump-")).collect();
    assert!(own.is_empty(), "{row}: {own:?}");
}

#[test]
fn an_append_only_folder_takes_new_names_and_keeps_no_temporary_one() {
    for kind in [Kind::Ext4, Kind::Xfs, Kind::Btrfs] {
        let row = format!("{kind:?}");
        let mount = Mount::new(kind);
        let to = mount.at("to");
        std::fs::create_dir(&to).expect("room");
        let _flag = Chattr::new(&to, 'a');
        for (name, bytes) in [("small", 10_000), ("large", 3 * MIB)] {
            let (source, target) = (mount.at(name), format!("{to}/{name}"));
            let content = with_content(&source, bytes, bytes as u64);
            for (options, status) in [(&[][..], 0), (&[], 1), (&["--backup"], 1), (&["-n"], 1)] {
                let row = format!("{row} {name} {options:?} {status}");
                let run =
                    pump_with(&["copy", "--json", "--reflink=never", &source, &format!("{to}/")], options);
                expect(&run, status, if status == 0 { &[] } else { &[KEPT] }, &row);
                assert_eq!(report(&run)["bytes_moved"], if status == 0 { bytes } else { 0 }, "{row}");
                has_content(target.as_ref(), &content, &row);
                is_clean(&to, &row);
            }
        }
        let source = mount.at("new");
        make_tree(&source);
        expect(&pump(&["copy", &source, &to]), 0, &[], &row);
        listing::same(Path::new(&source), Path::new(&format!("{to}/new")), &row);
        is_clean(&to, &row);
    }
}

/// Its own attributes cannot be set, and a list of what was done could not be removed.
#[test]
fn a_tree_goes_into_an_append_only_folder() {
    let mount = Mount::of(Kind::Ext4, 64);
    let (source, to) = (mount.at("source"), mount.at("to"));
    make_tree(&source);
    std::fs::create_dir(&to).expect("room");
    let _flag = Chattr::new(&to, 'a');
    let copy = ["copy", "-T", &source, &to];
    let run = pump(&copy);
    expect(&run, 23, &["no list of what was done can be kept: its folder is append-only"], "first");
    assert_eq!(listing::paths(source.as_ref()).len(), listing::paths(to.as_ref()).len(), "first");
    for name in ["small", "large", "below/large"] {
        let content = std::fs::read(format!("{source}/{name}")).expect("readable");
        has_content(format!("{to}/{name}").as_ref(), &content, name);
    }
    let numbers =
        ["small", "second name"].map(|name| std::fs::metadata(format!("{to}/{name}")).map(|it| it.ino()));
    assert_eq!(numbers[0].as_ref().ok(), numbers[1].as_ref().ok(), "one file");
    is_clean(&to, "first");
    // Names that exist are refused, each by itself.
    let changed = with_content(&format!("{source}/below/large"), 2 * MIB, 4);
    with_content(&format!("{source}/small"), 20_000, 5);
    program(&["ln", "-sfn", "large", &format!("{source}/link")]);
    let old = noise(10_000, 1);
    let plan = pump_with(&copy, &["-n", "--update=differs"]);
    expect(&plan, 23, &["/to/small'", "/to/below/large'", KEPT], "a dry run");
    let run = pump_with(&copy, &["--update=differs"]);
    expect(&run, 23, &["/to/small'", "/to/link'", KEPT], "second");
    has_content(format!("{to}/small").as_ref(), &old, "second");
    has_content(format!("{to}/below/large").as_ref(), &changed, "second");
    is_clean(&to, "second");
    // Neither does a mirror remove anything there.
    std::fs::remove_file(format!("{source}/pipe")).expect("it was made");
    let run = pump(&["mirror", &format!("{source}/"), &to]);
    expect(&run, 23, &[KEPT], "mirror");
    is_clean(&to, "mirror");
}

/// No file is made to find out about such a folder: it would stay.
#[test]
fn files_are_moved_into_an_append_only_folder_and_out_of_none() {
    let (home, mount) = (Home::new(), Mount::of(Kind::Ext4, 64));
    let (from, to) = (home.path("from").display().to_string(), mount.at("to"));
    make_tree(&from);
    std::fs::create_dir(&to).expect("room");
    let _flag = Chattr::new(&to, 'a');
    let expected = listing::paths(from.as_ref());
    for name in ["small", "large"] {
        let source = format!("{from}/{name}");
        let content = std::fs::read(&source).expect("readable");
        let run = pump(&["copy", "--remove-source-files", &source, &format!("{to}/{name} alone")]);
        expect(&run, 0, &[], name);
        has_content(format!("{to}/{name} alone").as_ref(), &content, name);
        assert!(!Path::new(&source).exists(), "{name}");
        std::fs::write(&source, content).expect("room");
        is_clean(&to, name);
    }
    expect(&pump(&["copy", "--remove-source-files", &from, &to]), 0, &[], "a tree");
    assert_eq!(listing::paths(format!("{to}/from").as_ref()), expected, "a tree");
    is_clean(&to, "a tree");
    // Out of one nothing can be removed.
    let run = pump(&["copy", "--remove-source-files", &format!("{to}/small alone"), &from]);
    expect(&run, 1, &["small alone"], "out of it");
    is_clean(&to, "out of it");
}

/// The sandbox refuses it, not the file system.
#[test]
fn a_target_in_a_sandbox_that_refuses_renames_is_no_object_store() {
    let (home, mount) = (Home::new(), Mount::new(Kind::Ntfs));
    let source = home.path("source").display().to_string();
    with_content(&source, 3 * MIB, 1);
    let command = pump_command(&["copy", &source, &mount.at("target")]);
    let calls = [KernelCall::Renameat, KernelCall::Renameat2];
    let Some(run) = refusing(&calls, Errno::EPERM, command) else { return };
    expect(&run, 1, &["a sandbox refuses", "renameat(2)"], "refused");
    assert!(!run.err.contains("takes each file in order"), "{run:?}");
    assert_eq!(leftovers(&mount.point()), [""; 0], "{run:?}");
    assert!(!Path::new(&mount.at("target")).exists(), "{run:?}");
}

/// Runs a command in a sandbox that answers these calls so. `None`, with a line, where no filter can be made.
fn refusing(calls: &[KernelCall], errno: Errno, mut command: Command) -> Option<Outcome> {
    // By fork(2): a filter holds for the thread that makes it, and for programs that it starts.
    command.gid(rustix::process::getgid().as_raw());
    let numbers: Vec<_> = calls.iter().map(|call| call.number()).collect();
    let filtered = || answer_calls_with(&numbers, errno).map(|()| outcome(command, b""));
    let run = std::thread::scope(|scope| scope.spawn(filtered).join().expect("no panic"));
    run.inspect_err(|errno| eprintln!("SKIPPED: no filter can be made here: {errno:?}")).ok()
}

const MOUNTED: [&str; 3] = [
    "Device or resource busy (os error 16)",
    "what exists is a mount point",
    "copy the file by itself with --inplace",
];

/// A large file mounted on itself, as containers have /etc/resolv.conf, and in `from` another of its name.
fn with_mounted_file() -> (Home, Bind, Vec<u8>) {
    let home = Home::new();
    make_folder(&home, "from");
    make_folder(&home, "to");
    noise_file(&home, "from/file", 3 * MIB, 1);
    let old = noise_file(&home, "to/file", MIB, 2);
    let point = home.path("to/file").display().to_string();
    let bind = Bind::new(&point, &point);
    (home, bind, old)
}

#[test]
fn a_mounted_file_is_known_before_anything_is_moved() {
    let (home, _bind, old) = with_mounted_file();
    let serving = Serving::start(home.command(&["serve", "to", "--ticket-file", "ticket"]));
    let (one, tree) = (serving.at("file"), serving.at(""));
    for (from, to, status) in [
        ("from/file", "to/file", 1),
        ("from/file", "to/", 1),
        ("from/", "to", 23),
        ("from/file", &*one, 1),
        ("from/", &tree, 23),
    ] {
        for options in [&[][..], &["-n"]] {
            let row = format!("{from} {to} {options:?}");
            let words = ["copy", "--json", "--ticket-file", "ticket"];
            let words = if to.starts_with("to") { &words[..2] } else { &words[..] };
            let run = home.pump(&[words, options, &[from, to]].concat());
            expect(&run, status, &MOUNTED, &row);
            assert_eq!(report(&run)["bytes_moved"], 0, "{row}");
            has_content(&home.path("to/file"), &old, &row);
            assert_eq!(leftovers(&home.path("to").display().to_string()), [""; 0], "{row}");
        }
    }
    // It is not replaced where it is written in place.
    expect(&home.pump(&["copy", "-n", "--inplace", "from/file", "to/file"]), 0, &[], "in place, dry");
    expect(&home.pump(&["copy", "--inplace", "from/file", "to/file"]), 0, &[], "in place");
    has_content(&home.path("to/file"), &noise(3 * MIB, 1), "in place");
}

/// Links, small files and names that a mirror removes are known late, and so is all where statx(2) is refused.
#[test]
fn what_meets_a_mounted_file_late_names_it_as_well() {
    let (home, _bind, old) = with_mounted_file();
    let command = home.command(&["copy", "from/file", "to/file"]);
    if let Some(run) = refusing(&[KernelCall::Statx], Errno::ENOSYS, command) {
        expect(&run, 1, &MOUNTED, "no statx");
    }
    let point = home.path("to/file").display().to_string();
    for (row, words) in [
        ("small", &["copy", "from/", "to"][..]),
        ("hard link", &["copy", "from/", "to"]),
        ("link", &["copy", "from/", "to"]),
        ("mirror", &["mirror", "from", "to"]),
        ("backup", &["copy", "--backup", "from/", "to"]),
    ] {
        let file = home.path("from/file");
        let _ = std::fs::remove_file(&file);
        match row {
            "hard link" => {
                noise_file(&home, "from/a", 1000, 3);
                std::fs::hard_link(home.path("from/a"), file).expect("one file system");
            }
            "link" => symlink("elsewhere", file).expect("room"),
            "mirror" => {}
            _ => drop(noise_file(&home, "from/file", 1000, 4)),
        }
        expect(&home.pump(words), 23, &MOUNTED, row);
        has_content(point.as_ref(), &old, row);
        // A copy with backups that did not end well has a note of what it put.
        assert_eq!(
            leftovers(&home.path("to").display().to_string()).len(),
            usize::from(row == "backup"),
            "{row}"
        );
    }
}

#[test]
fn files_that_nobody_may_replace_are_known_before_anything_is_moved() {
    let mount = Mount::of(Kind::Ext4, 64);
    let source = mount.at("source");
    with_content(&source, 3 * MIB, 1);
    std::fs::create_dir_all(mount.at("tree")).expect("room");
    program(&["cp", &source, &mount.at("tree/target")]);
    for (letter, words) in [('i', "what exists is immutable"), ('a', "what exists is append-only")] {
        let old = with_content(&mount.at("target"), 1000, 2);
        let _flag = Chattr::new(&mount.at("target"), letter);
        for (words_of_run, status) in [
            (&["copy", "--json", &*source, &*mount.at("target")][..], 1),
            (&["copy", "--json", "-n", &source, &mount.at("target")], 1),
            (&["copy", "--json", "-T", &mount.at("tree"), &mount.point()], 23),
        ] {
            let run = pump(words_of_run);
            expect(
                &run,
                status,
                &["Operation not permitted (os error 1)", words],
                &format!("{words_of_run:?}"),
            );
            assert_eq!(report(&run)["bytes_moved"], 0, "{words_of_run:?}");
            has_content(mount.at("target").as_ref(), &old, "kept");
            assert_eq!(leftovers(&mount.point()), [""; 0], "{words_of_run:?}");
        }
    }
}

#[test]
fn another_users_file_in_a_sticky_folder_is_known_before_anything_is_moved() {
    let home = Home::new();
    let folder = home.path("sticky");
    std::fs::create_dir(&folder).expect("room");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o1777)).expect("it is ours");
    let path = |name: &str| home.path(name).display().to_string();
    let old = with_content(&path("sticky/target"), 1000, 1);
    with_content(&path("source"), 3 * MIB, 2);
    std::fs::set_permissions(home.path("source"), std::fs::Permissions::from_mode(0o644))
        .expect("it is ours");
    let words = "what exists belongs to another user, and its folder is sticky";
    for options in [&[][..], &["-n"]] {
        let copy = [&["copy", "--json"], options, &["source", "sticky/target"]].concat();
        let Some(run) = as_ordinary_user(&home, &copy) else { return };
        expect(&run, 1, &["Operation not permitted (os error 1)", words], &format!("{options:?}"));
        assert_eq!(report(&run)["bytes_moved"], 0, "{options:?}");
        has_content(&home.path("sticky/target"), &old, "kept");
        assert_eq!(leftovers(&path("sticky")), [""; 0], "{options:?}");
    }
    // Root may.
    expect(&home.pump(&["copy", "-n", "source", "sticky/target"]), 0, &[], "root, a dry run");
    expect(&home.pump(&["copy", "source", "sticky/target"]), 0, &[], "root");
}

/// The copy of a large file over that of user 1 in a sticky folder of user 2, by this root or another.
fn over_a_file_of_user_1(by: &[&str], options: &[&str]) -> (Home, Command) {
    let home = Home::new();
    make_folder(&home, "sticky");
    set_mode(&home.path("sticky"), 0o1777);
    noise_file(&home, "source", 3 * MIB, 1);
    noise_file(&home, "sticky/target", 1000, 2);
    for (name, owner) in [("sticky", 2), ("sticky/target", 1)] {
        std::os::unix::fs::chown(home.path(name), Some(owner), Some(owner)).expect("this is root");
    }
    let words = [&["copy", "--json"], options, &["source", "sticky/target"]].concat();
    let mut command = home.command(&words);
    if let Some((program, rest)) = by.split_first() {
        command = Command::new(program);
        command.args(rest).arg(PUMP).args(words).current_dir(home.path(""));
    }
    (home, command)
}

#[test]
fn a_root_that_may_not_act_for_other_users_is_refused_before_anything_is_moved() {
    let words = "what exists belongs to another user, and its folder is sticky";
    for by in [
        &["setpriv", "--bounding-set=-fowner", "--inh-caps=-fowner"][..],
        // Its user namespace has no number for the owner.
        &["unshare", "--user", "--map-root-user"],
    ] {
        for options in [&[][..], &["-n"]] {
            let (home, command) = over_a_file_of_user_1(by, options);
            let (run, row) = (outcome(command, b""), format!("{by:?} {options:?}"));
            expect(&run, 1, &["Operation not permitted (os error 1)", words], &row);
            assert_eq!(report(&run)["bytes_moved"], 0, "{row}");
            has_content(&home.path("sticky/target"), &noise(1000, 2), &row);
        }
    }
}

/// Whether a name can be replaced is found out without a call that would remove it.
#[test]
fn nothing_is_removed_to_find_out_what_may_be_replaced() {
    let (home, command) = over_a_file_of_user_1(&[], &[]);
    let Some(run) = refusing(&[KernelCall::Unlinkat], Errno::EPERM, command) else { return };
    expect(&run, 0, &[], "root may");
    has_content(&home.path("sticky/target"), &noise(3 * MIB, 1), "root may");
}

/// ntfs-3g refuses some letters of Windows when a name is given.
#[test]
fn letters_that_a_file_system_refuses_are_known_before_anything_is_moved() {
    let mount = Mount::new(Kind::Ntfs);
    program(&["umount", &mount.point()]);
    program(&["ntfs-3g", "-o", "windows_names", &mount.image(), &mount.point()]);
    let elsewhere = Mount::new(Kind::Tmpfs);
    for name in ["a:b", "what?", "ends.", "aux.txt"] {
        with_content(&elsewhere.at(name), 3 * MIB, 1);
        let run = pump(&["copy", "--json", &elsewhere.at(name), &mount.point()]);
        expect(&run, 1, &["refuses this name; give it another one"], name);
        assert_eq!(report(&run)["bytes_moved"], 0, "{name}");
        assert_eq!(leftovers(&mount.point()), [""; 0], "{name}");
    }
    // A long name, and letters beyond ASCII, are taken.
    let name = format!("{}\u{e4}", "n".repeat(200));
    let content = with_content(&elsewhere.at(&name), 3 * MIB, 2);
    let options = ["--no-preserve=mode,ownership"];
    expect(&pump_with(&["copy", &elsewhere.at(&name), &mount.point()], &options), 0, &[], "long");
    has_content(mount.at(&name).as_ref(), &content, "long");
    assert_eq!(leftovers(&mount.point()), [""; 0], "long");
}

#[test]
fn a_served_append_only_folder_keeps_no_temporary_name() {
    let (home, mount) = (Home::new(), Mount::of(Kind::Ext4, 64));
    let to = mount.at("to");
    std::fs::create_dir(&to).expect("room");
    let _flag = Chattr::new(&to, 'a');
    let serving = Serving::start(home.command(&["serve", &mount.point(), "--ticket-file", "ticket"]));
    let content = with_content(&home.path("large").display().to_string(), 3 * MIB, 1);
    let copy = ["copy", "--json", "--ticket-file", "ticket", "large", &serving.at("to/")];
    expect(&home.pump(&copy), 0, &[], "new");
    has_content(format!("{to}/large").as_ref(), &content, "new");
    let run = home.pump(&copy);
    expect(&run, 1, &[KEPT], "replaced");
    assert_eq!(report(&run)["bytes_moved"], 0, "replaced");
    is_clean(&to, "replaced");
}
