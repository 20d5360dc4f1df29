//! `pump doctor`: what this host offers and what to change.
//!
//! Must not know: how facts are found, what they mean.

use std::path::Path;

use crate::args::DoctorArguments;
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::findings::{Finding, findings};
use crate::output::json;
use crate::run::inspection::inspect;

/// Prints the findings. Gives the exit status: 0 unless the folder cannot be looked at.
pub fn doctor(arguments: &DoctorArguments) -> i32 {
    let output = Output::of_results(arguments.json);
    let facts = inspect(arguments.path.as_deref().unwrap_or(Path::new(".")));
    for finding in findings(&facts) {
        if arguments.json {
            output.result(&json::line(&EventLine::Finding(&finding)));
        } else {
            show(&finding, &output);
        }
    }
    let status = match &facts.folder {
        Err(problem) => output.refusal(problem),
        Ok(_) => {
            output.ended(0, None);
            0
        }
    };
    output.status(status)
}

fn show(finding: &Finding, output: &Output) {
    let mark = if finding.good { "ok    " } else { "change" };
    output.result(&format!("{mark}  {:<15} {}", finding.name, finding.value));
    for (name, words) in [("why", &finding.advice), ("how", &finding.command)] {
        if let Some(words) = words {
            output.result(&format!("          {name}: {words}"));
        }
    }
}
