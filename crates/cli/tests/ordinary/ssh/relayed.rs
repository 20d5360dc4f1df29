//! Copies between two other hosts, `here` being none of them: folders in the place of hosts, and a plain script in that
//! of ssh. With a real sshd: `wider/ssh/copies.rs`.

use std::ffi::OsStr;
use std::process::Command;

use crate::support::programs::script;
use crate::support::running::Running;
use crate::support::small_tree::{set_time, small_tree};
use crate::support::{
    Home, Outcome, PUMP, expect, has_content, make_folder, make_symlink, noise_file, outcome, set_xattr,
    xattr,
};
use rustix::process::Signal;

/// Two hosts, `one` and `two`, whose home folders have these names.
fn home(more: &str) -> Home {
    let home = Home::new();
    make_folder(&home, "one");
    make_folder(&home, "two");
    let text = format!("NAME=$1; shift; export HOME=$PWD/$NAME; {more}\nexec sh -c \"$*\"");
    script(home.path("rsh"), &text);
    home
}

fn command(home: &Home, is_direct: bool, words: &[impl AsRef<OsStr>]) -> Command {
    let own = ["copy", "--ssh=./rsh", "--remote-bin", PUMP].map(OsStr::new);
    let all: Vec<&OsStr> = own.into_iter().chain(words.iter().map(AsRef::as_ref)).collect();
    let mut command = home.command(&all);
    command.env_remove("SSH_CONNECTION");
    if is_direct {
        command.env("SSH_CONNECTION", "127.0.0.1 1 127.0.0.1 22");
    }
    command
}

fn copy(home: &Home, is_direct: bool, words: &[impl AsRef<OsStr>]) -> Outcome {
    outcome(command(home, is_direct, words), b"")
}

const SAID: &str = "one -> two: all data goes through this host";

#[test]
fn trees_files_and_patterns_go_from_one_host_to_another() {
    for is_direct in [true, false] {
        let home = home("");
        let tree = small_tree(&home, "one/tree");
        set_xattr(&tree.join("b"), "user.colour", b"blue");
        let content = noise_file(&home, "one/large.bin", 9_000_001, 1);
        let small = noise_file(&home, "one/small.bin", 10, 2);
        let row = format!("direct {is_direct}");
        let run = copy(&home, is_direct, &["one:tree", "two:copy"]);
        expect(&run, 0, &[SAID, "one:tree -> two:copy"], &row);
        expect(&home.pump(&["verify", "one/tree", "two/copy"]), 0, &[], &row);
        assert_eq!(xattr(&home.path("two/copy/b"), "user.colour").as_deref(), Some(&b"blue"[..]), "{row}");
        let run = copy(&home, is_direct, &["-u", "one:tree/", "two:copy"]);
        expect(&run, 0, &["Nothing to do"], &row);
        expect(&copy(&home, is_direct, &["one:*.bin", "two:"]), 0, &["two:large.bin"], &row);
        has_content(&home.path("two/large.bin"), &content, &row);
        has_content(&home.path("two/small.bin"), &small, &row);
        std::fs::remove_file(home.path("one/tree/b")).expect("it is there");
        expect(&copy(&home, is_direct, &["-u", "--delete", "one:tree/", "two:copy"]), 0, &[], &row);
        assert!(!home.path("two/copy/b").exists(), "{row}");
        assert_eq!(home.names().len(), 3, "nothing lands here: {:?}", home.names());
    }
}

#[test]
fn a_problem_names_its_host() {
    let home = home("");
    noise_file(&home, "one/file", 10, 1);
    for (words, status, part) in [
        (&["one:none", "two:x"][..], 1, "'none' on one: No such file"),
        (&["one:file", "two:no/such/x"], 1, "'no/such/x' on two: No such file"),
        (&["one:file", "one:none", "two:"], 23, "'none' on one: No such file"),
        (&["one:file", "two:~nobody/x"], 2, "home folder of a user"),
        (&["--remove-source-files", "one:file", "two:x"], 2, "--remove-source-files"),
    ] {
        let run = copy(&home, true, words);
        expect(&run, status, &[part], &format!("{words:?}"));
    }
}

/// Two names of one host are one host: a file is not copied into itself, and a folder not below itself.
#[test]
fn a_host_of_two_names_is_known_to_be_one() {
    let home = home("");
    let content = noise_file(&home, "one/file", 100, 1);
    // Of a young file the times do not tell that it was written: it is read again, and has the content that was copied.
    set_time(&home.path("one/file"), 0, 0);
    small_tree(&home, "one/tree");
    std::os::unix::fs::symlink(home.path("one"), home.path("two/there")).expect("room");
    for words in [&["--inplace", "one:file", "two:there/file"][..], &["one:tree", "two:there/tree/sub"]] {
        let run = copy(&home, true, words);
        assert_ne!(run.status, 0, "{words:?}: {run:?}");
        has_content(&home.path("one/file"), &content, &format!("{words:?}"));
    }
}

#[test]
fn a_link_that_is_named_stays_one_between_two_hosts() {
    for is_direct in [true, false] {
        let home = home("");
        let row = format!("direct {is_direct}");
        make_folder(&home, "one/v1");
        let content = noise_file(&home, "one/v1/file", 100, 1);
        noise_file(&home, "one/plain", 10, 2);
        make_symlink(&home, "v1", "one/latest");
        make_symlink(&home, "nowhere", "one/dangling");
        make_symlink(&home, "v1/file", "one/short");
        let leads_to = |name: &str| std::fs::read_link(home.path(name)).ok();
        let words = ["-a", "one:latest", "one:dangling", "one:plain", "two:"];
        expect(&copy(&home, is_direct, &words), 0, &[SAID], &row);
        assert_eq!(leads_to("two/latest").as_deref(), Some("v1".as_ref()), "{row}");
        assert_eq!(leads_to("two/dangling").as_deref(), Some("nowhere".as_ref()), "{row}");
        assert!(home.path("two/plain").is_file(), "{row}");
        expect(&copy(&home, is_direct, &["-d", "one:l*", "two:other"]), 0, &[], &row);
        assert_eq!(leads_to("two/other").as_deref(), Some("v1".as_ref()), "{row}");
        expect(&copy(&home, is_direct, &["one:latest", "two:followed"]), 0, &[], &row);
        has_content(&home.path("two/followed/file"), &content, &row);
        expect(&copy(&home, is_direct, &["-a", "one:v1", "two:tree"]), 0, &[], &row);
        has_content(&home.path("two/tree/file"), &content, &row);
        // The two are one host: the only content would be gone.
        std::os::unix::fs::symlink(home.path("one"), home.path("two/there")).expect("room");
        let run = copy(&home, is_direct, &["-a", "one:short", "two:there/v1/file"]);
        expect(&run, 2, &["leads to", "leave out -a"], &row);
        has_content(&home.path("one/v1/file"), &content, &row);
    }
}

#[test]
fn a_plan_and_a_stop_reach_both_hosts() {
    let home = home("");
    noise_file(&home, "one/file", 9_000_001, 1);
    let run = copy(&home, false, &["-n", "one:file", "two:new"]);
    expect(&run, 0, &["dry run: nothing was copied"], "a plan");
    let mut words = vec!["--progress=always", "--request-size=64KiB", "--bwlimit=1MB"];
    words.extend(["one:file", "two:new"]);
    let mut running = Running::start(command(&home, false, &words));
    running.await_bytes();
    running.signal(Signal::INT);
    let run = running.end();
    assert_eq!(run.status, 20, "{run:?}");
    assert!(!home.path("two/new").exists());
}

/// Whichever of the two is lost, both sessions begin anew, and the copy goes on.
#[test]
fn a_session_that_is_lost_is_made_again() {
    for lost in ["one", "two"] {
        let once = format!("[ $NAME = {lost} ] && [ ! -e again ]");
        // The 9 MB take two seconds.
        let home = home(&format!("if {once}; then touch again; exec timeout 1 sh -c \"$*\"; fi"));
        let content = noise_file(&home, "one/large", 9_000_001, 1);
        let run = copy(&home, false, &["--bwlimit=4MB", "--retry-for=60s", "one:large", "two:large"]);
        expect(&run, 0, &["trying again", &format!("{lost}:")], lost);
        has_content(&home.path("two/large"), &content, lost);
    }
}

/// Blocks are read back there: what is left then is a half of the whole.
#[test]
fn the_percentage_of_a_relayed_tree_that_is_verified_ends_with_the_copy() {
    let home = home("");
    make_folder(&home, "one/tree");
    let folder = home.path("one/tree");
    (0..2000).for_each(|number| std::fs::write(folder.join(number.to_string()), [7; 2000]).expect("room"));
    let words =
        ["--json", "--progress=always", "--verify", "--bwlimit=1MB", "--lanes=1", "one:tree/", "two:copy"];
    let run = copy(&home, true, &words);
    expect(&run, 0, &[], "verified");
    let events = run.events().into_iter();
    let progress: Vec<_> = events.filter(|event| event["event"] == "progress").collect();
    assert!(progress.len() >= 3, "{}", run.out);
    for event in &progress {
        let percent = event["percent"].as_f64().unwrap_or(0.0);
        let files = event["files"].as_f64().expect("a number");
        assert!(percent < 100.0 || files >= 2000.0, "{event}");
    }
    let is_told = |event: &&serde_json::Value| event["percent"].is_number() && event["at_hand"].is_string();
    assert!(progress.iter().any(|event| is_told(&event)), "{}", run.out);
}
