//! Finishes what a tree is made of: a file's place in it, folders when the last thing in them is done, roots at the
//! end.
//!
//! Must not know: how names are dealt with, how blocks are moved.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use datapump_engine::{Errno, Stage, meter::within};

use crate::end::Sink;
use crate::existing;
use crate::listed::Name;
use crate::options::Sync;
use crate::problem::{Class, Problem, shown_path, system_words};
use crate::report::Waits;
use crate::run::{Shared, Work};
use crate::settled;
use crate::target::Item;
use crate::task::{Against, Finish, Leaf, Task};
use crate::tree::branch::{Batch, Branch, Looked};
use crate::tree::checkpoint::Written;
use crate::tree::decide::Action;
use crate::tree::journal::{self, Journal};
use crate::tree::origin::Origin;
use crate::tree::side::{Side, WRITABLE};
use crate::tree::{delete, linking, make_way, right, sweep, unsettled};
use datapump_files::attributes;
use datapump_files::commit::{Staged, taken};
use datapump_files::disk::{Bearer, FileCalls, FileKind, Outcome, is_closed, names};
use datapump_files::identity::{FileId, id};
use datapump_files::keep::New;
use datapump_files::reserved::LIST_NAME;

const EACCES: Errno = Errno(13);
/// Why a list stays behind a run of fewer names.
const OTHER_NAMES: &str =
    "of other names than these; what it left of those is put right by a copy without --exclude and the like";
/// A file of this size is put on the list of its tree at once: losing its mark would cost more than the call.
const LISTED_AT_ONCE_MIN_BYTES: u64 = 1 << 20;

/// A file of a tree is complete, or was given up: its other names go on, and its folder waits for one thing less.
pub(crate) fn leaf_done(shared: &Shared<'_>, task: &Task, leaf: &Leaf, complete: bool) {
    if task.has_failed() && !matches!(task.finish, Finish::Checked(_)) {
        leaf.spot.branch.root.fail();
    }
    if complete {
        list(shared, task, leaf);
        shared.ledger.tell(leaf.change.clone());
    }
    match complete {
        true => linking::stands(shared, &leaf.spot, leaf.links, leaf.links.and_then(|_| file_of(task))),
        false => linking::failed(shared, leaf.links),
    }
    release(shared, &leaf.spot.branch);
}

/// What was committed.
fn file_of(task: &Task) -> Option<FileId> {
    let Finish::Commit(staged) = &task.finish else { return None };
    staged.handle.meta().ok().map(|meta| id(&meta))
}

/// A file was found equal in content to what stands at the target: only its attributes may be wrong.
pub(crate) fn checked(shared: &Shared<'_>, task: &Task) -> Result<(), Problem> {
    crate::finish::source_stood_still(shared, task)?;
    match (&task.finish, &task.leaf, &task.original) {
        (Finish::Checked(Against::Target(Some(item))), ..) => existing::right_content(shared, item)?,
        (Finish::Checked(Against::Older), Some(leaf), _) => come_back(shared, leaf, Looked::EqualsOlder),
        (_, Some(leaf), Some(original)) => right::right_content(shared, &leaf.spot, original)?,
        _ => {}
    }
    settled::settle(shared, task, false);
    Ok(())
}

/// A name is dealt with once more, by one that knows more about it.
fn come_back(shared: &Shared<'_>, leaf: &Leaf, looked: Looked) {
    let branch = Arc::clone(&leaf.spot.branch);
    branch.hold();
    let name = Name::here(leaf.spot.name.clone(), Some(FileKind::Regular));
    shared
        .plan
        .add_first([Work::Batch(Batch { branch, names: vec![name], looked, walks: false })].into_iter());
}

/// A file was found to differ in content from what stands at the target: it is copied.
pub(crate) fn copy_after_all(shared: &Shared<'_>, task: &Task) {
    if !task.fail() {
        return;
    }
    match (&task.finish, &task.leaf) {
        (Finish::Checked(Against::Target(Some(item))), _) => {
            let item = Item { differs: true, ..(**item).clone() };
            shared.plan.add_first([Work::Item(Box::new(item))].into_iter());
        }
        (Finish::Checked(Against::Older), Some(leaf)) => come_back(shared, leaf, Looked::DiffersFromOlder),
        (_, Some(leaf)) => come_back(shared, leaf, Looked::Replaces),
        _ => {}
    }
    settled::settle(shared, task, false);
}

/// Puts a committed file on the list of its tree.
fn list(shared: &Shared<'_>, task: &Task, leaf: &Leaf) {
    let (Finish::Commit(staged), Some(original)) = (&task.finish, &task.original) else { return };
    // A file whose attributes cannot be read is copied again.
    let Ok(target) = staged.handle.meta() else { return };
    let (branch, name) = (&leaf.spot.branch, &leaf.spot.name);
    let root = &branch.root;
    if !branch.claim(&target, name) {
        return root.report(&shared.ledger, taken(&branch.target_path().join(name)));
    }
    if let Some(journal) = root.journal() {
        let soon = original.meta.size_bytes >= LISTED_AT_ONCE_MIN_BYTES;
        // One of an earlier run that was gone on with was born in that.
        if soon {
            journal.know(&target);
        }
        let mark = journal::mark(&branch.path_sum, name, &original.meta, &target);
        let problem = journal.add(mark, &target, (written(shared, task, staged), soon));
        problem.into_iter().for_each(|problem| root.report(&shared.ledger, problem));
    }
}

/// How a complete file came to the disk.
fn written(shared: &Shared<'_>, task: &Task, staged: &Staged) -> Written {
    match &task.sink {
        _ if shared.syncs_data(task, staged) || task.verify => Written::Synced,
        // In the kernel and by reflink nothing is written directly, whatever the file's ways are.
        Sink::File(file) if file.align_bytes > 1 => Written::Directly,
        _ => Written::Cached,
    }
}

/// One thing in a folder is done. The last finishes it, which is one thing less in its parent.
pub(crate) fn release(shared: &Shared<'_>, branch: &Arc<Branch>) {
    let mut done = Arc::clone(branch);
    while done.release() {
        if let Some(name) = done.next_put_off() {
            return deal_with_put_off(shared, done, name);
        }
        let Some(parent) = done.parent.clone() else {
            return shared.trees.grown().push(done);
        };
        if is_empty_for_lack_of_room(shared, &done) {
            done = parent;
            continue;
        }
        if let Err(problem) = sweep_folder(shared, &done).and_then(|()| finish_folder(shared, &done)) {
            done.root.report(&shared.ledger, problem);
        }
        done = parent;
    }
}

/// Removes a folder that was made for what there was no room for.
fn is_empty_for_lack_of_room(shared: &Shared<'_>, branch: &Branch) -> bool {
    if !(shared.ledger.full.is_full() && branch.traits.fresh && branch.target.is_some()) {
        return false;
    }
    let above = branch.parent.as_ref().and_then(|parent| parent.target.as_ref()?.file().ok());
    let Some(above) = above.map(|opened| opened.0) else { return false };
    let names = branch.source.origin().and_then(|folder| folder.list(0, false, &branch.source.path()));
    names.is_ok_and(|(names, _)| !names.is_empty())
        && names::remove(&above, &branch.source.name, true).is_ok()
}

/// A name changed in a folder that may be finished: it gets its attributes once more. A root gets them last.
pub(crate) fn finish_again(shared: &Shared<'_>, branch: &Branch) -> Result<(), Problem> {
    if branch.parent.is_none() { Ok(()) } else { finish_folder(shared, branch) }
}

fn deal_with_put_off(shared: &Shared<'_>, branch: Arc<Branch>, name: Name) {
    branch.hold();
    shared.trees.walk(1);
    let batch = Batch { branch, names: vec![name], looked: Looked::NotYet, walks: true };
    shared.plan.add_first([Work::Batch(batch)].into_iter());
    shared.plan.settled();
}

/// A folder gets its attributes when nothing in it changes any more: each new name would change its times.
fn finish_folder(shared: &Shared<'_>, branch: &Branch) -> Result<(), Problem> {
    let Some(target) = branch.target.as_ref().filter(|_| shared.settings.writes) else { return Ok(()) };
    let (from, to) = (branch.source.origin()?, target.file()?.0);
    let was_right = is_right(shared, branch, (&from, &to));
    if !was_right {
        set_attributes(shared, branch, target, (&from, &to))?;
    }
    // Names were made in a folder that has its attributes already, too. A root is synced when its list is gone.
    let synced = shared.syncs_alone(branch) || (shared.settings.options.sync == Sync::Each && !was_right);
    if synced && branch.parent.is_some() {
        let _stage = within(Stage::Sync);
        to.sync_all().map_err(|error| {
            Problem::system("sync the folder", &target.path(), error.raw_os_error().unwrap_or(5))
        })?;
    }
    Ok(())
}

/// Removes what killed runs left in a folder that this run did not make.
fn sweep_folder(shared: &Shared<'_>, branch: &Branch) -> Result<(), Problem> {
    let Some(target) = branch.target.as_ref().filter(|_| shared.settings.writes) else { return Ok(()) };
    let journal = branch.root.journal().filter(|journal| journal.continues && !branch.traits.fresh);
    // A file that was cut right now is gone on with.
    if let Some(journal) = journal.filter(|_| !shared.is_stopping() && !branch.root.shares_target) {
        sweep::sweep(&target.file()?.0, &branch.source.origin()?, journal.begun_ns);
    }
    Ok(())
}

fn set_attributes(
    shared: &Shared<'_>,
    branch: &Branch,
    target: &Side,
    (from, to): (&Origin, &File),
) -> Result<(), Problem> {
    let keep = shared.settings.options.keep;
    let made = branch.traits.fresh;
    let handed_down = branch.traits.handed_down;
    let new = New { made, bare: made && handed_down.is_none(), handed_down, replaced: None };
    let kept = attributes::copy(from.bearer(), &branch.source.meta, Bearer::Open(to), keep, new);
    let lost = kept.map_err(|errno| Problem::system("set the attributes of", &target.path(), errno.0))?;
    shared.ledger.tell_lost(lost, || target.path());
    if target.was_opened_up() && !keep.mode {
        let closed = Bearer::Open(to).set_mode(target.meta.mode);
        closed.map_err(|errno| Problem::system("set the mode of", &target.path(), errno.0))?;
    }
    Ok(())
}

/// Where what is right is left alone, that holds for folders too: a run with nothing to do writes nothing.
fn is_right(shared: &Shared<'_>, branch: &Branch, (from, to): (&Origin, &File)) -> bool {
    let meta = &branch.source.meta;
    let Ok(there) = datapump_files::disk::file_meta(to) else { return false };
    let rules = &shared.trees.rules;
    rules.leaves_some()
        && !branch.traits.fresh
        && rules.time_is_right(meta, &there)
        && matches!(rules.kept(meta, &there), Action::Leave(_))
        && matches!(
            attributes::hidden_differ(from.bearer(), Bearer::Open(to), shared.settings.options.keep),
            Ok(false)
        )
}

/// What is left when all lanes have ended: one sync for each file system, then the list of what was committed goes,
/// and the roots get their attributes. A tree in which something failed keeps its list: the same command goes on.
pub(crate) fn finish_trees(shared: &Shared<'_>, waits: &mut Waits, is_complete: bool) {
    let start_ns = shared.settings.world.clock.now_ns();
    let grown = std::mem::take(&mut *shared.trees.grown());
    if !is_complete {
        return;
    }
    // A folder that nobody finished would be a mistake of this program's: better told than hidden.
    let lost = shared.trees.planted() - grown.len();
    if lost > 0 {
        let words = format!("{lost} of the trees could not be finished; copy again");
        shared.ledger.report(Problem { class: Class::Io, operation: "finish", ..Problem::usage(words) });
    }
    grown.iter().for_each(|branch| close_list(shared, branch));
    if shared.settings.options.delete && !shared.settings.compares && !make_way::was_made(shared) {
        delete_rest(shared, &grown);
        if !shared.plan.is_exhausted() {
            return;
        }
    }
    if shared.settings.options.sync == Sync::End && shared.settings.writes {
        sync_devices(shared, &grown);
    }
    for branch in &grown {
        if let Err(problem) = finish_root(shared, branch) {
            shared.ledger.report(problem);
        }
    }
    waits.sync += shared.settings.world.clock.now_ns() - start_ns;
}

/// What a sync beside the copy says, before anything is removed that the copy was to replace.
fn close_list(shared: &Shared<'_>, branch: &Branch) {
    let failed = branch.root.journal().and_then(Journal::close);
    failed.into_iter().for_each(|problem| branch.root.report(&shared.ledger, problem));
    if let Some(errno) = branch.root.journal().and_then(Journal::lacks) {
        let (list, why) = (branch.target_path().join(LIST_NAME), system_words(errno.0));
        shared.ledger.warn(format!(
            "'{}' could not be written: {why}; a copy that goes on does more again",
            shown_path(&list)
        ));
    }
}

/// Removes what is too much, if all was copied. False if nothing was to be removed.
pub(crate) fn delete_rest(shared: &Shared<'_>, grown: &[Arc<Branch>]) -> bool {
    // A file that moved in the source has its old name here as the one copy that is surely on the disk: if this sync
    // fails nothing is removed.
    if shared.settings.options.sync == Sync::End && shared.settings.writes {
        sync_devices(shared, grown);
    }
    if shared.ledger.tally().has_lost_content() {
        shared.ledger.warn_once("nothing was removed (--delete), because not everything was copied".into());
        return false;
    }
    let deleted = delete::delete(shared, grown);
    if shared.stop.load(Ordering::Relaxed) {
        shared.plan.cut();
    }
    if let Err(problem) = deleted {
        shared.ledger.failed_whole.store(problem.class == Class::Refused, Ordering::Relaxed);
        shared.ledger.report(problem);
        return false;
    }
    true
}

fn sync_devices(shared: &Shared<'_>, grown: &[Arc<Branch>]) {
    let (devices, mut said) = (shared.trees.devices(), Ok(()));
    for (path, folder) in devices.values() {
        let _stage = within(Stage::Sync);
        if let Err(errno) = names::sync_all(folder) {
            grown.iter().for_each(|branch| branch.root.fail());
            shared.ledger.report(Problem::system("sync the file system of", path, errno.0));
            said = Err((path.as_path(), errno));
        }
    }
    grown.iter().filter_map(|branch| branch.root.journal()).for_each(|journal| journal.synced(&said));
}

/// Everything below is right and on the disk before the list goes, and its going is on the disk before status 0 is
/// given. The root's own attributes come right before: who may write to it could have made a list in it. Killed
/// before the list goes the same command goes on, and nothing is left to do behind.
fn finish_root(shared: &Shared<'_>, branch: &Branch) -> Result<(), Problem> {
    let Some(target) = branch.target.as_ref().filter(|_| shared.settings.writes) else { return Ok(()) };
    let wrong = |errno: Errno| Problem::system("finish", &target.path(), errno.0);
    let folder = target.file()?.0;
    sweep_folder(shared, branch)?;
    // Looked for before: in a root that is open to others, or of another user, a list is not believed, and a run that
    // was killed there would be followed by one that copies below it.
    let why = branch.root.journal().and_then(|journal| why_it_stays(shared, branch, journal, &folder));
    // A root that does not take its attributes is no reason to leave a list in it.
    let finished = finish_folder(shared, branch).inspect_err(|_| branch.root.fail());
    let listed = finish_list(shared, branch, &folder, why).map_err(wrong);
    let done = finished.and(listed);
    if shared.settings.options.sync == Sync::None {
        return done;
    }
    let _stage = within(Stage::Sync);
    let synced = [Some(&folder), branch.root.made_in.as_ref()].into_iter().flatten();
    let sync = |synced: &Arc<File>| synced.sync_all().map_err(|error| wrong(Errno::of(&error)));
    done.and(synced.into_iter().try_for_each(sync))
}

/// Why the list stays, if it does not for what failed.
fn why_it_stays(
    shared: &Shared<'_>,
    branch: &Branch,
    journal: &Journal,
    folder: &Arc<File>,
) -> Option<String> {
    let is_whole = branch.root.is_whole();
    match journal.is_over(is_whole) {
        true => why_not_over(shared, journal, (folder, &branch.target_path())),
        false => is_whole.then(|| OTHER_NAMES.into()),
    }
}

/// The list goes, or stays for a later run.
fn finish_list(shared: &Shared<'_>, branch: &Branch, folder: &Arc<File>, why: Option<String>) -> Outcome<()> {
    let Some(journal) = branch.root.journal() else { return Ok(()) };
    if why.is_none() && journal.is_over(branch.root.is_whole()) {
        return remove_list(shared, branch, journal, folder);
    }
    if let Some(why) = why {
        let list = shown_path(&branch.target_path().join(LIST_NAME)).to_string();
        shared.ledger.warn(format!("'{list}' stays: it is of an earlier copy that did not end well, {why}"));
    }
    // A list that others could have written to would not be believed.
    if journal.is_believed && !is_closed(folder) { close_to_others(folder) } else { Ok(()) }
}

/// Why a list stays although all that this run dealt with is right.
fn why_not_over(shared: &Shared<'_>, journal: &Journal, target: (&Arc<File>, &Path)) -> Option<String> {
    // What failed otherwise is told, and does not make more of it.
    if !journal.stood() || !shared.settings.writes {
        return None;
    }
    match unsettled::find(shared, journal, target) {
        Ok(found) if found.is_empty() => None,
        Ok(found) => Some(format!(
            "and of files that are not of this one: {} changed since it began and may not be on the disk; copy \
             again with them in the source, or compare them and remove them or the list",
            found.words()
        )),
        Err(problem) => Some(format!("and not all of its folder can be looked at: {}", problem.message)),
    }
}

/// Nobody else may write to a root whose list stays.
fn close_to_others(folder: &File) -> Outcome<()> {
    const OTHERS_WRITE: u32 = 0o022;
    let folder = Bearer::Open(folder);
    let mode = folder.meta()?.mode;
    if mode & OTHERS_WRITE == 0 { Ok(()) } else { folder.set_mode(mode & !OTHERS_WRITE) }
}

/// Removes the list; the root keeps the times that it has.
fn remove_list(shared: &Shared<'_>, branch: &Branch, journal: &Journal, folder: &File) -> Outcome<()> {
    let folder = Bearer::Open(folder);
    match journal.remove() {
        // The root's mode lets nobody write.
        Err(EACCES) => {
            let mode = folder.meta()?.mode;
            folder.set_mode(mode | WRITABLE)?;
            let removed = journal.remove();
            folder.set_mode(mode).and(removed)?;
        }
        removed => removed?,
    }
    match shared.settings.options.keep.times {
        true => attributes::copy_times(&branch.source.meta, folder),
        false => Ok(()),
    }
}
