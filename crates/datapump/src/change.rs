//! One change that a job makes, or would make: what a dry run prints and a run reports when it is done.
//!
//! Must not know: how it is decided, how it is made, where it is printed.

use std::path::{Path, PathBuf};

use crate::disk::{FileKind, Meta};
use crate::place::Place;
use crate::target::{Item, Target};
use crate::tree::decide::same_time;

/// What becomes of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new, or replaces what stood there.
    Copy,
    /// It becomes another name of a file that is copied, or stands there.
    Link,
    /// Its owner, mode or times are set; its content is right.
    Adjust,
    /// It is removed.
    Delete,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What becomes of the name.
    pub kind: ChangeKind,
    /// Where it comes from; empty for what is removed.
    pub source: PathBuf,
    /// The name.
    pub target: PathBuf,
    /// The path from the root of its tree.
    pub relative: PathBuf,
    /// Length of a file in bytes.
    pub bytes: Option<u64>,
    /// What kind of thing it is: `file`, `folder`, `symlink`, `device`, `pipe`.
    pub what: &'static str,
    /// Eleven letters as `rsync --itemize-changes` prints them.
    pub itemized: String,
}

impl Change {
    /// What becomes of a name: the paths of source and target, and the one from the root of the tree.
    pub(crate) fn new(
        kind: ChangeKind,
        [source, target, relative]: [PathBuf; 3],
        meta: &Meta,
        there: Option<&Meta>,
    ) -> Change {
        Change {
            kind,
            source,
            target,
            relative,
            bytes: (meta.kind == FileKind::Regular).then_some(meta.size_bytes),
            what: what(meta.kind),
            itemized: itemized(kind, meta, there),
        }
    }

    /// The path as it is itemized: folders end in a slash.
    pub fn itemized_path(&self) -> PathBuf {
        match (self.what, self.relative.as_os_str().is_empty()) {
            ("folder", true) => PathBuf::from("./"),
            ("folder", false) => self.relative.join(""),
            _ => self.relative.clone(),
        }
    }
}

/// What a thing is, for people.
pub(crate) fn what(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Regular => "file",
        FileKind::Folder => "folder",
        FileKind::Symlink => "symlink",
        FileKind::BlockDevice | FileKind::CharDevice => "device",
        FileKind::Fifo => "pipe",
        FileKind::Socket => "socket",
    }
}

/// The letters of a change: rsync(1), `--itemize-changes`, YXcstpoguax.
fn itemized(kind: ChangeKind, source: &Meta, there: Option<&Meta>) -> String {
    let first = match (kind, source.kind) {
        (ChangeKind::Delete, _) => return "*deleting  ".into(),
        (ChangeKind::Link, _) => 'h',
        (ChangeKind::Adjust, _) => '.',
        (ChangeKind::Copy, FileKind::Regular) => '>',
        (ChangeKind::Copy, FileKind::Folder) if there.is_some() => '.',
        (ChangeKind::Copy, _) => 'c',
    };
    let second = match source.kind {
        FileKind::Regular => 'f',
        FileKind::Folder => 'd',
        FileKind::Symlink => 'L',
        FileKind::BlockDevice | FileKind::CharDevice => 'D',
        FileKind::Fifo | FileKind::Socket => 'S',
    };
    let Some(there) = there.filter(|there| there.kind == source.kind) else {
        return format!("{first}{second}+++++++++");
    };
    let letter = |differs: bool, letter: char| if differs { letter } else { '.' };
    let size = source.kind == FileKind::Regular && source.size_bytes != there.size_bytes;
    let mode = source.kind != FileKind::Symlink && source.mode != there.mode;
    [
        first,
        second,
        '.',
        letter(size, 's'),
        letter(!same_time(source, there), 't'),
        letter(mode, 'p'),
        letter(source.uid != there.uid, 'o'),
        letter(source.gid != there.gid, 'g'),
        '.',
        '.',
        '.',
    ]
    .into_iter()
    .collect()
}

/// What would become of a file that the user named.
pub(crate) fn of_item(item: &Item) -> Option<Box<Change>> {
    let (Place::Path(source), Target::File(target)) = (&item.source, &item.target) else { return None };
    Some(Box::new(Change {
        kind: ChangeKind::Copy,
        source: source.clone(),
        target: target.path.clone(),
        relative: source.file_name().unwrap_or_default().into(),
        bytes: item.bytes(),
        what: "file",
        itemized: ">f+++++++++".into(),
    }))
}

/// A removal.
pub(crate) fn deletion(target: &Path, relative: PathBuf, kind: FileKind) -> Change {
    Change {
        kind: ChangeKind::Delete,
        source: PathBuf::new(),
        target: target.to_path_buf(),
        relative,
        bytes: None,
        what: what(kind),
        itemized: "*deleting  ".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_itemized_as_rsync_does() {
        let file = Meta { size_bytes: 5, mtime_ns: 7, mode: 0o644, ..Meta::nothing() };
        let folder = Meta { kind: FileKind::Folder, ..file };
        let link = Meta { kind: FileKind::Symlink, ..file };
        for (kind, source, there, letters) in [
            (ChangeKind::Copy, file, None, ">f+++++++++"),
            (ChangeKind::Copy, folder, None, "cd+++++++++"),
            (ChangeKind::Copy, link, None, "cL+++++++++"),
            (ChangeKind::Copy, file, Some(link), ">f+++++++++"),
            (ChangeKind::Copy, file, Some(Meta { size_bytes: 4, mtime_ns: 6, ..file }), ">f.st......"),
            (ChangeKind::Adjust, file, Some(Meta { mode: 0o600, uid: 9, ..file }), ".f...po...."),
            (ChangeKind::Copy, folder, Some(Meta { mtime_ns: 6, ..folder }), ".d..t......"),
            (ChangeKind::Link, file, None, "hf+++++++++"),
        ] {
            assert_eq!(itemized(kind, &source, there.as_ref()), letters);
        }
    }
}
