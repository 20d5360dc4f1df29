//! Runs of `pump` and of other programs, and what they left behind.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Outcome, noise, outcome};

/// `pump` with words, with no variable of its own set.
pub fn pump_command(words: &[&str]) -> Command {
    let mut command = Command::new(crate::support::PUMP);
    command.args(words).stdin(Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PUMP_")) {
        command.env_remove(name);
    }
    command
}

/// Runs `pump`.
pub fn pump(words: &[&str]) -> Outcome {
    outcome(pump_command(words), b"")
}

/// Runs `pump` with words and some more.
pub fn pump_with(words: &[&str], more: &[&str]) -> Outcome {
    pump(&[words, more].concat())
}

/// Runs a program that must succeed; gives what it printed. `cargo xtask wider` installs them.
pub fn program(words: &[&str]) -> String {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    let run = command
        .output()
        .unwrap_or_else(|error| panic!("{words:?}: {error}: `cargo xtask wider` installs it"));
    let err = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{words:?}: {}: {err}", run.status);
    String::from_utf8_lossy(&run.stdout).into_owned()
}

/// The report of a run with `--json`.
pub fn report(run: &Outcome) -> Value {
    let last = run.out.lines().last().unwrap_or_else(|| panic!("no report: {run:?}"));
    let report: Value = serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {last}"));
    assert_eq!(report["event"], "report", "{run:?}");
    report
}

/// Temporary files in a folder.
pub fn leftovers(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".pump-")).collect()
}

/// Makes a file of noise; gives its content.
pub fn with_content(path: &str, bytes: usize, seed: u64) -> Vec<u8> {
    let content = noise(bytes, seed);
    std::fs::write(path, &content).unwrap_or_else(|error| panic!("{path}: {error}"));
    content
}

/// Blocks of 512 bytes that a file takes.
pub fn blocks(path: impl AsRef<Path>) -> u64 {
    path.as_ref().metadata().expect("the file is there").blocks()
}
