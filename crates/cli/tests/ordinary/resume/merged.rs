//! Several sources that are copied to one folder: one list tells of all of them, and goes when all are copied.

use std::fs;

use crate::support::running::{Running, eventually};
use crate::support::{Home, Outcome, expect, has_content, make_folder, noise_file, set_mtime};
use rustix::process::Signal;

/// In each source.
const FILES: usize = 6;
/// Files of this size are put on the list one by one.
const FILE_BYTES: usize = 1 << 20 | 5;
const SOURCES: [&str; 3] = ["one/", "two/", "three/"];
/// The form of what was left where a run ends before all is done.
const NO_TRACE: &str = ".pump";

fn home() -> Home {
    let home = Home::new();
    make_folder(&home, "t");
    for (at, source) in SOURCES.iter().enumerate() {
        make_folder(&home, source);
        make_folder(&home, &format!("{source}sub"));
        for number in 0..FILES {
            let folder = if number % 2 == 0 { "sub/" } else { "" };
            let name = format!("{source}{folder}f{at}{number}");
            noise_file(&home, &name, FILE_BYTES, (at * FILES + number) as u64);
            set_mtime(&home.path(&name), 1_000_000_007);
        }
    }
    home
}

fn files(home: &Home) -> usize {
    let count = |folder: &str| {
        let names = fs::read_dir(home.path(folder)).into_iter().flatten().flatten();
        names.filter(|name| name.file_name().to_string_lossy().starts_with('f')).count()
    };
    count("t") + count("t/sub")
}

/// A copy that was ended when this many of its files were there.
fn cut(home: &Home, words: &[&str], count: usize, signal: Signal) {
    let words = [&["copy", "--sync=none", "--bwlimit=8MB", "-q"], words, &SOURCES, &["t"]].concat();
    let running = Running::start(home.command(&words));
    eventually("some files", || files(home) >= count || running.has_ended());
    running.signal(signal);
    let status = running.end().status;
    assert_eq!(status, if signal == Signal::KILL { 137 } else { 20 }, "{words:?}");
    assert!(home.path("t/.pump-job").exists(), "{words:?}");
}

fn again(home: &Home, words: &[&str], row: &str) -> Outcome {
    let run = home.pump(&[&["copy", "--json"], words, &SOURCES, &["t"]].concat());
    expect(&run, 0, &[], row);
    assert!(!run.err.contains(NO_TRACE) && !home.path("t/.pump-job").exists(), "{row}: {run:?}");
    for (at, source) in SOURCES.iter().enumerate() {
        for name in (0..FILES).map(|number| format!("f{at}{number}")) {
            let below =
                if home.path(format!("{source}{name}")).exists() { name } else { format!("sub/{name}") };
            let content = fs::read(home.path(format!("{source}{below}"))).expect("it is there");
            has_content(&home.path(format!("t/{below}")), &content, row);
        }
    }
    run
}

#[test]
fn the_list_goes_when_all_sources_are_copied() {
    for flags in [&[][..], &["--delete"], &["--update"]] {
        for (count, signal) in [(1, Signal::KILL), (2 * FILES, Signal::KILL), (2 * FILES, Signal::INT)] {
            let home = home();
            cut(&home, flags, count, signal);
            let row = format!("{flags:?} {count} {signal:?}");
            let run = again(&home, &[flags, &["--sync=none"]].concat(), &row);
            let copied = run.report()["files"].as_u64().expect("a number") as usize;
            assert!(copied < SOURCES.len() * FILES - count / 4, "{row}: {copied} files were copied again");
            again(&home, flags, &format!("{row}, once more"));
        }
    }
}

/// A mark is of one source, wherever that lies by now.
#[test]
fn a_source_that_was_moved_is_the_same() {
    let home = home();
    cut(&home, &[], 3 * FILES - 2, Signal::KILL);
    let words = ["copy", "--sync=none", "--json", "one/", "other/", "three/", "t"];
    fs::rename(home.path("two"), home.path("other")).expect("one folder");
    make_folder(&home, "two");
    let run = home.pump(&words);
    expect(&run, 0, &[], "the same folder under another name");
    assert!(run.report()["files"].as_u64().expect("a number") < 2 * FILES as u64, "{run:?}");
    assert!(!home.path("t/.pump-job").exists(), "{run:?}");
}

/// The list is of the source that was named first then; what was copied of each counts.
#[test]
fn sources_in_another_order_are_the_same_copy() {
    for flags in [&[][..], &["--update"]] {
        for order in [["two/", "three/", "one/"], ["three/", "two/", "one/"]] {
            let home = home();
            cut(&home, &[], 3 * FILES - 2, Signal::KILL);
            let row = format!("{flags:?} {order:?}");
            let pump = |more: &[&str]| {
                home.pump(&[&["copy", "--sync=none", "--json"], flags, more, &order, &["t"]].concat())
            };
            let copied = |run: &Outcome| run.report()["files"].as_u64().expect("a number");
            for run in [pump(&["-n"]), pump(&[])] {
                expect(&run, 0, &[], &row);
                assert!(copied(&run) < FILES as u64, "{row}: {run:?}");
            }
            assert!(!home.path("t/.pump-job").exists(), "{row}");
            again(&home, &["--update"], &row);
        }
    }
}

/// The list stays for a source that was not copied whole, whichever it is.
#[test]
fn the_list_stays_where_one_of_the_sources_is_not_whole() {
    for source in SOURCES {
        let home = home();
        cut(&home, &["-L"], 1, Signal::KILL);
        // A link that is followed and leads to nothing.
        crate::support::make_symlink(&home, "nothing", &format!("{source}broken"));
        let words = [&["copy", "-L"][..], &SOURCES, &["t"]].concat();
        expect(&home.pump(&words), 23, &["broken"], source);
        assert!(home.path("t/.pump-job").exists(), "{source}");
        fs::remove_file(home.path(format!("{source}broken"))).expect("it is there");
        expect(&home.pump(&words), 0, &[], source);
        assert!(!home.path("t/.pump-job").exists(), "{source}");
    }
}

#[test]
fn what_goes_below_the_target_of_another_source_keeps_no_list_of_that() {
    let home = Home::new();
    ["outer", "inner", "t"].iter().for_each(|folder| make_folder(&home, folder));
    for number in 0..4 {
        noise_file(&home, &format!("outer/f{number}"), 500_000, number);
    }
    fs::write(home.path("inner/g"), "short").expect("room for a file");
    let running = Running::start(home.command(&["copy", "--bwlimit=1MB", "-q", "outer/", "inner", "t"]));
    eventually("the inner folder", || home.path("t/inner/g").exists() || running.has_ended());
    running.signal(Signal::INT);
    assert_eq!(running.end().status, 20);
    assert!(home.path("t/.pump-job").exists(), "the outer one was cut");
    let run = home.pump(&["copy", "outer/", "inner", "t"]);
    expect(&run, 0, &[], "again");
    assert!(!home.path("t/.pump-job").exists(), "{run:?}");
}

/// Another source goes there now, and has no list of its own from before: it knows nothing of what was cut.
#[test]
fn a_list_stays_for_what_another_source_goes_to_for_the_first_time() {
    let home = Home::new();
    ["outer", "outer/sub", "x", "x/sub", "t"].iter().for_each(|folder| make_folder(&home, folder));
    for number in 0..4 {
        noise_file(&home, &format!("outer/f{number}"), 500_000, number);
    }
    fs::write(home.path("outer/sub/g"), "short").expect("room for a file");
    fs::write(home.path("x/sub/h"), "short").expect("room for a file");
    let running = Running::start(home.command(&["copy", "--bwlimit=1MB", "-q", "outer/", "t"]));
    eventually("the folder below", || home.path("t/sub/g").exists() || running.has_ended());
    running.signal(Signal::KILL);
    assert_eq!(running.end().status, 137);
    fs::rename(home.path("outer/sub"), home.path("away")).expect("room");
    let run = home.pump(&["copy", "outer/", "x/sub", "t"]);
    expect(&run, 0, &["'t/.pump-job' stays", "t/sub/g"], "what was cut may come back");
    assert!(home.path("t/.pump-job").exists(), "{run:?}");
}
