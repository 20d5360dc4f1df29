//! One file on its way: its two ends, its life, what went wrong.
//!
//! Shared by the lanes that move its blocks; the lane that lands the last one goes on with the steps of its life. A
//! further pass over a file (to read it back, to repair it) is a task of its own, with the life of the file.
//!
//! Must not know: the plan it came from, how lanes work, how a step is performed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use datapump_core::{FileGoal, FileLife};
use datapump_engine::{Errno, Handle};

use crate::end::hash::FileHash;
use crate::end::{Sink, Source};
use crate::file::copied::CopiedContent;
use crate::file::owned::Owned;
use crate::open::held::Original;
use crate::open::stripe::target::OpenStripe;
use crate::problem::{Operation, Problem};
use datapump_files::commit::StagedFile;
use datapump_files::disk::{FileCalls, open_cached};
use datapump_files::resume::Journal;

/// The step when the last block has landed.
#[derive(Debug)]
pub enum Finish {
    /// Nothing: streams, null ends, comparisons.
    Nothing,
    /// The target is completed and committed.
    Commit(StagedFile),
    /// The data of a device are put on stable storage.
    Device(Arc<Handle>),
    /// The same of each member of a stripe; files get their length.
    Stripe(Arc<OpenStripe>),
    /// A file was compared with the source (`--checksum`).
    Checked,
    /// The bytes of a block are compared whose digests differ, to find the place.
    Located,
    /// A pass over the target of this task: what comes back must be what was written.
    ReadBack(Arc<Task>),
    /// A pass over what came back damaged of this task's target: it is written again.
    Repair(Arc<Task>),
}

/// One file on its way.
#[derive(Debug)]
pub struct Task {
    /// Its number in the plan, never used twice.
    pub number: u32,
    /// For messages: where bytes come from and go to, as the user named them.
    pub source_name: PathBuf,
    pub target_name: PathBuf,
    pub source: Source,
    pub sink: Sink,
    pub original: Option<Original>,
    pub finish: Finish,
    pub hash: Option<FileHash>,
    /// Read back and compared before it is committed.
    pub verify: bool,
    pub owned: Owned,
    is_endless: bool,
    is_shared: AtomicBool,
    is_counted: AtomicBool,
    lost_attributes: AtomicBool,
    length_bytes: AtomicU64,
    /// A further pass has the life of its file.
    life: Mutex<FileLife>,
    /// The ranges that are copied; holes lie between them. `None` until the end of data.
    ranges: Option<Vec<(u64, u64)>>,
    /// What another host said of it, where an error number says less.
    pub trouble: OnceLock<Problem>,
}

/// What a task is made of.
#[derive(Debug)]
pub struct Parts {
    pub number: u32,
    /// Of the source and of the target, for messages.
    pub names: (PathBuf, PathBuf),
    pub source: Source,
    pub sink: Sink,
    pub original: Option<Original>,
    pub finish: Finish,
    pub hash: Option<FileHash>,
    pub verify: bool,
    /// The ranges to copy; `None` until the end of data.
    pub ranges: Option<Vec<(u64, u64)>>,
    pub owned: Owned,
    pub goal: FileGoal,
}

impl Parts {
    /// The parts of a further pass, and of a task without attributes, hash and owner, of which nothing is made after its last
    /// block.
    pub fn bare(number: u32, names: (PathBuf, PathBuf), source: Source, sink: Sink, finish: Finish) -> Parts {
        Parts {
            number,
            names,
            source,
            sink,
            original: None,
            finish,
            hash: None,
            verify: false,
            ranges: None,
            owned: Owned::default(),
            goal: FileGoal::NOTHING,
        }
    }
}

impl Task {
    /// A task of which nothing is written yet.
    pub fn new(parts: Parts) -> Task {
        let Parts { number, names, source, sink, original, finish, hash, verify, ranges, owned, .. } = parts;
        let total = |ranges: &Vec<(u64, u64)>| ranges.iter().map(|(start, end)| end - start).sum();
        let expected = ranges.as_ref().map_or(u64::MAX, total);
        let length = original.as_ref().map_or(expected, |original| original.meta.size_bytes);
        Task {
            number,
            is_endless: ranges.is_none() && source.is_real_file(),
            source_name: names.0,
            target_name: names.1,
            source,
            sink,
            length_bytes: AtomicU64::new(length),
            original,
            finish,
            hash,
            verify,
            owned,
            is_shared: AtomicBool::new(false),
            is_counted: AtomicBool::new(false),
            lost_attributes: AtomicBool::new(false),
            life: Mutex::new(FileLife::new(parts.goal, expected)),
            ranges,
            trouble: OnceLock::new(),
        }
    }

    /// The plan has it, for every lane.
    pub fn share(&self) {
        self.is_shared.store(true, Ordering::Release);
    }

    /// Whether the plan waits for it; true once.
    pub fn unshare(&self) -> bool {
        self.is_shared.swap(false, Ordering::AcqRel)
    }

    /// Whether it may lead to more when it has ended.
    pub fn may_bring_more(&self) -> bool {
        let has_links = self.owned.tree.is_some_and(|tree| tree.has_waiting_names);
        let may_differ = matches!(self.finish, Finish::Checked) || self.source.gives_sums();
        self.verify || has_links || may_differ
    }

    /// It may bring more to do when it is complete (to be read back, to be copied after all, other names): the plan
    /// waits for it although one lane alone has it.
    pub fn count(&self) {
        self.is_counted.store(true, Ordering::Release);
    }

    /// Whether the plan waits for what it may bring; true once.
    pub fn uncount(&self) -> bool {
        self.is_counted.swap(false, Ordering::AcqRel)
    }

    /// The copy could not keep an attribute that `stat(2)` does not show, which was told as a problem.
    pub fn lose_attributes(&self) {
        self.lost_attributes.store(true, Ordering::Release);
    }

    /// Whether that was so.
    pub fn has_lost_attributes(&self) -> bool {
        self.lost_attributes.load(Ordering::Acquire)
    }

    /// The file that this task is a pass over, if it is a further one.
    pub fn passed_file(&self) -> Option<&Arc<Task>> {
        match &self.finish {
            Finish::ReadBack(written) | Finish::Repair(written) => Some(written),
            Finish::Nothing
            | Finish::Commit(_)
            | Finish::Device(_)
            | Finish::Stripe(_)
            | Finish::Located
            | Finish::Checked => None,
        }
    }

    /// The task reads a target back: its waits are charged to `verify`.
    #[inline]
    pub fn reads_back(&self) -> bool {
        matches!(self.finish, Finish::ReadBack(_))
    }

    /// The life of the file.
    pub fn life(&self) -> MutexGuard<'_, FileLife> {
        let file = self.passed_file().map_or(self, |written| written);
        file.life.lock().expect("no panic while the life of a file is locked")
    }

    /// Bytes that must land before this pass is complete; `u64::MAX` until known.
    pub fn expected_bytes(&self) -> u64 {
        self.life().expected_bytes()
    }

    /// Counts bytes landed; true for the one call that makes the pass complete.
    pub fn landed(&self, bytes: u64) -> bool {
        bytes > 0 && self.life().handle_landed(bytes)
    }

    /// The source ended here: the length is known now. True if all of it has landed already.
    pub fn ended(&self, at: u64) -> bool {
        self.length_bytes.store(at, Ordering::Release);
        self.life().handle_ended(at)
    }

    /// Its length is that of what stands at the target, whatever is written of it.
    pub fn keep_length(&self) -> Result<(), Problem> {
        let Sink::File(file) = &self.sink else { return Ok(()) };
        let meta = file.handle.meta();
        let meta = meta.map_err(|errno| Problem::system(Operation::Stat, &self.target_name, errno.0))?;
        self.length_bytes.store(meta.size_bytes, Ordering::Release);
        Ok(())
    }

    /// Gives the file up; true for the first call.
    pub fn fail(&self) -> bool {
        self.life().handle_failed()
    }

    /// Whether the entry that had the target's name before keeps it until this file is committed.
    pub fn target_is_kept(&self) -> bool {
        match &self.finish {
            Finish::Commit(staged) => !staged.has_final_name(),
            Finish::ReadBack(written) | Finish::Repair(written) => written.target_is_kept(),
            Finish::Nothing | Finish::Located | Finish::Checked | Finish::Device(_) | Finish::Stripe(_) => {
                false
            }
        }
    }

    /// The copy is written over an existing file of the target.
    pub fn overwrites_target(&self) -> bool {
        match &self.finish {
            Finish::Commit(staged) => staged.is_in_place(),
            Finish::ReadBack(written) | Finish::Repair(written) => written.overwrites_target(),
            _ => false,
        }
    }

    /// The journal in which its blocks are reported.
    #[inline]
    pub fn journal(&self) -> Option<&Journal> {
        match &self.finish {
            Finish::Commit(staged) => staged.journal(),
            _ => None,
        }
    }

    pub fn has_failed(&self) -> bool {
        self.life().has_failed()
    }

    /// The ranges that are moved; `None` until the end of data.
    pub fn ranges(&self) -> Option<&[(u64, u64)]> {
        self.ranges.as_deref()
    }

    /// What its owner keeps with it, if that is of this type.
    pub fn kept<T: 'static>(&self) -> Option<&T> {
        self.owned.kept.as_ref()?.downcast_ref()
    }

    /// The user named it, and no folder that it lies in.
    pub fn is_named(&self) -> bool {
        self.owned.tree.is_none_or(|tree| tree.is_named)
    }

    /// One lane moves it: a small file of a tree.
    pub fn is_small(&self) -> bool {
        self.owned.tree.is_some() && !self.is_shared.load(Ordering::Relaxed)
    }

    /// Only its end tells the length, and only this thread may read it.
    #[inline]
    pub fn is_endless(&self) -> bool {
        self.is_endless
    }

    /// What was written, to be read back: of a small file of another host the length that it had when it was opened.
    pub fn ranges_to_read_back(&self) -> Vec<(u64, u64)> {
        match &self.ranges {
            Some(ranges) if !self.source.is_read_whole() => ranges.clone(),
            Some(_) if self.length() == 0 => Vec::new(),
            _ => vec![(0, self.length())],
        }
    }

    /// The content that was copied: its hash where it is one of the whole file, so that the target need not be read, or else
    /// the target, opened to be read. `None` where nothing shows what was copied. `has_hook`: a hook took the place of the
    /// hash.
    pub fn copied_content(&self, has_hook: bool) -> Result<Option<CopiedContent<'_>>, Problem> {
        let (length, ranges) = (self.length(), self.ranges_to_read_back());
        let is_whole = ranges == [(0, length)] || (length == 0 && ranges.is_empty());
        let hash = self.hash.as_ref().filter(|_| !has_hook);
        let hash = hash.map(|hash| CopiedContent::Hash(hash, ranges));
        let system = |errno: Errno| Problem::system(Operation::Open, &self.target_name, errno.0);
        let target = match (&self.finish, &self.sink) {
            (Finish::Commit(staged), _) if hash.is_none() || !is_whole || staged.goes_on => {
                staged.reopen_to_read(length)?
            }
            (Finish::Stripe(stripe), _) if hash.is_none() || !is_whole => {
                return Ok(Some(CopiedContent::Stripe(Box::new(stripe.open_to_read()?), length)));
            }
            (Finish::Device(handle), _) if hash.is_none() || !is_whole => {
                open_cached(handle).map_err(system)?
            }
            (_, Sink::Compare(file)) => open_cached(&file.handle).map_err(system)?,
            (Finish::Nothing, Sink::Null) if hash.is_none() => return Ok(Some(CopiedContent::Nothing)),
            _ => return Ok(hash),
        };
        Ok(Some(CopiedContent::Target(target, length)))
    }

    /// Length of the file in bytes, once known.
    pub fn length(&self) -> u64 {
        self.length_bytes.load(Ordering::Acquire)
    }
}
