//! `pump lab tcp-watch`: records a time series of TCP connections and sums it up.
//!
//! Must not know: how connections are found and sampled.

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use datapump::{Class, Operation, Problem, Status};
use datapump_lab::tcp_trace::{Nobody, TcpTrace, TcpTraced};

use crate::args::TcpWatchArguments;
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::json;
use crate::run::signals::stop_flag;

const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// A signal is answered within this.
const LOOK_EACH: Duration = Duration::from_millis(20);

/// Watches, and says what was seen. Gives the exit status.
pub fn tcp_watch(arguments: &TcpWatchArguments, output: &Output) -> i32 {
    let stop: Arc<AtomicBool> = stop_flag().unwrap_or_default();
    let started = match &arguments.out {
        Some(path) => TcpTrace::start(arguments.target, path),
        None if datapump_engine::os::linux::was_closed(1) => {
            return output.usage("standard output is closed; give --out FILE");
        }
        None => TcpTrace::start_into(arguments.target, Box::new(io::stdout()), Path::new("standard output")),
    };
    let trace = match started {
        Ok(trace) => trace,
        Err(error) => return refuse(&error, output),
    };
    let (start, time) = (Instant::now(), arguments.time.unwrap_or(DEFAULT_TIME));
    while start.elapsed() < time && !stop.load(Ordering::Relaxed) && !trace.has_ended() {
        std::thread::sleep(LOOK_EACH.min(time.saturating_sub(start.elapsed())));
    }
    let interrupted = stop.load(Ordering::Relaxed);
    match trace.finish() {
        Ok(traced) => tell(&traced, interrupted, arguments, output),
        // The reader has seen enough.
        Err(error) if is_closed(&error) => Status::Done as i32,
        Err(error) => refuse(&error, output),
    }
}

fn is_closed(error: &anyhow::Error) -> bool {
    let closed = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    };
    error.chain().any(closed)
}

fn class(error: &anyhow::Error) -> Class {
    let of = |cause: &(dyn std::error::Error + 'static)| {
        let errno = || cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        let nobody = cause.is::<Nobody>().then_some(Class::Missing);
        nobody.or_else(|| Some(Problem::system(Operation::Watch, Path::new(""), errno()?).class))
    };
    error.chain().find_map(of).unwrap_or(Class::Io)
}

fn refuse(error: &anyhow::Error, output: &Output) -> i32 {
    let message = datapump::shown(format!("{error:#}").as_bytes());
    let class = class(error);
    output.refusal(&Problem::of(class, Operation::Watch, message))
}

fn tell(traced: &TcpTraced, interrupted: bool, arguments: &TcpWatchArguments, output: &Output) -> i32 {
    if !interrupted && traced.connections.is_empty() {
        return nothing_seen(output);
    }
    let status = if interrupted { Status::Interrupted } else { Status::Done };
    if output.json {
        output.result(&json::line(&EventLine::TcpWatched(traced)));
        output.ended(status as i32, None);
    } else if arguments.out.is_some() {
        output.bytes(table(traced).as_bytes());
    } else {
        // Standard output has the samples.
        let _ = io::stderr().write_all(table(traced).as_bytes());
    }
    status as i32
}

fn nothing_seen(output: &Output) -> i32 {
    let message =
        "no TCP connection was seen; `ss -tnp` lists those there are, with their ports and processes";
    output.refusal(&Problem::of(Class::Missing, Operation::Watch, message))
}

fn table(traced: &TcpTraced) -> String {
    let seconds = traced.elapsed_ns as f64 / 1e9;
    let (samples, rate) = (traced.samples, traced.rounds as f64 / seconds.max(1e-9));
    let mut text = format!("{samples} samples in {seconds:.1} s, {rate:.0} of each connection a second\n");
    let width = traced.connections.iter().map(|it| it.connection.len()).max().unwrap_or(0);
    let head = ["state", "acked_bytes", "received_bytes", "sent_again"];
    text += &format!(
        "{:<width$}  {:<12} {:>15} {:>15} {:>10}\n",
        "connection", head[0], head[1], head[2], head[3]
    );
    for it in &traced.connections {
        let (name, state) = (&it.connection, it.state);
        let (acked, received, again) = (it.bytes_acked, it.bytes_received, it.retransmitted_segments);
        text += &format!("{name:<width$}  {state:<12} {acked:>15} {received:>15} {again:>10}\n");
    }
    if traced.left_out > 0 {
        text += &format!("{} more connections were left out: too many to sample in time\n", traced.left_out);
    }
    text
}
