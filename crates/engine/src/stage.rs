//! The stages of a copy's CPU time: a closed set, and sums by it.
//!
//! Must not know: how time is measured, what becomes of the sums.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What CPU time is spent on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CpuStage {
    /// Handing reads to the system, and what it does for them in that call.
    Read,
    /// The same of writes.
    Write,
    /// Copying inside the kernel.
    Copy,
    /// Hashing and comparing.
    Hash,
    /// Sealing what is sent.
    Encrypt,
    /// Opening what was received, and putting it where it belongs.
    Decrypt,
    /// Calls that send.
    Send,
    /// Calls that receive.
    Receive,
    /// Names, attributes, opening, closing.
    Metadata,
    /// Calls that put on stable storage.
    Sync,
    /// Calls that wait while nothing new is handed over: the completions of either end.
    Waiting,
    /// The rest of the copy loop, and setting it up.
    Loop,
    /// Threads with which io_uring serves requests that would have blocked, such as writes through the cache.
    Workers,
    /// Threads of the process that are no copy loops: control, progress, those of `--engine=threads`.
    #[serde(rename = "other threads")]
    OtherThreads,
    /// The system's own threads, whatever else they did meanwhile.
    #[serde(rename = "kernel threads")]
    KernelThreads,
    /// One that only a later version knows.
    #[default]
    #[serde(other)]
    Unknown,
}

/// Those that a thread's meter tells apart, in the order of their numbers, in which another host is told of them.
pub const METERED: [CpuStage; 13] = [
    CpuStage::Read,
    CpuStage::Write,
    CpuStage::Copy,
    CpuStage::Hash,
    CpuStage::Encrypt,
    CpuStage::Decrypt,
    CpuStage::Send,
    CpuStage::Receive,
    CpuStage::Metadata,
    CpuStage::Sync,
    CpuStage::Waiting,
    CpuStage::Loop,
    CpuStage::Workers,
];

/// Room for those that are metered: what is told to another host has this length, and its last places are free.
pub const METERED_MAX: usize = 16;

impl CpuStage {
    /// The name in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            CpuStage::Read => "read",
            CpuStage::Write => "write",
            CpuStage::Copy => "copy",
            CpuStage::Hash => "hash",
            CpuStage::Encrypt => "encrypt",
            CpuStage::Decrypt => "decrypt",
            CpuStage::Send => "send",
            CpuStage::Receive => "receive",
            CpuStage::Metadata => "metadata",
            CpuStage::Sync => "sync",
            CpuStage::Waiting => "waiting",
            CpuStage::Loop => "loop",
            CpuStage::Workers => "workers",
            CpuStage::OtherThreads => "other threads",
            CpuStage::KernelThreads => "kernel threads",
            CpuStage::Unknown => "unknown",
        }
    }
}

/// CPU time by stage, in nanoseconds, in the order of [`METERED`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent(pub [u64; METERED_MAX]);

impl Spent {
    /// Adds what a stage took, one of [`METERED`].
    #[inline]
    pub fn add(&mut self, stage: CpuStage, ns: u64) {
        self.0[stage as usize] += ns;
    }

    /// Both together.
    pub fn plus(&self, other: &Spent) -> Spent {
        Spent(std::array::from_fn(|at| self.0[at].saturating_add(other.0[at])))
    }

    /// All of it.
    pub fn total_ns(&self) -> u64 {
        self.0.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
    }

    /// In the same proportions, so much in all; nothing if there are none.
    pub fn scaled_to(&self, total_ns: u64) -> Spent {
        let all_ns = u128::from(self.total_ns().max(1));
        Spent(self.0.map(|ns| (u128::from(ns) * u128::from(total_ns) / all_ns) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_told_by_its_number() {
        for (at, stage) in METERED.iter().enumerate() {
            assert_eq!(*stage as usize, at, "{stage:?}");
        }
        assert!(METERED.len() <= METERED_MAX);
    }
}
