//! Runs a command line by `sh -c`, and reads the report of this program when the line is a copy of it with `--json`.
//!
//! Must not know: which program is compared with which.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::{Measured, Reported};
use crate::probe::children;
use crate::row::ReaderRow;

/// The end of a command's output that is kept: a report is below 4 KiB, there may be twenty, and messages are short.
const OUTPUT_BYTES_MAX: usize = 256 << 10;

/// A shell's statuses for a program that is not there and for one that may not be run (POSIX, 2.8.2).
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;
/// The status of a command that cannot do here what it is for (sysexits.h).
const UNAVAILABLE: i32 = 69;
/// The event of a command that says what was used.
const ACHIEVED: &str = "achieved";
/// No settings of this program: who loads a congestion control, and the words of ssh (rig/path.sh, rig/real.sh).
const PASSED_ON: [&str; 2] = ["PUMP_STACKS", "PUMP_LAB_SSH"];

/// A command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine(pub String);

impl CommandLine {
    /// Runs it and measures from before the shell is started until it has ended.
    ///
    /// Once `stop` is set, the shell and what it started are asked to end (SIGTERM).
    ///
    /// Errors: the shell cannot be started. A command that fails is a result.
    pub fn run(self, stop: &AtomicBool) -> anyhow::Result<Measured> {
        let mut command = self.command();
        let start = Instant::now();
        let mut child = command.spawn().context("start sh")?;
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let (ended, output, errors) = std::thread::scope(|scope| {
            let output = scope.spawn(|| tail(output));
            let errors = scope.spawn(|| tail(errors));
            let group = Pid::from_child(&child);
            let (end, has_ended) = mpsc::channel::<()>();
            scope.spawn(move || end_when_stopped(group, &has_ended, stop));
            let ended = children::wait(&child);
            drop(end);
            (ended, output.join().unwrap_or_default(), errors.join().unwrap_or_default())
        });
        let ended = ended.context("wait for sh")?;
        let (report, readers) = (report_in(&output), readers_in(&output));
        Ok(Measured {
            problem: problem(ended.status, report.as_ref(), &errors),
            command: self.0,
            elapsed_ns: (ended.at - start).as_nanos() as u64,
            user_ns: Some(ended.user_ns),
            system_ns: Some(ended.system_ns),
            max_rss_bytes: Some(ended.max_rss_bytes),
            switches: ended.switches,
            report,
            achieved: achieved_in(&output),
            readers,
        })
    }

    /// The user's own settings of this program must not change what is measured.
    fn command(&self) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own can be ended as a whole.
        command.process_group(0);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PUMP_") && !PASSED_ON.iter().any(|passed| name == *passed)
            {
                command.env_remove(name);
            }
        }
        command
    }
}

/// Signals are answered within a second.
const STEP: Duration = Duration::from_millis(100);

fn end_when_stopped(group: Pid, has_ended: &mpsc::Receiver<()>, stop: &AtomicBool) {
    while let Err(mpsc::RecvTimeoutError::Timeout) = has_ended.recv_timeout(STEP) {
        if stop.load(Ordering::Relaxed) {
            // It may have ended by itself meanwhile.
            let _ = rustix::process::kill_process_group(group, Signal::TERM);
        }
    }
}

/// A path as one word of a shell.
pub fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,".contains(letter);
    if text.chars().all(plain) && !text.is_empty() {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Reads to the end and keeps the last part.
fn tail(stream: Option<impl Read>) -> String {
    let mut kept = VecDeque::new();
    let mut chunk = vec![0; OUTPUT_BYTES_MAX];
    if let Some(mut stream) = stream {
        while let Ok(len @ 1..) = stream.read(&mut chunk) {
            kept.extend(&chunk[..len]);
            kept.drain(..kept.len().saturating_sub(OUTPUT_BYTES_MAX));
        }
    }
    String::from_utf8_lossy(kept.make_contiguous()).into_owned()
}

/// The report is the last line, also after a failure. A copy that follows an explanation is its next copy.
fn report_in(output: &str) -> Option<Reported> {
    let mut lines = output.trim_end().lines().rev();
    let last = reported(lines.next()?)?;
    if last.explained.is_some() {
        return Some(last);
    }
    let explained = lines.find_map(reported).and_then(|earlier| earlier.explained);
    let explained = explained.map(|earlier| earlier.followed_by(&last.report));
    Some(Reported { explained, ..last })
}

fn reported(line: &str) -> Option<Reported> {
    let line: Value = serde_json::from_str(line).ok()?;
    if line["event"] == "report" { Reported::read(line) } else { None }
}

/// The fields of all lines that say what was used; of one name the last.
fn achieved_in(output: &str) -> BTreeMap<String, Value> {
    let events = output.lines().filter_map(|line| serde_json::from_str(line).ok());
    let fields = events.filter_map(|event: serde_json::Map<String, Value>| {
        (event.get("event")? == ACHIEVED).then(|| event.into_iter().filter(|(name, _)| name != "event"))
    });
    fields.flatten().collect()
}

/// Each that was started by `readers` of rig/host.sh.
fn readers_in(output: &str) -> Vec<ReaderRow> {
    let lines = output.lines().filter_map(|line| serde_json::from_str(line).ok());
    lines.filter_map(|line: Value| ReaderRow::read(&line)).collect()
}

fn problem(status: ExitStatus, report: Option<&Reported>, errors: &str) -> Option<(String, String)> {
    if status.success() {
        return None;
    }
    let class = report.and_then(Reported::class).unwrap_or_else(|| match status.code() {
        Some(NOT_FOUND) => "missing".into(),
        Some(NOT_EXECUTABLE) => "denied".into(),
        Some(UNAVAILABLE) => "unavailable".into(),
        Some(_) | None => "io".into(),
    });
    // A usage error is printed first, and then how to get help.
    let mistake = || errors.lines().find(|line| line.starts_with("error: "));
    let words = match mistake().or(errors.trim_end().lines().next_back()) {
        Some(last) => format!("{status}: {last}"),
        None => status.to_string(),
    };
    Some((class, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Measured {
        CommandLine(line.into()).run(&AtomicBool::new(false)).expect("a shell")
    }

    #[test]
    fn a_stop_ends_the_shell_and_what_it_started() {
        let measured = CommandLine("sleep 600 | sleep 600; echo".into()).run(&AtomicBool::new(true));
        let problem = measured.expect("a shell").problem.expect("ended by a signal");
        assert!(problem.1.starts_with("signal: 15"), "{problem:?}");
    }

    #[test]
    fn commands_end_with_an_outcome_and_a_message() {
        for (line, class, words) in [
            ("true", None, ""),
            ("exit 3", Some("io"), "exit status: 3"),
            ("echo a >&2; echo no room >&2; exit 1", Some("io"), "exit status: 1: no room"),
            ("echo error: 64 >&2; echo see --help >&2; exit 2", Some("io"), "exit status: 2: error: 64"),
            ("no-such-program-anywhere", Some("missing"), "exit status: 127: "),
            ("kill -9 $$", Some("io"), "signal: 9"),
            ("echo no such disk >&2; exit 69", Some("unavailable"), "exit status: 69: no such disk"),
        ] {
            let problem = run(line).problem;
            let (got, message) = problem.unzip();
            assert_eq!(got.as_deref(), class, "{line}");
            assert!(message.unwrap_or_default().starts_with(words), "{line}");
        }
    }

    #[test]
    fn much_output_does_not_block_a_command() {
        let measured = run("yes | head -c 3000000; yes | head -c 3000000 >&2");
        assert_eq!(measured.problem, None);
        assert_eq!(tail(Some(&vec![7_u8; 300_000][..])).len(), OUTPUT_BYTES_MAX);
    }

    #[test]
    fn the_report_of_a_copy_is_read() {
        let line = r#"{"v":1,"event":"report","exit_status":0,"bytes":10,"requests":3,"partial_returns":1,
            "first_done_ns":5,"last_done_ns":6,"synced_ns":null,"waits_ns":{"source":2},"request_bytes":4096,
            "engine":{"asked":"auto","got":"uring","why":""}}"#
            .replace('\n', "");
        let report = run(&format!("echo progress; echo '{line}'")).report.expect("a report");
        assert_eq!(
            (report.report.requests, report.waits_ns()["source"], report.report.synced_ns),
            (3, 2, None)
        );
        assert_eq!(report.achieved()["engine"], "uring");
        assert_eq!(report.achieved()["request_size"], 4096);
        assert_eq!(run("echo hello").report, None);
        assert_eq!(run("true").report, None);
    }

    #[test]
    fn a_command_says_what_was_used() {
        let line = r#"{"event":"achieved","scheduler":"none","read_ahead":NUMBER}"#;
        let lines = [line.replace("NUMBER", "1"), "{".into(), "[1]".into(), line.replace("NUMBER", "2")];
        let achieved = run(&format!("printf '%s\\n' '{}'; exit 69", lines.join("' '"))).achieved;
        let expected = [("read_ahead", Value::from(2)), ("scheduler", Value::from("none"))];
        assert_eq!(achieved, expected.map(|(name, value)| (name.to_string(), value)).into());
        assert!(run(r#"echo '{"event":"report","bytes":1}'"#).achieved.is_empty());
    }

    #[test]
    fn what_an_explanation_predicted_is_read() {
        let line = r#"{"event":"report","bytes":10,"requests":3,"partial_returns":1,"first_done_ns":5,"last_done_ns":6,
            "waits_ns":{},"predicted_bytes_per_second":null,"observed_bytes_per_second":4.5,
            "predicted_ns_per_byte":null,"observed_ns_per_byte":2,"error_percent":null,"added_ns":7}"#;
        let line = line.replace('\n', "");
        let explained = run(&format!("echo '{line}'")).report.and_then(|report| report.explained);
        let explained = explained.expect("an explanation");
        assert_eq!((explained.observed_bytes_per_second, explained.added_ns), (4.5, 7));
        assert_eq!(explained.predicted_bytes_per_second, None);
        assert_eq!(explained.next_bytes_per_second, None);
        // A plain copy after it: the row is that copy's, with what was explained before.
        let copy =
            r#"{"event":"report","bytes":10,"bytes_moved":10,"elapsed_ns":5,"requests":3,"waits_ns":{}}"#;
        let report = run(&format!("echo '{line}'; echo '{copy}'")).report.expect("a report");
        assert_eq!((report.report.elapsed_ns, report.report.requests), (5, 3));
        let explained = report.explained.expect("an explanation");
        assert_eq!(explained.observed_bytes_per_second, 4.5);
        assert_eq!(explained.next_bytes_per_second, Some(2e9));
    }

    #[test]
    fn the_class_of_a_failed_copy_is_that_of_its_report() {
        let line = r#"{"event":"report","bytes":0,"requests":0,"partial_returns":0,"first_done_ns":0,
            "last_done_ns":0,"waits_ns":{},"problems":{"no_space":1}}"#
            .replace('\n', "");
        let problem = run(&format!("echo '{line}'; exit 1")).problem.expect("a failure");
        assert_eq!(problem, ("no_space".into(), "exit status: 1".into()));
    }

    #[test]
    fn paths_are_one_word_of_a_shell() {
        for (path, word) in [("/a/b-1.bin", "/a/b-1.bin"), ("/a b", "'/a b'"), ("it's", r"'it'\''s'")] {
            assert_eq!(quoted(Path::new(path)), word, "{path}");
        }
    }
}
