//! Decides what to request next: the copy loop as a state machine, and the tree of hashes.
//!
//! Nothing here performs anything. No I/O, no clock, no threads, no randomness, no `unsafe`: time and results come
//! in as arguments, decisions go out as values. So the deciding half of Datapump can be run a million times under
//! a seeded simulation, and is the same whether bytes come from a disk, a pipe or nowhere.
//!
//! Must not know: how anything is opened, sockets, engines.

#![forbid(unsafe_code)]

mod file_life;
mod hash_tree;
mod marks;
pub mod model;
pub mod name;
pub mod problem;
mod pump;
pub mod units;
pub mod verdict;
pub mod walked;
pub mod wire;

pub use file_life::{
    Ending, FileGoal, FileLife, FileStep, Mismatch, Pass, PassesCompared, REPAIRS_MAX, SourceCheck,
};
pub use hash_tree::{CHUNK_BYTES, Chaining, HashTree, Subtree, subtrees};
pub use marks::{journal, resume};
pub use name::entry::{FileKind, Meta};
pub use name::{selection, wildcard};
pub use pump::Pump;
pub use pump::block::{Block, BlockRoute, Extent, Length};
pub use pump::connection_growth::{ConnectionGrowth, GrowthLook, GrowthState};
pub use pump::path_window::PathWindow;
pub use pump::stripe::{StripeMap, StripePlace};
pub use pump::talk::{
    Claimed, Counts, FaultKind, PumpEvent, PumpFault, PumpSide, Request, Settled, Shape, Step, Transfer,
};
pub use units::closed_list::InWords;
