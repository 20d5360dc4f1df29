//! `pump lab`: studies by name or file, rows and what they say.
//!
//! Must not know: what a study is made of, how rows are judged.

mod access;
mod compare;
mod fit;
mod memory;
mod network;
mod predict;
mod profile;
mod report;
mod rerun;
mod scrub;
mod simulate;
mod trend;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump::{Class, Operation, Problem, Status};
use datapump_lab::judge::cost::{self, InputError};
use datapump_lab::row::DisturbedRows;
use datapump_lab::study::StudyError;
use datapump_lab::{ListedStudy, RunArguments, Summary};
use datapump_netlab::SettingsError;

use crate::args::{ChangesArguments, FilesArguments, LabCommand, LabRunArguments};
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::json;
use crate::output::version;
use crate::run::signals::stop_flag;

/// Runs a command of the lab. Gives the exit status.
pub fn lab(command: &LabCommand) -> i32 {
    let output = Output::of_results(command.json());
    let status = match command {
        LabCommand::List => list(&output),
        LabCommand::Show { name } => show(name, &output),
        LabCommand::Run(arguments) => run(arguments, &output),
        LabCommand::Rerun(arguments) => rerun::rerun(arguments, &output),
        LabCommand::Fit(arguments) => fit::fit(arguments, &output),
        LabCommand::Profile(arguments) => profile::profile(arguments, &output),
        LabCommand::Predict(arguments) => predict::predict(arguments, &output),
        LabCommand::TcpWatch(arguments) => network::tcp_watch::tcp_watch(arguments, &output),
        LabCommand::TcpRead(arguments) => network::tcp_read::tcp_read(arguments, &output),
        LabCommand::Path(arguments) => network::path::path(arguments, &output),
        LabCommand::Udp(arguments) => network::udp::udp(&arguments.command, &output),
        LabCommand::RequestResponse(arguments) => {
            network::request_response::request_response(arguments, &output)
        }
        LabCommand::Compare(arguments) => compare::compare(arguments, &output),
        LabCommand::Trend(arguments) => trend::trend(arguments, &output),
        LabCommand::Simulate(arguments) => simulate::simulate(&arguments.command, &output),
        LabCommand::Access(arguments) => access::access(arguments, &output),
        LabCommand::Memory(arguments) => memory::memory(arguments, &output),
        LabCommand::Scrub(arguments) => scrub::scrub(arguments, &output),
        LabCommand::Report(arguments) => report::report(arguments, &output),
        LabCommand::Reproduce(arguments) => report::reproduce::reproduce(arguments, &output),
        LabCommand::View { rows, disturbed, .. } => {
            match datapump_lab::view(rows, disturbed.keep_disturbed) {
                Ok(summary) => print(&summary, Status::Done, &output),
                Err(error) => refuse(&error, Status::Failed, &output),
            }
        }
    };
    output.status(status)
}

fn list(output: &Output) -> i32 {
    let studies = datapump_lab::list();
    let lengths: Vec<String> = studies.iter().map(ListedStudy::length_words).collect();
    let width = studies.iter().map(|study| study.name.len()).max().unwrap_or(0);
    let length_width = lengths.iter().map(String::len).max().unwrap_or(0);
    let mut before = "";
    for (ListedStudy { question, name, title, .. }, length) in studies.iter().zip(lengths) {
        if *question != before {
            let gap = if before.is_empty() { "" } else { "\n" };
            output.result(&format!("{gap}{question}"));
            before = question;
        }
        output.result(&format!("  {name:<width$}  {length:<length_width$}  {title}"));
    }
    0
}

fn show(name: &str, output: &Output) -> i32 {
    match datapump_lab::show(name) {
        Some(text) => {
            output.bytes(text.as_bytes());
            0
        }
        None => {
            let (hint, name) = (datapump_lab::similar_studies(name), datapump::shown(name.as_bytes()));
            output.usage(format!("there is no built-in study '{name}'; {hint}"))
        }
    }
}

fn run(arguments: &LabRunArguments, output: &Output) -> i32 {
    let stop: Arc<AtomicBool> = stop_flag().unwrap_or_default();
    let asked = asked(&arguments.study, &arguments.changes, &arguments.files, &stop);
    ran(datapump_lab::run(asked), arguments.files.out.as_deref(), &stop, output)
}

/// What the library is asked.
fn asked(
    study: &str,
    changes: &ChangesArguments,
    files: &FilesArguments,
    stop: &Arc<AtomicBool>,
) -> RunArguments {
    RunArguments {
        study: study.to_owned(),
        set: changes.set.clone(),
        repeats: changes.repeats,
        quick: changes.quick,
        full: changes.full,
        seed: changes.seed,
        folder: files.folder.clone(),
        out: files.out.clone(),
        pump: None,
        build: Some(version::build().into()),
        stop: Arc::clone(stop),
    }
}

/// Tells how a study went; `out` is the file of its rows, if it was named.
fn ran(outcome: anyhow::Result<Summary>, out: Option<&Path>, stop: &AtomicBool, output: &Output) -> i32 {
    match outcome {
        // Failed runs are rows; that there are some is not done what was asked.
        Ok(summary) if summary.failed_runs() > 0 => print(&summary, Status::Partial, output),
        Ok(summary) => {
            let status = print(&summary, Status::Done, output);
            print_fit(&summary, out, output);
            status
        }
        Err(error) if stop.load(Ordering::Relaxed) => refuse(&error, Status::Interrupted, output),
        Err(error) if error.is::<StudyError>() => refuse(&error, Status::Usage, output),
        Err(error) => refuse(&error, Status::Failed, output),
    }
}

/// What a byte and a request cost, for a study that varies request sizes.
fn print_fit(summary: &Summary, out: Option<&Path>, output: &Output) {
    const SIZES_MIN: usize = 3;
    let Some(study) = summary.studies.first().filter(|_| !output.json) else { return };
    let sizes: BTreeSet<_> = study.cells.iter().filter_map(|cell| cell.asked.get("request_size")).collect();
    let rows = out.map_or_else(|| PathBuf::from(format!("{}.jsonl", study.study)), Path::to_path_buf);
    if sizes.len() >= SIZES_MIN
        && let Ok(fits) = cost::fit_file(&rows, cost::Model::Cost, false, None)
    {
        output.bytes(shown_lines(&format!("\n{fits}")).as_bytes());
    }
}

fn print(summary: &Summary, status: Status, output: &Output) -> i32 {
    if output.json {
        output.result(&json::summary(summary));
        output.ended(status as i32, None);
    } else {
        output.bytes(shown_lines(&summary.to_string()).as_bytes());
    }
    status as i32
}

/// The events and the report, or the words.
fn print_figures(events: &[EventLine<'_>], words: &str, status: Status, output: &Output) -> i32 {
    if output.json {
        events.iter().for_each(|event| output.result(&json::line(event)));
        output.ended(status as i32, None);
    } else {
        output.bytes(shown_lines(words).as_bytes());
    }
    status as i32
}

/// Prints figures of rows as [`print_figures`] does, and how many of the rows were disturbed.
fn print_judged<'events>(
    mut events: Vec<EventLine<'events>>,
    words: &str,
    disturbed: &'events DisturbedRows,
    status: Status,
    output: &Output,
) -> i32 {
    let Some(note) = disturbed.words() else { return print_figures(&events, words, status, output) };
    events.push(EventLine::Disturbed(disturbed));
    print_figures(&events, &format!("{words}note: {note}\n"), status, output)
}

/// Tells what is wrong with a file or with what was asked of it.
fn refuse_input(error: &anyhow::Error, operation: Operation, output: &Output) -> i32 {
    let is_wrong = error.is::<InputError>() || error.is::<SettingsError>();
    let class = if is_wrong { Class::Usage } else { Class::Io };
    let message = datapump::shown(format!("{error:#}").as_bytes());
    output.refusal(&Problem::of(class, operation, message))
}

/// Lines for people: names from files must not reach the terminal as they are.
fn shown_lines(text: &str) -> String {
    text.lines().map(|line| datapump::shown(line.as_bytes()) + "\n").collect()
}

/// Tells why there are no figures.
fn refuse(error: &anyhow::Error, status: Status, output: &Output) -> i32 {
    let class = if status == Status::Usage { Class::Usage } else { Class::Io };
    let message = datapump::shown(format!("{error:#}").as_bytes());
    output.problem(&Problem::of(class, Operation::Study, message));
    output.ended(status as i32, Some(class));
    status as i32
}
