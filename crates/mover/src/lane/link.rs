//! A lane's connection to another host: its use, and what follows when it is lost.
//!
//! Must not know: messages, how blocks are requested and sent.

use datapump_core::wire::peer_request::Fault;
use datapump_core::{Block, Request};
use datapump_engine::{CpuStage, Slot, meter::within};
use datapump_transport::NetFault;

use super::Lane;
use crate::end::hash::BlockHash;
use crate::end::{BlockSender, Connection, Trouble};
use crate::file::fault;

impl Lane<'_> {
    /// The connection over which blocks are sent.
    pub(super) fn send_lane(&mut self) -> Option<&mut dyn BlockSender> {
        match &mut self.performer.connection {
            Connection::Send(lane) => Some(&mut **lane),
            Connection::None | Connection::Receive(_) => None,
        }
    }

    /// What the other host said of a block that it could not give.
    pub(super) fn trouble(&self, request: Request, trouble: Trouble) {
        let task = self.tasks[request.slot as usize].as_ref().expect("a slot in use has a task");
        let Some(host) = &self.run.block_host else { return };
        let _ = task.trouble.set(fault::problem_of_trouble(task, trouble, request.block.at, host.place()));
    }

    /// Hashes a block that is sent, or takes the hash that arrived with it. False if the block is yet to be hashed: this lane
    /// has no connection, or no hash came with the block.
    pub(super) fn hash_for_link(&mut self, slot: u32, block: Block) -> bool {
        match &self.performer.connection {
            Connection::None => return false,
            Connection::Receive(_) => {
                let task = self.tasks[slot as usize].as_ref().expect("a slot in use has a task");
                // Also one that came with a block which nobody took: it is not that of what is read back here.
                let received = self.performer.hashes[slot as usize].take();
                let comes_from_there = task.source.is_remote();
                if let (Some(hash), Some(block), true) = (&task.hash, received, comes_from_there) {
                    hash.insert(block);
                    return true;
                }
                // What came is a digest, and the slot holds other bytes.
                return task.source.gives_sums();
            }
            Connection::Send(_) if self.run.settings.options.network.unhashed => return true,
            Connection::Send(_) => {}
        }
        self.performer.submit();
        let _stage = within(CpuStage::Hash);
        let start_ns = self.performer.now_ns();
        let hash = BlockHash::from_bytes(block, self.performer.engine.bytes(Slot(slot)));
        self.performer.hashes[slot as usize] = Some(hash);
        self.performer.waits.hashing += self.performer.now_ns() - start_ns;
        true
    }

    /// A pipe that another host reads has ended: it is told. False if nobody there reads.
    pub(super) fn ended_remote(&mut self, task: u32) -> bool {
        let Some(lane) = self.send_lane() else { return false };
        if let Err(fault) = lane.end(task) {
            self.lose(&fault, ());
        }
        true
    }

    /// A block that another host requested could not be read: it is told. False if nobody there requested it.
    pub(super) fn refused_remote(&mut self, task: u32, fault: Fault) -> bool {
        let Some(lane) = self.send_lane() else { return false };
        if let Err(fault) = lane.fail(task, fault) {
            self.lose(&fault, ());
        }
        true
    }

    /// Reports that the connection is lost, and with it the session; hangs up, and forgets what was requested. Gives back
    /// `answer`.
    pub(super) fn lose<T>(&mut self, fault: &NetFault, answer: T) -> T {
        if let Some(host) = &self.run.block_host {
            let problem = host.lost(fault);
            self.run.ledger.report(problem);
        }
        let lost = self.performer.hang_up();
        self.check_cancel();
        self.forget(lost);
        answer
    }
}
