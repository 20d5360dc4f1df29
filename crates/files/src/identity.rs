//! Tells whether a source is still what it was when its copy began, and if not, what happened to it.
//!
//! Size and time of content decide. Where they are the same and something else moved, or where the time could hide a
//! change (`tick`), that is a doubt, which is settled by reading.
//!
//! Must not know: where the copy goes.

pub mod prefix;
pub mod tick;

use std::path::Path;

use datapump_engine::{Errno, Handle};

use crate::disk::{Disk, FileCalls, Folder, Meta};
use crate::holes::mapped;
use crate::identity::tick::TimeLook;
use crate::problem::{Class, Operation, Problem};

/// What happened to a source that nobody can copy again.
pub const DELETED: &str = "was deleted";
/// A change right after the look would not show.
pub const YOUNG: &str = "was so new that a change within a tick of its clock would not show";
const ATTRIBUTES_MOVED: &str = "had its attributes changed";
const INODE_MOVED: &str = "was replaced by a file of the same size and time";
const TIME_JITTERS: &str = "has a time of change that differs by less than the tick of its clock";

/// What tells a file from all others: its device and its number there.
pub type FileId = (u64, u64);

/// What tells this file from all others.
pub fn id(meta: &Meta) -> FileId {
    (meta.device, meta.inode)
}

/// What happened to a source.
#[derive(Debug, PartialEq, Eq)]
pub enum SourceChange {
    /// It became longer; what it had before may be another now, too ([`prefix::is_shared`]).
    Grew(String),
    /// Size and time are the same, and the content may be another all the same: what says so.
    Unverified(&'static str),
    /// Anything else, in words.
    Other(String),
}

/// A source file that is open, as it was when it was opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenSource<'open> {
    /// As the user named it.
    pub path: &'open Path,
    /// The open file.
    pub handle: &'open Handle,
    /// What it was when it was opened.
    pub before: &'open Meta,
    /// What its times could tell then.
    pub look: TimeLook,
    /// The folder that it was opened in, where it was not opened by its path.
    pub folder: Option<&'open Folder>,
    /// A part of it was read to be measured: then stores through a mapping are no change. To look for them the kernel visits
    /// each cached page, 7.5 ms a GiB.
    pub is_rehearsal: bool,
}

/// How an open source changed since it was opened, by its attributes, by those of its name, and by stores through a mapping.
pub fn find_change(disk: &Disk, source: OpenSource<'_>) -> Result<Option<SourceChange>, Problem> {
    let OpenSource { path, handle, before, look, folder, is_rehearsal } = source;
    let now = handle.meta().map_err(|errno| Problem::system(Operation::Stat, path, errno.0))?;
    let was_stored_to = !is_rehearsal && !look.is_in_memory && mapped::was_stored_to(handle, &now);
    // A name that is taken away or given to another file leaves its mark on the file (a name less, a new time of
    // attributes). So for the small files of trees, open for microseconds, the open file alone is asked.
    if folder.is_some() && !was_stored_to && now == (Meta { atime_ns: now.atime_ns, ..*before }) {
        return Ok(look.is_young.then_some(SourceChange::Unverified(YOUNG)));
    }
    let found = match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.metadata(name),
        _ => disk.metadata(path),
    };
    let named = match found {
        Ok(named) => Some(named),
        Err(errno) if errno == Errno::ENOENT => None,
        // Not to be seen any more is not gone: the open file tells the rest.
        Err(_) => Some(now),
    };
    Ok(match change(before, &now, named.as_ref(), look) {
        None if was_stored_to => Some(SourceChange::Unverified(mapped::STORED_TO)),
        change => change,
    })
}

/// The problem for a change told in words.
pub fn changed(path: &Path, words: &str, target_is_kept: bool) -> Problem {
    let kept = if target_is_kept { "the target was not changed" } else { "do not use what was copied" };
    let next = match words {
        DELETED if target_is_kept => format!("{kept}; it is not in the copy"),
        DELETED => kept.to_owned(),
        _ => format!("{kept}; copy again when the source is quiet"),
    };
    Problem::new(
        Class::Changed,
        Operation::Copy,
        path,
        format!("the source {words} while it was copied; {next}"),
    )
}

/// The problem of a log that was written to while it was copied: what it held before is copied.
pub fn cut_short(path: &Path, words: &str, bytes: u64) -> Problem {
    let words = format!(
        "the source {words} while it was copied; its first {bytes} bytes are copied, with the time that it had then"
    );
    Problem::new(Class::Changed, Operation::Copy, path, words)
}

/// What happened. `named` is what the path refers to now.
pub fn change(before: &Meta, now: &Meta, named: Option<&Meta>, look: TimeLook) -> Option<SourceChange> {
    let Some(named) = named else { return Some(SourceChange::Other(DELETED.into())) };
    let is_replaced = id(named) != id(before);
    // What has the name now is what a copy is to be of.
    let now = if is_replaced { named } else { now };
    let (was, is) = (before.size_bytes, now.size_bytes);
    let is_rewritten = !look.is_same_time(before.mtime_ns, now.mtime_ns);
    if is_replaced && (was != is || is_rewritten || now.kind != before.kind) {
        return Some(SourceChange::Other("was replaced by another file".into()));
    }
    if is > was {
        return Some(SourceChange::Grew(format!("was appended to: it grew from {was} to {is} bytes")));
    }
    if is < was {
        return Some(SourceChange::Other(format!("was truncated from {was} to {is} bytes")));
    }
    let unverified = if is_rewritten {
        return Some(SourceChange::Other("was rewritten in place".into()));
    } else if is_replaced {
        INODE_MOVED
    } else if now.mtime_ns != before.mtime_ns {
        TIME_JITTERS
    } else if now.ctime_ns != before.ctime_ns {
        ATTRIBUTES_MOVED
    } else if look.is_young {
        YOUNG
    } else {
        return None;
    };
    Some(SourceChange::Unverified(unverified))
}

/// The same of a source that is just read again: a doubt is settled by that, and is no change.
pub fn certain_change(
    before: &Meta,
    now: &Meta,
    named: Option<&Meta>,
    look: TimeLook,
) -> Option<SourceChange> {
    change(before, now, named, look).filter(|change| !matches!(change, SourceChange::Unverified(_)))
}

/// The problem of a doubt that nothing can settle: the source cannot be read again, or nothing is there to compare with.
pub fn unsettled(path: &Path, what: &str, why: &str, target_is_kept: bool) -> Problem {
    changed(path, &format!("{what}, and {why},"), target_is_kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(inode: u64, size_bytes: u64, mtime_ns: i128, ctime_ns: i128) -> Meta {
        Meta { inode, size_bytes, mtime_ns, ctime_ns, ..Meta::nothing() }
    }

    #[test]
    fn a_source_that_is_gone_is_not_waited_for() {
        let said = |words, is_kept| changed(Path::new("a"), words, is_kept).message;
        assert!(said(DELETED, true).ends_with("the target was not changed; it is not in the copy"));
        assert!(said(DELETED, false).ends_with("do not use what was copied"));
        assert!(said("was rewritten in place", true).ends_with("copy again when the source is quiet"));
    }

    #[test]
    fn each_change_has_its_own_words() {
        let before = meta(1, 10, 5, 5);
        let still = TimeLook { tick_ns: 3, ..TimeLook::default() };
        let young = TimeLook { is_young: true, ..still };
        for (now, named, look, words) in [
            (before, Some(before), still, None),
            (before, None, young, Some("was deleted")),
            (before, Some(meta(2, 10, 9, 5)), still, Some("was replaced by another file")),
            (before, Some(meta(2, 11, 5, 5)), still, Some("was replaced by another file")),
            (meta(1, 11, 6, 6), Some(before), still, Some("was appended to: it grew from 10 to 11 bytes")),
            (meta(1, 9, 6, 6), Some(before), young, Some("was truncated from 10 to 9 bytes")),
            (meta(1, 10, 8, 8), Some(before), young, Some("was rewritten in place")),
        ] {
            let found = change(&before, &now, named.as_ref(), look);
            assert_eq!(matches!(found, Some(SourceChange::Grew(_))), now.size_bytes > before.size_bytes);
            let found = found.map(|change| match change {
                SourceChange::Grew(words) | SourceChange::Other(words) => words,
                SourceChange::Unverified(what) => panic!("{what}"),
            });
            assert_eq!(found.as_deref(), words);
        }
    }

    #[test]
    fn where_size_and_time_are_the_same_anything_else_is_a_doubt() {
        let before = meta(1, 10, 5, 5);
        let still = TimeLook { tick_ns: 3, ..TimeLook::default() };
        let young = TimeLook { is_young: true, ..still };
        for (now, named, look, what) in [
            (meta(1, 10, 5, 6), before, still, ATTRIBUTES_MOVED),
            (meta(1, 10, 7, 7), before, still, TIME_JITTERS),
            (before, meta(2, 10, 5, 9), still, INODE_MOVED),
            (before, before, young, YOUNG),
        ] {
            let found = change(&before, &now, Some(&named), look);
            assert_eq!(found, Some(SourceChange::Unverified(what)));
        }
    }
}
