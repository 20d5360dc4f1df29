//! HOST:PATH places over a real sshd on loopback: trees both ways judged by rsync, and what goes wrong on the way.

use std::fs::DirEntry;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, lchown, symlink};
use std::process::Command;
use std::time::Instant;

use crate::support::programs::script;
use crate::support::running::{Running, eventually};
use crate::support::{Home, Outcome, PUMP, expect, has_content, is_root, noise_file, outcome, set_mtime};
use crate::wider_parts::judge::{same_tree, same_tree_apart_from_owners};
use crate::wider_parts::program;
use crate::wider_parts::sshd::Sshd;
use crate::wider_parts::tree::make_tree;
use rustix::process::{Pid, Signal, kill_process};

/// The far end does not know how it was reached, and cannot be called.
const UNREACHABLE: &str = "env -u SSH_CONNECTION sh -c \"$SSH_ORIGINAL_COMMAND\"";

fn command(home: &Home, words: &[&str]) -> Command {
    home.command(&[&["copy", "--ssh", &Sshd::ssh(home, ""), "--remote-bin", PUMP][..], words].concat())
}

fn copy(home: &Home, words: &[&str]) -> Outcome {
    outcome(command(home, words), b"")
}

#[test]
fn trees_go_there_and_back() {
    for (row, forced) in [("direct", None), ("through ssh", Some(UNREACHABLE))] {
        let home = Home::new();
        let _sshd = Sshd::new(&home, forced);
        let (tree, there, back) = (home.path("tree"), home.path("far/tree"), home.path("back"));
        make_tree(&tree, 5, 1500);
        let same = if is_root() { same_tree } else { same_tree_apart_from_owners };
        for (words, copied) in [(["tree", "loop:"], &there), (["loop:tree", "back"], &back)] {
            let run = copy(&home, &words);
            expect(&run, 0, &[], row);
            assert_eq!(run.err.contains("everything goes through ssh"), forced.is_some(), "{row}: {run:?}");
            same(&tree, copied, row);
        }
        let again = copy(&home, &["-uT", "--delete", "tree", "loop:tree"]);
        expect(&again, 0, &["tree -> loop:tree: 0 files in ", " up to date"], row);
        same(&tree, &there, row);
    }
}

/// Both hosts are this one, by two names; what it holds goes through here all the same.
#[test]
fn a_tree_goes_from_one_host_to_another() {
    for (row, forced) in [("direct", None), ("through ssh", Some(UNREACHABLE))] {
        let home = Home::new();
        let _sshd = Sshd::new(&home, forced);
        let tree = home.path("far/tree");
        make_tree(&tree, 6, 1500);
        let same = if is_root() { same_tree } else { same_tree_apart_from_owners };
        let run = copy(&home, &["loop:tree", "127.0.0.1:copy"]);
        expect(&run, 0, &["loop:tree -> 127.0.0.1:copy", "goes through this host"], row);
        same(&tree, &home.path("far/copy"), row);
    }
}

#[test]
fn hosts_and_keys_that_are_not_right_are_refused_and_nothing_is_written() {
    let home = Home::new();
    let _sshd = Sshd::new(&home, None);
    noise_file(&home, "file", 10, 1);
    let unknown = Sshd::ssh(&home, "-o UserKnownHostsFile=/dev/null");
    let known = Sshd::ssh(&home, "");
    let no_port = Sshd::ssh(&home, "-p 1");
    for (ssh, host, status, parts) in [
        (&unknown, "loop", 5, &["Host key verification failed", "status 255"][..]),
        (&known, "stranger", 5, &["Permission denied", "does not let you in"]),
        (&no_port, "loop", 10, &["onnection refused", "nobody answers there"]),
    ] {
        let place = format!("{host}:x");
        for words in [["file", &place], [&place, "y"]] {
            let words = [&["copy", "--ssh", ssh, "--remote-bin", PUMP][..], &words].concat();
            let mut run = home.pump(&words);
            // ssh ends its lines as terminals want them.
            run.err = run.err.replace('\r', "");
            expect(&run, status, parts, ssh);
        }
    }
    let run =
        home.pump(&["copy", "--ssh", &Sshd::ssh(&home, ""), "--remote-bin", "no/pump", "file", "loop:x"]);
    expect(&run, 5, &["no 'no/pump' on the other host", "--remote-bin"], "no pump");
    let newer = home.path("newer");
    script(&newer, "echo pump-far-end: 3.1 77.0");
    let newer = newer.display().to_string();
    let run = home.pump(&["copy", "--ssh", &Sshd::ssh(&home, ""), "--remote-bin", &newer, "file", "loop:x"]);
    expect(&run, 5, &["pump 77.0", env!("CARGO_PKG_VERSION")], "another version");
    assert_eq!(std::fs::read_dir(home.path("far")).expect("it is there").count(), 0);
}

#[test]
fn odd_paths_addresses_and_noise_are_no_matter() {
    let home = Home::new();
    let noisy = "echo Welcome; printf 'pump-far-end: no'; exec sh -c \"$SSH_ORIGINAL_COMMAND\"";
    let _sshd = Sshd::new(&home, Some(noisy));
    let content = noise_file(&home, "file", 70_000, 1);
    let mut hosts = vec!["loop", "127.0.0.1"];
    match TcpListener::bind("[::1]:0") {
        Ok(_) => hosts.push("[::1]"),
        Err(error) => eprintln!("not tested: IPv6: {error}"),
    }
    let absolute = home.path("far/absolute").display().to_string();
    for host in hosts {
        for path in ["plain", "with  spaces", "it's \"quoted\" $HOME `id`", "new\nline", &absolute] {
            let place = format!("{host}:{path}");
            for words in [["file", &place], [&place, "back"]] {
                let run = copy(&home, &words);
                expect(&run, 0, &[], &place);
                assert!(!run.err.contains("everything goes through ssh"), "{run:?}");
            }
            has_content(&home.path("far").join(path), &content, &place);
            has_content(&home.path("back"), &content, &place);
        }
    }
}

/// The ssh that a run has started.
fn ssh_of(home: &Home) -> Option<Pid> {
    let config = home.path("sshd/config").display().to_string();
    let is_it = |process: &DirEntry| {
        let words = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let mut words = words.split(|byte| *byte == 0);
        words.next() == Some(b"ssh") && words.any(|word| word == config.as_bytes())
    };
    let found = std::fs::read_dir("/proc").expect("it is mounted").flatten().find(is_it)?;
    Pid::from_raw(found.file_name().to_str()?.parse().ok()?)
}

#[test]
fn a_direct_connection_needs_no_ssh_any_more() {
    let home = Home::new();
    let _sshd = Sshd::new(&home, None);
    let content = noise_file(&home, "file", 1_000_000, 1);
    let slow = ["--progress=always", "--request-size=4KiB", "--bwlimit=400kB", "--retry-for=0s"];
    let mut running = Running::start(command(&home, &[&slow[..], &["file", "loop:new"]].concat()));
    running.await_bytes();
    kill_process(ssh_of(&home).expect("it runs"), Signal::KILL).expect("it is ours");
    expect(&running.end(), 0, &[], "it goes on");
    has_content(&home.path("far/new"), &content, "it goes on");
}

#[test]
fn a_killed_ssh_loses_nothing() {
    let home = Home::new();
    let _sshd = Sshd::new(&home, Some(UNREACHABLE));
    let tree = home.path("tree");
    make_tree(&tree, 6, 300);
    noise_file(&home, "tree/large", 1_000_000, 1);
    let slow = ["--progress=always", "--request-size=4KiB", "--bwlimit=400kB", "--retry-for=0s"];
    let mut running = Running::start(command(&home, &[&slow[..], &["tree", "loop:new"]].concat()));
    running.await_bytes();
    kill_process(ssh_of(&home).expect("it runs"), Signal::KILL).expect("it is ours");
    expect(&running.end(), 10, &["loop:new"], "killed");
    let mut run = copy(&home, &["tree", "loop:new"]);
    // The far end of the first may not have ended yet.
    eventually("the first far end has ended", || {
        let is_locked = run.status == 1;
        if is_locked {
            run = copy(&home, &["tree", "loop:new"]);
        }
        !is_locked
    });
    expect(&run, 0, &[], "again");
    same_tree(&tree, &home.path("far/new"), "exact");
}

#[test]
fn an_interrupt_ends_the_copy_and_ssh() {
    let home = Home::new();
    let _sshd = Sshd::new(&home, None);
    noise_file(&home, "file", 5_000_000, 1);
    let slow = ["--progress=always", "--request-size=4KiB", "--bwlimit=400kB", "file", "loop:new"];
    let mut running = Running::start(command(&home, &slow));
    running.await_bytes();
    running.signal(Signal::INT);
    expect(&running.end(), 20, &["interrupted"], "interrupted");
    assert_eq!(ssh_of(&home), None, "it has ended, too");
}

/// How long it takes is told, and judged by the studies.
#[test]
fn a_small_file_is_there_soon() {
    let home = Home::new();
    let _sshd = Sshd::new(&home, None);
    noise_file(&home, "file", 4096, 1);
    let mut best = [f64::MAX; 3];
    for _ in 0..10 {
        let begun = Instant::now();
        let ssh = Sshd::ssh(&home, "");
        program(&[&ssh.split_whitespace().collect::<Vec<_>>()[..], &["loop", "true"]].concat());
        best[0] = best[0].min(begun.elapsed().as_secs_f64());
        for (number, words) in [["file", "loop:x"], ["loop:x", "back"]].iter().enumerate() {
            let begun = Instant::now();
            expect(&copy(&home, words), 0, &[], "a small file");
            best[number + 1] = best[number + 1].min(begun.elapsed().as_secs_f64());
        }
    }
    let ms = best.map(|seconds| seconds * 1e3);
    eprintln!("ssh loop true: {:.1} ms; 4 KiB there: {:.1} ms, and back: {:.1} ms", ms[0], ms[1], ms[2]);
}

/// A folder of the server, mounted until this is dropped.
struct Sshfs(String);

impl Sshfs {
    fn mounted(home: &Home, folder: &str, point: &str) -> Sshfs {
        let [config, folder, point] =
            ["sshd/config", folder, point].map(|name| home.path(name).display().to_string());
        program(&["sshfs", "-F", &config, &format!("loop:{folder}"), &point]);
        Sshfs(point)
    }
}

impl Drop for Sshfs {
    fn drop(&mut self) {
        program(&["fusermount3", "-u", &self.0]);
    }
}

/// As anybody mounts it: what it has shown of a file it shows for 20 seconds. The server gives to what a link leads to what
/// the link is given.
#[test]
fn what_a_link_leads_to_keeps_its_owner_and_times_on_sshfs() {
    let home = Home::new();
    let _sshd = Sshd::new(&home, None);
    for folder in ["from", "far/tree", "mounted"] {
        std::fs::create_dir_all(home.path(folder)).expect("room");
    }
    let _sshfs = Sshfs::mounted(&home, "far/tree", "mounted");
    let state = |name: &str| {
        let meta = std::fs::metadata(home.path(name)).expect("it is there");
        (meta.uid(), meta.mtime(), meta.ctime(), meta.ctime_nsec())
    };
    for name in ["from/a", "outside"] {
        std::fs::write(home.path(name), name).expect("room");
        set_mtime(&home.path(name), 1_600_000_000_000_000_000);
    }
    for (link, to) in [("from/to_a", "a".into()), ("from/out", home.path("outside"))] {
        symlink(to, home.path(link)).expect("room");
        if is_root() {
            lchown(home.path(link), Some(1234), Some(1234)).expect("root may");
        }
    }
    let before = state("outside");
    for round in ["new", "again"] {
        let run = home.pump(&["mirror", "from", "mounted/copy"]);
        expect(&run, 23, &["this file system gives them to what a link leads to"], round);
        assert_eq!(state("outside"), before, "{round}: it is no part of the copy");
        assert_eq!(state("far/tree/copy/a").1, 1_600_000_000, "{round}: its own time");
        // A file that is removed before it is closed has such a name until its daemon hears of the close.
        let entries = std::fs::read_dir(home.path("far/tree/copy")).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
        let mut names: Vec<String> = names.filter(|name| !name.starts_with(".fuse_hidden")).collect();
        names.sort();
        assert_eq!(names, ["a", "out", "to_a"], "{round}");
    }
}
