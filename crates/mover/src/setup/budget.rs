//! The budget of a server's sessions together: bytes of memory, and open files.
//!
//! Slots for blocks are reserved when a session begins. What a peer makes a session hold besides (open folders and
//! files) is charged as it comes, and given back when it goes. A session has at most half of what the rest leaves, so
//! that one alone keeps nobody else out. The first part of a session is free: it can go on when others have all.
//!
//! Must not know: what is held, whom a refusal is told.

pub mod charged;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::problem::{Class, Operation, Problem};

/// Each session may hold so much that is not charged.
const FREE: Amount = Amount { bytes: 1 << 20, files: 8 };
/// What a client may hold twice, on a machine that has little or does not tell.
const CLIENT_BYTES_MIN: u64 = 1 << 30;
/// Open files where the system has no limit.
const FILES_MAX: u64 = 1 << 16;

/// This part of the memory is never reserved for slots beside others: a session needs some of it for names in its
/// middle, when a refusal costs most. Of 64 MiB it is 8: four sessions beside full slots can hold a list of 3,000 names
/// each.
const NO_SLOTS_PART: u64 = 8;

/// Memory and open files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub bytes: u64,
    pub files: u64,
}

/// Whose memory it is, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    Server,
    Client,
}

/// What all sessions share.
#[derive(Debug)]
pub struct Budget {
    holder: Holder,
    limit: Amount,
    taken: Mutex<Amount>,
    /// Held by who reads a long message: what it takes is known, and charged, only when it is read.
    reading: Mutex<()>,
}

/// One session's part of it.
#[derive(Debug)]
pub struct Share {
    budget: Arc<Budget>,
    /// Changes only while `budget.taken` is locked.
    held: Mutex<Amount>,
}

/// Something that a session holds; given back when dropped.
#[derive(Debug)]
pub struct Charge {
    share: Arc<Share>,
    amount: Amount,
}

/// Memory that was reserved; given back when dropped.
#[derive(Debug)]
pub struct Reserved {
    budget: Arc<Budget>,
    bytes: u64,
}

/// A session would hold more than its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverBudget {
    Bytes(Holder),
    Files(Holder),
}

impl Budget {
    /// So much memory, and half of the files that this process may have open: connections need the others.
    pub fn new(bytes: u64) -> Arc<Budget> {
        Budget::of(Holder::Server, bytes)
    }

    /// A client has one session, which may hold half of it: the other half is for slots. Without a number it may hold a
    /// quarter of the machine's memory: a tree of backups has millions of files with several names, and each is kept
    /// until all of them were met.
    pub fn of_client(memory_bytes: Option<u64>) -> Arc<Budget> {
        let bytes = memory_bytes.unwrap_or_else(|| (machine_bytes() / 2).max(CLIENT_BYTES_MIN));
        Budget::of(Holder::Client, bytes)
    }

    fn of(holder: Holder, bytes: u64) -> Arc<Budget> {
        let files = datapump_engine::os::linux::open_files_limit().unwrap_or(FILES_MAX).min(FILES_MAX) / 2;
        Budget::limited(holder, Amount { bytes, files })
    }

    fn limited(holder: Holder, limit: Amount) -> Arc<Budget> {
        Arc::new(Budget { holder, limit, taken: Mutex::default(), reading: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, Amount> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves memory, if no more than `most` is taken then.
    pub fn reserve(self: &Arc<Budget>, bytes: u64, most: u64) -> Option<Reserved> {
        let mut taken = self.taken();
        let sum = taken.bytes.checked_add(bytes).filter(|sum| *sum <= most)?;
        taken.bytes = sum;
        Some(Reserved { budget: Arc::clone(self), bytes })
    }

    /// The same, as long as there is any.
    pub fn reserve_all(self: &Arc<Budget>, bytes: u64) -> Option<Reserved> {
        self.reserve(bytes, self.limit.bytes)
    }

    /// So much may be reserved by several together.
    pub fn slots_bytes_max(&self) -> u64 {
        self.limit.bytes - self.limit.bytes / NO_SLOTS_PART
    }

    /// The part of one session, with nothing in it.
    pub fn share(self: &Arc<Budget>) -> Arc<Share> {
        Arc::new(Share { budget: Arc::clone(self), held: Mutex::default() })
    }

    /// Only one at a time reads what may take far more memory than its length.
    pub fn one_reads(&self) -> MutexGuard<'_, ()> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn taken_bytes(&self) -> u64 {
        self.taken().bytes
    }

    /// Open files of all sessions.
    pub fn files_max(&self) -> u64 {
        self.limit.files
    }
}

impl Share {
    /// Holds something more.
    pub fn charge(self: &Arc<Share>, bytes: usize, files: u64) -> Result<Charge, OverBudget> {
        let amount = Amount { bytes: bytes as u64, files };
        self.hold(amount, 0)?;
        Ok(Charge { share: Arc::clone(self), amount })
    }

    /// Holds memory that can be had otherwise: only if the session may hold so much besides.
    pub fn charge_beside(self: &Arc<Share>, bytes: usize, besides: usize) -> Result<Charge, OverBudget> {
        let amount = Amount { bytes: bytes as u64, files: 0 };
        self.hold(amount, besides as u64)?;
        Ok(Charge { share: Arc::clone(self), amount })
    }

    /// Charges this amount.
    ///
    /// Errors, and nothing is charged: it would be more than half of what others leave, where `besides_bytes` count as well.
    fn hold(&self, amount: Amount, besides_bytes: u64) -> Result<(), OverBudget> {
        let (mut taken, mut held) = (self.budget.taken(), self.held());
        let (before, after) = (held.charged(), held.plus(amount).charged());
        let (others, limit) = (taken.minus(before), self.budget.limit);
        let most = held.plus(amount).plus(Amount { bytes: besides_bytes, files: 0 }).charged();
        if most.bytes > before.bytes && most.bytes > limit.bytes.saturating_sub(others.bytes) / 2 {
            return Err(OverBudget::Bytes(self.budget.holder));
        }
        if after.files > before.files && after.files > limit.files.saturating_sub(others.files) / 2 {
            return Err(OverBudget::Files(self.budget.holder));
        }
        (*taken, *held) = (others.plus(after), held.plus(amount));
        Ok(())
    }

    fn give_back(&self, amount: Amount) {
        let (mut taken, mut held) = (self.budget.taken(), self.held());
        let rest = held.minus(amount);
        *taken = taken.minus(held.charged()).plus(rest.charged());
        *held = rest;
    }

    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    fn held(&self) -> MutexGuard<'_, Amount> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Charge {
    /// More memory for the same.
    pub fn grow(&mut self, bytes: usize) -> Result<(), OverBudget> {
        let amount = Amount { bytes: bytes as u64, files: 0 };
        self.share.hold(amount, 0)?;
        self.amount = self.amount.plus(amount);
        Ok(())
    }

    /// Less memory for the same.
    pub fn shrink(&mut self, bytes: usize) {
        let before = self.amount;
        self.amount = before.minus(Amount { bytes: bytes as u64, files: 0 });
        self.share.give_back(before.minus(self.amount));
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.share.give_back(self.amount);
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

    /// The part that is not free.
    fn charged(self) -> Amount {
        self.minus(FREE)
    }
}

impl OverBudget {
    /// For people.
    /// This side may not hold what came for a path.
    pub fn problem(self, path: &Path) -> Problem {
        Problem::new(Class::Refused, Operation::Read, path, self.message())
    }

    /// The words for what is over the budget, with advice.
    pub fn message(self) -> &'static str {
        match self {
            OverBudget::Bytes(Holder::Server) => {
                "the server may not hold more memory for this session; copy in parts, or raise `pump serve --memory`"
            }
            OverBudget::Bytes(Holder::Client) => {
                "the client may not hold more memory for what the other host sends (half of --memory, or a quarter \
                 of its machine's); copy in parts, or raise --memory"
            }
            OverBudget::Files(Holder::Server) => {
                "the server may not have more files open for this session; raise `ulimit -n` of the server"
            }
            OverBudget::Files(Holder::Client) => {
                "the client may not have more files open; raise `ulimit -n` of the client"
            }
        }
    }
}

/// Memory of this machine; 0 if it is not told.
fn machine_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    pub(super) fn budget() -> Arc<Budget> {
        Budget::limited(Holder::Server, Amount { bytes: 64 << 20, files: 512 })
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
        assert_eq!(one.charge(MIB, 0).err(), Some(OverBudget::Bytes(Holder::Server)));
        assert_eq!(fill(&other, MIB, 0).len(), 1 + 8);
        drop((held, slots));
        assert_eq!(fill(&other, MIB, 0).len(), 1 + 32);
        assert_eq!(*budget.taken(), Amount::default(), "all is given back");
    }

    #[test]
    fn beside_full_slots_sessions_have_something_for_names() {
        let budget = budget();
        let most = budget.slots_bytes_max();
        let _slots = budget.reserve(most, most).expect("nothing is taken");
        assert!(budget.reserve(1, most).is_none());
        let held: Vec<_> = (0..4).map(|_| fill(&budget.share(), MIB / 4, 0)).collect();
        assert_eq!(held.iter().map(Vec::len).collect::<Vec<_>>(), [20, 12, 8, 6], "of 256 KiB");
    }

    #[test]
    fn files_are_shared_like_memory() {
        let budget = budget();
        let (one, other) = (budget.share(), budget.share());
        let held = fill(&one, 0, 2);
        assert_eq!(held.len(), (8 + 256) / 2);
        assert_eq!(one.charge(0, 1).err(), Some(OverBudget::Files(Holder::Server)));
        assert!(one.charge(1, 0).is_ok(), "memory is there");
        assert_eq!(fill(&other, 0, 1).len(), 8 + 128);
        drop(held);
        assert_eq!(*budget.taken(), Amount::default(), "all is given back");
    }

    #[test]
    fn what_can_be_had_otherwise_is_charged_if_as_much_is_free_besides() {
        let budget = budget();
        let share = budget.share();
        let held: Vec<Charge> = std::iter::successors(share.charge_beside(MIB, MIB).ok(), |_| {
            let bytes = usize::try_from(share.held().bytes).expect("it fits");
            share.charge_beside(MIB, bytes + MIB).ok()
        })
        .collect();
        assert_eq!(held.len(), 16, "half of what the session may hold, less what is free");
        assert_eq!(fill(&share, MIB, 0).len(), 17, "the rest is for what cannot");
        drop(held);
        assert_eq!(*budget.taken(), Amount::default(), "all is given back");
    }

    #[test]
    fn a_charge_grows_until_nothing_is_left() {
        let budget = budget();
        let share = budget.share();
        let mut all = share.charge(0, 0).expect("nothing");
        (0..33).for_each(|_| all.grow(MIB).expect("there is room"));
        assert_eq!(all.grow(MIB).err(), Some(OverBudget::Bytes(Holder::Server)));
        assert_eq!(budget.taken().bytes, 32 << 20, "what was refused is not held");
        drop(all);
        assert_eq!(*budget.taken(), Amount::default(), "all is given back");
    }

    #[test]
    fn a_refusal_says_which_side_refuses() {
        let client = Budget::of_client(None);
        let over = client.share().charge(usize::MAX >> 1, 0).expect_err("no machine has so much");
        assert!(over.message().contains("client") && !over.message().contains("pump serve"), "{over:?}");
        let over = budget().share().charge(1 << 40, 0).expect_err("more than the budget");
        assert!(over.message().contains("`pump serve --memory`"), "{over:?}");
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
