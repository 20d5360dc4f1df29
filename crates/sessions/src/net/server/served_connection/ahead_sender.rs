//! Sends blocks and names before they are requested: the walk of the places, within the credit of the other side.
//!
//! Must not know: connections, how what it meets is read and answered.

use std::sync::Arc;

use datapump_core::wire::peer_request::Answer;
use datapump_core::wire::peer_request::credit::SendCredit;
use datapump_core::wire::peer_request::walk_ahead::{AheadStep, WalkAhead};

use crate::setup::budget::{Charge, Share};

/// Names that are to come have so much room at first, and as much more each time, while the session may hold more.
const ROOM_BYTES: usize = 512 << 10;
/// They are given more when less than this is left: names of a listing come together.
const ROOM_LEFT_BYTES: usize = 128 << 10;

/// The answers that are sent before they are requested.
pub(super) struct AheadSender {
    pub(super) walk: WalkAhead,
    pub(super) credit: SendCredit,
    /// What the names take that are to come.
    room: Charge,
    room_bytes: usize,
}

impl AheadSender {
    /// `None` where this side may not hold what that takes.
    pub(super) fn new(mut walk: WalkAhead, credit_bytes: u64, share: &Arc<Share>) -> Option<AheadSender> {
        let mut credit = SendCredit::default();
        credit.handle_grant(credit_bytes);
        let room = share.charge(ROOM_BYTES, 0).ok()?;
        walk.set_room(ROOM_BYTES);
        Some(AheadSender { walk, credit, room, room_bytes: ROOM_BYTES })
    }

    /// Whether something can be answered now, while so many bytes are to be sent already.
    pub(super) fn has_next(&self, under_way_bytes: u64) -> bool {
        self.credit.may_begin(under_way_bytes) && self.walk.has_next()
    }

    /// The request to answer next, if there is credit and it is known.
    pub(super) fn poll(&mut self, under_way_bytes: u64) -> Option<AheadStep> {
        if self.credit.may_begin(under_way_bytes) { self.walk.poll() } else { None }
    }

    /// Handles that an answer is about to be sent, and takes note of what it leads to. True if it opens a folder that
    /// nobody wants any more.
    pub(super) fn handle_answer(&mut self, number: u64, answer: &mut Answer) -> bool {
        let is_short = self.walk.room_left() < ROOM_LEFT_BYTES && matches!(answer, Answer::Names { .. });
        if is_short && self.room.grow(ROOM_BYTES).is_ok() {
            self.room_bytes += ROOM_BYTES;
            self.walk.set_room(self.room_bytes);
        }
        self.walk.handle_answer(number, answer)
    }
}
