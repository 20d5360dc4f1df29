//! The simulation: an engine whose devices follow a model, with seeded faults, on a virtual clock (or on the real
//! one, for paced ends).
//!
//! # Fault model
//! Each is off unless [`Faults`] asks for it; everything random comes from one seed.
//! - completions in any order (each is delayed by up to `reorder_ps` after its device is done with it);
//! - partial returns (a transfer moves any part of what was asked, at least one byte);
//! - an error at the n-th request, of either end;
//! - one flipped bit in the data of the n-th request (a read delivers it wrong, a write stores it wrong);
//! - lost unsynced writes and names: see [`SimDisk`].
//!
//! # Device model
//! A request becomes eligible `latency_ps` after it was posted (latencies of different
//! requests overlap), then occupies its device's one channel for `len` bytes / `bytes_per_s`, first come first served.
//! A file may lie on a device of its own ([`SimDisk::put_on`]), as the members of a stripe do.
//!
//! Must not know: which blocks the requests belong to, and in which order they ought to come.

mod clock;
mod device;
mod disk;
mod random;

pub use clock::SimClock;
pub use device::Device;
pub use disk::{SimDisk, SimFile, SimMeta};
pub use random::Random;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::{Completion, Errno, Handle, Op, TransferPlace};

/// What goes wrong, and when. The default is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Completions are delayed by a random time up to this, in picoseconds.
    pub reorder_ps: u64,
    /// One transfer in this many is partial; 0 means none.
    pub partial_one_in: u32,
    /// The n-th request (from 1, both ends counted together) fails with this error.
    pub error_at: Option<(u64, Errno)>,
    /// A bit of the data of the n-th request is flipped.
    pub flip_at: Option<u64>,
    /// So is one in all requests behind it.
    pub flips_on: bool,
}

/// A request on its way.
#[derive(Debug)]
struct Pending {
    done_ps: u64,
    number: u64,
    token: u32,
    op: Op,
    memory: LentMemory,
}

/// Where the data of a pending request lie; lent by the arena until the completion is popped.
#[derive(Debug, Clone, Copy)]
struct LentMemory(Option<*mut u8>);

impl PartialEq for Pending {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Pending {}
impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Pending {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.done_ps, self.number).cmp(&(other.done_ps, other.number))
    }
}

/// The simulated engine.
#[derive(Debug)]
pub struct Sim {
    clock: SimClock,
    source: Device,
    sink: Device,
    faults: Faults,
    random: Random,
    /// When each channel is free again: source, sink.
    free_ps: [u64; 2],
    /// The same of files on devices of their own.
    own_free_ps: BTreeMap<usize, u64>,
    posted: u64,
    pending: BinaryHeap<Reverse<Pending>>,
}

impl Sim {
    /// A simulation on `clock`, with these devices and faults; `seed` decides everything random.
    pub fn new(clock: SimClock, source: Device, sink: Device, faults: Faults, seed: u64) -> Sim {
        let random = Random::new(seed);
        Sim {
            clock,
            source,
            sink,
            faults,
            random,
            free_ps: [0; 2],
            own_free_ps: BTreeMap::new(),
            posted: 0,
            pending: BinaryHeap::new(),
        }
    }

    pub(crate) fn push(&mut self, token: u32, op: &Op, memory: Option<*mut u8>) {
        self.posted += 1;
        let channel_ps = self.occupy(op);
        if op.sides().any(|channel| [self.source, self.sink][channel].synchronous) {
            self.clock.advance_to(channel_ps);
        }
        let done_ps = channel_ps + self.random.below(self.faults.reorder_ps.saturating_add(1));
        let pending =
            Pending { done_ps, number: self.posted, token, op: op.clone(), memory: LentMemory(memory) };
        self.pending.push(Reverse(pending));
    }

    /// Occupies the devices that the request needs; the time at which they are done with it.
    fn occupy(&mut self, op: &Op) -> u64 {
        let now_ps = self.clock.now_ps();
        let len = match op {
            Op::Nop { len, .. } | Op::CopyRange { len, .. } => *len,
            Op::Read { span, .. } | Op::Write { span, .. } => span.len,
        };
        if let Op::Read { file, .. } | Op::Write { file, .. } = op
            && let Handle::Sim(file) = &**file
            && let Some((number, device)) = file.device()
        {
            let free_ps = self.own_free_ps.entry(number).or_default();
            *free_ps = (now_ps + device.latency_ps).max(*free_ps) + device.service_ps(len);
            return *free_ps;
        }
        let mut done_ps = now_ps;
        for channel in op.sides() {
            let device = [self.source, self.sink][channel];
            let start_ps = (done_ps + device.latency_ps).max(self.free_ps[channel]);
            done_ps = start_ps + device.service_ps(len);
            self.free_ps[channel] = done_ps;
        }
        done_ps
    }

    pub(crate) fn pop(&mut self) -> Option<Completion> {
        let due = self.pending.peek().is_some_and(|Reverse(pending)| pending.done_ps <= self.clock.now_ps());
        if !due {
            return None;
        }
        let Reverse(pending) = self.pending.pop()?;
        Some(Completion { token: pending.token, result: self.perform(&pending) })
    }

    pub(crate) fn wait(&mut self) -> Result<(), Errno> {
        if let Some(Reverse(pending)) = self.pending.peek() {
            self.clock.advance_to(pending.done_ps);
        }
        Ok(())
    }

    fn perform(&mut self, pending: &Pending) -> Result<u32, Errno> {
        if let Some((number, errno)) = self.faults.error_at
            && number == pending.number
        {
            return Err(errno);
        }
        let Faults { flip_at, flips_on, .. } = self.faults;
        let flip = flip_at.is_some_and(|at| at == pending.number || (flips_on && at < pending.number));
        match &pending.op {
            Op::Nop { len, .. } => Ok(self.part_of(*len)),
            Op::Read { file, place, span, .. } => {
                let asked = self.part_of(span.len) as usize;
                // SAFETY: `Engine::post_queued` lent `span.len` bytes at `memory` until this completion is taken,
                // and nobody else refers to them meanwhile; `asked` is at most `span.len`.
                let into = unsafe { std::slice::from_raw_parts_mut(lent(pending), asked) };
                let count = file.sim().read(offset(*place), into)?;
                if flip && count > 0 {
                    into[self.random.below(count as u64) as usize] ^= 1 << self.random.below(8);
                }
                Ok(count as u32)
            }
            Op::Write { file, place, span, .. } => {
                let asked = self.part_of(span.len) as usize;
                // SAFETY: as above; the bytes were initialised when the arena was made.
                let mut from = unsafe { std::slice::from_raw_parts(lent(pending), asked) }.to_vec();
                if flip {
                    from[self.random.below(asked as u64) as usize] ^= 1 << self.random.below(8);
                }
                file.sim().write(offset(*place), &from).map(|count| count as u32)
            }
            Op::CopyRange { from, from_at, to, to_at, len } => {
                let mut between = vec![0; self.part_of(*len) as usize];
                let count = from.sim().read(Some(*from_at), &mut between)?;
                to.sim().write(Some(*to_at), &between[..count]).map(|count| count as u32)
            }
        }
    }

    /// All of `len`, or sometimes a part of it.
    fn part_of(&mut self, len: u32) -> u32 {
        match self.faults.partial_one_in {
            0 => len,
            one_in if len > 1 && self.random.below(u64::from(one_in)) == 0 => {
                1 + self.random.below(u64::from(len) - 1) as u32
            }
            _ => len,
        }
    }
}

fn lent(pending: &Pending) -> *mut u8 {
    pending.memory.0.expect("a transfer has a slot")
}

fn offset(place: TransferPlace) -> Option<u64> {
    match place {
        TransferPlace::At(at) => Some(at),
        TransferPlace::Stream => None,
    }
}
