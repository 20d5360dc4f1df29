//! Names that wait for what stands in their place to go.
//!
//! Must not know: what stands there, who removes it.

use std::sync::Arc;

use crate::target::listed::Name;
use crate::tree::folder::directory::Directory;

/// Names that wait for a folder in their place to go.
#[derive(Debug, Default)]
pub(crate) struct WaitingNames {
    pub(crate) names: Vec<(Arc<Directory>, Name)>,
    /// They had their turn: nothing waits any more.
    pub(crate) is_over: bool,
    /// All that is too much was removed for them.
    pub(crate) was_made: bool,
}
