//! The checks of the conformance list, as functions over a maker of engines.

#[cfg(unix)]
mod stream;
mod support;
mod transfer;

#[cfg(unix)]
pub use stream::*;
pub use transfer::*;
