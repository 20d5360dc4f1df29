//! `pump lab predict`.
//!
//! Must not know: how anything is predicted.

use std::path::Path;

use datapump::Status;
use datapump_lab::cost::{self, PartsFile, PipelineTable};
use serde_json::{Value, json};

use crate::args::LabPredictArguments;
use crate::output::{Output, empty_report};

/// Predicts and prints. Gives the exit status.
pub fn predict(arguments: &LabPredictArguments, output: &Output) -> i32 {
    if let Some(path) = &arguments.profile {
        return match super::profile::predict(path, arguments, output) {
            Ok(status) => status,
            Err(error) => super::refuse_input(&error, "predict", output),
        };
    }
    let done = match (&arguments.golden, &arguments.pipeline, &arguments.parts) {
        (Some(folder), _, _) => Ok(golden(folder, output)),
        (_, Some(table), _) => pipeline(table, output),
        (_, _, Some(parts)) => chain(parts, arguments, output),
        _ => return output.usage("name what is predicted: --parts, --profile, --pipeline or --golden"),
    };
    match done {
        Ok(status) => status,
        Err(error) => super::refuse_input(&error, "predict", output),
    }
}

fn chain(parts: &Path, arguments: &LabPredictArguments, output: &Output) -> anyhow::Result<i32> {
    let predictions = PartsFile::read(parts)?.predict(&arguments.chain, &arguments.request_size)?;
    let events = predictions.iter().map(|prediction| json!(prediction)).collect();
    Ok(print("prediction", events, &cost::chain_words(&predictions), Status::Done, output))
}

fn pipeline(table: &Path, output: &Output) -> anyhow::Result<i32> {
    let rows = PipelineTable::read(table)?.run()?;
    let events = rows.iter().map(|row| json!(row)).collect();
    Ok(print("pipeline", events, &cost::pipeline_words(&rows), Status::Done, output))
}

fn golden(folder: &Path, output: &Output) -> i32 {
    let statements = cost::check_golden(folder);
    let passed = statements.iter().all(|statement| statement.passed);
    let status = if passed { Status::Done } else { Status::Failed };
    let events = statements.iter().map(|statement| json!(statement)).collect();
    print("statement", events, &cost::golden_words(&statements), status, output)
}

fn print(event: &str, figures: Vec<Value>, words: &str, status: Status, output: &Output) -> i32 {
    if output.json {
        figures.iter().for_each(|figures| output.result(&crate::json::figures(event, figures)));
        output.result(&crate::json::report(&empty_report(status as i32, None)));
    } else {
        output.bytes(super::shown_lines(words).as_bytes());
    }
    status as i32
}
