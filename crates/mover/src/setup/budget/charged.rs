//! A value that a peer made this side keep, together with the charge for it.
//!
//! Whatever lives longer than the message that brought it is one of these: a value with its size in memory
//! ([`ChargedValue`]), a table that is charged by its room ([`ChargedMap`]), or room in a table of others
//! ([`ChargedRoom`]). None can be made without the charge.
//!
//! Must not know: messages, who the peer is.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;

use super::{Charge, OverBudget, Share};

pub use datapump_core::selection::{ALLOCATED_BYTES, allocated};
/// The least room of a table. It doubles as the standard library's does: seven eighths of a power of two.
const ROOM_MIN: usize = 56;

/// A value with the charge for its memory.
#[derive(Debug)]
pub struct ChargedValue<T> {
    value: T,
    charge: Charge,
}

impl<T> ChargedValue<T> {
    /// A value that takes so many bytes in memory, with what is made of it: room, not length.
    ///
    /// Errors: the session may not hold so much. The value is gone then.
    pub fn new(value: T, bytes: usize, share: &Arc<Share>) -> Result<ChargedValue<T>, OverBudget> {
        let charge = share.charge(bytes, 0)?;
        Ok(ChargedValue { value, charge })
    }

    /// The value, and the charge that whoever goes on with it holds as long.
    pub fn into_parts(self) -> (T, Charge) {
        (self.value, self.charge)
    }
}

impl<T> Deref for ChargedValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A table that is charged by its room: once when it grows, not for each entry.
#[derive(Debug)]
pub struct ChargedMap<K, V> {
    map: HashMap<K, V>,
    /// Entries that are charged.
    room: usize,
    /// Bytes that are kept elsewhere for each entry.
    beside_bytes: usize,
    charge: Charge,
}

impl<K: Eq + Hash, V> ChargedMap<K, V> {
    /// An empty one, for whose entries so much more is kept elsewhere.
    ///
    /// Errors: the session may hold nothing more.
    pub fn new(share: &Arc<Share>, beside_bytes: usize) -> Result<ChargedMap<K, V>, OverBudget> {
        Ok(ChargedMap { map: HashMap::new(), room: 0, beside_bytes, charge: share.charge(0, 0)? })
    }

    fn entry_bytes(&self) -> usize {
        // Of eight places one stays free, and each has a byte of its own.
        (size_of::<(K, V)>() + 1) * 8 / 7 + 1 + self.beside_bytes
    }

    /// Errors: the session may not hold a larger table. Nothing was inserted then.
    pub fn insert(&mut self, key: K, value: V) -> Result<Option<V>, OverBudget> {
        if self.map.len() == self.map.capacity() && !self.map.contains_key(&key) {
            self.grow()?;
        }
        Ok(self.map.insert(key, value))
    }

    /// Makes room for twice the entries, and charges it. While entries move the old table is there, too.
    fn grow(&mut self) -> Result<(), OverBudget> {
        if self.map.len() < self.room / 2 {
            // It is full of entries that were removed, and is put in order where it is.
            self.map.reserve(1);
            return Ok(());
        }
        let after = (self.room * 2).max(ROOM_MIN);
        self.charge.grow(after * self.entry_bytes())?;
        self.map.reserve(after - self.map.len());
        self.charge.shrink(self.room * self.entry_bytes());
        self.room = after;
        Ok(())
    }

    /// Removes an entry. A map that got mostly empty shrinks, and its charge with it.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let removed = self.map.remove(key);
        if removed.is_some() && self.room > 16 * ROOM_MIN && self.map.len() * 8 < self.room {
            let mut after = ROOM_MIN;
            while after < self.map.len() * 2 {
                after *= 2;
            }
            self.map.shrink_to(self.map.len() * 2);
            self.charge.shrink((self.room - after) * self.entry_bytes());
            self.room = after;
        }
        removed
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.map.get_mut(key)
    }

    /// Nothing is left in it.
    pub fn clear(&mut self) {
        self.map = HashMap::new();
        self.charge.shrink(self.room * self.entry_bytes());
        self.room = 0;
    }
}

impl<K, V> Deref for ChargedMap<K, V> {
    type Target = HashMap<K, V>;

    fn deref(&self) -> &HashMap<K, V> {
        &self.map
    }
}

/// Room in a table that keeps something of each file or folder: it is charged for many of them together.
#[derive(Debug, Default)]
pub struct ChargedRoom {
    charges: Vec<Charge>,
    entries: usize,
}

impl ChargedRoom {
    /// For so many.
    const TOGETHER: usize = 4096;

    /// Entries that have room.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Makes room for so many entries more than there are. `charge` is called once at most; it charges bytes, or
    /// nothing where nobody else brought the entries.
    pub fn make<E>(
        &mut self,
        len: usize,
        more: usize,
        entry_bytes: usize,
        charge: impl FnOnce(usize) -> Result<Option<Charge>, E>,
    ) -> Result<(), E> {
        let lacking = (len + more).saturating_sub(self.entries);
        if lacking > 0 {
            let added = lacking.next_multiple_of(ChargedRoom::TOGETHER);
            self.charges.extend(charge(added * entry_bytes)?);
            self.entries += added;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::budget;
    use super::*;

    #[test]
    fn a_value_is_charged_as_long_as_anything_of_it_is_kept() {
        let budget = budget();
        let share = budget.share();
        let free = share.charge(1 << 20, 0).expect("it is free");
        let kept = ChargedValue::new(vec![0_u8; 1 << 20], allocated(1 << 20), &share).expect("there is room");
        assert_eq!(budget.taken().bytes, (1 << 20) + 32);
        let (_, charge) = kept.into_parts();
        assert_eq!(budget.taken().bytes, (1 << 20) + 32);
        drop((charge, free));
        assert_eq!(budget.taken().bytes, 0);
        assert!(
            ChargedValue::new(Vec::<u8>::with_capacity(40 << 20), allocated(40 << 20), &share).is_err(),
            "room counts, not length"
        );
    }

    #[test]
    fn room_for_a_batch_is_charged_at_once() {
        let budget = budget();
        let share = budget.share();
        let _free = share.charge(1 << 20, 0).expect("it is free");
        let (mut room, mut calls) = (ChargedRoom::default(), 0);
        let mut make = |len, more| {
            let made = room.make(len, more, 24, |bytes| {
                calls += 1;
                share.charge(bytes, 0).map(Some)
            });
            made.map(|()| calls)
        };
        assert_eq!(make(0, 0), Ok(0), "nothing needs no room");
        for (len, more, calls) in [(0, 1, 1), (1, 4095, 1), (4096, 100_000, 2), (104_096, 1, 2)] {
            assert_eq!(make(len, more), Ok(calls), "{len} {more}");
        }
        let refused = make(104_097, 10_000_000);
        assert_eq!(refused, Err(OverBudget::Bytes(super::super::Holder::Server)));
        assert_eq!(budget.taken().bytes, 26 * 4096 * 24, "what was refused is not held");
        drop(room);
        assert_eq!(budget.taken().bytes, 0, "all is given back");
    }

    #[test]
    fn a_table_is_charged_by_its_room() {
        let budget = budget();
        let share = budget.share();
        let _free = share.charge(1 << 20, 0).expect("it is free");
        let mut table = ChargedMap::new(&share, 100).expect("there is room");
        for key in 0..10_000_u64 {
            assert_eq!(table.insert(key, key), Ok(None));
        }
        let (room, taken) = (table.capacity(), budget.taken().bytes as usize);
        assert!(taken >= room * 119 && taken < room * 124, "{taken} for {room}");
        for key in 0..9_999 {
            table.remove(&key);
        }
        assert!((budget.taken().bytes as usize) < taken / 4);
        assert_eq!((table.len(), table.get_mut(&9_999).copied()), (1, Some(9_999)));
        let most = (0..).find(|key| table.insert(*key, *key).is_err()).expect("the budget ends");
        assert!((100_000..400_000).contains(&most), "{most}");
        assert!(table.insert(9_999, 0).is_ok(), "what is there needs no room");
        table.clear();
        drop(table);
        assert_eq!(budget.taken().bytes, 0, "all is given back");
    }
}
