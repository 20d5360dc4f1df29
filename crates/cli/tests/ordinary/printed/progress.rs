//! Where progress is shown: a bar on a terminal, which may become narrower and wider, and nothing in a log that nobody
//! requested lines for.

use std::process::Command;

use crate::command::habits::home;
use crate::support::running::eventually;
use crate::support::{Home, PUMP, expect};

#[test]
fn a_log_gets_problems_and_the_report_but_no_progress() {
    let home = home();
    // Longer than two of the seconds after which a line is printed on request.
    let slow = ["copy", "--bwlimit=4MiB", "null:16MiB", "null:"];
    let run = home.pump(&slow);
    expect(&run, 0, &["16.0 MiB in "], "no terminal");
    assert!(run.err.starts_with("16.0 MiB in "), "{run:?}");
    assert!(run.err.lines().count() <= 2, "{run:?}");
    let run = home.pump(&[&["copy", "--progress"], &slow[1..]].concat());
    assert!(run.err.lines().filter(|line| line.contains(" %, ")).count() > 1, "requested: {run:?}");
    let run = home.pump(&["copy", "missing", "one", "into"]);
    assert!(run.err.starts_with("pump: open 'missing': "), "{run:?}");
}

/// A terminal of its own, by tmux.
struct Terminal<'home>(&'home Home);

impl Terminal<'_> {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.env_remove("TMUX").env("SHELL", "/bin/sh").env("LC_ALL", "C.UTF-8");
        command.arg("-S").arg(self.0.path("tmux")).args(["-f", "/dev/null", "-u"]).args(words);
        command
    }

    fn tmux(&self, words: &[&str]) -> std::io::Result<String> {
        let run = self.command(words).output()?;
        assert!(run.status.success(), "tmux {words:?}: {run:?}");
        Ok(String::from_utf8_lossy(&run.stdout).into_owned())
    }

    /// The lines that have something, those that scrolled away among them.
    fn lines(&self) -> Vec<String> {
        let all = self.tmux(&["capture-pane", "-p", "-S", "-200"]).expect("it runs");
        all.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        // Where there is no tmux, there is no server.
        let _ = self.command(&["kill-server"]).output();
    }
}

#[test]
fn a_terminal_that_is_resized_keeps_one_bar() {
    let home = home();
    let terminal = Terminal(&home);
    // The bar is at the bottom, as mostly: tmux scrolls the first lines of a screen away that is not full.
    let copy = format!(
        "trap : INT; seq 40; '{PUMP}' copy --bwlimit=1MiB null:1GiB null:; echo status=$?; sleep 600"
    );
    if let Err(error) = terminal.tmux(&["new-session", "-d", "-x", "120", "-y", "20", &copy]) {
        eprintln!("not tested: tmux: {error}");
        return;
    }
    for columns in [120, 50, 131, 64, 47, 90] {
        terminal.tmux(&["resize-window", "-x", &columns.to_string(), "-y", "20"]).expect("it runs");
        // The bar takes one column less than there are; a part of one that was wider would be a line of its own.
        eventually(&format!("one bar of {columns} columns"), || {
            let lines = terminal.lines();
            let is_bar = |line: &String| match line.chars().count() {
                count if count == columns - 1 => line.contains(" %, "),
                // A narrow terminal has room for the figures alone.
                count => {
                    count < columns
                        && line.starts_with(|letter: char| letter.is_ascii_digit())
                        && columns < 60
                }
            };
            lines.len() == 41 && lines.last().is_some_and(is_bar)
        });
    }
    terminal.tmux(&["send-keys", "C-c"]).expect("it runs");
    eventually("its end", || terminal.lines().last().is_some_and(|line| line == "status=20"));
    let lines = terminal.lines();
    assert!(!lines.iter().any(|line| line.contains("....") || line.contains(" %, ")), "{lines:?}");
}
