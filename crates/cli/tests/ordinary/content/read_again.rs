//! A source of which something moved that is neither its size nor its time of content: it is read again, and a copy
//! that is equal is good. On this host and between two.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{
    Home, Outcome, expect, has_content, make_folder, noise, noise_file, set_mode, set_xattr, xattr,
};
use rustix::process::Signal;

const BYTES: usize = 3 << 20;

/// What somebody does to a file.
type Touch = fn(&Path);

/// What others do to a source meanwhile, none of which is its content.
const TOUCHES: [(&str, Touch); 3] = [
    ("hard link", |path| fs::hard_link(path, snapshot_of(path)).expect("one file system")),
    ("mode", |path| set_mode(path, 0o640)),
    ("attribute", |path| assert!(set_xattr(path, "user.label", b"new"), "it takes attributes")),
];

/// A name beside the folder that a file lies in.
fn snapshot_of(path: &Path) -> PathBuf {
    path.parent().expect("a folder").with_file_name("snapshot")
}

/// Under its name stands another file, of the same content and time.
fn replace_by_same(path: &Path) {
    let new = path.with_file_name("next");
    fs::copy(path, &new).expect("room");
    set_time(&new, meta(path).modified().expect("it has one"));
    fs::rename(new, path).expect("one folder");
}

fn set_time(path: &Path, time: SystemTime) {
    fs::OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|file| file.set_modified(time))
        .expect("it is ours");
}

/// A tree with a large and a small file, which are old, and what is too much at each target.
fn home() -> Home {
    let home = Home::new();
    make_folder(&home, "tree");
    for target in ["to", "served/to"] {
        fs::create_dir_all(home.path(target)).expect("room");
        fs::write(home.path(target).join("old"), "too much").expect("room");
    }
    noise_file(&home, "tree/large", BYTES, 1);
    set_time(&home.path("tree/large"), SystemTime::UNIX_EPOCH);
    home
}

const WAYS: [Way; 2] = [Way::Here, Way::Pushed];
const SLOW: [&str; 4] = ["copy", "--request-size=16KiB", "--bwlimit=1MiB", "-v"];

/// Whether the first bytes of the large file were copied.
fn has_first_bytes(folder: &Path) -> bool {
    let first = &noise(BYTES, 1)[..4096];
    let holds_them = |path: PathBuf| {
        let mut found = [0; 4096];
        let read = fs::File::open(path).and_then(|file| file.read_exact_at(&mut found, 0));
        read.is_ok() && found == first
    };
    let names = fs::read_dir(folder).expect("it is there").flatten();
    let is_temporary = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".pump-");
    names.filter(is_temporary).any(|entry| holds_them(entry.path()))
}

/// Begins a copy, stops it when a part of the large file was copied, lets something happen, and goes on. Before that a
/// file that is rewritten would be copied as it is then, and be no mix.
fn around(command: Command, target: &Path, happens: impl FnOnce()) -> Outcome {
    let running = Running::start(command);
    eventually("its first bytes", || has_first_bytes(target) || running.has_ended());
    assert!(!running.has_ended(), "in the middle");
    running.signal(Signal::STOP);
    happens();
    running.signal(Signal::CONT);
    running.end()
}

#[test]
fn attributes_that_move_cost_no_copy_and_keep_no_mirror_from_removing() {
    std::thread::scope(|scope| {
        for (what, touch) in TOUCHES {
            for flags in [&[][..], &["--verify"], &["--direct=always"]] {
                for way in WAYS {
                    scope.spawn(move || {
                        let home = home();
                        let (hosts, row) = (TwoHosts::new(&home, way), format!("{what} {flags:?} {way:?}"));
                        let copy = home.path(hosts.target("to"));
                        let words = [&SLOW, flags, &["-T", "--delete"]].concat();
                        let line = hosts.line(&words, &["tree"], "to");
                        let ended = around(line, &copy, || touch(&home.path("tree/large")));
                        expect(&ended, 0, &["read again"], &row);
                        has_content(&copy.join("large"), &noise(BYTES, 1), &row);
                        assert!(!copy.join("old").exists(), "{row}: it was too much");
                        let (one, other) = (meta(&home.path("tree/large")), meta(&copy.join("large")));
                        assert_eq!(
                            (one.mode(), one.mtime()),
                            (other.mode(), other.mtime()),
                            "{row}: those of now"
                        );
                        if what == "attribute" {
                            let label = xattr(&copy.join("large"), "user.label");
                            assert_eq!(label.as_deref(), Some(&b"new"[..]), "{row}");
                        }
                    });
                }
            }
        }
    });
}

/// Its inode number is another: size and time are not.
#[test]
fn what_was_replaced_by_the_same_is_copied() {
    for way in WAYS {
        let home = home();
        let (hosts, row) = (TwoHosts::new(&home, way), format!("{way:?}"));
        let copy = home.path(hosts.target("to"));
        let line = hosts.line(&[&SLOW[..], &["-T"]].concat(), &["tree"], "to");
        let ended = around(line, &copy, || replace_by_same(&home.path("tree/large")));
        expect(&ended, 0, &["replaced by a file of the same size and time", "read again"], &row);
        has_content(&copy.join("large"), &noise(BYTES, 1), &row);
    }
}

fn meta(path: &Path) -> fs::Metadata {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The same size and time, and another content: only reading tells. Pages that are not written back would tell, too.
fn rewrite_in_secret(path: &Path) {
    let modified = meta(path).modified().expect("it has one");
    fs::write(path, noise(BYTES, 9)).expect("room");
    fs::File::open(path).and_then(|file| file.sync_all()).expect("a disk");
    set_time(path, modified);
}

#[test]
fn what_was_rewritten_with_its_time_set_back_is_a_change() {
    for flags in [&[][..], &["--verify"], &["--direct=always"]] {
        for way in WAYS {
            let home = home();
            let (hosts, row) = (TwoHosts::new(&home, way), format!("{flags:?} {way:?}"));
            let copy = home.path(hosts.target("to"));
            let line = hosts.line(&[&SLOW, flags, &["-T", "--delete"]].concat(), &["tree"], "to");
            let ended = around(line, &copy, || rewrite_in_secret(&home.path("tree/large")));
            // It is copied once more, as it is by now, before anything is removed, and is no error then.
            expect(&ended, 0, &["1 deleted"], &row);
            has_content(&copy.join("large"), &noise(BYTES, 9), &row);
        }
    }
}

/// Of one file, pulled, into a pipe, in place, and compared.
#[test]
fn a_single_file_is_read_again_too() {
    let (name, touch) = TOUCHES[0];
    let home = home();
    fs::rename(home.path("tree/large"), home.path("served/large")).expect("one file system");
    let serving = Serving::new(&home, &["--read-only"]);
    let pulled = serving.at("large");
    for (row, words, copy) in [
        ("pulled", &["copy", &*pulled, "to/pulled"][..], Some("to/pulled")),
        ("in place", &["copy", "--inplace", "served/large", "to/in-place"], Some("to/in-place")),
        ("a pipe", &["copy", "served/large", "-"], None),
        ("hashed", &["hash", "served/large"], None),
        ("verified", &["verify", "served/large", "same"], None),
    ] {
        fs::copy(home.path("served/large"), home.path("same")).expect("room");
        set_time(&home.path("same"), SystemTime::UNIX_EPOCH);
        let slow = ["--request-size=16KiB", "--bwlimit=1MiB"];
        let slow = if words[0] == "hash" { &[][..] } else { &slow[..] };
        let ticket: &[&str] = if row == "pulled" { &["--ticket-file", "ticket"] } else { &[] };
        let words = [&words[..1], slow, ticket, &words[1..]].concat();
        let running = Running::start(home.command(&words));
        if let Some(copy) = copy {
            let (folder, in_place) = (home.path("to"), home.path(copy));
            eventually("it is on its way", || {
                let mut names = fs::read_dir(&folder).expect("it is there").flatten();
                in_place.exists()
                    || names.any(|name| name.file_name().to_string_lossy().starts_with(".pump-"))
            });
        } else {
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        running.signal(Signal::STOP);
        touch(&home.path("served/large"));
        running.signal(Signal::CONT);
        let ended = running.end();
        expect(&ended, 0, &[], &format!("{row}, {name}"));
        fs::remove_file(home.path("snapshot")).expect("it was made");
        copy.inspect(|copy| has_content(&home.path(copy), &noise(BYTES, 1), row));
    }
}

/// A source is read again before it is removed where its times leave a doubt.
#[test]
fn a_source_is_removed_if_it_has_the_content_of_its_copy() {
    let rows: [(&str, Touch, i32); 3] =
        [("a hard link", TOUCHES[0].1, 0), ("mode", TOUCHES[1].1, 0), ("rewritten", rewrite_small, 24)];
    for (row, happens, status) in rows {
        let home = Home::new();
        for folder in ["tree", "to"] {
            make_folder(&home, folder);
        }
        noise_file(&home, "tree/large", BYTES, 1);
        for side in ["tree", "to"] {
            fs::write(home.path(side).join("small"), "small").expect("room");
            set_time(&home.path(side).join("small"), SystemTime::UNIX_EPOCH);
        }
        let words = [&SLOW[..], &["--remove-source-files", "--update", "-T", "tree", "to"]].concat();
        let ended = around(home.command(&words), &home.path("to"), || happens(&home.path("tree/small")));
        let told: &[&str] = if status == 0 { &[] } else { &["small': stays in the source"] };
        expect(&ended, status, told, row);
        assert_eq!(home.path("tree/small").exists(), status != 0, "{row}");
        assert!(!home.path("tree/large").exists(), "{row}: it was copied");
        has_content(&home.path("to/small"), b"small", row);
    }
}

fn rewrite_small(path: &Path) {
    let modified = meta(path).modified().expect("it has one");
    fs::write(path, "other").expect("room");
    set_time(path, modified);
}

/// A time in the future tells nothing: such a file is read twice, and its copy is good.
#[test]
fn a_time_in_the_future_costs_a_second_look() {
    let home = Home::new();
    make_folder(&home, "tree");
    for (name, bytes) in [("large", BYTES), ("small", 100)] {
        noise_file(&home, &format!("tree/{name}"), bytes, 1);
        let future = SystemTime::now() + std::time::Duration::from_secs(3600);
        set_time(&home.path("tree").join(name), future);
    }
    for way in WAYS {
        let (hosts, row) = (TwoHosts::new(&home, way), format!("{way:?}"));
        let run = hosts.pump(&["copy", "-v", "-T"], &["tree"], "to");
        expect(&run, 0, &["tick of its clock"], &row);
        expect(&home.pump(&["verify", "tree", &hosts.target("to")]), 0, &[], &row);
    }
}
