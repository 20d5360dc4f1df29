//! The copy to make and explain.
//!
//! Must not know: how it is explained.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datapump::{Options, Place};

/// A copy to make and explain.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where from.
    pub sources: Vec<Place>,
    /// Where to.
    pub target: Place,
    /// The other options.
    pub options: Options,
    /// Ends all of it soon, once true.
    pub stop: Arc<AtomicBool>,
}
