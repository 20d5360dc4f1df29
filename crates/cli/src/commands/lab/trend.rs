//! `pump lab trend`: what each change of build or kernel did to a study.
//!
//! Must not know: how versions are compared.

use datapump::Status;
use datapump_lab::{NoProportion, NotOneStudy, Trend};

use super::compare::why_nothing;
use super::{print_figures, refuse};
use crate::args::LabTrendArguments;
use crate::output::Output;
use crate::output::events::EventLine;

/// Gives the exit status.
pub fn trend(arguments: &LabTrendArguments, output: &Output) -> i32 {
    let by = arguments.by.yardstick();
    match datapump_lab::trend(&arguments.rows, by) {
        Ok(trend) if trend.is_empty() => {
            output.line(&format!("pump: nothing could be judged: {}", why_none(&trend)));
            print(&trend, Status::Failed, output)
        }
        Ok(trend) => print(&trend, Status::Done, output),
        Err(error) if error.is::<NotOneStudy>() || error.is::<NoProportion>() => {
            refuse(&error, Status::Usage, output)
        }
        Err(error) => refuse(&error, Status::Failed, output),
    }
}

/// Why no change has a verdict: the reason of the last one.
fn why_none(trend: &Trend) -> String {
    let Some(last) = trend.changes.last() else {
        return "all rows are of one build and kernel; run the study again after the next upgrade".into();
    };
    match (&last.comparison, &last.why) {
        (Some(comparison), _) => why_nothing(&comparison.overall),
        (None, why) => why.clone().unwrap_or_default(),
    }
}

fn print(trend: &Trend, status: Status, output: &Output) -> i32 {
    print_figures(&[EventLine::Trend(trend)], &trend.to_string(), status, output)
}
