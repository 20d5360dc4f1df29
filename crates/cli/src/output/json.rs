//! Events as lines: one object each, in the forms of `events`.
//!
//! Every object begins with `v` and `event`, whatever the order of the rest.
//!
//! Must not know: where lines are written.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use datapump::{Change, ChangeKind, Class, Place, Planned, Problem, Report};
use datapump_lab::advise::explain::Explained;

use crate::output::events::{
    ChangeLine, DoneKind, EndedLine, EventLine, ExplainedLine, FileLine, FileName, PlanLine, ProblemLine,
    ProgressLine, ReportLine, StartLine, SummaryLine,
};
use crate::output::meter::MeterReading;
use crate::output::version;

/// Version of the forms. Fields are added under the same version; a changed meaning would need another.
pub const VERSION: u32 = 1;

/// What most lines have room in.
const LINE_BYTES: usize = 240;

/// `{"v":1,"event":NAME,…}`.
pub fn line(event: &EventLine<'_>) -> String {
    // Written once, into one buffer: a tree has a line for each small file.
    let mut line = format!("{{\"v\":{VERSION}").into_bytes();
    let begins_at = line.len();
    line.reserve(LINE_BYTES);
    // Strings, numbers and maps with string keys always have a JSON form.
    if serde_json::to_writer(&mut line, event).is_err() {
        line.truncate(begins_at);
        line.extend_from_slice(b"{\"event\":null}");
    }
    line[begins_at] = b',';
    String::from_utf8(line).unwrap_or_default()
}

/// Behind the rest, when it was written to a log.
pub fn with_time(line: &str) -> String {
    format!("{},\"time\":\"{}\"}}", line.strip_suffix('}').unwrap_or(line), now())
}

/// RFC 3339, in UTC.
pub fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

/// A job begins, perhaps one that only says what it would do.
pub fn start(command: &str, dry_run: bool, sources: &[Place], target: Option<&Place>) -> String {
    let sources = sources.iter().map(place).collect();
    line(&EventLine::Start(StartLine {
        version: version::VERSION,
        command,
        dry_run,
        sources,
        target: target.map(place),
    }))
}

/// A file is complete.
pub fn file(path: &Path, bytes: u64, blake3: Option<&str>) -> String {
    line(&EventLine::File(FileLine { name: name(path), bytes, blake3 }))
}

/// Something went wrong.
pub fn problem(problem: &Problem) -> String {
    let name = problem.path.as_deref().map(name);
    let (path, path_bytes) = name.map_or((None, None), |name| (Some(name.path), name.path_bytes));
    line(&EventLine::Problem(ProblemLine {
        class: problem.class,
        path,
        path_bytes,
        operation: problem.operation,
        offset: problem.offset,
        message: &problem.message,
        errno: problem.cause,
    }))
}

/// How far it is.
pub fn progress(reading: &MeterReading, at_hand: Option<&Path>) -> String {
    line(&EventLine::Progress(ProgressLine {
        time: now(),
        elapsed_ns: reading.elapsed_ns,
        phase: reading.phase,
        files_total: Some(reading.found.1).filter(|files| *files > 0),
        at_hand: at_hand.map(|name| name.to_string_lossy().into_owned()),
        names: reading.names,
        names_total: reading.names_total,
        deleted: reading.deleted.0,
        to_delete: Some(reading.deleted.1).filter(|names| *names > 0),
        bytes: reading.bytes,
        bytes_total: reading.bytes_total,
        files: reading.files,
        percent: reading.percent,
        rate_bytes_per_second: reading.rate_bytes_per_second,
        time_left_low_s: reading.time_left_s.map(|(low, _)| low),
        time_left_high_s: reading.time_left_s.map(|(_, high)| high),
        limited_by: reading.limited_by,
    }))
}

/// What would be done with one file.
pub fn plan(planned: &Planned) -> String {
    line(&EventLine::Plan(PlanLine {
        source: place(&planned.source),
        target: place(&planned.target),
        bytes: planned.bytes,
        how: planned.how.clone(),
    }))
}

/// A change that was made; with its letters, if they were asked for.
pub fn change(change: &Change, is_itemized: bool) -> String {
    let is_source = change.kind == ChangeKind::RemoveSource;
    let to = change.leads_to_path();
    let to = to.as_deref().map(name);
    let (to, to_bytes) = to.map_or((None, None), |to| (Some(to.path), to.path_bytes));
    line(&EventLine::Change(ChangeLine {
        name: name(if is_source { &change.source } else { &change.target }),
        kind: DoneKind::from_change(change.kind, change.what),
        what: change.what,
        to,
        to_bytes,
        itemized: Some(change.itemized.trim_end()).filter(|letters| is_itemized && !letters.is_empty()),
    }))
}

/// A change that would be made.
pub fn planned_change(change: &Change) -> String {
    line(&EventLine::Plan(PlanLine {
        source: change.source.to_string_lossy().into_owned(),
        target: change.target.to_string_lossy().into_owned(),
        bytes: change.bytes,
        how: format!("{} {}", change.itemized.trim_end(), change.what),
    }))
}

/// What rows of studies say.
pub fn summary(summary: &datapump_lab::Summary) -> String {
    line(&EventLine::Summary(SummaryLine { studies: &summary.studies }))
}

/// The last line of an explanation: the copy's report, with what its parts say of it.
pub fn explained(explained: &Explained) -> String {
    let report = Report {
        limited_by: explained.limited_by,
        limited_detail: explained.limited_detail.clone(),
        ..explained.report.clone()
    };
    let advice = Some(explained.advice.words.as_str());
    let explained = Some(of_parts(explained, &report));
    line(&EventLine::Report(ReportLine { build: version::build(), report: &report, advice, explained }))
}

fn of_parts<'a>(explained: &'a Explained, found: &Report) -> ExplainedLine<'a> {
    let (advice, prediction) = (&explained.advice, explained.prediction.as_ref());
    let next = prediction.and_then(|it| it.next_limit(found));
    let (speed, cost) =
        (prediction.and_then(|it| it.speed_interval), prediction.and_then(|it| it.cost_interval));
    let stored = prediction.map(|it| &it.stored);
    let repeated = explained.repeated.as_ref();
    ExplainedLine {
        predicted_bytes_per_second: prediction.map(|it| it.predicted_bytes_per_second),
        predicted_bytes_per_second_low: speed.map(|it| it.low),
        predicted_bytes_per_second_high: speed.map(|it| it.high),
        predicted_ns_per_byte: prediction.map(|it| it.predicted_ns_per_byte),
        predicted_ns_per_byte_low: cost.map(|it| it.low),
        predicted_ns_per_byte_high: cost.map(|it| it.high),
        rounds: prediction.map(|it| it.rounds as u64),
        prediction_text: stored.map(|it| it.text.as_str()),
        prediction_digest: stored.map(|it| it.digest.as_str()),
        observed_bytes_per_second: explained.observed_bytes_per_second,
        observed_ns_per_byte: explained.observed_ns_per_byte,
        error_percent: explained.error_percent,
        parts: &explained.parts,
        unmeasured: &explained.unmeasured,
        shared_device: prediction.is_some_and(|it| it.shared_device),
        slowest_part: prediction.map(|it| it.slowest),
        next_part: next.map(|(part, _)| part),
        next_part_bytes_per_second: next.map(|(_, speed)| speed),
        advice_cause: advice.cause,
        advice_flag: advice.flag.as_deref(),
        advice_gain: advice.gain,
        copied_times: repeated.map(|it| it.times as u64),
        copied_ns: repeated.map(|it| it.elapsed_ns),
        not_repeated: repeated.and_then(|it| it.why_not.as_deref()),
        explanation: &explained.words,
        added_ns: explained.added_ns,
    }
}

/// The last line, with what to try, if there is anything.
pub fn report(report: &Report, advice: Option<&str>) -> String {
    line(&EventLine::Report(ReportLine { build: version::build(), report, advice, explained: None }))
}

/// The last line of a command that moves nothing.
pub fn ended(exit_status: i32, class: Option<Class>) -> String {
    let problems = class.into_iter().map(|class| (class.name(), 1)).collect();
    line(&EventLine::Ended(EndedLine { version: version::VERSION, exit_status, problems }))
}

/// A place as text: the word that names it, with what is not UTF-8 replaced.
fn place(place: &Place) -> String {
    place.local_path().map_or_else(|| place.to_string(), |path| path.to_string_lossy().into_owned())
}

fn name(path: &Path) -> FileName {
    let bytes = path.to_str().is_none().then(|| BASE64_STANDARD.encode(path.as_os_str().as_bytes()));
    FileName { path: path.to_string_lossy().into_owned(), path_bytes: bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn a_name_that_is_no_text_comes_with_its_bytes() {
        let odd = Path::new(OsStr::from_bytes(b"bad\xff"));
        assert!(file(odd, 1, None).contains("\"path_bytes\":\"YmFk/w==\""));
        assert!(!file(Path::new("good"), 1, None).contains("path_bytes"));
    }

    #[test]
    fn every_event_begins_alike() {
        assert!(ended(0, None).starts_with("{\"v\":1,\"event\":\"report\",\"version\":"));
        assert!(report(&Report::default(), None).starts_with("{\"v\":1,\"event\":\"report\",\"build\":"));
    }
}
