//! An open folder of a source, in which a symbolic link is what it is, or what it points to.
//!
//! Must not know: what is done with a name, where the folder lies in its tree but how deep.

pub mod behind;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use datapump_engine::Errno;
use rustix::io::Errno as System;
use serde::{Deserialize, Serialize};

use crate::disk::names::HeldName;
use crate::disk::retried::{self as fs, Mode, OFlags};
use crate::disk::{
    DirEntry, FileKind, Meta, Outcome, file_meta, folder_of, is_descriptor, metadata_of_name, names,
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

/// An open folder of a source.
#[derive(Clone, Debug)]
pub struct OriginFolder {
    /// The folder itself.
    pub file: Arc<File>,
    /// Which of its links are followed.
    pub follow: FollowLinks,
    /// So many folders lie above it in its tree.
    pub depth: u32,
    /// What has the first of these names where it is copied to has the second one here.
    pub renamed: Option<Arc<[OsString; 2]>>,
}

impl OriginFolder {
    /// A folder in which links are links.
    pub fn of(file: Arc<File>) -> OriginFolder {
        OriginFolder { file, follow: FollowLinks::Never, depth: 0, renamed: None }
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
        own_name(self.renamed.as_deref(), name)
    }

    /// Whether a name is a link that is followed.
    fn follows(&self, name: &OsStr) -> bool {
        self.follow != FollowLinks::Never
            && names::read_symlink(&self.file, name)
                .is_ok_and(|to| self.follow == FollowLinks::Always || leads_out(self.depth, &to))
    }

    /// The places that a name leads to, if it is a link that is followed.
    pub fn places_behind(&self, name: &OsStr) -> Vec<PlaceBehind> {
        if self.follows(name) { places_behind(&self.file, name) } else { Vec::new() }
    }

    /// What a name is. Two names that lead to one file are two files.
    pub fn metadata(&self, name: &OsStr) -> Outcome<Meta> {
        if self.follows(name) {
            Ok(Meta { links: 1, ..file_meta(&*self.hold_behind(name)?)? })
        } else {
            names::metadata(&self.file, self.own(name))
        }
    }

    /// The same of what was opened under a name.
    pub fn opened(&self, name: &OsStr, meta: Meta) -> Meta {
        if self.follows(name) { Meta { links: 1, ..meta } } else { meta }
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
            names::open_source(&self.file, name, true)
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
        if self.own(name) != name {
            return names::hold(&self.file, self.own(name)).map(Some);
        }
        self.follows(name).then(|| self.hold_behind(name)).transpose()
    }

    fn hold_behind(&self, name: &OsStr) -> Outcome<HeldName> {
        HeldName::open(&*self.file, name, true)
    }

    fn open_behind(&self, name: &OsStr, flags: OFlags) -> Outcome<File> {
        let opened = fs::openat(&*self.file, name, flags, Mode::empty());
        opened.map(File::from).map_err(|error| Errno(error.raw_os_error()))
    }

    /// What a link points to.
    pub fn read_symlink(&self, name: &OsStr) -> Outcome<OsString> {
        names::read_symlink(&self.file, self.own(name))
    }
}

/// The name that something has, of which the other one is asked for.
pub fn own_name<'name>(renamed: Option<&'name [OsString; 2]>, name: &'name OsStr) -> &'name OsStr {
    match renamed {
        Some([other, own]) if other == name => own,
        _ => name,
    }
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
