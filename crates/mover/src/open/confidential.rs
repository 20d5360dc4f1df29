//! A file that is overwritten in place is opened here, and closed before its first byte to those who may not read
//! the source, and a folder that exists before its first new name. Their attributes follow when they are complete,
//! as with every file and folder; new ones are closed from the start.
//!
//! Must not know: how blocks are moved, how attributes are copied.

use std::fs::File;
use std::sync::Arc;

use datapump_engine::Handle;

use crate::open::held::{Held, Original};
use crate::open::resumed;
use crate::problem::{Problem, shown_path};
use crate::run::MoverRun;
use datapump_files::attributes::keep::Keep;
use datapump_files::commit::in_order::InOrder;
use datapump_files::commit::temporary::Siblings;
use datapump_files::commit::{Before, FinalName, StagedFile};
use datapump_files::disk::{AttributeHolder, Meta, Outcome, file_meta};
use datapump_files::opened_folders::OPEN;

const OWNER_ALONE: u32 = 0o600;
const GROUP_AND_OTHERS: u32 = 0o077;
const OTHERS_MAY_READ: u32 = 0o004;

/// Closes a folder that stands at the target to those who may not list or search the source, for as long as it is
/// filled. A user who cannot do that now cannot do it in the end either, and is told then.
pub fn close_folder(folder: &File, existing: &Meta, source: &Meta, keep: Keep) {
    let source = &keep.given.of(source);
    let (is_others, shut) = (keep.owner && existing.uid != source.uid, shut_bits(existing, source));
    let owner_gains = is_others && existing.mode >> 6 & !source.mode & MAY_LOOK != 0;
    if !keep.mode || (shut == 0 && !owner_gains) {
        return;
    }
    let to = AttributeHolder::Open(folder);
    let me = rustix::process::geteuid().as_raw();
    // Its owner could open it again.
    if is_others && existing.uid != me {
        let _ = to.set_owner(Some(me), existing.gid);
    }
    // This run may have opened it up to itself.
    let opened = to.meta().map_or(0, |now| now.mode & OPEN);
    let _ = to.set_mode(existing.mode & !shut | opened);
}

/// To read and to search a folder.
const MAY_LOOK: u32 = 0o5;

/// The bits of a folder that let somebody look who may not look at the source. Members of another group are at the
/// source like everybody.
fn shut_bits(existing: &Meta, source: &Meta) -> u32 {
    let group = if existing.gid == source.gid { source.mode >> 3 } else { source.mode };
    existing.mode & ((MAY_LOOK & !group) << 3 | MAY_LOOK & !source.mode)
}

/// Whether others may look into a folder that could not into this source.
pub fn lets_more_in(existing: &Meta, source: &Meta) -> bool {
    shut_bits(existing, source) != 0
}

/// How a file must be written where its file system takes bytes in order; `None` where it may be written anywhere, as
/// an existing one with `--inplace` where gaps are taken.
pub fn needed_order(
    run: &MoverRun<'_>,
    device: impl FnOnce() -> Option<u64>,
    exists: impl FnOnce() -> bool,
) -> Option<InOrder> {
    let takes = run.settings.in_order_on(device)?;
    let is_in_place = run.settings.options.durability.inplace && !takes.refuses_gaps && exists();
    (!is_in_place).then_some(takes)
}

/// Stages a target that is written in order: under a temporary name where its file system renames, else under the final
/// one, whose file is emptied.
///
/// Errors: others could read an existing one while it is written, or it is in use or holds what would be lost.
pub fn stage_in_order(
    run: &MoverRun<'_>,
    at: FinalName,
    before: Before,
    takes: InOrder,
    original: Option<&Original>,
    siblings: &dyn Siblings,
) -> Result<StagedFile, Problem> {
    let stays_open =
        |existing: &Handle| stays_readable(existing, original, run.settings.options.attributes.keep);
    StagedFile::in_order(at, before, takes, &stays_open, siblings)
}

/// Opens a target that is written where it is, and forgets an earlier partial copy. Where others could read it meanwhile it is
/// replaced by a new file, with a warning.
pub fn open_in_place(
    run: &MoverRun<'_>,
    at: FinalName,
    original: Option<&Original>,
    siblings: &dyn Siblings,
) -> Result<StagedFile, Problem> {
    resumed::forget(run, || Some(at.folder.clone()), &at.name, &at.path);
    let staged = StagedFile::in_place(at.clone(), siblings)?;
    let keep = run.settings.options.attributes.keep;
    if run.settings.pieces.is_none() && stays_open(&staged, original, keep) {
        let (path, why) = (shown_path(&at.path), "because others could read it");
        let words = format!("'{path}': its mode cannot be set; it is replaced by a new file, {why}");
        run.ledger.warn(words);
        return StagedFile::checked(at, Before::Anything, None, siblings);
    }
    Ok(staged)
}

/// A file that was closed, as it was before.
#[derive(Debug)]
pub struct Closed {
    handle: Arc<Handle>,
    before: Meta,
}

/// Takes from others the right to read a target that is written in place. `None` where nothing was changed, since nobody could
/// read more than in the end.
///
/// A file of another user stays open if this user may not change it: it does so in the end, too.
pub fn close_target(staged: &StagedFile, original: Option<&Original>, keep: Keep) -> Option<Closed> {
    let Handle::Os(file) = &*staged.handle else { return None };
    if !staged.is_over_existing() || !keep.mode {
        return None;
    }
    let before = file_meta(file).ok()?;
    let to = AttributeHolder::Open(file);
    let lets_in_more = match original {
        Some(original) => lets_in_more(to, &before, original, keep),
        // A stream has no mode: what was asked for may be any.
        None => keep.given.permissions.is_some(),
    };
    if !lets_in_more {
        return None;
    }
    // Its owner could open it again.
    let me = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if keep.owner && before.uid != me.0 {
        let _ = to.set_owner(Some(me.0), me.1);
    }
    to.set_mode(OWNER_ALONE).ok()?;
    Some(Closed { handle: Arc::clone(&staged.handle), before })
}

/// Whether a target that is to be written where it stands lets in more than in the end, and its file system lets nobody
/// change that: whoever owns it. A new file is closed from the start.
fn stays_open(staged: &StagedFile, original: Option<&Original>, keep: Keep) -> bool {
    staged.is_in_place() && stays_readable(&staged.handle, original, keep)
}

/// Whether an existing target lets somebody read who may not read the source, and its mode cannot be set: others could
/// read it while it is written. Tried by setting the mode that it has.
pub fn stays_readable(existing: &Handle, original: Option<&Original>, keep: Keep) -> bool {
    let original = original.filter(|original| keep.mode && original.has_attributes());
    let (Handle::Os(file), Some(original)) = (existing, original) else { return false };
    let (Ok(before), to) = (file_meta(file), AttributeHolder::Open(file)) else { return false };
    let me = rustix::process::geteuid();
    let may_change = me.is_root() || me.as_raw() == before.uid;
    // The mode that it has is set: nothing changes.
    may_change && lets_in_more(to, &before, original, keep) && to.set_mode(before.mode).is_err()
}

impl Closed {
    /// Gives the file back the owner and mode that it had, since nothing was written to it.
    pub fn undo(&self) -> Outcome<()> {
        let to = AttributeHolder::Open(self.handle.os());
        let now = to.meta()?;
        if (now.uid, now.gid) != (self.before.uid, self.before.gid) {
            to.set_owner(Some(self.before.uid), self.before.gid)?;
        }
        to.set_mode(self.before.mode)
    }
}

/// Whether somebody may read the target who may not read the source.
fn lets_in_more(to: AttributeHolder<'_>, before: &Meta, original: &Original, keep: Keep) -> bool {
    let source = &keep.given.of(&original.meta);
    if source.mode & OTHERS_MAY_READ != 0 && !has_list(original) {
        return false;
    }
    let is_others = keep.owner && before.uid != source.uid;
    let same_group = before.gid == source.gid && !has_list(original) && !lists(to);
    let more = before.mode & GROUP_AND_OTHERS & !(if same_group { source.mode } else { 0 });
    is_others || more != 0
}

/// Whether the source has an access control list.
fn has_list(original: &Original) -> bool {
    match &original.held {
        Held::Here(handle) => matches!(&**handle, Handle::Os(file) if lists(AttributeHolder::Open(file))),
        Held::There(file) => {
            file.reported().is_some_and(|(_, reported)| lists(AttributeHolder::Told(reported)))
        }
    }
}

fn lists(bearer: AttributeHolder<'_>) -> bool {
    bearer.xattr_names().is_ok_and(|names| names.iter().any(|name| **name == *c"system.posix_acl_access"))
}
