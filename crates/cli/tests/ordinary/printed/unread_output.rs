//! Output that nobody reads for a while, as behind a pager or on a terminal that is stopped: the session lives, no line
//! is lost, and a signal is answered.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::running::eventually;
use crate::support::serving::Serving;
use crate::support::{Home, make_folder};

/// Files whose names fill every buffer on the way several times.
const FILES: usize = 4000;
const NAME_BYTES: usize = 240;
/// Longer than each side waits for the other.
const UNREAD: Duration = Duration::from_secs(5);
const PATIENCE: &str = "--peer-timeout=1s";

/// A folder of empty files with long names below long names.
fn long_names(home: &Home, name: &str) {
    let mut folder = home.path(name);
    for _ in 0..3 {
        folder.push("d".repeat(NAME_BYTES));
    }
    std::fs::create_dir_all(&folder).expect("room");
    for number in 0..FILES {
        std::fs::write(folder.join(format!("{number:0NAME_BYTES$}")), "").expect("room");
    }
}

/// Starts a command whose standard output or error nobody reads.
fn start(mut command: Command, is_out: bool) -> Child {
    let (out, err) = if is_out { (Stdio::piped(), Stdio::null()) } else { (Stdio::null(), Stdio::piped()) };
    command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().expect("pump was built")
}

fn rest(child: &mut Child) -> String {
    let mut text = String::new();
    match (child.stdout.take(), child.stderr.take()) {
        (Some(mut out), _) => out.read_to_string(&mut text),
        (_, err) => err.expect("a pipe").read_to_string(&mut text),
    }
    .expect("it is text");
    text
}

fn files_below(folder: &Path) -> usize {
    crate::support::listing::paths(folder).iter().filter(|path| folder.join(path).is_file()).count()
}

/// Reads late what a copy prints: all of it is there, and the copy is whole.
fn is_whole(home: &Home, words: &[&str], is_out: bool) {
    let mut child = start(home.command(words), is_out);
    std::thread::sleep(UNREAD);
    let text = rest(&mut child);
    let status = child.wait().expect("it ends").code();
    assert_eq!(status, Some(0), "{words:?}: {}", &text[text.len().saturating_sub(1000)..]);
    let zeros = "0".repeat(200);
    let name = |line: &str| line.find(&zeros).and_then(|at| line.get(at..at + NAME_BYTES)).map(str::to_owned);
    let told: BTreeSet<String> = text.lines().filter_map(name).collect();
    assert_eq!(told.len(), FILES, "{words:?}");
    assert!(!text.contains("trying again"), "{words:?}");
}

#[test]
fn a_session_outlives_output_that_nobody_reads() {
    let home = Home::new();
    make_folder(&home, "served");
    long_names(&home, "tree");
    let serving = Serving::new(&home, &[PATIENCE]);
    let there = serving.at("there");
    let common = ["copy", "--sync=none", PATIENCE, "--retry-for=1s", "--ticket-file=ticket"];
    is_whole(&home, &[&common[..], &["-v", "tree/", &there]].concat(), false);
    assert_eq!(files_below(&home.path("served/there")), FILES);
    is_whole(&home, &[&common[..], &["--json", &there, "back"]].concat(), true);
    assert_eq!(files_below(&home.path("back")), FILES);
    is_whole(&home, &[&common[..], &["-ni", "tree/", &serving.at("new")]].concat(), true);
}

#[test]
fn a_signal_is_answered_while_nobody_reads() {
    let home = Home::new();
    make_folder(&home, "served");
    long_names(&home, "tree");
    let serving = Serving::new(&home, &[PATIENCE]);
    let there = serving.at("there");
    for target in ["copied", &there] {
        let words = ["copy", "-v", "--sync=none", "--ticket-file=ticket", PATIENCE, "tree/", target];
        let mut child = start(home.command(&words), false);
        // It goes no further once everything on the way is full; or it would be done.
        std::thread::sleep(UNREAD);
        assert!(child.try_wait().expect("it is ours").is_none(), "{target}: it waits");
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process has a number");
        kill_process(pid, Signal::INT).expect("it is ours");
        eventually("it ends", || child.try_wait().expect("it is ours").is_some());
        assert_eq!(child.wait().expect("it ended").code(), Some(20), "{target}");
    }
}
