//! Rows of deletion: names of the target, and what the source has of them.
//!
//! Must not know: names that are copied.

use super::World;
use crate::FileKind;
use crate::name::action::{LeaveReason, NameAction};
use crate::name::facts::{KnownFacts, PartialFile, Recorded};
use crate::name::options::NamePurpose;

/// A file or folder of the target, in a folder that the source has.
fn at_target(kind: FileKind, set: impl FnOnce(&mut KnownFacts)) -> World {
    World::of_kind(kind).flags(|flags| flags.purpose = NamePurpose::Delete).facts(set)
}

pub(super) fn rows() -> Vec<(u8, World, NameAction)> {
    let file = |set: fn(&mut KnownFacts)| at_target(FileKind::Regular, set);
    let folder = |set: fn(&mut KnownFacts)| at_target(FileKind::Folder, set);
    let right = NameAction::Leave(LeaveReason::HasSource);
    vec![
        (37, file(|facts| facts.is_protected = Some(true)), NameAction::Keep),
        (
            37,
            file(|facts| (facts.is_protected, facts.is_selected) = (Some(true), Some(false))),
            NameAction::Keep,
        ),
        (38, file(|facts| facts.recorded = Some(Recorded::Other)), right),
        (38, file(|facts| facts.recorded = Some(Recorded::Folder)), right),
        (38, folder(|facts| facts.recorded = Some(Recorded::Unlisted)), right),
        (38, folder(|facts| facts.recorded = Some(Recorded::Folder)), NameAction::Enter),
        (
            38,
            folder(|facts| (facts.recorded, facts.is_elsewhere) = (Some(Recorded::Folder), Some(true))),
            right,
        ),
        // A file comes where the folder is, or where a dry run left a file for a folder.
        (38, folder(|facts| facts.recorded = Some(Recorded::Other)), right),
        (
            42,
            folder(|facts| (facts.recorded, facts.is_in_the_way) = (Some(Recorded::Other), Some(true))),
            NameAction::EnterExtra,
        ),
        (38, folder(|facts| facts.leads_to_folder_in_the_way = true), NameAction::KeepForNow),
        // With --delete-excluded what is excluded goes, whatever the source has.
        (
            42,
            folder(|facts| (facts.recorded, facts.is_selected) = (Some(Recorded::Folder), Some(false))),
            NameAction::EnterExtra,
        ),
        (
            44,
            file(|facts| (facts.recorded, facts.is_selected) = (Some(Recorded::Other), Some(false))),
            NameAction::Remove,
        ),
        (39, file(|facts| facts.other_spelling = Some(Recorded::Other)), NameAction::Keep),
        (39, folder(|facts| facts.other_spelling = Some(Recorded::Other)), NameAction::Keep),
        (39, folder(|facts| facts.other_spelling = Some(Recorded::Folder)), NameAction::Enter),
        (40, file(|facts| facts.is_restless = Some(true)), NameAction::KeepForNow),
        (41, file(|facts| facts.may_destroy = Some(false)), NameAction::Keep),
        (42, folder(|_| {}), NameAction::EnterExtra),
        (42, folder(|facts| facts.is_elsewhere = Some(true)), NameAction::Keep),
        (43, file(|facts| facts.partial_file = Some(PartialFile::InUse)), NameAction::Keep),
        (43, file(|facts| facts.partial_file = Some(PartialFile::Gone)), right),
        (43, file(|facts| facts.partial_file = Some(PartialFile::Abandoned)), NameAction::RemovePartial),
        (44, file(|_| {}), NameAction::Remove),
        (44, at_target(FileKind::Symlink, |_| {}), NameAction::Remove),
    ]
}
