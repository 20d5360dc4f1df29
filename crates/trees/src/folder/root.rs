//! One tree of a job: the source folder that the user named, and where it goes.
//!
//! Must not know: what lies in it.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_core::journal::PathSum;

use crate::folder::alive::Alive;
use crate::folder::backup_place::BackupPlace;
use crate::folder::visited::{FolderKey, Visited};
use crate::list::List;
use crate::list::header::SourceRoot;
use crate::list::journal::TreeJournal;
use crate::lock::StateLock;
use crate::problem::Problem;
use crate::run::ledger::Ledger;
use datapump_files::disk::Meta;

/// A folder at the target in whose place a name of the source is to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InTheWay {
    /// The name waits.
    Waits,
    /// It was removed, or would be by a dry run.
    Clear,
    /// It stays: not all in it may be removed, or could be.
    Held,
    /// It stays: something else was not copied.
    NotAllCopied,
    /// It stays: the source was not quiet.
    Restless,
}

/// The root of names that the user gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NamedRoot {
    /// The one file of the command: it is synced by itself, not with all of its file system.
    pub(crate) is_alone: bool,
    /// What it names lies in no folder of the source.
    pub(crate) is_lone: bool,
}

/// A tree.
#[derive(Debug)]
pub(crate) struct Root {
    /// Folders on other devices are left out with `one_file_system`.
    pub(crate) source_device: u64,
    /// Where it goes, as the user named it.
    pub(crate) target_path: PathBuf,
    /// Device and inode of the target's root: it must not be copied into itself.
    pub(crate) target_id: Option<(u64, u64)>,
    pub(crate) list: Arc<List>,
    /// The list is that of an earlier source, which goes to the same folder.
    pub(crate) shares_list: bool,
    /// The source that the list is of: it may be another of those that go to the same folder.
    pub(crate) list_source: Option<SourceRoot>,
    /// Where its names begin on the list.
    pub(crate) path_sum: PathSum,
    /// What its folders were when they were walked.
    pub(crate) visited: Visited,
    /// Folders at the target that are removed before names of the source can be copied there.
    pub(crate) in_the_way: StateLock<HashMap<FolderKey, InTheWay>>,
    /// Its folders that are on their way.
    pub(crate) alive: Alive,
    /// The folder that the target's root was made in.
    pub(crate) made_in: Option<Arc<File>>,
    /// Where what is replaced goes.
    pub(crate) backups: BackupPlace,
    /// Nothing is compared only.
    pub(crate) is_copied: bool,
    /// What exists at the target may be of another source of the same command.
    pub(crate) shares_target: bool,
    /// Paths that patterns are matched against begin with this: mostly nothing.
    pub(crate) patterns_above: PathBuf,
    /// The number of its source among those that the user named.
    pub(crate) number: u32,
    /// Names that the user gave, where the root is no tree but the folder that holds them.
    pub(crate) named: Option<NamedRoot>,
}

impl Root {
    /// The root of a tree that is copied to this target, with no backups, no records and number 0.
    pub(crate) fn new(source: &Meta, target_path: &Path, target: Option<&Meta>, list: Arc<List>) -> Root {
        let target_id = target.map(|meta| (meta.device, meta.inode));
        Root {
            source_device: source.device,
            target_path: target_path.to_path_buf(),
            target_id,
            list,
            shares_list: false,
            list_source: None,
            path_sum: PathSum::ROOT,
            visited: Visited::default(),
            in_the_way: StateLock::default(),
            alive: Alive::default(),
            made_in: None,
            backups: BackupPlace::default(),
            is_copied: true,
            shares_target: false,
            patterns_above: PathBuf::new(),
            number: 0,
            named: None,
        }
    }

    /// Whether a folder at the target is in the way of a name that waits for it to go.
    pub(crate) fn is_in_the_way(&self, key: FolderKey) -> bool {
        self.in_the_way.lock().get(&key) == Some(&InTheWay::Waits)
    }

    /// The wait for a folder is over.
    pub(crate) fn end_wait(&self, key: FolderKey, end: InTheWay) {
        if let Some(state) = self.in_the_way.lock().get_mut(&key) {
            *state = end;
        }
    }

    /// What was committed. `None` where nothing is written, or not yet.
    pub(crate) fn journal(&self) -> Option<&TreeJournal> {
        self.list.journal()
    }

    /// Something in the tree went wrong: it is told, and the trees of its list are not whole.
    pub(crate) fn report(&self, ledger: &Ledger<'_>, problem: Problem) {
        self.fail();
        ledger.report(problem);
    }

    /// A name was not copied because it changed or vanished, in all walks of its folder: others need not stay for that.
    pub(crate) fn report_missed(&self, ledger: &Ledger<'_>, problem: Problem) {
        ledger.tally().walked_again += 1;
        self.report(ledger, problem);
    }

    /// Whether it is no tree, but the folder that holds names which the user gave.
    pub(crate) fn is_named(&self) -> bool {
        self.named.is_some()
    }

    /// Whether no list will tell a later run what the disk may not have, and each file is synced by itself for that.
    /// Names that the user gave have no list in any case: all of them are synced at the end.
    pub(crate) fn syncs_each(&self) -> bool {
        self.named.map_or_else(|| self.list.is_lacking(), |named| named.is_alone)
    }

    pub(crate) fn fail(&self) {
        self.list.fail();
    }
}
