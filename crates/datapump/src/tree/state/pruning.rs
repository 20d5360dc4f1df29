//! How far it is known what may be removed at the target, while the source is looked at again and again.
//!
//! Must not know: how that is found out, how names are removed.

use std::collections::BTreeSet;

use datapump_core::walked::{FolderOfTree, Passes};

/// How far it is known what may be removed.
#[derive(Debug, Default)]
pub(crate) struct Pruning {
    pub(in crate::tree) passes: Passes,
    /// Folders that changed each time they were looked at.
    pub(in crate::tree) restless: BTreeSet<FolderOfTree>,
    pub(in crate::tree) verdict: PruneVerdict,
}

/// All that is too much, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tree) enum PruneVerdict {
    /// Not yet, or something failed because of which nothing goes.
    #[default]
    Open,
    /// Nothing is too much.
    Nothing,
    /// It may go.
    Goes,
    /// Nothing may go, which was reported.
    Refused,
}
