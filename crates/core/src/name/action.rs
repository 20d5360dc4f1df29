//! The actions that decide a name, and their reasons. The list is closed.
//!
//! Must not know: facts, rules, words of messages.

/// Why a name is skipped: the user excluded it, or it is nothing that is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// By a pattern.
    Excluded,
    /// A file is outside of a bound, in these words.
    OutOfBounds(&'static str),
    /// `--existing`
    NotExisting,
    /// Its server withholds it.
    Withheld,
    /// A socket.
    Socket,
    /// `--safe-links`
    LeadsOut,
    /// A partial file, a journal or a list of this program.
    Partial,
}

/// Why an existing entry is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// `--ignore-existing`
    Exists,
    /// `--update`
    Newer,
    /// It is equal in size and time.
    EqualInTime,
    /// It is equal in content.
    EqualInContent,
    /// A link, pipe or device that is the same.
    Same,
    /// An earlier run of this command copied it.
    Ours,
    /// It is the source's own inode.
    OwnInode,
    /// Deletion: the source has it, too.
    HasSource,
}

/// Why a name fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefuseReason {
    /// A list has names below it, and it is no folder.
    NoFolder,
    /// It has the name of the list that a copy keeps in its target.
    NameOfList,
    /// Verify: the list of an unfinished copy.
    Unfinished,
    /// A folder is in its place, and stays.
    FolderInPlace,
}

/// An event that a name waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// All else in its folder is done.
    RestOfFolder,
    /// All else of all trees is done, but for what waits for deletion.
    EndOfTrees,
    /// All names without a source were removed.
    Deletion,
}

/// The action to perform on a name. After `Prepare`, `RemoveFolder`, `MeetLinks` and `LinkOlder` the caller notes what
/// came of it and polls again; a comparison brings the name back with its result; all others end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameAction {
    /// Nothing, and it does not count as a file.
    Skip(SkipReason),
    /// Nothing: the existing entry stays.
    Leave(LeaveReason),
    /// It fails.
    Refuse(RefuseReason),
    /// It is decided again after an event.
    Wait(Awaited),
    /// It counts as missing: there is no room.
    CountMissing,
    /// Two entries of two trees are compared.
    Verify,
    /// The content is compared with the existing file's.
    CompareExisting,
    /// The content is compared with that of a file of `--link-dest`.
    CompareOlder,
    /// The source is opened; of a link, pipe or device it is tried whether it can be made.
    Prepare,
    /// The empty folder in its place is removed.
    RemoveFolder,
    /// It is one of several names of its inode: it is linked, waits, or is the first.
    MeetLinks,
    /// It is linked to an equal file of `--link-dest`, if there is one.
    LinkOlder,
    /// Owner, mode, times and hidden attributes of the existing entry are set.
    SetAttributes,
    /// Both are folders.
    Enter,
    /// A folder is made, in the place of another entry or of none.
    MakeFolder {
        /// An entry of another kind is set aside or removed before.
        replaces: bool,
    },
    /// A file is copied.
    Copy {
        /// It takes the name of an existing entry.
        replaces: bool,
        /// It gets its name when deletion has removed the folder in its place.
        awaits_deletion: bool,
    },
    /// A link, pipe or device is made.
    MakeSpecial {
        /// It takes the name of an existing entry.
        replaces: bool,
    },
    /// Deletion: it stays, and the folders that it lies in.
    Keep,
    /// Deletion: the same, until the source is quiet.
    KeepForNow,
    /// Deletion: a folder that the source does not have is looked into; it goes when nothing is left in it.
    EnterExtra,
    /// Deletion: an abandoned partial file goes, with its journal and without a backup.
    RemovePartial,
    /// Deletion: it goes, behind its backup.
    Remove,
}

impl NameAction {
    /// Whether the name gets another inode by this action, or may.
    pub fn writes(self) -> bool {
        match self {
            NameAction::Wait(awaited) => awaited != Awaited::RestOfFolder,
            NameAction::MeetLinks
            | NameAction::LinkOlder
            | NameAction::MakeFolder { .. }
            | NameAction::Copy { .. }
            | NameAction::MakeSpecial { .. } => true,
            _ => false,
        }
    }
}
