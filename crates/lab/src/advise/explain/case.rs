//! What is to be copied and explained.
//!
//! Must not know: how it is explained.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datapump::{Options, Place};

/// What is to be copied and explained.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where from.
    pub sources: Vec<Place>,
    /// Where to.
    pub target: Place,
    /// What is asked besides.
    pub options: Options,
    /// Ends all of it soon, once true.
    pub stop: Arc<AtomicBool>,
}
