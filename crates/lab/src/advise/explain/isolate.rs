//! How each part of a copy is run alone for a slice, and ends that share something as one.
//!
//! Must not know: how often a part is run, what the parts allow together, what the copy did.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::Duration;

use datapump::{
    Class, DurabilityOptions, Fill, Job, MeasuringOptions, Options, Place, Report, Status, TuningOptions,
};

use super::ends::{CopyEnds, End};
use super::part::{Part, PartName, Slice};
use super::timer::limited;
use super::{Case, ExplainClock, MoveOutcome, MoveUse, Mover};
use crate::session::quiet::nearest_there;
use datapump_files::commit::REHEARSAL_FREE_PARTS;
use datapump_files::devices::control_groups::ControlGroups;
use datapump_files::disk::kind;

/// The bare pump needs no device to come to speed.
const PUMP_TIME: Duration = Duration::from_millis(60);
/// A slice that takes longer is cut off: that of a device that became much slower meanwhile.
const SLICE_TIME_MAX: Duration = Duration::from_secs(6);
/// Why a part has no slice.
pub(super) const NO_TIME: &str = "there was no time";
/// Nothing moves faster than this for so long: 64 GB/s.
const NULL_BYTES: u64 = 160 << 30;
/// Slices begin at a multiple of this: as direct I/O needs it, and any request size divides it.
const BEGIN_STEP: u64 = 64 << 20;
/// Bytes written in all besides the copy: six slices of a copy of 400 MiB; one in twenty of the free bytes at most, in memory
/// of each slice.
pub(super) const WRITES_MAX: u64 = 4 << 30;
/// Bytes written in all to a host that does not report its free bytes, as an older version: it bounds each slice alone.
const WRITES_MAX_UNKNOWN: u64 = 256 << 20;

/// What of the user's options is part of how fast a part is.
fn tuning(options: &Options) -> Options {
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
        // Also whether blocks are requested before they have slots.
        network: options.network.clone(),
        ..Options::default()
    }
}

/// Runs parts of a copy, and counts what they write.
pub(super) struct Bench<'case> {
    pub(super) case: &'case Case,
    pub(super) ends: &'case CopyEnds,
    pub(super) mover: Mover<'case>,
    /// Bytes that parts wrote so far.
    pub(super) written: Cell<u64>,
    /// Free bytes of the target's file system on another host, as the last slice there said.
    remote_free_bytes: Cell<Option<u64>>,
    pub(super) clock: ExplainClock<'case>,
    /// From this time on no slice begins.
    pub(super) until: Cell<Duration>,
    /// Reports of slices that did what the copy does: repetitions of it.
    pub(super) whole_copies: RefCell<Vec<Report>>,
}

/// Which bytes a slice moves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SliceRange {
    pub(super) bytes: u64,
    /// From here on, of a source on this host.
    pub(super) begin: u64,
}

impl<'case> Bench<'case> {
    pub(super) fn new(
        case: &'case Case,
        ends: &'case CopyEnds,
        mover: Mover<'case>,
        clock: ExplainClock<'case>,
    ) -> Bench<'case> {
        let (written, remote_free_bytes, until) = (Cell::new(0), Cell::new(None), Cell::new(Duration::MAX));
        let whole_copies = RefCell::default();
        Bench { case, ends, mover, written, remote_free_bytes, clock, until, whole_copies }
    }

    /// The options of each slice. A source alone goes to null, and is read as far as the copy reads it.
    pub(super) fn tuning(&self) -> Options {
        tuning(&self.case.options).with(|it| it.tuning.ignore_holes = self.ends.reads_holes)
    }

    /// Whether there is time for one more slice.
    pub(super) fn has_time(&self) -> bool {
        (self.clock)() < self.until.get()
    }

    /// Whether the copy has this part, given those that are known by now.
    pub(super) fn has(&self, name: PartName, before: &[Part]) -> Result<bool, String> {
        let is_one = || before.iter().any(|part| part.on_one_machine);
        let (source, sink) = (self.ends.source, self.ends.sink);
        Ok(match name {
            PartName::Pump => true,
            PartName::Source => self.has_source()?,
            PartName::Network => self.ends.is_remote(),
            PartName::Local if is_one() => false,
            PartName::Local => {
                matches!(
                    (source, sink),
                    (End::File(_), End::Remote) | (End::Remote, End::File(_) | End::Folder)
                )
            }
            PartName::Sink => self.has_sink()?,
            PartName::Together => self.ends.is_shared && matches!(source, End::File(1..)),
            PartName::Chain => match (source, sink) {
                (End::File(1..), End::Remote) => is_one(),
                (End::Remote, End::File(_) | End::Folder) => {
                    is_one() && before.iter().any(|part| part.name == PartName::Source)
                }
                (End::File(1..), End::File(_) | End::Folder) => !self.ends.is_shared,
                _ => false,
            },
            PartName::RateLimit => false,
        })
    }

    fn has_source(&self) -> Result<bool, String> {
        let why = match self.ends.source {
            End::Null => return Ok(false),
            End::File(_) | End::Remote => return Ok(true),
            End::Folder => "it is a folder, or several",
            End::Once => "it can be read only once",
            End::Web => "it is on the web, and the copy alone reads it",
            End::Missing => "it does not exist",
            End::Empty => "it has no size of its own (/proc)",
        };
        Err(alone(PartName::Source, why))
    }

    fn has_sink(&self) -> Result<bool, String> {
        match (self.ends.sink, self.ends.source) {
            (End::Null, _) => Ok(false),
            (_, End::Folder) => Err(alone(PartName::Sink, "a folder is copied into it")),
            (End::Once, _) => Err(alone(PartName::Sink, "it can be written only once")),
            (End::File(_) | End::Folder | End::Remote | End::Web | End::Missing | End::Empty, _) => Ok(true),
        }
    }

    /// Whether the part writes into the target's file system.
    pub(super) fn writes(&self, name: PartName) -> bool {
        match name {
            PartName::Sink | PartName::Together | PartName::Chain => true,
            PartName::Local => !self.ends.is_push(),
            PartName::Pump | PartName::Source | PartName::Network | PartName::RateLimit => false,
        }
    }

    /// Bytes that may still be written besides the copy.
    pub(super) fn may_write(&self) -> u64 {
        let most = match &self.case.target {
            // Memory does not wear, and is free again behind each slice.
            Place::Path(path) if is_in_memory(path) => u64::MAX,
            Place::Path(path) => share(free_bytes(path)),
            Place::Remote(_) => self.remote_free_bytes.get().map_or(WRITES_MAX_UNKNOWN, share),
            _ => u64::MAX,
        };
        WRITES_MAX.min(most).saturating_sub(self.written.get())
    }

    /// Bytes that one slice may write.
    pub(super) fn slice_max(&self) -> u64 {
        let most = match &self.case.target {
            Place::Path(path) => share(free_bytes(path)),
            _ => u64::MAX,
        };
        most.min(self.may_write())
    }

    /// Runs one slice of a part; `None` where there is no time for it. A target without room for it gets half of it, as often
    /// as need be.
    ///
    /// Errors: it failed, and why.
    pub(super) fn slice(
        &self,
        name: PartName,
        options: &Options,
        range: SliceRange,
    ) -> Result<Option<Slice>, String> {
        if !self.has_time() {
            return Ok(None);
        }
        if !self.ends.has_same_source(self.case) {
            return Err(alone(name, "the source is another file by now"));
        }
        let moved = self.run(name, options, range);
        let slice = Slice::from_report(&moved.report);
        if self.writes(name) {
            self.written.set(self.written.get().saturating_add(slice.bytes));
        }
        if moved.report.problems.contains_key(Class::NoSpace.name()) && range.bytes > 1 {
            return self.slice(name, options, SliceRange { bytes: range.bytes / 2, ..range });
        }
        measured(name, &moved)?;
        if self.is_whole_copy(name, &moved.report) {
            self.whole_copies.borrow_mut().push(moved.report);
        }
        Ok(Some(slice))
    }

    /// Whether a slice did what the copy does. One that was cut off at its time did not.
    fn is_whole_copy(&self, name: PartName, report: &Report) -> bool {
        let is_done = report.exit_status == Status::Done as i32;
        is_done && Some(report.bytes_moved) == self.ends.bytes() && self.ends.is_whole(name)
    }

    /// The slice's move, with its report.
    pub(super) fn run(&self, name: PartName, options: &Options, range: SliceRange) -> MoveOutcome {
        let SliceRange { bytes, begin } = range;
        let (source, target) = (&self.case.sources[0], &self.case.target);
        let rehearsed = |it: &mut Options| {
            it.measuring.rehearsal_bytes = Some(bytes);
            it.measuring.rehearsal_begin = begin / BEGIN_STEP * BEGIN_STEP;
        };
        let remote_null = |it: &mut Options| it.measuring.far_null_bytes = Some(bytes);
        let plain = options.clone();
        let (ends, options) = match name {
            PartName::Pump | PartName::RateLimit => ((null(NULL_BYTES), nowhere()), plain),
            PartName::Source => ((source.clone(), nowhere()), plain.with(rehearsed)),
            PartName::Network if self.ends.is_push() => {
                ((null(bytes), target.clone()), plain.with(remote_null))
            }
            PartName::Network => ((source.clone(), nowhere()), plain.with(remote_null)),
            PartName::Local => ((source.clone(), target.clone()), plain.with(rehearsed).with(remote_null)),
            PartName::Sink => {
                let rehearsed = |it: &mut Options| it.measuring.rehearsal_bytes = Some(bytes);
                ((null(bytes), target.clone()), plain.with(rehearsed))
            }
            PartName::Together | PartName::Chain => ((source.clone(), target.clone()), plain.with(rehearsed)),
        };
        let time = if name == PartName::Pump { PUMP_TIME } else { SLICE_TIME_MAX };
        let moved = limited(time, &self.case.stop, |stop| {
            let job = Job::copy(vec![ends.0], ends.1).options(options).stop(stop);
            (self.mover)(job, MoveUse::Part)
        });
        // A part that goes to null there says nothing of the target.
        let free_bytes = moved.report.rehearsal_free_bytes.filter(|_| self.writes(name));
        self.remote_free_bytes.set(free_bytes.or(self.remote_free_bytes.get()));
        moved
    }
}

fn share(free_bytes: u64) -> u64 {
    free_bytes / REHEARSAL_FREE_PARTS
}

/// A part that failed says why; one that was stopped at its limit did what it should.
fn measured(name: PartName, moved: &MoveOutcome) -> Result<(), String> {
    let is_done = [Status::Done as i32, Status::Interrupted as i32].contains(&moved.report.exit_status);
    if is_done && moved.report.bytes_moved > 0 {
        Ok(())
    } else {
        Err(alone(name, moved.problem.as_deref().unwrap_or("nothing was moved")))
    }
}

/// A part that could not be measured, and why.
pub(super) fn alone(name: PartName, why: &str) -> String {
    format!("{} could not be measured{}: {why}", name.words(), name.alone_words())
}

fn null(bytes: u64) -> Place {
    Place::Null { bytes: Some(bytes), fill: Fill::Noise }
}

fn nowhere() -> Place {
    Place::Null { bytes: None, fill: Fill::Noise }
}

fn is_in_memory(path: &Path) -> bool {
    let magic = rustix::fs::statfs(nearest_there(path)).map(|room| room.f_type as u64);
    magic.is_ok_and(kind::is_in_memory)
}

/// Free bytes of the file system that a path is to be on. Files in memory count for the limit of the control group, whose
/// processes are killed beyond it.
fn free_bytes(path: &Path) -> u64 {
    let room = rustix::fs::statvfs(nearest_there(path));
    let free = room.map_or(0, |room| room.f_bavail.saturating_mul(room.f_frsize));
    let limit = is_in_memory(path).then(|| ControlGroups::of_this_process().memory_bytes());
    free.min(limit.flatten().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump::Choice;

    #[test]
    fn a_slice_requests_as_its_copy_does() {
        for read_ahead in [Choice::Auto, Choice::Never] {
            let asked = Options::default().with(|it| {
                (it.network.read_ahead, it.tuning.source_depth) = (read_ahead, Some(1));
            });
            let options = tuning(&asked);
            assert_eq!((options.network.read_ahead, options.tuning.source_depth), (read_ahead, Some(1)));
        }
    }
}
