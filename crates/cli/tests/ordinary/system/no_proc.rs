//! Where /proc is not mounted (a chroot of an installer or a rescue system): all attributes are kept and compared, or a line
//! says that /proc is missing.

use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use datapump_engine::os::linux::KernelCall;

use crate::support::PUMP;
use crate::support::home::{outcome, outcome_of};
use crate::support::listing::same;
use crate::support::small_tree::small_tree;
use crate::support::{Home, Outcome, expect, is_root, make_fifo, set_mode, set_xattr, xattr};
use crate::system::sandbox::start_without;

/// `pump` where an empty file system hides /proc; `None`, with a printed reason, where none can be mounted.
fn without_proc(home: &Home, words: &[&str]) -> Option<Outcome> {
    let run = |script: &str, words: &[&str]| outcome(hiding_proc(home, script, words), b"");
    let probe = run("true", &[]);
    if probe.status != 0 {
        eprintln!("SKIPPED: /proc cannot be hidden here: {}", probe.err);
        return None;
    }
    Some(run("exec \"$0\" \"$@\"", words))
}

fn hiding_proc(home: &Home, script: &str, words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(if is_root() { &["-m"][..] } else { &["-rm"] });
    command.args(["sh", "-c", &format!("mount -t tmpfs none /proc && {script}"), PUMP]);
    command_in(home, command, words)
}

fn command_in(home: &Home, mut command: Command, words: &[&str]) -> Command {
    command.args(words).current_dir(home.path("")).stdin(Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PUMP_")) {
        command.env_remove(name);
    }
    command
}

/// With all that is held and not opened.
fn source(home: &Home) -> std::path::PathBuf {
    let tree = small_tree(home, "from");
    make_fifo(&tree.join("fifo"));
    set_mode(&tree.join("fifo"), 0o644);
    set_xattr(&tree.join("b"), "user.some", b"value");
    if is_root() {
        assert!(Command::new("mknod").arg(tree.join("device")).args(["c", "1", "3"]).status().is_ok());
        set_mode(&tree.join("device"), 0o640);
        set_xattr(&tree.join("fifo"), "trusted.some", b"value");
        let words = ["-h", "-n", "trusted.some", "-v", "1"];
        let _ = Command::new("setfattr").args(words).arg(tree.join("link")).status();
    }
    tree
}

#[test]
fn attributes_of_all_kinds_are_kept_and_compared_without_proc() {
    let home = Home::new();
    let tree = source(&home);
    let Some(run) = without_proc(&home, &["copy", "-q", "from/", "to"]) else { return };
    expect(&run, 0, &[], "copy");
    assert_eq!(run.err, "", "nothing is lost");
    same(&tree, &home.path("to"), "copy");
    assert_eq!(xattr(&home.path("to/fifo"), "trusted.some"), xattr(&tree.join("fifo"), "trusted.some"));
    for words in [&["mirror", "-n", "-i", "from/", "to"][..], &["verify", "--attributes", "from", "to"]] {
        let run = without_proc(&home, words).expect("it was hidden before");
        expect(&run, 0, &[], words[0]);
        assert_eq!(run.out, "", "{words:?}: nothing differs");
    }
    let run = without_proc(&home, &["copy", "-aq", "from/link", "to/"]).expect("as before");
    expect(&run, 0, &[], "names alone");
    // Changed at the target: seen, and set again.
    set_mode(&home.path("to/fifo"), 0o600);
    let run = without_proc(&home, &["mirror", "from/", "to"]).expect("as before");
    expect(&run, 0, &[], "mirror");
    assert_eq!(home.path("to/fifo").metadata().expect("it is there").mode() & 0o7777, 0o644);
    same(&tree, &home.path("to"), "mirror");
}

/// A name that others may exchange is not given attributes: a line says what is missing.
#[test]
fn what_cannot_be_set_without_proc_names_it() {
    if !is_root() {
        return eprintln!("SKIPPED: only root gives pipes extended attributes");
    }
    let home = Home::new();
    source(&home);
    std::fs::create_dir(home.path("open")).expect("room");
    set_mode(&home.path("open"), 0o777);
    let Some(run) = without_proc(&home, &["mirror", "--no-preserve=mode", "from/", "open"]) else { return };
    let words = "extended attribute trusted.some: /proc is not mounted, and this needs it: mount it";
    expect(&run, 23, &[words, "2 names"], "a directory of all");
    assert_eq!(run.err.matches("is not mounted").count(), 1, "{}", run.err);
}

/// Not an empty name, and not that there is no such process.
#[test]
fn what_shows_processes_and_mounts_names_proc() {
    let home = Home::new();
    let Some(run) = without_proc(&home, &["doctor", "."]) else { return };
    expect(
        &run,
        0,
        &["file system", "not known: /proc is not mounted", "mount -t proc proc /proc"],
        "doctor",
    );
    let run = without_proc(&home, &["explain", "--pid", "1"]).expect("as before");
    expect(&run, 1, &["process 1: /proc is not mounted"], "explain --pid");
}

/// Neither statx(2) nor /proc shows that a folder is a mount point of the same file system.
#[test]
fn nothing_is_removed_where_anything_may_be_mounted() {
    const ENOSYS: i32 = 38;
    let home = Home::new();
    for folder in ["from/both", "to/both", "to/mounted", "to/plain", "other"] {
        std::fs::create_dir_all(home.path(folder)).expect("room");
    }
    for file in ["from/file", "to/extra", "to/both/extra", "to/plain/file", "other/keep"] {
        std::fs::write(home.path(file), "content").expect("room");
    }
    let words = ["mirror", "from/", "to"];
    if without_proc(&home, &["--version"]).is_none() {
        return;
    }
    let script = "mount --bind other to/mounted && exec \"$0\" \"$@\"";
    let mut command = hiding_proc(&home, script, &words);
    let Some(run) = start_without(&[KernelCall::Statx], ENOSYS, &mut command).map(outcome_of) else { return };
    let said = ["to/mounted'", "to/plain'", "nothing in it was removed", "mount -t proc"];
    expect(&run, 23, &said, "neither");
    let is_there = |name: &str| home.path(name).exists();
    assert!(is_there("other/keep") && is_there("to/plain/file"), "{run:?}");
    assert!(
        !is_there("to/extra") && !is_there("to/both/extra"),
        "what the source has is looked into: {run:?}"
    );
    // Either of them is enough.
    let run = outcome(hiding_proc(&home, script, &words), b"");
    expect(
        &run,
        0,
        &["to/mounted' is not in the source, but it is a mount point: left alone"],
        "statx alone",
    );
    assert!(is_there("other/keep") && !is_there("to/plain"), "{run:?}");
}
