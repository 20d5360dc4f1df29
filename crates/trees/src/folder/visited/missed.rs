//! Names of walked folders that were not copied because they changed: what follows on that, and the problems, which count
//! only if the names are not copied in a further walk of their folders.
//!
//! Must not know: how it is found out that a name changed, when folders are walked again.

use std::ffi::{OsStr, OsString};

use datapump_core::walked::MissedName;

use crate::folder::visited::record_store::WhichWalk;
use crate::folder::visited::{FolderKey, FolderStates, Visited};
use crate::problem::Problem;

/// So many problems are kept for later: 1 MiB at most. Those behind them are reported at once, and count.
const PROBLEMS_MAX: usize = 256;

/// Names of one folder that were not copied when it was walked last.
#[derive(Debug, Default)]
pub(super) struct MissedNames {
    /// Some changed, so that the folder counts as changed.
    has_changed: bool,
    /// The first because of which nothing is removed.
    keeps_all: Option<OsString>,
    problems: Vec<Problem>,
}

impl FolderStates {
    /// The folder is walked again, or gone: its names are dealt with anew.
    pub(super) fn forget_missed(&mut self, folder: FolderKey) {
        if let Some(missed) = self.missed.remove(&folder) {
            self.problems_kept -= missed.problems.len();
        }
    }
}

impl Visited {
    /// Notes a name that was not copied: it is new once the folder is walked again. Gives the problem back where it is to be
    /// reported at once.
    pub(crate) fn note_missed(
        &self,
        folder: FolderKey,
        name: &OsStr,
        missed: MissedName,
        problem: Problem,
    ) -> Option<Problem> {
        let mut states = self.states.lock();
        if !states.of.contains_key(&folder) {
            return Some(problem);
        }
        // It must be read before it changes.
        if states.names(folder, WhichWalk::Last).is_some() {
            states.change(folder, |state| state.names.miss(self.key_of(name)));
        }
        let has_room = states.problems_kept < PROBLEMS_MAX;
        states.problems_kept += usize::from(has_room);
        let names = states.missed.entry(folder).or_default();
        if let MissedName::Changed { keeps_all } = missed {
            names.has_changed = true;
            if keeps_all {
                names.keeps_all.get_or_insert_with(|| name.to_owned());
            }
        }
        if !has_room {
            return Some(problem);
        }
        names.problems.push(problem);
        None
    }

    /// Whether a name was not copied when its folder was walked before.
    pub(crate) fn was_missed(&self, folder: FolderKey, name: &OsStr) -> bool {
        let mut states = self.states.lock();
        let before = states.names(folder, WhichWalk::Before);
        before.is_some_and(|before| before.is_missed(self.key_of(name)))
    }

    /// Folders with names that changed while they were copied, and whether one of them keeps all.
    pub(crate) fn with_missed(&self) -> Vec<(FolderKey, bool)> {
        let states = self.states.lock();
        let changed = states.missed.iter().filter(|(_, names)| names.has_changed);
        changed.map(|(folder, names)| (*folder, names.keeps_all.is_some())).collect()
    }

    /// The first name of a folder because of which nothing is removed.
    pub(crate) fn first_that_keeps_all(&self, folder: FolderKey) -> Option<OsString> {
        self.states.lock().missed.get(&folder)?.keeps_all.clone()
    }

    /// The problems with names that were not copied, which count from now on.
    pub(crate) fn take_problems(&self) -> Vec<Problem> {
        let mut states = self.states.lock();
        states.problems_kept = 0;
        states.missed.values_mut().flat_map(|names| std::mem::take(&mut names.problems)).collect()
    }
}
