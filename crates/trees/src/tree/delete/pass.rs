//! One walk over the target: names that are too much are counted, or removed.
//!
//! Must not know: what was found out about the source, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_core::name::{
    KnownFacts, LeaveReason, NameAction, NameFact, NameMachine, NameOptions, NamePurpose, NameStep, Recorded,
};
use datapump_core::walked::{FolderOfTree, StayReason, judge_staying};
use datapump_engine::Errno;

use super::place::{DeletePlace, PlacedSource};
use crate::folder::directory::Directory;
use crate::folder::root::InTheWay;
use crate::folder::side::FolderSide;
use crate::folder::visited::{FolderKey, ROOT};
use crate::listed::{self, Name};
use crate::problem::{Class, Operation, Problem};
use crate::report::change::deletion;
use crate::tree::Shared;
use crate::tree::backup::{self, BackupSource, TakenName, UndoRename};
use crate::tree::state::in_the_way::FoldersInTheWay;
use crate::units::counted;
use datapump_files::attributes;
use datapump_files::commit::final_name;
use datapump_files::commit::reserved::LIST_NAME;
use datapump_files::disk::{AttributeHolder, FileKind, names};
use datapump_files::identity::{FileId, id};

/// The purpose of a walk over the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeleteStep {
    /// How many names are to go.
    Count,
    Remove,
}

/// Names that stay because the source was not quiet.
#[derive(Debug, Default)]
pub(super) struct KeptNames {
    /// Of each restless folder its own.
    pub(super) own: BTreeMap<FolderOfTree, u64>,
    /// Of others those that may be on their way.
    pub(super) on_their_way: u64,
}

/// One walk over the target.
pub(super) struct DeletePass<'run> {
    pub(super) shared: &'run Shared<'run>,
    pub(super) step: DeleteStep,
    pub(super) all: &'run [Arc<Directory>],
    /// Folders that keep their own names.
    pub(super) restless: BTreeSet<FolderOfTree>,
    /// A name that moved meanwhile may be where nobody looked: in a restless folder, or in one that is another by now.
    pub(super) keeps_moving: bool,
    pub(super) kept: KeptNames,
    /// The pass deals with folders in the way alone, and with what is in them.
    pub(super) ways: Option<&'run FoldersInTheWay>,
    /// Those from which all may be removed, as this pass found.
    pub(super) clear: BTreeSet<FolderOfTree>,
    /// Something stays whether the source is quiet or not.
    pub(super) holds: bool,
    /// Something stays because the source was not quiet.
    pub(super) keeps_for_now: bool,
    /// Folders of the tree at hand below which nothing goes.
    guarded: BTreeSet<FolderKey>,
    tree: usize,
    /// Those of earlier sources that go to the same folder.
    merged: Vec<&'run Directory>,
    pub(super) found: u64,
    /// A folder of the source lies in what is to go. It was reported.
    pub(super) is_refused: bool,
    /// Device and inode numbers of all folders of the source, sorted; found out when something is removed.
    pub(super) walked_ids: Option<Vec<FileId>>,
}

/// A name of the target that is decided.
struct DecidedName {
    action: NameAction,
    kind: FileKind,
    /// The folder to look into.
    place: Option<Box<DeletePlace>>,
}

impl DecidedName {
    /// Something goes, because the source does not have it.
    fn is_final(&self) -> bool {
        matches!(self.action, NameAction::Remove | NameAction::RemovePartial | NameAction::EnterExtra)
    }
}

impl<'run> DeletePass<'run> {
    /// A pass over the targets that has found nothing yet.
    pub(super) fn new(
        shared: &'run Shared<'run>,
        step: DeleteStep,
        all: &'run [Arc<Directory>],
    ) -> DeletePass<'run> {
        DeletePass {
            shared,
            step,
            all,
            restless: BTreeSet::new(),
            keeps_moving: false,
            kept: KeptNames::default(),
            ways: None,
            clear: BTreeSet::new(),
            holds: false,
            keeps_for_now: false,
            guarded: BTreeSet::new(),
            tree: 0,
            merged: Vec::new(),
            found: shared.trees.pruning.lock().removed,
            is_refused: false,
            walked_ids: None,
        }
    }

    pub(super) fn removes(&self) -> bool {
        self.step == DeleteStep::Remove && !self.shared.settings.options.dry_run
    }

    /// Errors: the names of some folder of the source are not known, so that nothing is removed.
    pub(super) fn check_names_known(&self) -> Result<(), Problem> {
        let Some(problem) = self.all.iter().find_map(|root| root.root.visited.lacks()) else { return Ok(()) };
        let removed = match self.step {
            DeleteStep::Count => "nothing is removed",
            DeleteStep::Remove => "nothing more is removed",
        };
        let words = format!(
            "the names of the source do not all fit in memory, and without them {removed} (--delete): {}",
            problem.message
        );
        Err(Problem { message: words, operation: Operation::Delete, ..problem })
    }

    /// Walks the target of one tree, and counts or removes what the source does not have.
    pub(super) fn delete_in_tree(&mut self, tree: usize, root: &Directory) -> Result<(), Problem> {
        (self.tree, self.guarded) = (tree, root.root.visited.guarded());
        let (all, target_id) = (self.all, root.root.target_id);
        let earlier = all[..tree].iter().map(|earlier| &**earlier);
        self.merged = earlier.filter(|earlier| earlier.root.target_id == target_id).collect();
        if self.is_guarded(ROOT) {
            return Ok(());
        }
        let Some(target) = &root.target else { return Ok(()) };
        let source = Some(PlacedSource::root(&root.source));
        let mut open = vec![DeletePlace::new(&root.root, source, Arc::clone(target), ROOT)];
        while let Some(here) = open.last_mut() {
            if self.shared.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let folder = here.target.file()?;
            let (names, cookie) = if here.target.is_unseen() {
                (Vec::new(), here.cookie)
            } else {
                listed::list(&folder, here.cookie)
                    .map_err(|errno| Problem::system(Operation::List, &here.target.path(), errno.0))?
            };
            here.cookie = cookie;
            let below = if names.is_empty() { None } else { self.delete_batch(here, &folder, &names)? };
            let above = open.len() - 1;
            match below {
                Some(below) => open.extend(below.into_iter().map(|below| DeletePlace { above, ..below })),
                None => {
                    let done = open.pop().expect("looked at above");
                    self.leave_folder(&done, open.get_mut(done.above))?;
                }
            }
        }
        Ok(())
    }

    /// Deals with names of a folder; gives the folders to look into, or nothing where it shows a folder of the source.
    fn delete_batch(
        &mut self,
        here: &mut DeletePlace,
        folder: &Arc<File>,
        names: &[Name],
    ) -> Result<Option<Vec<DeletePlace>>, Problem> {
        let decided = names.iter().map(|name| self.decide(here, folder, name));
        let decided: Vec<DecidedName> = decided.collect::<Result<_, _>>()?;
        // Names that could not be read again were not judged.
        self.check_names_known()?;
        if decided.iter().any(DecidedName::is_final) && self.is_shown_in_source(here, folder) {
            return Ok(None);
        }
        let mut below = Vec::new();
        for (name, DecidedName { action, kind, place }) in names.iter().zip(decided) {
            match action {
                NameAction::Keep => (here.keeps_some, self.holds) = (true, true),
                NameAction::KeepForNow => (here.keeps_some, self.keeps_for_now) = (true, true),
                NameAction::Enter | NameAction::EnterExtra => below.extend(place.map(|place| *place)),
                NameAction::RemovePartial => self.remove_leftover(here, folder, &name.name)?,
                NameAction::Remove if self.removes() && !self.set_aside(here, folder, &name.name) => {
                    here.keeps_some = true;
                }
                NameAction::Remove => {
                    self.remove(&here.target, folder, &name.name, kind)?;
                    here.removed_some = true;
                    if self.has_backups_beside() {
                        (here.keeps_some, self.holds) = (true, true);
                    }
                }
                // It is right.
                _ => {}
            }
        }
        Ok(Some(below))
    }

    /// Whether what is removed from a folder stays in it as a backup.
    fn has_backups_beside(&self) -> bool {
        self.shared.settings.options.backup.as_ref().is_some_and(|backup| backup.folder.is_none())
    }

    /// Asks the name machine, and finds the facts that it needs.
    fn decide(
        &mut self,
        here: &mut DeletePlace,
        folder: &Arc<File>,
        name: &Name,
    ) -> Result<DecidedName, Problem> {
        let (root, kind) = (Arc::clone(&here.root), self.kind(here, folder, name)?);
        let (visited, mut place, mut written) = (&root.visited, None, None);
        let key = visited.below(here.key, &name.name);
        let ways = self.ways.filter(|_| here.source.is_some());
        let leads_elsewhere = ways.is_some_and(|ways| !ways.lead_to(FolderOfTree { tree: self.tree, key }));
        if leads_elsewhere || self.is_judged(here, name, kind) {
            return Ok(DecidedName { action: NameAction::Leave(LeaveReason::HasSource), kind, place });
        }
        let flags = NameOptions { purpose: NamePurpose::Delete, ..self.shared.trees.flags };
        let facts = KnownFacts {
            kind: Some(kind),
            leads_to_folder_in_the_way: ways.is_some(),
            ..KnownFacts::default()
        };
        let mut machine = NameMachine::with_facts(&flags, facts);
        loop {
            let fact = match machine.poll() {
                NameStep::Find(fact) => fact,
                NameStep::Perform(action) => return Ok(DecidedName { action, kind, place }),
            };
            let facts = &mut machine.facts;
            match fact {
                NameFact::IsProtected => {
                    facts.is_protected = Some(self.is_protected(here, folder, name, kind));
                }
                NameFact::Selected => facts.is_selected = Some(self.is_selected(here, name, kind)),
                NameFact::Recorded => facts.recorded = Some(here.recorded_entry(&name.name, key)),
                NameFact::IsInTheWay => facts.is_in_the_way = Some(root.is_in_the_way(key)),
                NameFact::OtherSpelling => {
                    written = here.name_in_source(folder, name)?;
                    facts.other_spelling = Some(match &written {
                        None => Recorded::No,
                        Some(written) if visited.has(visited.below(here.key, written)) => Recorded::Folder,
                        Some(_) => Recorded::Other,
                    });
                }
                NameFact::IsRestless => facts.is_restless = Some(self.stays_for_now(here, &name.name)),
                NameFact::MayDestroy => {
                    facts.may_destroy = Some(!self.is_needed(here, folder, &name.name, kind));
                }
                NameFact::PartialFile => {
                    facts.partial_file = Some(self.partial_file(here, folder, &name.name));
                }
                // No rule of deletion asks for another one.
                _ => {
                    let has_folder =
                        facts.is_selected == Some(true) && facts.recorded == Some(Recorded::Folder);
                    place = if has_folder || written.is_some() {
                        self.common_folder(here, &name.name, written.as_deref().unwrap_or(&name.name))?
                    } else {
                        self.extra_folder(here, folder, &name.name, key)?
                    };
                    facts.is_elsewhere = Some(place.is_none());
                }
            }
        }
    }

    /// Whether a name that the source does not have lies in a folder of an earlier source, too: it was judged with that.
    fn is_judged(&self, here: &DeletePlace, name: &Name, kind: FileKind) -> bool {
        let is_too_much = || {
            let is_recorded = here.root.visited.has_name(here.key, &name.name) == Some(true);
            !(is_recorded && self.is_selected(here, name, kind))
        };
        here.source.is_some()
            && self.merged.iter().any(|earlier| earlier.root.visited.has(here.key))
            && is_too_much()
    }

    fn is_guarded(&mut self, key: FolderKey) -> bool {
        let is_guarded = self.guarded.contains(&key);
        self.keeps_for_now |= is_guarded;
        is_guarded
    }

    /// Whether a name stays because the source was not quiet, which is counted.
    fn stays_for_now(&mut self, here: &DeletePlace, name: &OsStr) -> bool {
        let folder = FolderOfTree { tree: self.tree, key: here.key };
        let is_on_its_way = || self.all.iter().any(|root| root.root.visited.may_be_on_its_way(name));
        let reason = judge_staying(folder, &self.restless, self.keeps_moving, is_on_its_way);
        match reason {
            Some(StayReason::Restless) => *self.kept.own.entry(folder).or_default() += 1,
            Some(StayReason::OnItsWay) => self.kept.on_their_way += 1,
            None => {}
        }
        reason.is_some()
    }

    /// A folder that the source does not have; none where it stays.
    fn extra_folder(
        &mut self,
        here: &DeletePlace,
        folder: &Arc<File>,
        name: &OsStr,
        key: FolderKey,
    ) -> Result<Option<Box<DeletePlace>>, Problem> {
        let target = match here.target.child(name) {
            Err(problem) if problem.class == Class::Denied && self.is_closed_mount(here, folder, name) => {
                return Ok(None);
            }
            target => target?,
        };
        if self.is_elsewhere(here, false, &target)? || self.is_source(&target) {
            return Ok(None);
        }
        let keeps_some = here.root.backups.lies_below(id(&target.meta));
        self.holds |= keeps_some;
        let place = DeletePlace::new(&here.root, None, target, key);
        Ok(Some(Box::new(DeletePlace { keeps_some, ..place })))
    }

    /// A folder that both sides have, under its names there and here; none where it is not looked into.
    fn common_folder(
        &mut self,
        here: &DeletePlace,
        name: &OsStr,
        written: &OsStr,
    ) -> Result<Option<Box<DeletePlace>>, Problem> {
        let key = here.root.visited.below(here.key, written);
        if self.is_guarded(key) {
            return Ok(None);
        }
        let target = here.target.child(name)?;
        // What it shows is found out before something of it goes.
        if self.is_elsewhere(here, true, &target)? || self.is_source_root(&target) {
            return Ok(None);
        }
        let source = here.source.as_ref().map(|source| source.below(written));
        Ok(Some(Box::new(DeletePlace::new(&here.root, source, target, key))))
    }

    /// The problem that `--max-delete` is reached, and one more would go.
    fn too_many_problem(&self) -> Problem {
        let most = counted(self.found, "name");
        let copied = if self.shared.settings.options.dry_run { "would be copied" } else { "was copied" };
        let removed = self.shared.trees.pruning.lock().removed;
        let words = match self.step {
            DeleteStep::Count if removed > 0 => format!(
                "{} removed, with the rest it would be more than {most} (--max-delete)",
                counted(removed, "name")
            ),
            DeleteStep::Count => {
                format!(
                    "more than {most} would be removed (--max-delete); none is, and all the rest {copied}"
                )
            }
            DeleteStep::Remove => format!("{most} removed, and no more may be (--max-delete)"),
        };
        Problem::of(Class::Refused, Operation::Delete, words)
    }

    /// Sets aside an entry that is to be removed. False where that failed, which is reported: it stays.
    fn set_aside(&self, here: &DeletePlace, folder: &File, name: &OsStr) -> bool {
        if self.shared.settings.options.backup.is_none() {
            return true;
        }
        let lists = |name: &OsStr| here.root.visited.has_name(here.key, name);
        let open = || here.source.as_ref()?.open_side().ok();
        let source = here.source.as_ref().map(|_| BackupSource { lists: &lists, open: &open });
        let taken = TakenName::gone(folder, name);
        let set_aside = || backup::set_aside_in_tree(self.shared, &here.root, &here.target, source, taken);
        let done = here.target.in_opened(set_aside);
        // Without links its name is gone with that.
        if done.as_ref().is_ok_and(UndoRename::is_renamed) {
            self.count_deleted();
        }
        done.map_err(|problem| self.shared.ledger.report(problem)).is_ok()
    }

    pub(super) fn count_deleted(&self) {
        self.shared.ledger.tally().done.deleted += 1;
        self.shared.ledger.watch.has_deleted();
    }

    fn kind(&self, here: &DeletePlace, folder: &File, name: &Name) -> Result<FileKind, Problem> {
        let look = || names::metadata(folder, &name.name).map(|meta| meta.kind);
        let wrong =
            |errno: Errno| Problem::system(Operation::LookAt, &here.target.path_of(&name.name), errno.0);
        name.kind.map_or_else(look, Ok).map_err(wrong)
    }

    /// Whether it is the list of an unfinished copy, or a backup, or a rule protects it.
    fn is_protected(&self, here: &DeletePlace, folder: &File, name: &Name, kind: FileKind) -> bool {
        let options = self.shared.settings.options;
        // A list below goes with a copy of all names alone: of others it tells what may not be on the disk.
        let is_settled = options.selection.rules.is_empty() && !options.selection.one_file_system;
        let stays = here.target.is_root() || (here.source.is_some() && !is_settled);
        let above = (&*here.root.patterns_above, || here.target.relative());
        let entry = (&*name.name, kind == FileKind::Folder);
        (stays && name.name == LIST_NAME)
            || name.is_withheld
            || backup::is_backup(self.shared, &here.root, folder, &name.name, kind)
            || self.shared.trees.select.protects(above, entry, options.deletion.delete_excluded)
    }

    /// Whether patterns select it. Whatever the source has under an excluded name is none of what is copied: where they
    /// exclude folders alone, and this is none, it is asked what it has.
    fn is_selected(&self, here: &DeletePlace, name: &Name, kind: FileKind) -> bool {
        let (above, folder) = (&here.root.patterns_above, || here.target.relative());
        let includes = |is_folder| self.shared.trees.select.includes(above, folder, &name.name, is_folder);
        let is_folder = kind == FileKind::Folder;
        includes(is_folder) && (is_folder || includes(true) || !here.source_has_folder(&name.name))
    }

    /// Counts a name, and removes it if this pass removes; a folder in which an excluded name lies stays. Reports what was
    /// removed.
    fn remove(
        &mut self,
        above: &FolderSide,
        folder: &File,
        name: &OsStr,
        kind: FileKind,
    ) -> Result<(), Problem> {
        self.count_found()?;
        if self.removes() {
            match above.in_opened(|| names::remove(folder, name, kind == FileKind::Folder)) {
                Ok(()) => self.count_deleted(),
                Err(Errno::ENOENT) => {}
                // An excluded name lies in it.
                Err(Errno::ENOTEMPTY) => return Ok(()),
                Err(errno) => {
                    let problem = Problem::system(Operation::Remove, &above.path_of(name), errno.0);
                    return Err(final_name::of_kept(problem, folder, name));
                }
            }
        }
        self.tell_removed(above, name, kind);
        Ok(())
    }

    /// One more goes, if it may.
    pub(super) fn count_found(&mut self) -> Result<(), Problem> {
        if self.shared.settings.options.deletion.max_delete == Some(self.found) {
            return Err(self.too_many_problem());
        }
        self.found += 1;
        Ok(())
    }

    pub(super) fn tell_removed(&self, above: &FolderSide, name: &OsStr, kind: FileKind) {
        if self.step == DeleteStep::Remove && self.shared.settings.tells_changes() {
            let path = above.path_of(name);
            let change = deletion(&path, self.shared.settings.below_target(&path).to_path_buf(), kind);
            self.shared.ledger.tell(Some(Box::new(change)));
        }
    }

    /// Ends a folder that was looked through: removes one without a source, and gives another the times back that removals
    /// changed.
    fn leave_folder(&mut self, done: &DeletePlace, above: Option<&mut DeletePlace>) -> Result<(), Problem> {
        match (&done.source, above) {
            (None, Some(above)) if done.keeps_some => above.keeps_some = true,
            (None, Some(_)) if self.ways.is_some() && self.step == DeleteStep::Count => {
                self.clear.insert(FolderOfTree { tree: self.tree, key: done.key });
            }
            (None, Some(above)) => {
                let folder = above.target.file()?;
                self.remove(&above.target, &folder, &done.target.name, FileKind::Folder)?;
                if self.step == DeleteStep::Remove {
                    above.root.end_wait(done.key, InTheWay::Clear);
                }
                above.removed_some = true;
            }
            (Some(_), Some(_)) if self.removes() => self.restore_folder(done)?,
            _ => {}
        }
        Ok(())
    }

    /// A folder gets back what removals changed of it, as it was when they began: it was finished then.
    fn restore_folder(&self, done: &DeletePlace) -> Result<(), Problem> {
        let was_opened_up = done.target.was_opened_up();
        if (!done.removed_some && !was_opened_up) || self.shared.settings.in_order.is_some() {
            return Ok(());
        }
        let (found, open) = (&done.target.meta, done.target.file()?);
        let to = AttributeHolder::Open(&open);
        let mode = if was_opened_up { to.set_mode(found.mode) } else { Ok(()) };
        let keeps_times = self.shared.settings.options.attributes.keep.times;
        let times = if keeps_times { attributes::copy_times(found, to) } else { Ok(()) };
        let restored = mode.and(times);
        restored.map_err(|errno| Problem::system(Operation::SetTimes, &done.target.path(), errno.0))?;
        done.target.note_mode_set()
    }
}
