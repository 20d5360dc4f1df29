//! Performs the moves of the lab: copies and rehearsals of them, on one host or between two.
//!
//! Must not know: what they are for.

use std::sync::{Mutex, PoisonError};

use datapump::{Event, Job, Report};
use datapump_lab::advise::explain::{Move, MoveOutcome};

use crate::run::Runner;
use crate::run::remote::{self, RemoteCaller};

/// Performs a move. Of a part of it only the first problem is of interest.
pub fn moved(wanted: Move, caller: Option<&RemoteCaller>, runner: &Runner<'_>) -> MoveOutcome {
    if wanted.is_real {
        let report = runner
            .watched(|watch, _| run(Move { watch, ..wanted }, caller, &|event| runner.output.event(event)));
        return MoveOutcome { report, problem: None };
    }
    let first = Mutex::new(None);
    let report = run(wanted, caller, &|event| {
        if let Event::Problem(problem) = event {
            first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem.to_string());
        }
    });
    MoveOutcome { report, problem: first.into_inner().unwrap_or_else(PoisonError::into_inner) }
}

fn run(wanted: Move, caller: Option<&RemoteCaller>, events: &(dyn Fn(Event) + Sync)) -> Report {
    match caller {
        // A move with no end on another host is measured on this host alone.
        Some(caller) if remote::is_meant(wanted.sources.iter().chain([&wanted.target])) => {
            caller.copy(wanted).run_reported(events)
        }
        _ => {
            let job = Job::copy(wanted.sources, wanted.target).options(wanted.options);
            job.tells_files(false).stop(wanted.stop).watch(wanted.watch).run_reported(events)
        }
    }
}
