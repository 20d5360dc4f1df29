//! What becomes of one name of the target, by what is recorded of the source.
//!
//! Must not know: how names are removed, patterns, paths.

/// What the record says of a name in the source's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The folder was listed to its end and has no such name.
    No,
    /// It is a folder that was walked.
    Folder,
    /// It is there, and no folder that was walked.
    Other,
    /// The source has no folder here: all in it is too much.
    NoFolder,
    /// The folder was not listed to its end.
    Unlisted,
}

/// Facts about one name of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameFacts {
    /// What the source has under the name.
    pub recorded: Recorded,
    /// The target has a folder under it.
    pub is_folder: bool,
    /// A pattern protects it, or it is one that a copy keeps for itself.
    pub is_protected: bool,
    /// A pattern leaves the source's out: what the source has under it is none of what is copied.
    pub is_excluded: bool,
    /// A name of the source waits for the folder to go.
    pub is_in_the_way: bool,
}

/// What becomes of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is right.
    Right,
    /// It stays, and what it lies in stays too.
    Stays,
    /// A folder of both: its names are judged.
    Enter,
    /// A folder of the target alone: all in it is too much, and then it is itself.
    EnterAlone,
    /// It is too much.
    Goes,
}

/// Judges a name.
pub fn judge(facts: NameFacts) -> Judgement {
    let recorded = if facts.is_excluded { Recorded::No } else { facts.recorded };
    match recorded {
        _ if facts.is_protected => Judgement::Stays,
        Recorded::Folder if facts.is_folder => Judgement::Enter,
        Recorded::Folder | Recorded::Other if !facts.is_in_the_way => Judgement::Right,
        Recorded::Unlisted => Judgement::Right,
        _ if facts.is_folder => Judgement::EnterAlone,
        _ => Judgement::Goes,
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
            (facts, Judgement::Goes),
            (folder, Judgement::EnterAlone),
            (NameFacts { is_protected: true, ..facts }, Judgement::Stays),
            (NameFacts { recorded: Recorded::Other, ..facts }, Judgement::Right),
            (NameFacts { recorded: Recorded::Folder, ..folder }, Judgement::Enter),
            // A file comes where the folder is, or where a dry run left a file for a folder.
            (NameFacts { recorded: Recorded::Other, ..folder }, Judgement::Right),
            (NameFacts { recorded: Recorded::Other, is_in_the_way: true, ..folder }, Judgement::EnterAlone),
            (NameFacts { recorded: Recorded::Folder, ..facts }, Judgement::Right),
            (NameFacts { recorded: Recorded::NoFolder, ..facts }, Judgement::Goes),
            (NameFacts { recorded: Recorded::Unlisted, ..folder }, Judgement::Right),
            // With --delete-excluded what is excluded goes, whatever the source has.
            (NameFacts { recorded: Recorded::Folder, is_excluded: true, ..folder }, Judgement::EnterAlone),
            (NameFacts { recorded: Recorded::Other, is_excluded: true, ..facts }, Judgement::Goes),
            (NameFacts { is_excluded: true, is_protected: true, ..facts }, Judgement::Stays),
        ] {
            assert_eq!(judge(facts), expected, "{facts:?}");
        }
    }
}
