//! Live counters of a running job, for whoever shows progress.
//!
//! Each lane writes its own counter with a plain store; readers add them up. Nothing is locked on the data path.
//!
//! Must not know: how progress is shown.

use std::sync::atomic::{AtomicU64, Ordering};

use datapump_core::wire::session::Progress;

use crate::options::Options;

/// Counters of one job; share it with [`crate::Job::watch`] and read it from another thread.
#[derive(Debug)]
pub struct Watch {
    lanes: Box<[Padded]>,
    total_bytes: AtomicU64,
    files: AtomicU64,
    found_bytes: AtomicU64,
    found_files: AtomicU64,
}

/// One counter on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded(AtomicU64);

/// The counters at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

const UNKNOWN: u64 = u64::MAX;

impl Default for Watch {
    fn default() -> Watch {
        let lanes = (0..Options::LANES_MAX).map(|_| Padded::default()).collect();
        let [files, found_bytes, found_files] = [0; 3].map(AtomicU64::new);
        Watch { lanes, total_bytes: AtomicU64::new(UNKNOWN), files, found_bytes, found_files }
    }
}

impl Watch {
    /// The counters now.
    pub fn snapshot(&self) -> Snapshot {
        let total = self.total_bytes.load(Ordering::Relaxed);
        Snapshot {
            bytes: self.lanes.iter().map(|lane| lane.0.load(Ordering::Relaxed)).sum(),
            bytes_total: (total != UNKNOWN).then_some(total),
            files: self.files.load(Ordering::Relaxed),
            bytes_found: self.found_bytes.load(Ordering::Relaxed),
            files_found: self.found_files.load(Ordering::Relaxed),
        }
    }

    /// The counter of a lane.
    pub(crate) fn counter(&self, lane: usize) -> &AtomicU64 {
        &self.lanes[lane].0
    }

    /// A lane is the only writer of its counter: no locked instruction is needed.
    #[inline]
    pub(crate) fn lane_moved(counter: &AtomicU64, bytes: u64) {
        counter.store(counter.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    pub(crate) fn set_total(&self, bytes: Option<u64>) {
        self.total_bytes.store(bytes.unwrap_or(UNKNOWN), Ordering::Relaxed);
    }

    /// A file of a tree is to be moved.
    pub(crate) fn found(&self, bytes: u64) {
        self.found_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.found_files.fetch_add(1, Ordering::Relaxed);
    }

    /// The trees were walked to their ends: what was found is all.
    pub(crate) fn found_all(&self) {
        self.set_total(Some(self.found_bytes.load(Ordering::Relaxed)));
    }

    /// Bytes of a file that there is nothing to do about, because an earlier run moved them.
    pub(crate) fn skipped(&self, bytes: u64) {
        let less = |total: u64| (total != UNKNOWN).then(|| total.saturating_sub(bytes));
        let _ = self.total_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// What another host tells of its counters.
    pub(crate) fn show(&self, told: &Progress) {
        self.lanes[0].0.store(told.bytes, Ordering::Relaxed);
        self.set_total(told.bytes_total);
        self.files.store(told.files, Ordering::Relaxed);
        self.found_bytes.store(told.bytes_found, Ordering::Relaxed);
        self.found_files.store(told.files_found, Ordering::Relaxed);
    }

    pub(crate) fn file_done(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }
}
