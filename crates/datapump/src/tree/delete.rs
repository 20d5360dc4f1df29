//! Removes from a target what its source does not have, and folders where the source has none, once everything else
//! was copied without an error; a file that only grew is copied as far as it was.
//!
//! It acts on what was walked. First all folders of the source are compared with what they were then (`visited`): one
//! difference, and nothing is removed, because what is missing in one folder may have been moved to another. Then all
//! names are counted, so that too many are refused before the first is removed. Each batch of names that go is looked
//! up first, and its folder compared once more behind that. What a pattern excludes is left alone at the target too.
//! A folder goes when nothing is left in it.
//!
//! Must not know: how trees are copied.

mod again;
mod elsewhere;
mod leftover;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_engine::Errno;

use crate::problem::{Class, Operation, Problem};
use crate::run::Shared;
use crate::target::change::deletion;
use crate::target::listed::{self, Name};
use crate::tree::folder::directory::Directory;
use crate::tree::folder::side::FolderSide;
use crate::tree::folder::visited::{self, FolderKey};
use crate::tree::names::backup::{self, TakenName, UndoRename};
use crate::tree::names::folded;
use crate::tree::root::Root;
use crate::units::counted;
use datapump_files::attributes;
use datapump_files::attributes::keep::New;
use datapump_files::commit::reserved::LIST_NAME;
use datapump_files::disk::{AttributeHolder, FileKind, names};
use datapump_files::identity::{FileId, id};

/// Removes what is too much in these trees.
pub(crate) fn delete(shared: &Shared<'_>, roots: &[Arc<Directory>]) -> Result<(), Problem> {
    for step in [DeleteStep::Check, DeleteStep::Count, DeleteStep::Remove] {
        let is_bounded = shared.settings.options.max_delete.is_some();
        if step == DeleteStep::Count && !is_bounded && !shared.ledger.watch.is_shown() {
            continue;
        }
        let sources = roots.iter().map(|root| Arc::clone(&root.source)).collect();
        let mut pass = DeletePass { shared, step, roots: sources, found: 0, is_refused: false };
        roots.iter().try_for_each(|root| pass.tree(root))?;
        if pass.is_refused {
            return Ok(());
        }
        if step == DeleteStep::Count {
            shared.ledger.watch.will_delete(pass.found);
        }
    }
    Ok(())
}

/// What a walk over the target is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeleteStep {
    /// Whether the source is still what was walked.
    Check,
    /// How many names are to go.
    Count,
    Remove,
}

/// One walk over the target.
struct DeletePass<'run> {
    shared: &'run Shared<'run>,
    step: DeleteStep,
    /// The folders that are copied from.
    roots: Vec<Arc<FolderSide>>,
    found: u64,
    /// A folder of the source is not what was walked, or lies in what is to go. It was told.
    is_refused: bool,
}

/// A folder that is being looked through; without a source everything in it goes.
struct DeletePlace {
    root: Arc<Root>,
    source: Option<Arc<FolderSide>>,
    key: FolderKey,
    target: Arc<FolderSide>,
    cookie: u64,
    removed_some: bool,
    /// Something in it stays, so that it stays too.
    keeps_some: bool,
    /// Entries that names of the source stand for, though written otherwise; found out when something is to go.
    folded: Option<HashMap<FileId, OsString>>,
    /// Where its parent stands among the open places.
    above: usize,
}

/// Whether a name is one of those that a copy deals with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selected {
    Yes,
    /// A pattern leaves it out, or it is on no list.
    No,
    /// It is the list of an unfinished copy, or a backup.
    Never,
}

/// What becomes of a name.
enum Fate {
    /// It is right.
    Right,
    /// It is nobody's business here, and what it lies in stays.
    Kept,
    Goes(FileKind),
    /// It is what a cut copy left, of something that the source does not have (any more).
    Leftover,
    /// A folder to look into.
    Enter(Box<DeletePlace>),
}

impl Fate {
    /// Something goes, because the source does not have it.
    fn is_final(&self) -> bool {
        match self {
            Fate::Goes(_) | Fate::Leftover => true,
            Fate::Enter(below) => below.source.is_none(),
            Fate::Right | Fate::Kept => false,
        }
    }
}

impl DeletePlace {
    fn new(
        root: &Arc<Root>,
        sides: (Option<Arc<FolderSide>>, Arc<FolderSide>),
        key: FolderKey,
    ) -> DeletePlace {
        DeletePlace {
            root: Arc::clone(root),
            source: sides.0,
            key,
            target: sides.1,
            cookie: 0,
            removed_some: false,
            keeps_some: false,
            folded: None,
            above: 0,
        }
    }

    /// A folder in it.
    fn below(&self, sides: (Option<Arc<FolderSide>>, Arc<FolderSide>), key: FolderKey) -> Fate {
        Fate::Enter(Box::new(DeletePlace::new(&self.root, sides, key)))
    }

    /// The name of the source for which one stands that the source does not have.
    fn otherwise_written(&mut self, folder: &File, name: &Name) -> Result<Option<OsString>, Problem> {
        let Some(source) = &self.source else { return Ok(None) };
        let folded = match &mut self.folded {
            Some(folded) => folded,
            empty => empty.insert(folded::standing_otherwise_written(
                (&source.origin()?, &source.path()),
                (folder, &self.target.path()),
            )?),
        };
        // Most file systems fold nothing.
        if folded.is_empty() {
            return Ok(None);
        }
        match names::metadata(folder, &name.name) {
            Ok(meta) => Ok(folded.get(&id(&meta)).cloned()),
            // It may stand for any.
            Err(_) => Ok(Some(name.name.clone())),
        }
    }
}

impl DeletePass<'_> {
    fn removes(&self) -> bool {
        self.step == DeleteStep::Remove && !self.shared.settings.options.dry_run
    }

    fn tree(&mut self, root: &Directory) -> Result<(), Problem> {
        let Some(target) = &root.target else { return Ok(()) };
        let sides = (Some(Arc::clone(&root.source)), Arc::clone(target));
        let mut open = vec![DeletePlace::new(&root.root, sides, visited::ROOT)];
        if !self.is_as_walked(&open[0])? {
            return Ok(());
        }
        while let Some(here) = open.last_mut() {
            if self.shared.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let folder = here.target.file()?.0;
            let (names, cookie) = listed::list(&folder, here.cookie)
                .map_err(|errno| Problem::system(Operation::List, &here.target.path(), errno.0))?;
            here.cookie = cookie;
            let below = if names.is_empty() { None } else { self.batch(here, &folder, &names)? };
            let above = open.len() - 1;
            match below {
                Some(below) => open.extend(below.into_iter().map(|below| DeletePlace { above, ..below })),
                None => {
                    let done = open.pop().expect("looked at above");
                    self.leave(&done, open.get_mut(done.above))?;
                }
            }
        }
        Ok(())
    }

    /// Deals with names of a folder; gives the folders to look into, or nothing where the source has changed.
    fn batch(
        &mut self,
        here: &mut DeletePlace,
        folder: &Arc<File>,
        names: &[Name],
    ) -> Result<Option<Vec<DeletePlace>>, Problem> {
        let fates: Vec<Fate> =
            names.iter().map(|name| self.fate(here, folder, name)).collect::<Result<_, _>>()?;
        // A missing name counts only if the folder was what was walked when it was found missing.
        let is_final = fates.iter().any(Fate::is_final);
        if is_final && (!self.is_as_walked(here)? || self.is_shown_in_source(here, folder)) {
            return Ok(None);
        }
        let mut below = Vec::new();
        for (name, fate) in names.iter().zip(fates) {
            match fate {
                Fate::Right => {}
                Fate::Kept => here.keeps_some = true,
                Fate::Enter(place) => below.push(*place),
                Fate::Leftover => self.remove_leftover(here, folder, &name.name)?,
                Fate::Goes(_) if self.removes() && !self.is_set_aside(here, folder, &name.name) => {
                    here.keeps_some = true;
                }
                Fate::Goes(kind) => {
                    self.remove((&here.target, folder), &name.name, kind)?;
                    here.removed_some = true;
                }
            }
        }
        Ok(Some(below))
    }

    fn fate(&mut self, here: &mut DeletePlace, folder: &Arc<File>, name: &Name) -> Result<Fate, Problem> {
        let (kind, is_excluded) = match self.kind(here, folder, name)? {
            (_, Selected::Never) => return Ok(Fate::Kept),
            (kind, selected) => (kind, selected == Selected::No),
        };
        if self.step == DeleteStep::Check && kind != FileKind::Folder {
            return Ok(Fate::Right);
        }
        // Whatever the source has under an excluded name is none of what is copied.
        let source = here.source.clone().filter(|_| !is_excluded);
        let stands = match &source {
            Some(side) => side.origin()?.if_there(&name.name, || side.path_of(&name.name))?,
            None => None,
        };
        let key = here.root.visited.below(here.key, &name.name);
        match (stands, &source) {
            (Some(meta), Some(side)) if meta.kind == FileKind::Folder && kind == FileKind::Folder => {
                let source = side.child(&name.name).map_err(Problem::vanished)?;
                self.common(here, name, source, key)
            }
            (None, Some(side)) if let Some(written) = here.otherwise_written(folder, name)? => {
                self.both(here, name, (side, &written), kind)
            }
            (_, Some(side)) if self.step == DeleteStep::Check => {
                self.refuse_source_in(here, folder, &name.name);
                if here.root.visited.has(key) {
                    self.tell_changed(&side.path_of(&name.name));
                }
                Ok(Fate::Right)
            }
            (Some(_), _) if !here.root.is_in_the_way(key) => Ok(Fate::Right),
            _ if kind == FileKind::Folder => {
                let target = here.target.child(&name.name)?;
                let is_source =
                    |pass: &mut Self| pass.is_source((&target.meta, || open(&target)), || target.path());
                match self.is_elsewhere(here, None, &target) || is_source(self) {
                    true => Ok(Fate::Kept),
                    false => Ok(here.below((None, target), key)),
                }
            }
            _ => Ok(match leftover::fate(self.shared, here, folder, &name.name) {
                Some(fate) => {
                    if matches!(fate, Fate::Kept) {
                        self.tell_partial(&here.target.path_of(&name.name));
                    }
                    fate
                }
                None => Fate::Goes(kind),
            }),
        }
    }

    /// A name that both sides have, though the source writes it otherwise.
    fn both(
        &mut self,
        here: &mut DeletePlace,
        name: &Name,
        (side, written): (&Arc<FolderSide>, &OsStr),
        kind: FileKind,
    ) -> Result<Fate, Problem> {
        let found = side.origin()?.if_there(written, || side.path_of(written))?;
        if kind != FileKind::Folder || found.is_none_or(|meta| meta.kind != FileKind::Folder) {
            return Ok(Fate::Kept);
        }
        let key = here.root.visited.below(here.key, written);
        let source = side.child(written).map_err(Problem::vanished)?;
        self.common(here, name, source, key)
    }

    /// A folder that both sides have.
    fn common(
        &mut self,
        here: &DeletePlace,
        name: &Name,
        source: Arc<FolderSide>,
        key: FolderKey,
    ) -> Result<Fate, Problem> {
        let target = here.target.child(&name.name)?;
        // What it shows is found out before something of it goes.
        let is_source = |pass: &mut Self| pass.is_source((&target.meta, || None), || target.path());
        if self.is_elsewhere(here, Some(&source), &target) || is_source(self) {
            return Ok(Fate::Right);
        }
        if !again::is_as_walked(&here.root.visited, key, &source, &source.meta)? {
            self.tell_changed(&source.path());
            return Ok(Fate::Right);
        }
        Ok(here.below((Some(source), target), key))
    }

    /// Whether the source's folder is now what it was when it was walked; told, if not.
    fn is_as_walked(&mut self, here: &DeletePlace) -> Result<bool, Problem> {
        let Some(source) = &here.source else { return Ok(true) };
        let is_same = again::is_as_walked(&here.root.visited, here.key, source, &source.now()?)?;
        if !is_same {
            self.tell_changed(&source.path());
        }
        Ok(is_same)
    }

    fn tell_changed(&mut self, path: &Path) {
        self.is_refused = true;
        let removed = match self.step {
            DeleteStep::Check | DeleteStep::Count => "nothing was removed",
            DeleteStep::Remove => "nothing more was removed in it",
        };
        let words = format!(
            "is not what it was when it was copied (something in it, or a mount, came or went): {removed} (--delete); \
             run the same command again when the source is quiet"
        );
        self.shared.ledger.report(Problem::new(Class::Changed, Operation::Delete, path, words));
    }

    /// `--max-delete` is reached, and one more would go.
    fn too_many(&self) -> Problem {
        let most = counted(self.found, "name");
        let copied = if self.shared.settings.options.dry_run { "would be copied" } else { "was copied" };
        let words = match self.step {
            DeleteStep::Check | DeleteStep::Count => {
                format!(
                    "more than {most} would be removed (--max-delete); none is, and all the rest {copied}"
                )
            }
            DeleteStep::Remove => format!("{most} removed, and no more may be (--max-delete)"),
        };
        Problem::of(Class::Refused, Operation::Delete, words)
    }

    /// Sets aside what is to go. False where that failed, which is told: it stays.
    fn is_set_aside(&self, here: &DeletePlace, folder: &File, name: &OsStr) -> bool {
        let tree = (&*here.root, &*here.target, here.source.as_deref());
        let set_aside = || backup::aside_in_tree(self.shared, tree, TakenName::gone(folder, name));
        let done = match set_aside() {
            Err(problem) if problem.class == Class::Denied && here.target.open_up() => set_aside(),
            done => done,
        };
        // Without links its name is gone with that.
        if done.as_ref().is_ok_and(UndoRename::is_renamed) {
            self.count_deleted();
        }
        done.map_err(|problem| self.shared.ledger.report(problem)).is_ok()
    }

    fn count_deleted(&self) {
        self.shared.ledger.tally().deleted += 1;
        self.shared.ledger.watch.has_deleted();
    }

    /// What a name is, and whether it is one of those that are dealt with.
    fn kind(&self, here: &DeletePlace, folder: &File, name: &Name) -> Result<(FileKind, Selected), Problem> {
        let path = || here.target.path_of(&name.name);
        let kind = match name.kind {
            Some(kind) => kind,
            None => {
                let meta = names::metadata(folder, &name.name);
                meta.map_err(|errno| Problem::system(Operation::LookAt, &path(), errno.0))?.kind
            }
        };
        // A list below goes with a copy of all names alone: of others it tells what may not be on the disk.
        let is_settled = self.shared.settings.options.selection.is_empty()
            && !self.shared.settings.options.one_file_system;
        let stays = here.target.is_root() || (here.source.is_some() && !is_settled);
        let is_backup = backup::is_kept(self.shared, &here.root, folder, (&name.name, kind));
        let ours = (stays && name.name == LIST_NAME) || is_backup;
        let (select, is_folder) = (&self.shared.trees.select, kind == FileKind::Folder);
        let (folder, above) = (|| here.target.relative(), &here.root.patterns_above);
        let excluded_go = self.shared.settings.options.delete_excluded;
        let is_protected = || select.protects((above, folder), (&name.name, is_folder), excluded_go);
        let selected = match select.includes(above, folder, &name.name, is_folder) {
            _ if ours || is_protected() => Selected::Never,
            true => Selected::Yes,
            false => Selected::No,
        };
        Ok((kind, selected))
    }

    fn remove(
        &mut self,
        (above, folder): (&FolderSide, &File),
        name: &OsStr,
        kind: FileKind,
    ) -> Result<(), Problem> {
        self.count_found()?;
        if self.removes() {
            let remove = || names::remove(folder, name, kind == FileKind::Folder);
            let removed = match remove() {
                Err(Errno::EACCES) if above.open_up() => remove(),
                removed => removed,
            };
            match removed {
                Ok(()) => self.count_deleted(),
                Err(Errno::ENOENT) => {}
                // An excluded name lies in it.
                Err(Errno::ENOTEMPTY) => return Ok(()),
                Err(errno) => return Err(Problem::system(Operation::Remove, &above.path_of(name), errno.0)),
            }
        }
        self.tell_removed(above, name, kind);
        Ok(())
    }

    /// One more goes, if it may.
    fn count_found(&mut self) -> Result<(), Problem> {
        if self.shared.settings.options.max_delete == Some(self.found) {
            return Err(self.too_many());
        }
        self.found += 1;
        Ok(())
    }

    fn tell_removed(&self, above: &FolderSide, name: &OsStr, kind: FileKind) {
        if self.step == DeleteStep::Remove && self.shared.settings.tells_changes() {
            let path = above.path_of(name);
            let change = deletion(&path, self.shared.settings.below_target(&path).to_path_buf(), kind);
            self.shared.ledger.tell(Some(Box::new(change)));
        }
    }

    /// A folder was looked through: one without a source goes, another gets the times back that removals changed.
    fn leave(&mut self, done: &DeletePlace, above: Option<&mut DeletePlace>) -> Result<(), Problem> {
        let changed = done.removed_some || done.target.was_opened_up();
        match (&done.source, above) {
            (None, Some(above)) if done.keeps_some => above.keeps_some = true,
            (None, Some(above)) => {
                let folder = above.target.file()?.0;
                self.remove((&above.target, &folder), &done.target.name, FileKind::Folder)?;
                if self.step == DeleteStep::Remove {
                    above.root.is_out_of_the_way(done.key);
                }
                above.removed_some = true;
            }
            (Some(source), Some(_)) if changed && self.removes() => {
                let (from, to) = (source.origin()?, done.target.file()?.0);
                let keep = self.shared.settings.options.keep;
                let kept = attributes::copy(
                    from.bearer(),
                    &source.meta,
                    AttributeHolder::Open(&to),
                    keep,
                    New::default(),
                );
                kept.map_err(|errno| Problem::system(Operation::SetTimes, &done.target.path(), errno.0))?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn open(target: &FolderSide) -> Option<Arc<File>> {
    target.file().ok().map(|folder| folder.0)
}
