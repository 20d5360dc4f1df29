//! `pump explain`: a copy with the reasons for its speed.
//!
//! Must not know: how parts are measured, how a copy is made.

use std::sync::atomic::Ordering;

use datapump::{Job, Options, Place, Status, TuningOptions};
use datapump_lab::advise::explain::{Case, MoveUse, explain as explained};

use crate::args::ExplainArguments;
use crate::commands::trace::Trace;
use crate::commands::watch::explain_process;
use crate::output::Output;
use crate::output::progress::shown;
use crate::run::mover::moved;
use crate::run::remote::{self, RemoteCaller};
use crate::run::{Runner, named_files, places};

/// Explains a copy. Gives the exit status of the copy.
pub fn explain(arguments: &ExplainArguments) -> i32 {
    let mut output = Output::new(&arguments.output);
    if let Some(words) = arguments.contradiction() {
        return output.usage(words);
    }
    if let Some(pid) = arguments.watch.pid {
        let status = explain_process(pid, &arguments.watch, &output);
        return output.status(status);
    }
    if let Err(problem) = output.open_files(&arguments.trace, &named_files(arguments.places.iter())) {
        return output.refusal(&problem);
    }
    let status = match read_places(arguments) {
        Ok((sources, target)) => perform(arguments, sources, target, &output),
        Err(message) => output.usage(message),
    };
    output.status(status)
}

fn read_places(arguments: &ExplainArguments) -> Result<(Vec<Place>, Place), String> {
    let mut places = places(&arguments.places).map_err(|error| error.to_string())?;
    let target = places.pop().unwrap_or(Place::Stream);
    remote::refuse_within_ssh(&arguments.host.reach, places.iter().chain([&target]))?;
    let streams = places.iter().filter(|place| **place == Place::Stream).count();
    match &target {
        Place::Stream => Err("the explanation wants standard output; name a file, or null:".into()),
        _ if streams > 1 => Err("standard input can be read once only; name '-' once".into()),
        _ => Ok((places, target)),
    }
}

fn perform(arguments: &ExplainArguments, sources: Vec<Place>, target: Place, output: &Output) -> i32 {
    output.start("explain", &sources, Some(&target));
    let trace = match Trace::new(
        &arguments.trace,
        sources.iter().chain([&target]),
        &named_files(arguments.places.iter()),
    ) {
        Ok(trace) => trace,
        Err(problem) => return output.refusal(&problem),
    };
    let far = remote::is_meant(sources.iter().chain([&target]));
    let caller =
        match far.then(|| RemoteCaller::new(&arguments.host, sources.iter().chain([&target]))).transpose() {
            Ok(caller) => caller,
            Err(message) => return output.usage(message),
        };
    let runner = Runner::new(output, shown(&arguments.output));
    // Each lane has a connection: what is tried with other lanes must know of those that were asked for.
    let plain = arguments.options();
    let options = Options {
        tuning: TuningOptions {
            lanes: plain.tuning.lanes.or(arguments.host.connections.filter(|_| far)),
            ..plain.tuning
        },
        ..plain
    };
    let case = Case { sources, target, options, stop: runner.stop() };
    let mover = |job: Job, is_for: MoveUse| {
        let run = || moved(job, is_for, caller.as_ref(), &runner);
        if is_for == MoveUse::Copy { trace.beside(run) } else { run() }
    };
    let tell = |line: &str| {
        if !arguments.output.quiet {
            output.line(&format!("pump: {line}"));
        }
    };
    let mut explained = explained(&case, &mover, &tell);
    trace.settle(&mut explained.report, output);
    // Behind a copy that is done a stop ends the explanation alone.
    if case.stop.load(Ordering::Relaxed) && explained.report.exit_status != Status::Done as i32 {
        explained.report.exit_status = Status::Interrupted as i32;
    }
    output.explained(&explained);
    explained.report.exit_status
}
