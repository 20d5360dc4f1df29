//! A large file that is cut or killed goes on where it was when the same command is given again, and starts over where
//! anything does not agree.

use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::support::listing::leftovers_below;
use crate::support::running::{Running, eventually, is_unlocked};
use crate::support::told::{Left, left};
use crate::support::{Home, Outcome, expect, leftovers, make_fifo, noise_file, set_mtime};
use rustix::process::Signal;
use serde_json::Value;

const MIB: u64 = 1 << 20;
const BYTES: usize = 72 << 20 | 777;
/// One lane, two requests at each end.
const BOUND_BYTES: u64 = 4 * MIB;
const SLOW: &str = "--bwlimit=40MB";

fn is_whole(path: &Path, content: &[u8], row: &str) {
    assert!(std::fs::read(path).expect("it is there") == content, "{row}: {}", path.display());
}

fn report(run: &Outcome) -> Value {
    run.report()
}

fn number(run: &Outcome, field: &str) -> u64 {
    report(run)[field].as_u64().unwrap_or_else(|| panic!("{field}: {run:?}"))
}

/// Ends a slow copy in its middle by a signal; gives what it left.
fn cut(home: &Home, words: &[&str], signal: Signal, status: i32, content: &[u8]) -> Left {
    let running = Running::start(home.command(words));
    let has_begun = || left(&home.path("")).is_some_and(|left| left.told(false) >= 8 * MIB);
    eventually("a third of it", || has_begun() || running.has_ended());
    running.signal(signal);
    let ended = running.end();
    assert_eq!(ended.status, status, "{words:?}");
    let resumes = ended.err.contains("pump: interrupted; run the same command again to resume");
    assert_eq!(resumes, status == 20, "{ended:?}");
    let left = left(&home.path("")).expect("something to go on with");
    let (told, really) = (left.told(false), left.really(content));
    assert!(told <= really && really <= told + BOUND_BYTES, "{told} told, {really} there");
    left
}

/// The same command ends well, and moved what was missing alone.
fn goes_on(home: &Home, words: &[&str], told: u64, content: &[u8], bound: u64) {
    let run = home.pump(&[&["copy", "--json"], words].concat());
    expect(&run, 0, &[], "the second run");
    is_whole(&home.path("target"), content, "the second run");
    assert_eq!(leftovers(home), [""; 0]);
    let (moved, size) = (number(&run, "bytes_moved"), BYTES as u64);
    assert_eq!((number(&run, "bytes"), moved), (size, size - told), "{run:?}");
    assert_eq!(number(&run, "bytes_resumed"), told);
    assert!(number(&run, "bytes_moved_twice") <= bound.min(moved), "{run:?}");
}

#[test]
fn a_killed_copy_goes_on_where_it_was() {
    let home = Home::new();
    let content = noise_file(&home, "source", BYTES, 1);
    noise_file(&home, "target", 1000, 2);
    for (signal, status) in [(Signal::KILL, 128 + Signal::KILL.as_raw()), (Signal::INT, 20)] {
        let words = ["copy", "-q", SLOW, "source", "target"];
        let told = cut(&home, &words, signal, status, &content).told(false);
        goes_on(&home, &["source", "target"], told, &content, BOUND_BYTES);
    }
    // Twice in a row, with other requests.
    let first =
        cut(&home, &["copy", "-q", SLOW, "source", "target"], Signal::KILL, 137, &content).told(false);
    let words = ["copy", "-q", "--request-size=256KiB", "--lanes=3", "--bwlimit=8MB", "source", "target"];
    let running = Running::start(home.command(&words));
    let further = || left(&home.path("")).is_some_and(|left| left.told(false) > first + MIB);
    eventually("a little more", || further() || running.has_ended());
    running.signal(Signal::KILL);
    assert_eq!(running.end().status, 137);
    let told = left(&home.path("")).expect("something to go on with").told(false);
    // What each of the two had under way: three lanes with two and two requests of a quarter.
    goes_on(&home, &["source", "target"], told, &content, BOUND_BYTES + 3 * MIB);
}

#[test]
fn a_file_of_a_tree_goes_on_too() {
    let home = Home::new();
    std::fs::create_dir(home.path("tree")).expect("room");
    let content = noise_file(&home, "tree/large", BYTES, 1);
    noise_file(&home, "tree/small", 5000, 2);
    let running = Running::start(home.command(&["copy", "-q", SLOW, "tree", "target"]));
    let begun = || left(&home.path("target")).is_some_and(|left| left.told(false) >= 8 * MIB);
    eventually("a third of it", || begun() || running.has_ended());
    running.signal(Signal::KILL);
    assert_eq!(running.end().status, 137);
    let told = left(&home.path("target")).expect("something to go on with").told(false);
    let run = home.pump(&["copy", "--json", "tree", "target"]);
    expect(&run, 0, &[], "the second run");
    is_whole(&home.path("target/large"), &content, "the second run");
    assert!(number(&run, "bytes_moved") <= BYTES as u64 - told + 5000, "{run:?}");
    assert!(left(&home.path("target")).is_none());
    expect(&home.pump(&["verify", "tree", "target"]), 0, &[], "the same");
}

/// A file with two names is brought under the one and linked under the other, wherever it was cut.
#[test]
fn what_was_cut_and_is_a_link_now_leaves_nothing() {
    let home = Home::new();
    for name in ["tree", "tree/a", "tree/b"] {
        std::fs::create_dir(home.path(name)).expect("room");
    }
    let content = noise_file(&home, "tree/a/large", BYTES, 1);
    std::fs::hard_link(home.path("tree/a/large"), home.path("tree/b/large")).expect("one file system");
    let words = ["copy", "-q", SLOW, "--exclude=/a", "tree", "target"];
    let running = Running::start(home.command(&words));
    let folder = home.path("target/b");
    let is_under_way = || left(&folder).is_some_and(|left| left.told(false) >= 8 * MIB);
    eventually("a part of it", || (folder.exists() && is_under_way()) || running.has_ended());
    running.signal(Signal::KILL);
    assert_eq!(running.end().status, 137);
    // A run that leaves the name out leaves what can be resumed of it.
    expect(&home.pump(&["copy", "-q", "--exclude=large", "tree", "target"]), 0, &[], "without it");
    assert_eq!(leftovers_below(&folder).len(), 2, "the file and its journal");
    // In the order of names.
    expect(&home.pump(&["copy", "-q", "-i", "--lanes=1", "tree", "target"]), 0, &[], "the second run");
    for name in ["target/a/large", "target/b/large"] {
        is_whole(&home.path(name), &content, name);
    }
    assert_eq!(leftovers_below(&home.path("target")), [""; 0]);
}

#[test]
fn what_is_not_wanted_is_not_left() {
    let home = Home::new();
    let content = noise_file(&home, "source", BYTES, 1);
    cut(&home, &["copy", "-q", SLOW, "source", "target"], Signal::KILL, 137, &content);
    for words in [&["--no-resume"][..], &["--verify"]] {
        let words = [&["copy", "-q", SLOW][..], words, &["source", "target"]].concat();
        let running = Running::start(home.command(&words));
        let is_alone = || leftovers(&home).len() == 1;
        eventually("a temporary file alone", || is_alone() || running.has_ended());
        running.signal(Signal::INT);
        assert_eq!(running.end().status, 20);
        assert_eq!(leftovers(&home), [""; 0], "{words:?}");
    }
    let run = home.pump(&["copy", "--json", "source", "target"]);
    assert_eq!((run.status, number(&run, "bytes_resumed")), (0, 0), "{run:?}");
}

#[test]
fn without_going_on_nothing_stays_where_no_temporary_name_is_taken() {
    let home = Home::new();
    let content = noise_file(&home, "source", BYTES, 1);
    noise_file(&home, "target", 1000, 2);
    let cut = || cut(&home, &["copy", "-q", SLOW, "source", "target"], Signal::KILL, 137, &content);
    cut();
    expect(&home.pump(&["copy", "-q", "--inplace", "--no-resume", "source", "target"]), 0, &[], "in place");
    is_whole(&home.path("target"), &content, "in place");
    assert_eq!(leftovers(&home), [""; 0]);
    // A file that is small by now.
    let left = cut();
    for folder in ["tree", "into"] {
        std::fs::create_dir(home.path(folder)).expect("room");
    }
    for path in [&left.file, &left.journal] {
        let name = path.file_name().expect("a name");
        std::fs::rename(path, home.path("into").join(name)).expect("one file system");
    }
    for (seed, flag, count) in [(3, "--sync=end", 2), (4, "--no-resume", 0)] {
        let small = noise_file(&home, "tree/target", 1000, seed);
        expect(&home.pump(&["copy", "-q", "-T", flag, "tree", "into"]), 0, &[], flag);
        is_whole(&home.path("into/target"), &small, flag);
        assert_eq!(leftovers_below(&home.path("into")).len(), count, "{flag}");
    }
}

/// The kernel gives up the lock of a killed run when it has ended the requests of its ring: what is locked at the first
/// look may have nobody's lock at the next.
#[test]
fn a_lock_that_outlives_its_run_for_a_moment_keeps_nothing() {
    let home = Home::new();
    let content = noise_file(&home, "source", BYTES, 1);
    noise_file(&home, "target", 1000, 2);
    let partial = cut(&home, &["copy", "-q", SLOW, "source", "target"], Signal::KILL, 137, &content);
    let file = std::fs::File::open(&partial.file).expect("it exists");
    eventually("the kernel gives up the lock", || is_unlocked(&file));
    let mut command = std::process::Command::new("strace");
    let first_look = "inject=flock:error=EAGAIN:when=1";
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=flock", "-e", first_look]);
    command.arg(crate::support::PUMP).args(["copy", "-q", "--inplace", "--no-resume", "source", "target"]);
    match command.current_dir(home.path("")).stdin(std::process::Stdio::null()).output() {
        Ok(ran) => assert!(ran.status.success(), "{ran:?}"),
        Err(error) => return eprintln!("not tested: a lock that another seems to have: strace: {error}"),
    }
    is_whole(&home.path("target"), &content, "in place");
    assert_eq!(leftovers(&home), [""; 0]);
}

/// A harm to what a cut copy left, and what is then said besides.
type Harm = (&'static str, fn(&Home, &Left), &'static str);

const HARMS: [Harm; 11] = [
    ("a source that changed", |home, _| set_mtime(&home.path("source"), 5), "it starts over"),
    ("another source", |home, _| other_source(home), "it starts over"),
    ("a temporary file that was cut", |_, left| cut_off(&left.file, 5), ""),
    ("a temporary file that was replaced", |_, left| replace(&left.file), ""),
    ("a temporary file with another name", |home, left| link(home, &left.file), ""),
    ("a journal of another version", |_, left| damage(&left.journal, 7), ""),
    ("a damaged head", |_, left| damage(&left.journal, 30), ""),
    ("a journal cut in its head", |_, left| cut_off(&left.journal, 100), ""),
    ("damaged records", |_, left| (544..2000).step_by(32).for_each(|at| damage(&left.journal, at)), ""),
    ("a symbolic link for a journal", |home, left| move_and_link(home, &left.journal), ""),
    ("a pipe for a journal", |_, left| make_pipe(&left.journal), ""),
];

fn other_source(home: &Home) {
    std::fs::copy(home.path("source"), home.path("second")).expect("room");
    std::fs::rename(home.path("second"), home.path("source")).expect("one folder");
}

fn cut_off(path: &Path, bytes: u64) {
    std::fs::File::options().write(true).open(path).expect("it is there").set_len(bytes).expect("it is ours");
}

fn replace(path: &Path) {
    std::fs::write(path.with_extension("new"), vec![0; BYTES]).expect("room");
    std::fs::rename(path.with_extension("new"), path).expect("one folder");
}

fn link(home: &Home, path: &Path) {
    std::fs::hard_link(path, home.path("another name")).expect("one folder");
}

fn damage(path: &Path, at: u64) {
    let file = std::fs::File::options().read(true).write(true).open(path).expect("it is there");
    let mut byte = [0];
    if file.read_at(&mut byte, at).expect("it can be read") == 1 {
        file.write_all_at(&[byte[0] ^ 1], at).expect("it is ours");
    }
}

fn move_and_link(home: &Home, path: &Path) {
    std::fs::rename(path, home.path("moved")).expect("one folder");
    std::os::unix::fs::symlink(home.path("moved"), path).expect("a link");
}

fn make_pipe(path: &Path) {
    std::fs::remove_file(path).expect("it is there");
    make_fifo(path);
}

#[test]
fn what_does_not_agree_starts_over() {
    let home = Home::new();
    let content = noise_file(&home, "source", BYTES, 1);
    for (row, harm, words) in HARMS {
        let left = cut(&home, &["copy", "-q", SLOW, "source", "target"], Signal::KILL, 137, &content);
        harm(&home, &left);
        let run = home.pump(&["copy", "--json", "source", "target"]);
        expect(&run, 0, &[words], row);
        is_whole(&home.path("target"), &content, row);
        assert_eq!((number(&run, "bytes_moved"), number(&run, "bytes_resumed")), (BYTES as u64, 0), "{row}");
        assert_eq!(leftovers(&home), [""; 0], "{row}");
        assert!(row == "a symbolic link for a journal" || !home.path("moved").exists());
        for name in ["target", "moved", "another name"] {
            let _ = std::fs::remove_file(home.path(name));
        }
    }
}
