//! What a host may forbid: io_uring, locked memory, and what an ordinary user may do. The copy is made all the same,
//! or the words say why not.

use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use crate::support::{Home, Outcome, expect, has_content, noise_file, outcome};
use crate::wider_parts::throttle::Quota;
use crate::wider_parts::{report, with_content};

/// Whom an ordinary user's programs run as.
const NOBODY: u32 = 65_534;

/// A folder that everybody may enter, with a copy of `pump` that everybody may run.
fn public_home() -> Home {
    let home = Home::new();
    crate::support::programs::copy_program(home.path("pump"));
    for name in ["", "pump"] {
        crate::support::set_mode(&home.path(name), 0o755);
    }
    home
}

/// Runs `pump` of this folder behind these words.
fn behind(home: &Home, words: &[&str], rest: &[&str]) -> Outcome {
    let pump = home.path("pump").display().to_string();
    let all = [words, &[&pump], rest].concat();
    let mut command = Command::new(all[0]);
    command.args(&all[1..]).current_dir(home.path("")).stdin(Stdio::null());
    outcome(command, b"")
}

const AS_NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

fn owned_by_nobody(home: &Home, name: &str) {
    std::os::unix::fs::chown(home.path(name), Some(NOBODY), Some(NOBODY)).expect("the tests run as root");
}

#[test]
fn io_uring_that_is_forbidden_is_replaced() {
    let home = public_home();
    let content = noise_file(&home, "a", 5_000_001, 1);
    for (error, words) in
        [("EPERM", "Operation not permitted"), ("ENOSYS", "not implemented"), ("ENOMEM", "memory")]
    {
        for asked in ["auto", "uring"] {
            let inject = format!("inject=io_uring_setup:error={error}");
            let strace =
                ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=io_uring_setup", "-e", &inject];
            let run = behind(&home, &strace, &["copy", "--json", "--engine", asked, "a", "b"]);
            expect(&run, 0, &[], error);
            let engine = &report(&run)["engine"];
            assert_eq!((&engine["asked"], &engine["got"]), (&asked.into(), &"threads".into()), "{error}");
            let why = engine["why"].as_str().expect("words");
            assert!(why.starts_with("io_uring_setup: ") && why.contains(words), "{error}: {why}");
            has_content(&home.path("b"), &content, error);
            let run = behind(&home, &strace, &["copy", "-v", "--engine", asked, "a", "b"]);
            expect(&run, 0, &[&format!("engine: asked {asked}, got threads"), "io_uring_setup"], error);
        }
    }
    let inject = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=io_uring_setup:error=EPERM"];
    let run = behind(&home, &inject, &["doctor"]);
    expect(&run, 0, &["io_uring_setup", "Operation not permitted"], "doctor");
}

#[test]
fn an_opcode_that_is_missing_is_noticed() {
    let home = public_home();
    let content = noise_file(&home, "a", 5_000_001, 2);
    let inject = "inject=io_uring_register:error=EINVAL";
    let strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=io_uring_register", "-e", inject];
    let run = behind(&home, &strace, &["copy", "--json", "a", "b"]);
    expect(&run, 0, &[], "no probe");
    assert_eq!(report(&run)["engine"]["got"], "threads");
    has_content(&home.path("b"), &content, "no probe");
}

#[test]
fn an_in_kernel_copy_that_is_refused_goes_through_slots() {
    let home = public_home();
    let content = noise_file(&home, "a", 3_000_001, 9);
    for error in ["ENOSYS", "EXDEV", "EPERM", "EINVAL", "EOPNOTSUPP"] {
        let inject = format!("inject=copy_file_range:error={error}");
        let strace = ["strace", "-f", "-qq", "-o", "trace", "-e", "trace=copy_file_range", "-e", &inject];
        let run = behind(&home, &strace, &["copy", "--sync=none", "a", "b"]);
        expect(&run, 0, &[], error);
        let trace = std::fs::read_to_string(home.path("trace")).expect("strace writes what it saw");
        assert!(trace.contains("INJECTED"), "{error}: the call was made: {trace}");
        has_content(&home.path("b"), &content, error);
    }
    // In the middle: the rest of the block is copied by the loop, and the error is the file's if it stays.
    let strace = [
        "strace",
        "-f",
        "-qq",
        "-o",
        "trace",
        "-e",
        "trace=copy_file_range",
        "-e",
        "inject=copy_file_range:error=EIO:when=2",
    ];
    let run = behind(&home, &strace, &["copy", "--sync=none", "a", "c"]);
    expect(&run, 1, &["'c'", "Input/output error"], "EIO in the middle");
    assert!(!home.path("c").exists(), "nothing half stands there");
}

#[test]
fn no_locked_memory_is_no_reason_to_fail() {
    let home = public_home();
    let content = noise_file(&home, "a", 20_000_001, 3);
    crate::support::make_folder(&home, "own");
    owned_by_nobody(&home, "own");
    for (engine, direct) in [("auto", "auto"), ("uring", "always"), ("uring", "never"), ("threads", "always")]
    {
        let row = format!("{engine} {direct}");
        let limit = [&["prlimit", "--memlock=0"], &AS_NOBODY[..]].concat();
        let words = ["copy", "--json", "--engine", engine, "--direct", direct, "--lanes=4", "a", "own/b"];
        let run = behind(&home, &limit, &words);
        expect(&run, 0, &[], &row);
        let engine = &report(&run)["engine"];
        assert!(engine["got"] == "uring" || engine["got"] == "threads", "{row}: {engine}");
        has_content(&home.path("own/b"), &content, &row);
    }
}

#[test]
fn few_open_files_and_little_memory_are_enough() {
    let home = public_home();
    let content = noise_file(&home, "a", 20_000_001, 4);
    for limit in ["--nofile=64", "--nofile=16", "--as=268435456", "--stack=1048576"] {
        let run = behind(&home, &["prlimit", limit], &["copy", "--lanes=2", "a", "b"]);
        expect(&run, 0, &[], limit);
        has_content(&home.path("b"), &content, limit);
    }
}

/// Copies of trees are made in the kernel, what is compared is read into slots: each lane filled its own, 32 MiB in all.
#[test]
fn a_control_group_with_little_memory_is_enough() {
    let home = public_home();
    crate::support::make_folder(&home, "tree");
    for number in 0..100 {
        noise_file(&home, &format!("tree/{number}"), if number < 8 { 4 << 20 } else { 1_000_000 }, number);
    }
    let Some(group) = Quota::of_memory(16 << 20) else { return };
    let words = group.words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    expect(&behind(&home, &words, &["mirror", "tree/", "copy"]), 0, &[], "copied");
    for compared in [&["verify", "tree", "copy"][..], &["mirror", "-c", "tree/", "copy"]] {
        expect(&behind(&home, &words, compared), 0, &[], compared[0]);
    }
    let changed = noise_file(&home, "tree/7", 4 << 20, 77);
    expect(&behind(&home, &words, &["verify", "tree", "copy"]), 1, &[], "one differs");
    expect(&behind(&home, &words, &["mirror", "-c", "tree/", "copy"]), 0, &[], "one is copied");
    has_content(&home.path("copy/7"), &changed, "copied again");
}

#[test]
fn a_tree_for_which_no_file_can_be_opened_leaves_nothing() {
    let home = public_home();
    crate::support::make_folder(&home, "tree");
    noise_file(&home, "tree/a", 100, 7);
    for limit in 5..16 {
        let run = behind(&home, &["prlimit", &format!("--nofile={limit}")], &["copy", "tree", "copy"]);
        let left = std::fs::read_dir(home.path("")).expect("the folder").flatten();
        let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".pump-")).count();
        assert_eq!(left, 0, "{limit}: {run:?}");
        let _ = std::fs::remove_dir_all(home.path("copy"));
    }
}

#[test]
fn memory_that_cannot_be_had_is_no_panic() {
    let home = public_home();
    noise_file(&home, "a", 20_000_001, 5);
    let words = ["copy", "--request-size=64MiB", "--depth=8", "a", "b"];
    let run = behind(&home, &["prlimit", "--as=268435456"], &words);
    expect(&run, 1, &["memory"], "1 GiB of slots in 256 MiB");
    crate::support::only(&home, &["a", "pump"], "nothing is left");
}

#[test]
fn threads_that_cannot_be_had_are_no_panic() {
    let home = public_home();
    noise_file(&home, "a", 20_000_001, 6);
    crate::support::make_folder(&home, "own");
    owned_by_nobody(&home, "own");
    let strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=clone,clone3:error=EAGAIN"];
    for words in [&["--engine=threads"][..], &["--lanes=4"], &["--engine=threads", "--lanes=3"], &[]] {
        let run = behind(&home, &strace, &[&["copy", "a", "own/b"], words].concat());
        assert!([0, 1].contains(&run.status), "{words:?}: {run:?}");
        expect(&run, run.status, &[], &format!("{words:?}"));
        let names: Vec<_> = std::fs::read_dir(home.path("own")).expect("the folder").flatten().collect();
        assert_eq!(names.len(), usize::from(run.status == 0), "{words:?}: {names:?}");
    }
}

#[test]
fn an_ordinary_user_is_told_once_what_cannot_be_kept() {
    let home = public_home();
    noise_file(&home, "a", 100_000, 7);
    noise_file(&home, "b", 100_000, 8);
    crate::support::set_mode(&home.path("a"), 0o6755);
    crate::support::set_mode(&home.path("b"), 0o4711 | 0o444);
    crate::support::make_folder(&home, "own");
    owned_by_nobody(&home, "own");
    let run = behind(&home, &AS_NOBODY, &["copy", "-v", "a", "b", "own"]);
    let words = "owner: not permitted; the copy belongs to this user";
    expect(&run, 0, &[words], "two files of root");
    assert_eq!(run.err.matches(words).count(), 1, "{run:?}");
    for (name, mode) in [("a", 0o755), ("b", 0o755)] {
        let meta = home.path("own").join(name).metadata().expect("the copy");
        assert_eq!((meta.uid(), meta.mode() & 0o7777), (NOBODY, mode), "{name}: set-id bits are dropped");
    }
    for flags in [&["copy", "-q"][..], &["copy"]] {
        let run = behind(&home, &AS_NOBODY, &[flags, &["a", "own/c"]].concat());
        expect(&run, 0, &[], "as cp and rsync");
        assert!(!run.err.contains("owner: "), "{run:?}");
    }
}

#[test]
fn an_ordinary_user_keeps_what_is_permitted() {
    let home = public_home();
    noise_file(&home, "own", 100_000, 9);
    owned_by_nobody(&home, "own");
    crate::support::set_mode(&home.path("own"), 0o6755);
    crate::support::make_folder(&home, "folder");
    owned_by_nobody(&home, "folder");
    let run = behind(&home, &AS_NOBODY, &["copy", "own", "folder/b"]);
    expect(&run, 0, &[], "an own file");
    assert!(!run.err.contains("not permitted"), "{run:?}");
    let meta = home.path("folder/b").metadata().expect("the copy");
    assert_eq!(meta.mode() & 0o7777, 0o6755);
}

#[test]
fn what_may_not_be_read_or_written_is_told() {
    let home = public_home();
    noise_file(&home, "secret", 100_000, 10);
    crate::support::set_mode(&home.path("secret"), 0o600);
    noise_file(&home, "open", 100_000, 11);
    for (name, mode) in [("closed", 0o700), ("listed", 0o755)] {
        crate::support::make_folder(&home, name);
        crate::support::set_mode(&home.path(name), mode);
    }
    crate::support::make_folder(&home, "own");
    owned_by_nobody(&home, "own");
    for (words, status, part) in [
        (["secret", "own/b"], 1, "open 'secret': Permission denied (os error 13)"),
        (["open", "listed/b"], 1, "create 'listed/b': Permission denied (os error 13)"),
        (["open", "listed"], 1, "create 'listed/open': Permission denied (os error 13)"),
        (["open", "closed/b"], 1, "'closed/b': Permission denied (os error 13)"),
        (["closed/a", "own/b"], 1, "open 'closed/a': Permission denied (os error 13)"),
    ] {
        let run = behind(&home, &AS_NOBODY, &["copy", words[0], words[1]]);
        expect(&run, status, &[part], &format!("{words:?}"));
    }
    let run = behind(&home, &AS_NOBODY, &["copy", "secret", "open", "own"]);
    expect(&run, 23, &["open 'secret': Permission denied"], "the other file goes on");
    let names: Vec<_> = std::fs::read_dir(home.path("own")).expect("the folder").flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn a_sticky_folder_keeps_files_of_others() {
    let home = public_home();
    noise_file(&home, "a", 100_000, 12);
    crate::support::make_folder(&home, "sticky");
    crate::support::set_mode(&home.path("sticky"), 0o1777);
    let old = with_content(&home.path("sticky/target").display().to_string(), 5000, 13);
    let run = behind(&home, &AS_NOBODY, &["copy", "a", "sticky/target"]);
    expect(&run, 1, &["what exists belongs to another user, and its folder is sticky"], "sticky");
    has_content(&home.path("sticky/target"), &old, "the old target");
    let names: Vec<_> = std::fs::read_dir(home.path("sticky")).expect("the folder").flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}
