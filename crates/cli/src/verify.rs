//! `pump verify`: each difference a line on standard output; statuses as cmp has them.
//!
//! Must not know: how content is compared.

use std::fs::{Metadata, metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use datapump::{Class, Event, Job, Options, Place, Problem, Report, Status};

use crate::args::VerifyArguments;
use crate::json;
use crate::output::Output;
use crate::progress::shown;
use crate::run::Runner;

/// Compares. Gives the exit status: 0 same, 1 different, 2 trouble.
pub fn verify(arguments: &VerifyArguments) -> i32 {
    let output = Output::new(&arguments.output);
    let status = match (Place::parse(&arguments.one), Place::parse(&arguments.other)) {
        (Ok(one), Ok(other)) => perform(arguments, one, other, &output),
        (Err(error), _) | (_, Err(error)) => output.usage(error.to_string()),
    };
    // As cmp: 1 would say that the places differ, and trouble is 2.
    match output.status(status) {
        told if told != status => Status::Usage as i32,
        told => told,
    }
}

fn perform(arguments: &VerifyArguments, one: Place, other: Place, output: &Output) -> i32 {
    if output.json {
        output.result(&json::start("verify", std::slice::from_ref(&one), Some(&other)));
    }
    let attributes = if arguments.content_only {
        Vec::new()
    } else {
        attributes_that_differ(&one, &other).unwrap_or_default()
    };
    let options = Options { content_only: arguments.content_only, ..arguments.tuning.options() };
    let job = Job::compare(one, other).options(options);
    let runner = Runner::new(output, shown(&arguments.output));
    let mut report = runner.run_with(job, &|event| show(output, event));
    for problem in attributes {
        count(&mut report, &problem);
        show(output, Event::Problem(problem));
    }
    if runner.stopped() && report.files == 0 {
        report.exit_status = Status::Interrupted as i32;
    }
    // Silence means the same, as with cmp; a report for people is for those who ask.
    if output.json || output.verbose {
        output.report(&report);
    } else {
        output.interruption(&report);
    }
    report.exit_status
}

/// Differences are results; trouble is trouble.
fn show(output: &Output, event: Event) {
    match event {
        Event::Problem(problem) if problem.class == Class::Mismatch => {
            let line = if output.json { json::problem(&problem) } else { problem.to_string() };
            output.result(&line);
        }
        Event::File { .. } if !output.json => {}
        event => output.event(event),
    }
}

fn count(report: &mut Report, problem: &Problem) {
    *report.problems.entry(problem.class.name().into()).or_default() += 1;
    report.exit_status = report.exit_status.max(Status::Failed as i32);
}

/// Mode and time of change of two regular files; nothing when either is something else or cannot be looked at, which
/// the comparison of the content tells.
fn attributes_that_differ(one: &Place, other: &Place) -> Option<Vec<Problem>> {
    let (Place::Path(one), Place::Path(other)) = (one, other) else { return None };
    let (first, second) = (metadata(one).ok()?, metadata(other).ok()?);
    if !first.is_file() || !second.is_file() {
        return None;
    }
    let differ = |words: String| Problem::new(Class::Mismatch, "compare", one, words);
    Some(differences(&first, &second, other).into_iter().map(differ).collect())
}

fn differences(first: &Metadata, second: &Metadata, other: &Path) -> Vec<String> {
    let name = json::words(other);
    let mut words = Vec::new();
    let (mode, other_mode) = (first.mode() & 0o7777, second.mode() & 0o7777);
    if mode != other_mode {
        words.push(format!("has mode {mode:04o}, '{name}' has {other_mode:04o}"));
    }
    let (time, other_time) = (time_words(first), time_words(second));
    if time != other_time {
        words.push(format!("was changed at {time}, '{name}' at {other_time}"));
    }
    words
}

/// Seconds since 1970 with nanoseconds: whoever compares them does not want them rounded.
fn time_words(metadata: &Metadata) -> String {
    format!("{}.{:09}", metadata.mtime(), metadata.mtime_nsec())
}
