//! The copy to make and explain.
//!
//! Must not know: how it is explained.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datapump::{Job, Options, Place};

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

impl Case {
    /// The copy itself.
    pub(crate) fn job(&self) -> Job {
        Job::copy(self.sources.clone(), self.target.clone())
            .options(self.options.clone())
            .stop(Arc::clone(&self.stop))
    }

    /// Whether what is copied is kept: a null target stores nothing.
    pub(super) fn is_stored(&self) -> bool {
        !matches!(self.target, Place::Null { .. })
    }
}
