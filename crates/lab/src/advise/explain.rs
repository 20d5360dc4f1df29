//! `pump explain`: each part of a copy alone, what they allow together, the copy itself, and what would help.
//!
//! Source to nothing, nothing to sink, nothing over the network to nothing, nothing to nothing, and the first bytes of the
//! source into an unnamed temporary file: short slices in turns, for some seconds in all. What they allow is written down
//! before the copy runs, with the interval that the copy lies in; both are reported. A part that limits is measured again
//! with what might help it, so that advice has a measured gain, and a copy that was too short is repeated. All this writes
//! at most 4 GiB, and one twentieth of the free bytes, into unnamed temporary files. Must not know: command lines, how a
//! host is reached, how bytes are moved.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use datapump::{Job, LimitedBy, LimitedDetail, Report, Status};
use datapump_engine::os::linux::storage_read_bytes;

pub mod advice;
mod case;
mod cause;
mod ends;
mod isolate;
pub mod law;
mod messages;
mod part;
mod refusal;
mod rounds;
mod timer;
mod trial;

pub use advice::Advice;
pub use case::Case;
use ends::CopyEnds;
pub use law::Prediction;
use part::MeasuredRounds;
pub use part::{Part, PartName};
pub use rounds::repeat::Repeated;

/// No repetition and no trial begins after this much time besides the copy. One that is under way by then ends within half a
/// minute, unless a call to a disk or to another host takes longer.
const ADDED_MAX: Duration = Duration::from_secs(20);

/// The use of a move that somebody performs for the explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveUse {
    /// The copy itself, of which the user wants to hear.
    Copy,
    /// One of its parts, or a try of it.
    Part,
}

/// Outcome of a move.
#[derive(Clone, Debug)]
pub struct MoveOutcome {
    /// Its report; of a dry run `bytes` are those that would be copied.
    pub report: Report,
    /// Its first problem, in words.
    pub problem: Option<String>,
}

/// Time since the beginning.
type ExplainClock<'clock> = &'clock dyn Fn() -> Duration;

/// Performs a move, on one host or between two.
pub type Mover<'mover> = &'mover (dyn Fn(Job, MoveUse) -> MoveOutcome + Sync);

/// What came of it.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The parts, each alone, in the order in which they were measured.
    pub parts: Vec<Part>,
    /// Parts that could not be measured, and why.
    pub unmeasured: Vec<String>,
    /// What the parts allow together, written down before the copy; none if no part could be measured.
    pub prediction: Option<Prediction>,
    /// Bytes of the copy over its time.
    pub observed_bytes_per_second: f64,
    /// CPU time of the copy at both hosts for each byte.
    pub observed_ns_per_byte: f64,
    /// By how much the faster of the two is faster than the other, in percent.
    pub error_percent: Option<f64>,
    /// The cause.
    pub limited_by: LimitedBy,
    /// Where it is, and why.
    pub limited_detail: LimitedDetail,
    /// How often a copy that was too short was repeated; none where it was long enough.
    pub repeated: Option<Repeated>,
    /// The one thing to try.
    pub advice: Advice,
    /// All of it in one paragraph; nothing if the copy failed.
    pub words: String,
    /// The explanation for people, which says if the copy was too short to be explained.
    pub page: String,
    /// Time that was spent besides the copy.
    pub added_ns: u64,
    /// The report of the copy.
    pub report: Report,
}

/// Measures the parts, predicts, copies, compares. `tell` gets a line as each is known. Of a copy that would be refused
/// nothing is measured, and of one that fails nothing is explained.
pub fn explain(case: &Case, mover: Mover<'_>, tell: &dyn Fn(&str)) -> Explained {
    let start = Instant::now();
    explain_in_time(case, mover, &|| start.elapsed(), tell)
}

/// Explains by a clock that counts from the beginning.
fn explain_in_time(case: &Case, mover: Mover<'_>, clock: ExplainClock<'_>, tell: &dyn Fn(&str)) -> Explained {
    let mut ends = CopyEnds::from_case(case);
    let foreseen = refusal::foresee(case, &ends, mover);
    ends.copy_bytes = ends.copy_bytes.or(foreseen.bytes);
    let bench = isolate::Bench::new(case, &ends, mover, clock);
    let measured = measured(&bench, foreseen.is_refused, tell);
    let prediction = law::predict_rounds(&measured, &ends).filter(|_| !is_stopped(case));
    let MeasuredRounds { parts, wrong: mut unmeasured, .. } = measured;
    if let Some(prediction) = &prediction {
        tell(&messages::prediction(prediction));
    }
    // No second of rest: the copy is to find the machine as the slices did.
    if bench.written.get() > 0 {
        ends.wait_discarded(&case.stop);
    }
    if let Some(why) = ends.slow_commit() {
        tell(why);
        unmeasured.push(why.into());
    }
    let (before, read_before) = (clock(), storage_read_bytes());
    let report = copy(case, mover);
    let after = clock();
    let storage = storage_part(read_before, &report);
    bench.until.set(after + ADDED_MAX.saturating_sub(before));
    let seen = law::Seen::from_report(&report, prediction.as_ref());
    let (repeated, account) = repeated(&bench, &report);
    let (limited_by, limited_detail) = law::decide(
        prediction.as_ref(),
        law::is_partial(&parts, &ends),
        &account,
        &law::Seen::from_report(&account, prediction.as_ref()),
    );
    let limited_detail = rounds::repeat::of_copy(limited_detail, &report);
    let limited_detail = ends.without_disk(limited_by, limited_detail, storage);
    let cause = advice::cause(limited_by, &limited_detail, &report);
    let gains = tried(&bench, &parts, cause, &report, tell);
    let advice = match gains {
        Some(gains) => {
            // The advice is about what was found, of which the copy alone may have another account.
            let found = Report { limited_by, limited_detail: limited_detail.clone(), ..report.clone() };
            advice::advise(cause, &case.options, &found, prediction.as_ref(), &gains)
        }
        None => Advice::none(cause),
    };
    let explained = Explained {
        parts,
        unmeasured,
        prediction,
        observed_bytes_per_second: seen.bytes_per_second,
        observed_ns_per_byte: seen.ns_per_byte,
        error_percent: seen.error_percent,
        limited_by,
        limited_detail,
        repeated,
        advice,
        words: String::new(),
        page: String::new(),
        added_ns: (before + clock().saturating_sub(after)).as_nanos() as u64,
        report,
    };
    in_words(explained, case)
}

/// The part of what a copy moved that was read from storage since, where the kernel counts that.
fn storage_part(before: Option<u64>, copy: &Report) -> Option<f64> {
    /// Metadata of both file systems, and pages of the program.
    const OTHERS_BYTES: u64 = 1 << 20;
    let read_bytes = storage_read_bytes()?.saturating_sub(before?).saturating_sub(OTHERS_BYTES);
    Some(read_bytes as f64 / copy.bytes_moved.max(1) as f64)
}

/// A copy that is too short, repeated, and the account of all of it; any other as it is.
fn repeated(bench: &isolate::Bench<'_>, report: &Report) -> (Option<Repeated>, Report) {
    // A copy that was cut short is not explained.
    let repeated = if is_stopped(bench.case) { None } else { rounds::repeat::repeat(bench, report) };
    match repeated {
        Some((repeated, account)) => (Some(repeated), account),
        None => (None, report.clone()),
    }
}

/// Measures the parts, unless the copy would be refused, or has nothing to move.
fn measured(bench: &isolate::Bench<'_>, is_refused: bool, tell: &dyn Fn(&str)) -> MeasuredRounds {
    let why = match bench.ends.bytes() {
        _ if is_refused => "nothing was measured: the copy was expected to be refused",
        Some(0) => "nothing was measured: the copy moves nothing",
        _ => return rounds::all(bench, tell),
    };
    MeasuredRounds { wrong: vec![why.into()], ..MeasuredRounds::default() }
}

/// Tries what might help. `None` for a copy that failed or moves nothing, which needs no advice.
fn tried(
    bench: &isolate::Bench<'_>,
    parts: &[Part],
    cause: advice::Cause,
    report: &Report,
    tell: &dyn Fn(&str),
) -> Option<Vec<trial::Gain>> {
    if report.exit_status != Status::Done as i32 || bench.ends.bytes() == Some(0) {
        return None;
    }
    let is_over = is_stopped(bench.case) || parts.is_empty();
    Some(if is_over { Vec::new() } else { trial::gains(bench, parts, cause, report, tell) })
}

/// Adds the words; a copy that failed has none, its problem says all there is to say.
fn in_words(explained: Explained, case: &Case) -> Explained {
    let (words, page) = if explained.report.exit_status == Status::Done as i32 {
        (messages::paragraph(&explained, case), messages::page(&explained, case))
    } else {
        (String::new(), String::new())
    };
    Explained { words, page, ..explained }
}

fn is_stopped(case: &Case) -> bool {
    case.stop.load(Ordering::Relaxed)
}

/// What was moved, over the time of all of it.
pub(crate) fn moved_bytes_per_s(report: &Report) -> f64 {
    report.bytes_moved as f64 * 1e9 / report.elapsed_ns.max(1) as f64
}

fn copy(case: &Case, mover: Mover<'_>) -> Report {
    mover(case.job(), MoveUse::Copy).report
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::sync::{Arc, Mutex};

    use datapump::{Fill, Options, Place};

    /// The clock is simulated: a slice of the sink takes as long as the case says, all else nothing.
    #[test]
    fn no_slice_begins_late_and_what_had_no_time_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        for (what, slice_ms, copy_ms, is_measured) in [
            ("a fast sink", 20, 20, true),
            ("a slow sink", 1_000, 16_000, true),
            ("seconds for each fsync", 8_000, 16_000, false),
            ("a short copy behind slow slices", 3_000, 500, true),
            ("minutes for each fsync", 100_000, 500, false),
        ] {
            let (now, copy, starts) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::new(Vec::new()));
            let clock = || Duration::from_millis(now.load(Ordering::Relaxed));
            let mover = |job: Job, is_for: MoveUse| {
                let is_copy = is_for == MoveUse::Copy;
                let is_slow = is_copy || job.asked().measuring.rehearsal_bytes.is_some();
                let taken = if is_copy { copy_ms } else { slice_ms } * u64::from(is_slow);
                let before = now.fetch_add(taken, Ordering::Relaxed);
                if is_copy {
                    copy.store(copy_ms, Ordering::Relaxed);
                } else if is_slow {
                    starts.lock().expect("no panic").push(before - copy.load(Ordering::Relaxed));
                }
                let (elapsed_ns, bytes_moved) = (taken * 1_000_000, 4 << 20);
                MoveOutcome { report: Report { bytes_moved, elapsed_ns, ..Report::default() }, problem: None }
            };
            let case = Case {
                sources: vec![Place::Null { bytes: Some(4 << 20), fill: Fill::Zero }],
                target: Place::Path(folder.path().join("new")),
                // Nothing is left to try.
                options: Options::default().with(|it| {
                    (it.tuning.lanes, it.tuning.sink_depth) = (Some(256), Some(256));
                }),
                stop: Default::default(),
            };
            let explained = explain_in_time(&case, &mover, &clock, &|_| ());
            let starts = starts.into_inner().expect("no panic");
            assert!(starts.iter().all(|at| *at < 20_000), "{what}: {starts:?}");
            assert!(explained.added_ns < 20_000_000_000 + slice_ms * 1_000_000, "{what}: {explained:?}");
            let named = explained.unmeasured.iter().filter(|why| why.ends_with(": there was no time"));
            let (measured, named) = (explained.parts.len(), named.count());
            assert_eq!((measured, named), if is_measured { (2, 0) } else { (0, 2) }, "{what}: {explained:?}");
            assert_eq!(explained.prediction.is_some(), is_measured, "{what}");
        }
    }

    /// Interrupted while a part was measured, refused, or done in part: nothing is said of it but by the copy.
    #[test]
    fn a_copy_that_is_not_done_is_not_explained() {
        let null = || Place::Null { bytes: Some(1), fill: Fill::Zero };
        for (what, of_parts, of_copy, is_explained) in [
            ("done", Status::Done, Status::Done, true),
            ("interrupted", Status::Interrupted, Status::Interrupted, false),
            ("refused", Status::Usage, Status::Usage, false),
            ("in part", Status::Done, Status::Partial, false),
        ] {
            let stop = Arc::new(AtomicBool::new(false));
            let (sources, target, options) = (vec![null()], null(), Options::default());
            let case = Case { sources, target, options, stop: Arc::clone(&stop) };
            let mover = |job: Job, is_for: MoveUse| {
                stop.store(of_parts == Status::Interrupted && !job.asked().dry_run, Ordering::Relaxed);
                let exit_status = if is_for == MoveUse::Copy { of_copy } else { of_parts } as i32;
                let report = Report { exit_status, bytes_moved: 1, elapsed_ns: 1, ..Report::default() };
                MoveOutcome { report, problem: None }
            };
            let told = std::cell::RefCell::new(Vec::new());
            let explained = explain(&case, &mover, &|line| told.borrow_mut().push(line.to_string()));
            let said = [&explained.words, &explained.advice.words].map(|words| !words.is_empty());
            assert_eq!(said, [is_explained; 2], "{what}: {explained:?}");
            let is_measured = of_parts == Status::Done;
            assert_eq!(!explained.parts.is_empty(), is_measured, "{what}: {explained:?}");
            assert_eq!(!told.borrow().is_empty(), is_measured, "{what}: {told:?}");
        }
    }
}
