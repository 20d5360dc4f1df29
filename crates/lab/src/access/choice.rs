//! What a pass may be: interface, order, reading or writing.
//!
//! Must not know: how a pass is made.

use datapump::InWords;
use datapump_engine::os::linux::MappedAdvice;
use schemars::JsonSchema;
use serde::Serialize;

/// How a file is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessInterface {
    /// read(2) and write(2): a call for what is used of each page, and a copy of it.
    Stream,
    /// A mapping whose pages come when they are touched.
    Mmap,
    /// A mapping whose pages all come before the first touch.
    MmapPopulate,
    /// A mapping whose order the kernel is told.
    MmapAdvise,
    /// A ring of requests past the page cache: no copy by the CPU.
    Ring,
    /// A ring of requests through the page cache.
    RingCached,
}

/// In which order pages are touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessPattern {
    /// From start to end.
    Sequential,
    /// Every 64th page, then those behind them, until all were there.
    Strided,
    /// Each once, by chance.
    Random,
}

/// The operation on the words of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessUse {
    /// They are read.
    Read,
    /// They are overwritten.
    Write,
}

impl InWords for AccessInterface {
    const WHAT: &'static str = "interface";
    const ALL: &'static [(AccessInterface, &'static str, &'static str)] = &[
        (AccessInterface::Stream, "stream", "read(2) or write(2): a call for what is used of each page"),
        (AccessInterface::Mmap, "mmap", "A mapping: pages come when they are touched"),
        (AccessInterface::MmapPopulate, "mmap-populate", "A mapping whose pages all come first"),
        (AccessInterface::MmapAdvise, "mmap-advise", "A mapping; the kernel is told the order"),
        (AccessInterface::Ring, "ring", "io_uring, past the page cache where whole pages are moved"),
        (AccessInterface::RingCached, "ring-cached", "io_uring, through the page cache"),
    ];
}

impl InWords for AccessPattern {
    const WHAT: &'static str = "pattern";
    const ALL: &'static [(AccessPattern, &'static str, &'static str)] = &[
        (AccessPattern::Sequential, "sequential", "From start to end"),
        (AccessPattern::Strided, "strided", "Every 64th page, then those behind them"),
        (AccessPattern::Random, "random", "Each page once, by chance"),
    ];
}

impl InWords for AccessUse {
    const WHAT: &'static str = "operation";
    const ALL: &'static [(AccessUse, &'static str, &'static str)] = &[
        (AccessUse::Read, "read", "Words are read"),
        (AccessUse::Write, "write", "Words are overwritten where they stand: the file's content is lost"),
    ];
}

impl AccessInterface {
    /// What the kernel is told of the mapping, if it is one.
    pub(super) fn advice(self, pattern: AccessPattern) -> Option<MappedAdvice> {
        match (self, pattern) {
            (AccessInterface::Stream | AccessInterface::Ring | AccessInterface::RingCached, _) => None,
            (AccessInterface::Mmap, _) => Some(MappedAdvice::None),
            (AccessInterface::MmapPopulate, _) => Some(MappedAdvice::Populate),
            (AccessInterface::MmapAdvise, AccessPattern::Sequential) => Some(MappedAdvice::Sequential),
            (AccessInterface::MmapAdvise, _) => Some(MappedAdvice::Random),
        }
    }
}
