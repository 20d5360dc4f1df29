//! Looks at all folders of a source until what was walked is what the source was at one moment, or until it is known
//! which folders are restless.
//!
//! A file may have moved from a folder that was walked later to one that was walked before: it is in neither record,
//! and its old name at the target is the only copy. So nothing is removed before all folders were looked at, behind the
//! walk. If none changed since it was walked, the record is what the source was when the first look began: what it does
//! not have was not there. What changed is walked again, and its new names are copied; then all are looked at again.
//!
//! After `PASSES` passes what the last of them walked is restless, if the looks behind it show no change elsewhere: all
//! other folders stayed as recorded from before that walk until after it, so that a file which none of them has was in
//! a restless one, or gone. Else there is another pass, and after `PASSES_MAX` nothing is removed at all. Restless
//! folders keep their own names; of the others those stay that some folder got or lost since it was walked first
//! ([`MovingNames`]): they may be on their way.
//!
//! A file that changed while it was copied makes its folder a changed one, whatever the folder's times say. As long as
//! the target has no copy of it there are further passes, up to `PASSES_MAX`; then nothing is removed, since an old
//! name at the target may be its only copy.
//!
//! Must not know: how folders are looked at and walked.

use std::collections::BTreeSet;

use super::FolderNames;

/// So many passes for the source to become quiet.
const PASSES: u32 = 3;
/// So many where each finds other folders changed.
const PASSES_MAX: u32 = 6;

/// A folder of one of the trees of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FolderOfTree {
    /// Which tree.
    pub tree: usize,
    /// The folder's key.
    pub key: u64,
}

/// Changes that looks at all folders of a source found behind a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LooksFound {
    /// Folders that are not what they were when they were walked, and those with files that changed meanwhile.
    pub changed: BTreeSet<FolderOfTree>,
    /// Those of them with files that changed and of which the target has no copy.
    pub uncopied: BTreeSet<FolderOfTree>,
}

/// The step behind a look at all folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextPass {
    /// These are walked again, and all are looked at behind that.
    WalkAgain(BTreeSet<FolderOfTree>),
    /// Names that are too much may go, but for what lies in these folders.
    Remove(BTreeSet<FolderOfTree>),
    /// Nothing may go: other folders change each time.
    Nothing(BTreeSet<FolderOfTree>),
    /// Nothing may go: files in these folders change each time, and have no copy at the target.
    Uncopied(BTreeSet<FolderOfTree>),
}

/// The passes of a command.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    count: u32,
    walked_last: BTreeSet<FolderOfTree>,
}

impl Passes {
    /// All folders were looked at. A dry run walks nothing again.
    pub fn handle_looks(&mut self, found: LooksFound, walks_again: bool) -> NextPass {
        let LooksFound { mut changed, uncopied } = found;
        changed.extend(&uncopied);
        if changed.is_empty() || !walks_again {
            return if uncopied.is_empty() {
                NextPass::Remove(changed)
            } else {
                NextPass::Uncopied(uncopied)
            };
        }
        let is_quiet_elsewhere = changed.is_subset(&self.walked_last);
        if self.count >= PASSES && is_quiet_elsewhere && uncopied.is_empty() {
            return NextPass::Remove(self.walked_last.clone());
        }
        if self.count >= PASSES_MAX {
            let keeps_all = is_quiet_elsewhere && !uncopied.is_empty();
            return if keeps_all { NextPass::Uncopied(uncopied) } else { NextPass::Nothing(changed) };
        }
        if self.count >= PASSES {
            // Folders that change in turns are restless together.
            changed.extend(&self.walked_last);
        }
        self.count += 1;
        self.walked_last.clone_from(&changed);
        NextPass::WalkAgain(changed)
    }
}

/// Names that folders got or lost between two walks of a command: what they are of may be on its way.
///
/// A name that was there when its folder was walked first, and is gone, may be on its way although no other folder has
/// its inode yet: it may have moved twice. So it counts, whether its inode was met again or not.
#[derive(Clone, Debug, Default)]
pub struct MovingNames(BTreeSet<u64>);

impl MovingNames {
    /// A folder was walked again.
    pub fn handle_walked(&mut self, before: &FolderNames, now: &FolderNames) {
        let only_in = |one: &FolderNames, other: &FolderNames| -> Vec<u64> {
            one.names().iter().filter(|name| !other.has_same(**name)).map(|name| name.key).collect()
        };
        self.0.extend(only_in(now, before));
        self.0.extend(only_in(before, now));
    }

    /// Names that were met.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether a name of the target may be on its way in the source.
    pub fn may_have(&self, key: u64) -> bool {
        self.0.contains(&key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(keys: &[u64]) -> BTreeSet<FolderOfTree> {
        keys.iter().map(|&key| FolderOfTree { tree: 0, key }).collect()
    }

    /// The last step, and the passes before it, where these are found changed and without a copy again and again.
    fn ends(found: impl Fn(u32) -> (Vec<u64>, Vec<u64>)) -> (NextPass, u32) {
        let mut passes = Passes::default();
        loop {
            let (changed, uncopied) = found(passes.count);
            let found = LooksFound { changed: folders(&changed), uncopied: folders(&uncopied) };
            match passes.handle_looks(found, true) {
                NextPass::WalkAgain(_) => {}
                end => return (end, passes.count),
            }
        }
    }

    #[test]
    fn a_source_is_walked_until_it_is_quiet_or_known_to_be_restless() {
        let none = Vec::new;
        assert_eq!(ends(|_| (none(), none())), (NextPass::Remove(folders(&[])), 0), "quiet");
        assert_eq!(ends(|_| (vec![1], none())), (NextPass::Remove(folders(&[1])), PASSES), "restless");
        let in_turns = ends(|pass| (vec![u64::from(pass % 2)], none()));
        assert_eq!(in_turns, (NextPass::Remove(folders(&[0, 1])), PASSES + 1), "restless in turns");
        let all = (0..=u64::from(PASSES_MAX)).collect::<Vec<_>>();
        let (end, count) = ends(|pass| (vec![u64::from(pass)], none()));
        assert_eq!((end, count), (NextPass::Nothing(folders(&all[6..])), PASSES_MAX), "another each time");
    }

    /// Names were removed and others copied behind that: all is looked at once more, before more is removed.
    #[test]
    fn a_further_look_finds_the_same_folders_restless() {
        let mut passes = Passes::default();
        let mut look = |changed: &[u64]| {
            passes.handle_looks(LooksFound { changed: folders(changed), ..LooksFound::default() }, true)
        };
        (0..PASSES).for_each(|_| drop(look(&[1])));
        for _ in 0..2 {
            assert_eq!(look(&[1]), NextPass::Remove(folders(&[1])));
        }
        assert_eq!(look(&[1, 2]), NextPass::WalkAgain(folders(&[1, 2])), "another changed meanwhile");
        assert_eq!(look(&[1]), NextPass::Remove(folders(&[1, 2])));
    }

    #[test]
    fn a_file_without_a_copy_has_all_passes_and_then_keeps_all() {
        let changes = |until: u32| ends(move |pass| (vec![1], if pass < until { vec![2] } else { vec![] }));
        assert_eq!(changes(1), (NextPass::Remove(folders(&[1])), PASSES), "copied in the first pass");
        assert_eq!(changes(5), (NextPass::Remove(folders(&[1, 2])), 5), "copied late");
        assert_eq!(changes(9), (NextPass::Uncopied(folders(&[2])), PASSES_MAX), "never copied");
        let dry = LooksFound { changed: folders(&[1]), uncopied: folders(&[2]) };
        assert_eq!(Passes::default().handle_looks(dry, false), NextPass::Uncopied(folders(&[2])));
    }
}
