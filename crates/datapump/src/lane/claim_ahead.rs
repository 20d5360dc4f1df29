//! What a lane claims. Where another host lies far away, pieces of files are claimed and requested before the pump has
//! slots for them: what is under way fills the path, and not this side's memory. What comes too early waits in the
//! sockets.
//!
//! Must not know: how blocks are requested and received.

use std::sync::Arc;

use datapump_core::Extent;

use super::Lane;
use crate::file::task::Task;
use crate::run::Work;
use crate::run::plan::Claim;

impl Lane<'_> {
    /// What comes next: what was claimed ahead, or what the plan has.
    pub(super) fn next_claim(&mut self) -> Claim<Work> {
        let claim = match self.claimed_ahead.pop_front() {
            Some((task, extent)) => Claim::Piece(task, extent),
            None => self.claim_and_request(),
        };
        if matches!(claim, Claim::Piece(..)) && self.reads_on() {
            self.claim_ahead();
        }
        claim
    }

    /// Whether the path is long, by what is known now.
    fn reads_on(&mut self) -> bool {
        let Some(remote_host) = self.shared.remote_host.as_ref().filter(|host| host.reads_on()) else {
            return false;
        };
        self.performer.follow(remote_host, self.shared.settings.shape.request_bytes);
        true
    }

    fn claim_and_request(&mut self) -> Claim<Work> {
        let claim = self.shared.plan.claim(self.worker.asker());
        if let Claim::Piece(task, extent) = &claim
            && self.reads_on()
        {
            self.request_ahead(task, *extent);
        }
        claim
    }

    /// As much as fills the path: each lane has its part of it. A file that the path holds whole is cut for as few
    /// lanes as fill it: with equal parts for all, both ends and a relay on two cores took 1.1 times as long, as the
    /// last part was requested last.
    fn claim_ahead(&mut self) {
        while self.performer.may_announce(self.lanes())
            && let Some((task, extent)) = self.shared.plan.claim_ahead()
        {
            self.request_ahead(&task, extent);
            self.claimed_ahead.push_back((task, extent));
        }
    }

    /// Lanes that move pieces of large files.
    fn lanes(&self) -> u32 {
        let settings = &self.shared.settings;
        let lanes = settings.options.lanes.unwrap_or(settings.usual_lanes);
        lanes.min(settings.lanes_for_pieces.try_into().unwrap_or(u32::MAX)).max(1)
    }

    fn request_ahead(&mut self, task: &Arc<Task>, extent: Extent) {
        let request_bytes = self.shared.settings.shape.request_bytes;
        if let Err(fault) = task.source.announce(&mut self.performer, extent, request_bytes) {
            self.lose(&fault, ());
        }
    }
}
