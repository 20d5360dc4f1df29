//! `--tune`: request size, depths, lanes or connections for the user's own ends, found by a short search.
//!
//! The depth that hides the latency is computed; from there points are compared by rehearsals of the
//! copy's first bytes, which leave nothing behind. What was found is remembered for the machine, the two ends and
//! the memory allowed. Must not know: command lines, how a host is reached, how bytes are moved.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use datapump::units::bytes_words;
use datapump::{
    ComparisonOptions, Defaults, DurabilityOptions, Job, MeasuringOptions, Options, Place, Reads, Report,
    Status, Update,
};

mod memory;
mod point;
mod search;
mod tuned;

pub use memory::state_folder;
pub use point::{Bounds, Point};
pub use search::Tried;
pub use tuned::Tuned;

use crate::advise::explain::{Case, MoveOutcome, MoveUse, Mover, moved_bytes_per_s};
use crate::probe::host;
use memory::{Memory, Remembered};
use search::{GAIN_MIN, compare, depth_needed, search};

/// The search ends soon after this, and all of it after that.
const TIME: Duration = Duration::from_secs(16);
const END_TIME: Duration = Duration::from_secs(20);
/// One rehearsal: long beside its beginning and its sync.
const REHEARSAL: Duration = Duration::from_millis(250);
const FIRST_BYTES: u64 = 8 << 20;
/// What one rehearsal writes at most, of what rehearsals may.
const PARTS: u64 = 8;
/// Memory of all slots unless told.
const MEMORY_BYTES: u64 = 256 << 20;
const LANES_MAX: u32 = 8;
/// Where an end has no name that stays, several sources have none together, or the user has no folder for it.
const NOT_REMEMBERED: &str = "what is found is not remembered: that takes one source and a target with a device or host \
                              of its own, and a folder for it (PUMP_STATE_DIR, XDG_STATE_HOME or HOME)";
const INTERRUPTED: &str = "the search was interrupted, and nothing is chosen";

/// The options of a search.
#[derive(Clone, Debug, Default)]
pub struct TuneWish {
    /// Most memory of all slots.
    pub memory_bytes: Option<u64>,
    /// Search anew, whatever is remembered.
    pub again: bool,
}

/// Finds what to use for a copy. `tell` gets a line for each thing that is known.
///
/// Errors: why it cannot be found; the copy can be made as it is.
pub fn tune(case: &Case, wish: &TuneWish, mover: Mover<'_>, tell: &dyn Fn(&str)) -> Result<Tuned, String> {
    let memory_bytes = wish.memory_bytes.unwrap_or(MEMORY_BYTES);
    let (memory, found) = recalled(case, wish, memory_bytes, tell);
    let mut bench = TuneBench::new(case, mover);
    if let Some(found) = found {
        bench.check(&found.point)?;
        let time = datapump::shown(found.time.as_bytes());
        tell(&format!("tuned before, on {time}: {}", found.point.words()));
        return Ok(found.tuned());
    }
    let lanes = if bench.is_remote { LANES_MAX } else { LANES_MAX.min(2 * host::cpus()) };
    let bounds = Bounds { memory_bytes, lanes };
    let first = bench.rehearse(&bench.first_options(bounds), FIRST_BYTES)?;
    let start = Point::from_report(&first).within(bounds);
    bench.size(&first);
    let hint = bench.depth_hint(start, bounds);
    tell(&format!("tuning from {} in {} of memory", start.words(), bytes_words(memory_bytes)));
    let tried = search(start, hint, bounds, &mut |point, bytes| bench.speed(point, bytes, TIME));
    tried.iter().for_each(|tried| tell(&tried_message(tried)));
    // What a search that was cut short had not tried may be the best.
    if case.stop.load(Ordering::Relaxed) {
        return Err(INTERRUPTED.into());
    }
    let tuned = bench.tuned(start, tried);
    tell(&summary(&tuned));
    match memory {
        Some(memory) => memory.keep(&Remembered::from_tuned(&tuned)).unwrap_or_else(|why| tell(&why)),
        None => tell(NOT_REMEMBERED),
    }
    Ok(tuned)
}

/// Where it is remembered, if that can be, and what was found before, if that is wanted.
fn recalled(
    case: &Case,
    wish: &TuneWish,
    memory_bytes: u64,
    tell: &dyn Fn(&str),
) -> (Option<Memory>, Option<Remembered>) {
    let Some(memory) = Memory::for_case(case, memory_bytes) else { return (None, None) };
    if wish.again {
        return (Some(memory), None);
    }
    match memory.recall(tell) {
        Ok(found) => (Some(memory), found),
        Err(why) => {
            tell(&why);
            (None, None)
        }
    }
}

fn tried_message(tried: &Tried) -> String {
    let taken = if tried.is_taken { "taken" } else { "not taken" };
    format!("tried {}: {:.2} times as fast, {taken}", tried.point.words(), tried.times)
}

fn summary(tuned: &Tuned) -> String {
    let seconds = tuned.spent_ns as f64 / 1e9;
    let gain = match tuned.gain {
        _ if tuned.chosen == tuned.start => "nothing that was tried is faster".into(),
        Some(gain) => format!("{gain:.2} times as fast"),
        None => "no time to compare it with the start".into(),
    };
    format!("chosen in {seconds:.1} s: {} ({gain}): {}", tuned.chosen.words(), tuned.chosen.flags())
}

/// Rehearses a copy.
struct TuneBench<'case> {
    case: &'case Case,
    mover: Mover<'case>,
    start: Instant,
    bytes: u64,
    written_bytes: u64,
    is_remote: bool,
}

impl<'case> TuneBench<'case> {
    fn new(case: &'case Case, mover: Mover<'case>) -> TuneBench<'case> {
        let is_remote =
            case.sources.iter().chain([&case.target]).any(|place| matches!(place, Place::Remote(_)));
        TuneBench { case, mover, start: Instant::now(), bytes: FIRST_BYTES, written_bytes: 0, is_remote }
    }

    /// The program's own choice, or as much of it as there is memory for.
    fn first_options(&self, bounds: Bounds) -> Options {
        let (options, usual) = (&self.case.options, usual(self.is_remote));
        let point = Point {
            request_bytes: options.tuning.request_bytes.unwrap_or(usual.request_bytes),
            source_depth: options.tuning.source_depth.unwrap_or(usual.source_depth),
            sink_depth: options.tuning.sink_depth.unwrap_or(usual.sink_depth),
            lanes: options.tuning.lanes.unwrap_or(usual.lanes),
        };
        if point.memory_bytes() <= bounds.memory_bytes {
            options.clone()
        } else {
            point.within(bounds).options(options)
        }
    }

    /// A folder, or what is missing, cannot be rehearsed: then nothing that was found before was found for it.
    fn check(&mut self, point: &Point) -> Result<(), String> {
        let options = point.options(&self.case.options);
        // Nothing cuts short what goes to null.
        let is_null = matches!(self.case.target, Place::Null { .. });
        let checked = if is_null {
            self.perform(options.with(|it| it.dry_run = true), 1)
        } else {
            self.perform(options, 1)
        };
        self.judged(checked, 0).map(|_| ())
    }

    /// The best, and how many times as fast as the start it is. Each step was compared with the one before, and the product
    /// of their ratios is one of their noise, too (4.71 where the best was 1.06 times as fast): several steps are compared
    /// with the start once more, and are none if they do not gain.
    fn tuned(&mut self, start: Point, tried: Vec<Tried>) -> Tuned {
        let taken: Vec<&Tried> = tried.iter().filter(|tried| tried.is_taken).collect();
        let best = taken.last().map_or(start, |tried| tried.point);
        let gain = match &taken[..] {
            [] => Some(1.0),
            [one] => Some(one.times),
            _ => compare(&start, &best, &mut |point, bytes| self.speed(point, bytes, END_TIME)),
        };
        let gains = gain.is_none_or(|gain| gain > GAIN_MIN);
        let (chosen, gain) = if gains { (best, gain) } else { (start, Some(1.0)) };
        Tuned {
            chosen,
            start,
            gain,
            spent_ns: self.start.elapsed().as_nanos() as u64,
            written_bytes: self.written_bytes,
            remembered: None,
            tried,
        }
    }

    /// The first bytes of the copy, as it would be made.
    fn rehearse(&mut self, options: &Options, bytes: u64) -> Result<Report, String> {
        let moved = self.perform(options.clone(), bytes);
        self.judged(moved, 1)
    }

    /// A rehearsal that moved as many bytes as it should at least.
    fn judged(&self, moved: MoveOutcome, least_bytes: u64) -> Result<Report, String> {
        let MoveOutcome { report, problem } = moved;
        if report.exit_status == Status::Done as i32 && report.bytes_moved >= least_bytes {
            Ok(report)
        } else if self.case.stop.load(Ordering::Relaxed) {
            Err(INTERRUPTED.into())
        } else {
            Err(format!("cannot tune: {}", problem.as_deref().unwrap_or("nothing was moved")))
        }
    }

    fn perform(&mut self, options: Options, bytes: u64) -> MoveOutcome {
        let is_null = matches!(self.case.target, Place::Null { .. });
        let rehearsal = Options {
            measuring: MeasuringOptions { rehearsal_bytes: (!is_null).then_some(bytes), ..options.measuring },
            durability: DurabilityOptions {
                no_resume: true,
                inplace: false,
                verify: false,
                ..options.durability
            },
            comparison: ComparisonOptions { update: Update::All, ..options.comparison },
            ..options
        };
        // Null gives as much as it is asked for.
        let cut = |place: &Place| match place {
            Place::Null { fill, .. } => Place::Null { bytes: Some(bytes), fill: *fill },
            place => place.clone(),
        };
        let sources = self.case.sources.iter().map(cut).collect();
        let job =
            Job::copy(sources, self.case.target.clone()).options(rehearsal).stop(self.case.stop.clone());
        let moved = (self.mover)(job, MoveUse::Part);
        self.written_bytes += moved.report.bytes_moved;
        moved
    }

    /// How many bytes take about the time of a rehearsal.
    fn size(&mut self, first: &Report) {
        let most = Options::REHEARSAL_BYTES_MAX / PARTS;
        let bytes = moved_bytes_per_s(first) * REHEARSAL.as_secs_f64();
        self.bytes = (bytes as u64).clamp(FIRST_BYTES, most);
    }

    fn speed(&mut self, point: &Point, least_bytes: u64, until: Duration) -> Option<f64> {
        if self.start.elapsed() >= until {
            return None;
        }
        let bytes = self.bytes.max(least_bytes).min(Options::REHEARSAL_BYTES_MAX / PARTS);
        let report = self.rehearse(&point.options(&self.case.options), bytes).ok()?;
        Some(moved_bytes_per_s(&report))
    }

    /// The depth that the closed form gives, from the bandwidth at depth 1 and at four times the start's, or what of
    /// that there is memory for.
    fn depth_hint(&mut self, start: Point, bounds: Bounds) -> Option<u32> {
        let at = |depth| Point { source_depth: depth, sink_depth: depth, lanes: 1, ..start }.within(bounds);
        let alone = self.speed(&at(1), 0, TIME)?;
        let full = self.speed(&at(4 * start.source_depth), 0, TIME)?;
        let request = f64::from(start.request_bytes);
        Some(depth_needed(request * 1e9 / alone, request * 1e9 / full).next_power_of_two())
    }
}

/// What the program chooses for a file, on one host or between two.
fn usual(is_remote: bool) -> Point {
    let reads = if is_remote { Reads::RemoteFiles } else { Reads::Files };
    let Defaults { request_bytes, source_depth, sink_depth, lanes, .. } = Options::defaults(reads);
    Point { request_bytes, source_depth, sink_depth, lanes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump::{Fill, TuningOptions};
    use std::sync::atomic::{AtomicU64, Ordering};

    fn case_of(sources: Vec<Place>) -> Case {
        let target = Place::Null { bytes: None, fill: Fill::Zero };
        Case { sources, target, options: Options::default(), stop: Default::default() }
    }

    /// A case with two sources, for which nothing is remembered.
    fn case() -> Case {
        let null = || Place::Null { bytes: None, fill: Fill::Zero };
        case_of(vec![null(), null()])
    }

    fn report_of(options: &Options) -> Report {
        let Options { tuning: TuningOptions { request_bytes, source_depth, sink_depth, lanes, .. }, .. } =
            *options;
        Report {
            bytes_moved: 1 << 20,
            elapsed_ns: 1_000_000,
            request_bytes: request_bytes.unwrap_or(1 << 20),
            source_depth: source_depth.unwrap_or(2),
            sink_depth: sink_depth.unwrap_or(2),
            lanes: lanes.unwrap_or(1),
            ..Report::default()
        }
    }

    /// A trial takes no more memory than what may be chosen.
    #[test]
    fn no_rehearsal_takes_more_memory_than_is_allowed() {
        let most = AtomicU64::new(0);
        let mover = |job: Job, _: MoveUse| {
            let report = report_of(job.asked());
            most.fetch_max(Point::from_report(&report).memory_bytes(), Ordering::Relaxed);
            MoveOutcome { report, problem: None }
        };
        for memory_bytes in [256 << 10, 1 << 20, 4 << 20, 8 << 20, 64 << 20] {
            let wish = TuneWish { memory_bytes: Some(memory_bytes), again: true };
            most.store(0, Ordering::Relaxed);
            tune(&case(), &wish, &mover, &|_| {}).expect("it moves");
            let most = most.load(Ordering::Relaxed);
            assert!(most <= memory_bytes, "{memory_bytes} allowed, {most} taken");
        }
    }

    /// Steps of 1.5 times each, and what is measured between the first and the last of them.
    #[test]
    fn the_gain_is_what_is_measured_between_the_start_and_the_choice() {
        let case = case();
        let start = usual(false);
        let step = |lanes| Tried { point: Point { lanes, ..start }, times: 1.5, is_taken: true };
        for (times, lanes, gain) in
            [(1.06, 4, 1.06), (2.0, 4, 2.0), (1.01, start.lanes, 1.0), (0.8, start.lanes, 1.0)]
        {
            let mover = |job: Job, _: MoveUse| {
                let slow = report_of(job.asked());
                let is_last = slow.lanes == 4;
                let elapsed_ns =
                    if is_last { (slow.elapsed_ns as f64 / times) as u64 } else { slow.elapsed_ns };
                MoveOutcome { report: Report { elapsed_ns, ..slow }, problem: None }
            };
            let tuned = TuneBench::new(&case, &mover).tuned(start, vec![step(2), step(4)]);
            assert_eq!(tuned.chosen.lanes, lanes, "{times}");
            assert!(tuned.gain.is_some_and(|found| (found - gain).abs() < 0.01), "{times}: {:?}", tuned.gain);
        }
        let late = |_: Job, _: MoveUse| MoveOutcome { report: Report::default(), problem: None };
        let tuned = TuneBench::new(&case, &late).tuned(start, vec![step(2), step(4)]);
        assert!(tuned.chosen.lanes == 4 && summary(&tuned).contains("no time to compare"), "{tuned:?}");
    }

    #[test]
    fn what_cannot_be_remembered_is_said() {
        let mover = |job: Job, _: MoveUse| MoveOutcome { report: report_of(job.asked()), problem: None };
        let lines = std::sync::Mutex::new(Vec::new());
        let note = |line: &str| lines.lock().expect("no panic").push(line.to_owned());
        tune(&case(), &TuneWish::default(), &mover, &note).expect("it moves");
        let lines = lines.into_inner().expect("no panic");
        assert_eq!(lines.last().map(String::as_str), Some(NOT_REMEMBERED), "{lines:?}");
    }

    /// Whenever it is stopped: nothing is called chosen.
    #[test]
    fn a_search_that_is_interrupted_chooses_nothing() {
        for after in [1, 2, 6, 11] {
            let (case, runs) = (case(), AtomicU64::new(0));
            let mover = |job: Job, _: MoveUse| {
                let is_cut = runs.fetch_add(1, Ordering::Relaxed) + 1 >= after;
                case.stop.store(is_cut, Ordering::Relaxed);
                let status = if is_cut { Status::Interrupted } else { Status::Done };
                let report = Report { exit_status: status as i32, ..report_of(job.asked()) };
                MoveOutcome { report, problem: None }
            };
            let told = std::sync::Mutex::new(String::new());
            let tell = |line: &str| told.lock().expect("no panic").push_str(line);
            let wish = TuneWish { memory_bytes: None, again: true };
            assert_eq!(tune(&case, &wish, &mover, &tell).err().as_deref(), Some(INTERRUPTED), "{after}");
            let told = told.into_inner().expect("no panic");
            assert!(!told.contains("chosen"), "{after}: {told}");
        }
    }

    /// What was remembered is not for what cannot be rehearsed, whatever it is remembered for.
    #[test]
    fn what_was_found_is_for_what_can_be_rehearsed() {
        let case = case();
        for (status, problem, expected) in [
            (Status::Done, None, None),
            (
                Status::Failed,
                Some("open 'x': it is not there"),
                Some("cannot tune: open 'x': it is not there"),
            ),
            (Status::Usage, Some("'x' is a folder"), Some("cannot tune: 'x' is a folder")),
        ] {
            let mover = |_: Job, _: MoveUse| {
                let report = Report { exit_status: status as i32, ..Report::default() };
                MoveOutcome { report, problem: problem.map(str::to_string) }
            };
            let checked = TuneBench::new(&case, &mover).check(&usual(false));
            assert_eq!(checked.err().as_deref(), expected, "{status:?}");
        }
    }
}
