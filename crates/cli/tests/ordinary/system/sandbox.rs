//! Sandboxes that refuse system calls: the same result by another way, or one line that names the call; on the side that
//! copies and on each side of two hosts, whatever the error.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use datapump_engine::Errno;
use datapump_engine::os::linux::{KernelCall, answer_calls_with};

use crate::support::home::outcome_of;
use crate::support::listing::{leftovers_below, listing, same, without_links};
use crate::support::serving::Serving;
use crate::support::small_tree::small_tree;
use crate::support::{Home, Outcome, expect, noise, set_xattr};

const EPERM: i32 = 1;
const EACCES: i32 = 13;
const EINVAL: i32 = 22;
const ENOSYS: i32 = 38;

/// Calls that no program starts without, or lists a directory.
const OF_ALL_PROGRAMS: [KernelCall; 3] = [KernelCall::Openat, KernelCall::Pread64, KernelCall::Getdents64];

/// Starts a command whose calls of these kinds fail. `None`, with a line that says so, where this machine lets nobody
/// make a filter.
pub(crate) fn start_without(calls: &[KernelCall], errno: i32, command: &mut Command) -> Option<Child> {
    let numbers: Vec<i64> = calls.iter().map(|call| call.number()).collect();
    // By fork(2): glibc's posix_spawn(3) needs a call that may be refused.
    command.gid(rustix::process::getgid().as_raw()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A filter holds for the thread that makes it, and for programs that it starts.
    let start = || match answer_calls_with(&numbers, Errno(errno)) {
        Ok(()) => Some(command.spawn().expect("pump was built")),
        Err(errno) => {
            eprintln!("SKIPPED: no filter can be made here: {errno:?}");
            None
        }
    };
    std::thread::scope(|scope| scope.spawn(start).join().expect("no panic"))
}

/// Runs it until it has ended.
fn without(call: KernelCall, errno: i32, mut command: Command) -> Option<Outcome> {
    start_without(&[call], errno, &mut command).map(outcome_of)
}

fn calls() -> impl Iterator<Item = KernelCall> {
    KernelCall::ALL.iter().copied().filter(|call| !OF_ALL_PROGRAMS.contains(call))
}

/// A tree with what needs the calls: small files and a large one, holes, links of both kinds, an attribute.
fn source() -> Home {
    let home = Home::new();
    let tree = small_tree(&home, "from");
    std::fs::write(tree.join("large"), noise(3 << 20, 7)).expect("room");
    let sparse = std::fs::File::create(tree.join("sparse")).expect("room");
    sparse.set_len(5 << 20).expect("room");
    set_xattr(&tree.join("b"), "user.some", b"value");
    home
}

/// Either all is as it should be, or the call is named by a line for people.
fn is_done_or_named(call: KernelCall, run: &Outcome, is_done: bool, row: &str) {
    let is_named = run.err.contains(&format!("{}(2)", call.name()));
    // Hard links are made by this call alone, and files that have several names are copied: a line says so.
    let needs_none = call.other_way().is_some();
    match run.status {
        0 if call == KernelCall::Linkat => {
            assert!(is_named && is_done, "{row}: named {is_named}, done {is_done}: {run:?}");
        }
        0 => assert!(is_done, "{row}: status 0 and not all is done: {run:?}"),
        _ if needs_none => panic!("{row}: there is another way: {run:?}"),
        status => {
            expect(run, status, &[], row);
            assert!(is_named, "{row}: {run:?}");
        }
    }
}

fn copies_and_mirrors(errno: i32) {
    for call in calls() {
        let (home, row) = (source(), format!("{} answers {errno}", call.name()));
        let (from, to) = (home.path("from"), home.path("to"));
        let Some(run) = without(call, errno, home.command(&["copy", "from/", "to/"])) else { return };
        let shown = |folder: &Path| match call {
            KernelCall::Linkat => without_links(listing(folder)),
            _ => listing(folder),
        };
        let is_same = || to.exists() && shown(&from) == shown(&to);
        is_done_or_named(call, &run, is_same(), &format!("copy, {row}"));
        if run.status != 0 {
            continue;
        }
        if call != KernelCall::Linkat {
            same(&from, &to, &row);
        }
        assert_eq!(leftovers_below(&to), [""; 0], "{row}");
        std::fs::write(to.join("extra"), "x").expect("room");
        std::fs::write(to.join("sub/c"), "changed").expect("room");
        let Some(run) = without(call, errno, home.command(&["mirror", "from", "to"])) else { return };
        is_done_or_named(call, &run, is_same(), &format!("mirror, {row}"));
        let words = ["verify", "--content-only", "from", "to"];
        let Some(run) = without(call, errno, home.command(&words)) else { return };
        expect(&run, 0, &[], &format!("verify, {row}"));
    }
}

#[test]
fn what_is_refused_by_eperm_is_done_by_another_way() {
    copies_and_mirrors(EPERM);
}

#[test]
fn what_is_refused_by_eacces_is_done_by_another_way() {
    copies_and_mirrors(EACCES);
}

#[test]
fn what_is_refused_by_enosys_is_done_by_another_way() {
    copies_and_mirrors(ENOSYS);
}

#[test]
fn what_is_refused_by_einval_is_done_by_another_way() {
    copies_and_mirrors(EINVAL);
}

fn between_two_hosts(errno: i32, server_is_within: bool) {
    for call in calls().filter(|call| call.other_way().is_some() && *call != KernelCall::Linkat) {
        let home = source();
        let row = format!("{} answers {errno}, server {server_is_within}", call.name());
        std::fs::create_dir(home.path("served")).expect("room");
        let none: &[KernelCall] = &[];
        let refused = |is_within: bool| if is_within { std::slice::from_ref(&call) } else { none };
        let mut serve = home.command(&["serve", "served", "--ticket-file", "ticket"]);
        let Some(child) = start_without(refused(server_is_within), errno, &mut serve) else { return };
        let serving = Serving::of(child);
        for words in [["from/".into(), serving.at("there/")], [serving.at("there/"), "back/".into()]] {
            let words = [
                &["copy", "--ticket-file", "ticket", "--retry-for", "2s"][..],
                &words.each_ref().map(String::as_str),
            ]
            .concat();
            let mut copy = home.command(&words);
            copy.stdin(Stdio::null());
            let run = start_without(refused(!server_is_within), errno, &mut copy).map(outcome_of);
            expect(&run.expect("filters can be made"), 0, &[], &row);
        }
        same(&home.path("from"), &home.path("back"), &row);
        same(&home.path("from"), &home.path("served/there"), &row);
    }
}

#[test]
fn a_server_in_a_sandbox_does_what_it_does_elsewhere() {
    [EPERM, ENOSYS].into_iter().for_each(|errno| between_two_hosts(errno, true));
}

#[test]
fn a_client_in_a_sandbox_does_what_it_does_elsewhere() {
    [EPERM, EINVAL].into_iter().for_each(|errno| between_two_hosts(errno, false));
}

/// A limit that nobody set refuses nothing where the call that reads limits is refused.
#[test]
fn a_file_is_as_long_as_it_was_where_limits_cannot_be_read() {
    let home = source();
    for options in [&["--no-reserve"][..], &[]] {
        let row = format!("{options:?}");
        let words = [&["copy"], options, &["from/large", "copied"]].concat();
        let Some(run) = without(KernelCall::Prlimit64, EPERM, home.command(&words)) else { return };
        expect(&run, 0, &[], &row);
        assert_eq!(std::fs::read(home.path("copied")).expect("it was copied"), noise(3 << 20, 7), "{row}");
        std::fs::remove_file(home.path("copied")).expect("it was copied");
    }
}

/// An ordinary refusal stays one: another name is not tried by another way, and nothing is said of sandboxes.
#[test]
fn a_name_that_is_taken_stays_where_the_call_that_looks_is_refused() {
    let home = Home::new();
    std::fs::write(home.path("a"), "new").expect("room");
    std::fs::create_dir(home.path("to")).expect("room");
    std::fs::write(home.path("to/a"), "old").expect("room");
    let words = ["copy", "--ignore-existing", "a", "to/"];
    let Some(run) = without(KernelCall::Renameat2, EPERM, home.command(&words)) else { return };
    expect(&run, 0, &[], "ignore existing");
    assert_eq!(home.text("to/a"), "old");
    let run = home.pump(&["copy", "none", "to/"]);
    assert!(!run.err.contains("sandbox"), "{run:?}");
}

#[test]
fn doctor_shows_the_calls_and_their_other_ways() {
    let home = Home::new();
    let rows = [
        (KernelCall::Openat2, "openat2: Operation not permitted (os error 1); instead: "),
        (KernelCall::Flock, "flock: Operation not permitted (os error 1); what needs it fails"),
    ];
    for (call, line) in rows {
        let Some(run) = without(call, EPERM, home.command(&["doctor", "."])) else { return };
        expect(&run, 0, &["system calls", "refused by a sandbox", line], line);
        let Some(run) = without(call, EPERM, home.command(&["doctor", "--json", "."])) else { return };
        let finding =
            run.events().into_iter().find(|line| line["name"] == "system calls").expect("it is there");
        let calls = finding["calls"].as_array().expect("a list");
        assert_eq!(calls.len(), KernelCall::ALL.len());
        let own = calls.iter().find(|row| row["call"] == call.name()).expect("each has a row");
        assert_eq!(own["refused"], "Operation not permitted (os error 1)");
        assert_eq!(own["other_way"].is_null(), call.other_way().is_none(), "{own}");
    }
}
