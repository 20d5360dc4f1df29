//! An open folder of a source, in which a symbolic link is what it is, or what it points to.
//!
//! Must not know: what is done with a name, where the folder lies in its tree but how deep.

pub mod behind;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use datapump_engine::{Errno, Handle};
use rustix::io::Errno as System;
use serde::{Deserialize, Serialize};

use crate::disk::names::HeldName;
use crate::disk::retried::{self as fs, Mode, OFlags};
use crate::disk::{
    DirEntry, FileKind, Meta, Outcome, file_meta, folder_of, is_descriptor, metadata_of_name, names,
    open_with_identity,
};

use behind::{PlaceBehind, places_behind};

/// Which symbolic links of a tree stand for what they point to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FollowLinks {
    /// None.
    #[default]
    Never,
    /// All.
    Always,
    /// Those that lead out of the tree.
    Outwards,
}

/// What the user named, by the name that it gets at the target.
pub type GivenNames = HashMap<OsString, GivenName>;

/// A name that the user gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenName {
    /// The name in the source's folder.
    pub own: OsString,
    /// It is a symbolic link that stands for what it leads to.
    pub follows: bool,
    /// How many names the file counts as having; `None`: those of its inode.
    pub links: Option<u64>,
}

/// An open folder of a source.
#[derive(Clone, Debug)]
pub struct OriginFolder {
    /// The folder itself.
    pub file: Arc<File>,
    /// Which of its links are followed.
    pub follow: FollowLinks,
    /// So many folders lie above it in its tree.
    pub depth: u32,
    /// Names that the user gave, where that makes a difference.
    pub given: Option<Arc<GivenNames>>,
}

impl OriginFolder {
    /// A folder in which links are links.
    pub fn from_file(file: Arc<File>) -> OriginFolder {
        OriginFolder { file, follow: FollowLinks::Never, depth: 0, given: None }
    }

    /// The next names: [`names::list`]. What a link is that may be followed is not known from its listing.
    pub fn list(&self, cookie: u64) -> Outcome<(Vec<DirEntry>, u64)> {
        let (mut entries, next) = names::list(&self.file, cookie)?;
        if self.follow != FollowLinks::Never {
            for entry in entries.iter_mut().filter(|entry| entry.kind == Some(FileKind::Symlink)) {
                entry.kind = None;
            }
        }
        Ok((entries, next))
    }

    /// The name that it has in this folder.
    pub fn own<'name>(&'name self, name: &'name OsStr) -> &'name OsStr {
        own_name(self.given.as_deref(), name)
    }

    fn given(&self, name: &OsStr) -> Option<&GivenName> {
        self.given.as_ref()?.get(name)
    }

    /// Whether a name is a link that is followed.
    pub fn follows(&self, name: &OsStr) -> bool {
        if self.given(name).is_some_and(|given| given.follows) {
            return true;
        }
        self.follow != FollowLinks::Never
            && names::read_symlink(&self.file, self.own(name))
                .is_ok_and(|to| self.follow == FollowLinks::Always || leads_out(self.depth, &to))
    }

    /// The places that a name leads to, if it is a link that is followed.
    pub fn places_behind(&self, name: &OsStr) -> Vec<PlaceBehind> {
        if self.follows(name) { places_behind(&self.file, self.own(name)) } else { Vec::new() }
    }

    /// What a name is. Two names that lead to one file are two files, unless the user gave both.
    pub fn metadata(&self, name: &OsStr) -> Outcome<Meta> {
        let found = if self.follows(name) {
            file_meta(&*self.hold_behind(name)?)
        } else {
            names::metadata(&self.file, self.own(name))
        };
        found.map(|meta| self.opened(name, meta))
    }

    /// The same of what was opened under a name.
    pub fn opened(&self, name: &OsStr, meta: Meta) -> Meta {
        let given = self.given(name).and_then(|given| given.links);
        let one = || self.follows(name).then_some(1);
        Meta { links: given.or_else(one).unwrap_or(meta.links), ..meta }
    }

    /// With what tells a name's file from all that have or had its inode number: [`names::with_identity`].
    pub fn with_identity(&self, meta: Meta, name: &OsStr) -> Meta {
        if !self.follows(name) {
            return names::with_identity(meta, &self.file, self.own(name));
        }
        self.open_source(name).map_or(meta, |file| open_with_identity(meta, &Handle::Os(file)))
    }

    /// Whether a name is a link that is followed and leads to nothing.
    pub fn leads_nowhere(&self, name: &OsStr) -> bool {
        self.follows(name) && self.hold_behind(name).err() == Some(Errno::ENOENT)
    }

    /// Opens a folder in it.
    pub fn open_folder(&self, name: &OsStr) -> Outcome<File> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if self.follows(name) { self.open_behind(name, flags) } else { names::open_folder(&self.file, name) }
    }

    /// Opens a regular file: [`names::open_source`].
    pub fn open_source(&self, name: &OsStr) -> Outcome<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        if self.follows(name) {
            // Only the owner may leave the time of access alone: open(2).
            match self.open_behind(name, flags | OFlags::NOATIME) {
                Err(Errno(number)) if number == System::PERM.raw_os_error() => self.open_behind(name, flags),
                opened => opened,
            }
        } else {
            names::open_source(&self.file, self.own(name), true)
        }
    }

    /// Holds a name that was looked at: [`names::hold_the`].
    pub fn hold_the(&self, name: &OsStr, known: &Meta) -> Outcome<Option<HeldName>> {
        if !self.follows(name) {
            return names::hold_the(&self.file, self.own(name), known);
        }
        self.hold_behind(name).and_then(|held| names::if_the(held, known))
    }

    /// What a name leads to, or has under another name, held; `None` if it is no link that is followed.
    pub fn followed(&self, name: &OsStr) -> Outcome<Option<HeldName>> {
        if self.follows(name) {
            return self.hold_behind(name).map(Some);
        }
        (self.own(name) != name).then(|| names::hold(&self.file, self.own(name))).transpose()
    }

    fn hold_behind(&self, name: &OsStr) -> Outcome<HeldName> {
        HeldName::open(&*self.file, self.own(name), true)
    }

    fn open_behind(&self, name: &OsStr, flags: OFlags) -> Outcome<File> {
        let opened = fs::openat(&*self.file, self.own(name), flags, Mode::empty());
        opened.map(File::from).map_err(|error| Errno(error.raw_os_error()))
    }

    /// What a link points to.
    pub fn read_symlink(&self, name: &OsStr) -> Outcome<OsString> {
        names::read_symlink(&self.file, self.own(name))
    }
}

/// The name in the source's folder of what has this one at the target.
pub fn own_name<'name>(given: Option<&'name GivenNames>, name: &'name OsStr) -> &'name OsStr {
    given.and_then(|given| given.get(name)).map_or(name, |given| &given.own)
}

/// What a path names, if that is a symbolic link; with a slash at its end it names what the link leads to, and a
/// descriptor is what is open.
pub fn named_link(path: &Path) -> Option<Meta> {
    let link = metadata_of_name(path).ok().filter(|meta| meta.kind == FileKind::Symlink)?;
    (!names_descriptor(path)).then_some(link)
}

/// Whether a path names what is open, as a shell writes for `<(...)`: /dev/fd/63.
pub fn names_descriptor(path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    names::find_folder(folder_of(path)).is_ok_and(|folder| is_descriptor(&folder, name))
}

/// Whether a link leads out of a tree, of which so many folders lie above it: by its words alone, as rsync(1) has it
/// for `--safe-links`. A `..` behind a name may lead out by another link of that name: it counts as one that does.
pub fn leads_out(depth: u32, points_to: &OsStr) -> bool {
    let bytes = points_to.as_bytes();
    let is_part = |part: &&[u8]| !part.is_empty() && *part != b".";
    let up = bytes.split(|byte| *byte == b'/').filter(is_part).take_while(|part| *part == b"..").count();
    let ups = bytes.split(|byte| *byte == b'/').filter(|part| *part == b"..").count();
    bytes.is_empty() || bytes.starts_with(b"/") || up as u64 > u64::from(depth) || ups > up
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_out_are_known_by_their_words() {
        for (depth, points_to, leads) in [
            (0, "file", false),
            (0, "sub/file", false),
            (0, "sub/../file", true),
            (3, "d/d/../../file", true),
            (0, "..", true),
            (0, "../other", true),
            (0, "sub/../../other", true),
            (1, "../file", false),
            (1, "../../other", true),
            (2, "../../file", false),
            (2, "./.././..//file", false),
            (0, "/etc/passwd", true),
            (9, "", true),
            (0, "...", false),
        ] {
            assert_eq!(leads_out(depth, OsStr::new(points_to)), leads, "{depth} {points_to}");
        }
    }
}
