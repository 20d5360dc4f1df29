//! Performs the moves of the lab: copies and rehearsals of them, on one host or between two.
//!
//! Must not know: what they are for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use datapump::{Event, Job, Report};
use datapump_lab::advise::explain::{MoveOutcome, MoveUse};

use crate::run::Runner;
use crate::run::remote::{self, RemoteCaller};

/// Performs a move. Of a part of it only the first problem is of interest.
pub fn moved(job: Job, is_for: MoveUse, caller: Option<&RemoteCaller>, runner: &Runner<'_>) -> MoveOutcome {
    if is_for == MoveUse::Copy {
        let report = runner
            .watched(|watch, _| run(job.watch(watch), is_for, caller, &|event| runner.output.event(event)));
        return MoveOutcome { report, problem: None };
    }
    let (first, planned_bytes, is_dry) = (Mutex::new(None), AtomicU64::new(0), job.asked().dry_run);
    let mut report = run(job, is_for, caller, &|event| match event {
        Event::Problem(problem) => {
            first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem.to_string());
        }
        Event::Change(change) => drop(planned_bytes.fetch_add(change.bytes.unwrap_or(0), Ordering::Relaxed)),
        _ => {}
    });
    if is_dry {
        report.bytes = planned_bytes.into_inner();
    }
    MoveOutcome { report, problem: first.into_inner().unwrap_or_else(PoisonError::into_inner) }
}

fn run(job: Job, is_for: MoveUse, caller: Option<&RemoteCaller>, events: &(dyn Fn(Event) + Sync)) -> Report {
    let job = job.tells_files(false);
    match caller {
        // A move with no end on another host is measured on this host alone.
        Some(caller) if remote::is_meant(job.places()) => {
            let job = caller.let_in(job);
            // A part is only measured: it is not tried twice.
            let job = if is_for == MoveUse::Copy { job } else { job.retry_for(Duration::ZERO) };
            job.run_reported(events)
        }
        _ => job.run_reported(events),
    }
}
