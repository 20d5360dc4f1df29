//! `pump lab reproduce`: a founding document redone, and the list of those that there are.
//!
//! Must not know: what a document has, how its page is made.

use std::sync::atomic::Ordering;

use datapump::Status;
use datapump_lab::reproduce::{ListedDocument, ReproduceArguments, Reproduced, documents, reproduce as redo};

use crate::args::LabReproduceArguments;
use crate::commands::lab::{print_figures, refuse};
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::version;
use crate::run::signals::stop_flag;

/// Gives the exit status.
pub fn reproduce(arguments: &LabReproduceArguments, output: &Output) -> i32 {
    let (Some(name), Some(out)) = (&arguments.name, &arguments.out) else { return list(output) };
    if arguments.list {
        return list(output);
    }
    let asked = ReproduceArguments {
        name: name.clone(),
        quick: arguments.quick,
        only: arguments.only.clone(),
        out: out.clone(),
        folder: arguments.folder.clone(),
        pump: None,
        build: Some(version::build().into()),
        keep_disturbed: arguments.disturbed.keep_disturbed,
        stop: stop_flag().unwrap_or_default(),
    };
    match redo(&asked) {
        Ok(done) => {
            let is_whole = done.failed_runs == 0 && done.not_run.is_empty();
            let status = if is_whole { Status::Done } else { Status::Partial };
            print_figures(&[EventLine::Reproduced(&done)], &message(&done), status, output)
        }
        Err(error) if asked.stop.load(Ordering::Relaxed) => refuse(&error, Status::Interrupted, output),
        Err(error) => refuse(&error, Status::Failed, output),
    }
}

fn list(output: &Output) -> i32 {
    let documents = documents();
    let entry = |document: &ListedDocument| {
        format!(
            "{}: {}\n  {}\n  {}\n",
            document.name,
            document.title,
            document.source,
            document.length_words()
        )
    };
    let words: String = documents.iter().map(entry).collect();
    let events: Vec<EventLine<'_>> = documents.iter().map(EventLine::Document).collect();
    print_figures(&events, &words, Status::Done, output)
}

fn message(done: &Reproduced) -> String {
    let Reproduced { page, parts, figures, runs, failed_runs, not_run, .. } = done;
    let not_run: String = not_run.iter().map(|words| format!("not run: {words}\n")).collect();
    format!("{page}: {parts} parts, {figures} figures, {runs} runs ({failed_runs} failed)\n{not_run}")
}
