//! What a lane does over its connection to another host, and what becomes of it when that is lost.
//!
//! Must not know: messages, how blocks are asked for and given.

use std::sync::Arc;

use datapump_core::{Block, Request, Settled, Side, Transfer};
use datapump_engine::{Slot, Stage, meter::within};
use datapump_transport::{Carried, NetFault};

use super::asking::Came;
use super::{Lane, Link};
use crate::end::{Sink, Source};

/// ECONNRESET: what was asked for will not come.
const LOST: i32 = 104;

impl Lane<'_> {
    /// Whether the other end of a request lies at another host; then it is made here.
    pub(super) fn posted_far(&mut self, request: Request) -> bool {
        if matches!(self.link, Link::None) {
            return false;
        }
        let task = self.tasks[request.slot as usize].as_ref().expect("a slot in use has a task");
        match (request.transfer, &task.source, &task.sink) {
            (Transfer::Read, Source::Far(file), _) => {
                let file = Arc::clone(file);
                let Link::Asking(asking) = &mut self.link else {
                    unreachable!("its source lies at another host")
                };
                if let Err(fault) = asking.ask(request, &file, 1) {
                    self.lose(&fault, ());
                    self.settle(request.slot, Settled::Failed(LOST));
                }
                true
            }
            (Transfer::Write, _, Sink::Far) => {
                self.give(request);
                true
            }
            _ => false,
        }
    }

    /// Sends a block that was read. The time inside calls that send is the network's.
    fn give(&mut self, Request { slot, block, .. }: Request) {
        let hash = self.hashes[slot as usize].take();
        let digest = hash.map_or([0; 32], |hash| hash.digest());
        let Link::Giving(giving) = &mut self.link else { unreachable!("its sink lies at another host") };
        let bytes = &self.engine.bytes(Slot(slot))[..block.len as usize];
        let before_ns = giving.channel().waited_ns();
        let sent = giving.send(block.file, bytes, &digest);
        // The rest of the time is work: bytes are sealed.
        let waited_ns = giving.channel().waited_ns() - before_ns;
        self.charge(Side::Sink, waited_ns);
        match sent {
            Ok(()) => self.settle(slot, Settled::Moved(block.len)),
            Err(fault) => {
                self.lose(&fault, ());
                self.settle(slot, Settled::Failed(LOST));
            }
        }
    }

    /// What is read from the cache is there as soon as it is handed over; before a wait for the device what was put on
    /// the connection is sent.
    pub(super) fn took_at_once(&mut self) -> bool {
        if !self.gives() {
            return false;
        }
        self.submit();
        if let Some(completion) = self.engine.take() {
            let request = self.flights[completion.token as usize];
            self.complete(completion.result, request);
            return true;
        }
        let Link::Giving(giving) = &mut self.link else { return false };
        if let Err(fault) = giving.flush() {
            self.lose(&fault, ());
        }
        false
    }

    /// Whether the next block is to be received now. While full blocks wait for the sink the thread takes what has
    /// come already, as opening and hashing it is work; but it waits for the sink, not for more to come.
    pub(super) fn may_receive(&mut self, side: Side) -> bool {
        match &mut self.link {
            Link::Asking(asking) => asking.is_waiting() && (side == Side::Source || asking.has_come()),
            Link::None | Link::Giving(_) => false,
        }
    }

    /// Waits for the next block, while the sink's device works on. The time is the source's, which is the network and
    /// what lies behind it.
    pub(super) fn receive(&mut self) {
        self.submit();
        let start_ns = self.now_ns();
        let Link::Asking(asking) = &mut self.link else { unreachable!("somebody asked") };
        let tasks = &self.tasks;
        let task = |request: &Request| {
            Arc::clone(tasks[request.slot as usize].as_ref().expect("a slot in use has a task"))
        };
        let (before_ns, opened_ns) = (asking.channel().waited_ns(), asking.channel().opening_ns());
        let came = asking.receive(&mut self.engine, task);
        let waited_ns = asking.channel().waited_ns() - before_ns;
        // What is not a wait is work: bytes are opened and hashed.
        let opened_ns = asking.channel().opening_ns() - opened_ns;
        self.waits.hashing +=
            (self.shared.settings.world.clock.now_ns() - start_ns).saturating_sub(waited_ns + opened_ns);
        self.charge(Side::Source, waited_ns);
        match came {
            Ok(Came::Again) => {}
            Ok(Came::Ended(request, settled, hash)) => {
                if let Some(hash) = hash {
                    self.hashes[request.slot as usize] = Some(hash);
                }
                self.settle(request.slot, settled);
            }
            Err(fault) => self.lose(&fault, ()),
        }
    }

    /// A block is there: its hash came with it, or is taken now to be sent with it. False if this lane has no link.
    pub(super) fn hashed_for_link(&mut self, slot: u32, block: Block) -> bool {
        match &self.link {
            Link::None => return false,
            Link::Asking(_) => {
                let task = self.tasks[slot as usize].as_ref().expect("a slot in use has a task");
                if let (Some(hash), Some(block)) = (&task.hash, self.hashes[slot as usize].take()) {
                    hash.insert(block);
                    return true;
                }
                return false;
            }
            Link::Giving(_) if self.shared.settings.options.unhashed => return true,
            Link::Giving(_) => {}
        }
        self.submit();
        let _stage = within(Stage::Hash);
        let start_ns = self.now_ns();
        let hash = crate::hash::BlockHash::of(block, self.engine.bytes(Slot(slot)));
        self.hashes[slot as usize] = Some(hash);
        self.waits.hashing += self.now_ns() - start_ns;
        true
    }

    /// A pipe that another host asked of has ended: it is told. False if nobody there asked.
    pub(super) fn ended_far(&mut self, task: u32) -> bool {
        let Link::Giving(giving) = &mut self.link else { return false };
        if let Err(fault) = giving.end(task) {
            self.lose(&fault, ());
        }
        true
    }

    /// Blocks go to another host.
    pub(super) fn gives(&self) -> bool {
        matches!(self.link, Link::Giving(_))
    }

    /// What its connection did.
    pub(super) fn carried(&self) -> Carried {
        match &self.link {
            Link::Asking(asking) => asking.carried(),
            Link::Giving(giving) => giving.channel().carried(),
            Link::None => Carried::default(),
        }
    }

    /// A block that another host asked for could not be read: it is told. False if nobody there asked.
    pub(super) fn refused_far(&mut self, task: u32, fault: datapump_core::wire::ask::Fault) -> bool {
        let Link::Giving(giving) = &mut self.link else { return false };
        if let Err(fault) = giving.fail(task, fault) {
            self.lose(&fault, ());
        }
        true
    }

    /// The connection is lost, and with it the session: nothing more is posted, and what was asked for has failed.
    pub(super) fn lose<T>(&mut self, fault: &NetFault, answer: T) -> T {
        if let Some(far) = &self.shared.far {
            let problem = far.lost(fault);
            self.shared.ledger.report(problem);
        }
        let lost: Vec<Request> = match &mut self.link {
            Link::Asking(asking) => asking.forget().collect(),
            Link::Giving(giving) => {
                giving.hang_up();
                Vec::new()
            }
            Link::None => Vec::new(),
        };
        self.heed_stop();
        for request in lost {
            self.settle(request.slot, Settled::Failed(LOST));
        }
        answer
    }
}
