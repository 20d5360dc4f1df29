//! A folder of the target that names which the user gave go to: opened once, however many of them there are.
//!
//! Must not know: which names go there, what becomes of them.

use std::sync::Arc;

use crate::folder::directory::{LinkDest, Traits};
use crate::folder::side::FolderSide;

/// The folder, and what is known of it.
#[derive(Clone, Debug)]
pub(crate) struct NamedFolder {
    pub(crate) side: Arc<FolderSide>,
    /// What holds for it, whatever is copied there.
    pub(crate) traits: Traits,
    pub(crate) link_dest: Vec<LinkDest>,
}
