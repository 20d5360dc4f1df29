//! `pump lab report`: a page of HTML from rows.
//!
//! Must not know: what a page says.

pub mod reproduce;

use std::path::Path;

use datapump::Status;
use datapump_lab::{Page, TakenRows, is_same};

use super::refuse;
use crate::args::LabReportArguments;
use crate::output::Output;

/// Gives the exit status.
pub fn report(arguments: &LabReportArguments, output: &Output) -> i32 {
    let out = &arguments.out;
    if arguments.rows.iter().any(|rows| is_same(rows, out)) {
        return output.usage("the page would be written over the rows; name another file with --out");
    }
    let taken = TakenRows { keep_disturbed: arguments.disturbed.keep_disturbed, mixed: arguments.mixed };
    let page = match datapump_lab::report(&arguments.rows, taken) {
        Ok(page) => page,
        Err(error) => return refuse(&error, Status::Failed, output),
    };
    match page.write(out) {
        Ok(()) => {
            output.line(&format!("pump: {}", message(&page, out)));
            Status::Done as i32
        }
        Err(error) => refuse(&error, Status::Failed, output),
    }
}

fn message(page: &Page, out: &Path) -> String {
    let out = datapump::shown(out.as_os_str().as_encoded_bytes());
    let Page { studies, runs, failed_runs, samples, charts, torn_lines, .. } = page;
    let series = if *samples > 0 { format!(", {samples} samples of TCP") } else { String::new() };
    let torn = if *torn_lines > 0 { format!(", {torn_lines} torn lines") } else { String::new() };
    format!("'{out}': {studies} studies, {runs} runs ({failed_runs} failed), {charts} charts{series}{torn}")
}
