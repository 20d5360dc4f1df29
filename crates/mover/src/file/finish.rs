//! Goes on with a file whose blocks have landed: performs the steps of its life one after the other, and charges the
//! time of each. Or gives the file up and removes what was written.
//!
//! Must not know: how blocks are moved, which lane it runs in, which step comes next (`core::file_life`).

use std::sync::Arc;

use datapump_core::verdict::{Phase, Waits};
use datapump_core::{FaultKind, FileStep, Mismatch, PumpFault, SourceCheck};
use datapump_engine::{CpuStage, meter::within};

use crate::file::completing::closing;
use crate::file::task::{Finish, Task};
use crate::file::verify::locate;
use crate::file::{changed, completing, fault, settled, verify};
use crate::problem::{Class, Problem, shown_path};
use crate::report::cut_leaves::CutLeaves;
use crate::run::MoverRun;
use crate::run::owner::FileOwner;
use datapump_files::commit::StagedFile;

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
pub fn finish(owner: &dyn FileOwner<'_>, waits: &mut Waits, pass: Arc<Task>) {
    let (mut pass, file) = (Arc::clone(&pass), Arc::clone(pass.passed_file().unwrap_or(&pass)));
    let mut clock = Charges {
        run: owner,
        waits,
        stage: FinishStage::Metadata,
        since_ns: owner.settings.platform.clock.charged_ns(),
    };
    let mut done = None;
    loop {
        let step = next(&file, done.take());
        if step == FileStep::Over {
            break;
        }
        clock.charge_to(FinishStage::from_step(step));
        show_phase(owner, step);
        match perform_step(owner, &file, &pass, step) {
            Ok(StepOutcome::Done) => done = Some(step),
            Ok(StepOutcome::Told) => {}
            Ok(StepOutcome::OnItsWay) => break,
            Ok(StepOutcome::Pass(next)) => {
                close_pass(owner, &pass);
                pass = next;
            }
            Err(problem) => return fail(owner, &pass, problem),
        }
    }
    close_pass(owner, &pass);
}

/// Shows that the only file of a run is synced or read back. Of several, some are copied meanwhile.
fn show_phase(run: &MoverRun<'_>, step: FileStep) {
    if run.settings.has_trees || run.settings.files_wanted != 1 {
        return;
    }
    match step {
        FileStep::ReadBack => run.ledger.watch.enter(Phase::Verifying),
        step if is_sync(step) => run.ledger.watch.enter(Phase::Syncing),
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
    /// Reading the source again, to verify it.
    Source,
}

impl FinishStage {
    fn from_step(step: FileStep) -> FinishStage {
        match step {
            FileStep::ReadAgain => FinishStage::Source,
            step if is_sync(step) => FinishStage::Sync,
            _ => FinishStage::Metadata,
        }
    }
}

/// Charges what is done with a file: names and attributes, syncs, reading again. The clock is read where one follows
/// the other.
struct Charges<'run> {
    run: &'run MoverRun<'run>,
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

    /// Charges the time since the last charge to the stage at hand.
    fn charge(&mut self) {
        let now_ns = self.run.settings.platform.clock.charged_ns();
        let stage = match self.stage {
            FinishStage::Metadata => &mut self.waits.metadata,
            FinishStage::Sync => &mut self.waits.sync,
            FinishStage::Source => &mut self.waits.source,
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
fn close_pass(owner: &dyn FileOwner<'_>, pass: &Task) {
    if pass.passed_file().is_some() {
        settled::settle(owner, pass, true);
    }
}

/// Performs one step of a file, and says how its life goes on.
///
/// Errors: the file is to be given up for this problem.
fn perform_step(
    owner: &dyn FileOwner<'_>,
    file: &Arc<Task>,
    pass: &Arc<Task>,
    step: FileStep,
) -> Result<StepOutcome, Problem> {
    let _stage = within(if is_sync(step) { CpuStage::Sync } else { CpuStage::Metadata });
    match step {
        FileStep::SetLength => completing::set_length(file)?,
        FileStep::CheckSource => match completing::check_source(owner, file)? {
            SourceCheck::Unchanged => {}
            unverified => {
                file.life().handle_checked(unverified);
                return Ok(StepOutcome::Told);
            }
        },
        FileStep::ReadAgain => {
            if !changed::read_again(owner, file)? {
                // The run is stopping: it stays as one that is on its way.
                return Ok(StepOutcome::OnItsWay);
            }
        }
        FileStep::SetAttributes => set_attributes(owner, file)?,
        FileStep::Sync => completing::sync(file)?,
        FileStep::Close => closing::flush_before_name(owner, file)?,
        FileStep::Rename if !owner.lets_in(file)? => {
            return Ok(StepOutcome::OnItsWay);
        }
        FileStep::Rename => completing::rename(owner, file)?,
        FileStep::SyncFolder => completing::sync_folder(file)?,
        FileStep::ReadBack => return verify::enqueue_read_back(owner, file, pass).map(went_on),
        FileStep::Repair => return Ok(went_on(verify::enqueue_repair(owner, file, pass))),
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
        FileStep::Enqueue => enqueue(owner, file),
        FileStep::Move(_) | FileStep::Over => unreachable!("{step:?}: its blocks have landed"),
    }
    Ok(StepOutcome::Done)
}

/// A pass that was put up and has no blocks is gone on with here.
fn went_on(pass: Option<Arc<Task>>) -> StepOutcome {
    pass.map_or(StepOutcome::OnItsWay, StepOutcome::Pass)
}

/// Sets the attributes of what was written, or of what stands and has the source's content.
fn set_attributes(owner: &dyn FileOwner<'_>, file: &Task) -> Result<(), Problem> {
    match &file.finish {
        Finish::Commit(staged) => completing::set_attributes_of_written(owner, file, staged),
        _ => owner.handle_equal(file),
    }
}

/// It is complete. An equal file was not copied, and is counted where it was found.
fn enqueue(owner: &dyn FileOwner<'_>, file: &Task) {
    match &file.finish {
        Finish::Checked => settled::settle(owner, file, false),
        _ => settled::report_complete(owner, file),
    }
}

/// Handles a block that failed: gives its file up. A file that was only compared, and differs or is another than was listed, is
/// copied after all; where digests were compared its bytes are compared first, to find the place.
pub fn handle_fault(owner: &dyn FileOwner<'_>, task: &Arc<Task>, fault: PumpFault) {
    let has_changed = || {
        let trouble = task.trouble.get();
        trouble.is_some_and(|problem| matches!(problem.class, Class::Changed | Class::Missing))
    };
    let differs = fault.kind == FaultKind::Differs || has_changed();
    if differs && matches!(task.finish, Finish::Checked) {
        return owner.handle_differs(task);
    }
    if fault.kind == FaultKind::Differs && locate::locate_difference(owner, task, fault.at) {
        return;
    }
    fail(owner, task, fault::problem_of(owner, task, fault));
}

/// Gives a file up, once: reports why, settles it, and removes what was written of it unless a later run can resume it.
/// Requests in flight on it may complete to no effect.
pub fn fail(owner: &dyn FileOwner<'_>, task: &Arc<Task>, problem: Problem) {
    if task.fail() {
        abandon(owner, task, goes_on_later(owner, &problem));
        owner.ledger.full.count_missing(&problem, || Some(task.length()));
        owner.handle_failed(task, problem);
        if let Some(written) = task.passed_file() {
            settled::settle(owner, written, false);
        }
        settled::settle(owner, task, false);
    }
}

/// Whether a later run may go on with a file that this one gives up: it was cut, and nothing is wrong with it. What
/// was written of a source that changed is of no use. A full disk gets its room back: where room can be reserved that
/// is known before anything is written, so that little is lost, and who needs the room need not look for it.
fn goes_on_later(run: &MoverRun<'_>, problem: &Problem) -> bool {
    let is_cut = matches!(problem.class, Class::Lost | Class::Io);
    run.is_stopping() && is_cut
}

/// Removes what was written of a file; a part that remains is reported.
pub fn discard(run: &MoverRun<'_>, staged: &StagedFile) {
    if let Err(problem) = staged.discard() {
        let (path, why) = (shown_path(staged.path()), problem.message);
        run.ledger.warn(format!(
            "'{path}': a part of it remains under its name: {why}; remove it, or copy again with --update=differs"
        ));
    }
}

/// Leaves what was written of a file to a later run, or removes it, and notes which. What is written in place stays.
pub fn abandon(run: &MoverRun<'_>, task: &Task, goes_on_later: bool) {
    let leaves = match &task.finish {
        Finish::Commit(staged) if staged.is_in_place() => CutLeaves::InPlace,
        Finish::Commit(staged) if goes_on_later && staged.leave() => CutLeaves::Resumable,
        Finish::Commit(staged) => {
            discard(run, staged);
            CutLeaves::Nothing
        }
        Finish::ReadBack(written) | Finish::Repair(written) => {
            return abandon(run, written, goes_on_later);
        }
        Finish::Device(_) | Finish::Stripe(_) => CutLeaves::InPlace,
        Finish::Nothing | Finish::Located | Finish::Checked => CutLeaves::Nothing,
    };
    run.ledger.leaves(leaves);
}
