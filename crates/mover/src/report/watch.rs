//! Live counters of a running job, for progress.
//!
//! Each lane writes its own counter with a plain store; readers add them up. Nothing is locked on the data path.
//!
//! Must not know: how progress is shown.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use datapump_core::verdict::{
    CPU_FRACTION, Cpu, EndCause, Evidence, LimitedBy, Phase, STAGES, Waits, Why, verdict,
};
use datapump_core::wire::session::Progress;
use datapump_engine::os::linux::cpus;

use crate::problem::shown;
use crate::report::at_hand::AtHand;
use crate::report::cpu::{cpu_now, cpu_since};
use crate::setup::options::Options;

/// Counters of one job; share it with `Job::watch` and read it from another thread.
#[derive(Debug)]
pub struct Watch {
    lanes: Box<[Padded]>,
    total_bytes: AtomicU64,
    counters: Counters,
    /// What all trees hold, once they were counted beside the copy.
    counted: OnceLock<TreeCounts>,
    at_hand: AtHand,
    /// Its place among all phases.
    phase: AtomicU8,
    /// Somebody shows it.
    is_shown: AtomicBool,
    /// What the lanes charged until now.
    charged: Box<[OnceLock<Box<Charged>>]>,
    began: Mutex<Option<LanesBegan>>,
    /// What another host says of the lanes there.
    reported_limit: Mutex<Option<LimitedBy>>,
}

/// Those that begin at zero with each session.
#[derive(Debug, Default)]
struct Counters {
    files: AtomicU64,
    found_bytes: AtomicU64,
    found_files: AtomicU64,
    names: AtomicU64,
    present_bytes: AtomicU64,
    present_files: AtomicU64,
    deleted: AtomicU64,
    to_delete: AtomicU64,
}

impl Counters {
    fn all(&self) -> [&AtomicU64; 8] {
        let Counters { files, found_bytes, found_files, names, .. } = self;
        let Counters { present_bytes, present_files, deleted, to_delete, .. } = self;
        [files, found_bytes, found_files, names, present_bytes, present_files, deleted, to_delete]
    }
}

/// When the lanes of this host began.
#[derive(Clone, Debug)]
struct LanesBegan {
    at: Instant,
    lanes: u32,
    cpu: Cpu,
    reads_the_web: bool,
    /// Waits for answers of another host, in ns, which are charged to names.
    answers: Option<Arc<AtomicU64>>,
}

impl LanesBegan {
    fn answers_ns(&self) -> u64 {
        self.answers.as_ref().map_or(0, |ns| ns.load(Ordering::Relaxed))
    }
}

/// The charges of a lane, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Charged([AtomicU64; STAGES]);

/// One counter on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(AtomicU64);

/// What trees hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeCounts {
    /// Files.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Names of any kind; `None` where an older version counted.
    pub names: Option<u64>,
}

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Bytes landed so far, those of files that fail later and those that were read back included.
    pub bytes: u64,
    /// Bytes that there are to move and to read back; `None` while unknown.
    pub bytes_total: Option<u64>,
    /// Files completed.
    pub files: u64,
    /// Bytes found to move so far, while a tree is walked; then all.
    pub bytes_found: u64,
    /// Files found to move so far, while a tree is walked; then all.
    pub files_found: u64,
    /// What there is in all, moved or not, once it was counted beside the copy.
    pub counted: Option<TreeCounts>,
    /// Names of trees that were compared with the target, whatever they are.
    pub names: u64,
    /// Bytes dealt with without being moved: of an earlier copy, or right as they stand. They are no part of the total.
    pub bytes_present: u64,
    /// Files dealt with without being moved.
    pub files_present: u64,
    /// Names removed so far.
    pub deleted: u64,
    /// Names that are to be removed; 0 where they were not counted.
    pub to_delete: u64,
    /// What the job does.
    pub phase: Phase,
    /// What bounds the move so far, as far as the lanes that write know, and those that give them what they ask for.
    pub limited_by: LimitedBy,
}

const UNKNOWN: u64 = u64::MAX;

impl Default for Watch {
    fn default() -> Watch {
        let lanes = (0..Options::LANES_MAX).map(|_| Padded::default()).collect();
        let charged = (0..Options::LANES_MAX).map(|_| OnceLock::new()).collect();
        Watch {
            lanes,
            total_bytes: AtomicU64::new(UNKNOWN),
            counters: Counters::default(),
            counted: OnceLock::new(),
            at_hand: AtHand::default(),
            phase: AtomicU8::new(Phase::default() as u8),
            is_shown: AtomicBool::new(false),
            charged,
            began: Mutex::default(),
            reported_limit: Mutex::default(),
        }
    }
}

impl Charged {
    fn store(&self, waits: &mut Waits) {
        self.0.iter().zip(waits.stages()).for_each(|(kept, ns)| kept.store(*ns, Ordering::Relaxed));
    }

    fn load(&self) -> Waits {
        let mut waits = Waits::default();
        self.0.iter().zip(waits.stages()).for_each(|(kept, ns)| *ns = kept.load(Ordering::Relaxed));
        waits
    }
}

impl Watch {
    /// The counters now.
    pub fn snapshot(&self) -> Snapshot {
        let total = self.total_bytes.load(Ordering::Relaxed);
        Snapshot {
            bytes: self.lanes.iter().map(|lane| lane.0.load(Ordering::Relaxed)).sum(),
            bytes_total: (total != UNKNOWN).then_some(total),
            files: self.counters.files.load(Ordering::Relaxed),
            bytes_found: self.counters.found_bytes.load(Ordering::Relaxed),
            files_found: self.counters.found_files.load(Ordering::Relaxed),
            counted: self.counted.get().copied(),
            names: self.counters.names.load(Ordering::Relaxed),
            bytes_present: self.counters.present_bytes.load(Ordering::Relaxed),
            files_present: self.counters.present_files.load(Ordering::Relaxed),
            deleted: self.counters.deleted.load(Ordering::Relaxed),
            to_delete: self.counters.to_delete.load(Ordering::Relaxed),
            phase: self.phase(),
            limited_by: self.limited_by(),
        }
    }

    /// The file at hand, as far as it can be said: one of those that are moved at the moment.
    pub fn at_hand(&self) -> Option<PathBuf> {
        self.at_hand.name()
    }

    /// A file was opened to be moved.
    pub fn opened(&self, name: &Path, bytes: u64) {
        self.at_hand.opened(name, bytes);
    }

    /// Another session begins: what earlier ones moved is there already, as an earlier run's is, and found so.
    pub fn restart(&self) {
        self.lanes.iter().for_each(|lane| lane.0.store(0, Ordering::Relaxed));
        self.counters.all().into_iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
        self.at_hand.set(None);
        self.enter(Phase::default());
        self.set_total(None);
    }

    /// Lanes begin on this host; `answers` counts how long those of another host are waited for.
    pub fn begin(&self, lanes: u32, reads_the_web: bool, answers: Option<Arc<AtomicU64>>) {
        self.charged.iter().filter_map(OnceLock::get).for_each(|lane| lane.store(&mut Waits::default()));
        let began = LanesBegan { at: Instant::now(), lanes, cpu: cpu_now(), reads_the_web, answers };
        *self.began.lock().expect("no panic while it is set") = Some(began);
    }

    /// What a lane has charged until now.
    pub fn charge(&self, lane: usize, mut waits: Waits) {
        self.charged[lane].get_or_init(Box::default).store(&mut waits);
    }

    fn limited_by(&self) -> LimitedBy {
        let reported = *self.reported_limit.lock().expect("no panic while it is set");
        reported.or_else(|| Some(self.limit_and_why()?.0)).unwrap_or_default()
    }

    fn limit_and_why(&self) -> Option<(LimitedBy, Why)> {
        let answers_ns = self.began()?.answers_ns();
        Some(limit_with_answers(&self.evidence()?, answers_ns))
    }

    fn began(&self) -> Option<LanesBegan> {
        self.began.lock().expect("no panic while it is set").clone()
    }

    /// What bounds the job, if that is at this host: these lanes write, and what they read comes from another one.
    pub fn limit_here(&self) -> Option<LimitedBy> {
        match self.limit_and_why()? {
            (LimitedBy::Source, why) if why != Why::RateLimit => None,
            (limit, _) => Some(limit),
        }
    }

    /// What the host that writes waits for, if these lanes read what it asks for: their source, their computing, or
    /// the way between. A lane that was asked for nothing did not wait for anything either.
    fn limit_of_reader(&self) -> LimitedBy {
        let Some(began) = self.began() else { return LimitedBy::Unknown };
        let asked = self.charges().filter(|waits| waits.source + waits.sink > 0);
        let (lanes, waits) =
            asked.fold((0, Waits::default()), |(lanes, sum), waits| (lanes + 1, sum.plus(&waits)));
        let Evidence { lanes_ns, lanes_cpu_ns, .. } = evidence_now(&began, lanes, waits);
        if lanes_cpu_ns as f64 >= CPU_FRACTION * (lanes_ns + waits.idle) as f64 {
            LimitedBy::Cpu
        } else if waits.source >= waits.sink.max(waits.idle) {
            LimitedBy::Source
        } else {
            LimitedBy::Network
        }
    }

    fn charges(&self) -> impl Iterator<Item = Waits> {
        self.charged.iter().filter_map(OnceLock::get).map(|lane| lane.load())
    }

    /// The evidence for what limits the lanes, as of now; `None` before they start.
    fn evidence(&self) -> Option<Evidence> {
        let began = self.began()?;
        let mut waits = self.charges().fold(Waits::default(), |sum, waits| sum.plus(&waits));
        waits.charge_answers(began.answers_ns());
        // Further lanes may have opened meanwhile.
        let lanes = began.lanes.max(self.charges().count() as u32);
        Some(evidence_now(&began, lanes, waits))
    }

    /// The counter of a lane.
    pub fn counter(&self, lane: usize) -> &AtomicU64 {
        &self.lanes[lane].0
    }

    /// A lane is the only writer of its counter: no locked instruction is needed.
    #[inline]
    pub fn lane_moved(counter: &AtomicU64, bytes: u64) {
        counter.store(counter.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    pub fn set_total(&self, bytes: Option<u64>) {
        self.total_bytes.store(bytes.unwrap_or(UNKNOWN), Ordering::Relaxed);
    }

    /// A file of a tree is to be moved.
    pub fn found(&self, bytes: u64) {
        self.counters.found_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.counters.found_files.fetch_add(1, Ordering::Relaxed);
    }

    /// The trees were walked to their ends: what was found is all.
    pub fn found_all(&self) {
        self.set_total(Some(self.counters.found_bytes.load(Ordering::Relaxed)));
    }

    /// All trees were counted beside the copy.
    pub fn set_counted(&self, counts: TreeCounts) {
        let _ = self.counted.set(counts);
    }

    /// A name of a tree is compared with the target.
    pub fn compares_name(&self) {
        self.counters.names.fetch_add(1, Ordering::Relaxed);
    }

    /// Somebody shows the counters: what is for that alone is worth its time.
    pub fn show_progress(&self) {
        self.is_shown.store(true, Ordering::Relaxed);
    }

    pub fn is_shown(&self) -> bool {
        self.is_shown.load(Ordering::Relaxed)
    }

    fn phase(&self) -> Phase {
        Phase::ALL.get(usize::from(self.phase.load(Ordering::Relaxed))).copied().unwrap_or_default()
    }

    /// From now on the job does this.
    pub fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// Files were dealt with without being moved, or bytes of them.
    pub fn add_present(&self, files: u64, bytes: u64) {
        self.counters.present_files.fetch_add(files, Ordering::Relaxed);
        self.counters.present_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Names that were compared have their turn once more.
    pub fn compares_again(&self, names: usize) {
        self.counters.names.fetch_sub(names as u64, Ordering::Relaxed);
    }

    /// So many names are to be removed.
    pub fn will_delete(&self, names: u64) {
        self.counters.to_delete.store(names, Ordering::Relaxed);
    }

    /// A name was removed.
    pub fn has_deleted(&self) {
        self.counters.deleted.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes of a file that there is nothing to do about, because an earlier run moved them. They are not moved.
    pub fn skipped(&self, bytes: u64) {
        self.add_present(0, bytes);
        let less = |total: u64| (total != UNKNOWN).then(|| total.saturating_sub(bytes));
        let _ = self.total_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Shows the counters of another host, which writes; `reader` counts the lanes that read what it requests.
    pub fn show_remote(&self, progress: &Progress, reader: &Watch) {
        let limit = progress.limited_by.as_deref().map(|words| LimitedBy::named(words).unwrap_or_default());
        *self.reported_limit.lock().expect("no panic while it is set") =
            Some(limit.unwrap_or_else(|| reader.limit_of_reader()));
        self.lanes[0].0.store(progress.bytes, Ordering::Relaxed);
        self.set_total(progress.bytes_total);
        self.counters.files.store(progress.files, Ordering::Relaxed);
        self.counters.found_bytes.store(progress.bytes_found, Ordering::Relaxed);
        self.counters.found_files.store(progress.files_found, Ordering::Relaxed);
        self.counters.present_bytes.store(progress.bytes_present.unwrap_or(0), Ordering::Relaxed);
        self.counters.present_files.store(progress.files_present.unwrap_or(0), Ordering::Relaxed);
        self.counters.names.store(progress.names.unwrap_or(0), Ordering::Relaxed);
        self.counters.deleted.store(progress.deleted.unwrap_or(0), Ordering::Relaxed);
        self.counters.to_delete.store(progress.to_delete.unwrap_or(0), Ordering::Relaxed);
        self.at_hand.set(progress.at_hand.as_ref().map(|name| shown(name.as_bytes()).into()));
        self.enter(progress.phase.as_deref().and_then(Phase::named).unwrap_or_default());
    }

    pub fn file_done(&self) {
        self.counters.files.fetch_add(1, Ordering::Relaxed);
    }
}

/// What bounds lanes that write, and why. Where they wait for the source, and most of that for answers about names, it is
/// the path. A rate limit is no wait for the source: of one the answers say nothing.
fn limit_with_answers(evidence: &Evidence, answers_ns: u64) -> (LimitedBy, Why) {
    let (limit, detail) = verdict(evidence);
    let reads = limit == LimitedBy::Source && detail.why != Why::RateLimit;
    let is_path = reads && answers_ns > 0 && answers_ns >= evidence.waits.source / 2;
    (if is_path { LimitedBy::Network } else { limit }, detail.why)
}

/// The evidence of lanes that still run, from their charges and the CPU time since they began.
fn evidence_now(began: &LanesBegan, lanes: u32, waits: Waits) -> Evidence {
    let elapsed_ns = began.at.elapsed().as_nanos() as u64;
    let lanes_ns = (elapsed_ns * u64::from(lanes)).saturating_sub(waits.idle);
    let cpu = cpu_since(began.cpu);
    // Calls compute, too; and a call that has not returned is charged to nobody yet.
    let lanes_cpu_ns = lanes_ns.saturating_sub(waits.total()).min(cpu.total_ns());
    Evidence {
        lanes_ns,
        waits,
        cpu,
        is_alone: false,
        lanes_cpu_ns,
        cpus_ns: elapsed_ns * u64::from(cpus()),
        held_fraction: 0.0,
        memory_held_fraction: 0.0,
        sealing_ns: 0,
        shared_device: false,
        source: EndCause::Device,
        target: EndCause::Device,
        reads_the_web: began.reads_the_web,
        in_kernel: false,
        did_something: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_about_names_are_the_path_and_a_rate_limit_is_not() {
        let began =
            LanesBegan { at: Instant::now(), lanes: 1, cpu: cpu_now(), reads_the_web: false, answers: None };
        let limit = |source, rate_limit, answers_ns| {
            let waits = Waits { source, rate_limit, ..Waits::default() };
            let evidence = Evidence { lanes_ns: 1000, lanes_cpu_ns: 0, ..evidence_now(&began, 1, waits) };
            limit_with_answers(&evidence, answers_ns).0
        };
        assert_eq!(limit(900, 0, 500), LimitedBy::Network);
        assert_eq!(limit(900, 0, 100), LimitedBy::Source);
        // A busy host answers late, and the copy waits for its rate all the same.
        assert_eq!(limit(100, 800, 90), LimitedBy::Source);
    }
}
