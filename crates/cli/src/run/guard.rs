//! A program error ends in one line and status 1, never in a panic's text.
//!
//! Must not know: what the program was doing.

use std::panic::{self, PanicHookInfo};

use crate::output::empty_report;
use crate::output::json;

/// From now on a panic of any thread ends the program; with `json` after a report.
pub fn quiet_panics(json: bool) {
    panic::set_hook(Box::new(move |info| {
        // Past the streams of the standard library: the thread that panics may hold their locks.
        write_raw(rustix::stdio::stderr(), &message(info));
        if json {
            write_raw(rustix::stdio::stdout(), &format!("{}\n", json::report(&empty_report(1, None), None)));
        }
        signal_hook::low_level::exit(1);
    }));
}

/// Reports panics of a server, which goes on: a mistake in a session is one line, and the server ends that session.
pub fn log_panics() {
    panic::set_hook(Box::new(|info| write_raw(rustix::stdio::stderr(), &message(info))));
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let place = info.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
    let message = info.payload_as_str().unwrap_or("no message");
    let message = datapump::shown(message.as_bytes());
    let (version, home) = (env!("PUMP_VERSION"), env!("CARGO_PKG_REPOSITORY"));
    format!(
        "pump: internal error: {message} ({place}, version {version}); please report this at {home}/issues\n"
    )
}

fn write_raw(stream: impl rustix::fd::AsFd, text: &str) {
    let mut rest = text.as_bytes();
    while let Ok(written @ 1..) = rustix::io::write(stream.as_fd(), rest) {
        rest = &rest[written..];
    }
}
