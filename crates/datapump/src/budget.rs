//! What the sessions of a server may hold together: bytes of memory, and open files.
//!
//! Slots for blocks are reserved when a session begins. What a peer makes a session hold besides (open folders and
//! files) is charged as it comes, and given back when it goes. A session has at most half of what the rest leaves, so
//! that one alone keeps nobody else out. The first part of a session is free: it can go on when others have all.
//!
//! Must not know: what is held, how a refusal is told.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Each session may hold so much that is not charged.
const FREE: Amount = Amount { bytes: 1 << 20, files: 8 };
/// Open files where the system has no limit.
const FILES_MAX: u64 = 1 << 16;

/// Memory and open files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) bytes: u64,
    pub(crate) files: u64,
}

/// What all sessions share.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: Amount,
    taken: Mutex<Amount>,
}

/// One session's part of it.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Arc<Budget>,
    /// Changes only while `budget.taken` is locked.
    held: Mutex<Amount>,
}

/// Something that a session holds; given back when dropped.
#[derive(Debug)]
pub(crate) struct Charge {
    share: Arc<Share>,
    amount: Amount,
}

/// Memory that was reserved; given back when dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    budget: Arc<Budget>,
    bytes: u64,
}

/// A session would hold more than its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverBudget {
    Bytes,
    Files,
}

impl Budget {
    /// So much memory, and half of the files that this process may have open: connections need the others.
    pub(crate) fn new(bytes: u64) -> Arc<Budget> {
        let files = datapump_engine::os::linux::open_files_limit().unwrap_or(FILES_MAX).min(FILES_MAX) / 2;
        Budget::of(Amount { bytes, files })
    }

    fn of(limit: Amount) -> Arc<Budget> {
        Arc::new(Budget { limit, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, Amount> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves memory, if no more than `most` is taken then.
    pub(crate) fn reserve(self: &Arc<Budget>, bytes: u64, most: u64) -> Option<Reserved> {
        let mut taken = self.taken();
        let sum = taken.bytes.checked_add(bytes).filter(|sum| *sum <= most)?;
        taken.bytes = sum;
        Some(Reserved { budget: Arc::clone(self), bytes })
    }

    /// The part of one session, with nothing in it.
    pub(crate) fn share(self: &Arc<Budget>) -> Arc<Share> {
        Arc::new(Share { budget: Arc::clone(self), held: Mutex::default() })
    }

    /// Open files of all sessions.
    pub(crate) fn files_max(&self) -> u64 {
        self.limit.files
    }
}

impl Share {
    /// Holds something more.
    pub(crate) fn charge(self: &Arc<Share>, bytes: usize, files: u64) -> Result<Charge, OverBudget> {
        let amount = Amount { bytes: bytes as u64, files };
        let (mut taken, mut held) = (self.budget.taken(), self.held());
        let (before, after) = (held.charged(), held.plus(amount).charged());
        let (others, limit) = (taken.minus(before), self.budget.limit);
        if after.bytes > before.bytes && after.bytes > limit.bytes.saturating_sub(others.bytes) / 2 {
            return Err(OverBudget::Bytes);
        }
        if after.files > before.files && after.files > limit.files.saturating_sub(others.files) / 2 {
            return Err(OverBudget::Files);
        }
        (*taken, *held) = (others.plus(after), held.plus(amount));
        Ok(Charge { share: Arc::clone(self), amount })
    }

    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    fn held(&self) -> MutexGuard<'_, Amount> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let (mut taken, mut held) = (self.share.budget.taken(), self.share.held());
        let rest = held.minus(self.amount);
        *taken = taken.minus(held.charged()).plus(rest.charged());
        *held = rest;
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut taken = self.budget.taken();
        taken.bytes = taken.bytes.saturating_sub(self.bytes);
    }
}

impl Amount {
    fn plus(self, other: Amount) -> Amount {
        Amount { bytes: self.bytes + other.bytes, files: self.files + other.files }
    }

    fn minus(self, other: Amount) -> Amount {
        let (bytes, files) = (self.bytes.saturating_sub(other.bytes), self.files.saturating_sub(other.files));
        Amount { bytes, files }
    }

    /// What is not free of it.
    fn charged(self) -> Amount {
        self.minus(FREE)
    }
}

impl OverBudget {
    /// For people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            OverBudget::Bytes => "this session may not hold more memory here; raise --memory of the server",
            OverBudget::Files => "this session may not have more files open here; raise `ulimit -n` there",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn budget() -> Arc<Budget> {
        Budget::of(Amount { bytes: 64 << 20, files: 512 })
    }

    /// Charges as often as it is allowed.
    fn fill(share: &Arc<Share>, bytes: usize, files: u64) -> Vec<Charge> {
        std::iter::from_fn(|| share.charge(bytes, files).ok()).collect()
    }

    #[test]
    fn a_session_has_half_of_what_the_rest_leaves_and_something_free() {
        let budget = budget();
        let slots = budget.reserve(32 << 20, 64 << 20).expect("nothing is taken");
        let (one, other) = (budget.share(), budget.share());
        let held = fill(&one, MIB, 0);
        assert_eq!(held.len(), 1 + 16);
        assert_eq!(one.charge(MIB, 0).err(), Some(OverBudget::Bytes));
        assert_eq!(fill(&other, MIB, 0).len(), 1 + 8);
        drop((held, slots));
        assert_eq!(fill(&other, MIB, 0).len(), 1 + 32);
        assert_eq!(*budget.taken(), Amount::default(), "all is given back");
    }

    #[test]
    fn files_are_shared_like_memory() {
        let budget = budget();
        let (one, other) = (budget.share(), budget.share());
        let held = fill(&one, 0, 2);
        assert_eq!(held.len(), (8 + 256) / 2);
        assert_eq!(one.charge(0, 1).err(), Some(OverBudget::Files));
        assert!(one.charge(1, 0).is_ok(), "memory is there");
        assert_eq!(fill(&other, 0, 1).len(), 8 + 128);
        drop(held);
        assert_eq!(*budget.taken(), Amount::default(), "all is given back");
    }

    #[test]
    fn what_is_free_is_there_when_slots_have_all() {
        let budget = budget();
        let slots = budget.reserve(64 << 20, 64 << 20).expect("nothing is taken");
        assert_eq!(fill(&budget.share(), MIB / 4, 0).len(), 4);
        assert!(budget.reserve(1, 64 << 20).is_none());
        drop(slots);
        assert!(budget.reserve(1, 64 << 20).is_some());
    }
}
