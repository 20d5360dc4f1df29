//! One run: what its lanes share, and how it becomes a report.
//!
//! Must not know: how a lane works, what a command line is.

pub mod block_host;
pub mod cause;
pub mod full;
pub mod gate;
pub mod hidden_target;
pub mod in_order_target;
pub mod ledger;
pub mod owner;
pub mod plan;
pub mod rate;
pub mod settings;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use datapump_core::verdict::Waits;
use datapump_engine::{Engine, Errno, Handle};

use crate::end::{Sink, Source};
use crate::file::task::{Finish, Task};
use crate::problem::{Operation, Problem};
use crate::report::AskedAndGot;
use crate::run::block_host::BlockHost;
use crate::run::gate::LaneGate;
use crate::run::ledger::Ledger;
use crate::run::rate::RateLimits;
use crate::run::settings::Settings;
use crate::setup::platform::EngineNeed;
use datapump_files::commit::compressed::Compressions;
use datapump_files::disk::{FileCalls, FileKind};

/// What the mover has of a run: what all its lanes share.
pub struct MoverRun<'run> {
    pub settings: Settings<'run>,
    pub ledger: Ledger<'run>,
    /// The host that blocks come from, where that is another.
    pub block_host: Option<Arc<dyn BlockHost>>,
    pub stop: Arc<AtomicBool>,
    /// Where lanes wait that a long path may need.
    pub gate: LaneGate,
    /// Which mounts compress.
    pub compressions: Compressions,
    /// Limits that all blocks obey.
    pub limits: RateLimits,
    pub live: Mutex<BTreeMap<u32, Arc<Task>>>,
    pub numbers: AtomicU32,
}

impl MoverRun<'_> {
    /// An engine for a lane of this run, and which one was requested.
    ///
    /// Errors: no memory for its slots.
    pub fn make_engine(&self, slots: u32, requests: u32) -> Result<(Engine, AskedAndGot), Problem> {
        let need = EngineNeed {
            choice: self.settings.options.tuning.engine,
            wait: self.settings.options.tuning.wait,
            slots,
            slot_bytes: self.settings.shape.request_bytes,
            requests,
            nothing_overlaps: self.settings.nothing_overlaps,
        };
        self.settings.platform.make_engine(&need, &self.stop)
    }

    /// Nothing more is begun: somebody asked for a stop, or the session with another host is lost.
    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
            || self.block_host.as_ref().is_some_and(|host| host.cancel().is_cut())
    }

    /// Does what is waited for deep among names, and charges its own stage for it.
    pub fn aside<T>(&self, stage: fn(&mut Waits) -> &mut u64, act: impl FnOnce() -> T) -> T {
        let clock = &self.settings.platform.clock;
        let start_ns = clock.charged_ns();
        let done = act();
        *stage(&mut self.ledger.tally().aside) += clock.charged_ns() - start_ns;
        done
    }

    /// A hash is taken of each file: it was asked for, or its blocks are hashed for the way over the network.
    pub fn hashes_files(&self) -> bool {
        self.settings.hashes || (self.block_host.is_some() && !self.settings.options.network.unhashed)
    }

    /// Digests of the source's blocks come instead of them where files are compared.
    pub fn compares_by_sums(&self) -> bool {
        let tells_sums = self.block_host.as_ref().is_some_and(|host| host.tells_sums());
        tells_sums && !self.settings.options.network.unhashed
    }

    pub fn next_number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub fn live(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<Task>>> {
        self.live.lock().expect("no panic while the list of files is locked")
    }

    /// Enters a file as one that is moved now, and shows it. Of one that the user named its devices and pipes are noted for the
    /// report.
    pub fn begin(&self, task: &Arc<Task>) {
        self.live().insert(task.number, Arc::clone(task));
        self.ledger.watch.opened(&task.target_name, task.expected_bytes());
        if !task.is_named() {
            return; // its tree has told
        }
        let source = task.original.as_ref().and_then(|original| original.held.here());
        let magic = source.map_or(0, |handle| handle.room().magic);
        let mut tally = self.ledger.tally();
        tally.source_is_pipe |= matches!(&task.source, Source::Stream(handle) if is_pipe(handle));
        tally.target_is_pipe |= matches!(&task.sink, Sink::Stream(handle) if is_pipe(handle));
        if let Some(original) = &task.original {
            tally.note_source(original.meta.device, magic);
        }
        if let Finish::Commit(staged) = &task.finish
            && let Ok(meta) = staged.handle.meta()
        {
            tally.target_devices.insert(meta.device);
        }
    }

    /// Files that were begun and are neither complete nor given up.
    pub fn unfinished(&self) -> Vec<Arc<Task>> {
        std::mem::take(&mut *self.live()).into_values().collect()
    }

    /// A problem that the system reported for a transfer; a full disk tells how much room is left.
    pub fn system_problem(&self, operation: Operation, name: &Path, errno: i32, task: &Task) -> Problem {
        let mut problem = Problem::system(operation, name, errno);
        if let Finish::Commit(staged) = &task.finish {
            let needed = Some(task.length()).filter(|&bytes| bytes != u64::MAX);
            problem = staged.rooms().explain(problem, needed);
        }
        if errno == Errno::EOPNOTSUPP.0 && self.settings.options.tuning.uncached {
            let hint = "this file system has no uncached I/O; leave out --uncached";
            problem.message = format!("{}; {hint}", problem.message);
        }
        problem
    }
}

/// Somebody else fills or empties it.
fn is_pipe(handle: &Handle) -> bool {
    handle.meta().is_ok_and(|meta| matches!(meta.kind, FileKind::Fifo | FileKind::Socket))
}
