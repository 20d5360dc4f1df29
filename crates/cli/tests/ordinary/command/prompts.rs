//! A ticket that is asked for on the terminal: what ends the question gives the terminal back with its echo.

use std::process::Command;

use rustix::process::Signal;

use crate::support::running::{Running, eventually};
use crate::support::{Home, PUMP};

/// A shell on a terminal of its own that starts a copy and tells what became of it. `script` passes on what is typed.
fn started(home: &Home) -> Running {
    let shell = format!(
        "ulimit -c 0; trap : INT QUIT TERM; '{PUMP}' copy pump://127.0.0.1:9/x new; echo status=$?; stty -a \
         | tr ' ;' '\\n\\n' | grep -x -e echo -e -echo"
    );
    let mut command = Command::new("script");
    command.args(["-qfec", &shell, "/dev/null"]).current_dir(home.path(""));
    command.env("HOME", home.path("")).env("SHELL", "/bin/sh").env_remove("PUMP_TICKET");
    Running::start(command)
}

/// The copy below the shell: it is the one process with these words.
fn pump_below(run: &Running) -> Option<u32> {
    let children =
        |id: u32| std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    let mut open = vec![run.id()];
    while let Some(id) = open.pop() {
        let name = std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        if name.trim_end() == "pump" {
            return Some(id);
        }
        open.extend(children(id).split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
    }
    None
}

/// Bytes that are typed, or a signal.
type PromptEnd = Result<&'static [u8], Signal>;

#[test]
fn what_ends_the_question_for_a_ticket_gives_the_echo_back() {
    let cases: [(&str, PromptEnd, &str); 5] = [
        ("Ctrl-C", Ok(b"\x03"), "status=20"),
        ("Ctrl-\\", Ok(b"\x1c"), "status=131"),
        ("SIGTERM", Err(Signal::TERM), "status=20"),
        ("SIGQUIT", Err(Signal::QUIT), "status=131"),
        ("a ticket that is none", Ok(b"secret\n"), "status=2"),
    ];
    for (what, end, status) in cases {
        let home = Home::new();
        let mut run = started(&home);
        eventually("the question", || run.out().contains("Ticket: "));
        match end {
            Ok(bytes) => run.send(bytes),
            Err(signal) => {
                let id = pump_below(&run).and_then(|id| rustix::process::Pid::from_raw(id as i32));
                rustix::process::kill_process(id.expect("it asks"), signal).expect("it is ours");
            }
        }
        eventually("the end of the copy", || run.out().contains("status="));
        eventually("what stty says", || run.out().lines().any(|line| line.trim_end().ends_with("echo")));
        let out = run.out();
        assert!(out.contains(status), "{what}: {out}");
        assert!(out.lines().any(|line| line.trim_end() == "echo"), "{what}: no echo: {out}");
        assert!(!out.contains("secret"), "{what}: shown: {out}");
    }
}
