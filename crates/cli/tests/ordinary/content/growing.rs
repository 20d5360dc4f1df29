//! A source that becomes longer while it is copied: as a log does, or because it is written anew.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::two_hosts::{TwoHosts, Way};
use crate::support::{Home, Outcome, expect, has_content, leftovers, make_folder, noise_file};

const BYTES: usize = (3 << 20) + 777;
/// Keeps reads near the writes. On a busy host the path to another one seems long, and the whole
/// log would be requested at once: what changes it later is no change during its copy.
const NOT_AHEAD: [&str; 2] = ["--depth=2", "--connections=1"];
const GREW: &str = "the source was appended to: it grew from 3146505 to ";
const FIRST: &str = "its first 3146505 bytes are copied, with the time that it had then";
const REWRITTEN: &str = "the source was rewritten, and became longer, while it was copied";

fn append(path: &Path) {
    let mut file = OpenOptions::new().append(true).open(path).expect("the source");
    file.write_all(b"ten bytes\n").expect("room");
}

fn rewrite_longer(path: &Path) {
    let file = OpenOptions::new().write(true).open(path).expect("the source");
    file.write_all_at(b"other bytes than before", 100).expect("room");
    append(path);
}

/// The temporary file of a folder, once its first bytes are those of the source.
fn has_started(folder: &Path, content: &[u8]) -> bool {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = names.map(|entry| entry.path());
    let is_temporary = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with(".pump-") && name != ".pump-job"
    };
    let begins = |path: PathBuf| {
        let mut first = vec![0; 4096];
        std::fs::File::open(path).and_then(|file| file.read_exact_at(&mut first, 0)).is_ok()
            && first == content[..4096]
    };
    paths.filter(is_temporary).any(begins)
}

/// Copies for a second, and changes the source when its first bytes were copied.
fn changed(home: &Home, words: &[&str], (log, folder): (&str, &str), change: fn(&Path)) -> Outcome {
    let content = std::fs::read(home.path(log)).expect("the log");
    let slow = ["copy", "--bwlimit=3MiB", "--request-size=64KiB", "--ticket-file", "ticket"];
    let running = Running::start(home.command(&[&slow, words].concat()));
    eventually("it is started", || has_started(&home.path(folder), &content) || running.has_ended());
    change(&home.path(log));
    assert!(!running.has_ended(), "{words:?}: in the middle");
    running.end()
}

#[test]
fn a_log_that_is_named_is_copied_as_far_as_it_was() {
    for flags in [
        &["--direct=never"][..],
        &["--direct=always"],
        &["--engine=inline"],
        &["--engine=threads", "--lanes=2"],
        &["--verify"],
        &["--sync=none"],
    ] {
        let (home, row) = (Home::new(), format!("{flags:?}"));
        let log = noise_file(&home, "a", BYTES, 1);
        noise_file(&home, "b", 1000, 2);
        let before = std::fs::metadata(home.path("a")).expect("the log");
        let ended = changed(&home, &[flags, &["a", "b"]].concat(), ("a", ""), append);
        expect(&ended, 24, &["copy 'a'", GREW, FIRST, "\na -> b: "], &row);
        has_content(&home.path("b"), &log, &row);
        let after = std::fs::metadata(home.path("b")).expect("it was copied");
        assert_eq!(after.modified().ok(), before.modified().ok(), "{row}: the time of then");
        assert!(leftovers(&home).is_empty(), "{row}: {:?}", home.names());
        expect(&home.pump(&["copy", "--update", "a", "b"]), 0, &[], &row);
        has_content(&home.path("b"), &std::fs::read(home.path("a")).expect("the log"), &row);
    }
}

#[test]
fn a_log_that_is_written_to_all_the_time_is_copied_as_far_as_it_was() {
    let home = Home::new();
    noise_file(&home, "a", BYTES, 1);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                append(&home.path("a"));
                thread::sleep(Duration::from_millis(1));
            }
        });
        for flags in ["--engine=auto", "--direct=never", "--inplace"] {
            let words = ["copy", "--bwlimit=6MiB", "--request-size=64KiB", flags, "a", "b"];
            expect(&home.pump(&words), 24, &["copy 'a': the source was appended to: it grew from "], flags);
            let (copy, log) = (std::fs::read(home.path("b")), std::fs::read(home.path("a")));
            let (copy, log) = (copy.expect("it was copied"), log.expect("the log"));
            assert!(copy.len() >= BYTES && log.starts_with(&copy), "{flags}: {} bytes", copy.len());
        }
        ended.store(true, Ordering::Relaxed);
    });
}

/// A mix of what it was and what it is would be neither.
#[test]
fn what_is_rewritten_and_longer_did_not_only_grow() {
    for flags in [&["--direct=never"][..], &["--direct=always"], &["--verify"]] {
        let (home, row) = (Home::new(), format!("{flags:?}"));
        noise_file(&home, "a", BYTES, 1);
        let old = noise_file(&home, "b", 1000, 2);
        let ended = changed(&home, &[flags, &["a", "b"]].concat(), ("a", ""), rewrite_longer);
        let parts =
            ["copy 'a'", REWRITTEN, "the target was not changed; copy again when the source is quiet"];
        expect(&ended, 24, &parts, &row);
        has_content(&home.path("b"), &old, &row);
        assert!(leftovers(&home).is_empty(), "{row}: {:?}", home.names());

        make_folder(&home, "tree");
        noise_file(&home, "tree/log", BYTES, 3);
        let ended =
            changed(&home, &[flags, &["-T", "tree", "to"]].concat(), ("tree/log", "to"), rewrite_longer);
        expect(&ended, 24, &["copy 'tree/log'", REWRITTEN], &row);
        assert!(!home.path("to/log").exists() && home.path("to/.pump-job").exists(), "{row}: tree");
    }
}

/// Its own host reads it a second time, and answers with digests.
#[test]
fn a_log_of_another_host_that_is_named_is_copied_as_far_as_it_was() {
    for (change, parts) in [
        (append as fn(&Path), [GREW, FIRST]),
        (rewrite_longer, [REWRITTEN, "the target was not changed; copy again when the source is quiet"]),
    ] {
        let home = Home::new();
        make_folder(&home, "served");
        let log = noise_file(&home, "served/log", BYTES, 1);
        let serving = Serving::new(&home, &[]);
        let from = serving.at("log");
        let words = [&NOT_AHEAD[..], &[&from, "b"]].concat();
        let ended = changed(&home, &words, ("served/log", ""), change);
        expect(&ended, 24, &parts, "pulled");
        if parts[0] == GREW {
            has_content(&home.path("b"), &log, "pulled");
        } else {
            assert!(!home.path("b").exists());
        }
        assert!(leftovers(&home).is_empty(), "{:?}", home.names());
    }
}

/// One that only grew is copied as far as it was, and others are removed. One that was rewritten is copied once more
/// before anything is removed: a mix of both states must not cost the file that it was renamed from.
#[test]
fn what_became_longer_in_a_tree_of_another_host_is_compared() {
    let rewritten = ("rewritten", rewrite_longer as fn(&Path), 0, &["1 deleted"][..]);
    for (row, change, status, parts) in [("appended", append as fn(&Path), 24, &[GREW, FIRST][..]), rewritten]
    {
        let home = Home::new();
        for folder in ["served", "served/tree", "to"] {
            make_folder(&home, folder);
        }
        let log = noise_file(&home, "served/tree/log", BYTES, 1);
        std::fs::write(home.path("to/old"), &log).expect("room");
        let serving = Serving::new(&home, &[]);
        let from = serving.at("tree");
        let words = [&NOT_AHEAD[..], &["--delete", "-T", &from, "to"]].concat();
        let ended = changed(&home, &words, ("served/tree/log", "to"), change);
        expect(&ended, status, parts, row);
        if row == "appended" {
            has_content(&home.path("to/log"), &log, row);
        }
        assert!(!home.path("to/old").exists() && !home.path("to/.pump-job").exists(), "{row}");
        let again = ["copy", "--ticket-file", "ticket", "--delete", "-T", &from, "to"];
        expect(&home.pump(&again), 0, &[], row);
        let now = std::fs::read(home.path("served/tree/log")).expect("the log");
        has_content(&home.path("to/log"), &now, row);
    }
}

/// As the log of a web server: whenever it is opened it is so young that it is read again, and it grows meanwhile.
#[test]
fn a_new_log_that_gets_lines_all_the_time_is_copied_and_keeps_nothing() {
    let home = Home::new();
    for way in Way::SERVED {
        let hosts = TwoHosts::new(&home, way);
        let (from, to) = (home.path(hosts.source("from")), home.path(hosts.target("to")));
        for round in 0..5 {
            let row = format!("{way:?}, round {round}");
            std::fs::create_dir(&from).expect("a folder");
            std::fs::write(from.join("stays"), "stays").expect("room");
            let mirror = || hosts.pump(&["mirror"], &["from/"], "to");
            expect(&mirror(), 0, &[], &row);
            std::fs::write(to.join("old"), "too much").expect("room");
            std::fs::write(from.join("log"), "the first line\n").expect("room");
            let is_over = AtomicBool::new(false);
            let ended = thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        append(&from.join("log"));
                        thread::sleep(Duration::from_millis(2));
                    }
                });
                let ended = mirror();
                is_over.store(true, Ordering::Relaxed);
                ended
            });
            assert!([0, 24].contains(&ended.status), "{row}: {ended:?}");
            assert!(!to.join("old").exists(), "{row}: {ended:?}");
            let [copy, log] = [&to, &from].map(|folder| std::fs::read(folder.join("log")));
            let copy = copy.unwrap_or_else(|error| panic!("{row}: {error}: {ended:?}"));
            assert!(log.expect("the log").starts_with(&copy), "{row}: {ended:?}");
            assert!(
                ended.err.matches("log':").count() <= 2,
                "{row}: one line, and one that sums up: {ended:?}"
            );
            for folder in [&from, &to] {
                std::fs::remove_dir_all(folder).expect("it is ours");
            }
        }
    }
}

/// Its copy is on the disk, and the next run doubts nothing. That one would go below it, as behind any other run that
/// has ended.
#[test]
fn a_tree_with_a_log_that_grew_keeps_no_list() {
    let home = Home::new();
    make_folder(&home, "tree");
    let log = noise_file(&home, "tree/log", BYTES, 1);
    let ended = changed(&home, &["tree", "to"], ("tree/log", "to"), append);
    expect(&ended, 24, &["tree/log'", GREW, FIRST], "the first run");
    has_content(&home.path("to/log"), &log, "the first run");
    assert!(!home.path("to/.pump-job").exists());
    let planned = home.pump(&["copy", "-n", "tree", "to"]);
    let parts = ["'tree' is copied to 'to/tree'", "to bring 'to' itself up to date write 'tree/'"];
    expect(&planned, 0, &parts, "the same command again");
    let snapshot = home.pump(&["copy", "-T", "--update", "tree", "to"]);
    expect(&snapshot, 0, &[], "an update");
    assert!(!snapshot.err.contains(".pump-job"), "nothing is in doubt: {snapshot:?}");
    has_content(&home.path("to/log"), &std::fs::read(home.path("tree/log")).expect("the log"), "an update");
}

#[test]
fn a_log_that_grew_is_not_removed_from_the_source() {
    let home = Home::new();
    noise_file(&home, "a", BYTES, 1);
    let ended = changed(&home, &["--remove-source-files", "a", "b"], ("a", ""), append);
    expect(&ended, 24, &[GREW, "nothing was removed from the source"], "named");
    assert_eq!(home.path("a").metadata().expect("it stays").len(), BYTES as u64 + 10);
}

/// A log that gets lines all the time, and a file that is renamed over all the time: each is copied as it is when it is
/// read, in the first pass, with or without names to be removed.
#[test]
fn small_files_that_change_all_the_time_are_copied_as_they_are_when_they_are_read() {
    let home = Home::new();
    let tree = |bytes: &[u8], name: &str| {
        let file = std::fs::File::create(home.path(name)).expect("room");
        // Blocks that are there before their bytes: else a look may report holes, and the file is opened for them.
        let _ = rustix::fs::fallocate(
            &file,
            rustix::fs::FallocateFlags::empty(),
            0,
            4096.min(bytes.len() as u64),
        );
        (&file).write_all(bytes).expect("room");
    };
    for way in [Way::Pushed, Way::Pulled] {
        let hosts = TwoHosts::new(&home, way);
        let (from, to) = (&*hosts.source("from"), &*hosts.target("to"));
        for round in 0..5 {
            let row = format!("{way:?}, round {round}");
            make_folder(&home, from);
            for number in 0..100 {
                tree(b"quiet", &format!("{from}/{number}"));
            }
            tree(b"the first line\n", &format!("{from}/log"));
            tree(b"0", &format!("{from}/status"));
            let is_over = AtomicBool::new(false);
            let ended = thread::scope(|scope| {
                scope.spawn(|| {
                    for count in 1.. {
                        append(&home.path(from).join("log"));
                        tree(&vec![b'0' + count % 10; 100 + usize::from(count % 7)], "status");
                        std::fs::rename(home.path("status"), home.path(from).join("status")).expect("room");
                        if is_over.load(Ordering::Relaxed) {
                            break;
                        }
                        thread::sleep(Duration::from_millis(2));
                    }
                });
                let ended = hosts.pump(&["copy", "-T"], &["from/"], "to");
                is_over.store(true, Ordering::Relaxed);
                ended
            });
            expect(&ended, 0, &[], &row);
            let [copy, log] = [to, from].map(|folder| std::fs::read(home.path(folder).join("log")));
            assert!(log.expect("the log").starts_with(&copy.expect("it was copied")), "{row}");
            let status = std::fs::read(home.path(to).join("status")).expect("it was copied");
            assert!(status.iter().all(|byte| *byte == status[0]), "{row}: a mix: {status:?}");
            for folder in [from, to] {
                std::fs::remove_dir_all(home.path(folder)).expect("it is ours");
            }
        }
    }
}
