//! Where the ticket for another host comes from: a file, the environment, or a terminal.
//!
//! Must not know: what a ticket is for.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;

use datapump::Ticket;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

/// A file of tickets is not longer.
const FILE_BYTES_MAX: u64 = 4096;

/// The ticket; an error says where it was looked for. Never says what was found.
pub fn ticket(file: Option<&Path>) -> Result<Ticket, String> {
    let (word, place) = match (file, std::env::var("PUMP_TICKET")) {
        (Some(path), _) => (read(path)?, format!("in '{}'", crate::json::words(path))),
        (None, Ok(word)) if !word.is_empty() => (word, "in PUMP_TICKET".into()),
        (None, _) => (asked()?, "on the terminal".into()),
    };
    Ticket::parse(&word).map_err(|error| format!("{place}: {error}"))
}

fn read(path: &Path) -> Result<String, String> {
    let mut word = String::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_string(&mut word));
    read.map_err(|error| format!("the ticket in '{}': {error}", crate::json::words(path)))?;
    Ok(word)
}

/// Asks on the terminal, without showing what is typed.
fn asked() -> Result<String, String> {
    let missing = "a ticket is needed: set PUMP_TICKET, or name a file with --ticket-file";
    if !std::io::stdin().is_terminal() {
        return Err(missing.into());
    }
    let terminal =
        File::options().read(true).write(true).open("/dev/tty").map_err(|_| missing.to_string())?;
    let before = tcgetattr(&terminal).map_err(|_| missing.to_string())?;
    let mut quiet = before.clone();
    quiet.local_modes.remove(LocalModes::ECHO);
    let _ = tcsetattr(&terminal, OptionalActions::Flush, &quiet);
    let _ = (&terminal).write_all(b"Ticket: ");
    let mut word = String::new();
    let read = BufReader::new(&terminal).read_line(&mut word);
    let _ = tcsetattr(&terminal, OptionalActions::Flush, &before);
    let _ = (&terminal).write_all(b"\n");
    read.map(|_| word).map_err(|error| format!("the ticket on the terminal: {error}"))
}
