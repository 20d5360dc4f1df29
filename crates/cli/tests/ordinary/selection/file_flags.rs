//! Flags that select or protect hold for files that are named, as they do for names of folders.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::support;
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, expect, has_content, make_folder, set_mode, set_mtime, set_xattr, xattr};

const OLD: u64 = 1_000_000_000_000_000_000;
const NEW: u64 = 1_500_000_000_000_000_000;

fn file(home: &Home, name: &str, content: &str, mtime: u64) {
    fs::write(home.path(name), content).expect("room");
    set_mtime(&home.path(name), mtime);
}

fn pump(home: &Home, words: &[&str], status: i32, parts: &[&str]) -> support::Outcome {
    let run = home.pump(words);
    expect(&run, status, parts, &words.join(" "));
    run
}

#[test]
fn flags_that_leave_alone_hold_for_files_on_one_host_and_between_two() {
    let home = Home::new();
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (source, target) = (&*hosts.source("one"), &*hosts.target("two"));
        for (flags, times, contents, stays) in [
            (&["--update"][..], (OLD, NEW), ("new", "precious"), true),
            (&["--update"], (NEW, OLD), ("new", "precious"), false),
            (&["--update"], (OLD, OLD), ("same", "SAME"), true),
            (&["--ignore-existing"], (NEW, OLD), ("new", "precious"), true),
            (&["--checksum"], (NEW, NEW), ("same", "SAME"), false),
            (&["--checksum"], (NEW, OLD), ("same", "same"), true),
            (&["--checksum"], (NEW, OLD), ("", ""), true),
            (&["--checksum", "--update"], (OLD, NEW), ("new", "precious"), true),
            (&[], (OLD, NEW), ("new", "precious"), false),
        ] {
            file(&home, source, contents.0, times.0);
            file(&home, target, contents.1, times.1);
            let inode = fs::metadata(home.path(target)).expect("it is there").ino();
            let row = format!("{flags:?} {way:?} {contents:?} {times:?}");
            let words = [&["copy", "-i"], flags].concat();
            let planned = hosts.pump(&[&words[..], &["-n"]].concat(), &["one"], "two");
            expect(&planned, 0, &[], &row);
            let run = hosts.pump(&words, &["one"], "two");
            expect(&run, 0, &[], &row);
            assert_eq!(planned.out, run.out, "{row}");
            let expected = if stays { contents.1 } else { contents.0 };
            has_content(&home.path(target), expected.as_bytes(), &row);
            let now = fs::metadata(home.path(target)).expect("it is there").ino();
            assert_eq!(now == inode, stays, "{row}: what stays is not written");
            assert_eq!(run.out.contains(">f"), !stays, "{row}: {}", run.out);
        }
    }
}

#[test]
fn a_large_file_is_compared_by_content_on_one_host_and_between_two() {
    let home = Home::new();
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (source, target) = (&*hosts.source("one"), &*hosts.target("two"));
        support::noise_file(&home, source, 5_000_001, 1);
        let mut other = support::noise_file(&home, target, 5_000_001, 1);
        for differs in [false, true] {
            other[4_999_999] ^= u8::from(differs);
            fs::write(home.path(target), &other).expect("room");
            let inode = fs::metadata(home.path(target)).expect("it is there").ino();
            let row = format!("{way:?}");
            expect(&hosts.pump(&["copy", "--checksum"], &["one"], "two"), 0, &[], &row);
            let now = fs::metadata(home.path(target)).expect("it is there").ino();
            assert_eq!(now != inode, differs, "{row}");
            has_content(&home.path(target), &fs::read(home.path(source)).expect("it is there"), &row);
        }
    }
}

#[test]
fn a_file_that_is_right_gets_its_attributes_on_one_host_and_between_two() {
    let home = Home::new();
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (source, target) = (&*hosts.source("one"), &*hosts.target("two"));
        for flag in ["--update", "--checksum"] {
            file(&home, source, "same", OLD);
            file(&home, target, "same", OLD);
            set_mode(&home.path(source), 0o640);
            let has_xattrs = set_xattr(&home.path(source), "user.note", flag.as_bytes());
            let inode = fs::metadata(home.path(target)).expect("it is there").ino();
            let row = format!("{flag} {way:?}");
            expect(&hosts.pump(&["copy", flag], &["one"], "two"), 0, &[], &row);
            let now = fs::metadata(home.path(target)).expect("it is there");
            assert_eq!((now.ino(), now.mode() & 0o777), (inode, 0o640), "{row}");
            if has_xattrs {
                let value = xattr(&home.path(target), "user.note");
                assert_eq!(value.as_deref(), Some(flag.as_bytes()), "{row}");
            }
        }
    }
}

#[test]
fn an_unchanged_file_is_linked_to_another_folder() {
    let home = Home::new();
    for folder in ["monday", "tuesday"] {
        make_folder(&home, folder);
    }
    file(&home, "one", "content", OLD);
    file(&home, "two", "changed", NEW);
    file(&home, "monday/one", "content", OLD);
    file(&home, "monday/two", "CHANGED", OLD);
    let words = ["copy", "-i", "--link-dest", "monday", "one", "two", "tuesday"];
    pump(&home, &words, 0, &[]);
    let ino = |name: &str| fs::metadata(home.path(name)).expect("it is there").ino();
    assert_eq!(ino("monday/one"), ino("tuesday/one"));
    assert_ne!(ino("monday/two"), ino("tuesday/two"));
    pump(&home, &["copy", "--link-dest", "monday", "one", "tuesday/one"], 0, &[]);
    assert_eq!(ino("monday/one"), ino("tuesday/one"), "over what stands there");
}

#[test]
fn flags_that_only_folders_have_are_refused_for_files_when_they_are_typed() {
    let home = Home::new();
    fs::write(home.path("names"), "one\n").expect("room");
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (source, target) = (&*hosts.source("one"), &*hosts.target("two"));
        file(&home, source, "new", NEW);
        file(&home, target, "precious", OLD);
        for (flags, words) in [
            (&["--delete"][..], "--delete needs a folder as source"),
            (&["--files-from", "names"], "--files-from needs a folder as source"),
        ] {
            let row = format!("{flags:?} {way:?}");
            expect(&hosts.pump(&[&["copy"], flags].concat(), &["one"], "two"), 2, &[words], &row);
            has_content(&home.path(target), b"precious", &row);
        }
    }
    let mut run = home.command(&["copy", "-v", "one", "two"]);
    let run = run.env("PUMP_FILES_FROM", "names").output().expect("it runs");
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.success() && told.contains("PUMP_FILES_FROM) has no effect"), "{told}");
    has_content(&home.path("two"), b"new", "it is copied");
}

#[test]
fn what_stands_at_the_target_is_kept_from_a_stream_too() {
    let home = Home::new();
    fs::write(home.path("two"), "precious").expect("room");
    pump(&home, &["copy", "--ignore-existing", "null:100B", "two"], 0, &[]);
    has_content(&home.path("two"), b"precious", "a stream");
}
