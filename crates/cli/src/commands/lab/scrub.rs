//! `pump lab scrub`: writes files that show corruption, or checks them.
//!
//! Must not know: how faults are found.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump::Status;
use datapump_lab::scrub::{ScrubArguments, scrub as write_or_check};

use super::print_figures;
use crate::args::LabScrubArguments;
use crate::output::Output;
use crate::output::events::EventLine;
use crate::run::signals::stop_flag;

/// Writes or checks. Gives the exit status.
pub fn scrub(arguments: &LabScrubArguments, output: &Output) -> i32 {
    let stop: Arc<AtomicBool> = stop_flag().unwrap_or_default();
    let asked = ScrubArguments {
        folder: arguments.folder.clone(),
        size_bytes: arguments.size,
        seed: arguments.seed,
        write: arguments.write,
        stop: Arc::clone(&stop),
    };
    match write_or_check(&asked) {
        Ok(done) => {
            done.problems.iter().for_each(|problem| output.problem(problem));
            let is_clean = done.faults.is_empty() && done.problems.is_empty();
            let status = if is_clean { Status::Done } else { Status::Failed };
            print_figures(&[EventLine::Scrub(&done)], &done.to_string(), status, output)
        }
        Err(problem) if stop.load(Ordering::Relaxed) => {
            output.problem(&problem);
            output.ended(Status::Interrupted as i32, Some(problem.class));
            Status::Interrupted as i32
        }
        Err(problem) => output.refusal(&problem),
    }
}
