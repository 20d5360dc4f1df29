//! `pump verify`: each difference a line on standard output; statuses as cmp has them.
//!
//! Must not know: how content is compared.

use std::ffi::OsStr;
use std::path::Path;

use datapump::units::with_commas;
use datapump::{
    AttributeOptions, Class, ComparisonOptions, Event, Job, Keep, NetworkOptions, Options, Place, Report,
    SelectionOptions, Status,
};

use crate::args::VerifyArguments;
use crate::output::Output;
use crate::output::json;
use crate::output::progress::shown;
use crate::run::Runner;
use crate::run::remote;

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
    output.start("verify", std::slice::from_ref(&one), Some(&other));
    let both = format!("'{one}' and '{other}'");
    let sockets = arguments.host.sockets.options();
    let &VerifyArguments { content_only, attributes, numeric_ids, .. } = arguments;
    let keep = Keep { numeric_ids, ..Keep::default() };
    let tuning = arguments.tuning.options();
    let selection = match arguments.patterns.selection(true) {
        Ok(selection) => selection,
        Err(message) => return output.usage(message),
    };
    let options = Options {
        comparison: ComparisonOptions { content_only, compare_attributes: attributes, ..tuning.comparison },
        attributes: AttributeOptions { keep, ..tuning.attributes },
        network: NetworkOptions { sockets, ..tuning.network },
        selection: SelectionOptions {
            rules: selection,
            patterns_begin_above: arguments.patterns.has_rules()
                && is_copied_by_name(arguments, &one, &other),
            list_is_default: arguments.patterns.list_is_default,
            ..tuning.selection
        },
        ..tuning
    };
    if attributes {
        output.tell_fakeroot();
    }
    let runner = Runner::new(output, shown(&arguments.output));
    let mut report = match compared(arguments, one, other, options, &runner) {
        Ok(report) => report,
        Err(message) => return output.usage(message),
    };
    if runner.stopped() && report.files == 0 {
        report.exit_status = Status::Interrupted as i32;
    }
    // As cmp: whatever kept the two from being compared is trouble.
    if [Status::Refused as i32, Status::Lost as i32].contains(&report.exit_status) {
        report.exit_status = Status::Usage as i32;
    }
    // Standard output is empty where all is the same, as with cmp; a report for people is for those who ask.
    if output.json || output.verbose {
        output.report(&report);
    } else {
        output.interruption(&report);
        let answers = report.answers().filter(|_| !report.is_brief());
        let words = summary(&both, &report).into_iter().chain(answers).filter(|_| !output.quiet);
        words.for_each(|words| output.line(&words));
    }
    report.exit_status
}

/// Whether the second place is one that a copy of the first one to the folder around it makes, or a mirror of it there.
fn is_copied_by_name(arguments: &VerifyArguments, one: &Place, other: &Place) -> bool {
    let name = |place: &Place| {
        let path: &Path = match place {
            Place::Path(path) => path,
            Place::Remote(remote) => &remote.path,
            _ => return None,
        };
        path.file_name().map(OsStr::to_owned)
    };
    let is_list = arguments.patterns.files_from.is_some();
    !one.stands_for_content() && !is_list && name(one).is_some() && name(one) == name(other)
}

/// `'a' and 'b' are the same: 2 files, 2.9 KiB in 0.01 s`.
fn summary(both: &str, report: &Report) -> Option<String> {
    let differences = report.problems.get(Class::Mismatch.name()).copied().unwrap_or(0);
    match report.exit_status {
        0 => Some(format!("{both} are the same: {}", report.summary())),
        1 if differences == 1 => Some(format!("{both}: 1 difference; {}", report.summary())),
        1 => Some(format!("{both}: {} differences; {}", with_commas(differences), report.summary())),
        _ => None,
    }
}

fn compared(
    arguments: &VerifyArguments,
    one: Place,
    other: Place,
    options: Options,
    runner: &Runner<'_>,
) -> Result<Report, String> {
    remote::refuse_within_ssh(&arguments.host.reach, [&one, &other].into_iter())?;
    let events = |event| show(runner.output, event);
    let is_remote = remote::is_meant([&one, &other].into_iter());
    let job = Job::compare(one, other).options(options);
    if is_remote {
        remote::perform(&arguments.host, job.tells_files(runner.output.json), None, runner, &events)
    } else {
        Ok(runner.run_with(job, &events))
    }
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
