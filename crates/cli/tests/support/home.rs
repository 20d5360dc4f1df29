//! A folder of its own for each test, in which `pump` runs.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A program that has not ended by then hangs: a guard for the suite, not a measure of speed.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// The folder.
pub struct Home {
    folder: tempfile::TempDir,
}

/// How a run of `pump` ended.
#[derive(Debug)]
pub struct Outcome {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Outcome {
    /// The events of `--json`.
    pub fn events(&self) -> Vec<Value> {
        json_lines(&self.out)
    }

    /// The last of them.
    pub fn report(&self) -> Value {
        self.events().pop().expect("a report")
    }
}

fn json_lines(text: &str) -> Vec<Value> {
    let parsed = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(parsed).collect()
}

impl Home {
    pub fn new() -> Home {
        Home { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.folder.path().join(name.as_ref())
    }

    /// Makes a file of `bytes` bytes that repeat after a prime number of them.
    pub fn file(&self, name: impl AsRef<OsStr>, bytes: usize) -> Vec<u8> {
        let content: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
        std::fs::write(self.path(name), &content).expect("room for a file");
        content
    }

    pub fn text(&self, name: impl AsRef<str>) -> String {
        let name = name.as_ref();
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The lines of a file, each of which is JSON: rows of a study, events.
    pub fn rows(&self, name: &str) -> Vec<Value> {
        json_lines(&self.text(name))
    }

    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("the folder");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// `pump` with words, in the folder, with no variable of its own set.
    pub fn command(&self, words: &[impl AsRef<OsStr>]) -> Command {
        let mut command = self.program(Path::new(super::PUMP));
        command.args(words);
        command
    }

    /// Another program in the place of `pump`.
    pub fn program(&self, path: &Path) -> Command {
        let mut command = Command::new(path);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        super::forget_variables(&mut command);
        command
    }

    pub fn pump(&self, words: &[impl AsRef<OsStr>]) -> Outcome {
        outcome(self.command(words), b"")
    }

    /// With a variable of the environment.
    pub fn pump_with(&self, variable: (&str, &str), words: &[&str]) -> Outcome {
        let mut command = self.command(words);
        command.env(variable.0, variable.1);
        outcome(command, b"")
    }
}

/// Runs a command with bytes on its standard input.
pub fn outcome(mut command: Command, input: &[u8]) -> Outcome {
    if !input.is_empty() {
        command.stdin(Stdio::piped());
    }
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("pump was built and can be started");
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input).expect("pump reads its input");
    }
    outcome_of(child)
}

/// How a program ends that was started with pipes.
pub fn outcome_of(mut child: Child) -> Outcome {
    let (out, err) = (gather(child.stdout.take()), gather(child.stderr.take()));
    let status = status(&mut child);
    let text = |part: thread::JoinHandle<String>| part.join().expect("a pipe can be read");
    Outcome { status, out: text(out), err: text(err) }
}

fn gather(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.expect("a pipe was asked for").read_to_end(&mut bytes).expect("a pipe can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end; 128 and the signal for a program that a signal ended, as a shell has it.
pub fn status(child: &mut Child) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    let start = Instant::now();
    loop {
        match child.try_wait().expect("the child can be waited for") {
            Some(status) => {
                return status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
            }
            None if start.elapsed() > HANGS_AFTER => {
                child.kill().expect("the child can be killed");
                panic!("pump hangs");
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    }
}
