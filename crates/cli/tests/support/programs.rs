//! Programs that a test makes to run them.
//!
//! Another process writes them: a file that this one has open for writing is open, too, in a child that another test
//! forked and that has not become its own program yet. Until then the system runs no such file ("Text file busy").

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::PUMP;

/// Writes it beside the old one, which may run, and puts it in its place.
const WRITE: &str = r#"cat > "$1.new" && chmod 755 "$1.new" && mv "$1.new" "$1""#;

/// Makes a script of `sh` that everybody may run.
pub fn script(path: impl AsRef<Path>, text: &str) {
    let mut command = Command::new("sh");
    command.args(["-c", WRITE, "sh"]).arg(path.as_ref()).stdin(Stdio::piped());
    let mut shell = command.spawn().expect("sh is installed");
    let mut input = shell.stdin.take().expect("a pipe");
    input.write_all(format!("#!/bin/sh\n{text}\n").as_bytes()).expect("it reads");
    drop(input);
    assert!(shell.wait().expect("it was started").success(), "{}", path.as_ref().display());
}

/// A copy of `pump` that everybody may run.
pub fn copy_program(path: impl AsRef<Path>) {
    let copied = Command::new("cp").arg(PUMP).arg(path.as_ref()).status();
    assert!(copied.expect("cp is installed").success(), "{}", path.as_ref().display());
}
