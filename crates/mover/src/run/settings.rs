//! Settings of a whole run: what was requested, and what was decided before it began. Nothing of it changes.
//!
//! Must not know: what is done with it.

use std::path::Path;

use datapump_core::Shape;
use datapump_engine::sim::Random;
use datapump_engine::{
    CpuStage, Engine, Slot,
    meter::{Here, Meters},
};

use crate::end::QueuedNulls;
use crate::file::block_hook::BlockHook;
use crate::place::Fill;
use crate::setup::options::{Options, Sync};
use crate::setup::platform::Platform;
use datapump_files::commit::in_order::InOrder;

/// The settings of a run.
pub struct Settings<'run> {
    pub platform: &'run Platform,
    pub options: &'run Options,
    /// The target as the user named it, if it is a path.
    pub target: Option<&'run Path>,
    /// The real name of each target, as far as the report has room.
    pub targets: Vec<String>,
    /// When the run began, by the clock of file systems.
    pub began_ns: i128,
    /// The target's file system takes each file in order, and once.
    pub in_order: Option<InOrder>,
    /// The `statfs(2)` type of the one folder in which all targets get their names.
    pub target_magic: Option<u64>,
    /// Nothing may lead out of the target.
    pub is_confined: bool,
    /// There is one source: what keeps it from being begun is the failure of the whole.
    pub has_one_source: bool,
    /// Files that the user named, but for those that a pattern excludes.
    pub files_wanted: usize,
    /// Those of them that are dealt with as names of a folder, and links, pipes and devices.
    pub names_wanted: usize,
    /// The client wants an event for each file and each change.
    pub tells_files: bool,
    pub shape: Shape,
    /// Lanes, where the user does not say how many.
    pub usual_lanes: u32,
    /// Blocks are compared with another file.
    pub compares: bool,
    /// Blocks are hashed.
    pub hashes: bool,
    /// Makes blocks of null sources, or looks at those that would be hashed.
    pub hook: Option<&'run dyn BlockHook>,
    /// The pieces of the one file to move, in this order, where that is not all.
    pub pieces: Option<&'run [(u64, u64)]>,
    pub queued_nulls: QueuedNulls,
    /// What null sources deliver.
    pub null_fill: Option<Fill>,
    /// No more blocks come from them, where that is known and nothing else comes.
    pub null_blocks: Option<u64>,
    pub nothing_overlaps: bool,
    /// Lanes with a number below this move pieces of large files before anything else.
    pub lanes_for_pieces: usize,
    pub has_trees: bool,
    pub reads_the_web: bool,
    /// Something is written: neither a dry run nor a comparison.
    pub writes: bool,
    /// Slots have a twin for what they are compared with.
    pub has_twins: bool,
    /// CPU time is metered by stage.
    pub meters: Option<&'run Meters>,
}

impl Settings<'_> {
    /// Whether names, folders and attributes of what exists are synced: not where files are complete when they are closed.
    pub fn syncs_names(&self) -> bool {
        self.options.durability.sync != Sync::None && self.in_order.is_none()
    }

    /// How files on a device are written, where that is in order.
    pub fn in_order_on(&self, device: impl FnOnce() -> Option<u64>) -> Option<InOrder> {
        self.in_order.filter(|takes| device() == Some(takes.device))
    }

    /// The path of what lies below the target as the user named it; empty for the target itself.
    pub fn below_target<'path>(&self, path: &'path Path) -> &'path Path {
        let below = self.target.and_then(|target| path.strip_prefix(target).ok());
        below.unwrap_or(Path::new(""))
    }

    /// Whether anybody wants to know of changes. A file that is copied is told by itself where they are not itemized.
    pub fn tells_changes(&self) -> bool {
        self.itemizes() || (self.tells_files && !self.compares)
    }

    /// Whether they are told with letters, and in the order of names.
    pub fn itemizes(&self) -> bool {
        self.options.reporting.changes || self.options.dry_run
    }

    /// This thread's CPU time is metered while that is kept, if a bill was asked for.
    pub fn metered(&self, stage: CpuStage) -> Option<Here<'_>> {
        self.meters.map(|meters| meters.here(stage))
    }

    /// Fills slots once with seeded noise for null sources: requests then cost nothing. Slots are taken from the first
    /// on, and one that is free again before others, so that no more are needed than there are blocks: 64 of 8 MiB took
    /// 0.7 s for a file of 64 MiB.
    pub fn fill_null_slots(&self, engine: &mut Engine, slots: u32, lane: usize) {
        if self.null_fill == Some(Fill::Noise) {
            let mut random = Random::new(self.platform.seed ^ lane as u64);
            let blocks = self.null_blocks.and_then(|blocks| u32::try_from(blocks).ok()).unwrap_or(slots);
            (0..slots.min(blocks)).for_each(|slot| random.fill(engine.bytes_mut(Slot(slot))));
        }
    }
}
