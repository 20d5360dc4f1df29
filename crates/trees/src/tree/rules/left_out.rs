//! What of a source is skipped for what it is: sockets, partial files of a pump, lists of unfinished copies in any of
//! its folders, a server's own files. It is reported and counted. A comparison skips the same of the original, but for
//! the list in its root: a tree that is not complete is not the same as another.
//!
//! Must not know: patterns, how files are copied.

use std::path::Path;
use std::sync::Arc;

use datapump_core::name::SkipReason;

use crate::folder::side::FolderSide;
use crate::listed::Name;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::tree::Shared;
use crate::tree::batch::cursor::BatchName;
use crate::tree::findings::compare_attributes::differs;
use crate::tree::rules::compare::is_missing;
use datapump_files::commit::reserved::{LIST_NAME, is_temporary};
use datapump_files::commit::{partial, temporary};
use datapump_files::disk::{FileKind, Folder};
use datapump_files::followed::leads_out;

const UNFINISHED: &str = "is the list of an unfinished copy; run its command again";

const WITHHELD: &str = "is withheld by its server (its ticket, or a file that its output goes to); skipped, and no copy of \
                        it is removed";

/// Reports a name that is skipped for what it is.
pub(crate) fn report_skipped(shared: &Shared<'_>, path: &Path, reason: SkipReason) {
    let words = match reason {
        SkipReason::Socket => return shared.ledger.leave_out_socket(path),
        SkipReason::LeadsOut => {
            return shared.ledger.note(|| format!("'{}' leads out of its tree, left out", shown_path(path)));
        }
        SkipReason::Withheld => WITHHELD,
        _ => partial::why_skipped(path.file_name().unwrap_or_default()),
    };
    shared.ledger.leave_out(&format!("'{}' {words}", shown_path(path)));
}

/// A list has names below what is no folder.
pub(crate) fn is_no_folder(at: BatchName<'_>) -> Problem {
    let words = "is not a directory, and names below it are on the list";
    Problem::new(Class::Missing, Operation::Open, &at.source_path(), words)
}

/// Verify: a tree that is not complete is not the same as another.
pub(crate) fn is_unfinished(at: BatchName<'_>) -> Problem {
    differs(&at.source_path(), UNFINISHED)
}

/// Reports that a name is only in one of two trees, if it is not left out; of the original more is than of the copy.
pub(crate) fn report_missing(
    shared: &Shared<'_>,
    side: &FolderSide,
    name: &Name,
    kind: FileKind,
    missing: &Path,
    is_original: bool,
) -> Result<(), Problem> {
    let path = side.path_of(&name.name);
    let is_list = name.name == LIST_NAME;
    let is_complete = is_original && side.depth() > 0;
    let may_be_pumps = kind == FileKind::Regular && (is_list || (is_original && is_temporary(&name.name)));
    let is_pumps = may_be_pumps && side.origin()?.is_pumps(&name.name, || path.clone())?;
    let words = match kind {
        _ if name.is_withheld => WITHHELD,
        FileKind::Socket => {
            shared.ledger.leave_out_socket(&path);
            return Ok(());
        }
        _ if is_pumps && is_list && !is_complete => {
            shared.ledger.report(differs(&path, UNFINISHED));
            return Ok(());
        }
        _ if is_pumps => partial::why_skipped(&name.name),
        _ => {
            shared.ledger.report(is_missing(missing, &path));
            return Ok(());
        }
    };
    shared.ledger.leave_out(&format!("'{}' {words}", shown_path(&path)));
    Ok(())
}

/// Whether a symbolic link leads out of its tree.
pub(crate) fn leads_out_of_tree(at: BatchName<'_>) -> Result<bool, Problem> {
    let points_to = at.cursor.source.read_symlink(at.name, &at.source_path())?;
    Ok(leads_out(at.directory().source.depth(), &points_to))
}

/// Whether it is a partial file, a journal or a list of this program.
pub(crate) fn is_pumps(at: BatchName<'_>) -> Result<bool, Problem> {
    at.cursor.source.is_pumps(&at.name.name, || at.source_path())
}

/// Something of the user has the name that the list of this very copy has in its target.
pub(crate) fn has_no_room(at: BatchName<'_>) -> Problem {
    let words = "has the name of the list that pump keeps in the target during a copy; rename it, or copy it by \
                 itself";
    Problem::new(Class::Io, Operation::Copy, &at.source_path(), words)
}

/// Refuses a name that is the temporary name of a file which another process writes.
pub(crate) fn check_in_use(at: BatchName<'_>) -> Result<(), Problem> {
    match &at.cursor.target {
        Some(folder) => {
            temporary::refuse_in_use(&Folder::Os(Arc::clone(folder)), &at.name.name, &at.target_path())
        }
        None => Ok(()),
    }
}
