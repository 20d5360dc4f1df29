//! A job that did not do all that was requested, as an error.
//!
//! Must not know: how a job is run.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::problem::Problem;
use crate::report::Report;
use crate::report::event::Event;

/// A job that ended with another status than 0: its report, and the first problem that it had. Of a comparison that is
/// any difference. Shown it is the problem, and how many more there were.
pub struct JobFailed {
    /// What was done nevertheless, and the status.
    pub report: Box<Report>,
    /// The first that was reported; an interruption has none.
    pub problem: Option<Box<Problem>>,
}

impl fmt::Display for JobFailed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(problem) = &self.problem else {
            return write!(out, "ended with status {}", self.report.exit_status);
        };
        match self.report.problems.values().sum::<u64>().saturating_sub(1) {
            0 => problem.fmt(out),
            more => write!(out, "{problem}; {more} more"),
        }
    }
}

impl fmt::Debug for JobFailed {
    /// For people: `main` shows an error so.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl std::error::Error for JobFailed {}

/// Runs a job by `run`.
///
/// Errors: its exit status is not 0; the error has the report and the first problem.
pub fn run_checked(
    run: impl FnOnce(&(dyn Fn(Event) + Sync)) -> Report,
    events: &(dyn Fn(Event) + Sync),
) -> Result<Report, JobFailed> {
    let first = Mutex::new(None);
    let report = run(&|event| {
        if let Event::Problem(problem) = &event {
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert_with(|| Box::new(problem.clone()));
        }
        events(event);
    });
    if report.exit_status == 0 {
        return Ok(report);
    }
    let problem = first.into_inner().unwrap_or_else(PoisonError::into_inner);
    Err(JobFailed { report: Box::new(report), problem })
}
