//! The time of a move by stage: each that was waited for, and the CPU.
//!
//! Must not know: how the time is taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time in nanoseconds by stage, summed over lanes. All but `hashing` adds up to lanes x elapsed, with the CPU time of
/// the lanes' threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Waits {
    /// Waiting for the source while the sink had nothing to do.
    pub source: u64,
    /// Waiting for the sink, which held full blocks back.
    pub sink: u64,
    /// Opening, naming, attributes.
    pub metadata: u64,
    /// Waiting for stable storage.
    pub sync: u64,
    /// Hashing: computing, and part of the CPU time.
    pub hashing: u64,
    /// Held back by the rate limit.
    pub rate_limit: u64,
    /// Reading the target back.
    pub verify: u64,
    /// Reserving room for what is to be written.
    pub reserving: u64,
    /// Removing what the source does not have.
    pub deleting: u64,
    /// Reading names of folders.
    pub listing: u64,
    /// The other host was out of reach.
    pub outage: u64,
    /// A lane had nothing to do.
    pub idle: u64,
    /// A lane could have run, and the system ran something else: run_delay of schedstat (proc(5)).
    pub not_scheduled: u64,
}

impl Waits {
    /// All stages in which something was waited for: hashing is computing, an idle lane waits for nobody, and one that
    /// is not scheduled waits for a CPU.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Waits { source, sink, metadata, sync, rate_limit, verify, .. } = self;
        let Waits { reserving, deleting, listing, outage, .. } = self;
        source + sink + metadata + sync + rate_limit + verify + reserving + deleting + listing + outage
    }

    /// Waits for answers of another host about names are the path's, not those of who asked: they go to the source, as
    /// far as names were charged.
    pub fn charge_answers(&mut self, ns: u64) {
        let mut left = ns;
        for stage in [&mut self.metadata, &mut self.listing, &mut self.deleting] {
            let moved = left.min(*stage);
            *stage -= moved;
            left -= moved;
        }
        self.source += ns - left;
    }

    /// The sum, stage by stage.
    #[must_use]
    pub fn plus(&self, other: &Waits) -> Waits {
        let (mut sum, mut other) = (*self, *other);
        sum.stages().into_iter().zip(other.stages()).for_each(|(sum, ns)| *sum += *ns);
        sum
    }

    /// Each stage.
    pub fn stages(&mut self) -> [&mut u64; STAGES] {
        let Waits { source, sink, metadata, sync, hashing, rate_limit, verify, .. } = self;
        let Waits { reserving, deleting, listing, outage, idle, not_scheduled, .. } = self;
        [
            source,
            sink,
            metadata,
            sync,
            hashing,
            rate_limit,
            verify,
            reserving,
            deleting,
            listing,
            outage,
            idle,
            not_scheduled,
        ]
    }
}

/// Stages that time is charged to.
pub const STAGES: usize = 13;

/// CPU time of the process during the job, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel, on the process's behalf.
    pub system_ns: u64,
}

impl Cpu {
    /// Both together.
    pub fn total_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// Of two sessions of one command.
    pub fn plus(&self, other: &Cpu) -> Cpu {
        Cpu { user_ns: self.user_ns + other.user_ns, system_ns: self.system_ns + other.system_ns }
    }
}
