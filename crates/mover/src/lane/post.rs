//! Posts requests of the pump at their ends, and takes what has ended.
//!
//! Must not know: what follows from a block that was read or written, how a request is performed.

use std::sync::Arc;

use datapump_core::{PumpSide, Request, Settled, Transfer};
use datapump_engine::Errno;
use datapump_transport::NetFault;

use super::Lane;
use crate::end::{self, Posted, Trouble};
use crate::file::task::Task;
use crate::problem::{Class, Operation, Problem};

/// A shorter wait is told to who shows progress with the next claim: telling each cost 2 % of null requests.
const TOLD_NS: u64 = 1_000_000;
/// What was requested will not come.
const LOST: Settled = Settled::Failed(Errno::ECONNRESET.0);

impl Lane<'_> {
    /// Posts a request at its end or ends, and settles what completes at once. A slot that gets data gets its task, too.
    #[inline]
    pub(super) fn post(&mut self, request: Request) {
        let Request { transfer, slot, block, .. } = request;
        if transfer != Transfer::Write {
            self.own(slot, block.file);
        }
        let task = self.tasks[slot as usize].as_ref().expect("a slot in use has a task");
        let has_trees = self.run.settings.has_trees;
        let is_small = || has_trees && task.is_small();
        let performer = &mut self.performer;
        match transfer {
            Transfer::Read => {
                let posted = task.source.post(performer, request, || is_small() || task.is_endless());
                self.handle_posted(slot, posted);
            }
            Transfer::Write => {
                let posted = task.sink.post(performer, request, is_small);
                self.handle_posted(slot, posted);
            }
            Transfer::Copy => {
                let posted = end::copy(performer, &task.source, &task.sink, request, is_small());
                self.handle_posted(slot, posted);
            }
        }
    }

    /// Settles what completed at once. Called in each arm for itself, so that what a null end answers leads straight to what
    /// follows from it.
    #[inline(always)]
    fn handle_posted(&mut self, slot: u32, posted: Posted) {
        match posted {
            Posted::Done(settled) => self.settle(slot, settled),
            Posted::Later => {}
            Posted::Performed(settled) => {
                self.check_cancel();
                self.settle(slot, settled);
            }
            Posted::Lost(fault) => self.lost(slot, &fault),
        }
    }

    #[cold]
    fn lost(&mut self, slot: u32, fault: &NetFault) {
        self.lose(fault, ());
        self.settle(slot, LOST);
    }

    /// Takes a request that has completed, or receives or waits for one.
    ///
    /// Errors: the engine failed; a lost connection is reported here.
    pub(super) fn reap(&mut self, side: PumpSide) -> Result<(), Problem> {
        if let Some((request, result)) = self.performer.take() {
            self.completed(request, result);
            return Ok(());
        }
        match self.performer.take_or_flush() {
            Ok(Some((request, result))) => {
                self.completed(request, result);
                return Ok(());
            }
            Ok(None) => {}
            Err(fault) => self.lose(&fault, ()),
        }
        // A block is charged to a limit when it is written, and not when the next one has arrived.
        let side = if self.limited && self.performer.writes_received() { PumpSide::Sink } else { side };
        if self.performer.may_receive(side) {
            self.receive();
            self.pump.raise_source_depth(self.performer.path_depth());
            self.tell_charged();
            self.check_cancel();
            return Ok(());
        }
        let waited = self.performer.wait(side);
        if waited.is_ok_and(|ns| ns >= TOLD_NS) {
            self.tell_charged();
        }
        self.check_cancel();
        waited.map(drop).map_err(|errno| {
            let message = format!("the engine failed: {}", crate::problem::system_words(errno.0));
            Problem { cause: Some(errno.0), ..Problem::of(Class::Io, Operation::Wait, message) }
        })
    }

    fn receive(&mut self) {
        match self.performer.receive_reply() {
            Ok(Some((request, settled, trouble))) => self.answered(request, settled, trouble),
            Ok(None) => {}
            Err(fault) => self.lose(&fault, ()),
        }
    }

    fn answered(&mut self, request: Request, settled: Settled, trouble: Option<Trouble>) {
        trouble.into_iter().for_each(|trouble| self.trouble(request, trouble));
        self.settle(request.slot, settled);
    }

    #[inline]
    fn completed(&mut self, request: Request, result: Result<u32, Errno>) {
        let task = self.tasks[request.slot as usize].as_ref().expect("a slot in use has a task");
        let settled = match request.transfer {
            Transfer::Read => task.source.settle(&mut self.performer, request, result),
            Transfer::Write => task.sink.settle(&mut self.performer, request, result),
            Transfer::Copy => end::settle_copied(&mut self.performer, request, result),
        };
        self.settle(request.slot, settled);
    }

    pub(super) fn is_small(&self, slot: u32) -> bool {
        self.tasks[slot as usize].as_ref().is_some_and(|task| task.is_small())
    }

    /// Makes the slot hold a reference to its block's task.
    #[inline]
    fn own(&mut self, slot: u32, file: u32) {
        let owner = &mut self.tasks[slot as usize];
        if owner.as_ref().is_none_or(|task| task.number != file) {
            owner.clone_from(&self.current);
        }
    }

    /// The task of the extent that is being cut.
    pub(super) fn take_up(&mut self, task: Option<Arc<Task>>) {
        self.performer.reads_back = task.as_ref().is_some_and(|task| task.reads_back());
        self.current = task;
    }

    /// Requests that were on a connection which is lost.
    pub(super) fn forget(&mut self, lost: Vec<Request>) {
        lost.into_iter().for_each(|request| self.settle(request.slot, LOST));
    }
}
