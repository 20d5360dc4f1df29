//! One change that a job makes, or would make: what a dry run prints and a run reports when it is done.
//!
//! Must not know: how it is decided, how it is made, where it is printed.

use std::path::{Path, PathBuf};

use datapump_core::name::is_same_time;
use datapump_files::attributes::keep::Keep;
use datapump_files::disk::{FileKind, Meta};

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
    /// What stood there has another name, too, before it is replaced or removed (`--backup`).
    Backup,
    /// It is removed from the source (`--remove-source-files`).
    RemoveSource,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What becomes of the name.
    pub kind: ChangeKind,
    /// Where it comes from; empty for what is removed, and for a backup.
    pub source: PathBuf,
    /// The name; empty for what is removed from the source.
    pub target: PathBuf,
    /// The path from the target that the user named; of what was named itself, its name.
    pub relative: PathBuf,
    /// Length of a file in bytes.
    pub bytes: Option<u64>,
    /// What kind of thing it is: `file`, `folder`, `symlink`, `device`, `pipe`.
    pub what: &'static str,
    /// Eleven letters as `rsync --itemize-changes` prints them; empty for what it does not itemize.
    pub itemized: String,
    /// What a symbolic link points to; of a further name, the path (from the target that the user named) of the one
    /// that it is linked to; the path of a backup.
    pub leads_to: Option<PathBuf>,
}

/// What was found out about a name besides what the source and the target are.
#[derive(Clone, Debug)]
pub struct Findings {
    pub keep: Keep,
    /// This user may give files away.
    pub sets_owners: bool,
    /// Groups that it may give files to.
    pub groups: &'static [u32],
    /// Content was compared, not size and time.
    pub by_content: bool,
    /// How far apart times may lie that are taken for one.
    pub window_ns: i128,
    /// A symbolic link points to something else.
    pub other_value: bool,
    pub other_acl: bool,
    pub other_xattrs: bool,
    pub leads_to: Option<PathBuf>,
}

impl Change {
    /// What becomes of a name: the paths of source and target, and the one from the target that the user named.
    pub fn new(
        kind: ChangeKind,
        [source, target, relative]: [PathBuf; 3],
        meta: &Meta,
        existing: Option<&Meta>,
        findings: Findings,
    ) -> Change {
        Change {
            kind,
            source,
            target,
            relative,
            bytes: (meta.kind == FileKind::Regular).then_some(meta.size_bytes),
            what: kind_words(meta.kind),
            itemized: itemize(kind, &findings.keep.given.of(meta), existing, &findings),
            leads_to: findings.leads_to,
        }
    }

    /// Where it leads, as rsync prints it behind the path: ` -> ` for symbolic links, ` => ` for further names.
    pub fn arrow(&self) -> Option<(&'static str, &Path)> {
        let arrow = if self.kind == ChangeKind::Link { " => " } else { " -> " };
        self.leads_to.as_deref().map(|path| (arrow, path))
    }

    /// Where it leads, with a path at the target as it begins in [`Change::target`].
    pub fn leads_to_path(&self) -> Option<PathBuf> {
        let to = self.leads_to.as_deref()?;
        let is_below = self.kind == ChangeKind::Link && self.target.ends_with(&self.relative);
        let root = self.target.ancestors().nth(self.relative.components().count());
        Some(root.filter(|_| is_below).map_or_else(|| to.to_path_buf(), |root| root.join(to)))
    }

    /// Whether a letter tells of a difference.
    pub fn says_something(&self) -> bool {
        self.kind != ChangeKind::Adjust || self.itemized.bytes().skip(2).any(|letter| letter != b'.')
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

/// What a kind of entry is called.
pub fn kind_words(kind: FileKind) -> &'static str {
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
fn itemize(kind: ChangeKind, source: &Meta, existing: Option<&Meta>, findings: &Findings) -> String {
    let existing = existing.filter(|existing| existing.kind == source.kind);
    let second = match source.kind {
        FileKind::Regular => 'f',
        FileKind::Folder => 'd',
        FileKind::Symlink => 'L',
        FileKind::BlockDevice | FileKind::CharDevice => 'D',
        FileKind::Fifo | FileKind::Socket => 'S',
    };
    let is_other = existing
        .is_some_and(|existing| findings.other_value || source.special_device != existing.special_device);
    let first = match (kind, source.kind) {
        (ChangeKind::Delete, _) => return "*deleting  ".into(),
        (ChangeKind::Backup | ChangeKind::RemoveSource, _) => return String::new(),
        (ChangeKind::Link, _) => 'h',
        (ChangeKind::Adjust, _) => '.',
        (ChangeKind::Copy, FileKind::Regular) => '>',
        // An entry that is the same except its attributes is made anew, which rsync calls a change of those alone.
        (ChangeKind::Copy, _) if existing.is_some() && !is_other => '.',
        (ChangeKind::Copy, _) => 'c',
    };
    let Some(existing) = existing else { return format!("{first}{second}+++++++++") };
    let letter = |differs: bool, letter: char| if differs { letter } else { '.' };
    let is_file = source.kind == FileKind::Regular;
    let Findings { keep, sets_owners, by_content, other_acl, other_xattrs, .. } = *findings;
    let is_copied = kind == ChangeKind::Copy;
    let time = if keep.times {
        letter(!is_same_time(source, existing, findings.window_ns), 't')
    } else {
        // A further name of a file gets the time of that file, which is copied.
        letter((is_copied || kind == ChangeKind::Link) && source.kind != FileKind::Folder, 'T')
    };
    let owner = keep.owner && sets_owners;
    let group = owner || (keep.owner && findings.groups.contains(&source.gid));
    [
        first,
        second,
        letter((is_file && by_content && is_copied) || (is_copied && is_other), 'c'),
        letter(is_file && source.size_bytes != existing.size_bytes, 's'),
        time,
        letter(keep.mode && source.kind != FileKind::Symlink && source.mode != existing.mode, 'p'),
        letter(owner && source.uid != existing.uid, 'o'),
        letter(group && source.gid != existing.gid, 'g'),
        '.',
        letter(keep.acl && other_acl, 'a'),
        letter(keep.xattrs && other_xattrs, 'x'),
    ]
    .into_iter()
    .collect()
}

/// A removal.
pub fn deletion(target: &Path, relative: PathBuf, kind: FileKind) -> Change {
    let (what, target, itemized) = (kind_words(kind), target.to_path_buf(), "*deleting  ".into());
    Change { target, relative, what, itemized, ..empty_removal() }
}

/// A removal without paths, to be filled in.
fn empty_removal() -> Change {
    Change {
        kind: ChangeKind::Delete,
        source: PathBuf::new(),
        target: PathBuf::new(),
        relative: PathBuf::new(),
        bytes: None,
        what: "",
        itemized: String::new(),
        leads_to: None,
    }
}

/// A backup of what stood under a name.
pub fn backed_up(target: PathBuf, backup: PathBuf, kind: FileKind) -> Change {
    let (kind, what) = (ChangeKind::Backup, kind_words(kind));
    Change { kind, target, what, leads_to: Some(backup), ..empty_removal() }
}

/// A removal from the source.
pub fn removed_from_source(source: PathBuf, kind: FileKind) -> Change {
    Change { kind: ChangeKind::RemoveSource, source, what: kind_words(kind), ..empty_removal() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_itemized_as_rsync_does() {
        let file = Meta { size_bytes: 5, mtime_ns: 7, mode: 0o644, ..Meta::nothing() };
        let folder = Meta { kind: FileKind::Folder, ..file };
        let link = Meta { kind: FileKind::Symlink, ..file };
        let none = Findings {
            keep: Keep::default(),
            sets_owners: true,
            groups: &[],
            by_content: false,
            window_ns: 0,
            other_value: false,
            other_acl: false,
            other_xattrs: false,
            leads_to: None,
        };
        let other = Meta { mtime_ns: 6, mode: 0o600, uid: 9, gid: 9, size_bytes: 4, ..file };
        let all = Findings { other_acl: true, other_xattrs: true, ..none.clone() };
        let by_content = Findings { by_content: true, ..none.clone() };
        let by_user = Findings { sets_owners: false, ..none.clone() };
        let keeps_nothing = Findings { keep: Keep::NOTHING, ..all.clone() };
        let elsewhere = Findings { other_value: true, ..none.clone() };
        let none = &none;
        for (kind, source, existing, findings, letters) in [
            (ChangeKind::Copy, file, None, none, ">f+++++++++"),
            (ChangeKind::Copy, folder, None, none, "cd+++++++++"),
            (ChangeKind::Copy, link, None, none, "cL+++++++++"),
            (ChangeKind::Copy, file, Some(link), none, ">f+++++++++"),
            (ChangeKind::Copy, file, Some(Meta { size_bytes: 4, mtime_ns: 6, ..file }), none, ">f.st......"),
            (ChangeKind::Copy, file, Some(other), &all, ">f.stpog.ax"),
            (ChangeKind::Copy, file, Some(other), &by_user, ">f.stp....."),
            (ChangeKind::Copy, file, Some(file), &by_content, ">fc........"),
            (ChangeKind::Copy, file, Some(other), &keeps_nothing, ">f.sT......"),
            (ChangeKind::Adjust, file, Some(Meta { mode: 0o600, uid: 9, ..file }), none, ".f...po...."),
            (ChangeKind::Adjust, file, Some(file), &all, ".f.......ax"),
            (ChangeKind::Adjust, folder, Some(Meta { mtime_ns: 6, ..folder }), none, ".d..t......"),
            (ChangeKind::Copy, link, Some(Meta { mtime_ns: 6, ..link }), none, ".L..t......"),
            (ChangeKind::Copy, link, Some(link), &elsewhere, "cLc........"),
            (ChangeKind::Link, file, None, none, "hf+++++++++"),
            (ChangeKind::Link, file, Some(Meta { mode: 0o600, ..file }), none, "hf...p....."),
            (ChangeKind::Link, file, Some(other), &keeps_nothing, "hf.sT......"),
        ] {
            assert_eq!(itemize(kind, &source, existing.as_ref(), findings), letters);
        }
    }
}
