//! One run: what its lanes share, and how it becomes a report.
//!
//! Must not know: how a lane works, what a command line is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use datapump_core::{Shape, Way};
use datapump_engine::sim::Random;
use datapump_engine::{Engine, Handle, Slot};

use crate::bill::{Here, Meters, Stage};
use crate::change::Change;
use crate::event::Event;
use crate::full::Full;
use crate::net::far::Far;
use crate::options::{self, Options};
use crate::other_names;
use crate::place::Fill;
use crate::plan::Plan;
use crate::problem::{Class, Problem, class_of};
use crate::rate::Rate;
use crate::report::Asked;
use crate::target::Item;
use crate::task::{Finish, Task};
use crate::tree::branch::{Batch, Branch};
use crate::tree::{self, Trees};
use crate::watch::Watch;
use crate::world::{EngineNeed, World};
use datapump_files::commit::{Staged, room_words};
use datapump_files::disk::FileCalls;
use datapump_files::loss::{Limit, Lost};

impl Tally {
    /// Something failed that costs more than an attribute.
    pub(crate) fn has_lost_content(&self) -> bool {
        self.problems.values().sum::<u64>() > self.attributes_lost
    }
}

/// What only the side that writes does.
const OWN_OPERATIONS: [&str; 5] = ["lock", "create", "make", "rename", "delete"];

/// Sums over all files.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) problems: BTreeMap<Class, u64>,
    /// Those of the problems that cost an attribute alone.
    pub(crate) attributes_lost: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Files that the user named and that stay as they are at the target.
    pub(crate) files_left: u64,
    /// Files that an earlier run committed, and their bytes.
    pub(crate) files_before: u64,
    pub(crate) bytes_before: u64,
    /// Names that were left out for what they are.
    pub(crate) skipped: u64,
    pub(crate) direct: Asked,
    pub(crate) reflink: Asked,
    pub(crate) blake3: Option<String>,
    /// Bytes of earlier runs that count, and of those that came and do not.
    pub(crate) resumed_bytes: u64,
    pub(crate) doubt_bytes: u64,
    /// Devices of sources and targets.
    pub(crate) source_devices: BTreeSet<u64>,
    pub(crate) target_devices: BTreeSet<u64>,
    pub(crate) warned: BTreeSet<String>,
    /// A file was copied inside the kernel.
    pub(crate) in_kernel: bool,
    /// Time in which room was reserved: what the sink takes for it, though it is asked for between blocks.
    pub(crate) reserving_ns: u64,
    /// Files that were rehearsed. To give back 600 MB takes 113 ms on ext4, which is no part of writing them.
    pub(crate) rehearsed: Vec<Arc<Handle>>,
    /// What was refused, the side that writes refused: a name is locked or taken there.
    pub(crate) is_busy_here: bool,
}

/// What a lane does between blocks.
#[derive(Debug)]
pub(crate) enum Work {
    /// Opens a source that the user named.
    Item(Box<Item>),
    /// Reads names of a folder.
    List(Arc<Branch>),
    /// Deals with names of a folder, one after the other.
    Batch(Batch),
    /// Looks for names that only the other of two trees has.
    Others(Arc<Branch>),
    /// Removes folders that stand where the source has none.
    MakeWay,
}

/// Which null ends take the engine's queue instead of completing where they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueuedNulls {
    pub(crate) source: bool,
    pub(crate) sink: bool,
}

/// What the lanes of a run share.
pub(crate) struct Shared<'run> {
    pub(crate) world: &'run World,
    pub(crate) options: &'run Options,
    /// The target as the user named it, if it is a path.
    pub(crate) target: Option<&'run Path>,
    /// There is one source: what keeps it from being begun is the failure of the whole.
    pub(crate) has_one_source: bool,
    /// Files that the user named, but for those that a pattern excludes.
    pub(crate) files_wanted: usize,
    /// The host on which remote sources lie.
    pub(crate) far: Option<Arc<Far>>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) events: &'run (dyn Fn(Event) + Sync),
    /// Somebody wants to hear of each file of a tree.
    pub(crate) tells_files: bool,
    pub(crate) plan: Plan<Work>,
    /// What the trees of the job share.
    pub(crate) trees: Trees,
    pub(crate) shape: Shape,
    /// Blocks are compared with another file.
    pub(crate) compares: bool,
    /// Blocks are hashed.
    pub(crate) hashes: bool,
    pub(crate) queued_nulls: QueuedNulls,
    /// What null sources deliver.
    pub(crate) null_fill: Option<Fill>,
    pub(crate) nothing_overlaps: bool,
    /// Lanes with a number below this move pieces of large files before anything else.
    pub(crate) lanes_for_pieces: usize,
    pub(crate) has_trees: bool,
    /// Something is written: neither a dry run nor a comparison.
    pub(crate) writes: bool,
    /// Slots have a twin for what they are compared with.
    pub(crate) has_twins: bool,
    /// Limits that all blocks obey.
    pub(crate) rates: Vec<Arc<Rate>>,
    pub(crate) watch: Arc<Watch>,
    pub(crate) tally: Mutex<Tally>,
    pub(crate) live: Mutex<BTreeMap<u32, Arc<Task>>>,
    pub(crate) numbers: AtomicU32,
    /// CPU time is metered by stage.
    pub(crate) meters: Option<&'run Meters>,
    /// Whether the target has room for more of a tree.
    pub(crate) full: Full,
    /// The job failed as a whole, whatever was done of it.
    pub(crate) failed_whole: AtomicBool,
}

impl Shared<'_> {
    pub(crate) fn engine(&self, slots: u32, requests: u32) -> Result<(Engine, Asked), Problem> {
        let need = EngineNeed {
            choice: self.options.engine,
            wait: self.options.wait,
            slots,
            slot_bytes: self.shape.request_bytes,
            requests,
            nothing_overlaps: self.nothing_overlaps,
        };
        self.world.engine(&need, &self.stop)
    }

    /// This thread's CPU time is metered while that is kept, if a bill was asked for.
    pub(crate) fn metered(&self, stage: Stage) -> Option<Here<'_>> {
        self.meters.map(|meters| meters.here(stage))
    }

    /// Fills slots once with seeded noise for null sources: requests then cost nothing.
    pub(crate) fn fill_null_slots(&self, engine: &mut Engine, slots: u32, lane: usize) {
        if self.null_fill == Some(Fill::Noise) {
            let mut random = Random::new(self.world.seed ^ lane as u64);
            (0..slots).for_each(|slot| random.fill(engine.bytes_mut(Slot(slot))));
        }
    }

    /// Nothing more is begun: somebody asked for a stop, or the session with another host is lost.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.far.as_ref().is_some_and(|far| far.line.is_cut())
    }

    /// A hash is taken of each file: it was asked for, or its blocks are hashed for the way over the network.
    pub(crate) fn hashes_files(&self) -> bool {
        self.hashes || (self.far.is_some() && !self.options.unhashed)
    }

    pub(crate) fn next_number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().expect("no panic while tallying")
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<Task>>> {
        self.live.lock().expect("no panic while the list of files is locked")
    }

    /// A file is on its way.
    pub(crate) fn begin(&self, task: &Arc<Task>) {
        self.live().insert(task.number, Arc::clone(task));
        let mut tally = self.tally();
        if task.leaf.is_some() {
            return; // its tree has told
        }
        if let Some(original) = &task.original {
            tally.source_devices.insert(original.meta.device);
        }
        if let Finish::Commit(staged) = &task.finish
            && let Ok(meta) = staged.handle.meta()
        {
            tally.target_devices.insert(meta.device);
        }
    }

    /// A file is complete and, where that was asked, committed.
    pub(crate) fn done(&self, task: &Task) {
        let bytes = task.length();
        let is_told = self.tells_files || task.leaf.is_none();
        let root = task.hash.as_ref().filter(|_| is_told).and_then(|hash| hash.root(bytes));
        let blake3 = root.map(|root| root.to_hex().to_string());
        let mut tally = self.tally();
        tally.files += 1;
        tally.bytes += bytes;
        tally.blake3.clone_from(&blake3);
        drop(tally);
        self.watch.file_done();
        if is_told {
            let nowhere = task.target_name.as_path() == Path::new("null:");
            let path = if nowhere { &task.source_name } else { &task.target_name };
            (self.events)(Event::File { path: path.clone(), bytes, blake3 });
        }
        self.tell(task.change.clone());
        self.settle(task, true);
    }

    /// An earlier run of the same command committed a file.
    pub(crate) fn committed_before(&self, bytes: u64) {
        let mut tally = self.tally();
        tally.files_before += 1;
        tally.bytes_before += bytes;
    }

    /// A file needs no more attention: it is complete, or was given up.
    pub(crate) fn settle(&self, task: &Task, complete: bool) {
        self.live().remove(&task.number);
        if let Some(leaf) = &task.leaf {
            tree::finish::leaf_done(self, task, leaf, complete);
        }
        if let Some(item) = &task.first_name {
            other_names::ended(self, task, item, complete);
        }
        if task.unshare() {
            self.plan.settled();
        }
        if task.uncount() {
            self.plan.settled();
        }
    }

    /// Puts an open file up for all lanes.
    pub(crate) fn put_up(&self, task: Arc<Task>, ranges: Option<Vec<(u64, u64)>>, way: Way) {
        task.share();
        self.plan.opened(task, ranges, way);
    }

    /// Whether the data of a file are synced before it gets its name. In trees that is done once for all at the end,
    /// but what stood under a name before is not given up for what may be lost.
    pub(crate) fn syncs_data(&self, task: &Task, staged: &Staged) -> bool {
        match (self.options.sync, &task.leaf) {
            (options::Sync::None, _) => false,
            (options::Sync::Each, _) | (options::Sync::End, None) => true,
            (options::Sync::End, Some(leaf)) => staged.replaces() || self.syncs_alone(&leaf.spot.branch),
        }
    }

    /// Whether each file and each folder is synced: no sync of the whole file system does for them, or no list would
    /// tell that it failed.
    pub(crate) fn syncs_alone(&self, branch: &Branch) -> bool {
        self.options.sync == options::Sync::End
            && (!branch.traits.syncs_whole || branch.root.list.is_lacking())
    }

    /// Whether a new name is made durable at once.
    pub(crate) fn syncs_names(&self, task: &Task) -> bool {
        match (self.options.sync, &task.leaf) {
            (options::Sync::None, _) | (options::Sync::End, Some(_)) => false,
            (options::Sync::Each, _) | (options::Sync::End, None) => true,
        }
    }

    /// Files that were begun and are neither complete nor given up.
    pub(crate) fn unfinished(&self) -> Vec<Arc<Task>> {
        std::mem::take(&mut *self.live()).into_values().collect()
    }

    pub(crate) fn report(&self, problem: Problem) {
        let mut tally = self.tally();
        // A session is lost once, however many lanes and files notice.
        if problem.class == Class::Lost && tally.problems.contains_key(&Class::Lost) {
            return;
        }
        tally.is_busy_here |= problem.class == Class::Refused && OWN_OPERATIONS.contains(&problem.operation);
        *tally.problems.entry(problem.class).or_insert(0) += 1;
        drop(tally);
        if self.has_trees && self.writes && self.full.takes(&problem) {
            return;
        }
        (self.events)(Event::Problem(problem));
    }

    /// A name is not copied, because no room is left.
    pub(crate) fn leave_missing(&self, bytes: u64) {
        *self.tally().problems.entry(Class::NoSpace).or_insert(0) += 1;
        self.full.leave_out(bytes);
    }

    /// Tells what was decided, to those who ask; words cost more than the decision.
    pub(crate) fn note(&self, words: impl FnOnce() -> String) {
        if self.options.notes {
            (self.events)(Event::Note(words()));
        }
    }

    /// Whether anybody wants to know of changes.
    pub(crate) fn tells_changes(&self) -> bool {
        self.options.changes || self.options.dry_run
    }

    /// Tells a change, if anybody wants to know.
    pub(crate) fn tell(&self, change: Option<Box<Change>>) {
        if let Some(change) = change {
            (self.events)(Event::Change(change));
        }
    }

    /// Something is left out for what it is: told and counted.
    pub(crate) fn leave_out(&self, words: &str) {
        self.tally().skipped += 1;
        self.warn(words.into());
    }

    pub(crate) fn warn(&self, words: String) {
        (self.events)(Event::Warning(words));
    }

    /// Tells what a file could not keep. Its content is good: nothing else waits for that.
    pub(crate) fn tell_lost(&self, lost: Lost, path: impl Fn() -> PathBuf) {
        for loss in lost {
            match loss.limit {
                Limit::User => self.warn_once(loss.words),
                Limit::FileSystem if !self.is_first_of(&format!("lost-{}", loss.words)) => {}
                Limit::FileSystem | Limit::File => {
                    self.tally().attributes_lost += 1;
                    self.report(Problem::new(loss.class, "set the attributes of", &path(), loss.words));
                }
            }
        }
    }

    /// Tells something once, however many files it concerns and in whatever words: what it is about is the first one.
    pub(crate) fn warn_once(&self, words: String) {
        if self.is_first_of(&words) {
            (self.events)(Event::Warning(words));
        }
    }

    fn is_first_of(&self, words: &str) -> bool {
        let about = words.split([' ', ':']).next().unwrap_or_default().to_owned();
        self.tally().warned.insert(about)
    }

    pub(crate) fn note_direct(&self, source: bool, sink: bool, why: &str) {
        let got = match (source, sink) {
            (true, true) => "both",
            (true, false) => "source",
            (false, true) => "sink",
            (false, false) => "none",
        };
        let mut tally = self.tally();
        if (tally.direct.got.as_str(), tally.direct.why.as_str()) != (got, why) {
            (tally.direct.got, tally.direct.why) = (got.into(), why.into());
        }
    }

    pub(crate) fn note_reflink(&self, got: &str, why: &str) {
        let mut tally = self.tally();
        (tally.reflink.got, tally.reflink.why) = (got.into(), why.into());
    }

    /// A problem that the system reported for a transfer; a full disk tells how much room is left.
    pub(crate) fn system_problem(
        &self,
        operation: &'static str,
        name: &Path,
        errno: i32,
        task: &Task,
    ) -> Problem {
        let mut problem = Problem::system(operation, name, errno);
        if class_of(errno) == Class::NoSpace
            && let Finish::Commit(staged) = &task.finish
        {
            let needed = Some(task.length()).filter(|&bytes| bytes != u64::MAX);
            let words = room_words(needed, staged.handle.room().free_bytes);
            problem.message = format!("{}; {words}", problem.message);
        }
        problem
    }
}
