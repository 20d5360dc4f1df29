//! `pump serve`: prints its address and ticket, and serves until it is stopped. With `--stdio` it is the far end of a
//! copy over ssh.
//!
//! Must not know: how sessions are held.

use std::fs::File;
use std::io::{IsTerminal, Write, stderr, stdin, stdout};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datapump::{Class, ServeEnd, Server, Status};

use crate::args::{Insecure, ServeArguments};
use crate::run::guard;
use crate::run::signals::stop_flag;
use crate::run::ticket;

/// Serves. Gives the exit status.
pub fn serve(arguments: &ServeArguments) -> i32 {
    let stop = match stop_flag() {
        Ok(stop) => stop,
        Err(error) => return failed(&format!("signals cannot be taken over: {error}")),
    };
    if arguments.stdio {
        return remote_end(stop);
    }
    let options = match arguments.options() {
        Ok(options) => options,
        Err(error) => return usage(&error.to_string()),
    };
    let server = match Server::bind(options, stop) {
        Ok(server) => server,
        Err(problem) if problem.class == Class::Usage => return usage(&problem.to_string()),
        Err(problem) => return failed(&problem.to_string()),
    };
    match told(arguments, &server) {
        Ok(()) => {
            guard::log_panics();
            match server.run_with(&note_expiry) {
                ServeEnd::Done => Status::Done as i32,
                ServeEnd::Expired => failed(
                    "the ticket has expired and was not used: nothing was served; start the server again for a new \
                     one, or give --expires more time",
                ),
            }
        }
        Err(words) => failed(&words),
    }
}

/// Callers with it are refused with the reason, which nobody could give them if this ended.
fn note_expiry() {
    let _ = writeln!(
        stderr(),
        "pump: the ticket has expired: sessions that began go on, new ones are refused; for a new ticket start the \
         server again"
    );
}

fn usage(words: &str) -> i32 {
    failed(words);
    Status::Usage as i32
}

/// Serves whoever started this over ssh, where he is at home.
fn remote_end(stop: Arc<AtomicBool>) -> i32 {
    if stdin().is_terminal() || stdout().is_terminal() {
        return usage("--stdio is for pump copy, which talks to it over ssh, not over a terminal");
    }
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map_or(".".into(), PathBuf::from);
    let streams = (stdin().as_fd().try_clone_to_owned(), stdout().as_fd().try_clone_to_owned());
    let (Ok(input), Ok(output)) = streams else { return failed("standard input and output are needed") };
    let served = Server::for_own_user(home, own_address(), stop)
        .and_then(|server| server.serve_over_pipes(File::from(input), File::from(output)));
    match served {
        Ok(()) => Status::Done as i32,
        Err(problem) => failed(&problem.to_string()),
    }
}

/// The address of this host by which ssh reached it: the third word (ssh(1), ENVIRONMENT).
fn own_address() -> Option<IpAddr> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    connection.split(' ').nth(2)?.parse().ok()
}

fn failed(words: &str) -> i32 {
    let _ = writeln!(stderr(), "pump: {words}");
    Status::Failed as i32
}

/// Address and ticket, for who is to call.
fn told(arguments: &ServeArguments, server: &Server) -> Result<(), String> {
    let word = server.ticket().word();
    let line = match &arguments.ticket_file {
        _ if arguments.insecure.is_some_and(Insecure::is_open) => {
            let _ = writeln!(
                stderr(),
                "pump: nothing is encrypted and nobody is asked for a ticket (--insecure)"
            );
            String::new()
        }
        Some(path) => {
            let file = ticket::write(path, &word).map_err(|problem| problem.to_string())?;
            datapump::withhold(&file);
            String::new()
        }
        None => format!("ticket: {word}\n"),
    };
    // A log in the served folder may hold the ticket.
    datapump::withhold(stdout());
    datapump::withhold(stderr());
    let address = datapump::shown_address(server.address());
    if server.is_of_this_host_alone() {
        let advice = "--listen 0.0.0.0:PORT (or [::]:PORT) serves the network";
        let _ = writeln!(stderr(), "pump: only this host can reach {address}; {advice}");
    }
    let mut out = stdout();
    let printed = write!(out, "listening: {address}\n{line}").and_then(|()| out.flush());
    printed.map_err(|error| format!("write to standard output: {error}"))
}
