//! The buffer pool of a lane: a fixed number of equal, aligned slots in one allocation.
//!
//! A slot has one owner at a time: free, the caller (holding data), or the engine (request in flight). The arena
//! enforces it: bytes of a slot that the engine owns cannot be seen or changed from outside.
//!
//! Must not know: which request a slot serves, what is in it.

use crate::os::pages::Pages;
use crate::slot::{Slot, Span};

/// Slots start at multiples of this, in bytes: the page size, which suffices for direct I/O on every device
/// whose logical block is at most a page.
pub const ALIGNMENT_BYTES: usize = 4096;

/// Equal, aligned slots in one allocation. Not `Sync`: a lane is one thread.
#[derive(Debug)]
pub struct Arena {
    pages: Pages,
    slot_bytes: usize,
    in_flight: Box<[bool]>,
}

impl Arena {
    /// `slots` slots of at least `slot_bytes` bytes each, zeroed, each starting at a multiple of
    /// [`ALIGNMENT_BYTES`]. The memory is touched by its first use, not here. The engine that owns the arena waits for
    /// every request in flight before it drops it.
    ///
    /// # Panics
    /// When there is no memory, as any allocation that fails in Rust; [`Arena::try_new`] does not.
    pub fn new(slots: u32, slot_bytes: u32) -> Arena {
        Arena::try_new(slots, slot_bytes).expect("memory for the slots")
    }

    /// The same, or `None` when there is no memory.
    pub fn try_new(slots: u32, slot_bytes: u32) -> Option<Arena> {
        let slot_bytes = (slot_bytes.max(1) as usize).next_multiple_of(ALIGNMENT_BYTES);
        let pages = slot_bytes.checked_mul(slots.max(1) as usize).and_then(Pages::new)?;
        Some(Arena { pages, slot_bytes, in_flight: vec![false; slots as usize].into() })
    }

    /// Number of slots.
    pub fn slots(&self) -> u32 {
        self.in_flight.len() as u32
    }

    /// Size of each slot in bytes, a multiple of [`ALIGNMENT_BYTES`].
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// The bytes of a slot.
    ///
    /// # Panics
    /// While the engine owns the slot.
    pub fn bytes(&self, slot: Slot) -> &[u8] {
        self.assert_ours(slot);
        // SAFETY: the slot lies inside the allocation (`assert_ours` checked the number), every byte was
        // initialised at allocation, and nobody writes: the engine does not own it, `bytes_mut` needs `&mut self`,
        // and so does `lend`.
        unsafe { std::slice::from_raw_parts(self.start(slot), self.slot_bytes) }
    }

    /// The bytes of a slot, to change.
    ///
    /// # Panics
    /// While the engine owns the slot.
    pub fn bytes_mut(&mut self, slot: Slot) -> &mut [u8] {
        self.assert_ours(slot);
        // SAFETY: as for `bytes`; `&mut self` excludes every other borrow.
        unsafe { std::slice::from_raw_parts_mut(self.start(slot), self.slot_bytes) }
    }

    /// Gives the span's slot to the engine until [`Arena::give_back`], and says where the span's bytes lie.
    ///
    /// # Panics
    /// When the engine owns the slot already, or the span leaves the slot.
    pub(crate) fn lend(&mut self, span: Span) -> *mut u8 {
        self.assert_ours(span.slot);
        let end = span.start as usize + span.len as usize;
        assert!(end <= self.slot_bytes, "bytes {}..{end} of a slot of {} bytes", span.start, self.slot_bytes);
        self.in_flight[span.slot.0 as usize] = true;
        // SAFETY: start + len lies inside the slot, checked above, and the slot inside the allocation.
        unsafe { self.start(span.slot).add(span.start as usize) }
    }

    /// Takes a slot back from the engine: its request has completed, nothing in the kernel or in a worker thread
    /// refers to its bytes any more.
    pub(crate) fn give_back(&mut self, slot: Slot) {
        assert!(self.in_flight[slot.0 as usize], "slot {} was not in flight", slot.0);
        self.in_flight[slot.0 as usize] = false;
    }

    fn assert_ours(&self, slot: Slot) {
        assert!(!self.in_flight[slot.0 as usize], "slot {} is in flight", slot.0);
    }

    fn start(&self, slot: Slot) -> *mut u8 {
        // SAFETY: callers checked the slot's number against `in_flight`, which has one entry a slot.
        unsafe { self.pages.base().as_ptr().add(slot.0 as usize * self.slot_bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_and_apart() {
        let mut arena = Arena::new(3, 5000);
        assert_eq!(arena.slot_bytes(), 8192);
        for slot in 0..3 {
            arena.bytes_mut(Slot(slot)).fill(slot as u8 + 1);
        }
        for slot in 0..3 {
            let bytes = arena.bytes(Slot(slot));
            assert_eq!(bytes.as_ptr() as usize % ALIGNMENT_BYTES, 0, "slot {slot}");
            assert!(bytes.iter().all(|&byte| byte == slot as u8 + 1), "slot {slot}");
        }
    }

    #[test]
    #[should_panic(expected = "slot 1 is in flight")]
    fn a_slot_in_flight_cannot_be_seen() {
        let mut arena = Arena::new(2, 4096);
        arena.lend(Span { slot: Slot(1), start: 0, len: 1 });
        arena.bytes(Slot(1));
    }
}
