//! What came ahead of its request, and what is expected.
//!
//! Must not know: what becomes of it.

use std::collections::VecDeque;

use datapump_core::wire::WireError;
use datapump_core::wire::peer_request::Answer;
use datapump_transport::{Digest, NetFault};

use crate::end::ArrivedItem;
use crate::setup::budget::OverBudget;
use crate::setup::budget::charged::ChargedValue;

/// Something with a number.
#[derive(Debug)]
pub(super) enum AheadItem {
    /// On its way; of a file the bytes that are expected.
    Awaited(u32),
    Came(Box<ArrivedItem>),
    /// Nobody wants it; of a file the bytes that are expected.
    Unwanted(u32),
}

/// Names of one folder, in the order of its listing.
#[derive(Debug, Default)]
pub(super) struct AheadLists {
    pub(super) whole: VecDeque<ArrivedNames>,
    /// Where the first of them begins.
    pub(super) cookie: u64,
    pub(super) part: Option<ArrivedNames>,
    pub(super) is_unwanted: bool,
}

/// One listing.
#[derive(Debug, Default)]
pub(super) struct ArrivedNames {
    pub(super) answers: Vec<ChargedValue<Answer>>,
    /// Where the names behind them begin.
    pub(super) next: u64,
    pub(super) frames_bytes: u64,
}

impl ArrivedNames {
    /// Nothing comes behind no names, and behind a fault.
    fn are_last(&self) -> bool {
        let has_names =
            |answer: &Answer| matches!(answer, Answer::Names { entries, .. } if !entries.is_empty());
        !self.answers.iter().any(|answer| has_names(answer))
    }
}

/// What one frame, or a file with its block, is.
pub(super) struct Arrival {
    pub(super) number: u64,
    pub(super) answer: ChargedValue<Answer>,
    pub(super) block: Option<(Digest, Vec<u8>)>,
    pub(super) frames_bytes: u64,
}

/// Why something that came is not taken.
pub(super) enum NotTaken {
    /// The session ends.
    Fault(NetFault),
    /// This side may not hold it: everything is requested from now on.
    Over,
}

impl From<WireError> for NotTaken {
    fn from(error: WireError) -> NotTaken {
        NotTaken::Fault(error.into())
    }
}

impl From<NetFault> for NotTaken {
    fn from(fault: NetFault) -> NotTaken {
        NotTaken::Fault(fault)
    }
}

impl From<OverBudget> for NotTaken {
    fn from(_: OverBudget) -> NotTaken {
        NotTaken::Over
    }
}

impl AheadLists {
    pub(super) fn next(&mut self) -> Option<ArrivedNames> {
        let names = self.whole.pop_front()?;
        self.cookie = names.next;
        // Another listing of the folder is requested.
        self.is_unwanted |= names.are_last();
        Some(names)
    }
}
