//! Errors that say of a handle, a device or a call that it is gone or was interrupted, and nothing of the files: they are
//! reported as what they are, of the side that they come from, and what was not copied keeps its copy. Needs root.

mod parts;

use std::path::Path;

use parts::failing_calls::CallFault;
use parts::refusing::{Answer, Attribute, RefusingDisk};
use parts::support;
use parts::wider_parts::{leftovers, pump, report};
use support::serving::Serving;
use support::{Home, expect, has_content, noise};

const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const EINTR: i32 = 4;
const EIO: i32 = 5;
const ENXIO: i32 = 6;
const ENODEV: i32 = 19;
const ENOTDIR: i32 = 20;
const EINVAL: i32 = 22;
const EOPNOTSUPP: i32 = 95;
const ESTALE: i32 = 116;

fn each_time(call: &'static str, ends: &'static str, errno: i32) -> CallFault {
    CallFault { call, ends, errno, is_once: false }
}

fn once(call: &'static str, errno: i32) -> CallFault {
    CallFault { is_once: true, ..each_time(call, "", errno) }
}

/// Three files, one of them in a folder.
fn put_tree(folder: &Path) {
    std::fs::create_dir_all(folder.join("sub")).expect("room");
    for (number, name) in ["one", "two", "sub/three"].into_iter().enumerate() {
        std::fs::write(folder.join(name), noise(40_000, number as u64)).expect("room");
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_stale_handle_of_the_target_is_no_change_of_the_source() {
    for call in ["create", "write", "flush", "rename", "setattr"] {
        let (disk, home) = (RefusingDisk::new(), Home::new());
        let (from, extra) = (home.path("from"), disk.behind("to/extra"));
        put_tree(&from);
        std::fs::create_dir(disk.behind("to")).expect("room");
        std::fs::write(&extra, "extra").expect("room");
        std::fs::write(disk.behind("to/two"), "older").expect("room");
        // The new name of a temporary file, and what has that name before.
        disk.fail_calls(&[each_time(call, "", ESTALE)]);
        let run = pump(&["mirror", "--json", &format!("{}/", text(&from)), &disk.at("to")]);
        expect(&run, 23, &["Stale file handle"], call);
        assert!(
            !run.err.contains("while") && report(&run)["problems"]["changed"].is_null(),
            "{call}: {}",
            run.err
        );
        assert!(call == "setattr" || Path::new(&extra).exists(), "{call}: its only copy may be that");
        disk.fail_calls(&[each_time(call, "", ESTALE)]);
        let run = pump(&["copy", &text(&from.join("one")), &disk.at("file")]);
        expect(&run, if call == "setattr" { 23 } else { 1 }, &["Stale file handle"], call);
    }
}

#[test]
fn a_device_or_handle_of_the_source_that_is_gone_is_no_vanished_file() {
    for errno in [ENXIO, ENODEV, ESTALE, ENOENT] {
        for way in ["local", "pulled", "pushed"] {
            let row = format!("{way}: errno {errno}");
            let (disk, home) = (RefusingDisk::new(), Home::new());
            put_tree(disk.behind("").as_ref());
            let target = home.path("served/target");
            std::fs::create_dir_all(&target).expect("room");
            std::fs::write(target.join("two"), "older").expect("room");
            std::fs::write(target.join("extra"), "extra").expect("room");
            disk.fail_calls(&[each_time("open", "two", errno)]);
            let is_served = if way == "pulled" { disk.at("") } else { text(&home.path("served")) };
            let serving = Serving::start(home.command(&["serve", &is_served, "--ticket-file", "ticket"]));
            let ticket = text(&home.path("ticket"));
            let (from, to) = match way {
                "local" => (disk.at(""), text(&target)),
                "pulled" => (serving.at(""), text(&target)),
                _ => (disk.at(""), serving.at("target")),
            };
            let run = pump(&["mirror", "--ticket-file", &ticket, &from, &to]);
            expect(&run, 23, &["two'"], &row);
            assert!(!run.err.contains("vanished") && !run.err.contains("changed"), "{row}: {}", run.err);
            has_content(&target.join("two"), b"older", &row);
            has_content(&target.join("one"), &noise(40_000, 0), &row);
            assert!(target.join("extra").exists(), "{row}: the old name of it, perhaps");
        }
    }
}

/// A folder that cannot be listed, as if it were not there, and that is there when it is looked at.
#[test]
fn a_folder_that_is_there_has_not_vanished_whatever_its_listing_says() {
    for errno in [ENOENT, ENOTDIR] {
        for way in ["local", "pulled"] {
            let row = format!("{way}: errno {errno}");
            let (disk, home) = (RefusingDisk::new(), Home::new());
            std::fs::create_dir(disk.behind("sub")).expect("room");
            std::fs::write(disk.behind("sub/important"), "content").expect("room");
            std::fs::write(disk.behind("one"), "content").expect("room");
            std::fs::create_dir_all(home.path("target")).expect("room");
            std::fs::write(home.path("target/extra"), "extra").expect("room");
            disk.fail_calls(&[each_time("readdir", "/sub", errno)]);
            let serving = Serving::start(home.command(&["serve", &disk.at(""), "--ticket-file", "ticket"]));
            let (ticket, target) = (text(&home.path("ticket")), text(&home.path("target")));
            let from = if way == "local" { disk.at("") } else { serving.at("") };
            for command in ["copy", "mirror"] {
                let run = pump(&[command, "--ticket-file", &ticket, &from, &target]);
                expect(&run, 23, &["sub'"], &row);
                assert!(!run.err.contains("vanished"), "{row}: {}", run.err);
                has_content(&home.path("target/one"), b"content", &row);
                assert!(home.path("target/extra").exists(), "{row}: the old name of it, perhaps");
            }
        }
    }
}

/// Its name is gone when it is looked at again.
#[test]
fn a_stale_handle_of_a_file_that_is_gone_is_a_vanished_file() {
    let (disk, home) = (RefusingDisk::new(), Home::new());
    put_tree(disk.behind("").as_ref());
    disk.fail_calls(&[each_time("open", "two", ESTALE), each_time("lookup", "two", ENOENT)]);
    let run = pump(&["copy", &disk.at(""), &text(&home.path("to"))]);
    expect(&run, 24, &["two'", "vanished"], "gone");
}

#[test]
fn interrupted_calls_are_made_again() {
    for call in ["lookup", "getattr", "open", "readdir", "listxattr", "read"] {
        let (disk, home) = (RefusingDisk::new(), Home::new());
        put_tree(disk.behind("").as_ref());
        disk.fail_calls(&[once(call, EINTR)]);
        let run = pump(&["copy", &disk.at(""), &text(&home.path("to"))]);
        expect(&run, 0, &[], call);
        has_content(&home.path("to/sub/three"), &noise(40_000, 2), call);
    }
    for call in ["lookup", "getattr", "open", "readdir", "create", "mkdir", "rename", "setattr", "write"] {
        let (disk, home) = (RefusingDisk::new(), Home::new());
        put_tree(&home.path("from"));
        disk.fail_calls(&[once(call, EINTR)]);
        let run = pump(&["copy", &text(&home.path("from")), &disk.at("to")]);
        expect(&run, 0, &[], call);
        has_content(disk.behind("to/sub/three").as_ref(), &noise(40_000, 2), call);
    }
}

/// The next close or sync does not know of it.
#[test]
fn an_interrupted_close_or_sync_has_failed() {
    for (call, said) in [("flush", "close '"), ("fsync", "sync '")] {
        let (disk, home) = (RefusingDisk::new(), Home::new());
        put_tree(&home.path("from"));
        let copy = |name: &str, to: &str| pump(&["copy", &text(&home.path("from").join(name)), &disk.at(to)]);
        disk.fail_calls(&[once(call, EINTR)]);
        expect(&copy("one", "file"), 1, &[said, "Interrupted system call"], call);
        assert!(!Path::new(&disk.behind("file")).exists(), "{call}");
        disk.fail_calls(&[once(call, EINTR)]);
        expect(&copy("", "to"), 23, &[said, "Interrupted system call"], call);
        disk.fail_calls(&[]);
        expect(&copy(".", "to"), 0, &[], call);
        has_content(disk.behind("to/sub/three").as_ref(), &noise(40_000, 2), call);
        assert_eq!(leftovers(&disk.at("")), [""; 0], "{call}");
    }
}

#[test]
fn a_rename_that_is_performed_and_interrupted_leaves_nothing() {
    let (disk, home) = (RefusingDisk::new(), Home::new());
    put_tree(&home.path("from"));
    std::os::unix::fs::symlink("one", home.path("from/link")).expect("room");
    disk.fail_calls(&[each_time("renamed", "", EINTR)]);
    let from = home.path("from");
    expect(&pump(&["copy", &text(&from.join("one")), &disk.at("file")]), 0, &[], "a file");
    has_content(disk.behind("file").as_ref(), &noise(40_000, 0), "a file");
    std::fs::create_dir(disk.behind("to")).expect("room");
    // Nothing is held that says whether a link is the one that was made.
    let copy = || pump(&["copy", &format!("{}/", text(&from)), &disk.at("to")]);
    expect(&copy(), 23, &["make the link '", "Interrupted system call", "3 files copied"], "a folder");
    has_content(disk.behind("to/sub/three").as_ref(), &noise(40_000, 2), "a folder");
    disk.fail_calls(&[]);
    expect(&copy(), 0, &[], "again");
    for folder in ["", "to", "to/sub"] {
        assert_eq!(leftovers(&disk.at(folder)), [""; 0], "{folder}");
    }
}

#[test]
fn a_call_that_is_interrupted_each_time_fails_as_that() {
    let (disk, home) = (RefusingDisk::new(), Home::new());
    put_tree(disk.behind("").as_ref());
    disk.fail_calls(&[each_time("open", "two", EINTR)]);
    let run = pump(&["copy", &disk.at(""), &text(&home.path("to"))]);
    expect(&run, 23, &["two'", "Interrupted system call"], "each time");
}

/// Content of one request, and content that lanes share.
#[test]
fn content_that_is_interrupted_each_time_fails_as_that() {
    for call in ["read", "write"] {
        for engine in ["auto", "uring", "threads", "inline"] {
            let row = format!("{call} {engine}");
            let (disk, home) = (RefusingDisk::new(), Home::new());
            let (from, to) = match call {
                "read" => (disk.at("from"), text(&home.path("to"))),
                _ => (text(&home.path("from")), disk.at("to")),
            };
            put_tree(from.as_ref());
            std::fs::write(Path::new(&from).join("large"), noise(9 << 20, 4)).expect("room");
            match call {
                "read" => disk.fail_calls(&[each_time(call, "", EINTR)]),
                // The list of the copy is shorter.
                _ => disk.refuse(&[(Attribute::BytesFrom(20_000), Answer::Errno(EINTR))]),
            }
            let run = pump(&["copy", "--engine", engine, &from, &to]);
            expect(&run, 23, &["two'", "large'", "Interrupted system call"], &row);
        }
    }
}

#[test]
fn a_new_folder_that_cannot_be_listed_is_not_called_another_programs() {
    for errno in [EIO, EPERM] {
        let (disk, home) = (RefusingDisk::new(), Home::new());
        put_tree(&home.path("from"));
        disk.fail_calls(&[each_time("readdir", "", errno)]);
        let run = pump(&["copy", &text(&home.path("from")), &disk.at("to")]);
        expect(&run, 1, &["list '"], "listing");
        assert!(!run.err.contains("made by somebody else"), "{}", run.err);
        disk.fail_calls(&[]);
        assert_eq!(leftovers(&disk.at("")), [""; 0], "nothing stays");
    }
}

/// Links, pipes and devices hold no content: that a target has none keeps nothing else there.
#[test]
fn names_that_a_target_cannot_hold_do_not_stop_the_removal_of_others() {
    use std::os::unix::fs::symlink;

    for errno in [EPERM, EOPNOTSUPP] {
        let (disk, home) = (RefusingDisk::new(), Home::new());
        let from = home.path("from");
        put_tree(&from);
        (0..30).for_each(|number| symlink("one", from.join(format!("link{number}"))).expect("room"));
        support::make_fifo(&from.join("pipe"));
        std::fs::create_dir(disk.behind("to")).expect("room");
        for name in ["to/extra", "to/link7"] {
            std::fs::write(disk.behind(name), "of before").expect("room");
        }
        disk.fail_calls(&[each_time("symlink", "", errno), each_time("mknod", "", errno)]);
        let from = format!("{}/", text(&from));
        for (round, flags) in [&["mirror"][..], &["mirror"], &["mirror", "-v"]].iter().enumerate() {
            let run = pump(&[flags, &[&*from, &*disk.at("to")][..]].concat());
            let said =
                ["make the link '", "30 symbolic links (-v lists each)", "-L copies", "make the pipe '"];
            expect(&run, 23, &said, &format!("{errno} {round}"));
            let lines = run.err.lines().filter(|line| line.contains("make the link")).count();
            assert_eq!(lines, if flags.len() == 1 { 1 } else { 31 }, "{errno}: {}", run.err);
            assert!(!Path::new(&disk.behind("to/extra")).exists(), "{errno}: the source does not have it");
            has_content(disk.behind("to/link7").as_ref(), b"of before", "a name of the source stays");
        }
        let run = pump(&["mirror", "-L", "--exclude", "pipe", &from, &disk.at("to")]);
        expect(&run, 0, &[], "-L");
        has_content(disk.behind("to/link7").as_ref(), &noise(40_000, 0), "-L");
        // A file that was not copied keeps all, as ever.
        std::fs::write(disk.behind("to/extra"), "of before").expect("room");
        std::fs::write(home.path("from/more"), "new").expect("room");
        disk.fail_calls(&[each_time("symlink", "", errno), each_time("flush", "", EIO)]);
        expect(&pump(&["mirror", &from, &disk.at("to")]), 23, &["nothing was removed"], "a file");
        assert!(Path::new(&disk.behind("to/extra")).exists(), "{errno}");
    }
}

/// The list of the first run stays, because something failed: the second one sets nothing that the first could not.
/// A folder is in the place of each of them: it is not removed for what cannot be made.
#[test]
fn a_folder_stays_whose_place_a_link_or_a_pipe_cannot_take() {
    for errno in [EPERM, EOPNOTSUPP, EIO] {
        for (command, is_empty) in [("mirror", false), ("mirror", true), ("copy", true)] {
            let row = format!("{command}, {is_empty}: errno {errno}");
            let (disk, home) = (RefusingDisk::new(), Home::new());
            let from = home.path("from");
            put_tree(&from);
            std::os::unix::fs::symlink("one", from.join("link")).expect("room");
            support::make_fifo(&from.join("pipe"));
            for name in ["to/link", "to/pipe"] {
                std::fs::create_dir_all(disk.behind(name)).expect("room");
                if !is_empty {
                    std::fs::create_dir(disk.behind(&format!("{name}/deep"))).expect("room");
                    std::fs::write(disk.behind(&format!("{name}/deep/file")), "of before").expect("room");
                }
            }
            disk.fail_calls(&[each_time("symlink", "", errno), each_time("mknod", "", errno)]);
            let run = pump(&[command, &format!("{}/", text(&from)), &disk.at("to")]);
            expect(&run, 23, &["link'", "pipe'"], &row);
            for name in ["to/link", "to/pipe"] {
                assert!(Path::new(&disk.behind(name)).is_dir(), "{row}: {name}");
                let kept = disk.behind(&format!("{name}/deep/file"));
                assert!(is_empty || Path::new(&kept).exists(), "{row}: {name}");
            }
            has_content(disk.behind("to/one").as_ref(), &noise(40_000, 0), &row);
            disk.fail_calls(&[]);
            let run = pump(&[command, &format!("{}/", text(&from)), &disk.at("to")]);
            expect(&run, 0, &[], &row);
        }
    }
}

/// The file is whole before the folder in its place is removed.
#[test]
fn a_folder_stays_whose_place_a_file_cannot_take() {
    for call in ["write", "create", "fsync"] {
        let (disk, home) = (RefusingDisk::new(), Home::new());
        let from = home.path("from");
        put_tree(&from);
        for name in ["one", "large"] {
            std::fs::write(from.join(name), noise(9 << 20, 7)).expect("room");
            std::fs::create_dir_all(disk.behind(&format!("to/{name}/deep"))).expect("room");
            std::fs::write(disk.behind(&format!("to/{name}/deep/file")), "of before").expect("room");
        }
        disk.fail_calls(&[each_time(call, "", EIO)]);
        let run = pump(&["mirror", &format!("{}/", text(&from)), &disk.at("to")]);
        assert_ne!(run.status, 0, "{call}: {run:?}");
        for name in ["one", "large"] {
            has_content(disk.behind(&format!("to/{name}/deep/file")).as_ref(), b"of before", call);
        }
        disk.fail_calls(&[]);
        let run = pump(&["mirror", &format!("{}/", text(&from)), &disk.at("to")]);
        expect(&run, 0, &[], call);
        has_content(disk.behind("to/large").as_ref(), &noise(9 << 20, 7), call);
        assert_eq!(leftovers(&disk.at("to")), [""; 0], "{call}");
    }
}

#[test]
fn what_an_earlier_run_could_not_keep_is_not_called_taken() {
    let (disk, home) = (RefusingDisk::new(), Home::new());
    put_tree(&home.path("from"));
    std::os::unix::fs::chown(home.path("from/one"), Some(5000), Some(5000)).expect("root");
    disk.refuse(&[(Attribute::Owner, Answer::Errno(EINVAL))]);
    disk.fail_calls(&[each_time("mknod", "", EPERM)]);
    support::make_fifo(&home.path("from/pipe"));
    let copy = || pump(&["copy", &format!("{}/", text(&home.path("from"))), &disk.at("to")]);
    expect(&copy(), 23, &["owner 5000:5000: Invalid argument", "has no such number"], "first");
    let second = copy();
    expect(&second, 23, &["owner 5000:5000: ", "could not keep it; it is 0:0 now"], "second");
    assert!(!second.err.contains("took it"), "{}", second.err);
}
