//! Claims work for a lane. Where another host lies far away, pieces of files are claimed and requested before the pump has
//! slots for them: what is under way fills the path, and not this side's memory. What comes too early waits in the
//! sockets.
//!
//! Must not know: how blocks are requested and received.

use std::sync::Arc;

use datapump_core::Extent;
use datapump_transport::NetFault;

use super::Lane;
use crate::file::task::Task;
use crate::run::MoverRun;
use crate::run::plan::Claim;

impl Lane<'_> {
    /// The next claim: one that was made ahead, or one that the plan gives. Where the lane may, more is claimed ahead.
    pub(super) fn next_claim(&mut self) -> Result<Claim<()>, NetFault> {
        let claim = match self.claimed_ahead.pop_front() {
            Some((task, extent)) => Claim::Piece(task, extent),
            None => self.claim_and_request()?,
        };
        if matches!(claim, Claim::Piece(..)) && self.reads_on() {
            self.claim_ahead();
        }
        Ok(claim)
    }

    /// Whether this lane requests blocks before they are posted. Also has the lane follow the path's round trip of now.
    fn reads_on(&mut self) -> bool {
        let reads_on = reads_on(self.run);
        if let Some(host) = self.run.block_host.as_ref().filter(|_| reads_on) {
            let request_bytes = self.run.settings.shape.request_bytes;
            self.performer.follow(host.round_trip_ns(), request_bytes);
        }
        reads_on
    }

    /// Claims what is next; the blocks of a piece are requested at once where this lane requests ahead.
    fn claim_and_request(&mut self) -> Result<Claim<()>, NetFault> {
        let claim = self.worker.claim()?;
        if let Claim::Piece(task, extent) = &claim
            && self.reads_on()
        {
            self.request_ahead(task, *extent);
        }
        Ok(claim)
    }

    /// Claims and requests as much as fills the path: each lane has its part of it. A file that the path holds whole is cut for
    /// as few lanes as fill it: with equal parts for all, both ends and a relay on two cores took 1.1 times as long, as the
    /// last part was requested last.
    fn claim_ahead(&mut self) {
        let mut is_requested = true;
        // A piece that is not requested ahead is left to all lanes, except the one that told so.
        while is_requested
            && !self.stopping
            && self.performer.may_announce(self.lanes())
            && let Some((task, extent)) = self.owner.plan().claim_ahead()
        {
            is_requested = self.request_ahead(&task, extent);
            self.claimed_ahead.push_back((task, extent));
        }
    }

    /// Lanes that move pieces of large files.
    fn lanes(&self) -> u32 {
        let settings = &self.run.settings;
        let lanes = settings.options.tuning.lanes.unwrap_or(settings.usual_lanes).max(self.run.gate.open());
        lanes.min(settings.lanes_for_pieces.try_into().unwrap_or(u32::MAX)).max(1)
    }

    fn request_ahead(&mut self, task: &Arc<Task>, extent: Extent) -> bool {
        let request_bytes = self.run.settings.shape.request_bytes;
        let announced = task.source.announce(&mut self.performer, extent, request_bytes);
        announced.unwrap_or_else(|fault| self.lose(&fault, false))
    }
}

/// Whether blocks are requested before they have slots: over a long path, unless a rate is to be kept, which sockets
/// full of blocks would not.
pub(super) fn reads_on(run: &MoverRun<'_>) -> bool {
    run.limits.is_empty() && run.block_host.as_ref().is_some_and(|host| host.reads_on())
}
