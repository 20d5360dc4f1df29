//! What happens in the middle of a copy: the source changes, signals arrive, the program is killed, a second one
//! wants the same target.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::support;
use crate::support::running::{Running, eventually, leave_temporary};
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, expect, has_content, make_fifo, noise, noise_file, only};
use rustix::process::Signal;

const SOURCE_BYTES: usize = 3 << 20;

/// One change of the file `a`; the others are needed by a few.
type Change = fn(&Home);

/// What happens to a source, and what is said of it.
const CHANGES: [(&str, Change, &str); 4] = [
    ("truncate", truncate, "the source was truncated"),
    ("rewrite in place", rewrite, "the source was rewritten in place while it was copied"),
    ("replace by rename", replace, "the source was replaced by another file while it was copied"),
    ("delete", delete, "the source was deleted while it was copied"),
];

fn append_to(path: &Path) {
    let mut file = OpenOptions::new().append(true).open(path).expect("the source");
    file.write_all(b"ten bytes\n").expect("room");
}

fn truncate(home: &Home) {
    let file = OpenOptions::new().write(true).open(home.path("a")).expect("the source");
    file.set_len(1000).expect("a file can be cut");
}

fn rewrite(home: &Home) {
    rewrite_at(&home.path("a"));
}

fn rewrite_at(path: &Path) {
    let mut file = OpenOptions::new().write(true).open(path).expect("the source");
    file.write_all(b"new").expect("room");
}

fn replace(home: &Home) {
    noise_file(home, "next", SOURCE_BYTES, 77);
    std::fs::rename(home.path("next"), home.path("a")).expect("a new name");
}

fn delete(home: &Home) {
    remove_at(&home.path("a"));
}

fn remove_at(path: &Path) {
    std::fs::remove_file(path).expect("the source");
}

/// A copy of `a` to `b` that takes some seconds, in its middle.
fn in_the_middle(home: &Home, flags: &[&str], bytes_per_second: usize) -> Running {
    let limit = format!("--bwlimit={bytes_per_second}B");
    let words = [&["copy", "--progress=always", "--request-size=16KiB", &limit], flags, &["a", "b"]].concat();
    let mut running = Running::start(home.command(&words));
    running.await_progress();
    running
}

/// Changes the source during its copy. Where the host was so busy that the copy was over before, tries again with a
/// slower one.
fn changed_during_the_copy(flags: &[&str], change: Change) -> (Home, Outcome) {
    for seconds in [3, 12, 48] {
        let home = Home::new();
        noise_file(&home, "a", SOURCE_BYTES, 1);
        noise_file(&home, "b", 1000, 2);
        let running = in_the_middle(&home, flags, SOURCE_BYTES / seconds);
        change(&home);
        let was_on_time = !support::leftovers(&home).is_empty();
        let ended = running.end();
        if was_on_time {
            return (home, ended);
        }
    }
    panic!("each copy was over before it could be disturbed");
}

#[test]
fn each_change_of_the_source_is_found_out_and_named() {
    let shapes: [&[&str]; 4] =
        [&[], &["--engine=threads"], &["--engine=inline", "--direct=never"], &["--lanes=2"]];
    thread::scope(|scope| {
        for (name, change, words) in CHANGES {
            for flags in shapes {
                scope.spawn(move || {
                    let (home, ended) = changed_during_the_copy(flags, change);
                    let row = format!("{name} {flags:?}");
                    let next = match name {
                        "delete" => "the target was not changed; it is not in the copy",
                        _ => "the target was not changed; copy again when the source is quiet",
                    };
                    let parts = ["copy 'a'", words, next];
                    expect(&ended, 24, &parts, &row);
                    has_content(&home.path("b"), &noise(1000, 2), &row);
                    assert!(support::leftovers(&home).is_empty(), "{row}: {:?}", home.names());
                });
            }
        }
    });
}

#[test]
fn a_change_of_one_of_several_sources() {
    let home = Home::new();
    let content = noise_file(&home, "a", SOURCE_BYTES, 1);
    noise_file(&home, "log", SOURCE_BYTES, 2);
    support::make_folder(&home, "folder");
    let words = ["copy", "--json", "--request-size=16KiB", "--bwlimit=2MiB", "log", "a", "folder"];
    let running = Running::start(home.command(&words));
    eventually("progress", || running.out().contains("\"event\":\"progress\"") || running.has_ended());
    std::fs::remove_file(home.path("log")).expect("the source");
    let ended = running.end();
    // The log may have been done when it went away, on a very busy host.
    if !home.path("folder/log").exists() {
        expect(&ended, 24, &["\"class\":\"changed\"", "was deleted"], "one of two");
        let last = ended.out.lines().last().expect("a report");
        assert!(last.contains("\"event\":\"report\"") && last.contains("\"exit_status\":24"), "{last}");
    }
    has_content(&home.path("folder/a"), &content, "the other one is copied");
}

/// A log in a tree is copied as it was when it was opened; the next update copies it again.
#[test]
fn a_growing_log_in_a_tree_is_copied_as_far_as_it_was() {
    const BYTES: usize = SOURCE_BYTES + 777;
    let home = Home::new();
    for folder in ["tree", "served"] {
        std::fs::create_dir(home.path(folder)).expect("room");
    }
    let serving = Serving::new(&home, &[]);
    let there = serving.at("new");
    for (to, copy, flags) in [
        ("new", "new", &[][..]),
        ("new", "new", &["--direct=always"]),
        ("new", "new", &["--direct=never", "--engine=threads"]),
        ("new", "new", &["--verify"]),
        (&there, "served/new", &[]),
    ] {
        let (row, copy) = (format!("{to} {flags:?}"), home.path(copy));
        let log = noise_file(&home, "tree/log", BYTES, 1);
        let before = std::fs::metadata(home.path("tree/log")).expect("the log");
        let slow = ["copy", "-T", "--ticket-file", "ticket", "--bwlimit=6MiB", "--request-size=64KiB"];
        let running = Running::start(home.command(&[&slow, flags, &["tree", to]].concat()));
        let names =
            || std::fs::read_dir(&copy).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let is_opened = || names().any(|name| name != ".pump-job");
        eventually("it is opened", || is_opened() || running.has_ended());
        append_to(&home.path("tree/log"));
        assert!(!running.has_ended(), "{row}: in the middle");
        let words = format!("tree/log': the source was appended to: it grew from {BYTES} to");
        expect(&running.end(), 24, &[&*words, "its first"], &row);
        has_content(&copy.join("log"), &log, &row);
        let after = std::fs::metadata(copy.join("log")).expect("it was copied");
        assert_eq!(after.modified().ok(), before.modified().ok(), "{row}: the time of then");
        let again = home.pump(&["copy", "-T", "--update", "--ticket-file", "ticket", "tree", to]);
        expect(&again, 0, &[], &row);
        let whole = std::fs::read(home.path("tree/log")).expect("the log");
        has_content(&copy.join("log"), &whole, &row);
        std::fs::remove_dir_all(copy).expect("it is ours");
    }
}

/// Mirrors `tree` with a log that changes meanwhile. Where the host was so busy that the log had its name before, it is
/// done again, slower.
fn mirrored_while_it_changes(home: &Home, (to, copy): (&str, &Path), change: fn(&Path)) -> Outcome {
    for rate in ["3MiB", "768KiB", "192KiB"] {
        noise_file(home, "tree/log", SOURCE_BYTES, 1);
        std::fs::create_dir(copy).expect("room");
        std::fs::write(copy.join("old"), "too much").expect("room");
        let limit = format!("--bwlimit={rate}");
        let slow = ["copy", "-T", "--delete", &limit, "--request-size=64KiB"];
        let words = [&slow[..], &["--ticket-file", "ticket", "tree", to]].concat();
        let running = Running::start(home.command(&words));
        let names = || std::fs::read_dir(copy).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let is_opened = || names().any(|name| name != ".pump-job" && name != "old");
        eventually("it is opened", || is_opened() || running.has_ended());
        change(&home.path("tree/log"));
        let was_on_time = !copy.join("log").exists();
        let ended = running.end();
        if was_on_time {
            return ended;
        }
        std::fs::remove_dir_all(copy).expect("it is ours");
    }
    panic!("each copy was over before the log could change");
}

/// A log that only grew is copied as far as it was, on one host and between two. A file that was rewritten is copied once
/// more before anything is removed, and is no error then.
#[test]
fn a_log_that_grows_keeps_no_mirror_from_removing() {
    let home = Home::new();
    for folder in ["tree", "served"] {
        std::fs::create_dir(home.path(folder)).expect("room");
    }
    let serving = Serving::new(&home, &[]);
    let there = serving.at("to");
    let grows =
        ("grows", append_to as fn(&Path), 24, &["tree/log': the source was appended to", "its first"][..]);
    let rewritten = ("is rewritten", rewrite_at as fn(&Path), 0, &["1 deleted"][..]);
    // It was all that the source had.
    let emptied = ["tree'", "emptied, or a file system was mounted or unmounted): nothing was removed in it"];
    let vanishes = ("vanishes", remove_at as fn(&Path), 24, &emptied[..]);
    for (to, copy) in [("to", "to"), (&there, "served/to")] {
        for (what, change, status, parts) in [grows, rewritten, vanishes] {
            let (row, copy) = (format!("{to} {what}"), home.path(copy));
            let ended = mirrored_while_it_changes(&home, (to, &copy), change);
            expect(&ended, status, parts, &row);
            let is_quiet = what != "vanishes";
            assert_eq!(
                (copy.join("log").exists(), copy.join("old").exists()),
                (is_quiet, !is_quiet),
                "{row}"
            );
            std::fs::remove_dir_all(copy).expect("it is ours");
        }
    }
}

#[test]
fn in_place_a_change_is_told_as_well() {
    for seconds in [3, 12, 48] {
        let home = Home::new();
        noise_file(&home, "a", SOURCE_BYTES, 1);
        noise_file(&home, "b", 1000, 2);
        let running = in_the_middle(&home, &["--inplace"], SOURCE_BYTES / seconds);
        delete(&home);
        let ended = running.end();
        // There is no temporary file to tell that the copy was not over before, on a very busy host.
        if ended.status != 0 || seconds == 48 {
            expect(&ended, 24, &["the source was deleted while it was copied"], "in place");
            return only(&home, &["b"], "in place");
        }
    }
}

/// What a kill leaves of it is newer than its source, and may have its size: no flag may leave it for that.
#[test]
fn what_was_half_written_in_place_when_it_was_killed_is_copied_again() {
    for flags in [&[][..], &["--update=differs"], &["--update=differs", "--checksum"]] {
        for seconds in [3, 12, 48] {
            let home = Home::new();
            let content = noise_file(&home, "a", SOURCE_BYTES, 1);
            noise_file(&home, "b", SOURCE_BYTES, 2);
            let running = in_the_middle(&home, &[&["--inplace"], flags].concat(), SOURCE_BYTES / seconds);
            running.signal(Signal::KILL);
            let was_on_time = running.end().status != 0;
            let is_whole = || fs::read(home.path("b")).expect("it stands there") == content;
            assert_ne!(was_on_time, is_whole(), "{flags:?}");
            expect(&home.pump(&[&["copy", "--inplace"], flags, &["a", "b"]].concat()), 0, &[], "again");
            assert!(is_whole(), "{flags:?}");
            if was_on_time {
                break;
            }
        }
    }
    let home = Home::new();
    noise_file(&home, "a", 10, 1);
    let before = noise_file(&home, "b", 10, 2);
    for flags in [&["-u"][..], &["-u", "-n"], &["--update=differs", "--size-only"]] {
        let run = home.pump(&[&["copy", "--inplace"], flags, &["a", "b"]].concat());
        expect(&run, 2, &["would be left half written: leave out --inplace"], "refused");
        assert_eq!(fs::read(home.path("b")).expect("it stands there"), before);
    }
}

#[test]
fn an_interrupt_leaves_the_old_target_and_nothing_else() {
    let shapes: [&[&str]; 6] = [
        &["--engine=uring"],
        &["--engine=threads"],
        &["--engine=inline"],
        &["--lanes=3"],
        &["--verify"],
        &["--depth=8", "--direct=never"],
    ];
    thread::scope(|scope| {
        for signal in [Signal::INT, Signal::TERM] {
            for flags in shapes {
                scope.spawn(move || {
                    let home = Home::new();
                    noise_file(&home, "a", SOURCE_BYTES, 1);
                    let old = noise_file(&home, "b", 1000, 2);
                    // It would take an hour.
                    let running = in_the_middle(&home, flags, 1000);
                    running.signal(signal);
                    let row = format!("{signal:?} {flags:?}");
                    expect(
                        &running.end(),
                        20,
                        &["pump: interrupted; nothing is kept: the same command starts over"],
                        &row,
                    );
                    has_content(&home.path("b"), &old, &row);
                    only(&home, &["a", "b"], &row);
                });
            }
        }
    });
}

#[test]
fn an_interrupt_of_several_files_keeps_those_that_are_done() {
    let home = Home::new();
    let content = noise_file(&home, "small", 100, 1);
    noise_file(&home, "a", SOURCE_BYTES, 2);
    support::make_folder(&home, "folder");
    let words = ["copy", "--progress=always", "--request-size=4KiB", "--bwlimit=1kB", "small", "a", "folder"];
    let mut running = Running::start(home.command(&words));
    running.await_progress();
    eventually("the first file is done", || home.path("folder/small").exists());
    running.signal(Signal::INT);
    expect(&running.end(), 20, &["pump: interrupted; files that were copied stay"], "several files");
    has_content(&home.path("folder/small"), &content, "the first");
    assert_eq!(std::fs::read_dir(home.path("folder")).expect("the folder").count(), 1, "nothing else");
}

/// Ends that nobody serves: each would wait for ever.
#[test]
fn an_interrupt_ends_the_waiting_for_others() {
    let rows = [
        "copy - b",
        "copy - -",
        "copy fifo b",
        "copy a fifo",
        "copy a -",
        "copy - fifo",
        "verify - a",
        "verify fifo a",
        "hash -",
        "hash fifo",
    ];
    thread::scope(|scope| {
        for words in rows {
            for engine in ["uring", "threads", "inline"] {
                for signal in [Signal::INT, Signal::TERM] {
                    scope.spawn(move || waits_for_others(words, engine, signal));
                }
            }
        }
    });
}

fn waits_for_others(words: &str, engine: &str, signal: Signal) {
    let home = Home::new();
    noise_file(&home, "a", SOURCE_BYTES, 1);
    make_fifo(&home.path("fifo"));
    let row = format!("{words} with {engine}, {signal:?}");
    let line = format!("{words} --progress=always --engine={engine}");
    let mut command = home.command(&line.split(' ').collect::<Vec<_>>());
    // Nobody reads this pipe, and it holds less than the file.
    let (_reader, writer) = std::io::pipe().expect("a pipe");
    command.stdin(Stdio::piped()).stdout(writer).stderr(Stdio::piped());
    let mut running = Running::start_as_it_is(command);
    running.await_progress();
    assert!(!running.has_ended(), "{row}: {}", running.err());
    running.signal(signal);
    let ended = running.end_with_open_input();
    // The pipe as a target: nothing of it can be kept. Nothing is copied to read it.
    let copies = words.starts_with("copy");
    let end = if copies { "pump: interrupted; nothing is kept: the same" } else { "pump: interrupted\n" };
    expect(&ended, 20, &[end], &row);
    only(&home, &["a", "fifo"], &row);
}

#[test]
fn a_second_signal_changes_nothing() {
    let home = Home::new();
    noise_file(&home, "a", SOURCE_BYTES, 1);
    let old = noise_file(&home, "b", 1000, 2);
    for _ in 0..5 {
        let running = in_the_middle(&home, &[], 1000);
        // Both arrive while it stands still.
        running.signal(Signal::STOP);
        running.signal(Signal::INT);
        running.signal(Signal::TERM);
        running.signal(Signal::CONT);
        expect(&running.end(), 20, &["interrupted"], "after two signals");
        has_content(&home.path("b"), &old, "after two signals");
        only(&home, &["a", "b"], "nothing is left");
    }
}

#[test]
fn killed_at_random_moments() {
    let home = Home::new();
    let new = noise_file(&home, "a", SOURCE_BYTES, 1);
    let old = noise_file(&home, "b", SOURCE_BYTES, 2);
    let seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |time| u64::from(time.subsec_nanos()));
    eprintln!("seed {seed}");
    let mut was_replaced = false;
    for (round, random) in noise(5 * 8, seed).chunks_exact(8).enumerate() {
        // The copy takes about 100 ms; the moment is the point of this test, and waits for nothing.
        let after_us = u64::from_le_bytes(random.try_into().expect("8 bytes")) % 130_000;
        let words = ["copy", "--request-size=64KiB", "--bwlimit=30MiB", "a", "b"];
        let running = Running::start(home.command(&words));
        thread::sleep(Duration::from_micros(after_us));
        running.signal(Signal::KILL);
        let ended = running.end();
        let row = format!("seed {seed}, round {round}, after {after_us} us: {ended:?}");
        assert!([0, 137].contains(&ended.status), "{row}");
        let found = std::fs::read(home.path("b")).expect("the target is always there");
        assert!(found == new || (found == old && !was_replaced && ended.status != 0), "{row}");
        was_replaced = found == new;
        assert!(support::leftovers(&home).len() <= 1, "{row}: {:?}", home.names());
    }
    expect(&home.pump(&["copy", "a", "b"]), 0, &[], "the next run");
    has_content(&home.path("b"), &new, "the next run");
    only(&home, &["a", "b"], "the next run removes what is left");
}

#[test]
fn the_leftover_of_a_killed_run_is_removed_by_the_next() {
    let home = Home::new();
    let content = noise_file(&home, "a", SOURCE_BYTES, 1);
    for flags in ["--sync=end", "--verify", "--sync=none"] {
        let name = leave_temporary(&home, "a", "b");
        let digits = name.strip_prefix(".pump-").expect("our prefix");
        assert!(digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{name}");
        expect(&home.pump(&["copy", flags, "a", "b"]), 0, &[], flags);
        has_content(&home.path("b"), &content, flags);
        only(&home, &["a", "b"], flags);
        std::fs::remove_file(home.path("b")).expect("the copy");
    }
    // A run for another name leaves it alone.
    let name = leave_temporary(&home, "a", "b");
    expect(&home.pump(&["copy", "a", "c"]), 0, &[], "another name");
    only(&home, &[&name, "a", "c"], "another name");
}

#[test]
fn a_second_pump_on_the_same_target() {
    for flags in [&[][..], &["--inplace"]] {
        let home = Home::new();
        noise_file(&home, "a", SOURCE_BYTES, 1);
        let other = noise_file(&home, "other", SOURCE_BYTES, 2);
        noise_file(&home, "b", SOURCE_BYTES, 3);
        // It would take an hour.
        let first = in_the_middle(&home, flags, 1000);
        let before = home.names();
        for (again, engine) in [("a", "--engine=uring"), ("other", "--engine=inline"), ("other", "--verify")]
        {
            let words = [&["copy", engine], flags, &[again, "b"]].concat();
            expect(&home.pump(&words), 1, &["create 'b': another pump is writing it; wait for it"], again);
            assert!(!first.has_ended() && home.names() == before, "the first goes on");
        }
        first.signal(Signal::INT);
        expect(&first.end(), 20, &[], "the first");
        let words = [&["copy"], flags, &["other", "b"]].concat();
        expect(&home.pump(&words), 0, &[], "the lock is gone");
        has_content(&home.path("b"), &other, "the lock is gone");
        only(&home, &["a", "b", "other"], "the lock is gone");
    }
}

#[test]
fn a_target_that_is_replaced_meanwhile_is_replaced_again() {
    let home = Home::new();
    let content = noise_file(&home, "a", SOURCE_BYTES, 1);
    let running = in_the_middle(&home, &[], SOURCE_BYTES / 3);
    write_other(&home.path("b"));
    expect(&running.end(), 0, &[], "replaced");
    has_content(&home.path("b"), &content, "replaced");
    only(&home, &["a", "b"], "replaced");
}

fn write_other(path: &Path) {
    let mut file = File::create(path).expect("a file");
    file.write_all(b"somebody else's").expect("room");
}

#[test]
fn a_folder_that_takes_the_name_meanwhile_is_left_alone() {
    for seconds in [3, 12, 48] {
        let home = Home::new();
        noise_file(&home, "a", SOURCE_BYTES, 1);
        let running = in_the_middle(&home, &[], SOURCE_BYTES / seconds);
        let made = std::fs::create_dir(home.path("b"));
        let ended = running.end();
        if made.is_ok() {
            expect(&ended, 1, &["rename 'b': Is a directory"], "a folder");
            return only(&home, &["a", "b"], "a folder");
        }
    }
    panic!("each copy was over before it could be disturbed");
}
