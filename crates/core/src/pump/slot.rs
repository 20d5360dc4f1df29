//! The state of each slot of the pump's pool.
//!
//! Must not know: where the slot's memory is.

use crate::Block;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotPhase {
    Free,
    Reading,
    Full,
    Writing,
    Copying,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotState {
    pub(crate) state: SlotPhase,
    /// End of data is allowed here: the extent's length is unknown.
    pub(crate) open_ended: bool,
    pub(crate) done: u32,
    pub(crate) block: Block,
}

pub(crate) const EMPTY: SlotState =
    SlotState { state: SlotPhase::Free, open_ended: false, done: 0, block: Block { file: 0, at: 0, len: 0 } };
