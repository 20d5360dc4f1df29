//! How far it is known what may be removed at the target, while the source is looked at again and again.
//!
//! Must not know: how that is found out, how names are removed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use datapump_core::walked::{FolderOfTree, Passes};

/// How far it is known what may be removed.
#[derive(Debug, Default)]
pub(crate) struct Pruning {
    pub(in crate::tree) passes: Passes,
    pub(in crate::tree) verdict: PruneVerdict,
    /// Names that were removed already, because they were in the way.
    pub(in crate::tree) removed: u64,
    /// Folders of the target of which nothing shows whether something is mounted there.
    pub(in crate::tree) unknown: BTreeSet<PathBuf>,
}

/// All that is too much, as far as it is known.
#[derive(Debug, Default)]
pub(in crate::tree) enum PruneVerdict {
    /// Not yet, or something failed because of which nothing is removed.
    #[default]
    Open,
    /// Nothing is removed: nothing is too much, or it was reported why not.
    Nothing,
    /// Nothing is removed, because the source changed each time it was looked at: it was reported.
    TooRestless,
    /// It may be removed, but for names of these folders, which changed each time they were looked at.
    Removes(BTreeSet<FolderOfTree>),
}
