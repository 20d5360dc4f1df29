//! `pump doctor`: what this host, or the path to another one, offers and what to change.
//!
//! Must not know: how facts are found, what they mean.

use std::ffi::OsStr;
use std::path::Path;

use datapump::{Host, Place, Remote, Status};

use crate::args::DoctorArguments;
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::findings::{CallState, Finding, FindingSide, findings, path_findings};
use crate::output::json;
use crate::output::progress::Shown;
use crate::run::Runner;
use crate::run::inspection::{inspect, inspect_folder};
use crate::run::remote;

/// Prints the findings. Gives the exit status: 0 unless the place cannot be looked at.
pub fn doctor(arguments: &DoctorArguments) -> i32 {
    let output = Output::of_results(arguments.json);
    let word = arguments.place.as_deref().unwrap_or(OsStr::new("."));
    let heeded = |place: Place| {
        let checked = remote::refuse_within_ssh(&arguments.reach, std::iter::once(&place));
        checked.map(|()| place)
    };
    let status = match Place::parse(word).map_err(|error| error.to_string()).and_then(heeded) {
        Ok(Place::Path(path)) => folder(&path, &output),
        Ok(Place::Remote(remote)) => path_to(remote, arguments, &output),
        Ok(other) => output.usage(format!(
            "'{other}' is neither a folder nor another host; write a path, HOST: or pump://HOST:PORT/"
        )),
        Err(message) => output.usage(message),
    };
    output.status(status)
}

fn folder(path: &Path, output: &Output) -> i32 {
    let folder = inspect_folder(path);
    show_all(&findings(&inspect(), folder.as_ref().ok()), output);
    match &folder {
        Err(problem) => output.refusal(problem),
        Ok(_) => {
            output.ended(0, None);
            0
        }
    }
}

/// The path to another host, and both hosts.
fn path_to(remote: Remote, arguments: &DoctorArguments, output: &Output) -> i32 {
    let host = match &remote.host {
        Host::Served(address) => address.clone(),
        host => host.to_string(),
    };
    if !remote.path.as_os_str().is_empty() {
        output.line(&format!(
            "pump: the path and both hosts are looked at, not the folder there; for that run pump doctor on {host}"
        ));
    }
    output.line(&format!("pump: at most 64 MiB of null data come from {host}, requested for at most 1 s"));
    let runner = Runner::new(output, Shown::Nothing);
    let (facts, problem) = match remote::look(&arguments.reach, Place::Remote(remote), &runner) {
        Ok(looked) => looked,
        Err(message) => return output.usage(message),
    };
    show_all(&path_findings(&facts, &inspect(), &host), output);
    if runner.stopped() {
        output.ended(Status::Interrupted as i32, None);
        return Status::Interrupted as i32;
    }
    problem.map_or_else(
        || {
            output.ended(0, None);
            0
        },
        |problem| output.failed(&problem, false),
    )
}

fn show_all(found: &[Finding], output: &Output) {
    let has_sides = found.iter().any(|finding| finding.side != FindingSide::Local);
    let mut last = None;
    for finding in found {
        if output.json {
            output.result(&json::line(&EventLine::Finding(finding)));
            continue;
        }
        if has_sides && last.replace(finding.side) != Some(finding.side) {
            output.result(&heading(finding));
        }
        show(finding, output);
    }
}

fn heading(finding: &Finding) -> String {
    let host = finding.host.as_deref().unwrap_or_default();
    match finding.side {
        FindingSide::Path => "The path:".into(),
        FindingSide::Local => format!("This host ({host}):"),
        FindingSide::Remote => format!("The other host ({host}):"),
    }
}

fn show(finding: &Finding, output: &Output) {
    let mark = if finding.good { "ok    " } else { "change" };
    output.result(&format!("{mark}  {:<15} {}", finding.name, finding.value));
    finding
        .calls
        .iter()
        .filter_map(CallState::words)
        .for_each(|line| output.result(&format!("          {line}")));
    for (name, words) in [("why", &finding.advice), ("how", &finding.command)] {
        if let Some(words) = words {
            output.result(&format!("          {name}: {words}"));
        }
    }
}
