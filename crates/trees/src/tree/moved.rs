//! Removes from the source what was copied (`--remove-source-files`): files, symbolic links, pipes and devices. Folders
//! stay, as with rsync.
//!
//! It comes last, when all copies are on stable storage, and only if nothing failed. What goes is looked at again: it
//! stands at the target now, of the same kind, size and time. Where its own times tell that something was changed since
//! the run began, or are too coarse to tell, or where those of a copy that an earlier run made are coarser, both are read
//! once more. What is not equal then stays in the source. A file all of whose names go is read again before the last of them.
//!
//! Must not know: how anything was copied.

pub(crate) mod view;

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::count_ahead::next_listed;
use crate::folder::directory::Directory;
use crate::folder::side::FolderSide;
use crate::listed::Name;
use crate::problem::{Class, Operation, Problem};
use crate::report::change::removed_from_source;
use crate::targets::{Item, Target};
use crate::tree::Shared;
use datapump_core::name::{coarse_grain_ns, is_same_time};
use datapump_engine::{Errno, Handle};
use datapump_files::commit::partial::is_pumps_in;
use datapump_files::commit::reserved::may_be_pumps;
use datapump_files::disk::{
    self, Access, FileCalls, FileKind, Folder, Meta, Outcome, PathAt, folder_of, kind, names,
};
use datapump_files::followed::leads_out;
use datapump_files::holes::mapped;
use datapump_files::identity::tick::{self, TimeLook};
use datapump_files::identity::{id, prefix};

/// A folder of the source, and its copy.
type BothSides = (Arc<FolderSide>, Arc<FolderSide>);

/// Removes the files and links that were named, each with its copy, and those of trees.
pub(crate) fn remove_sources(shared: &Shared<'_>, trees: &[Arc<Directory>]) {
    if shared.is_stopping() {
        return shared.plan.cut();
    }
    if !shared.ledger.tally().problems.is_empty() {
        let words =
            "nothing was removed from the source (--remove-source-files), because not everything was copied";
        return shared.ledger.warn_once(words.into());
    }
    let removal = SourceRemoval { shared };
    let named = shared.trees.named.moved.iter().map(|(source, target)| match target {
        Target::File(at) => removal.remove_file(source, &at.path),
        Target::Entry(at) => removal.remove_entry(source, at),
        _ => Ok(()),
    });
    let folders = trees.iter().map(|directory| removal.remove_from_tree(directory));
    named.chain(folders).for_each(|removed| {
        let _ = removed.map_err(|problem| shared.ledger.report(problem));
    });
    if shared.is_stopping() {
        shared.plan.cut();
    }
}

/// What a source and its copy look like beside each other.
enum Likeness {
    Same,
    /// As far as the target's file system tells times: one of this run is a copy, of another only its content tells.
    SameByGrain,
    /// Only their content tells.
    Unverified,
    Other,
}

struct SourceRemoval<'run> {
    shared: &'run Shared<'run>,
}

impl SourceRemoval<'_> {
    /// Removes a file that was named, if its copy is equal. The copy may have existed before this run: it is synced first.
    fn remove_file(&self, source: &Path, target: &Path) -> Result<(), Problem> {
        let find = |path| PathAt::find(&self.shared.settings.platform.disk, path);
        let (from, to) = (find(source), find(target));
        // What was passed by has no copy. Of a link the file that it leads to was copied: both stay.
        let (Ok(meta), Ok(existing)) = (from.metadata_of_name(), to.metadata()) else { return Ok(()) };
        let (Ok(Folder::Os(folder)), Some(name)) = (from.folder(), from.name()) else { return Ok(()) };
        if (meta.kind, existing.kind) != (FileKind::Regular, FileKind::Regular) || self.is_passed_by(&meta) {
            return Ok(());
        }
        let copy = || to.open(Access::Read);
        let is_copy = id(&meta) != id(&existing) && self.is_copy(folder, name, &meta, &existing, copy);
        if !is_copy {
            self.report_kept(source, &meta, &existing);
            return Ok(());
        }
        let wrong = |errno: Errno| Problem::system(Operation::Sync, target, errno.0);
        to.open(Access::Read).and_then(|file| file.sync()).map_err(wrong)?;
        to.folder_to_sync().and_then(|folder| folder.sync()).map_err(wrong)?;
        self.remove(folder, name, &meta, source)
    }

    /// Removes a named link that stayed one, or a pipe or device beside other sources, if its copy is equal. That may have
    /// existed before this run: its name is synced first.
    fn remove_entry(&self, source: &Path, to: &PathAt) -> Result<(), Problem> {
        let (Some(name), Some(new), Ok(Folder::Os(target))) = (source.file_name(), to.name(), to.folder())
        else {
            return Ok(());
        };
        let Ok(folder) = names::find_folder(folder_of(source)) else { return Ok(()) };
        let (Ok(meta), Ok(existing)) = (names::metadata(&folder, name), names::metadata(target, new)) else {
            return Ok(());
        };
        // Of a socket there is no copy.
        if meta.kind == FileKind::Socket || self.is_passed_by(&meta) {
            return Ok(());
        }
        let copy = || names::open_source(target, new, true).map(Handle::Os);
        let is_copy = meta.kind == existing.kind
            && id(&meta) != id(&existing)
            && self.is_copy(&folder, name, &meta, &existing, copy);
        if !is_copy || !lead_to_same(&folder, name, target, new, meta.kind) {
            self.report_kept(source, &meta, &existing);
            return Ok(());
        }
        let synced = to.folder_to_sync().and_then(|folder| folder.sync());
        synced.map_err(|errno| Problem::system(Operation::SyncFolderOf, &to.path, errno.0))?;
        self.remove(&folder, name, &meta, source)
    }

    /// Removes the files and links of a local source tree that have their copies; its folders stay.
    fn remove_from_tree(&self, root: &Directory) -> Result<(), Problem> {
        let Some(target) = root.target.as_ref().filter(|_| root.source.is_here()) else { return Ok(()) };
        let mut folders = vec![(Arc::clone(&root.source), Arc::clone(target))];
        while let Some((source, target)) = folders.pop() {
            let (from, to) = (source.file()?, target.file()?);
            view::check_apart(&from, &source.path(), &to, &target.path(), Class::Refused)?;
            let mut cookie = Some(0);
            while let Some(from) = cookie.filter(|_| !self.shared.is_stopping()) {
                let (names, next) = next_listed(&self.shared.trees.select, &source, &source.origin()?, from)?;
                cookie = next.filter(|_| !names.is_empty());
                for name in names {
                    folders.extend(self.remove_name(&root.root.patterns_above, &source, &target, &name)?);
                }
            }
        }
        Ok(())
    }

    /// Removes a name that has its copy. A folder on both sides is given back, to be gone into.
    fn remove_name(
        &self,
        patterns_above: &Path,
        source: &Arc<FolderSide>,
        target: &Arc<FolderSide>,
        name: &Name,
    ) -> Result<Option<BothSides>, Problem> {
        // Both may be one by a bind mount.
        if id(&source.meta) == id(&target.meta) {
            return Ok(None);
        }
        let name = &*name.name;
        let (from, to) = (source.file()?, target.file()?);
        let (Ok(meta), Ok(existing)) = (names::metadata(&from, name), names::metadata(&to, name)) else {
            return Ok(None);
        };
        let is_folder = meta.kind == FileKind::Folder;
        let select = &self.shared.trees.select;
        if !select.includes(patterns_above, || source.relative(), name, is_folder)
            || meta.kind != existing.kind
        {
            return Ok(None);
        }
        if is_folder {
            let options = self.shared.settings.options;
            let stays_out = options.selection.one_file_system && meta.device != source.meta.device;
            let both = || Ok((source.child(name)?, target.child(name)?));
            return (!stays_out).then(both).transpose();
        }
        // What was left out as a pump's own may stand there as one of this run's.
        let is_pumps = may_be_pumps(name) && is_pumps_in(&from, name);
        if is_pumps || self.is_passed_by(&meta) || self.is_unsafe(&from, source, name, meta.kind) {
            return Ok(None);
        }
        let copy = || names::open_source(&to, name, true).map(Handle::Os);
        let is_copy = self.is_copy(&from, name, &meta, &existing, copy);
        if is_copy && lead_to_same(&from, name, &to, name, meta.kind) {
            // One sync of the whole does not reach files on FUSE, NFS and others.
            if meta.kind == FileKind::Regular && !kind::syncs_whole(disk::magic(&to)) {
                let synced = names::sync_of(None, &to, name);
                synced.map_err(|errno| Problem::system(Operation::Sync, &target.path_of(name), errno.0))?;
            }
            self.remove(&from, name, &meta, &source.path_of(name))?;
        } else {
            self.report_kept(&source.path_of(name), &meta, &existing);
        }
        Ok(None)
    }

    /// It was none of those that were asked for, whatever stands at the target.
    fn is_passed_by(&self, meta: &Meta) -> bool {
        self.shared.trees.flags.bounds.why_outside(meta).is_some()
    }

    fn is_unsafe(&self, from: &File, source: &FolderSide, name: &OsStr, kind: FileKind) -> bool {
        self.shared.settings.options.links.safe_links
            && kind == FileKind::Symlink
            && names::read_symlink(from, name).map_or(true, |to| leads_out(source.depth(), &to))
    }

    /// Whether what stands at the target is a copy of it as it is now.
    fn is_copy(
        &self,
        folder: &File,
        name: &OsStr,
        meta: &Meta,
        existing: &Meta,
        open_copy: impl FnOnce() -> Outcome<Handle>,
    ) -> bool {
        let magic = || disk::magic(folder);
        let likeness = self.likeness(meta, existing, &magic);
        match likeness {
            Likeness::Same => return true,
            Likeness::Other => return false,
            Likeness::Unverified if self.is_read_later(meta, magic) => return true,
            Likeness::SameByGrain | Likeness::Unverified => {}
        }
        let Ok(copy) = open_copy() else { return false };
        if matches!(likeness, Likeness::SameByGrain) && self.is_of_this_run(&copy) {
            return true;
        }
        tick::wait_until_settled(magic(), meta, &self.shared.stop);
        self.has_content_of(folder, name, meta, &copy).unwrap_or(false)
    }

    /// Whether one name of this file has gone, as what it was, and it is read before the last one goes. Numbers tell a file
    /// only where the kernel gives them.
    fn is_read_later(&self, meta: &Meta, magic: impl Fn() -> u64) -> bool {
        self.shared.trees.links.is_between_names(meta) && kind::time_rule(magic()) != kind::TimeRule::Unknown
    }

    /// Whether a copy was made since this run began, by the clock of this host. The source is what it was before that.
    fn is_of_this_run(&self, copy: &Handle) -> bool {
        let Handle::Os(file) = copy else { return false };
        kind::time_rule(disk::magic(file)) != kind::TimeRule::Unknown
            && disk::origin(file).0 >= self.shared.settings.began_ns
    }

    /// How a source and its copy are alike by their metadata alone. Removing a name changed the time of attributes of
    /// the file's other names: it says nothing then.
    fn likeness(&self, meta: &Meta, existing: &Meta, magic: &dyn Fn() -> u64) -> Likeness {
        let began_ns = self.shared.settings.began_ns;
        let is_file = meta.kind == FileKind::Regular;
        let is_alone = id(meta) == id(existing) && meta.links == 1;
        let is_other = is_alone
            || meta.kind == FileKind::Socket
            || meta.special_device != existing.special_device
            || (is_file && meta.size_bytes != existing.size_bytes);
        let is_in_time = is_same_time(meta, existing, 0);
        let is_told = || !tick::is_young(began_ns, meta, magic);
        // Times of objects are those of their uploads.
        let may_be_in_time = || {
            TimeLook::new(began_ns, magic(), meta).is_same_time(meta.mtime_ns, existing.mtime_ns)
                || self.shared.settings.in_order.is_some()
        };
        if is_other {
            Likeness::Other
        } else if is_in_time && !is_file {
            // Of others than files all that they hold is compared anyhow.
            Likeness::Same
        } else if is_in_time && is_told() {
            match coarse_grain_ns(meta, existing) {
                None => Likeness::Same,
                Some(_) => Likeness::SameByGrain,
            }
        } else if is_in_time || is_file && may_be_in_time() {
            Likeness::Unverified
        } else {
            Likeness::Other
        }
    }

    /// Whether a name of the source has the content of its copy: reads both, and looks that it is the same behind that
    /// as before.
    fn has_content_of(&self, folder: &File, name: &OsStr, meta: &Meta, copy: &Handle) -> Outcome<bool> {
        let source = Handle::Os(names::open_source(folder, name, true)?);
        let before = mapped::believed(&source, source.meta()?, &self.shared.stop)?;
        let state = |meta: &Meta| (id(meta), meta.size_bytes, meta.mtime_ns);
        let is_same = state(&before) == state(meta)
            && prefix::is_shared(&source, copy, meta.size_bytes, &self.shared.stop)?
            && copy.meta()?.size_bytes == meta.size_bytes;
        let now = names::metadata(folder, name)?;
        Ok(is_same && state(&now) == state(&before) && !mapped::was_stored_to(&source, &now))
    }

    /// Removes a name of the source, counts it and reports it.
    fn remove(&self, folder: &File, name: &OsStr, meta: &Meta, path: &Path) -> Result<(), Problem> {
        let removed = names::remove(folder, name, false);
        removed.map_err(|errno| Problem::system(Operation::Remove, path, errno.0))?;
        self.shared.ledger.tally().done.sources_removed += 1;
        self.shared.trees.links.name_is_gone(meta);
        let is_told = self.shared.settings.tells_changes();
        let change = is_told.then(|| Box::new(removed_from_source(path.to_path_buf(), meta.kind)));
        self.shared.ledger.tell(change);
        Ok(())
    }

    /// Reports a name of the source that stays, since it has no equal copy. A newer file at the target was left alone,
    /// as was asked.
    fn report_kept(&self, path: &Path, meta: &Meta, existing: &Meta) {
        if self.shared.trees.flags.newer_by_ns().is_some() && existing.mtime_ns > meta.mtime_ns {
            return;
        }
        let words = "stays in the source: it was changed meanwhile, or the target has no copy of it";
        self.shared.ledger.report(Problem::new(Class::Changed, Operation::Remove, path, words));
    }
}

fn lead_to_same(from: &File, name: &OsStr, to: &File, new: &OsStr, kind: FileKind) -> bool {
    let lead = (names::read_symlink(from, name), names::read_symlink(to, new));
    kind != FileKind::Symlink || matches!(lead, (Ok(one), Ok(other)) if one == other)
}

/// The named sources that are no folders, each with where it is copied to.
pub(crate) fn named_files(items: &[Item]) -> Vec<(PathBuf, Target)> {
    let pair = |item: &Item| {
        let source = item.source.local_path().filter(|_| !item.is_left_out)?;
        let is_one = matches!(item.target, Target::File(_) | Target::Entry(_));
        is_one.then(|| (source.to_path_buf(), item.target.clone()))
    };
    items.iter().filter_map(pair).collect()
}
