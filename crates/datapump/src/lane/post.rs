//! Posts requests of the pump: at the engine, on the spot, or at another host; and reads their completions.
//!
//! Must not know: what follows from a block that was read or written.

use std::sync::Arc;

use datapump_core::{Block, Request, Settled, Side, Transfer};
use datapump_engine::{
    Completion, Errno, Handle, Op, Slot, Stage,
    meter::{Within, within},
};

use super::Lane;
use crate::end::{FileEnd, Sink, Source, settled};
use crate::task::Task;

impl Lane<'_> {
    #[inline]
    pub(super) fn post(&mut self, request: Request) {
        let Request { transfer, slot, block, done } = request;
        if transfer != Transfer::Write {
            self.own(slot, block.file);
        }
        if self.does_nothing(transfer, slot) {
            return self.settle(slot, Settled::Moved(block.len - done));
        }
        if self.posted_far(request) {
            return;
        }
        let op = self.op(request);
        self.flights[slot as usize] = request;
        if let Some(latencies) = &mut self.latencies {
            latencies.post(slot, self.shared.settings.world.clock.now_ns());
        }
        let at_once = match () {
            () if self.shared.settings.has_trees && self.is_small(slot) => {
                self.post_small(slot, op, transfer)
            }
            () if transfer == Transfer::Read && self.is_endless(slot) => self.post_small(slot, op, transfer),
            () if self.blocking || transfer == Transfer::Copy => self.post_timed(slot, op, transfer),
            () => self.post_queued(slot, op, transfer),
        };
        if let Some(completion) = at_once {
            self.complete(completion.result, request);
        }
    }

    pub(super) fn is_small(&self, slot: u32) -> bool {
        self.tasks[slot as usize].as_ref().is_some_and(|task| task.is_small())
    }

    /// A file of which only its end tells the length: FUSE cuts what the queue reads, and nothing else, at the size.
    fn is_endless(&self, slot: u32) -> bool {
        let is_real = |end: &FileEnd| matches!(*end.handle, Handle::Os(_));
        let endless = |task: &Arc<Task>| {
            task.ranges().is_none() && matches!(&task.source, Source::File(end) if is_real(end))
        };
        self.tasks[slot as usize].as_ref().is_some_and(endless)
    }

    /// A small file of a tree: one request at a time costs less than a queue (LIMITS §5).
    fn post_small(&mut self, slot: u32, op: Op, transfer: Transfer) -> Option<Completion> {
        let _stage = within(stage_of(transfer));
        let start_ns = self.now_ns();
        let completion = self.engine.post_inline(slot, op);
        let side = if transfer == Transfer::Read { Side::Source } else { Side::Sink };
        self.charge(side, self.now_ns() - start_ns);
        Some(completion)
    }

    /// It is handed to the system with others. A bill cannot tell apart what one call does for both ends, so that with
    /// a bill each end's requests are handed over for themselves.
    #[inline]
    fn post_queued(&mut self, slot: u32, op: Op, transfer: Transfer) -> Option<Completion> {
        if self.is_metered {
            let stage = stage_of(transfer);
            if self.posted.is_some_and(|posted| posted != stage) {
                self.submit();
            }
            self.posted = Some(stage);
        }
        self.engine.post(slot, op)
    }

    /// Hands posted requests to the system: before this thread does something else for a while.
    pub(super) fn submit(&mut self) {
        let _stage = self.posted.take().map(within);
        // What is wrong with the engine is told by its next wait.
        let _ = self.engine.submit();
    }

    /// For a call that hands over what was posted, and waits.
    pub(super) fn handing_over(&mut self) -> Option<Within> {
        self.is_metered.then(|| within(self.posted.take().unwrap_or(Stage::Waiting)))
    }

    /// Null ends complete where they stand, unless the engine itself is what is studied.
    #[inline]
    fn does_nothing(&self, transfer: Transfer, slot: u32) -> bool {
        let Some(task) = &self.tasks[slot as usize] else { return false };
        match transfer {
            Transfer::Read => matches!(task.source, Source::Null) && !self.queued.source,
            Transfer::Write => matches!(task.sink, Sink::Null) && !self.queued.sink,
            Transfer::Copy => false,
        }
    }

    /// Makes the slot hold a reference to its block's task.
    #[inline]
    fn own(&mut self, slot: u32, file: u32) {
        let owner = &mut self.tasks[slot as usize];
        if owner.as_ref().is_none_or(|task| task.number != file) {
            owner.clone_from(&self.current);
        }
    }

    #[inline]
    pub(super) fn op(&mut self, request: Request) -> Op {
        let Request { transfer, slot, block, done } = request;
        let task = self.tasks[slot as usize].as_ref().expect("a slot in use has a task");
        match transfer {
            Transfer::Read => task.source.op(slot, block, done),
            Transfer::Write => {
                let padding = task.sink.padding(block);
                if padding > 0 {
                    let start = block.len as usize;
                    self.engine.bytes_mut(Slot(slot))[start..start + padding as usize].fill(0);
                }
                task.sink.op(slot, self.twin(slot), block, done)
            }
            Transfer::Copy => copy_op(task, block, done),
        }
    }

    /// The slot into which a comparing sink reads.
    pub(super) fn twin(&self, slot: u32) -> u32 {
        slot + self.tasks.len() as u32
    }

    /// A request that may block: the time inside is charged to its end.
    fn post_timed(&mut self, slot: u32, op: Op, transfer: Transfer) -> Option<Completion> {
        let _stage = within(stage_of(transfer));
        let start_ns = self.now_ns();
        let completion = self.engine.post(slot, op);
        let side = if transfer == Transfer::Read { Side::Source } else { Side::Sink };
        self.charge(side, self.now_ns() - start_ns);
        self.heed_stop();
        completion
    }

    #[inline]
    pub(super) fn complete(&mut self, result: Result<u32, Errno>, request: Request) {
        let Request { transfer, slot, block, done } = request;
        if result == Err(Errno::EAGAIN) {
            let result = self.wait_inline(request);
            return self.complete(result, request);
        }
        if let Some(latencies) = &mut self.latencies {
            latencies.complete(slot, transfer, self.shared.settings.world.clock.now_ns());
        }
        let task = self.tasks[slot as usize].as_ref().expect("a slot in use has a task");
        let settled = match transfer {
            Transfer::Read => task.source.settle(block, done, result),
            Transfer::Write => task.sink.settle(&self.engine, (slot, self.twin(slot)), block, done, result),
            Transfer::Copy => copy_settled(block, done, result),
        };
        self.settle(slot, settled);
    }

    /// A stream that somebody opened with O_NONBLOCK has nothing now: it is waited for here instead of asked in a loop.
    #[cold]
    pub(super) fn wait_inline(&mut self, request: Request) -> Result<u32, Errno> {
        let _stage = within(stage_of(request.transfer));
        let start_ns = self.now_ns();
        let result = loop {
            let op = self.op(request);
            match self.engine.post_inline(request.slot, op).result {
                Err(Errno::EAGAIN) => {}
                result => break result,
            }
        };
        let side = if request.transfer == Transfer::Read { Side::Source } else { Side::Sink };
        self.charge(side, self.now_ns() - start_ns);
        result
    }
}

fn stage_of(transfer: Transfer) -> Stage {
    match transfer {
        Transfer::Read => Stage::Read,
        Transfer::Write => Stage::Write,
        Transfer::Copy => Stage::Copy,
    }
}

fn copy_op(task: &Task, block: Block, done: u32) -> Op {
    let (Source::File(from), Sink::File(to)) = (&task.source, &task.sink) else {
        unreachable!("only files are copied inside the kernel")
    };
    let at = block.at + u64::from(done);
    let (from, to) = (Arc::clone(&from.handle), Arc::clone(&to.handle));
    Op::CopyRange { from, from_at: at, to, to_at: at, len: block.len - done }
}

fn copy_settled(block: Block, done: u32, result: Result<u32, Errno>) -> Settled {
    /// What copy_file_range(2) says where it cannot serve these two files, or is forbidden: EPERM, EXDEV, EINVAL,
    /// ENOSYS, EOPNOTSUPP.
    const UNABLE: [i32; 5] = [1, 18, 22, 38, 95];
    match result {
        Err(errno) if done == 0 && UNABLE.contains(&errno.0) => Settled::Unable,
        result => settled(result, block.len - done),
    }
}
