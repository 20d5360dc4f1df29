//! What cut copies left in a target to go on with: it goes like any name that the source does not have, if the source
//! has no file either that it was on its way to. What a pump uses, and what others may have put there, stays.
//!
//! Must not know: how the target is walked, what else goes.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump_engine::Errno;

use super::pass::{DeletePass, DeleteStep};
use super::place::DeletePlace;
use crate::list::list_file::open_own;
use crate::list::sweep;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::tree::state::in_the_way::Staged;
use datapump_core::name::PartialFile;
use datapump_files::commit::partial::is_pumps_in;
use datapump_files::commit::reserved::{LIST_NAME, is_temporary, is_temporary_of, temporary_of};
use datapump_files::commit::temporary::{is_abandoned, is_partial, remove_abandoned};
use datapump_files::disk::{FileKind, Folder, is_locked, names};

/// Whether it was on its way to a name of the source. What cannot be listed may have that.
fn is_of_source(here: &DeletePlace, temporary: &OsStr, stop: &AtomicBool) -> bool {
    let Some(source) = &here.source else { return false };
    let Ok(side) = source.open_side() else { return true };
    let Ok(origin) = side.origin() else { return true };
    let (path, mut cookie) = (side.path(), 0);
    loop {
        match origin.list(cookie, false, &path) {
            Ok((names, _)) if names.is_empty() => return false,
            Ok((names, next)) if !names.iter().any(|name| is_temporary_of(temporary, &name.name)) => {
                // Another host may list without end.
                if next == cookie || stop.load(Ordering::Relaxed) {
                    return true;
                }
                cookie = next;
            }
            _ => return true,
        }
    }
}

impl DeletePass<'_> {
    /// Whether a name is that of a partial file, of its journal, or of a list. One that stays is reported.
    pub(super) fn partial_file(&self, here: &DeletePlace, folder: &Arc<File>, name: &OsStr) -> PartialFile {
        if name == LIST_NAME {
            return self.list_of_copy(here, folder);
        }
        if !is_temporary(name) {
            return PartialFile::No;
        }
        // This run has its lock: a look at that would wait for it.
        if self.is_of_waiting(name) {
            return PartialFile::InUse;
        }
        let has = |name: &OsStr| names::metadata(folder, name) != Err(Errno::ENOENT);
        // A rule may protect the name that it was on its way to, which it does not tell.
        let may_go = self.protects_none();
        if !is_partial(folder, name) {
            let is_leftover = may_go && here.source.is_none() && sweep::is_leftover(folder, name);
            // A journal that went with its file since the folder was listed.
            let other = if has(name) { PartialFile::No } else { PartialFile::Gone };
            return if is_leftover { PartialFile::Abandoned } else { other };
        }
        let temporary = temporary_of(name).unwrap_or(name);
        let goes = may_go
            && is_abandoned(&Folder::Os(Arc::clone(folder)), temporary)
            && !is_of_source(here, temporary, &self.shared.stop);
        if !goes {
            self.report_partial(&here.target.path_of(name));
            PartialFile::InUse
        } else if temporary != name && has(temporary) {
            PartialFile::Gone
        } else {
            PartialFile::Abandoned
        }
    }

    /// Whether no rule and no bound keeps a name of the target that the source does not have, or does not give.
    fn protects_none(&self) -> bool {
        self.shared.settings.options.selection.rules.is_empty() && !self.shared.trees.flags.bounds.is_some()
    }

    /// The list of a copy that another pump makes below, or that was cut: it goes where all that it may leave unverified goes
    /// or is copied again. What only has its name is the user's.
    fn list_of_copy(&self, here: &DeletePlace, folder: &Arc<File>) -> PartialFile {
        let name = OsStr::new(LIST_NAME);
        let Some(Ok(list)) = open_own(folder) else { return PartialFile::No };
        if !is_pumps_in(folder, name) {
            return PartialFile::No;
        }
        if is_locked(&list) || !self.protects_none() {
            self.report_partial(&here.target.path_of(name));
            return PartialFile::InUse;
        }
        PartialFile::Abandoned
    }

    /// Removes a partial file with its journal, or a journal alone. There is no backup of it: it never was whole.
    pub(super) fn remove_leftover(
        &mut self,
        here: &mut DeletePlace,
        folder: &Arc<File>,
        name: &OsStr,
    ) -> Result<(), Problem> {
        self.count_found()?;
        if self.removes() && !self.remove_partial(here, folder, name) {
            here.keeps_some = true;
            return Ok(());
        }
        here.removed_some = true;
        self.tell_removed(&here.target, name, FileKind::Regular);
        Ok(())
    }

    /// Removes a partial file, journal or list. False where it stays, which is reported: a pump took it meanwhile, or it
    /// cannot be removed.
    fn remove_partial(&self, here: &DeletePlace, folder: &Arc<File>, name: &OsStr) -> bool {
        let path = here.target.path_of(name);
        let open = Folder::Os(Arc::clone(folder));
        let system = |errno: Errno| Problem::system(Operation::Remove, &path, errno.0);
        let remove = || {
            if name == LIST_NAME {
                return names::remove(folder, name, false).map(|()| true).map_err(system);
            }
            remove_abandoned(&open, temporary_of(name).unwrap_or(name), &path)
        };
        match here.target.in_opened(remove) {
            Ok(true) => self.count_deleted(),
            Ok(false) => self.report_partial(&path),
            Err(problem) if problem.class == Class::Refused => self.report_partial(&path),
            Err(problem) => self.shared.ledger.report(problem),
        }
        names::metadata(folder, name) == Err(Errno::ENOENT)
    }

    /// Whether it is of a file of this very run that waits for a folder in its place to be removed.
    fn is_of_waiting(&self, name: &OsStr) -> bool {
        let waiting = self.shared.trees.waiting.lock();
        let mut copies = waiting.iter().filter(|waiting| matches!(waiting.staged, Staged::Copied(_)));
        copies.any(|copy| is_temporary_of(temporary_of(name).unwrap_or(name), &copy.name.name))
    }

    /// Warns, in the pass that counts, that a partial file stays.
    pub(super) fn report_partial(&self, path: &Path) {
        if self.step == DeleteStep::Count {
            let path = shown_path(path);
            self.shared.ledger.warn_once(format!(
                "'{path}' is a temporary file that a pump uses or can resume: left alone (--delete)"
            ));
        }
    }
}
