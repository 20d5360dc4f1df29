//! The facts by which a name is decided. Each is found once, by the caller.
//!
//! Must not know: what follows from a fact.

use super::entry::{FileKind, Meta};

/// A fact that the next rule needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NameFact {
    /// The kind of the source; of a link that is followed, that of what it leads to. Deletion: of the entry itself.
    Kind,
    /// Whether a list has names below this one.
    ListedBelow,
    /// Whether patterns select it.
    Selected,
    /// Metadata of the source as a copy would have them: `--chmod` and `--chown` are applied.
    Source,
    /// Whether the symbolic link leads out of its tree.
    LeadsOut,
    /// Whether it is a partial file, a journal or a list of this program.
    IsPumps,
    /// Whether no other process writes under the temporary name at the target.
    IsFree,
    /// Whether a followed link leads to below a target of this command.
    LeadsToTarget,
    /// Whether this run has neither made nor replaced what a followed link leads to.
    IsUnwritten,
    /// Metadata of the entry that has the name at the target; none where nothing exists.
    Existing,
    /// Whether source and existing entry are one inode. Asked where their numbers are equal.
    IsSameFile,
    /// Whether the existing file is of this command.
    Ours,
    /// Whether the time of an existing file can be told from others at its file system.
    TimeTells,
    /// Whether a change of the source may hide behind a time that the target's file system tells coarsely.
    MayHide,
    /// Whether access control lists and extended attributes are equal.
    HiddenEqual,
    /// Whether two links lead to the same words, or two devices are the same.
    SameValue,
    /// Whether there is room for the source.
    Room,
    /// Whether a file of a folder of `--link-dest` is equal in all but perhaps its content, and that is to be read.
    OlderToRead,
    /// What became of the folder that has the name of a source of another kind.
    FolderInPlace,
    /// Whether the file is copied before the folder in its place is removed.
    CopiedFirst,
    /// Whether this command reads or keeps the existing entry.
    MayDestroy,
    /// Whether a rule protects an entry of the target from deletion, or this program keeps it for itself.
    IsProtected,
    /// The source's entry of the same name, as it was walked.
    Recorded,
    /// Whether a name of the source waits for this folder to be removed.
    IsInTheWay,
    /// The source's entry that an entry of the target belongs to, though it is written otherwise.
    OtherSpelling,
    /// Whether an entry of the target stays because the source was not quiet.
    IsRestless,
    /// Whether deletion looks into no such folder: a mount, what is copied from, or what is not as it was walked.
    IsElsewhere,
    /// Whether it is a partial file, and whose.
    PartialFile,
}

/// The record of a name in a folder of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The folder was listed to its end and has no such name, or the source has no folder here.
    No,
    /// It is a folder that was walked.
    Folder,
    /// It exists, and is no folder that was walked.
    Other,
    /// The folder was not listed to its end.
    Unlisted,
}

/// An entry of the target that may be a partial file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialFile {
    /// It is none.
    No,
    /// A process uses it, or a copy can resume it.
    InUse,
    /// It went meanwhile, or goes with its file.
    Gone,
    /// Nobody does.
    Abandoned,
}

/// Whether content that was read is that of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// It was not read.
    #[default]
    Unread,
    /// It is equal.
    Equal,
    /// It differs.
    Other,
}

/// Whether an existing file was made by this command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ours {
    /// It was not, or nothing tells.
    No,
    /// An earlier run that was cut committed it, and source and copy are unchanged since.
    Earlier,
    /// It changed since a copy began that did not end well: it may not be on the disk.
    Touched,
    /// The same, and it has the size and time that such a copy of this source has.
    Unverified,
}

/// A folder at the target under the name of a source of another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderInPlace {
    /// Nothing is in it, or a dry run would have removed all.
    Empty,
    /// Something is in it.
    Full,
    /// Deletion has ended, and the folder stays.
    Stays,
}

/// The place of a name among the names of its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPlace {
    /// It was not met yet.
    Unmet,
    /// It is the first, or the only one.
    First,
}

/// The form of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// It may be the temporary name of a file on its way.
    pub may_be_temporary: bool,
    /// It may be a partial file, a journal or a list of this program.
    pub may_be_pumps: bool,
    /// It is the name of the list, in the root of a tree.
    pub is_list: bool,
    /// Its server withholds it.
    pub is_withheld: bool,
}

/// Facts about a name, as far as they were found.
#[derive(Clone, Debug, Default)]
pub struct KnownFacts {
    /// The form of the name.
    pub form: Form,
    /// [`NameFact::Kind`]
    pub kind: Option<FileKind>,
    /// [`NameFact::ListedBelow`]
    pub is_listed_below: Option<bool>,
    /// [`NameFact::Selected`]
    pub is_selected: Option<bool>,
    /// [`NameFact::Source`]
    pub source: Option<Meta>,
    /// [`NameFact::LeadsOut`]
    pub leads_out: Option<bool>,
    /// [`NameFact::IsPumps`]
    pub is_pumps: Option<bool>,
    /// Its turn has come, behind all else in its folder.
    pub is_its_turn: bool,
    /// [`NameFact::IsFree`]
    pub is_free: Option<bool>,
    /// [`NameFact::LeadsToTarget`]
    pub leads_to_target: Option<bool>,
    /// All else of all trees is done, but for what waits for deletion.
    pub have_trees_ended: bool,
    /// [`NameFact::IsUnwritten`]
    pub is_unwritten: Option<bool>,
    /// [`NameFact::Existing`]
    pub existing: Option<Option<Meta>>,
    /// This run removed a folder in its place, or would.
    pub was_cleared: bool,
    /// It lies in a folder that is not copied.
    pub lies_in_skipped: bool,
    /// [`NameFact::IsSameFile`]
    pub is_same_file: Option<bool>,
    /// [`NameFact::Ours`]
    pub ours: Option<Ours>,
    /// [`NameFact::TimeTells`]
    pub time_tells: Option<bool>,
    /// [`NameFact::MayHide`]
    pub may_hide: Option<bool>,
    /// Of the existing file.
    pub content: Content,
    /// [`NameFact::HiddenEqual`]
    pub hidden_equal: Option<bool>,
    /// [`NameFact::SameValue`]
    pub same_value: Option<bool>,
    /// [`NameFact::Room`]
    pub has_room: Option<bool>,
    /// [`NameFact::OlderToRead`]
    pub older_to_read: Option<bool>,
    /// Of the file of `--link-dest`.
    pub older_content: Content,
    /// The source is open, or was found to be one that can be made.
    pub is_prepared: bool,
    /// [`NameFact::FolderInPlace`]
    pub folder_in_place: Option<FolderInPlace>,
    /// [`NameFact::CopiedFirst`]
    pub is_copied_first: Option<bool>,
    /// [`NameFact::MayDestroy`]
    pub may_destroy: Option<bool>,
    /// Its other names.
    pub links: Option<LinkPlace>,
    /// No folder of `--link-dest` has an equal file.
    pub has_no_older: bool,
    /// [`NameFact::IsProtected`]
    pub is_protected: Option<bool>,
    /// [`NameFact::Recorded`]
    pub recorded: Option<Recorded>,
    /// [`NameFact::IsInTheWay`]
    pub is_in_the_way: Option<bool>,
    /// Deletion deals with folders in the way alone: this is one, or it leads to one.
    pub leads_to_folder_in_the_way: bool,
    /// [`NameFact::OtherSpelling`]
    pub other_spelling: Option<Recorded>,
    /// [`NameFact::IsRestless`]
    pub is_restless: Option<bool>,
    /// [`NameFact::IsElsewhere`]
    pub is_elsewhere: Option<bool>,
    /// [`NameFact::PartialFile`]
    pub partial_file: Option<PartialFile>,
}

impl KnownFacts {
    /// A file that is copied, and the one that has its name: what is left to decide is which of both stays.
    pub fn of_two_files(source: &Meta, existing: &Meta) -> KnownFacts {
        KnownFacts {
            kind: Some(source.kind),
            is_listed_below: Some(false),
            is_selected: Some(true),
            source: Some(*source),
            is_pumps: Some(false),
            is_its_turn: true,
            is_free: Some(true),
            leads_to_target: Some(false),
            is_unwritten: Some(true),
            existing: Some(Some(*existing)),
            ours: Some(Ours::No),
            ..KnownFacts::default()
        }
    }

    /// The kind of the source.
    pub(super) fn kind(&self) -> Result<FileKind, NameFact> {
        self.kind.ok_or(NameFact::Kind)
    }

    /// Metadata of the source.
    pub(super) fn source(&self) -> Result<&Meta, NameFact> {
        self.source.as_ref().ok_or(NameFact::Source)
    }

    /// Metadata of the existing entry.
    pub(super) fn existing(&self) -> Result<Option<&Meta>, NameFact> {
        self.existing.as_ref().map(Option::as_ref).ok_or(NameFact::Existing)
    }

    /// Whether a regular file has the name of one. Asks for less than [`KnownFacts::two_files`].
    pub(super) fn are_files(&self) -> Result<bool, NameFact> {
        let is_file = self.existing()?.is_some_and(|existing| existing.kind == FileKind::Regular);
        Ok(is_file && self.kind()? == FileKind::Regular)
    }

    /// Metadata of both, where both are regular files.
    pub(super) fn two_files(&self) -> Result<Option<TwoFiles<'_>>, NameFact> {
        match self.existing()? {
            Some(existing) if self.are_files()? => Ok(Some(TwoFiles { source: self.source()?, existing })),
            _ => Ok(None),
        }
    }
}

/// A regular file and the one that has its name at the target.
pub(super) struct TwoFiles<'facts> {
    pub(super) source: &'facts Meta,
    pub(super) existing: &'facts Meta,
}
