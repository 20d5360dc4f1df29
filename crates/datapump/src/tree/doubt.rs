//! What stands at a target and may not be on the disk.
//!
//! A list that stands tells of a copy that did not end well: what it wrote may have the right size and time, and in the
//! cache even the right content, of which the disk has nothing. Whatever changed since that copy began is in doubt, in
//! the folder of the list and in all below, until a copy that deals with all of it has ended well. Nothing in doubt is
//! left alone for what it looks like, and no other name is linked to it.
//!
//! Must not know: what stands in a list, how files are copied.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use datapump_core::journal::Header;

use crate::problem::shown_path;
use crate::run::Shared;
use crate::tree::branch::Branch;
use crate::tree::decide::{Action, same_time};
use crate::tree::journal::{self, Journal};
use crate::tree::side::Side;
use datapump_files::disk::{Folder, Meta, PathAt, file_meta, names};
use datapump_files::reserved::LIST_NAME;
use datapump_files::temporary;

/// Folders above a target that are looked at: a path of PATH_MAX bytes has no more.
const ABOVE_MAX: u32 = 2048;

/// Since when what stands there may not be on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Doubt {
    since_ns: Option<i128>,
    /// What was written then has no time of its source.
    loses_times: bool,
}

impl Doubt {
    pub(crate) fn since(list: &Header) -> Doubt {
        Doubt { since_ns: Some(list.begun_ns), loses_times: list.loses_times }
    }

    pub(crate) fn since_ns(since_ns: i128) -> Doubt {
        Doubt { since_ns: Some(since_ns), loses_times: false }
    }

    /// Of two copies: since the first of them.
    pub(crate) fn and(self, other: Option<Doubt>) -> Doubt {
        let Some(other) = other else { return self };
        let since_ns = [self.since_ns, other.since_ns].into_iter().flatten().min();
        Doubt { since_ns, loses_times: self.loses_times || other.loses_times }
    }

    /// Whether a file may be of such a copy: it changed since that began.
    pub(crate) fn reaches(&self, there: &Meta) -> bool {
        self.since_ns.is_some_and(|since_ns| there.ctime_ns >= since_ns)
    }

    /// The same where its source is not known. What somebody wrote or touched last has the time of just that; a copy
    /// has its source's time, and was given it or its name later.
    pub(crate) fn may_reach(&self, there: &Meta) -> bool {
        self.reaches(there) && (self.loses_times || there.mtime_ns != there.ctime_ns)
    }

    /// Whether it has the size and time that such a copy of this source has. What somebody else changed since has not.
    fn may_have_made(&self, source: &Meta, there: &Meta) -> bool {
        let in_time = same_time(source, there, 0)
            || (self.loses_times && self.since_ns.is_some_and(|since_ns| there.mtime_ns >= since_ns));
        there.size_bytes == source.size_bytes && in_time
    }
}

/// Whether what stands there is copied again although these rules would leave it.
pub(crate) fn doubts(
    shared: &Shared<'_>,
    (branch, name): (&Branch, &OsStr),
    (action, source, there): (Action, &Meta, &Meta),
) -> bool {
    let doubt = branch.traits.doubt;
    let is_leftover = || {
        let folder = branch.target.as_ref().and_then(|target| target.file().ok());
        folder.is_some_and(|folder| temporary::looks_left(&Folder::Os(folder.0), name, there))
    };
    let is_of_copy = || branch.root.journal().is_some_and(|journal| journal.is_of_new_folder);
    // In a folder that was made for the copy all is of the copy.
    let is_made = || (shared.options.ignore_existing && is_of_copy()) || is_leftover();
    is_undone(doubt, (action, source, there), is_made)
}

/// The same of a file that the user named.
pub(crate) fn doubts_file(
    shared: &Shared<'_>,
    at: &PathAt,
    (action, source, there): (Action, &Meta, &Meta),
) -> bool {
    let ends = || Some((at.folder().ok()?, at.name()?));
    let is_leftover = || ends().is_some_and(|(folder, name)| temporary::looks_left(folder, name, there));
    leaves_some(shared) && is_undone(of_file(shared, at), (action, source, there), is_leftover)
}

fn is_undone(
    doubt: Doubt,
    (action, source, there): (Action, &Meta, &Meta),
    is_made: impl Fn() -> bool,
) -> bool {
    doubt.reaches(there)
        && match action {
            Action::Leave(_) | Action::Adjust | Action::Compare => true,
            // It may be somebody's own work. Under a name of the source may stand what was on its way to another name.
            Action::Keep(_) => doubt.may_have_made(source, there) || is_made(),
            _ => false,
        }
}

/// What is in doubt in the folder of a file that the user named. Found out once.
pub(crate) fn of_file(shared: &Shared<'_>, at: &PathAt) -> Doubt {
    let (Ok(Folder::Os(folder)), Some(path)) = (at.folder(), at.path.parent()) else {
        return Doubt::default();
    };
    let Some(id) = id(folder) else { return Doubt::default() };
    *shared.trees.doubts().entry(id).or_insert_with(|| in_and_above(shared, folder, path))
}

/// What is in doubt in the root of a tree: by its own list, or, where something is left alone for what it looks like,
/// by any that stands there or above.
pub(crate) fn of_root(shared: &Shared<'_>, journal: Option<&Journal>, folder: &File, path: &Path) -> Doubt {
    let own = journal.map(|journal| journal.doubt).unwrap_or_default();
    match (leaves_some(shared), journal) {
        (false, _) => own,
        (true, Some(_)) => own.and(above(shared, folder, path)),
        (true, None) => in_and_above(shared, folder, path),
    }
}

/// By any list that stands in a folder or above.
pub(crate) fn in_and_above(shared: &Shared<'_>, folder: &File, path: &Path) -> Doubt {
    let here = told(shared, journal::doubt_in(folder), || path.join(LIST_NAME));
    here.unwrap_or_default().and(above(shared, folder, path))
}

/// What is in doubt in a folder that this run did not make, below one of which that is known.
pub(crate) fn in_target(shared: &Shared<'_>, above: Doubt, target: &Side) -> Doubt {
    if leaves_some(shared) { below(shared, above, target) } else { above }
}

pub(crate) fn below(shared: &Shared<'_>, above: Doubt, side: &Side) -> Doubt {
    let found = side.file().ok().and_then(|folder| journal::doubt_in(&folder.0));
    above.and(told(shared, found, || side.path_of(OsStr::new(LIST_NAME))))
}

fn leaves_some(shared: &Shared<'_>) -> bool {
    shared.trees.rules.leaves_some() && !shared.compares
}

/// A copy of a folder above dealt with this one, too, and its list lies there.
fn above(shared: &Shared<'_>, folder: &File, path: &Path) -> Option<Doubt> {
    let (mut found, mut here, mut path) = (None, None, path.to_path_buf());
    for _ in 0..ABOVE_MAX {
        let below = here.as_ref().unwrap_or(folder);
        let Ok(above) = names::open_folder(below, OsStr::new("..")) else { break };
        if id(below) == id(&above) {
            break;
        }
        path.push("..");
        if let Some(doubt) = told(shared, journal::doubt_above(&above), || path.join(LIST_NAME)) {
            found = Some(doubt.and(found));
        }
        here = Some(above);
    }
    found
}

fn id(folder: &File) -> Option<(u64, u64)> {
    file_meta(folder).ok().map(|meta| (meta.device, meta.inode))
}

fn told(shared: &Shared<'_>, doubt: Option<Doubt>, path: impl Fn() -> PathBuf) -> Option<Doubt> {
    doubt.inspect(|_| {
        let list = shown_path(&path()).to_string();
        shared.warn(format!(
            "'{list}' was left by another copy that did not end well: what changed in its folder since that began \
             is copied again; to settle it run that copy to its end with all names, or, if it is given up, copy \
             all without --update and the like and remove this file"
        ));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_since_a_copy_began_may_be_of_it() {
        let meta =
            |size_bytes, mtime_ns, ctime_ns| Meta { size_bytes, mtime_ns, ctime_ns, ..Meta::nothing() };
        let source = meta(5, 7, 0);
        let doubt = |since_ns, loses_times| Doubt { since_ns, loses_times };
        for (doubt, there, reached, is_alike) in [
            (Doubt::default(), meta(5, 7, i128::MAX), false, true),
            (doubt(Some(20), false), meta(5, 7, 19), false, true),
            (doubt(Some(20), false), meta(5, 7, 20), true, true),
            (doubt(Some(20), false), meta(6, 7, 20), true, false),
            (doubt(Some(20), false), meta(5, 25, 25), true, false),
            (doubt(Some(20), true), meta(5, 25, 25), true, true),
            (doubt(Some(20), true), meta(5, 19, 25), true, false),
        ] {
            assert_eq!(doubt.reaches(&there), reached, "{doubt:?} {there:?}");
            assert_eq!(doubt.may_have_made(&source, &there), is_alike, "{doubt:?} {there:?}");
            let was_written = !doubt.loses_times && there.mtime_ns == there.ctime_ns;
            assert_eq!(doubt.may_reach(&there), reached && !was_written, "{doubt:?} {there:?}");
        }
        let both = doubt(Some(20), false).and(Some(doubt(Some(10), true))).and(None);
        assert_eq!(both, doubt(Some(10), true));
    }
}
