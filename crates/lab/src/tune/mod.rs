//! `--tune`: request size, depths, lanes or connections for the user's own ends, found by a short search.
//!
//! The depth that hides the latency is computed (SCIENCE, M7); from there points are compared by rehearsals of the
//! copy's first bytes, which leave nothing behind. What was found is remembered for the machine, the two ends and the
//! memory allowed. Must not know: command lines, how a host is reached, how bytes are moved.

use std::time::{Duration, Instant};

use datapump::units::bytes_words;
use datapump::{Options, Place, Report, Status};
use serde::Serialize;

mod memory;
mod point;
mod search;

pub use memory::state_folder;
pub use point::{Bounds, Point};
pub use search::Tried;

use crate::explain::{Case, Move, Mover, moved_bytes_per_s};
use crate::probe::host;
use memory::{Memory, Remembered};
use search::{depth_needed, search};

/// All of it ends soon after this.
const TIME: Duration = Duration::from_secs(16);
/// One rehearsal: long beside its beginning and its sync.
const REHEARSAL: Duration = Duration::from_millis(250);
const FIRST_BYTES: u64 = 8 << 20;
/// What one rehearsal writes at most, of what rehearsals may.
const PARTS: u64 = 8;
/// Memory of all slots unless told.
const MEMORY_BYTES: u64 = 256 << 20;
const LANES_MAX: u32 = 8;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Most memory of all slots.
    pub memory_bytes: Option<u64>,
    /// Search anew, whatever is remembered.
    pub again: bool,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Tuned {
    /// What is to be used.
    pub chosen: Point,
    /// Where the search began: what the program would choose.
    pub start: Point,
    /// What was compared, in order.
    pub tried: Vec<Tried>,
    /// How many times as fast as the start, by the steps that were taken.
    pub gain: f64,
    /// Time of the search.
    pub spent_ns: u64,
    /// Bytes that rehearsals wrote and removed again.
    pub written_bytes: u64,
    /// When it was found, if that was before.
    pub remembered: Option<String>,
}

/// Finds what to use for a copy. `tell` gets a line for each thing that is known.
///
/// Errors: why it cannot be found; the copy can be made as it is.
pub fn tune(case: &Case, wish: &Wish, mover: Mover<'_>, tell: &dyn Fn(&str)) -> Result<Tuned, String> {
    let memory_bytes = wish.memory_bytes.unwrap_or(MEMORY_BYTES);
    let memory = Memory::of(case, memory_bytes);
    if let Some(found) = memory.as_ref().filter(|_| !wish.again).and_then(Memory::recall) {
        tell(&format!("tuned before, on {}: {}", found.time, found.point.words()));
        return Ok(found.tuned());
    }
    let mut bench = Bench::new(case, mover);
    let first = bench.rehearse(&case.options, FIRST_BYTES)?;
    let lanes = if bench.is_far { LANES_MAX } else { LANES_MAX.min(2 * host::cpus()) };
    let bounds = Bounds { memory_bytes, lanes };
    let start = Point::of(&first).within(bounds);
    bench.size(&first);
    let hint = bench.depth_hint(start, bounds);
    tell(&format!("tuning from {} in {} of memory", start.words(), bytes_words(memory_bytes)));
    let tried = search(start, hint, bounds, &mut |point, bytes| bench.speed(point, bytes));
    tried.iter().for_each(|tried| tell(&words(tried)));
    let taken = || tried.iter().filter(|tried| tried.is_taken);
    let tuned = Tuned {
        chosen: taken().next_back().map_or(start, |tried| tried.point),
        start,
        gain: taken().map(|tried| tried.times).product(),
        spent_ns: bench.start.elapsed().as_nanos() as u64,
        written_bytes: bench.written_bytes,
        remembered: None,
        tried,
    };
    tell(&summary(&tuned));
    if let Some(memory) = memory {
        memory.keep(&Remembered::of(&tuned)).unwrap_or_else(|why| tell(&why));
    }
    Ok(tuned)
}

fn words(tried: &Tried) -> String {
    let taken = if tried.is_taken { "taken" } else { "not taken" };
    format!("tried {}: {:.2} times as fast, {taken}", tried.point.words(), tried.times)
}

fn summary(tuned: &Tuned) -> String {
    let seconds = tuned.spent_ns as f64 / 1e9;
    let gain = match tuned.chosen == tuned.start {
        true => "nothing that was tried is faster".into(),
        false => format!("{:.2} times as fast", tuned.gain),
    };
    format!("chosen in {seconds:.1} s: {} ({gain}): {}", tuned.chosen.words(), tuned.chosen.flags())
}

/// Rehearses a copy.
struct Bench<'case> {
    case: &'case Case,
    mover: Mover<'case>,
    start: Instant,
    bytes: u64,
    written_bytes: u64,
    is_far: bool,
}

impl<'case> Bench<'case> {
    fn new(case: &'case Case, mover: Mover<'case>) -> Bench<'case> {
        let is_far = case.sources.iter().chain([&case.target]).any(|place| matches!(place, Place::Remote(_)));
        Bench { case, mover, start: Instant::now(), bytes: FIRST_BYTES, written_bytes: 0, is_far }
    }

    /// The first bytes of the copy, as it would be made.
    fn rehearse(&mut self, options: &Options, bytes: u64) -> Result<Report, String> {
        let is_null = matches!(self.case.target, Place::Null { .. });
        let rehearsal = Options {
            rehearsal_bytes: (!is_null).then_some(bytes),
            no_resume: true,
            inplace: false,
            verify: false,
            update: false,
            ..options.clone()
        };
        // Null gives as much as it is asked for.
        let cut = |place: &Place| match place {
            Place::Null { fill, .. } => Place::Null { bytes: Some(bytes), fill: *fill },
            place => place.clone(),
        };
        let moved = (self.mover)(Move {
            sources: self.case.sources.iter().map(cut).collect(),
            target: self.case.target.clone(),
            options: rehearsal,
            stop: self.case.stop.clone(),
            watch: Default::default(),
            is_real: false,
        });
        self.written_bytes += moved.report.bytes_moved;
        match moved.report.exit_status == Status::Done as i32 && moved.report.bytes_moved > 0 {
            true => Ok(moved.report),
            false => Err(format!("cannot tune: {}", moved.problem.as_deref().unwrap_or("nothing was moved"))),
        }
    }

    /// How many bytes take about the time of a rehearsal.
    fn size(&mut self, first: &Report) {
        let most = Options::REHEARSAL_BYTES_MAX / PARTS;
        let bytes = moved_bytes_per_s(first) * REHEARSAL.as_secs_f64();
        self.bytes = (bytes as u64).clamp(FIRST_BYTES, most);
    }

    fn speed(&mut self, point: &Point, least_bytes: u64) -> Option<f64> {
        if self.start.elapsed() >= TIME {
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
        let alone = self.speed(&at(1), 0)?;
        let full = self.speed(&at(4 * start.source_depth), 0)?;
        let request = f64::from(start.request_bytes);
        Some(depth_needed(request * 1e9 / alone, request * 1e9 / full).next_power_of_two())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::Moved;
    use datapump::Fill;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// What is tried takes no more memory than what may be chosen.
    #[test]
    fn no_rehearsal_takes_more_memory_than_is_allowed() {
        let null = || Place::Null { bytes: None, fill: Fill::Zero };
        let most = AtomicU64::new(0);
        let mover = |wanted: Move| {
            let Options { request_bytes, source_depth, sink_depth, lanes, .. } = wanted.options;
            let report = Report {
                bytes_moved: 1 << 20,
                elapsed_ns: 1_000_000,
                request_bytes: request_bytes.unwrap_or(1 << 20),
                source_depth: source_depth.unwrap_or(2),
                sink_depth: sink_depth.unwrap_or(2),
                lanes: lanes.unwrap_or(1),
                ..Report::default()
            };
            most.fetch_max(Point::of(&report).memory_bytes(), Ordering::Relaxed);
            Moved { report, problem: None }
        };
        // Of two sources nothing is remembered.
        let (sources, target) = (vec![null(), null()], null());
        let case = Case { sources, target, options: Options::default(), stop: Default::default() };
        for memory_bytes in [4 << 20, 8 << 20, 64 << 20] {
            let wish = Wish { memory_bytes: Some(memory_bytes), again: true };
            most.store(0, Ordering::Relaxed);
            tune(&case, &wish, &mover, &|_| {}).expect("it moves");
            let most = most.load(Ordering::Relaxed);
            assert!(most <= memory_bytes, "{memory_bytes} allowed, {most} taken");
        }
    }
}
