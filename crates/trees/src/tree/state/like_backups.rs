//! Names of the source that look like backups, for targets whose file system takes two names for one: by case, accents
//! or width, by tables that nobody knows here. A name that may be one with that of a backup is taken for it, so that no
//! backup lies where a copy of this command lies, or is about to.
//!
//! Must not know: how backups are made, what is copied.

use std::collections::{HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump_engine::Errno;

use crate::folder::side::FolderSide;
use crate::lock::StateLock;
use crate::origin::Origin;
use crate::problem::Problem;
use crate::setup::options::{Backup, Options};
use crate::targets::Item;
use datapump_files::disk::{Meta, may_fold_names, names};
use datapump_files::followed::OriginFolder;
use datapump_files::identity::{FileId, id};

/// Of a folder with more, any name may be one of its.
const NAMES_MAX: usize = 1024;
/// Folders whose names are kept.
const FOLDERS_MAX: usize = 16;

/// Names that look like backups.
#[derive(Debug, Default)]
pub(crate) struct LikeBackups {
    ascii: HashSet<Vec<u8>>,
    others: Vec<Vec<u8>>,
}

impl LikeBackups {
    /// Those of the names of targets.
    pub(crate) fn of_targets(items: &[Item], options: &Options) -> LikeBackups {
        let Some(backup) = &options.backup else { return LikeBackups::default() };
        let names = items.iter().filter_map(|item| item.target.path()?.file_name());
        LikeBackups::from_names(backup, names)
    }

    /// Names that are like backups among these.
    pub(crate) fn from_names<'names>(
        backup: &Backup,
        names: impl Iterator<Item = &'names OsStr>,
    ) -> LikeBackups {
        let mut found = LikeBackups::default();
        names.for_each(|name| found.add(backup, name));
        found
    }

    /// Adds a name if it has the form of a backup's.
    fn add(&mut self, backup: &Backup, name: &OsStr) {
        let written = written(name);
        let small = Backup { suffix: backup.suffix.to_ascii_lowercase(), ..backup.clone() };
        if !small.is_beside(OsStr::from_bytes(&written)) {
            return;
        }
        if written.is_ascii() {
            self.ascii.insert(written);
        } else {
            self.others.push(written);
        }
    }

    /// Whether one of them may be this name to some file system.
    pub(crate) fn may_have(&self, name: &OsStr) -> bool {
        let name = written(name);
        let is_one = |other: &Vec<u8>| may_be_same_name(other, &name);
        self.others.iter().any(is_one)
            || if name.is_ascii() { self.ascii.contains(&name) } else { self.ascii.iter().any(is_one) }
    }

    fn len(&self) -> usize {
        self.ascii.len() + self.others.len()
    }
}

/// A name without what all such file systems take for the same: case, and, of FAT, dots and spaces at the end.
fn written(name: &OsStr) -> Vec<u8> {
    let name = name.as_bytes();
    let ends = name.iter().rposition(|byte| !b". ".contains(byte)).map_or(name.len(), |last| last + 1);
    name[..ends].to_ascii_lowercase()
}

/// Whether a table may take two names for one. Letters that are not ASCII may be the same as any others, and as those of
/// ASCII (`ß` and `ss`); all else is the same in both.
fn may_be_same_name(one: &[u8], other: &[u8]) -> bool {
    let tail = |name: &[u8]| name.iter().rev().take_while(|byte| byte.is_ascii()).count();
    let (short, long) = if tail(one) <= tail(other) { (one, other) } else { (other, one) };
    let (end, longer) = (&short[short.len() - tail(short)..], &long[long.len() - tail(long)..]);
    match longer.strip_suffix(end) {
        None => false,
        Some([]) => !(one.is_ascii() && other.is_ascii()) || one == other,
        Some(more) => !short.is_ascii() && more.iter().all(u8::is_ascii_alphabetic),
    }
}

/// An existing entry of a folder.
#[derive(Clone, Copy)]
pub(crate) struct NamedEntry<'run> {
    pub(crate) folder: &'run File,
    pub(crate) name: &'run OsStr,
    pub(crate) meta: &'run Meta,
}

/// Whether a folder may take a name that stands in it, and another one that is written otherwise, for one. The file
/// system is asked; of letters that are not ASCII it cannot be.
pub(crate) fn may_fold(NamedEntry { folder, name, meta }: NamedEntry<'_>) -> bool {
    let swap = |byte: &u8| {
        if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() }
    };
    let swapped = OsString::from_vec(name.as_bytes().iter().map(swap).collect());
    may_fold_names(folder)
        && (!name.as_bytes().is_ascii()
            || swapped == name
            || match names::metadata(folder, &swapped) {
                Ok(found) => id(&found) == id(meta),
                Err(errno) => errno != Errno::ENOENT,
            })
}

/// Those of the folders of trees that were asked for last; none of a folder that has too many, or cannot be listed.
#[derive(Debug, Default)]
pub(crate) struct LikeBackupsOfFolders(StateLock<VecDeque<(FileId, Option<Arc<LikeBackups>>)>>);

impl LikeBackupsOfFolders {
    /// Names that are like backups in a folder of the source; `None` where that cannot be known.
    pub(crate) fn in_folder(
        &self,
        backup: &Backup,
        side: &FolderSide,
        stop: &AtomicBool,
    ) -> Option<Arc<LikeBackups>> {
        let lock = || self.0.lock();
        let known =
            lock().iter().find(|(folder, _)| *folder == id(&side.meta)).map(|(_, found)| found.clone());
        known.unwrap_or_else(|| {
            let found = list_like_backups(backup, side, stop).ok().flatten().map(Arc::new);
            let mut folders = lock();
            folders.truncate(FOLDERS_MAX - 1);
            folders.push_front((id(&side.meta), found.clone()));
            found
        })
    }
}

/// Lists a folder for names that are like backups; `None` where that cannot be done, or there are too many.
fn list_like_backups(
    backup: &Backup,
    side: &FolderSide,
    stop: &AtomicBool,
) -> Result<Option<LikeBackups>, Problem> {
    // The walk reads the open folder from where it is.
    let origin = match side.origin()? {
        Origin::Here(folder) => match names::open_folder(&folder.file, OsStr::new(".")) {
            Ok(file) => Origin::Here(OriginFolder { file: Arc::new(file), ..folder }),
            Err(_) => return Ok(None),
        },
        there => there,
    };
    let (path, mut cookie, mut found) = (side.path(), 0, LikeBackups::default());
    loop {
        let (names, next) = origin.list(cookie, false, &path)?;
        if names.is_empty() {
            return Ok(Some(found));
        }
        names.iter().for_each(|name| found.add(backup, &name.name));
        // Another host may list without end.
        if next == cookie || found.len() > NAMES_MAX || stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        cookie = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_files::commit::aside::Numbering;

    fn of(suffix: &str, source: &str) -> LikeBackups {
        let backup =
            Backup { suffix: suffix.as_bytes().to_vec(), folder: None, numbering: Numbering::Simple };
        LikeBackups::from_names(&backup, [OsStr::new(source)].into_iter())
    }

    #[test]
    fn a_name_that_some_table_may_take_for_that_of_a_backup_is_taken_for_it() {
        for (suffix, source, backup, expected) in [
            ("~", "z~", "z~", true),
            ("~", "Z~", "z~", true),
            ("~", "z~", "y~", false),
            ("~", "z", "z", false),
            ("~", "Z~ .", "z~", true),
            (".orig", "Z.ORIG", "z.orig", true),
            (".OLD", "z.old", "z.OLD", true),
            ("~", "Z.~1~", "z.~1~", true),
            ("~", "Z.~1~", "z.~2~", false),
            ("~", "É~", "é~", true),
            ("~", "e\u{301}~", "\u{e9}~", true),
            ("~", "\u{e9}a~", "e\u{301}a~", true),
            ("~", "ß~", "ss~", true),
            ("~", "SS~", "ß~", true),
            ("~", "é1~", "é2~", false),
            ("~", "é~", "1~", false),
            // Else no number would ever do.
            ("~", "é~", "é.~1~", false),
            ("~", "é.~1~", "é.~2~", false),
        ] {
            assert_eq!(
                of(suffix, source).may_have(OsStr::new(backup)),
                expected,
                "{suffix} {source} {backup}"
            );
        }
    }
}
