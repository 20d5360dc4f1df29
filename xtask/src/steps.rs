//! Runs commands one by one, shows each with its time, counts test results, and keeps the output if asked.
//!
//! Must not know: which steps there are.

use std::fs::File;
use std::io::{BufRead, BufReader, Write, pipe};
use std::path::Path;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

/// The steps of one chore.
pub struct Steps {
    root: String,
    record: Option<File>,
    started: Instant,
    passed: u64,
    failed: u64,
    ran: u32,
    missing: Vec<String>,
}

/// One command of a step, in the root of the tree.
pub struct Step {
    /// What it is called when it fails.
    pub name: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Variables to set.
    pub environment: Vec<(String, String)>,
}

impl Step {
    /// A step from a command line without quoting; words `NAME=value` in front are variables.
    pub fn new(name: &str, line: &str) -> Step {
        let mut words: Vec<String> = line.split_whitespace().map(String::from).collect();
        let first = words.iter().position(|word| !word.contains('=')).unwrap_or(words.len());
        let rest = words.split_off(first);
        let split = |word: String| word.split_once('=').map(|(name, value)| (name.into(), value.into()));
        Step { name: name.into(), words: rest, environment: words.into_iter().filter_map(split).collect() }
    }

    /// As one would type it.
    pub fn shown(&self) -> String {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={value}"));
        variables.chain(self.words.iter().cloned()).collect::<Vec<_>>().join(" ")
    }

    fn command(&self, root: &str) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(root).stdin(Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Steps {
    /// Steps in this tree; what they print is kept in `record`, if given.
    pub fn new(root: &Path, record: Option<File>) -> Steps {
        let root = root.display().to_string();
        Steps { root, record, started: Instant::now(), passed: 0, failed: 0, ran: 0, missing: Vec::new() }
    }

    /// Runs a step and shows what it prints.
    ///
    /// Errors: the step's name, when its command cannot be started or does not end with status 0.
    pub fn run(&mut self, step: &Step) -> Result<()> {
        self.say(&format!("== {}: {}", step.name, step.shown()))?;
        let begun = Instant::now();
        let (reader, writer) = pipe()?;
        let mut command = step.command(&self.root);
        command.stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn().with_context(|| format!("{} cannot be started", step.name))?;
        drop(command); // It holds the writing end, and the reader waits until nobody does.
        for line in BufReader::new(reader).split(b'\n') {
            self.show(&String::from_utf8_lossy(&line?))?;
        }
        let status = child.wait()?;
        self.close_step(step, status, begun.elapsed().as_secs_f64())
    }

    /// Runs steps at the same time, and shows what each printed when all have ended.
    ///
    /// Errors: as [`Steps::run`], of the first that failed.
    pub fn run_together(&mut self, steps: &[Step]) -> Result<()> {
        let begun = Instant::now();
        let commands = steps.iter().map(|step| step.command(&self.root));
        let outputs: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = commands.map(|mut command| scope.spawn(move || command.output())).collect();
            threads.into_iter().map(|thread| thread.join().expect("a command does not panic")).collect()
        });
        let seconds = begun.elapsed().as_secs_f64();
        let ended = steps.iter().zip(outputs).map(|(step, output)| self.ended(step, output, seconds));
        ended.collect::<Vec<_>>().into_iter().collect()
    }

    fn ended(&mut self, step: &Step, output: std::io::Result<Output>, seconds: f64) -> Result<()> {
        let output = output.with_context(|| format!("{} cannot be started", step.name))?;
        self.say(&format!("== {}: {}", step.name, step.shown()))?;
        for line in [&output.stdout[..], &output.stderr[..]].concat().split(|&byte| byte == b'\n') {
            self.show(&String::from_utf8_lossy(line))?;
        }
        self.close_step(step, output.status, seconds)
    }

    fn close_step(&mut self, step: &Step, status: ExitStatus, seconds: f64) -> Result<()> {
        self.ran += 1;
        self.say(&format!("== {}: {seconds:.1} s, {status}", step.name))?;
        if !status.success() {
            bail!("{} failed ({status}): {}", step.name, step.shown());
        }
        Ok(())
    }

    /// Notes that something cannot run here.
    pub fn cannot(&mut self, name: &str, reason: &str) -> Result<()> {
        self.missing.push(name.into());
        self.say(&format!("== {name}: CANNOT RUN: {reason}"))
    }

    /// Says how it went.
    pub fn close(&mut self) -> Result<()> {
        let seconds = self.started.elapsed().as_secs_f64();
        let (ran, passed, failed, missing) = (self.ran, self.passed, self.failed, self.missing.len());
        self.say(&format!(
            "== {ran} steps in {seconds:.0} s, {passed} tests passed, {failed} failed, {missing} things could not run"
        ))?;
        for name in self.missing.clone() {
            self.say(&format!("==   could not run: {name}"))?;
        }
        Ok(())
    }

    fn show(&mut self, line: &str) -> Result<()> {
        if let Some((passed, failed)) = test_result(line) {
            self.passed += passed;
            self.failed += failed;
        }
        self.say(line)
    }

    /// Prints a line, and keeps it without what is only true of this machine.
    pub fn say(&mut self, line: &str) -> Result<()> {
        writeln!(std::io::stdout(), "{line}")?;
        if let Some(record) = self.record.as_mut().filter(|_| !is_chatter(line)) {
            writeln!(record, "{}", without_places(line, &self.root)).context("the kept output")?;
        }
        Ok(())
    }
}

/// Lines of cargo that tell how it got there, not what came out.
fn is_chatter(line: &str) -> bool {
    let chatter =
        ["Compiling", "Checking", "Updating", "Locking", "Downloading", "Downloaded", "Adding", "Blocking"];
    chatter.contains(&line.split_whitespace().next().unwrap_or_default())
}

fn without_places(line: &str, root: &str) -> String {
    let mut line = line.replace(root, ".");
    for (variable, instead) in [("CARGO_TARGET_DIR", "target"), ("CARGO_HOME", "~/.cargo"), ("HOME", "~")] {
        if let Some(place) = std::env::var(variable).ok().filter(|place| place.len() > 1) {
            line = line.replace(&place, instead);
        }
    }
    line
}

/// Passed and failed tests of a line `test result: ok. 3 passed; 0 failed; …`.
fn test_result(line: &str) -> Option<(u64, u64)> {
    let rest = line.trim_start().strip_prefix("test result: ")?;
    let count = |what: &str| {
        let words: Vec<&str> = rest.split([' ', ';']).filter(|word| !word.is_empty()).collect();
        let at = words.iter().position(|word| *word == what)?;
        words[at.checked_sub(1)?].parse().ok()
    };
    Some((count("passed")?, count("failed")?))
}

/// Does this command end with status 0? Its output is not shown.
pub fn succeeds(line: &str) -> bool {
    let mut command = Step::new("", line).command(".");
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::{Step, is_chatter, test_result, without_places};

    #[test]
    fn test_results_are_read() {
        for (line, expected) in [
            ("test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out", Some((12, 0))),
            ("test result: FAILED. 1 passed; 2 failed; 0 ignored", Some((1, 2))),
            ("test any_order ... ok", None),
        ] {
            assert_eq!(test_result(line), expected, "{line}");
        }
    }

    #[test]
    fn variables_stand_in_front_of_the_command() {
        let step = Step::new("simulation", "A=1 B=2 cargo test --color=never");
        assert_eq!(step.words, ["cargo", "test", "--color=never"]);
        assert_eq!(step.environment, [("A".into(), "1".into()), ("B".into(), "2".into())]);
        assert_eq!(step.shown(), "A=1 B=2 cargo test --color=never");
    }

    #[test]
    fn kept_lines_name_no_machine() {
        assert_eq!(
            without_places("Running tests/a.rs (/x/tree/target/a)", "/x/tree"),
            "Running tests/a.rs (./target/a)"
        );
        assert!(is_chatter("   Compiling libc v0.2.191") && !is_chatter("test compiling ... ok"));
    }
}
