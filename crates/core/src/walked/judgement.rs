//! Whether a name of the target stays because the source was not quiet.
//!
//! Must not know: how names are removed, patterns, paths.

use std::collections::BTreeSet;

use super::FolderOfTree;

/// Why a name that is too much stays: the source was not quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StayReason {
    /// Its folder is restless.
    Restless,
    /// It may have moved to where nobody looked.
    OnItsWay,
}

/// Judges a name that is too much in a folder. `keeps_moving`: some folder is restless, or another one by now, so that
/// a name that moved meanwhile may be in it.
pub fn judge_staying(
    folder: FolderOfTree,
    restless: &BTreeSet<FolderOfTree>,
    keeps_moving: bool,
    may_be_on_its_way: impl FnOnce() -> bool,
) -> Option<StayReason> {
    if restless.contains(&folder) {
        Some(StayReason::Restless)
    } else {
        (keeps_moving && may_be_on_its_way()).then_some(StayReason::OnItsWay)
    }
}
