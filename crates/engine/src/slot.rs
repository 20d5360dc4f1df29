//! A slot by its number, and a piece of one.
//!
//! Must not know: where the bytes are, who uses them.

/// The number of a slot in its arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(pub u32);

/// A piece of a slot, in bytes: what a transfer fills or drains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The slot.
    pub slot: Slot,
    /// First byte within the slot.
    pub start: u32,
    /// Number of bytes, at least one.
    pub len: u32,
}
