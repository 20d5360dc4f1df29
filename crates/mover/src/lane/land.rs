//! Handles a block that was read or written: it is hashed, counted, and reported to its file, which may be complete.
//!
//! Must not know: how requests are posted.

use std::sync::Arc;

use datapump_core::{Block, PumpEvent, PumpFault, Settled};
use datapump_engine::{CpuStage, Errno, Slot, meter::within};

use super::Lane;
use crate::end::Source;
use crate::file::task::Task;
use crate::file::{fault, finish};
use crate::place::Fill;
use crate::problem::{Operation, Problem};
use crate::report::watch::Watch;
use datapump_files::resume::Journal;

impl Lane<'_> {
    /// Tells the pump how a request ended, and does what follows from it.
    #[inline]
    pub(super) fn settle(&mut self, slot: u32, settled: Settled) {
        let settled = if settled == Settled::Cancelled { self.cancelled() } else { settled };
        match self.pump.handle_completion(slot, settled) {
            PumpEvent::Nothing => {}
            PumpEvent::Filled { slot, block, ended } => {
                self.handle_filled(slot, block);
                // Another host that asks on is told when it does.
                if let Some(at) = ended
                    && !self.performer.sends()
                {
                    self.handle_ended(slot, block.file, at);
                }
            }
            PumpEvent::Landed { block } => self.handle_written(slot, block),
            PumpEvent::Ended { file, .. } if self.ended_remote(file) => {}
            PumpEvent::Ended { file, at } => self.handle_ended(slot, file, at),
            PumpEvent::Failed(fault) => self.failed(slot, fault),
        }
    }

    /// Nothing is called back before a stop: what answers so by itself has failed.
    #[cold]
    fn cancelled(&self) -> Settled {
        let is_asked_for = self.stopping || self.run.is_stopping() || self.performer.is_cut();
        if is_asked_for { Settled::Cancelled } else { Settled::Failed(Errno::ECANCELED.0) }
    }

    /// Hashes a block that was read, unless it is hashed elsewhere, or gives it to the hook.
    #[inline]
    pub(super) fn handle_filled(&mut self, slot: u32, block: Block) {
        if self.run.settings.null_fill == Some(Fill::Overwritten) {
            self.overwrite(slot, block);
        }
        if self.hash_for_link(slot, block) {
            return;
        }
        if self.tasks[slot as usize].as_ref().expect("a slot in use has a task").hash.is_none() {
            return;
        }
        // The devices work on while this computes.
        self.performer.submit();
        let task = self.tasks[slot as usize].as_ref();
        let Some(hash) = task.and_then(|task| task.hash.as_ref()) else { return };
        let _stage = within(CpuStage::Hash);
        let start_ns = self.performer.now_ns();
        let bytes = self.performer.engine.bytes(Slot(slot));
        match self.run.settings.hook {
            Some(hook) => hook.inspect(block.at, &bytes[..block.len as usize]),
            None => hash.add(block, bytes),
        }
        self.performer.waits.hashing += self.performer.now_ns() - start_ns;
    }

    /// Overwrites a block of a null source, as a program does that makes its data. Only the lab and its hooks request it.
    #[cold]
    fn overwrite(&mut self, slot: u32, block: Block) {
        let is_null =
            matches!(self.tasks[slot as usize].as_ref().map(|task| &task.source), Some(Source::Null));
        if !is_null {
            return;
        }
        let Some(hook) = self.run.settings.hook else {
            let value = (block.at >> 10) as u8;
            return self.performer.engine.bytes_mut(Slot(slot))[..block.len as usize].fill(value);
        };
        self.performer.submit();
        let _stage = within(CpuStage::Hash);
        let start_ns = self.performer.now_ns();
        hook.fill(block.at, &mut self.performer.engine.bytes_mut(Slot(slot))[..block.len as usize]);
        self.performer.waits.hashing += self.performer.now_ns() - start_ns;
    }

    /// Counts a block that was written, and sleeps where a rate limit says so. The task's counter is shared and costs a locked
    /// instruction, so it gets blocks in batches: at the latest when the next extent is claimed.
    #[inline]
    pub(super) fn handle_written(&mut self, slot: u32, block: Block) {
        let bytes = u64::from(block.len);
        if self.limited {
            self.obey_rate(bytes);
        }
        Watch::lane_moved(self.counter, bytes);
        if self.landed_file != block.file {
            self.report_landed();
            self.landed_of.clone_from(&self.tasks[slot as usize]);
            self.landed_file = block.file;
        }
        if self.keeps_blocks {
            self.keep_block(slot, block);
        }
        self.landed_bytes += bytes;
        if self.draining {
            self.report_landed();
            self.release_small(slot);
        }
    }

    /// Enters a written block in its file's journal; a journal that fails ends the file. Keeps the hash of a block that was
    /// compared by its digest.
    fn keep_block(&mut self, slot: u32, block: Block) {
        let Some(task) = &self.landed_of else { return };
        if let Some(journal) = task.journal()
            && let Err(errno) = note_in_journal(journal, block)
        {
            // Nothing that comes now would mend it: the rest is not waited for.
            finish::fail(self.owner, task, Problem::system(Operation::Sync, &task.target_name, errno.0));
        }
        if let Some(hash) = task.hash.as_ref().filter(|_| task.source.gives_sums()) {
            self.performer.hashes[slot as usize].take().into_iter().for_each(|block| hash.insert(block));
        }
    }

    /// Forgets the task of a small file that is done, so that it is closed: a process may have few files open.
    pub(super) fn release_small(&mut self, slot: u32) {
        if self.run.settings.has_trees && self.is_small(slot) {
            let done = self.tasks[slot as usize].take();
            let is_done = |task: &Arc<Task>| done.as_ref().is_some_and(|done| done.number == task.number);
            let current = self.current.take().filter(|current| !is_done(current));
            self.take_up(current);
            (self.landed_of, self.landed_file) = (None, u32::MAX);
        }
    }

    /// Reports the bytes that landed to their task, and finishes the file if they were the last.
    pub(super) fn report_landed(&mut self) {
        let bytes = std::mem::take(&mut self.landed_bytes);
        if let Some(task) = &self.landed_of
            && task.landed(bytes)
        {
            self.finish(Arc::clone(task));
        }
    }

    /// Handles the end of an open-ended source: no more is read, and the file is finished unless its last block is yet
    /// to land.
    pub(super) fn handle_ended(&mut self, slot: u32, file: u32, at: u64) {
        let task = self.tasks[slot as usize].clone().expect("a slot in use has a task");
        debug_assert_eq!(task.number, file);
        self.draining = true;
        self.report_landed();
        if task.ended(at) {
            self.finish(task);
        }
    }

    pub(super) fn finish(&mut self, task: Arc<Task>) {
        finish::finish(self.owner, &mut self.performer.waits, task);
    }

    pub(super) fn failed(&mut self, slot: u32, fault: PumpFault) {
        let task = self.tasks[slot as usize].clone().expect("a slot in use has a task");
        if self.refused_remote(task.number, fault::to_wire(fault)) {
            return;
        }
        finish::handle_fault(self.owner, &task, fault);
    }

    /// Sleeps until the rate limits admit so many bytes. All that is ready is sent before: the other host goes on with it
    /// meanwhile, and waits for its own limit, if it has one.
    pub(super) fn obey_rate(&mut self, bytes: u64) {
        let (run, performer) = (self.run, &mut self.performer);
        let mut flushed = Ok(());
        run.limits.admit(bytes, &mut |clock, due_ns| {
            flushed = performer.flush();
            let _stage = within(CpuStage::Waiting);
            let start_ns = performer.now_ns();
            // A session that is lost is not slept for.
            let is_lost = flushed.is_err();
            let stopped = || is_lost || run.is_stopping() || performer.is_cut();
            clock.sleep_until(due_ns, &stopped);
            let goes_on = !stopped();
            performer.waits.rate_limit += performer.now_ns() - start_ns;
            goes_on
        });
        if let Err(fault) = flushed {
            self.lose(&fault, ());
        }
        self.tell_charged();
    }
}

/// Enters a written block in a journal.
fn note_in_journal(journal: &Journal, block: Block) -> Result<(), Errno> {
    let _stage = within(CpuStage::Metadata);
    journal.landed(block)
}
