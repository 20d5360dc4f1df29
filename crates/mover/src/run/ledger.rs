//! The counts and messages of a run: sums over all files, problems, warnings, notes.
//!
//! Must not know: what is copied, how, who hears it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use datapump_core::verdict::Waits;
use datapump_engine::{Errno, Handle};

use crate::problem::{AttributeKind, Class, LostAttribute, Operation, Problem, shown_path};
use crate::report::Report;
use crate::report::change::Change;
use crate::report::cut_leaves::CutLeaves;
use crate::report::event::Event;
use crate::report::watch::Watch;
use crate::run::cause::with_cause;
use crate::run::full::Full;
use crate::run::hidden_target::without_cause;
use crate::run::in_order_target::is_reported;
use crate::units::with_commas;
use datapump_files::attributes::given::Given;
use datapump_files::attributes::loss::{Limit, Loss, Lost};
use datapump_files::disk::is_cached;
use datapump_files::disk::kind::reads_are_counted;

/// Sums over all files.
#[derive(Debug, Default)]
pub struct Tally {
    pub problems: BTreeMap<Class, u64>,
    /// Those of the problems that cost an attribute alone.
    pub attributes_lost: u64,
    /// Those of them that are links, pipes and devices which the target cannot hold.
    pub unmade: u64,
    /// Of each kind of attribute the first that was lost, and how many names lost one; apart those of file systems that
    /// are read-only.
    pub lost: BTreeMap<(AttributeKind, bool), (Problem, u64)>,
    /// A file system was read-only, which a problem with a name says.
    pub is_read_only: bool,
    /// Those of the problems that are of files which only grew: what each held when it was opened is copied.
    pub files_grown: u64,
    /// Problems with names that no walk copied, because they changed or vanished: what others have too much is removed.
    pub walked_again: u64,
    /// Files that the user named and that nothing was to be done about.
    pub files_left: u64,
    /// What was done to files and names, and left, as it is reported.
    pub done: Report,
    /// Bytes of earlier runs that arrived and do not count.
    pub doubt_bytes: u64,
    /// Devices of sources and targets. No device counts as a source's where memory had most of what was moved.
    pub source_devices: BTreeSet<u64>,
    /// Reads of one of them from storage are not counted.
    pub has_uncounted_reads: bool,
    pub target_devices: BTreeSet<u64>,
    /// A source, or a target, is a pipe.
    pub source_is_pipe: bool,
    pub target_is_pipe: bool,
    pub warned: BTreeSet<String>,
    /// Folders of sources that were left out because something else is mounted there.
    pub mounts: BTreeSet<PathBuf>,
    /// A file was copied inside the kernel.
    pub in_kernel: bool,
    /// Room that was reserved and syncs that were made deep among names, for which the lanes charged metadata.
    pub aside: Waits,
    /// Files that were rehearsed. To give back 600 MB takes 113 ms on ext4, which is no part of writing them.
    pub rehearsed: Vec<Arc<Handle>>,
    /// What stays at the target if the run is cut.
    pub cut_leaves: CutLeaves,
    /// What was refused, the side that writes refused: a name is locked or taken there.
    pub is_busy_here: bool,
}

impl Tally {
    /// Notes the device of a source, and the `statfs(2)` type of its file system.
    pub fn note_source(&mut self, device: u64, magic: u64) {
        self.source_devices.insert(device);
        self.has_uncounted_reads |= !reads_are_counted(magic);
    }

    /// Notes how much of what was moved was read from storage, which is `None` where nobody counts it.
    pub fn note_storage_reads(&mut self, read_bytes: Option<u64>, moved_bytes: u64) {
        let in_memory = |read_bytes: u64| 1.0 - read_bytes as f64 / moved_bytes as f64;
        let counted = read_bytes.filter(|_| moved_bytes > 0 && !self.has_uncounted_reads);
        if is_cached(counted.map(in_memory)) {
            self.source_devices.clear();
        }
    }

    /// All that was to be copied is there, if not with all attributes.
    pub fn is_all_there(&self) -> bool {
        self.problems.values().sum::<u64>() <= self.attributes_lost && self.unmade == 0
    }

    /// Something failed that costs more than an attribute, or than what was appended to a file meanwhile.
    pub fn has_lost_content(&self) -> bool {
        self.problems.values().sum::<u64>() + self.unmade > self.attributes_lost + self.files_grown
    }

    /// Something failed because of which nothing may be removed: what was not copied may be what is to go, under a new
    /// name. A link, pipe or device has no content that could be lost.
    pub fn keeps_all(&self) -> bool {
        self.problems.values().sum::<u64>() > self.attributes_lost + self.files_grown + self.walked_again
    }
}

/// So many mounts are kept in mind, and so many of them named in one line.
const MOUNTS_MAX: usize = 4096;
const MOUNTS_NAMED: usize = 3;

/// What only the side that writes does.
const OWN_OPERATIONS: [Operation; 5] =
    [Operation::Lock, Operation::Create, Operation::Make, Operation::Rename, Operation::Delete];

/// What the lanes of a run count and tell.
pub struct Ledger<'run> {
    pub events: &'run (dyn Fn(Event) + Sync),
    /// Somebody wants to hear what was decided, and why.
    pub notes: bool,
    /// Somebody wants to hear of each file.
    pub tells_each: bool,
    /// What does not fit on a full target is told in one line at the end.
    pub is_full_told: bool,
    pub watch: Arc<Watch>,
    pub tally: Mutex<Tally>,
    /// Nothing is told of what stands at the target.
    pub hides_target: bool,
    /// Whether the target has room for more of a tree.
    pub full: Full,
    /// The job failed as a whole, whatever was done of it.
    pub failed_whole: AtomicBool,
    /// The target refuses attributes, which was reported for all files: only those that were given count as lost.
    pub lossy_target: Option<Given>,
}

impl Ledger<'_> {
    pub fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().expect("no panic while tallying")
    }

    /// Counts a problem and reports it. A lost session counts once, and lack of room may be reported at the end instead.
    pub fn report(&self, problem: Problem) {
        if problem.lost.is_some() {
            return self.count_lost(problem, true);
        }
        let mut tally = self.tally();
        // A session is lost once, however many lanes and files notice.
        if problem.class == Class::Lost && tally.problems.contains_key(&Class::Lost) {
            return;
        }
        tally.is_read_only |= is_read_only(&problem);
        tally.is_busy_here |= problem.class == Class::Refused && OWN_OPERATIONS.contains(&problem.operation);
        let problem = if self.hides_target { without_cause(problem) } else { with_cause(problem) };
        *tally.problems.entry(problem.class).or_insert(0) += 1;
        drop(tally);
        if self.is_full_told && self.full.keep_lack(&problem) {
            return;
        }
        (self.events)(Event::Problem(problem));
    }

    /// Tells of a file that only grew. It stands in the source, and what it held when it was opened is
    /// copied: nothing waits for more.
    pub fn report_grown(&self, problem: Problem) {
        self.tally().files_grown += 1;
        self.report(Problem { is_copied: true, ..problem });
    }

    /// Tells in one line what did not fit. Where all names had room in the end, warnings that were put off are told.
    pub fn tell_full(&self) {
        match self.full.take_problem() {
            Some(problem) => (self.events)(Event::Problem(problem)),
            None => self.full.take_put_off().into_iter().for_each(|warning| self.warn(warning)),
        }
    }

    /// A name is not copied, because no room is left.
    pub fn leave_missing(&self, bytes: u64) {
        *self.tally().problems.entry(Class::NoSpace).or_insert(0) += 1;
        self.full.leave_out(bytes);
    }

    /// Something of the run stays at the target, if it is cut.
    pub fn leaves(&self, leaves: CutLeaves) {
        let mut tally = self.tally();
        tally.cut_leaves = tally.cut_leaves.max(leaves);
    }

    /// Tells what was decided, to those who ask; words cost more than the decision.
    pub fn note(&self, words: impl FnOnce() -> String) {
        if self.notes {
            (self.events)(Event::Note(words()));
        }
    }

    /// Tells a change, if anybody wants to know.
    pub fn tell(&self, change: Option<Box<Change>>) {
        if let Some(change) = change {
            (self.events)(Event::Change(change));
        }
    }

    /// Something is left out for what it is: reported and counted.
    pub fn leave_out(&self, words: &str) {
        self.tally().done.skipped += 1;
        self.warn(words.into());
    }

    /// A socket has no content: nobody expects a copy. The first is reported, unless `--quiet` is set, and all are counted.
    pub fn leave_out_socket(&self, path: &Path) {
        self.tally().done.skipped += 1;
        if self.is_first_of("sockets") {
            let words = "is a socket: it has no content and is left out, as is each further one";
            self.notice(format!("'{}' {words}", shown_path(path)));
        }
    }

    /// Worth a line, unless `--quiet` is set: nothing failed.
    pub fn notice(&self, words: String) {
        (self.events)(Event::Notice(words));
    }

    /// There may not be room for a file whose room is not reserved. The first is reported, unless `--quiet` is set.
    pub fn report_scarce(&self, path: &Path, words: &str) {
        if self.is_first_of("scarce") {
            self.notice(format!("'{}': {words}", shown_path(path)));
        }
    }

    /// A mount in a source is left out: `--one-file-system`. Each is reported to those who ask, all at the end.
    pub fn leave_out_mount(&self, path: &Path) {
        self.note(|| format!("'{}': on another file system, left out", shown_path(path)));
        let mut tally = self.tally();
        if tally.mounts.len() < MOUNTS_MAX {
            tally.mounts.insert(path.to_owned());
        }
    }

    /// Reports in one line, once, which mounts `--one-file-system` left out, unless `--quiet` is set.
    pub fn report_mounts(&self) {
        let mounts = std::mem::take(&mut self.tally().mounts);
        let named = mounts.iter().take(MOUNTS_NAMED).map(|path| format!("'{}'", shown_path(path)));
        let named = named.collect::<Vec<_>>().join(", ");
        let more = match mounts.len().saturating_sub(MOUNTS_NAMED) {
            0 => String::new(),
            more => format!(" and {} more (-v lists each)", with_commas(more as u64)),
        };
        if !mounts.is_empty() {
            let words = format!("on other file systems, left out (--one-file-system): {named}{more}");
            (self.events)(Event::Notice(words));
        }
    }

    pub fn warn(&self, words: String) {
        (self.events)(Event::Warning(words));
    }

    /// Counts the attributes that a file could not keep, and gives their kinds. Its content is good: nothing else waits for
    /// that. One line for each kind is reported at the end, each file where that was asked.
    pub fn report_lost(&self, lost: Lost, path: impl Fn() -> PathBuf) -> BTreeSet<AttributeKind> {
        let mut kinds = BTreeSet::new();
        for loss in lost {
            match loss.limit {
                Limit::Silent => self.note_once(&loss.words, &path),
                Limit::User => self.warn_once(loss.words),
                Limit::Lost if self.lossy_target.is_some_and(|given| is_reported(loss.kind, &given)) => {
                    self.note_once(&loss.words, &path);
                }
                Limit::Lost => {
                    let is_first = kinds.insert(loss.kind);
                    self.count_lost(problem_of(loss, &path()), is_first);
                }
            }
        }
        kinds
    }

    /// Counts a lost attribute, and reports it at once where each is reported. `is_first`: the first of its kind of this name.
    fn count_lost(&self, problem: Problem, is_first: bool) {
        let Some(LostAttribute { kind, .. }) = problem.lost else { return };
        let problem = with_cause(problem);
        let mut tally = self.tally();
        tally.attributes_lost += 1;
        tally.unmade += u64::from(kind.is_name());
        *tally.problems.entry(problem.class).or_insert(0) += 1;
        let (_, names) =
            tally.lost.entry((kind, is_read_only(&problem))).or_insert_with(|| (problem.clone(), 0));
        *names += u64::from(is_first);
        drop(tally);
        if self.tells_each {
            (self.events)(Event::Problem(problem));
        }
    }

    /// Reports in one line for each kind what was lost, and of how many names. That a file system is read-only is said once, by
    /// the names that could not be made there: no flag about attributes helps then.
    pub fn report_all_lost(&self) {
        let mut tally = self.tally();
        let (lost, is_told) = (std::mem::take(&mut tally.lost), tally.is_read_only);
        drop(tally);
        for ((kind, is_read_only), (first, names)) in lost {
            if is_read_only && is_told {
                continue;
            }
            let message = first.message + &kind.summary(names);
            let lost = Some(LostAttribute { kind, names: Some(names.try_into().unwrap_or(u32::MAX)) });
            (self.events)(Event::Problem(Problem { message, lost, ..first }));
        }
    }

    /// Tells something once, however many files it concerns and in whatever words: what it is about is the first one.
    pub fn warn_once(&self, words: String) {
        if self.is_first_of(&words) {
            (self.events)(Event::Warning(words));
        }
    }

    /// Reports something once, unless `--quiet` is set.
    pub fn notice_once(&self, words: String) {
        if self.is_first_of(&words) {
            (self.events)(Event::Notice(words));
        }
    }

    /// Tells something once to those who ask.
    fn note_once(&self, words: &str, path: impl Fn() -> PathBuf) {
        if self.notes && self.is_first_of(words) {
            (self.events)(Event::Note(format!("'{}': {words}", shown_path(&path()))));
        }
    }

    fn is_first_of(&self, words: &str) -> bool {
        let about = words.split([' ', ':']).next().unwrap_or_default().to_owned();
        self.tally().warned.insert(about)
    }

    /// Enters in the report which ends go past the page cache, and why.
    pub fn note_direct(&self, source: bool, sink: bool, why: &str) {
        let got = match (source, sink) {
            (true, true) => "both",
            (true, false) => "source",
            (false, true) => "sink",
            (false, false) => "none",
        };
        let mut tally = self.tally();
        if (tally.done.direct.got.as_str(), tally.done.direct.why.as_str()) != (got, why) {
            (tally.done.direct.got, tally.done.direct.why) = (got.into(), why.into());
        }
    }

    pub fn note_reflink(&self, got: &str, why: &str) {
        let mut tally = self.tally();
        (tally.done.reflink.got, tally.done.reflink.why) = (got.into(), why.into());
    }

    /// An earlier run of the same command committed a file.
    pub fn committed_before(&self, bytes: u64) {
        let mut tally = self.tally();
        tally.done.files_before += 1;
        tally.done.bytes_before += bytes;
        drop(tally);
        self.watch.add_present(1, bytes);
    }

    /// A file that stays is not as the source: it is newer, or nothing that exists is touched.
    pub fn count_kept(&self, is_newer: bool) {
        let mut tally = self.tally();
        if is_newer { tally.done.files_newer += 1 } else { tally.done.files_existing += 1 }
    }

    /// A file of a tree stays as it is at the target.
    pub fn unchanged(&self, bytes: u64) {
        self.tally().done.files_unchanged += 1;
        self.watch.add_present(1, bytes);
    }
}

fn problem_of(loss: Loss, path: &Path) -> Problem {
    let lost = Some(LostAttribute { kind: loss.kind, names: None });
    let cause = loss.errno.map(|errno| errno.0);
    let problem = Problem::new(loss.class, Operation::SetAttributes, path, loss.words);
    Problem { lost, cause, ..problem }
}

fn is_read_only(problem: &Problem) -> bool {
    problem.cause == Some(Errno::EROFS.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The system counts what all of the process reads: more than was moved, at times.
    #[test]
    fn a_device_serves_a_source_that_memory_does_not_have() {
        const EXT4: u64 = 0xef53;
        for (what, magic, read_bytes, moved_bytes, is_kept) in [
            ("all from memory", EXT4, Some(0), 1000, false),
            ("of a file system in memory", 0x0102_1994, Some(0), 1000, false),
            ("most of it", EXT4, Some(499), 1000, false),
            ("half of it", EXT4, Some(500), 1000, true),
            ("nothing", EXT4, Some(4000), 1000, true),
            ("nobody counts", EXT4, None, 1000, true),
            ("nothing was moved", EXT4, Some(0), 0, true),
            ("FUSE, of which the kernel counts nothing", 0x6573_5546, Some(0), 1000, true),
            ("btrfs, which may have compressed it", 0x9123_683e, Some(300), 1000, true),
        ] {
            let mut tally = Tally { target_devices: [7].into(), ..Tally::default() };
            tally.note_source(7, magic);
            tally.note_storage_reads(read_bytes, moved_bytes);
            assert_eq!(
                (tally.source_devices.len(), tally.target_devices.len()),
                (usize::from(is_kept), 1),
                "{what}"
            );
        }
    }
}
