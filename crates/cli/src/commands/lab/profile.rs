//! `pump lab profile`, and predictions from one.
//!
//! Must not know: how a profile is made, how anything is predicted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump::Status;
use datapump_lab::advise::profile::{
    self, ChainForecast, JudgedCopies, Profile, ProfileArguments, ProfileCheck,
};
use datapump_lab::row::undisturbed_rows;
use datapump_lab::study::StudyError;

use super::{print_figures, print_judged};
use crate::args::{LabPredictArguments, LabProfileArguments};
use crate::output::Output;
use crate::output::events::{EventLine, PredictionLine};
use crate::run::signals::stop_flag;

const NO_FOLDER: &str = "there is no folder for it: set PUMP_STATE_DIR or HOME, or name a file";

/// Makes a profile and prints it. Gives the exit status.
pub fn profile(arguments: &LabProfileArguments, output: &Output) -> i32 {
    let stop: Arc<AtomicBool> = stop_flag().unwrap_or_default();
    let Some(out) = arguments.out.clone().or_else(Profile::default_path) else {
        return output.usage(NO_FOLDER);
    };
    let asked = ProfileArguments {
        folder: arguments.folder.clone(),
        out: out.clone(),
        quick: arguments.quick,
        repeats: arguments.repeats,
        keep_disturbed: arguments.disturbed.keep_disturbed,
        cpu: arguments.cpu,
        pump: None,
        stop: Arc::clone(&stop),
    };
    match profile::make(&asked) {
        Ok((made, disturbed)) => {
            let words = format!("{}\nkept in {}\n", profile::profile_text(&made), out.display());
            print_judged(vec![EventLine::Profile((&made).into())], &words, &disturbed, Status::Done, output)
        }
        Err(error) if stop.load(Ordering::Relaxed) => super::refuse(&error, Status::Interrupted, output),
        Err(error) if error.is::<StudyError>() => super::refuse(&error, Status::Usage, output),
        Err(error) => super::refuse(&error, Status::Failed, output),
    }
}

/// Predicts from a profile, and sets that against rows, if there are some.
pub fn predict(path: &Path, arguments: &LabPredictArguments, output: &Output) -> anyhow::Result<i32> {
    let named = Some(path.to_path_buf()).filter(|path| !path.as_os_str().is_empty());
    let Some(path) = named.or_else(Profile::default_path) else { return Ok(output.usage(NO_FOLDER)) };
    let profile = Profile::read(&path, arguments.other_machine)?;
    if let Some(rows) = &arguments.against {
        let (rows, disturbed) = undisturbed_rows(rows, arguments.disturbed.keep_disturbed)?;
        let against = profile.against(&arguments.chain, &rows)?;
        let words = ProfileCheck::lines(&against);
        return Ok(print_judged(
            vec![EventLine::Against(&against)],
            &words,
            &disturbed,
            Status::Done,
            output,
        ));
    }
    if arguments.request_size.is_empty() {
        return Ok(output.usage("name a request size, or several: --request-size 64KiB,1MiB"));
    }
    let forecasts = arguments.request_size.iter().map(|&size| profile.forecast(&arguments.chain, size));
    let forecasts = forecasts.collect::<Result<Vec<ChainForecast>, _>>()?;
    let event = |forecast| EventLine::Prediction(PredictionLine::OfProfile(forecast));
    let events: Vec<_> = forecasts.iter().map(event).collect();
    Ok(print_figures(&events, &ChainForecast::lines(&forecasts), Status::Done, output))
}

/// Predicts the copies of rows from the parts in them, and sets both beside each other.
pub fn judge(rows: &Path, arguments: &LabPredictArguments, output: &Output) -> anyhow::Result<i32> {
    let (rows, disturbed) = undisturbed_rows(rows, arguments.disturbed.keep_disturbed)?;
    let judged = JudgedCopies::from_rows(&rows, arguments.cpu)?;
    let words = JudgedCopies::lines(&judged);
    let status = if judged.holds { Status::Done } else { Status::Failed };
    Ok(print_judged(vec![EventLine::JudgedCopies(&judged)], &words, &disturbed, status, output))
}
