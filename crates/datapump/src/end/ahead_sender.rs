//! What a lane sends before it is requested: the walk of the places, within the credit of the other side.
//!
//! Must not know: connections, how what it meets is read and answered.

use datapump_core::wire::peer_request::Answer;
use datapump_core::wire::peer_request::credit::SendCredit;
use datapump_core::wire::peer_request::walk_ahead::{AheadStep, WalkAhead};

/// The answers that are sent before they are requested.
pub(super) struct AheadSender {
    walk: WalkAhead,
    credit: SendCredit,
}

impl AheadSender {
    pub(super) fn new(walk: WalkAhead, credit_bytes: u64) -> AheadSender {
        let mut credit = SendCredit::default();
        credit.handle_grant(credit_bytes);
        AheadSender { walk, credit }
    }

    /// There is room for so much more.
    pub(super) fn handle_credit(&mut self, bytes: u64) {
        self.credit.handle_grant(bytes);
    }

    /// Whether something can be answered now, while so many bytes are to be sent already.
    pub(super) fn has_next(&self, under_way_bytes: u64) -> bool {
        self.credit.may_begin(under_way_bytes) && self.walk.has_next()
    }

    /// The request to answer next, if there is credit and it is known.
    pub(super) fn poll(&mut self, under_way_bytes: u64) -> Option<AheadStep> {
        if self.credit.may_begin(under_way_bytes) { self.walk.poll() } else { None }
    }

    /// An answer is about to be sent. Whether it opens a folder that nobody wants any more.
    pub(super) fn handle_answer(&mut self, number: u64, answer: &mut Answer) -> bool {
        self.walk.handle_answer(number, answer)
    }

    /// A frame is sent, with so many bytes behind its head.
    pub(super) fn handle_frame(&mut self, bytes: usize) {
        self.credit.handle_frame(bytes);
    }

    /// See [`WalkAhead::handle_unwanted`].
    pub(super) fn handle_unwanted(&mut self, number: u64) -> Vec<u64> {
        self.walk.handle_unwanted(number)
    }
}
