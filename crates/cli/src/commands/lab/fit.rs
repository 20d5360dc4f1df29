//! `pump lab fit`.
//!
//! Must not know: how a model is fitted.

use datapump::{Class, Operation, Problem, Status};
use datapump_lab::judge::cost::{self, Fits, Model};
use datapump_lab::judge::depths::knees;
use datapump_lab::judge::{crossings, pages};
use datapump_lab::row::DisturbedRows;

use crate::args::{LabFitArguments, LabModel};
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::json;

/// Fits and prints. Gives the exit status.
pub fn fit(arguments: &LabFitArguments, output: &Output) -> i32 {
    let keep = arguments.disturbed.keep_disturbed;
    let model = match arguments.model {
        LabModel::Cost => Model::Cost,
        LabModel::LevelOff => Model::LevelOff,
        LabModel::Touch => {
            let found = pages::page_curves(&arguments.file, keep);
            return print_found(&found, EventLine::Curve, pages::curves_words, output);
        }
        LabModel::Crossings => {
            let found = crossings::crossing_ways(&arguments.file, keep);
            return print_found(&found, EventLine::Crossings, crossings::crossings_words, output);
        }
        LabModel::Overhead => {
            let found = cost::application_cells(&arguments.file, keep);
            return print_found(&found, EventLine::Application, cost::applications_words, output);
        }
        LabModel::Knee => {
            let found = knees::knees(&arguments.file, keep);
            return print_found(&found, EventLine::Knee, knees::knees_words, output);
        }
    };
    match cost::fit_file(&arguments.file, model, keep, arguments.cpu) {
        Ok(fits) => print(&fits, output),
        Err(error) => super::refuse_input(&error, Operation::Fit, output),
    }
}

/// Prints what was found in rows.
fn print_found<'found, Found>(
    found: &'found anyhow::Result<(Vec<Found>, DisturbedRows)>,
    event: fn(&'found Found) -> EventLine<'found>,
    words: fn(&[Found]) -> String,
    output: &Output,
) -> i32 {
    match found {
        Ok((found, disturbed)) => {
            let events = found.iter().map(event).collect();
            super::print_judged(events, &words(found), disturbed, Status::Done, output)
        }
        Err(error) => super::refuse_input(error, Operation::Fit, output),
    }
}

fn print(fits: &Fits, output: &Output) -> i32 {
    if output.json {
        fits.fits.iter().for_each(|group| output.result(&json::line(&EventLine::Fit(group))));
        let disturbed = fits.disturbed.words().map(|_| EventLine::Disturbed(&fits.disturbed));
        disturbed.iter().for_each(|event| output.result(&json::line(event)));
        fits.notes.iter().for_each(|note| output.line(&format!("pump: {note}")));
    } else {
        output.bytes(super::shown_lines(&fits.to_string()).as_bytes());
    }
    for refused in &fits.refused {
        let message = datapump::shown(format!("{}: {}", refused.group, refused.why).as_bytes());
        let class = Class::Usage;
        output.problem(&Problem::of(class, Operation::Fit, message));
    }
    let (status, class) =
        if fits.refused.is_empty() { (Status::Done, None) } else { (Status::Partial, Some(Class::Usage)) };
    output.ended(status as i32, class);
    status as i32
}
