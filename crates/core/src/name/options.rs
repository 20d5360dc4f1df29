//! Options that decide about names.
//!
//! Must not know: the command line, other options.

use super::selection::FileBounds;
use super::times::{coarse_grain_ns, is_same_time};
use crate::{FileKind, Meta};

/// Permission bits by which a program runs as its owner or group.
const SET_ID_BITS: u32 = 0o6000;

/// Which existing files are left alone for their size and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Update {
    /// None.
    #[default]
    All,
    /// Files that are newer than the source, or equal in size and time.
    Older,
    /// Files that are equal in size and time; newer ones are not.
    Differs,
}

/// Why the machine is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NamePurpose {
    /// A copy, or the dry run of one.
    #[default]
    Copy,
    /// Two trees are compared.
    Verify,
    /// The same, and the tree that is listed is the copy.
    VerifyBackwards,
    /// Names of the target are looked for that the source does not have.
    Delete,
}

/// Flags that decide about names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameOptions {
    /// Why the machine is asked.
    pub purpose: NamePurpose,
    /// `--update`
    pub update: Update,
    /// `--size-only`
    pub size_only: bool,
    /// `--modify-window`
    pub window_ns: i128,
    /// `--checksum`
    pub checksum: bool,
    /// `--ignore-existing`
    pub ignore_existing: bool,
    /// `--existing`
    pub existing: bool,
    /// `--min-size`, `--max-size`
    pub bounds: FileBounds,
    /// `--safe-links`
    pub safe_links: bool,
    /// `--delete`
    pub delete: bool,
    /// `--link-dest`
    pub link_dest: bool,
    /// Times are kept.
    pub times: bool,
    /// Permissions are kept.
    pub mode: bool,
    /// Owners and groups are kept.
    pub owner: bool,
    /// This user may give files to others.
    pub gives_away: bool,
    /// Any other user may give its own files to its own groups alone: chown(2).
    pub user: u32,
    /// Its groups.
    pub groups: &'static [u32],
    /// A run that is killed may leave part of a file under its final name.
    pub parts_remain: bool,
}

impl NameOptions {
    /// Whether two trees are compared.
    pub fn compares(&self) -> bool {
        self.purpose != NamePurpose::Copy
    }

    /// Whether an existing entry may be left alone.
    pub fn leaves_some(&self) -> bool {
        self.update != Update::All || self.checksum || self.ignore_existing
    }

    /// Whether existing files are left alone by size and time.
    pub fn leaves_unread(&self) -> bool {
        self.update != Update::All && !self.checksum && !self.ignore_existing
    }

    /// Whether names are skipped that are outside of bounds, or because nothing exists.
    pub fn skips_some(&self) -> bool {
        self.existing || self.bounds.is_some()
    }

    /// By more than so much an existing file is newer that is left alone for that.
    pub fn newer_by_ns(&self) -> Option<i128> {
        (self.update == Update::Older && !self.ignore_existing).then_some(self.window_ns)
    }

    /// Whether content may be read where times tell nothing.
    pub fn may_compare(&self) -> bool {
        self.leaves_unread() && self.times && !self.size_only
    }

    /// Equal times, by the window and by what the target's file system can tell.
    pub fn is_same_time(&self, source: &Meta, existing: &Meta) -> bool {
        is_same_time(source, existing, self.window_ns)
    }

    /// The grain of the target's file system by which alone the times of two files are equal.
    pub fn equal_by_grain_ns(&self, source: &Meta, existing: &Meta) -> Option<i128> {
        let is_in_window = (source.mtime_ns - existing.mtime_ns).abs() <= self.window_ns;
        let is_file = source.kind == FileKind::Regular;
        if is_file && !is_in_window { coarse_grain_ns(source, existing) } else { None }
    }

    /// Whether the existing time is not one over which the source's would be set.
    pub fn is_time_right(&self, source: &Meta, existing: &Meta) -> bool {
        !self.times || self.is_same_time(source, existing)
    }

    /// Whether owner, group and mode are those that this user would set.
    pub fn is_owner_right(&self, source: &Meta, existing: &Meta) -> bool {
        let other_owner = (source.uid, source.gid) != (existing.uid, existing.gid);
        let becomes_owners = self.owner && self.gives_away;
        // A copy that belongs to somebody else does not run as its owner.
        let counted = if other_owner && !becomes_owners { !SET_ID_BITS } else { !0 };
        let other_mode = self.mode && (source.mode ^ existing.mode) & counted != 0;
        let gives_group = source.gid != existing.gid
            && existing.uid == self.user
            && self.groups.contains(&source.gid)
            && self.owner
            && !self.gives_away;
        !(other_mode || (becomes_owners && other_owner) || gives_group)
    }

    /// Whether two regular files are equal in size, time, owner and mode: the file of `--link-dest` that is linked.
    pub fn is_unchanged(&self, source: &Meta, older: &Meta) -> bool {
        let are_files = (source.kind, older.kind) == (FileKind::Regular, FileKind::Regular);
        are_files
            && source.size_bytes == older.size_bytes
            && self.is_same_time(source, older)
            && self.is_owner_right(source, older)
    }
}
