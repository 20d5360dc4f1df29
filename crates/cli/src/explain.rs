//! `pump explain`: a copy with the reasons for its speed.
//!
//! Must not know: how parts are measured, how a copy is made.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use datapump::{Event, Job, Place, Report, Status};
use datapump_lab::explain::{Case, Explained, Move, Moved, explain as explained};

use crate::args::ExplainArguments;
use crate::json;
use crate::output::Output;
use crate::progress::shown;
use crate::remote::{self, Caller};
use crate::run::{Runner, places};

/// Explains a copy. Gives the exit status of the copy.
pub fn explain(arguments: &ExplainArguments) -> i32 {
    let output = Output::new(&arguments.output);
    let status = match read_places(arguments) {
        Ok((sources, target)) => perform(arguments, sources, target, &output),
        Err(message) => output.usage(message),
    };
    output.status(status)
}

fn read_places(arguments: &ExplainArguments) -> Result<(Vec<Place>, Place), String> {
    let mut places = places(&arguments.places).map_err(|error| error.to_string())?;
    let target = places.pop().unwrap_or(Place::Stream);
    match &target {
        Place::Stream => Err("the explanation wants standard output; name a file, or null:".into()),
        _ => Ok((places, target)),
    }
}

fn perform(arguments: &ExplainArguments, sources: Vec<Place>, target: Place, output: &Output) -> i32 {
    if output.json {
        output.result(&json::start("explain", &sources, Some(&target)));
    }
    let far = remote::is_meant(sources.iter().chain([&target]));
    let caller = match far.then(|| Caller::new(&arguments.host, sources.iter().chain([&target]))).transpose()
    {
        Ok(caller) => caller,
        Err(message) => return output.usage(message),
    };
    let runner = Runner::new(output, shown(&arguments.output));
    let case = Case { sources, target, options: arguments.options(), stop: runner.stop() };
    let mover = |wanted: Move| moved(wanted, caller.as_ref(), &runner);
    let tell = |line: &str| {
        if !arguments.output.quiet {
            output.line(&format!("pump: {line}"));
        }
    };
    let explained = explained(&case, &mover, &tell);
    report(&explained, output);
    match case.stop.load(Ordering::Relaxed) {
        true => Status::Interrupted as i32,
        false => explained.report.exit_status,
    }
}

/// Performs a move. Of a part of it only the first problem is of interest.
fn moved(wanted: Move, caller: Option<&Caller>, runner: &Runner<'_>) -> Moved {
    if wanted.is_real {
        let report = runner
            .watched(|watch, _| run(Move { watch, ..wanted }, caller, &|event| runner.output.event(event)));
        return Moved { report, problem: None };
    }
    let first = Mutex::new(None);
    let report = run(wanted, caller, &|event| {
        if let Event::Problem(problem) = event {
            first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem.to_string());
        }
    });
    Moved { report, problem: first.into_inner().unwrap_or_else(PoisonError::into_inner) }
}

fn run(wanted: Move, caller: Option<&Caller>, events: &(dyn Fn(Event) + Sync)) -> Report {
    match caller {
        // What is at neither end of the network is measured on this host alone.
        Some(caller) if remote::is_meant(wanted.sources.iter().chain([&wanted.target])) => {
            caller.copy(wanted).run(events)
        }
        _ => {
            let job = Job::copy(wanted.sources, wanted.target).options(wanted.options);
            job.tells_files(false).stop(wanted.stop).watch(wanted.watch).run(events)
        }
    }
}

fn report(explained: &Explained, output: &Output) {
    match output.json {
        true => output.result(&json::explained(explained)),
        false => {
            output.report(&explained.report);
            output.result(&explained.words);
        }
    }
}
