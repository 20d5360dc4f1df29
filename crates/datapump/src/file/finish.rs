//! Goes on with a file whose blocks have landed: performs the steps of its life one after the other, and charges the
//! time of each. Or gives the file up and removes what was written.
//!
//! Must not know: how blocks are moved, which lane it runs in, which step comes next (`core::file_life`).

use std::sync::Arc;

use datapump_core::verdict::{Phase, Waits};
use datapump_core::{FaultKind, FileStep, Mismatch, PumpFault, SourceCheck};
use datapump_engine::{CpuStage, meter::within};

use crate::file::changed;
use crate::file::completing;
use crate::file::completing::closing;
use crate::file::fault;
use crate::file::settled;
use crate::file::task::{Finish, Task, TreeFile};
use crate::file::verify;
use crate::file::verify::locate;
use crate::problem::{Class, Problem, shown_path};
use crate::report::cut_leaves::CutLeaves;
use crate::run::Shared;
use crate::tree;
use crate::tree::folder::directory::NotCopied;
use datapump_files::commit::StagedFile;
use datapump_files::identity::id;

/// What came of a step.
enum StepOutcome {
    Done,
    /// The life of the file was told what came of it.
    Told,
    /// Blocks of another pass are on their way: whoever lands the last goes on.
    OnItsWay,
    /// Another pass has no blocks.
    Pass(Arc<Task>),
}

/// Goes on with a file of which this pass moved the last block; problems are reported, and what was not committed is
/// removed.
pub(crate) fn finish(shared: &Shared<'_>, waits: &mut Waits, pass: Arc<Task>) {
    let (mut pass, file) = (Arc::clone(&pass), Arc::clone(pass.written().unwrap_or(&pass)));
    let mut clock = Charges {
        shared,
        waits,
        stage: FinishStage::Metadata,
        since_ns: shared.settings.platform.clock.now_ns(),
    };
    let mut done = None;
    loop {
        let step = next(&file, done.take());
        if step == FileStep::Over {
            break;
        }
        clock.charge_to(FinishStage::of(step));
        tell_phase(shared, step);
        match perform(shared, &file, &pass, step) {
            Ok(StepOutcome::Done) => done = Some(step),
            Ok(StepOutcome::Told) => {}
            Ok(StepOutcome::OnItsWay) => break,
            Ok(StepOutcome::Pass(next)) => {
                close_pass(shared, &pass);
                pass = next;
            }
            Err(problem) => return fail(shared, &pass, problem),
        }
    }
    close_pass(shared, &pass);
}

/// What the end of the only file is. Of several some are copied meanwhile.
fn tell_phase(shared: &Shared<'_>, step: FileStep) {
    if shared.settings.has_trees || shared.settings.files_wanted != 1 {
        return;
    }
    match step {
        FileStep::ReadBack => shared.ledger.watch.enter(Phase::Verifying),
        step if is_sync(step) => shared.ledger.watch.enter(Phase::Syncing),
        _ => {}
    }
}

/// The step behind one that was done: both by one look at the file's life, of which a small file has six.
fn next(file: &Task, done: Option<FileStep>) -> FileStep {
    let mut life = file.life();
    done.into_iter().for_each(|step| life.handle_done(step));
    life.poll_step()
}

/// What the time of a step is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FinishStage {
    Metadata,
    Sync,
    Verify,
}

impl FinishStage {
    fn of(step: FileStep) -> FinishStage {
        match step {
            FileStep::ReadAgain => FinishStage::Verify,
            step if is_sync(step) => FinishStage::Sync,
            _ => FinishStage::Metadata,
        }
    }
}

/// Charges what is done with a file: names and attributes, syncs, reading again. The clock is read where one follows
/// the other.
struct Charges<'run> {
    shared: &'run Shared<'run>,
    waits: &'run mut Waits,
    stage: FinishStage,
    since_ns: u64,
}

impl Charges<'_> {
    fn charge_to(&mut self, stage: FinishStage) {
        if stage != self.stage {
            self.charge();
            self.stage = stage;
        }
    }

    fn charge(&mut self) {
        let now_ns = self.shared.settings.platform.clock.now_ns();
        let stage = match self.stage {
            FinishStage::Metadata => &mut self.waits.metadata,
            FinishStage::Sync => &mut self.waits.sync,
            FinishStage::Verify => &mut self.waits.verify,
        };
        *stage += now_ns - std::mem::replace(&mut self.since_ns, now_ns);
    }
}

impl Drop for Charges<'_> {
    fn drop(&mut self) {
        self.charge();
    }
}

fn is_sync(step: FileStep) -> bool {
    matches!(step, FileStep::Sync | FileStep::SyncFolder)
}

/// A further pass needs no more attention.
fn close_pass(shared: &Shared<'_>, pass: &Task) {
    if pass.written().is_some() {
        settled::settle(shared, pass, true);
    }
}

fn perform(
    shared: &Shared<'_>,
    file: &Arc<Task>,
    pass: &Arc<Task>,
    step: FileStep,
) -> Result<StepOutcome, Problem> {
    let _stage = within(if is_sync(step) { CpuStage::Sync } else { CpuStage::Metadata });
    match step {
        FileStep::SetLength => completing::set_length(file)?,
        FileStep::CheckSource => match completing::check_source(shared, file)? {
            SourceCheck::Unchanged => {}
            unverified => {
                file.life().handle_checked(unverified);
                return Ok(StepOutcome::Told);
            }
        },
        FileStep::ReadAgain => {
            if !changed::read_again(shared, file)? {
                // The run is stopping: it stays as one that is on its way.
                return Ok(StepOutcome::OnItsWay);
            }
        }
        FileStep::SetAttributes => set_attributes(shared, file)?,
        FileStep::Sync => completing::sync(file)?,
        FileStep::Close => closing::close(shared, file)?,
        FileStep::Rename if !tree::names::make_way::lets_in(shared, file)? => {
            return Ok(StepOutcome::OnItsWay);
        }
        FileStep::Rename => completing::rename(shared, file)?,
        FileStep::SyncFolder => completing::sync_folder(file)?,
        FileStep::ReadBack => return verify::read_back(shared, file, pass).map(went_on),
        FileStep::Repair => return Ok(went_on(verify::repair(shared, file, pass))),
        FileStep::Compare(_) => {
            let compared = verify::compare(file, pass);
            file.life().handle_compared(compared);
            return Ok(StepOutcome::Told);
        }
        FileStep::Refuse(Mismatch::Device) => {
            return Err(verify::mismatch(file, "what the device gives back differs from what was written"));
        }
        FileStep::Refuse(Mismatch::Source) => {
            let words = "it was damaged, and the source gives other bytes now than before";
            return Err(verify::mismatch(file, words));
        }
        FileStep::Enqueue => enqueue(shared, file),
        FileStep::Move(_) | FileStep::Over => unreachable!("{step:?}: its blocks have landed"),
    }
    Ok(StepOutcome::Done)
}

/// A pass that was put up and has no blocks is gone on with here.
fn went_on(pass: Option<Arc<Task>>) -> StepOutcome {
    pass.map_or(StepOutcome::OnItsWay, StepOutcome::Pass)
}

/// Sets the attributes of what was written, or of what stands and has the source's content.
fn set_attributes(shared: &Shared<'_>, file: &Task) -> Result<(), Problem> {
    match &file.finish {
        Finish::Commit(staged) => completing::keep_attributes(shared, file, staged),
        _ => tree::rules::checked::is_equal(shared, file),
    }
}

/// It is complete. An equal file was not copied, and is counted where it was found.
fn enqueue(shared: &Shared<'_>, file: &Task) {
    match &file.finish {
        Finish::Checked(_) => settled::settle(shared, file, false),
        _ => settled::done(shared, file),
    }
}

/// A block of a file came to nothing: the file is given up. If it was only compared, and differs or is another than was
/// listed, it is copied after all. Where digests were compared the place is not known yet.
pub(crate) fn faulted(shared: &Shared<'_>, task: &Arc<Task>, fault: PumpFault) {
    let has_changed = || {
        let trouble = task.trouble.get();
        trouble.is_some_and(|problem| matches!(problem.class, Class::Changed | Class::Missing))
    };
    let differs = fault.kind == FaultKind::Differs || has_changed();
    if differs && matches!(task.finish, Finish::Checked(_)) {
        return tree::rules::checked::copy_after_all(shared, task);
    }
    if fault.kind == FaultKind::Differs && locate::locate(shared, task, fault.at) {
        return;
    }
    fail(shared, task, fault::problem_of(shared, task, fault));
}

/// Gives a file up: reports why and removes what was written of it. Requests in flight on it may go on to no effect.
pub(crate) fn fail(shared: &Shared<'_>, task: &Arc<Task>, problem: Problem) {
    if task.fail() {
        abandon(shared, task, goes_on_later(shared, &problem));
        shared.ledger.full.lacks(&problem, || Some(task.length()));
        match &task.tree_file {
            Some(file) => file.entry.directory.report(&shared.ledger, not_copied(task, file), problem),
            None => shared.ledger.report(problem),
        }
        if let Some(written) = task.written() {
            settled::settle(shared, written, false);
        }
        settled::settle(shared, task, false);
    }
}

fn not_copied<'task>(task: &'task Task, file: &'task TreeFile) -> NotCopied<'task> {
    let read = task.written().map_or(task, |written| written).original.as_ref();
    let file_id = read.map(|original| id(&original.meta));
    NotCopied { file: file_id, overwrites: task.overwrites_target(), ..NotCopied::name(&file.entry.name) }
}

/// Whether a later run may go on with a file that this one gives up: it was cut, and nothing is wrong with it. What
/// was written of a source that changed is of no use. A full disk gets its room back: where room can be reserved that
/// is known before anything is written, so that little is lost, and who needs the room need not look for it.
fn goes_on_later(shared: &Shared<'_>, problem: &Problem) -> bool {
    let is_cut = matches!(problem.class, Class::Lost | Class::Io);
    shared.is_stopping() && is_cut
}

/// Removes what was written of a file; a part that remains is reported.
pub(crate) fn discard(shared: &Shared<'_>, staged: &StagedFile) {
    if let Err(problem) = staged.discard() {
        let (path, why) = (shown_path(staged.path()), problem.message);
        shared.ledger.warn(format!(
            "'{path}': a part of it remains under its name: {why}; remove it, or copy again with --update=differs"
        ));
    }
}

/// Leaves what was written of a file for a later run, or removes it.
pub(crate) fn abandon(shared: &Shared<'_>, task: &Task, goes_on_later: bool) {
    let leaves = match &task.finish {
        Finish::Commit(staged) if staged.is_in_place() => CutLeaves::InPlace,
        Finish::Commit(staged) if goes_on_later && staged.leave() => CutLeaves::Resumable,
        Finish::Commit(staged) => {
            discard(shared, staged);
            CutLeaves::Nothing
        }
        Finish::ReadBack(written) | Finish::Repair(written) => {
            return abandon(shared, written, goes_on_later);
        }
        Finish::Device(_) | Finish::Stripe(_) => CutLeaves::InPlace,
        Finish::Nothing | Finish::Located | Finish::Checked(_) => CutLeaves::Nothing,
    };
    shared.ledger.leaves(leaves);
}
