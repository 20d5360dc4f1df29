//! Repeats a copy that is too short to tell what limits it, as rehearsals of its whole size, until it is long enough.
//!
//! Slices that moved all of it before it began count as repetitions: they used up what may be written besides the copy.
//! Must not know: what limits a copy, how it is worded.

use std::sync::atomic::Ordering;
use std::time::Duration;

use datapump::{LimitedBy, LimitedDetail, Report, Status, Why};

use crate::advise::explain::ends::End;
use crate::advise::explain::isolate::{Bench, SliceRange};
use crate::advise::explain::part::PartName;

/// Buffers take a noticeable part of a copy that is shorter than this.
const SHORT_NS: u64 = 1_000_000_000;
/// A smaller copy may be in buffers as a whole, for longer.
const LARGE_BYTES: u64 = 256 << 20;
const SHORT_OF_LITTLE_NS: u64 = 3 * SHORT_NS;
/// A little copy is repeated no more often: its time is that of names, not of bytes.
const TIMES_MAX: usize = 64;
const LITTLE_BYTES: u64 = 16 << 20;
/// Removing a smaller file needs no wait for its discards.
const WAITED_BYTES: u64 = 16 << 20;
/// A repetition that takes less than half of the time of a copy of 0.1 s or more is of another source: what that read from a
/// disk is in memory by then, and at another host nothing here takes it out. 24 MiB from a disk of 8 MiB/s took 2 s, and
/// 50 ms again.
const ALIKE_FRACTION: f64 = 0.5;
const ALIKE_FROM_NS: u64 = 100_000_000;
/// With what it takes between two of them.
const TIME_MAX: Duration = Duration::from_secs(5);

/// A copy and its repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    /// How often it was copied, the copy itself included.
    pub times: usize,
    /// Time of all of them.
    pub elapsed_ns: u64,
    /// Why it was not repeated, or not often enough to tell what limits it.
    pub why_not: Option<String>,
}

/// Whether a copy of this size and time is too short to show what limits it.
fn is_short(bytes: u64, elapsed_ns: u64) -> bool {
    elapsed_ns < SHORT_NS || bytes < LARGE_BYTES && elapsed_ns < SHORT_OF_LITTLE_NS
}

/// Whether a move of as many bytes as the copy is a repetition of it.
fn is_alike(moved: &Report, copy: &Report) -> bool {
    let is_as_long = moved.elapsed_ns as f64 >= ALIKE_FRACTION * copy.elapsed_ns as f64;
    moved.bytes_moved == copy.bytes_moved && (is_as_long || copy.elapsed_ns < ALIKE_FROM_NS)
}

/// Repeats a copy that is done and too short; none for any other. Gives the account of all of them.
pub(in crate::advise::explain) fn repeat(bench: &Bench<'_>, copy: &Report) -> Option<(Repeated, Report)> {
    let is_null = (bench.ends.source, bench.ends.sink) == (End::Null, End::Null);
    // A copy with a rate limit has a known cause, and of requests each one counts.
    let is_explained =
        copy.bytes_moved > 0 && (is_null || bench.case.options.tuning.bytes_per_second.is_some());
    let is_done = copy.exit_status == Status::Done as i32;
    if is_explained || !is_done || !is_short(copy.bytes_moved, copy.elapsed_ns) {
        return None;
    }
    let mut reports = vec![copy.clone()];
    let slices = bench.whole_copies.take().into_iter();
    reports.extend(slices.filter(|report| is_alike(report, copy)));
    let why_not = match part(bench, copy.bytes_moved) {
        Ok(name) => again(bench, name, &mut reports),
        Err(why) => Some(why),
    };
    let elapsed_ns = reports.iter().map(|report| report.elapsed_ns).sum();
    Some((Repeated { times: reports.len(), elapsed_ns, why_not }, together(&reports)))
}

/// The part that moves all of the copy into an unnamed temporary file.
fn part(bench: &Bench<'_>, bytes: u64) -> Result<PartName, String> {
    if bytes == 0 {
        return Err("it moved nothing".into());
    }
    match (bench.ends.source, bench.ends.sink) {
        (End::Folder, _) => Err("a folder is not repeated".into()),
        (End::Once | End::Web | End::Missing | End::Empty, _) => {
            Err("its source can be read only once".into())
        }
        (_, End::Once) => Err("its target can be written only once".into()),
        (End::Null, _) => Ok(PartName::Sink),
        (_, End::Null) => Ok(PartName::Source),
        _ => Ok(PartName::Chain),
    }
}

/// Repeats it. Gives why that was not often enough.
fn again(bench: &Bench<'_>, name: PartName, reports: &mut Vec<Report>) -> Option<String> {
    let start = (bench.clock)();
    let no_time = || Some("there was no time to repeat it more often".into());
    let bytes = reports[0].bytes_moved;
    let options = bench.tuning();
    loop {
        let sum = |figure: &dyn Fn(&Report) -> u64| reports.iter().map(figure).sum();
        if !is_short(sum(&|report| report.bytes_moved), sum(&|report| report.elapsed_ns)) {
            return None;
        }
        if bytes < LITTLE_BYTES && reports.len() >= TIMES_MAX {
            return Some("so little moves in no time, however often".into());
        }
        let is_late = !bench.has_time() || (bench.clock)() >= start + TIME_MAX;
        if is_late || bench.case.stop.load(Ordering::Relaxed) {
            return no_time();
        }
        if bench.writes(name) && bytes > bench.slice_max() {
            let more = if reports.len() > 1 { " more often" } else { "" };
            return Some(format!("too much would be written to repeat it{more}"));
        }
        if !bench.ends.has_same_source(bench.case) {
            return Some("its source is another file by now".into());
        }
        if bench.writes(name) && bytes >= WAITED_BYTES {
            bench.ends.wait_discarded(&bench.case.stop);
        }
        let moved = bench.run(name, &options, SliceRange { bytes, begin: 0 });
        if bench.writes(name) {
            bench.written.set(bench.written.get().saturating_add(moved.report.bytes_moved));
        }
        if moved.report.exit_status == Status::Interrupted as i32 {
            return no_time();
        }
        if moved.report.exit_status != Status::Done as i32 {
            let why = moved.problem.as_deref().unwrap_or("nothing was moved");
            return Some(format!("it could not be repeated: {why}"));
        }
        if moved.report.bytes_moved == bytes && !is_alike(&moved.report, &reports[0]) {
            return Some("its source was in memory by then".into());
        }
        reports.push(moved.report);
    }
}

/// One report for all of them: sums, and the verdict that holds for most of their time; on a tie the earliest.
fn together(reports: &[Report]) -> Report {
    let verdict = |report: &Report| -> (LimitedBy, Why) { (report.limited_by, report.limited_detail.why) };
    let time_ns = |of: (LimitedBy, Why)| -> u64 {
        reports.iter().filter(|report| verdict(report) == of).map(|report| report.elapsed_ns).sum()
    };
    let mut most = &reports[0];
    for report in &reports[1..] {
        if time_ns(verdict(report)) > time_ns(verdict(most)) {
            most = report;
        }
    }
    let agreeing = || reports.iter().filter(|report| verdict(report) == verdict(most));
    let mut limited_detail = most.limited_detail.clone();
    limited_detail.waited_ns = agreeing().map(|report| report.limited_detail.waited_ns).sum();
    limited_detail.of_ns = agreeing().map(|report| report.limited_detail.of_ns).sum();
    Report {
        bytes_moved: reports.iter().map(|report| report.bytes_moved).sum(),
        elapsed_ns: reports.iter().map(|report| report.elapsed_ns).sum(),
        limited_by: most.limited_by,
        limited_detail,
        ..reports[0].clone()
    }
}

/// The account of all copies, for the one that is reported: the same share of its time, which goes with all else
/// that its report has.
pub(in crate::advise::explain) fn of_copy(detail: LimitedDetail, copy: &Report) -> LimitedDetail {
    let of_ns = copy.limited_detail.of_ns;
    let waited = u128::from(detail.waited_ns) * u128::from(of_ns) / u128::from(detail.of_ns.max(1));
    LimitedDetail { waited_ns: waited as u64, of_ns, ..detail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::explain::ends::CopyEnds;
    use crate::advise::explain::{Case, MoveOutcome};
    use datapump::{Fill, Options, Place};

    const MIB: u64 = 1 << 20;

    fn report(limited_by: LimitedBy, mebibytes: u64, ms: u64) -> Report {
        let (bytes_moved, elapsed_ns) = (mebibytes * MIB, ms * 1_000_000);
        Report { bytes_moved, elapsed_ns, limited_by, ..Report::default() }
    }

    #[test]
    fn a_copy_is_repeated_until_it_is_long_enough() {
        let file = tempfile::NamedTempFile::new().expect("room");
        std::fs::write(file.path(), "x").expect("room");
        let case = Case {
            sources: vec![Place::Path(file.path().into())],
            target: Place::Null { bytes: None, fill: Fill::Zero },
            options: Options::default(),
            stop: Default::default(),
        };
        for (what, source, mebibytes, ms, times, why) in [
            ("long enough", End::File(1), 1024, 1000, None, ""),
            ("long, of little", End::File(1), 1, 3000, None, ""),
            ("short", End::File(1), 300, 540, Some(2), ""),
            ("very short", End::File(1), 64, 34, Some(30), ""),
            ("of nothing", End::File(1), 0, 34, Some(1), "nothing"),
            ("an empty file", End::Empty, 0, 1, Some(1), "nothing"),
            ("much in no time", End::File(1), 2048, 1, Some(3), "too much"),
            ("a folder", End::Folder, 300, 540, Some(1), "folder"),
            ("a pipe", End::Once, 300, 540, Some(1), "once"),
            ("of a KiB", End::File(1), 1, 1, Some(TIMES_MAX), "however often"),
        ] {
            let ends = CopyEnds { source, sink: End::File(0), ..CopyEnds::for_tests() };
            let mover = |_, _| MoveOutcome { report: report(LimitedBy::Sink, mebibytes, ms), problem: None };
            let bench = Bench::new(&case, &ends, &mover, &|| Duration::ZERO);
            let got = repeat(&bench, &report(LimitedBy::Sink, mebibytes, ms)).map(|(repeated, _)| repeated);
            assert_eq!(got.as_ref().map(|it| it.times), times, "{what}: {got:?}");
            let said = got.and_then(|it| it.why_not).unwrap_or_default();
            assert!(said.contains(why) && said.is_empty() == why.is_empty(), "{what}: {said}");
        }
    }

    /// 200 MiB out of the page cache in 0.012 s, which writes nothing: 64 times are too few.
    #[test]
    fn only_a_little_copy_has_a_most_number_of_times() {
        let null = |bytes| Place::Null { bytes, fill: Fill::Zero };
        let (sources, target) = (vec![null(Some(1))], null(None));
        let case = Case { sources, target, options: Options::default(), stop: Default::default() };
        let ends = CopyEnds { source: End::Remote, sink: End::Null, ..CopyEnds::for_tests() };
        for (mebibytes, ms, times) in [(200, 12, 84), (16, 10, 100), (15, 10, TIMES_MAX)] {
            let mover = |_, _| MoveOutcome { report: report(LimitedBy::Cpu, mebibytes, ms), problem: None };
            let bench = Bench::new(&case, &ends, &mover, &|| Duration::ZERO);
            let (repeated, _) = repeat(&bench, &report(LimitedBy::Cpu, mebibytes, ms)).expect("it is short");
            assert_eq!(repeated.times, times, "{mebibytes} MiB: {repeated:?}");
        }
    }

    /// 200 MiB in 0.09 s: what may be written besides the copy is used up by slices of all of it, which are copies as well.
    #[test]
    fn slices_of_the_whole_copy_are_repetitions_of_it() {
        let case = Case {
            sources: vec![Place::Null { bytes: Some(200 * MIB), fill: Fill::Zero }],
            target: Place::Stream,
            options: Options::default(),
            stop: Default::default(),
        };
        for (what, copied, times, why) in [
            ("the same", 200, 12, None),
            ("another size", 199, 1, Some("too much would be written to repeat it")),
        ] {
            let copy_bytes = Some(200 * MIB);
            let ends =
                CopyEnds { source: End::Null, sink: End::File(0), copy_bytes, ..CopyEnds::for_tests() };
            let mover = |_, _| MoveOutcome { report: report(LimitedBy::Sink, 200, 90), problem: None };
            let bench = Bench::new(&case, &ends, &mover, &|| Duration::ZERO);
            let range = SliceRange { bytes: 200 * MIB, begin: 0 };
            for _ in 0..11 {
                bench.slice(PartName::Sink, &case.options, range).expect("it is done");
                // A part of the copy is none of it.
                bench.slice(PartName::Network, &case.options, range).expect("it is done");
            }
            bench.written.set(crate::advise::explain::isolate::WRITES_MAX);
            let (repeated, account) =
                repeat(&bench, &report(LimitedBy::Sink, copied, 90)).expect("it is short");
            assert_eq!((repeated.times, repeated.why_not.as_deref()), (times, why), "{what}");
            assert_eq!(account.elapsed_ns, 90_000_000 * times as u64, "{what}");
        }
    }

    /// A slice that is cut off has no problem.
    #[test]
    fn a_repetition_that_is_stopped_had_no_time() {
        let case = Case {
            sources: vec![Place::Null { bytes: Some(1), fill: Fill::Zero }],
            target: Place::Stream,
            options: Options::default(),
            stop: Default::default(),
        };
        let ends = CopyEnds { source: End::Null, sink: End::File(0), ..CopyEnds::for_tests() };
        let short = report(LimitedBy::Sink, 64, 34);
        for (status, problem, why) in [
            (Status::Interrupted, None, "there was no time to repeat it more often"),
            (Status::Failed, Some("no room"), "it could not be repeated: no room"),
            (Status::Failed, None, "it could not be repeated: nothing was moved"),
        ] {
            let mover = |_, _| MoveOutcome {
                report: Report { exit_status: status as i32, ..Report::default() },
                problem: problem.map(String::from),
            };
            let bench = Bench::new(&case, &ends, &mover, &|| Duration::ZERO);
            let (repeated, _) = repeat(&bench, &short).expect("it is short");
            assert_eq!(repeated.why_not.as_deref(), Some(why));
        }
    }

    /// A pipe in the place of the source would lose what is read from it.
    #[test]
    fn another_source_is_not_repeated() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("source");
        std::fs::write(&source, b"12345").expect("room");
        let case = Case {
            sources: vec![Place::Path(source.clone())],
            target: Place::Null { bytes: None, fill: Fill::Zero },
            options: Options::default(),
            stop: Default::default(),
        };
        let ends = CopyEnds::from_case(&case);
        let mover = |_, _| {
            assert!(std::fs::remove_file(&source).is_ok(), "it was repeated once");
            let mode = rustix::fs::Mode::RUSR;
            rustix::fs::mknodat(rustix::fs::CWD, &source, rustix::fs::FileType::Fifo, mode, 0).expect("room");
            MoveOutcome { report: report(LimitedBy::Source, 64, 34), problem: None }
        };
        let bench = Bench::new(&case, &ends, &mover, &|| Duration::ZERO);
        let (repeated, _) = repeat(&bench, &report(LimitedBy::Source, 64, 34)).expect("it is short");
        let why = "its source is another file by now".to_string();
        assert_eq!((repeated.times, repeated.why_not), (2, Some(why)));
    }

    /// What a copy read from a slow disk is in memory by then, and so quick that twenty times take less than the copy did.
    #[test]
    fn what_is_in_memory_by_then_is_no_repetition() {
        let case = Case {
            sources: vec![Place::Null { bytes: Some(1), fill: Fill::Zero }],
            target: Place::Null { bytes: None, fill: Fill::Zero },
            options: Options::default(),
            stop: Default::default(),
        };
        let ends = CopyEnds { source: End::Remote, sink: End::File(0), ..CopyEnds::for_tests() };
        for (first_ms, again_ms, times, why) in [
            (2000, 50, 1, Some("its source was in memory by then")),
            (2000, 1100, 2, None),
            (90, 40, 24, None),
        ] {
            let mover = |_, _| MoveOutcome { report: report(LimitedBy::Cpu, 24, again_ms), problem: None };
            let bench = Bench::new(&case, &ends, &mover, &|| Duration::ZERO);
            let (repeated, account) =
                repeat(&bench, &report(LimitedBy::Source, 24, first_ms)).expect("it is short");
            assert_eq!((repeated.times, repeated.why_not.as_deref()), (times, why), "{first_ms}, {again_ms}");
            let most = if first_ms == 90 { LimitedBy::Cpu } else { LimitedBy::Source };
            assert_eq!(account.limited_by, most, "{first_ms}, {again_ms}");
        }
    }

    #[test]
    fn most_of_the_time_decides() {
        use LimitedBy::{Cpu, Sink, Source};
        for (verdicts, expected) in [
            (&[Source][..], Source),
            (&[Source, Sink], Source),
            (&[Source, Sink, Sink], Sink),
            (&[Cpu, Source, Sink, Cpu, Sink], Cpu),
        ] {
            let reports: Vec<Report> = verdicts.iter().map(|it| report(*it, 64, 40)).collect();
            let all = together(&reports);
            assert_eq!(all.limited_by, expected, "{verdicts:?}");
            assert_eq!(all.elapsed_ns, 40_000_000 * verdicts.len() as u64);
        }
        let mixed = [report(Source, 64, 90), report(Cpu, 64, 40), report(Cpu, 64, 40)];
        assert_eq!(together(&mixed).limited_by, Source);
    }

    /// 6.3 s of waits do not fit beside 0.1 s of one copy.
    #[test]
    fn the_report_of_one_copy_keeps_to_its_time() {
        let of = |waited_ns, of_ns| {
            let limited_detail = LimitedDetail { waited_ns, of_ns, ..LimitedDetail::default() };
            Report { limited_detail, ..report(LimitedBy::Sink, 64, 100) }
        };
        for (reports, waited_ns) in [(vec![of(70, 100)], 70), (vec![of(70, 100), of(30, 300)], 25)] {
            let detail = of_copy(together(&reports).limited_detail, &reports[0]);
            assert_eq!((detail.waited_ns, detail.of_ns), (waited_ns, 100));
        }
        assert_eq!(of_copy(of(7, 9).limited_detail, &of(0, 0)).waited_ns, 0);
    }
}
