//! Decides about one name of the target, by what is recorded of the source.
//!
//! Must not know: how names are removed, patterns, paths.

use std::collections::BTreeSet;

use super::FolderOfTree;

/// The record of a name in the source's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The folder was listed to its end and has no such name, or the source has no folder here.
    No,
    /// It is a folder that was walked.
    Folder,
    /// It is there, and no folder that was walked.
    Other,
    /// The folder was not listed to its end.
    Unlisted,
}

/// Facts about one name of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameFacts {
    /// The source's entry of that name, as it is recorded.
    pub recorded: Recorded,
    /// The target has a folder under it.
    pub is_folder: bool,
    /// A pattern protects it, or it is one that a copy keeps for itself.
    pub is_protected: bool,
    /// A pattern leaves the source's out: what the source has under it is none of what is copied.
    pub is_excluded: bool,
    /// It is a folder, and a name of the source waits for it to be removed.
    pub is_in_the_way: bool,
}

/// The verdict on a name of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameVerdict {
    /// It is right.
    Right,
    /// It stays, and what it lies in stays too.
    Stays,
    /// A folder of both: its names are judged.
    Enter,
    /// It is too much; of a folder all in it is, and then it is itself.
    TooMuch,
}

/// Judges a name.
pub fn judge(facts: NameFacts) -> NameVerdict {
    let recorded = if facts.is_excluded { Recorded::No } else { facts.recorded };
    match recorded {
        _ if facts.is_protected => NameVerdict::Stays,
        Recorded::Folder if facts.is_folder => NameVerdict::Enter,
        Recorded::Folder | Recorded::Other if !facts.is_in_the_way => NameVerdict::Right,
        Recorded::Unlisted => NameVerdict::Right,
        _ => NameVerdict::TooMuch,
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_becomes_of_a_name() {
        let facts = NameFacts {
            recorded: Recorded::No,
            is_folder: false,
            is_protected: false,
            is_excluded: false,
            is_in_the_way: false,
        };
        let folder = NameFacts { is_folder: true, ..facts };
        for (facts, expected) in [
            (facts, NameVerdict::TooMuch),
            (folder, NameVerdict::TooMuch),
            (NameFacts { is_protected: true, ..facts }, NameVerdict::Stays),
            (NameFacts { recorded: Recorded::Other, ..facts }, NameVerdict::Right),
            (NameFacts { recorded: Recorded::Folder, ..folder }, NameVerdict::Enter),
            // A file comes where the folder is, or where a dry run left a file for a folder.
            (NameFacts { recorded: Recorded::Other, ..folder }, NameVerdict::Right),
            (NameFacts { recorded: Recorded::Other, is_in_the_way: true, ..folder }, NameVerdict::TooMuch),
            (NameFacts { recorded: Recorded::Folder, ..facts }, NameVerdict::Right),
            (NameFacts { recorded: Recorded::Unlisted, ..folder }, NameVerdict::Right),
            // With --delete-excluded what is excluded goes, whatever the source has.
            (NameFacts { recorded: Recorded::Folder, is_excluded: true, ..folder }, NameVerdict::TooMuch),
            (NameFacts { recorded: Recorded::Other, is_excluded: true, ..facts }, NameVerdict::TooMuch),
            (NameFacts { is_excluded: true, is_protected: true, ..facts }, NameVerdict::Stays),
        ] {
            assert_eq!(judge(facts), expected, "{facts:?}");
        }
    }
}
