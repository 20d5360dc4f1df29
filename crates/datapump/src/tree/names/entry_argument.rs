//! A symbolic link that the user named and that stays one, and pipes, devices and sockets beside other sources: they
//! are dealt with as in a tree.
//!
//! Must not know: how such things are made (`special`).

use std::path::Path;
use std::sync::Arc;

use datapump_core::verdict::Waits;

use crate::job::options::Sync;
use crate::net::folder::remote_host::RemoteFolder;
use crate::problem::{Class, Operation, Problem};
use crate::run::Shared;
use crate::target::listed::Name;
use crate::tree::folder::directory::{Batch, Directory, Looked, Traits};
use crate::tree::folder::origin::Origin;
use crate::tree::folder::side::FolderSide;
use crate::tree::list::List;
use crate::tree::names::batch_cursor::BatchCursor;
use crate::tree::names::name_work;
use crate::tree::root::Root;
use datapump_files::disk::{self, FileKind, Folder, Meta, PathAt, folder_of, names};
use datapump_files::followed::leads_out;
use datapump_files::identity::id;

/// Makes the like of it, under the target's name.
pub(crate) fn make(
    shared: &Shared<'_>,
    waits: &mut Waits,
    (number, from): (u32, &Path),
    to: &PathAt,
) -> Result<(), Problem> {
    let own = from.file_name().unwrap_or_default();
    let other = to.name().unwrap_or(own);
    let source = source_of(shared, (number, from))?.renaming(own, other);
    let told = match source.origin()? {
        Origin::There(folder) => Some(Box::new(folder.look_at(own, from)?)),
        Origin::Here(_) => None,
    };
    let name = Name { told, ..Name::here(other.to_owned(), None) };
    let meta = source.origin()?.metadata(&name, || from.to_path_buf())?;
    let cursor = cursor(shared, (source, &meta), to)?;
    // Of another host a link alone comes so, whatever that host says.
    let is_here = matches!(cursor.source(), Origin::Here(_));
    match meta.kind {
        kind if !is_here && kind != FileKind::Symlink => return Err(was_replaced(from)),
        FileKind::Socket => {
            shared.ledger.leave_out_socket(from);
            return Ok(());
        }
        kind if matches!(kind, FileKind::Regular | FileKind::Folder) || is_unsafe(shared, &name) => {
            return Err(was_replaced(from));
        }
        _ => {}
    }
    name_work::deal_with_named(shared, &cursor, waits, &name)?;
    if !shared.settings.writes || shared.settings.options.sync == Sync::None {
        return Ok(());
    }
    let folder = cursor.target()?;
    let synced = shared.aside(|waits| &mut waits.sync, || folder.sync_all());
    synced.map_err(|error| {
        Problem::system(Operation::SyncFolderOf, &to.path, error.raw_os_error().unwrap_or(5))
    })
}

fn was_replaced(from: &Path) -> Problem {
    let words = "was replaced while it was copied; copy again";
    Problem::new(Class::Changed, Operation::Open, from, words)
}

/// A link of another host was looked at before; by now it may be one that `--safe-links` leaves out.
fn is_unsafe(shared: &Shared<'_>, name: &Name) -> bool {
    let points_to = name.told.as_ref().and_then(|told| told.points_to.as_ref());
    shared.settings.options.safe_links && points_to.is_some_and(|to| leads_out(0, to))
}

/// The folder that it lies in. Nothing else in it is looked at.
fn source_of(shared: &Shared<'_>, (number, from): (u32, &Path)) -> Result<Arc<FolderSide>, Problem> {
    let path = folder_of(from);
    match &shared.remote_host {
        Some(remote_host) => {
            Ok(FolderSide::remote_root(path, RemoteFolder::of_link(remote_host, number, from)?))
        }
        None => {
            let found = names::find_folder(path);
            let found = found.map_err(|errno| Problem::system(Operation::Open, path, errno.0))?;
            FolderSide::root(path, found, &shared.trees.keeper)
        }
    }
}

/// The folders that it lies in and goes to, which are no tree.
fn cursor(
    shared: &Shared<'_>,
    (source, meta): (Arc<FolderSide>, &Meta),
    to: &PathAt,
) -> Result<BatchCursor, Problem> {
    let target_path = folder_of(&to.path);
    let target = match to.folder_to_sync() {
        Ok(Folder::Os(folder)) => folder,
        Ok(Folder::Sim(_)) => return Err(Problem::usage("the simulation has no pipes")),
        Err(errno) => return Err(Problem::system(Operation::Open, target_path, errno.0)),
    };
    let (handed_down, target_flags) = (disk::handed_down(&target), names::flags(&target).unwrap_or_default());
    let target = FolderSide::root_of(target_path, target, &shared.trees.keeper)?;
    let mut root = Root::new(&source.meta, (target_path, Some(&target.meta)), List::begun(None));
    root.named = Some(id(meta));
    let traits = Traits { handed_down, target_flags, ..Traits::default() };
    let directory = Directory::new(None, &Arc::new(root), (source, Some(target)), traits, Vec::new());
    let batch = Batch { directory, names: Vec::new(), looked: Looked::NotYet, walks: false };
    BatchCursor::take(batch).map_err(|(_, _, problem)| *problem)
}
