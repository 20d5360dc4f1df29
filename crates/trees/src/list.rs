//! When the list of a tree is started: with the tree, or before the first file that it writes.
//!
//! A run that leaves alone what is right (`--update`) may have nothing to do, and then writes nothing. As soon as it
//! writes a file it needs a list like any other: after a cut or a failed sync only that tells the next run what may
//! have the right size and time, and not the content.
//!
//! Must not know: what stands in a list (`journal`), how files are copied.

pub(crate) mod checkpoint;
pub(crate) mod header;
pub(crate) mod journal;
pub(crate) mod list_clock;
pub(crate) mod list_file;
pub(crate) mod sweep;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use datapump_engine::Errno;

use crate::list::header::SourceRoot;
use crate::list::journal::TreeJournal;
use crate::lock::StateLock;
use crate::problem::{Class, shown_path};
use crate::run::ledger::Ledger;
use crate::setup::options::Options;

/// A folder on each device that is written to, by device.
pub(crate) type Devices = StateLock<BTreeMap<u64, (PathBuf, Arc<File>)>>;

/// The list of a folder that trees are copied to, or none. Several trees that go to one folder have one.
#[derive(Debug, Default)]
pub(crate) struct List {
    journal: OnceLock<Option<TreeJournal>>,
    /// What it will be of.
    late: Option<(Arc<File>, PathBuf, SourceRoot)>,
    is_begun: AtomicBool,
    beginning: StateLock<()>,
    has_failed: AtomicBool,
}

impl List {
    /// It was begun with the tree; or nothing is written.
    pub(crate) fn started(journal: Option<TreeJournal>) -> Arc<List> {
        let is_begun = AtomicBool::new(true);
        Arc::new(List { journal: OnceLock::from(journal), is_begun, ..List::default() })
    }

    /// It is begun with the first file, in this root.
    pub(crate) fn late(folder: Arc<File>, path: &Path, source: SourceRoot) -> Arc<List> {
        Arc::new(List { late: Some((folder, path.to_path_buf(), source)), ..List::default() })
    }

    pub(crate) fn journal(&self) -> Option<&TreeJournal> {
        self.journal.get()?.as_ref()
    }

    /// Files are written and no list can be kept: nothing will tell a later run what the disk may not have.
    pub(crate) fn is_lacking(&self) -> bool {
        self.is_begun.load(Ordering::Acquire) && self.journal().is_none()
    }

    /// Something in one of its trees went wrong.
    pub(crate) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Whether nothing went wrong in any of its trees.
    pub(crate) fn is_whole(&self) -> bool {
        !self.has_failed.load(Ordering::Relaxed)
    }

    /// Begins the list where it is late, before a file is written, and has it watch its file systems. Further calls do
    /// nothing.
    pub(crate) fn begin(&self, ledger: &Ledger<'_>, options: &Options, devices: &Devices) {
        if self.is_begun.load(Ordering::Acquire) {
            return;
        }
        let _one_at_a_time = self.beginning.lock();
        let journal = self.journal.get_or_init(|| self.make_journal(ledger, options));
        for (&device, (path, folder)) in &*devices.lock() {
            journal.as_ref().inspect(|journal| journal.witness(device, folder, path));
        }
        self.is_begun.store(true, Ordering::Release);
    }

    /// The list, begun late; `None` where none can be kept (another copy has its list there, or the root takes no new
    /// names), with a warning. Then each file is synced before it gets its name: the list of another copy goes with
    /// that.
    fn make_journal(&self, ledger: &Ledger<'_>, options: &Options) -> Option<TreeJournal> {
        let (folder, path, source) = self.late.as_ref()?;
        match TreeJournal::begin(folder, path, source, options, false) {
            Ok(kept) => kept.report(ledger),
            Err(problem) => {
                let warning = format!(
                    "'{}': no list is kept, and each file is synced alone: {}",
                    shown_path(path),
                    problem.message
                );
                // The file that the list is for has hardly room, either.
                match problem.class {
                    Class::NoSpace => ledger.full.put_off(warning),
                    // Each file fails for that, and says so.
                    _ if problem.cause.map(Errno) == Some(Errno::EROFS) => {}
                    _ => ledger.warn(warning),
                }
                None
            }
        }
    }
}
