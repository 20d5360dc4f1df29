//! `pump lab predict`.
//!
//! Must not know: how anything is predicted.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, bail};
use datapump::{Operation, Status};
use datapump_lab::judge::cost::{self, PartsFile, PipelineTable};

use super::print_figures;
use crate::args::LabPredictArguments;
use crate::output::Output;
use crate::output::events::{EventLine, PredictionLine};

/// Predicts and prints. Gives the exit status.
pub fn predict(arguments: &LabPredictArguments, output: &Output) -> i32 {
    let LabPredictArguments { profile, judge, golden: folder, pipeline: table, parts, .. } = arguments;
    if let Some(rows) = judge {
        let done = super::profile::judge(rows, arguments, output);
        return done.unwrap_or_else(|error| super::refuse_input(&error, Operation::Predict, output));
    }
    let done = match (profile, folder, table, parts) {
        (Some(path), ..) => super::profile::predict(path, arguments, output),
        (_, Some(folder), ..) => golden(folder, output),
        (_, _, Some(table), _) => pipeline(table, output),
        (.., Some(parts)) => chain(parts, arguments, output),
        _ => {
            return output
                .usage("name what is predicted: --parts, --profile, --judge, --pipeline or --golden");
        }
    };
    done.unwrap_or_else(|error| super::refuse_input(&error, Operation::Predict, output))
}

fn chain(parts: &Path, arguments: &LabPredictArguments, output: &Output) -> anyhow::Result<i32> {
    let predictions = PartsFile::read(parts)?.predict(&arguments.chain, &arguments.request_size)?;
    let event = |prediction| EventLine::Prediction(PredictionLine::OfParts(prediction));
    let events: Vec<_> = predictions.iter().map(event).collect();
    Ok(print_figures(&events, &cost::chain_words(&predictions), Status::Done, output))
}

fn pipeline(table: &Path, output: &Output) -> anyhow::Result<i32> {
    let rows = PipelineTable::read(table)?.run()?;
    let events: Vec<_> = rows.iter().map(EventLine::Pipeline).collect();
    Ok(print_figures(&events, &cost::pipeline_words(&rows), Status::Done, output))
}

fn golden(folder: &Path, output: &Output) -> anyhow::Result<i32> {
    match folder.metadata() {
        Ok(meta) if meta.is_dir() => {}
        Ok(_) => bail!("{} is not a directory; name the one with the published tables", folder.display()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("no such folder: {}; name the one with the published tables", folder.display())
        }
        Err(error) => return Err(error).with_context(|| format!("open the folder {}", folder.display())),
    }
    let statements = cost::check_golden(folder);
    let passed = statements.iter().all(|statement| statement.passed);
    let status = if passed { Status::Done } else { Status::Failed };
    let events: Vec<_> = statements.iter().map(EventLine::Statement).collect();
    Ok(print_figures(&events, &cost::golden_words(&statements), status, output))
}
