//! A queue of slot numbers with a fixed capacity: each slot stands in it at most once, so it never grows.
//!
//! Must not know: what the slots hold.

/// First in, first out. The capacity is rounded up to a power of two, so that a mask does for wrapping.
#[derive(Debug)]
pub(crate) struct Ring {
    slots: Box<[u32]>,
    head: u32,
    len: u32,
}

impl Ring {
    pub(crate) fn new(capacity: u32) -> Ring {
        Ring { slots: vec![0; capacity.next_power_of_two() as usize].into(), head: 0, len: 0 }
    }

    #[inline]
    fn index(&self, offset: u32) -> usize {
        (self.head.wrapping_add(offset) as usize) & (self.slots.len() - 1)
    }

    #[inline]
    pub(crate) fn front(&self) -> Option<u32> {
        if self.len == 0 { None } else { Some(self.slots[self.index(0)]) }
    }

    #[inline]
    pub(crate) fn push_back(&mut self, slot: u32) {
        debug_assert!((self.len as usize) < self.slots.len(), "a slot stands here twice");
        let index = self.index(self.len);
        self.slots[index] = slot;
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop_front(&mut self) -> Option<u32> {
        let front = self.front()?;
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        Some(front)
    }

    /// Takes a slot out wherever it stands; the others keep their order.
    pub(crate) fn remove(&mut self, slot: u32) {
        for _ in 0..self.len {
            let front = self.pop_front();
            front.filter(|&front| front != slot).into_iter().for_each(|front| self.push_back(front));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_out_in_order_whatever_is_removed() {
        let mut ring = Ring::new(3);
        for round in 0..5 {
            (0..3).for_each(|slot| ring.push_back(slot));
            ring.remove(1);
            assert_eq!(
                (ring.pop_front(), ring.pop_front(), ring.pop_front()),
                (Some(0), Some(2), None),
                "round {round}"
            );
        }
    }
}
