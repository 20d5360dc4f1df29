//! The folders that were walked as a tree: how one leads to another, and what becomes of those whose names are gone.
//!
//! Must not know: what folders are, how they are looked at.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};

use datapump_core::walked::{FolderNames, StoredNames};

use crate::folder::visited::{FolderKey, FolderStates, FolderStep, ROOT, Visited};

/// The folders in each folder.
type Children = HashMap<FolderKey, Vec<FolderKey>>;

impl FolderStates {
    fn children(&self) -> Children {
        let mut children = Children::new();
        for (folder, state) in self.of.iter().filter(|(folder, _)| **folder != ROOT) {
            children.entry(state.above).or_default().push(*folder);
        }
        children
    }

    /// Handles that a folder was listed to its end once more: its folders that are gone are forgotten with all below
    /// them, those that are others by now are guarded.
    pub(super) fn handle_walked_again(&mut self, folder: FolderKey, key_of: impl Fn(&OsStr) -> u64) {
        let Some(state) = self.of.get_mut(&folder).filter(|state| state.before.is_some()) else { return };
        // Both records are taken out, so that they stay in memory while they are compared.
        let (mut before, now) = (state.before.take(), std::mem::take(&mut state.names));
        if let Some(before) = &mut before {
            self.read(folder, before);
        }
        if let (Some(before), Some(now)) =
            (before.as_deref().and_then(StoredNames::in_memory), now.in_memory())
        {
            self.compare_walks(folder, before, now, key_of);
        }
        if let Some(state) = self.of.get_mut(&folder) {
            (state.before, state.names) = (before, now);
        }
    }

    /// Compares two walks of a folder: forgets folders that are gone, and guards one that was emptied and those that are others
    /// by now.
    fn compare_walks(
        &mut self,
        folder: FolderKey,
        before: &FolderNames,
        now: &FolderNames,
        key_of: impl Fn(&OsStr) -> u64,
    ) {
        self.met.handle_walked(before, now);
        if let Err(problem) = self.records.make_room_for_met(self.met.count()) {
            self.lacks.get_or_insert(problem);
        }
        if !before.is_empty() && now.is_empty() {
            self.guarded.insert(folder);
        }
        let is_gone = |child: &FolderKey| now.inode_of(key_of(&self.of[child].name)).is_none();
        let is_other = |child: &FolderKey| {
            let key = key_of(&self.of[child].name);
            now.inode_of(key).is_some() && now.inode_of(key) != before.inode_of(key)
        };
        if before.names().iter().all(|name| now.has_same(*name)) {
            return;
        }
        let children = self.children();
        let here = children.get(&folder).map_or(&[][..], Vec::as_slice);
        let mut gone: Vec<FolderKey> = here.iter().copied().filter(is_gone).collect();
        let others: Vec<FolderKey> = here.iter().copied().filter(is_other).collect();
        self.guarded.extend(others);
        while let Some(folder) = gone.pop() {
            gone.extend(children.get(&folder).into_iter().flatten());
            self.forget(folder);
            self.guarded.remove(&folder);
            self.forget_missed(folder);
        }
    }
}

impl Visited {
    /// The way through all folders below the root that were listed to their ends.
    pub(crate) fn steps_through(&self) -> impl Iterator<Item = FolderStep> + '_ {
        let children = self.states.lock().children();
        let mut open = vec![children.get(&ROOT).cloned().unwrap_or_default()];
        std::iter::from_fn(move || {
            loop {
                let here = open.last_mut()?;
                let Some(folder) = here.pop() else {
                    open.pop();
                    return (!open.is_empty()).then_some(FolderStep::Up);
                };
                if let Some(name) = self.name_if_whole(folder) {
                    open.push(children.get(&folder).cloned().unwrap_or_default());
                    return Some(FolderStep::Down(folder, name));
                }
            }
        })
    }

    fn name_if_whole(&self, folder: FolderKey) -> Option<OsString> {
        let states = self.states.lock();
        states.of.get(&folder).filter(|state| state.names.is_whole()).map(|state| state.name.clone())
    }

    /// The folder above one.
    pub(crate) fn above(&self, folder: FolderKey) -> FolderKey {
        self.states.lock().of.get(&folder).map_or(ROOT, |state| state.above)
    }

    /// The folders that lead from the root to this one, without the root, and their names.
    pub(crate) fn steps_from_root(&self, folder: FolderKey) -> Vec<(FolderKey, OsString)> {
        let states = self.states.lock();
        let (mut chain, mut next) = (Vec::new(), folder);
        while next != ROOT
            && let Some(state) = states.of.get(&next)
        {
            chain.push((next, state.name.clone()));
            next = state.above;
        }
        chain.reverse();
        chain
    }
}
