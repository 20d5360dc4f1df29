//! Names that wait for what stands in their place to go.
//!
//! Must not know: what stands there, who removes it.

use std::sync::Arc;

use crate::listed::Name;
use crate::tree::branch::Branch;

/// Names that wait for a folder in their place to go.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    pub(super) names: Vec<(Arc<Branch>, Name)>,
    /// They had their turn: nothing waits any more.
    pub(super) is_over: bool,
    /// All that is too much was removed for them.
    pub(super) was_made: bool,
}
