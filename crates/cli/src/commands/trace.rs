//! `--tcp-trace`: samples this process's connections while a copy runs.
//!
//! Nothing is done, and no thread started, unless it was asked for. Must not know: how connections are found and
//! sampled, how a copy is made.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use datapump::{Class, Host, Operation, Place, Problem, Remote, Report, Status};
use datapump_lab::tcp_trace::{TcpTarget, TcpTrace, TcpTraced};

use crate::args::TraceArguments;
use crate::output::Output;
use crate::output::files::own_file::{self, OwnFile};
use crate::run::remote;

const SERIES: OwnFile = OwnFile {
    flag: "--tcp-trace",
    kind: "a time series",
    beginning: br#"{"v":1,"event":"tcp","#,
    has_times: false,
};

/// What was asked for, and what came of it.
#[derive(Debug, Default)]
pub struct Trace {
    asked: Option<TraceAsked>,
    outcome: Mutex<Option<anyhow::Result<TcpTraced>>>,
}

#[derive(Debug)]
struct TraceAsked {
    path: PathBuf,
    file: File,
    is_over_ssh: bool,
}

impl Trace {
    /// Opens the file, so that what cannot be written is told before anything is copied.
    pub fn new<'place>(
        arguments: &TraceArguments,
        places: impl Iterator<Item = &'place Place> + Clone,
        files: &[PathBuf],
    ) -> Result<Trace, Problem> {
        let Some(path) = &arguments.tcp_trace else { return Ok(Trace::default()) };
        if !remote::is_meant(places.clone()) {
            let hint = "--tcp-trace is about TCP connections, and all places are on this host; \
                        name a place on another host, or leave it out";
            return Err(Problem::usage(hint));
        }
        let over_ssh = |place| matches!(place, &Place::Remote(Remote { host: Host::Ssh(_), .. }));
        let is_over_ssh = places.clone().any(over_ssh);
        let others = files.iter().chain(&arguments.report).map(|path| path.as_os_str());
        let file = own_file::open(path, &SERIES, others)?;
        let problem = |error: io::Error| Problem::new(Class::Io, Operation::Create, path, error.to_string());
        own_file::empty(&file).map_err(problem)?;
        let asked = TraceAsked { path: path.clone(), file, is_over_ssh };
        Ok(Trace { asked: Some(asked), outcome: Mutex::default() })
    }

    /// Does what connects, beside the samples if they were asked for.
    pub fn beside<T>(&self, run: impl FnOnce() -> T) -> T {
        let Some(asked) = &self.asked else { return run() };
        let started = asked.file.try_clone().map_err(anyhow::Error::from).and_then(|file| {
            TcpTrace::start_into(TcpTarget::Process(std::process::id()), Box::new(file), &asked.path)
        });
        let (outcome, done) = match started {
            Ok(trace) => {
                let done = run();
                (trace.finish(), done)
            }
            Err(error) => (Err(error), run()),
        };
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        done
    }

    /// Tells what was seen. A series that could not be written is a problem of a copy that is otherwise whole.
    pub fn settle(self, report: &mut Report, output: &Output) {
        let Some(asked) = self.asked else { return };
        match self.outcome.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(Ok(traced)) if !output.quiet => output.line(&format!("pump: {}", message(&asked, &traced))),
            Some(Ok(_)) | None => {}
            Some(Err(error)) => {
                let message = format!("no time series of the connections: {error:#}");
                output.problem(&Problem::new(Class::Io, Operation::Sample, &asked.path, message));
                *report.problems.entry(Class::Io.name().into()).or_default() += 1;
                if report.exit_status == Status::Done as i32 {
                    report.exit_status = Status::Failed as i32;
                }
            }
        }
    }
}

fn message(asked: &TraceAsked, traced: &TcpTraced) -> String {
    let path = datapump::shown(asked.path.as_os_str().as_encoded_bytes());
    let (samples, seconds) = (traced.samples, traced.elapsed_ns as f64 / 1e9);
    match (traced.connections.len(), asked.is_over_ssh) {
        (0, true) => format!(
            "'{path}' has no samples: this command had no TCP connection of its own, only the channel of an ssh \
             that another program holds, or none for 50 ms"
        ),
        (0, false) => format!("'{path}' has no samples: no TCP connection was there for 50 ms"),
        (connections, _) => {
            format!("'{path}': {samples} samples of {connections} TCP connections in {seconds:.1} s")
        }
    }
}
