//! Runs a job of the library in this process.
//!
//! Must not know: why, and what is done with the result.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use datapump::{Event, Problem, Status};
use datapump_engine::os::linux::ContextSwitches;

use super::{Measured, Reported};
use crate::study::FilledJob;

/// Runs the job; it ends soon once `stop` is set.
pub fn run_job(filled: FilledJob, stop: Arc<AtomicBool>) -> anyhow::Result<Measured> {
    let command = filled.command.clone();
    let first: Mutex<Option<Problem>> = Mutex::new(None);
    let before = ContextSwitches::of_process();
    let report = filled.job().stop(stop).run_reported(&|event| {
        if let Event::Problem(problem) = event {
            first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(problem);
        }
    });
    let switches = ContextSwitches::of_process().since(before);
    let first = first.into_inner().unwrap_or_else(PoisonError::into_inner);
    let problem = (report.exit_status != Status::Done as i32).then(|| match first {
        Some(problem) => (problem.class.name().to_string(), problem.to_string()),
        None => ("io".to_string(), format!("the job ended with status {}", report.exit_status)),
    });
    Ok(Measured {
        problem,
        command,
        elapsed_ns: report.elapsed_ns,
        user_ns: Some(report.cpu.user_ns),
        system_ns: Some(report.cpu.system_ns),
        max_rss_bytes: None,
        switches,
        report: Some(Reported { report, explained: None }),
        achieved: BTreeMap::new(),
        readers: Vec::new(),
    })
}
