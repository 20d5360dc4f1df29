//! Places of a session: what they mean to the user of this side, and beneath a folder that is served.
//!
//! Must not know: what is read or written there.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use datapump_core::wire::session::Direction;
use minicbor::bytes::ByteVec;

use super::refused;
use crate::count_ahead::served_root::ServedRoot;
use crate::problem::{Class, Operation, Problem};
use crate::setup::options::Options;
use datapump_files::disk::{Disk, PathAbove, PathAt};

/// The root that a caller is served, for which way, and the name of its place in messages.
#[derive(Clone, Copy)]
pub(super) struct ServedTo<'begin> {
    pub(super) root: &'begin ServedRoot,
    pub(super) way: Direction,
    pub(super) shown: &'begin Path,
}

/// Where the places lie that are read: a caller's own as he calls them.
pub(super) fn sources_of(to: ServedTo<'_>, places: &[ByteVec]) -> Result<Vec<PathBuf>, Problem> {
    let sources = places.iter().map(|bytes| PathBuf::from(OsStr::from_bytes(bytes)));
    match (to.root, to.way) {
        (ServedRoot::User(home), Direction::Pull) => {
            sources.map(|path| resolve_for_user(home, &path)).collect()
        }
        _ => Ok(sources.collect()),
    }
}

/// A place as the far user's shell would take it.
pub(super) fn resolve_for_user(home: &Path, shown: &Path) -> Result<PathBuf, Problem> {
    let bytes = shown.as_os_str().as_bytes();
    match bytes {
        b"~" => Ok(home.to_path_buf()),
        [b'~', b'/', rest @ ..] => {
            let from = rest.iter().position(|byte| *byte != b'/').unwrap_or(rest.len());
            Ok(home.join(OsStr::from_bytes(&rest[from..])))
        }
        [b'~', ..] => {
            let words =
                "names the home folder of a user; write where that is, or ./~… for a name that begins so";
            Err(Problem::new(Class::Usage, Operation::Open, shown, words))
        }
        _ => Ok(home.join(shown)),
    }
}

/// Refuses a folder of backups that is absolute or goes up, where a client writes to a served folder: nothing is
/// written outside of it, and links on the way are confined. What is pulled has its backups at the client.
pub(super) fn refuse_backups_elsewhere(to: ServedTo<'_>, options: &Options) -> Result<(), Problem> {
    let ServedTo { root, way, shown } = to;
    let folder = options.backup.as_ref().and_then(|backup| backup.folder.as_ref());
    let (ServedRoot::Folder(_), Direction::Push, Some(folder)) = (root, way, folder) else { return Ok(()) };
    if folder.is_absolute() {
        return Err(refused(
            shown,
            "an absolute --backup-dir is refused by pump serve; name a path relative to the target",
        ));
    }
    if folder.components().any(|part| part == Component::ParentDir) {
        return Err(refused(
            shown,
            "a --backup-dir with '..' in it is refused by pump serve; name a folder below the target",
        ));
    }
    Ok(())
}

/// The folders above what is written, where missing ones are to be made. `None` where nothing is to be made.
pub(super) fn folders_above(to: ServedTo<'_>, options: &Options) -> Result<Option<PathAbove>, Problem> {
    let ServedTo { root, way, shown } = to;
    if !options.place.make_path || way != Direction::Push {
        return Ok(None);
    }
    Ok(match root {
        ServedRoot::Folder(root) => Some(PathAbove::beneath(Arc::clone(root), shown)),
        ServedRoot::User(home) => Some(PathAbove::of(resolve_for_user(home, shown)?, shown)),
        ServedRoot::Null { .. } => None,
    })
}

/// Finds what is written, once: beneath the served folder, or as its user would. What is to be made for it is promised. For a
/// client that may not learn what exists, a name that cannot be opened is a name as all others.
pub(super) fn find_target(
    ServedTo { root, shown, .. }: ServedTo<'_>,
    above: Option<&PathAbove>,
    reads: bool,
) -> Result<Option<PathAt>, Problem> {
    let promised = above.map_or(Ok(None), PathAbove::promised);
    let promised = promised.map_err(|errno| Problem::system(Operation::Make, shown, errno.0))?;
    Ok(match root {
        ServedRoot::Null { .. } => None,
        _ if promised.is_some() => promised,
        ServedRoot::Folder(root) => {
            let found = beneath(root, shown);
            Some(if reads { found? } else { found.or_else(|_| name_beneath(root, shown))? })
        }
        ServedRoot::User(home) => {
            Some(PathAt::find(&Disk::Os, &resolve_for_user(home, shown)?).shown_as(shown))
        }
    })
}

fn name_beneath(root: &File, shown: &Path) -> Result<PathAt, Problem> {
    PathAt::name_beneath(root, shown).map_err(|errno| Problem::system(Operation::Open, shown, errno.0))
}

fn beneath(root: &File, shown: &Path) -> Result<PathAt, Problem> {
    PathAt::find_beneath(root, shown).map_err(|errno| match errno.0 {
        // EXDEV: the way leads out.
        18 => refused(shown, "leads out of the served folder"),
        errno => Problem::system(Operation::Open, shown, errno),
    })
}
