//! Finds out whether a source, here or on another host, is still what it was when its copy began. Where size and time
//! say so, and something else is uncertain, the source is read once more and compared with what was copied.
//!
//! Must not know: what tells that two states of a file differ (`identity`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_core::verdict::Phase;
use datapump_engine::{Errno, Handle};

use crate::file::completing::closing;
use crate::file::copied::CopiedContent;
use crate::file::growth;
use crate::file::task::{Finish, Task};
use crate::open::held::{Held, Original, ReadAgain, rewritten};
use crate::problem::{Operation, Problem, shown_path};
use crate::run::MoverRun;
use crate::run::owner::FileOwner;
use datapump_files::disk::{Access, FileCalls, FileKind, Meta, Outcome, open_cached};
use datapump_files::holes::mapped;
use datapump_files::identity::{self, OpenSource, SourceChange, changed, id, tick};

/// How a source changed since it was opened; `None` if it did not.
pub fn find_change(run: &MoverRun<'_>, original: &Original) -> Result<Option<SourceChange>, Problem> {
    let Original { path, held, meta: before, look, folder, .. } = original;
    match held {
        Held::Here(handle) => {
            let (look, folder, is_rehearsal) = (*look, folder.as_ref(), closing::is_rehearsal(run));
            let source = OpenSource { path, handle, before, look, folder, is_rehearsal };
            identity::find_change(&run.settings.platform.disk, source)
        }
        Held::There(file) => file.find_change(original),
    }
}

/// Reads the source once more and compares it with what was copied. What is equal is good: the attributes are those of
/// now. One that only grew is accepted as by the first look. Anything else is a change. False where an interrupt was
/// first, and nothing is known.
pub fn read_again(owner: &dyn FileOwner<'_>, task: &Task) -> Result<bool, Problem> {
    let original = task.original.as_ref().expect("only a source that is watched is read again");
    if !owner.settings.has_trees && owner.settings.files_wanted == 1 {
        owner.ledger.watch.enter(Phase::Verifying);
    }
    let Some(copied) = closing::open_copied_content(owner, task)? else {
        return Err(original.unsettled("nothing is kept of its copy to compare it with"));
    };
    let again = match &original.held {
        Held::Here(handle) => read_again_here(owner, original, handle, &copied),
        Held::There(file) => file.read_again(original, &copied, &owner.stop),
    };
    if let (Finish::Commit(staged), true) = (&task.finish, owner.settings.options.tuning.uncached) {
        // What was compared with is in the page cache again.
        let _ = staged.handle.forget_cached();
    }
    // A comparison that is cut short shows no change.
    if owner.stop.load(Ordering::Relaxed) {
        return Ok(false);
    }
    match again? {
        Ok(again) => {
            let _ = original.again.set(again);
            owner.ledger.note(|| format!("'{}' has the content that was copied", shown_path(&original.path)));
            Ok(true)
        }
        Err(SourceChange::Grew(words)) => match &task.finish {
            Finish::Commit(staged) => growth::accept(owner, task, original, staged, &words).map(|()| true),
            _ => Err(changed(&original.path, &words, task.target_is_kept())),
        },
        Err(SourceChange::Other(words)) => Err(changed(&original.path, &words, task.target_is_kept())),
        Err(SourceChange::Unverified(what)) => Err(original.unsettled(what)),
    }
}

/// Waits until a further change would show in the times of a source on this host, then compares its bytes with what was copied.
/// The inner error: how it changed.
fn read_again_here(
    run: &MoverRun<'_>,
    original: &Original,
    held: &Arc<Handle>,
    copied: &CopiedContent<'_>,
) -> Result<Result<ReadAgain, SourceChange>, Problem> {
    let system = |errno: Errno| Problem::system(Operation::Read, &original.path, errno.0);
    let (handle, named) = match open_named(run, original, held) {
        Ok(found) => found,
        Err(Errno::ENOENT) => return Ok(Err(SourceChange::Other(identity::DELETED.into()))),
        Err(errno) => return Err(system(errno)),
    };
    tick::wait_until_settled(handle.room().magic, &named, &run.stop);
    let meta = handle.meta().and_then(|meta| mapped::believed(&handle, meta, &run.stop)).map_err(system)?;
    let change_to = |now: &Meta| identity::certain_change(&original.meta, now, Some(now), original.look);
    if let Some(change) = change_to(&meta) {
        return Ok(Err(change));
    }
    if !copied.is_same_as(&handle, &run.stop).map_err(system)? {
        return Ok(Err(rewritten()));
    }
    let now = handle.meta().map_err(system)?;
    let is_same_state = original.look.is_same_time(meta.mtime_ns, now.mtime_ns);
    match change_to(&now) {
        Some(change) => Ok(Err(change)),
        None if !is_same_state || mapped::was_stored_to(&handle, &now) => Ok(Err(rewritten())),
        None => Ok(Ok(ReadAgain { held: Held::Here(handle), meta: now })),
    }
}

/// Opens what has the source's name now: mostly the very file that is open.
///
/// Errors: `ENOENT` if the name is gone.
fn open_named(run: &MoverRun<'_>, original: &Original, held: &Arc<Handle>) -> Outcome<(Arc<Handle>, Meta)> {
    let Original { path, folder, .. } = original;
    let disk = &run.settings.platform.disk;
    let (folder, name) = (folder.as_ref(), path.file_name().unwrap_or_default());
    let named = folder.map_or_else(|| disk.metadata(path), |folder| folder.metadata(name));
    let own = held.meta()?;
    match named {
        Err(Errno::ENOENT) => Err(Errno::ENOENT),
        Ok(named) if id(&named) != id(&own) && named.kind == FileKind::Regular => {
            let opened = folder
                .map_or_else(|| disk.open(path, Access::Read), |folder| folder.open(name, Access::Read));
            opened.map(|handle| (Arc::new(handle), named))
        }
        // Not to be seen any more is not gone: the open file tells the rest.
        _ => Ok((open_cached(held).map_or_else(|_| Arc::clone(held), Arc::new), own)),
    }
}
