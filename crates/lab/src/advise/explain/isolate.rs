//! Each part of a copy alone, and ends that share something as one.
//!
//! Must not know: what the parts allow together, what the copy did.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use datapump::{
    Class, DurabilityOptions, Fill, Job, MeasuringOptions, NetworkOptions, Options, Place, Status,
    TuningOptions,
};

use super::ends::{CopyEnds, End};
use super::part::{Part, PartName};
use super::timer::{Pace, TimerLimit, limited};
use super::{Case, MoveOutcome, MoveUse, Mover, messages};
use crate::session::quiet::nearest_there;

/// How long a part is measured. With five parts and their rests all of it stays below half a minute.
const TIME: Duration = Duration::from_millis(2500);
/// The bare pump needs no device to come to speed.
const PUMP_TIME: Duration = Duration::from_millis(300);
/// The first of two sizes: what the two differ by is free of what it takes to begin and to end.
const FIRST_BYTES: u64 = 16 << 20;
/// The first of a part that is slow, or of a target with little room.
const LITTLE_BYTES: u64 = 1 << 20;
/// Shares of what may be written in all: the sink alone, both ends together; the rest is for trials.
const SINK_SHARE: u64 = 3;
const JOINT_SHARE: u64 = 3;
/// One share is an eighth.
const SHARES: u64 = 8;
/// Nothing moves faster than this for so long: 64 GB/s.
const NULL_BYTES: u64 = 160 << 30;

/// What of the user's options is part of how fast a part is.
pub(super) fn tuning(options: &Options) -> Options {
    Options {
        tuning: TuningOptions {
            request_bytes: options.tuning.request_bytes,
            source_depth: options.tuning.source_depth,
            sink_depth: options.tuning.sink_depth,
            lanes: options.tuning.lanes,
            engine: options.tuning.engine,
            wait: options.tuning.wait,
            direct: options.tuning.direct,
            uncached: options.tuning.uncached,
            reflink: options.tuning.reflink,
            no_reserve: options.tuning.no_reserve,
            ignore_holes: options.tuning.ignore_holes,
            ..TuningOptions::default()
        },
        measuring: MeasuringOptions { dsync: options.measuring.dsync, ..MeasuringOptions::default() },
        durability: DurabilityOptions {
            sync: options.durability.sync,
            no_resume: true,
            ..DurabilityOptions::default()
        },
        network: NetworkOptions {
            unhashed: options.network.unhashed,
            sockets: options.network.sockets.clone(),
            ..NetworkOptions::default()
        },
        ..Options::default()
    }
}

/// How much a part may move.
#[derive(Clone, Copy, Debug)]
struct PartRoom {
    /// At once.
    most: u64,
    /// In all runs that are still to come.
    left: u64,
}

impl PartRoom {
    fn now(&self) -> u64 {
        self.most.min(self.left)
    }
}

/// One part that is run, perhaps several times.
pub(super) struct Bench<'case> {
    pub(super) case: &'case Case,
    pub(super) ends: &'case CopyEnds,
    pub(super) mover: Mover<'case>,
}

/// In this order: whether two hosts are one machine is known when the network was measured.
const ORDER: [PartName; 7] = [
    PartName::Pump,
    PartName::Source,
    PartName::Network,
    PartName::Near,
    PartName::Sink,
    PartName::Together,
    PartName::Chain,
];

/// All parts that there are, and why others could not be measured.
pub(super) fn all(bench: &Bench<'_>, tell: &dyn Fn(&str)) -> (Vec<Part>, Vec<String>) {
    let case = bench.case;
    let options = tuning(&case.options);
    let (mut parts, mut wrong) = (Vec::new(), Vec::new());
    let rate = case.options.tuning.bytes_per_second;
    let is_stopped = || case.stop.load(Ordering::Relaxed);
    for name in ORDER {
        // What was cut short tells nothing.
        match (!is_stopped()).then(|| bench.measure(name, &options, &parts)).filter(|_| !is_stopped()) {
            Some(Ok(part)) => parts.extend(part.inspect(|part| tell(&messages::alone(part)))),
            Some(Err(why)) => {
                tell(&why);
                wrong.push(why);
            }
            None => break,
        }
    }
    parts.extend(rate.map(|rate| Part { bytes_per_second: rate as f64, ..Part::new(PartName::RateLimit) }));
    (parts, wrong)
}

impl Bench<'_> {
    /// One part, after those that are measured by then; none where the copy has none.
    fn measure(&self, name: PartName, options: &Options, before: &[Part]) -> Result<Option<Part>, String> {
        match name {
            PartName::Pump => self.pump(options),
            PartName::Source => self.source(options, TIME),
            PartName::Network => self.network(options, TIME),
            PartName::Near if before.iter().any(|part| part.on_one_machine) => Ok(None),
            PartName::Near => self.near(options),
            PartName::Sink => self.sink(options, TIME),
            PartName::Together => self.together(options),
            PartName::Chain => self.chain(options, before),
            PartName::RateLimit => Ok(None),
        }
    }

    fn run(&self, ends: (Place, Place), options: Options, limit: TimerLimit) -> MoveOutcome {
        self.paced(ends.0, ends.1, options, limit).0
    }

    fn paced(
        &self,
        source: Place,
        target: Place,
        options: Options,
        limit: TimerLimit,
    ) -> (MoveOutcome, Pace) {
        limited(limit, &self.case.stop, |stop, watch| {
            let sources = vec![source];
            let job = Job::copy(sources, target).options(options).stop(stop).watch(watch);
            (self.mover)(job, MoveUse::Part)
        })
    }

    pub(super) fn pump(&self, options: &Options) -> Result<Option<Part>, String> {
        let limit = TimerLimit { time: PUMP_TIME, bytes: u64::MAX };
        let moved = self.run((null(NULL_BYTES), nowhere()), options.clone(), limit);
        measured(PartName::Pump, &moved).map(Some)
    }

    /// Reads for a while.
    pub(super) fn source(&self, options: &Options, time: Duration) -> Result<Option<Part>, String> {
        match self.ends.source {
            End::Null => return Ok(None),
            End::Folder => return Err(alone(PartName::Source, "it is a folder, or several")),
            End::Once => return Err(alone(PartName::Source, "it can be read only once")),
            End::Web => return Err(alone(PartName::Source, "it is on the web, and the copy alone reads it")),
            End::Missing => return Err(alone(PartName::Source, "it does not exist")),
            End::Empty => {
                return Err(alone(PartName::Source, "it is empty, or has no size of its own (/proc)"));
            }
            End::File(_) | End::Far => {}
        }
        let source = self.case.sources[0].clone();
        let limit = TimerLimit { time, bytes: u64::MAX };
        let (moved, pace) = self.paced(source, nowhere(), options.clone(), limit);
        let part = measured(PartName::Source, &moved)?;
        let bytes_per_second = pace.bytes_per_second().unwrap_or(part.bytes_per_second);
        Ok(Some(Part { bytes_per_second, ..part }))
    }

    /// Null at both ends of the network.
    pub(super) fn network(&self, options: &Options, time: Duration) -> Result<Option<Part>, String> {
        let far = match (self.ends.source, self.ends.sink) {
            (End::Far, _) => self.case.sources[0].clone(),
            (_, End::Far) => self.case.target.clone(),
            _ => return Ok(None),
        };
        let room = PartRoom { most: NULL_BYTES, left: u64::MAX };
        self.sized(PartName::Network, time, room, &|bytes| {
            let ends =
                if self.ends.is_push() { (null(bytes), far.clone()) } else { (far.clone(), nowhere()) };
            (ends, options.clone().with(|it| it.measuring.far_null_bytes = Some(bytes)))
        })
        .map(Some)
    }

    /// The end on this host over the network, if it is a file: to null on the other host, or from there.
    fn near(&self, options: &Options) -> Result<Option<Part>, String> {
        let source = &self.case.sources[0];
        match (self.ends.source, self.ends.sink) {
            (End::File(bytes), End::Far) => {
                let options = options.clone().with(|it| it.measuring.far_null_bytes = Some(bytes));
                let limit = TimerLimit { time: TIME, bytes: u64::MAX };
                let (moved, pace) = self.paced(source.clone(), self.case.target.clone(), options, limit);
                let part = measured(PartName::Near, &moved)?;
                let bytes_per_second = pace.bytes_per_second().unwrap_or(part.bytes_per_second);
                Ok(Some(Part { bytes_per_second, ..part }))
            }
            (End::Far, End::File(_) | End::Folder) => {
                let share = self.may_write() / SHARES * JOINT_SHARE;
                let room = PartRoom { most: share, left: share };
                let part = self.sized(PartName::Near, TIME, room, &|bytes| {
                    let (rehearsal_bytes, far_null_bytes) = (Some(bytes), Some(bytes));
                    let options = options.clone().with(|it| {
                        it.measuring.rehearsal_bytes = rehearsal_bytes;
                        it.measuring.far_null_bytes = far_null_bytes;
                    });
                    ((source.clone(), self.case.target.clone()), options)
                })?;
                Ok(Some(part))
            }
            _ => Ok(None),
        }
    }

    /// Writes into files without a name, which go again.
    pub(super) fn sink(&self, options: &Options, time: Duration) -> Result<Option<Part>, String> {
        match (self.ends.sink, self.ends.source) {
            (End::Null, _) => return Ok(None),
            (_, End::Folder) => return Err(alone(PartName::Sink, "a folder is copied into it")),
            (End::Once, _) => return Err(alone(PartName::Sink, "it can be written only once")),
            (End::File(_) | End::Folder | End::Far | End::Web | End::Missing | End::Empty, _) => {}
        }
        let share = self.may_write() / SHARES * SINK_SHARE;
        self.sink_up_to(options, time, share).map(Some)
    }

    /// Writes no more than the share in all, and no more than the copy at once.
    pub(super) fn sink_up_to(&self, options: &Options, time: Duration, share: u64) -> Result<Part, String> {
        let most = share.min(self.ends.bytes().unwrap_or(u64::MAX));
        self.sized(PartName::Sink, time, PartRoom { most, left: share }, &|bytes| {
            let options = options.clone().with(|it| it.measuring.rehearsal_bytes = Some(bytes));
            ((null(bytes), self.case.target.clone()), options)
        })
    }

    /// Source and sink as one chain: the first bytes of the source into a file without a name. Of ends that share a
    /// device or a machine, what each does alone does not tell what both do.
    fn joint(&self, name: PartName, options: &Options) -> Result<Option<Part>, String> {
        let share = self.may_write() / SHARES * JOINT_SHARE;
        let most = share.min(self.ends.bytes().unwrap_or(u64::MAX));
        if most < LITTLE_BYTES.min(self.ends.bytes().unwrap_or(u64::MAX)) {
            return Err(alone(name, "too little free space"));
        }
        self.ends.wait_quiet(&self.case.stop);
        self.sized(name, TIME / 2, PartRoom { most, left: share }, &|bytes| {
            let options = options.clone().with(|it| it.measuring.rehearsal_bytes = Some(bytes));
            ((self.case.sources[0].clone(), self.case.target.clone()), options)
        })
        .map(Some)
    }

    fn together(&self, options: &Options) -> Result<Option<Part>, String> {
        match (self.ends.source, self.ends.is_shared) {
            (End::File(1..), true) => self.joint(PartName::Together, options),
            _ => Ok(None),
        }
    }

    fn chain(&self, options: &Options, before: &[Part]) -> Result<Option<Part>, String> {
        let has = |name| before.iter().any(|part| part.name == name);
        let is_one = || before.iter().any(|part| part.on_one_machine);
        match (self.ends.source, self.ends.sink) {
            (End::File(1..), End::Far) if is_one() => {}
            (End::Far, End::File(_) | End::Folder) if is_one() && has(PartName::Source) => {}
            (End::File(1..), End::File(_) | End::Folder) if self.ends.is_into_memory => {}
            _ => return Ok(None),
        }
        self.joint(PartName::Chain, options)
    }

    /// What may be written besides the copy.
    pub(super) fn may_write(&self) -> u64 {
        let free = match &self.case.target {
            Place::Path(path) => free_bytes(path),
            // The other host refuses more than its own share.
            _ => u64::MAX,
        };
        Options::REHEARSAL_BYTES_MAX.min(free / 20)
    }

    /// Runs a part of so many bytes twice: a short one, and one that takes about the time.
    fn sized(
        &self,
        name: PartName,
        time: Duration,
        mut room: PartRoom,
        part: &dyn Fn(u64) -> ((Place, Place), Options),
    ) -> Result<Part, String> {
        let limit = TimerLimit { time: 4 * time, bytes: u64::MAX };
        let run = |bytes: u64, room: &mut PartRoom| {
            let (ends, options) = part(bytes);
            let moved = self.run(ends, options, limit);
            room.left = room.left.saturating_sub(moved.report.bytes_moved);
            moved
        };
        let little_bytes = LITTLE_BYTES.min(room.now()).max(1);
        let little = run(little_bytes, &mut room);
        let (mut first, mut short, mut short_bytes) = (measured(name, &little)?, little, little_bytes);
        let is_slow = first.bytes_per_second * time.as_secs_f64() < 2.0 * FIRST_BYTES as f64;
        // Without room for a second one that is twice as long it would tell nothing.
        if !is_slow && room.most > FIRST_BYTES && room.left >= 3 * FIRST_BYTES {
            let longer = run(FIRST_BYTES, &mut room);
            if let Ok(part) = measured(name, &longer) {
                (first, short, short_bytes) = (part, longer, FIRST_BYTES);
            }
        }
        let mut bytes = room.now().min((first.bytes_per_second * time.as_secs_f64()) as u64);
        while bytes >= 2 * short_bytes {
            let long = run(bytes, &mut room);
            if long.report.problems.contains_key(Class::NoSpace.name()) {
                bytes = room.now().min(bytes / 2);
                continue;
            }
            let whole = measured(name, &long)?;
            // A source that ended before was moved as a whole.
            let has_ended = long.report.exit_status == Status::Done as i32 && whole.bytes < bytes;
            return Ok(if has_ended { whole } else { Part::between(name, &short.report, &long.report) });
        }
        Ok(first)
    }
}

/// A part that failed says why; one that was stopped at its limit did what it should.
fn measured(name: PartName, moved: &MoveOutcome) -> Result<Part, String> {
    let part = Part::from_report(name, &moved.report);
    let is_done = [Status::Done as i32, Status::Interrupted as i32].contains(&moved.report.exit_status);
    if is_done && part.bytes > 0 {
        Ok(part)
    } else {
        let why = moved.problem.as_deref().unwrap_or("nothing was moved");
        Err(alone(name, why))
    }
}

fn alone(name: PartName, why: &str) -> String {
    format!("{} could not be measured{}: {why}", name.words(), name.alone_words())
}

fn null(bytes: u64) -> Place {
    Place::Null { bytes: Some(bytes), fill: Fill::Noise }
}

fn nowhere() -> Place {
    Place::Null { bytes: None, fill: Fill::Noise }
}

/// Free bytes of the file system that a path is to be on.
fn free_bytes(path: &Path) -> u64 {
    let room = rustix::fs::statvfs(nearest_there(path));
    room.map_or(0, |room| room.f_bavail.saturating_mul(room.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump::Report;

    fn report(bytes_moved: u64, elapsed_ns: u64) -> Report {
        Report { bytes_moved, elapsed_ns, ..Report::default() }
    }

    /// However fast the target is, and however often it is full: all runs together stay within their share.
    #[test]
    fn a_sink_is_measured_within_its_share() {
        use std::sync::atomic::AtomicU64;
        let null = || Place::Null { bytes: None, fill: Fill::Zero };
        let case = Case {
            sources: vec![null()],
            target: null(),
            options: Options::default(),
            stop: Default::default(),
        };
        for (share, full_from) in [(64_u64 << 20, u64::MAX), (768 << 20, u64::MAX), (768 << 20, 100 << 20)] {
            let written = AtomicU64::new(0);
            let mover = |job: Job, _: MoveUse| {
                let asked = job.asked().measuring.rehearsal_bytes.unwrap_or(0);
                let bytes = asked.min(full_from);
                written.fetch_add(bytes, Ordering::Relaxed);
                let full = (bytes < asked).then(|| (Class::NoSpace.name().to_string(), 1));
                let problems = full.into_iter().collect();
                MoveOutcome { report: Report { problems, ..report(bytes, bytes / 10) }, problem: None }
            };
            let ends = CopyEnds::for_tests();
            let bench = Bench { case: &case, ends: &ends, mover: &mover };
            bench.sink_up_to(&case.options, TIME, share).expect("it can be written");
            let written = written.load(Ordering::Relaxed);
            assert!(written <= share && written > share / 2, "{written} of {share}");
        }
    }
}
