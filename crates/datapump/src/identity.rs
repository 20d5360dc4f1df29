//! Tells whether a source is still what it was when its copy began, and if not, what happened to it.
//!
//! Must not know: where the copy goes.

use std::path::Path;

use crate::disk::{Disk, FileCalls, Meta};
use crate::mapped;
use crate::net::far::FarFile;
use crate::problem::{Class, Problem};
use crate::task::{Held, Original};

/// A problem of class `changed` when the source was deleted, replaced, appended to, truncated or rewritten since its
/// attributes were taken from its open handle.
pub(crate) fn check_unchanged(disk: &Disk, original: &Original, target_is_kept: bool) -> Result<(), Problem> {
    let Original { path, held, meta: before, folder, .. } = original;
    let handle = match held {
        Held::Here(handle) => handle,
        Held::There(file) => return far_unchanged(file, original, target_is_kept),
    };
    let now = handle.meta().map_err(|errno| Problem::system("stat", path, errno.0))?;
    let was_stored_to = mapped::was_stored_to(handle, &now);
    // A name that is taken away or given to another file leaves its mark on the file (a name less, a new time of
    // attributes). So for the small files of trees, open for microseconds, the open file alone is asked.
    if folder.is_some() && !was_stored_to && now == (Meta { atime_ns: now.atime_ns, ..*before }) {
        return Ok(());
    }
    const ENOENT: i32 = 2;
    let found = match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.metadata(name),
        _ => disk.metadata(path),
    };
    let named = match found {
        Ok(named) => Some(named),
        Err(errno) if errno.0 == ENOENT => None,
        // Not to be seen any more is not gone: the open file tells the rest.
        Err(_) => Some(now),
    };
    let stored_to = || was_stored_to.then(|| mapped::STORED_TO.to_owned());
    match change(before, &now, named.as_ref()).or_else(stored_to) {
        None => Ok(()),
        Some(words) => Err(changed(path, &words, target_is_kept)),
    }
}

/// The same of a file of another host. A small one was looked at there before and after it was read.
fn far_unchanged(file: &FarFile, original: &Original, target_is_kept: bool) -> Result<(), Problem> {
    let Original { path, meta: before, .. } = original;
    let (now, named) = match file {
        FarFile::Open(file) => file.look_again(path)?,
        FarFile::Small(file) => match file.told.get() {
            Some((now, _)) => (*now, Some(*now)),
            None => (*before, Some(*before)),
        },
        FarFile::Stream(_) => return Ok(()),
    };
    match change(before, &now, named.as_ref()) {
        None => Ok(()),
        Some(words) => Err(changed(path, &words, target_is_kept)),
    }
}

/// The problem for a change told in words.
pub(crate) fn changed(path: &Path, words: &str, target_is_kept: bool) -> Problem {
    let kept = if target_is_kept { "the target was not changed" } else { "do not use what was copied" };
    let next = format!("{kept}; copy again when the source is quiet");
    Problem::new(Class::Changed, "copy", path, format!("the source {words} while it was copied; {next}"))
}

/// What happened, in words. `named` is what the path refers to now.
fn change(before: &Meta, now: &Meta, named: Option<&Meta>) -> Option<String> {
    let (was, is) = (before.size_bytes, now.size_bytes);
    match named {
        None => return Some("was deleted".into()),
        Some(named) if (named.device, named.inode) != (before.device, before.inode) => {
            return Some("was replaced by another file".into());
        }
        Some(_) => {}
    }
    if is > was {
        return Some(format!("was appended to: it grew from {was} to {is} bytes"));
    }
    if is < was {
        return Some(format!("was truncated from {was} to {is} bytes"));
    }
    if now.mtime_ns != before.mtime_ns {
        return Some("was rewritten in place".into());
    }
    (now.ctime_ns != before.ctime_ns).then(|| "had its attributes or its content changed".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(inode: u64, size_bytes: u64, mtime_ns: i128, ctime_ns: i128) -> Meta {
        Meta { inode, size_bytes, mtime_ns, ctime_ns, ..Meta::nothing() }
    }

    #[test]
    fn each_change_has_its_own_words() {
        let before = meta(1, 10, 5, 5);
        for (now, named, words) in [
            (before, Some(before), None),
            (before, None, Some("was deleted")),
            (before, Some(meta(2, 10, 5, 5)), Some("was replaced by another file")),
            (meta(1, 11, 6, 6), Some(before), Some("was appended to: it grew from 10 to 11 bytes")),
            (meta(1, 9, 6, 6), Some(before), Some("was truncated from 10 to 9 bytes")),
            (meta(1, 10, 6, 6), Some(before), Some("was rewritten in place")),
            (meta(1, 10, 5, 6), Some(before), Some("had its attributes or its content changed")),
        ] {
            assert_eq!(change(&before, &now, named.as_ref()).as_deref(), words);
        }
    }
}
