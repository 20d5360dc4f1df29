//! Judges rows: statistics, comparisons, the cost model, the experiment about depths.
//!
//! Must not know: how rows came to be.

pub(crate) mod compare;
pub mod cost;
pub mod crossings;
pub mod datagrams;
pub mod depths;
pub(crate) mod drift;
pub mod frames;
pub mod pages;
pub mod stages;
pub mod stats;
pub mod traced;
pub(crate) mod trend;
