//! `pump lab compare`: what two files of rows, or two builds of pump, say of each other.
//!
//! Must not know: how rows are compared, how a study is run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump::Status;
use datapump_lab::study::StudyError;
use datapump_lab::{Comparison, Judged, NoProportion, NothingInCommon, Unjudged};

use super::{asked, refuse};
use crate::args::{CompareAsked, LabCompareArguments};
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::json;
use crate::run::signals::stop_flag;

/// Gives the exit status.
pub fn compare(arguments: &LabCompareArguments, output: &Output) -> i32 {
    let compared = match arguments.compared() {
        Ok(compared) => compared,
        Err(contradiction) => return output.usage(contradiction),
    };
    let stop: Arc<AtomicBool> = stop_flag().unwrap_or_default();
    match comparison(&compared, arguments, &stop) {
        // That nothing could be judged is not done what was asked.
        Ok(comparison) if comparison.is_empty() => {
            output.line(&format!("pump: nothing could be judged: {}", why_nothing(&comparison.overall)));
            print(&comparison, Status::Failed, output)
        }
        Ok(comparison) => print(&comparison, Status::Done, output),
        Err(error) if stop.load(Ordering::Relaxed) => refuse(&error, Status::Interrupted, output),
        Err(error)
            if error.is::<NothingInCommon>() || error.is::<NoProportion>() || error.is::<StudyError>() =>
        {
            refuse(&error, Status::Usage, output)
        }
        Err(error) => refuse(&error, Status::Failed, output),
    }
}

fn comparison(
    compared: &CompareAsked<'_>,
    arguments: &LabCompareArguments,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Comparison> {
    let by = arguments.by.yardstick();
    match compared {
        CompareAsked::Files(a, b) => datapump_lab::compare(a, b, by),
        CompareAsked::Sides(rows) => datapump_lab::compare_sides(rows, by),
        CompareAsked::Binaries(binaries, study) => {
            let asked = asked(study, &arguments.changes, &arguments.files, stop);
            datapump_lab::compare_binaries(&asked, binaries, by)
        }
    }
}

/// Why no cell has a verdict, and what to do about it.
pub(super) fn why_nothing(overall: &Judged) -> String {
    let hint = match overall.why {
        Some(Unjudged::OtherMachine) => {
            return "A and B are not of one machine; --normalise=disk or --normalise=clock puts them into proportion"
                .into();
        }
        Some(Unjudged::UnknownMachine) => {
            return "whether A and B are of one machine is not known: their rows name several hosts, and some have no \
                    machine_id; --normalise=disk or --normalise=clock puts them into proportion"
                .into();
        }
        Some(Unjudged::TooFew) => return "that takes three runs of a cell on each side".into(),
        Some(Unjudged::NotInterleaved(_)) => {
            "run both in turns by pump lab compare --a BINARY --b BINARY STUDY, or give three sessions on each side"
        }
        Some(Unjudged::TooNoisy(_)) => {
            "the machine had too much else to do, or the runs are too few; wait until it is idle, or give more --repeats"
        }
        _ => "give rows that have what is compared",
    };
    let why = overall.why.map_or(String::new(), |why| format!("{why}; "));
    format!("{why}{hint}")
}

fn print(comparison: &Comparison, status: Status, output: &Output) -> i32 {
    if output.json {
        comparison.warnings.iter().for_each(|words| output.line(&format!("pump: warning: {words}")));
        output.result(&json::line(&EventLine::Comparison(comparison)));
        output.ended(status as i32, None);
    } else {
        output.bytes(comparison.to_string().as_bytes());
    }
    status as i32
}
