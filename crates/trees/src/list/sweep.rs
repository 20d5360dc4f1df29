//! Removes what killed runs left in the folders of a target: temporary files that nobody has locked, and journals whose
//! temporary file is gone. Best effort: what cannot be removed is left.
//!
//! A file that is removed looks like a leftover in all that tells: it is this user's, was made since the copy began,
//! and is as it was made, or a complete copy of something in the source's folder. A finished copy of another command
//! has the time of its source. What can be resumed is left, unless the very file stands under its name by now. When in
//! doubt garbage stays: it is never somebody's only copy.
//!
//! Must not know: whose copy it was.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_engine::{Errno, Handle};

use crate::list::list_file::{header_in, open_own};
use crate::listed::{self, Name};
use crate::origin::Origin;
use datapump_core::name::is_same_time;
use datapump_files::attributes::given::Given;
use datapump_files::commit::reserved::{LIST_NAME, is_temporary, names_of};
use datapump_files::commit::temporary::{is_as_made, is_young, remove_leftover, remove_lone_journal};
use datapump_files::commit::{made, reserved};
use datapump_files::disk::{FileKind, Folder, Meta, file_meta, names, origin};
use datapump_files::resume;

/// A folder of the target, open.
struct Swept<'run> {
    open: &'run Arc<File>,
    folder: Folder,
    /// `None` for one that the source does not have (any more): nobody else comes there.
    source: Option<&'run Origin>,
    begun_ns: i128,
    /// What copies get instead of what the source has.
    given: Given,
}

/// Sweeps a folder, and those below it that the source does not have (any more). What the source has is a file like
/// any other. A file older than the copy (`begun_ns`) is none of its leftovers.
pub(crate) fn sweep(folder: &Arc<File>, source: &Origin, begun_ns: i128, given: Given) {
    Swept::new(folder, Some(source), begun_ns, given).sweep();
}

/// Whether a name is what a killed run of the copy left of which the list lies in this folder, and nobody can resume it.
pub(crate) fn is_leftover(folder: &Arc<File>, name: &OsStr) -> bool {
    let list = open_own(folder).and_then(Result::ok);
    let Some(header) = list.and_then(|list| header_in(&list)) else { return false };
    let swept = Swept::new(folder, None, header.begun_ns, Given::NOTHING);
    swept.folder.metadata(name).is_ok_and(|meta| {
        meta.kind == FileKind::Regular && meta.ctime_ns >= header.begun_ns && swept.is_leftover(name, &meta)
    })
}

impl<'run> Swept<'run> {
    fn new(open: &'run Arc<File>, source: Option<&'run Origin>, begun_ns: i128, given: Given) -> Swept<'run> {
        Swept { open, folder: Folder::Os(Arc::clone(open)), source, begun_ns, given }
    }

    /// Removes what killed runs left in the folder; goes into folders that the source does not have.
    fn sweep(&self) {
        let batches = listed::name_batches(|cookie| listed::list(self.open, cookie));
        for name in batches.map_while(Result::ok).flatten() {
            let is_temporary = is_temporary(&name.name);
            if is_folder(self.open, &name) {
                if self.is_gone(&name.name) {
                    self.sweep_unfinished(&name.name);
                }
            } else if is_temporary && self.is_gone(&name.name) {
                self.remove(&name.name);
            }
        }
    }

    /// Whether it is no name of the source.
    fn is_gone(&self, name: &OsStr) -> bool {
        self.source.is_none_or(|source| matches!(source.metadata_if_exists(name, || name.into()), Ok(None)))
    }

    /// Sweeps a folder that a copy made and did not finish. One on another file system, or with a list of its own, is left to
    /// others.
    fn sweep_unfinished(&self, name: &OsStr) {
        let Ok(folder) = names::open_folder(self.open, name).map(Arc::new) else { return };
        let device = |folder: &File| file_meta(folder).map(|meta| meta.device);
        let has_list = names::metadata(&folder, OsStr::new(LIST_NAME)).is_ok();
        if device(self.open) == device(&folder) && !has_list && self.was_cut(&folder) {
            Swept::new(&folder, None, self.begun_ns, self.given).sweep();
        }
    }

    /// Whether a folder is one that a copy made since this one began and did not finish: it has the mode with which it
    /// was made, and not the time of its source. In a finished one nothing is left over.
    fn was_cut(&self, folder: &File) -> bool {
        let (born_ns, _) = origin(folder);
        file_meta(folder).is_ok_and(|meta| {
            meta.mode & 0o777 == 0o700
                && born_ns >= self.begun_ns
                && meta.mtime_ns >= born_ns
                && made::is_own(self.open, &meta)
        })
    }

    /// Removes a name if a killed run left it: a temporary file with its journal, or a journal alone. What a pump uses
    /// or can resume stays.
    fn remove(&self, name: &OsStr) {
        let folder = &self.folder;
        let Ok(meta) = folder.metadata(name) else { return };
        if meta.ctime_ns < self.begun_ns || !self.is_leftover(name, &meta) {
            return;
        }
        match reserved::temporary_of(name) {
            // A journal goes with its temporary file, or is left over alone.
            Some(temporary) if folder.metadata(temporary) == Err(Errno::ENOENT) => {
                if meta.size_bytes == 0 || resume::is_journal_at(folder, name) {
                    let _ = remove_lone_journal(folder, temporary, Path::new(name));
                }
            }
            Some(_) => {}
            // It cannot be locked: a pump that makes one makes it again.
            None if meta.kind != FileKind::Regular => drop(folder.remove(name)),
            None if self.journal_stays(name) => {}
            None => drop(remove_leftover(folder, name, Path::new(name))),
        }
    }

    /// Whether a name was left by a killed run: as such runs make them and young enough, or complete. The caller has found
    /// that it has the form of a temporary name.
    fn is_leftover(&self, name: &OsStr, meta: &Meta) -> bool {
        use FileKind::{BlockDevice, CharDevice, Fifo, Regular, Symlink};
        let is_young = || is_young(&self.folder, name, meta, self.begun_ns);
        let is_as_made = match meta.kind {
            Regular => is_as_made(meta),
            // What `special.rs` makes.
            Symlink | Fifo | CharDevice | BlockDevice => self.source.is_some(),
            _ => return false,
        };
        (is_as_made && is_young() && made::is_own(self.open, meta)) || self.is_complete(meta)
    }

    /// Whether it is like something in the source's folder, of which it then lacks nothing but the name.
    fn is_complete(&self, existing: &Meta) -> bool {
        let may_be = |name: &Name| name.kind.is_none_or(|kind| kind == existing.kind);
        self.source_has(may_be, |_, source| self.is_like(source, existing))
    }

    fn is_like(&self, source: &Meta, existing: &Meta) -> bool {
        (source.kind, source.size_bytes) == (existing.kind, existing.size_bytes)
            && is_same_time(source, existing, 0)
            && (made::is_own(self.open, existing) || self.given.of(source).uid == existing.uid)
    }

    /// Whether the source's folder has something of which name and metadata are these.
    fn source_has(&self, may_be: impl Fn(&Name) -> bool, is_it: impl Fn(&Name, &Meta) -> bool) -> bool {
        let Some(source) = self.source else { return false };
        let found = |name: &Name| source.metadata(name, PathBuf::new).is_ok_and(|meta| is_it(name, &meta));
        let batches = listed::name_batches(|cookie| source.list(cookie, true, Path::new("")));
        batches.map_while(Result::ok).flatten().any(|name| may_be(&name) && found(&name))
    }

    /// Whether its journal, which would go, too, is another's or of use.
    fn journal_stays(&self, name: &OsStr) -> bool {
        let journal = reserved::journal_name(name);
        let Ok(meta) = self.folder.metadata(&journal) else { return false };
        let is_ours = is_as_made(&meta) && is_young(&self.folder, &journal, &meta, self.begun_ns);
        !is_ours || !self.is_gone(&journal) || (self.can_be_resumed(name) && !self.is_superseded(name))
    }

    /// Whether it was on its way to a name under which that very file stands by now, as a hard link to another.
    fn is_superseded(&self, name: &OsStr) -> bool {
        let is_for = |source: &Name| names_of(&source.name).any(|temporary| temporary == name);
        let stands = |source: &Name, meta: &Meta| {
            self.folder.metadata(&source.name).is_ok_and(|existing| self.is_like(meta, &existing))
        };
        self.source_has(is_for, |source, meta| {
            resume::is_of(&self.folder, name, meta) && stands(source, meta)
        })
    }

    fn can_be_resumed(&self, name: &OsStr) -> bool {
        let file = names::open_source(self.open, name, true).map(Handle::Os);
        file.is_ok_and(|file| resume::has_journal(self.open, name, &file))
    }
}

fn is_folder(folder: &File, name: &Name) -> bool {
    let asked = || names::metadata(folder, &name.name).is_ok_and(|meta| meta.kind == FileKind::Folder);
    name.kind.map_or_else(asked, |kind| kind == FileKind::Folder)
}
