//! Backups: what a copy replaces or removes gets another name first.
//!
//! The old file is linked under its backup's name before its own name is taken, so that at no moment a name is missing.
//! Only where there are no links it is renamed. Folders have no backups.
//!
//! Must not know: which names are replaced, what is copied.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use datapump_engine::Errno;
use serde::{Deserialize, Serialize};

use crate::commit::{final_name, reserved};
use crate::disk::names::NameAt;
use crate::disk::{FileKind, Meta, Outcome, file_meta, make_above, names};
use crate::identity::id;

/// How backups are called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Numbering {
    /// By the suffix alone: there is one backup of a name.
    #[default]
    Simple,
    /// `.~1~`, `.~2~` and so on, behind all that are there.
    Numbered,
    /// Numbered where numbered ones are there already, else simple.
    Existing,
}

/// Where backups go, and how they are called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backup {
    /// Behind the name of a simple backup.
    pub suffix: Vec<u8>,
    /// A folder of their own: an absolute path, or one from the target folder. Else they lie beside.
    pub folder: Option<PathBuf>,
    /// How they are called.
    pub numbering: Numbering,
}

/// What was done about a name.
#[derive(Debug, PartialEq, Eq)]
pub enum Aside {
    /// It has that name, too.
    Linked(OsString),
    /// It has that name alone: to be given back if nothing takes its own.
    Renamed(OsString),
}

impl Aside {
    /// The backup's name.
    pub fn name(&self) -> &OsStr {
        let (Aside::Linked(name) | Aside::Renamed(name)) = self;
        name
    }
}

impl Backup {
    /// Errors: words for the user. What another host asks for is looked at like this, too.
    pub fn check(&self) -> Result<(), String> {
        if self.suffix.contains(&b'/') || self.suffix.contains(&0) {
            return Err("the suffix of backups has a slash in it; --backup-dir names another folder".into());
        }
        if self.suffix.is_empty() && self.folder.is_none() && self.numbering != Numbering::Numbered {
            return Err(
                "without a suffix a backup has the name of the file; write for example --suffix=.orig".into(),
            );
        }
        Ok(())
    }

    /// Whether a name is that of a backup which lies beside its file: nobody removes it for want of a source.
    pub fn is_beside(&self, name: &OsStr) -> bool {
        let bytes = name.as_bytes();
        let is_simple =
            !self.suffix.is_empty() && bytes.len() > self.suffix.len() && bytes.ends_with(&self.suffix);
        let is_right =
            (self.numbering != Numbering::Numbered && is_simple) || number_of(name, None).is_some();
        self.folder.is_none() && is_right
    }

    /// The name that a simple backup would take from what stands there; none where nothing does, or it gets a number.
    pub fn name_taken(&self, to: &File, name: &OsStr) -> Option<OsString> {
        let simple = OsString::from_vec([name.as_bytes(), &self.suffix].concat());
        let is_simple = || match self.numbering {
            Numbering::Simple => true,
            Numbering::Numbered => false,
            Numbering::Existing => highest_number(to, name) == Ok(0),
        };
        (names::metadata(to, &simple).is_ok() && is_simple()).then_some(simple)
    }

    /// The folder of all backups, seen from the target folder; made if it is not there, where that `makes` it. Links
    /// are followed as far as the user named them; who `is_confined` may not leave the target.
    pub fn open(&self, target: &File, makes: bool, is_confined: bool) -> Outcome<Option<File>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let open = |path: &Path| {
            if !is_confined {
                // An absolute path begins where it says.
                names::find_folder_from(target, path)
            } else if path.is_absolute() {
                Err(Errno::EXDEV)
            } else {
                names::find_beneath(target, path)
            }
        };
        if makes {
            // With a slash at its end all of it is made.
            make_above(&folder.join(""), open)?;
        }
        open(folder).map(Some)
    }

    /// What stood under a name gets its backup's name in a folder. `may_replace` says whether a backup that is there
    /// may go, `is_needed` whether something else is to get a name that is free (`None`: it may be). Else the new one
    /// gets a number.
    pub fn set_aside(
        &self,
        at: NameAt<'_>,
        stood: &Meta,
        to: &File,
        may_replace: impl Fn(&OsStr, &Meta) -> bool,
        is_needed: impl Fn(&OsStr) -> Option<bool>,
    ) -> Outcome<Aside> {
        let name = at.name;
        // Where nobody can tell, any number will do.
        let take_number = |numbered: &OsStr| match is_needed(numbered) {
            Some(true) => Err(Errno::EEXIST),
            Some(false) | None => keep_new(at, NameAt { folder: to, name: numbered }),
        };
        let next = |highest| with_next_number(name, highest, take_number);
        let numbered = || highest_number(to, name).and_then(next);
        match self.numbering {
            Numbering::Simple => {}
            Numbering::Numbered => return numbered(),
            Numbering::Existing => match highest_number(to, name)? {
                0 => {}
                highest => return next(highest),
            },
        }
        let backup = OsString::from_vec([name.as_bytes(), &self.suffix].concat());
        match names::metadata(to, &backup) {
            Ok(_) if is_same(at, NameAt { folder: to, name: &backup })? => numbered(),
            // It has that name already: a run that was cut gave it.
            Ok(there) if id(&there) == id(stood) => Ok(Aside::Linked(backup)),
            Ok(there) if there.kind != FileKind::Folder && may_replace(&backup, &there) => {
                keep_one(at, NameAt { folder: to, name: &backup })
            }
            Ok(_) => numbered(),
            Err(Errno::ENOENT) if is_needed(&backup) != Some(false) => numbered(),
            Err(Errno::ENOENT) => match keep_new(at, NameAt { folder: to, name: &backup }) {
                // Another took it meanwhile.
                Err(Errno::EEXIST) => numbered(),
                kept => kept,
            },
            Err(errno) => Err(errno),
        }
    }
}

/// Gives a name the next number that is free.
pub(super) fn number(folder: &File, name: &OsStr) -> Outcome<()> {
    let highest = highest_number(folder, name)?;
    with_next_number(name, highest, |numbered| names::rename_new(folder, name, numbered))
}

/// Tries numbered names, from the number behind `highest` on, until one is not taken.
fn with_next_number<T>(name: &OsStr, highest: u64, mut take: impl FnMut(&OsStr) -> Outcome<T>) -> Outcome<T> {
    let mut number = highest;
    loop {
        number = number.checked_add(1).ok_or(Errno::EEXIST)?;
        match take(&numbered_name(name, number)) {
            Err(Errno::EEXIST) => {}
            taken => return taken,
        }
    }
}

fn numbered_name(name: &OsStr, number: u64) -> OsString {
    OsString::from_vec([name.as_bytes(), format!(".~{number}~").as_bytes()].concat())
}

/// One name in one folder.
fn is_same(one: NameAt<'_>, other: NameAt<'_>) -> Outcome<bool> {
    Ok(one.name == other.name && id(&file_meta(one.folder)?) == id(&file_meta(other.folder)?))
}

/// Whether a rename may do what a link does not. What link(2) does not leave, a mount or a project, rename(2) does not
/// leave either.
fn has_no_links(errno: Errno) -> bool {
    errno != Errno::EXDEV && names::is_unlinkable(errno)
}

/// Moves an entry aside by a link, which replaces the only backup; where there are no links it is renamed.
fn keep_one(at: NameAt<'_>, backup: NameAt<'_>) -> Outcome<Aside> {
    let (NameAt { folder, name }, NameAt { folder: to, name: backup }) = (at, backup);
    if final_name::is_append_only(to) {
        // The temporary name would stay.
        return names::link(folder, name, to, backup).map(|()| Aside::Linked(backup.to_owned()));
    }
    let linked = reserved::under_new_name(|new| names::link(folder, name, to, new));
    let temporary = match linked {
        Ok((temporary, ())) => temporary,
        Err(errno) if has_no_links(errno) => {
            return names::rename(folder, name, to, backup).map(|()| Aside::Renamed(backup.to_owned()));
        }
        Err(errno) => return Err(errno),
    };
    names::rename(to, &temporary, to, backup).map(|()| Aside::Linked(backup.to_owned())).inspect_err(|_| {
        let _ = names::remove(to, &temporary, false);
    })
}

/// Links, where nothing has that name yet. Without links the name is missing until the new file gets it.
fn keep_new(at: NameAt<'_>, backup: NameAt<'_>) -> Outcome<Aside> {
    match names::link(at.folder, at.name, backup.folder, backup.name) {
        Err(errno) if has_no_links(errno) => {
            names::move_new(at, backup).map(|()| Aside::Renamed(backup.name.to_owned()))
        }
        linked => linked.map(|()| Aside::Linked(backup.name.to_owned())),
    }
}

/// The highest number of a name's backups; 0 if there are none.
fn highest_number(folder: &File, name: &OsStr) -> Outcome<u64> {
    let open = names::open_folder(folder, OsStr::new("."))?;
    let (mut highest, mut cookie) = (0, 0);
    loop {
        let (entries, next) = names::list(&open, cookie)?;
        if entries.is_empty() {
            return Ok(highest);
        }
        cookie = next;
        let numbers = entries.iter().filter_map(|entry| number_of(&entry.name, Some(name)));
        highest = numbers.fold(highest, u64::max);
    }
}

/// The number of `name.~7~`; of any name's backup, or of one name's.
fn number_of(backup: &OsStr, name: Option<&OsStr>) -> Option<u64> {
    let rest = backup.as_bytes().strip_suffix(b"~")?;
    let at = rest.windows(2).rposition(|two| two == b".~")?;
    let (of, digits) = (&rest[..at], &rest[at + 2..]);
    let is_right = name.map_or(!of.is_empty(), |name| name.as_bytes() == of);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    (is_right && is_number).then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit::backup_folders::{BackupFolders, Originals};
    use std::fs;
    use std::sync::Arc;

    fn backup(numbering: Numbering, folder: Option<&str>) -> Backup {
        Backup { suffix: b"~".to_vec(), folder: folder.map(PathBuf::from), numbering }
    }

    fn names_in(home: &Path) -> Vec<String> {
        let entries = fs::read_dir(home).expect("a folder").map(|entry| entry.expect("a name").file_name());
        let mut names: Vec<_> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn set_aside(backup: &Backup, folder: &File, name: &str) -> Outcome<Aside> {
        let stood = names::metadata(folder, OsStr::new(name))?;
        backup.set_aside(
            NameAt { folder, name: OsStr::new(name) },
            &stood,
            folder,
            |_, _| true,
            |_| Some(false),
        )
    }

    #[test]
    fn one_backup_is_replaced_and_numbers_go_on() {
        for (numbering, expected) in [
            (Numbering::Simple, &["a", "a~"][..]),
            (Numbering::Numbered, &["a", "a.~1~", "a.~2~", "a.~3~"]),
            (Numbering::Existing, &["a", "a~"]),
        ] {
            let home = tempfile::tempdir().expect("room");
            let folder = File::open(home.path()).expect("a folder");
            let backup = backup(numbering, None);
            for content in ["1", "2", "3"] {
                fs::write(home.path().join("new"), content).expect("room");
                fs::rename(home.path().join("new"), home.path().join("a")).expect("room");
                let is_linked = || matches!(set_aside(&backup, &folder, "a"), Ok(Aside::Linked(_)));
                assert!(is_linked(), "{numbering:?}");
                if numbering == Numbering::Simple {
                    assert!(is_linked(), "it has that name already");
                }
            }
            assert_eq!(names_in(home.path()), expected, "{numbering:?}");
            let last = home.path().join(expected.last().expect("a name"));
            assert_eq!(fs::read_to_string(last).expect("a backup"), "3");
        }
    }

    #[test]
    fn what_may_not_be_replaced_gets_a_number() {
        let home = tempfile::tempdir().expect("room");
        let folder = File::open(home.path()).expect("a folder");
        for name in ["a", "a~", "b", "c", "c.~9~", "cb.~11~", "c.~x~"] {
            fs::write(home.path().join(name), name).expect("room");
        }
        fs::create_dir(home.path().join("b~")).expect("room");
        let simple = backup(Numbering::Simple, None);
        let stood = |name: &str| names::metadata(&folder, OsStr::new(name)).expect("it is there");
        let at = NameAt { folder: &folder, name: OsStr::new("a") };
        simple.set_aside(at, &stood("a"), &folder, |_, _| false, |_| Some(false)).expect("room");
        set_aside(&simple, &folder, "b").expect("room");
        set_aside(&backup(Numbering::Existing, None), &folder, "c").expect("room");
        let expected = ["a", "a.~1~", "a~", "b", "b.~1~", "b~", "c", "c.~10~", "c.~9~", "c.~x~", "cb.~11~"];
        assert_eq!(names_in(home.path()), expected);
        assert_eq!(fs::read_to_string(home.path().join("a~")).expect("it stays"), "a~");
    }

    #[test]
    fn a_free_name_that_is_needed_is_left_free() {
        for (numbering, needed, expected) in [
            (Numbering::Simple, Some(&["a~"][..]), "a.~1~"),
            (Numbering::Simple, Some(&["a~", "a.~1~", "a.~2~"][..]), "a.~3~"),
            (Numbering::Existing, Some(&["a~"][..]), "a.~1~"),
            (Numbering::Numbered, Some(&["a.~1~"][..]), "a.~2~"),
            (Numbering::Simple, Some(&["b"][..]), "a~"),
            (Numbering::Simple, None, "a.~1~"),
            (Numbering::Numbered, None, "a.~1~"),
        ] {
            let home = tempfile::tempdir().expect("room");
            let folder = File::open(home.path()).expect("a folder");
            fs::write(home.path().join("a"), "a").expect("room");
            let stood = names::metadata(&folder, OsStr::new("a")).expect("it is there");
            let is_needed = |name: &OsStr| needed.map(|needed| needed.iter().any(|other| name == *other));
            let at = NameAt { folder: &folder, name: OsStr::new("a") };
            let done = backup(numbering, None).set_aside(at, &stood, &folder, |_, _| true, is_needed);
            assert_eq!(done, Ok(Aside::Linked(expected.into())), "{numbering:?} {needed:?}");
            assert!(names_in(home.path()).iter().any(|name| name == expected), "{numbering:?} {needed:?}");
        }
    }

    #[test]
    fn a_backup_never_has_the_name_of_its_own_file() {
        let home = tempfile::tempdir().expect("room");
        let folder = File::open(home.path()).expect("a folder");
        fs::write(home.path().join("a"), "a").expect("room");
        let unnamed = Backup { suffix: Vec::new(), ..backup(Numbering::Simple, Some(".")) };
        set_aside(&unnamed, &folder, "a").expect("room");
        assert_eq!(names_in(home.path()), ["a", "a.~1~"], "another one than itself");
        let slash = Backup { suffix: b"/../x".to_vec(), ..backup(Numbering::Simple, None) };
        slash.check().expect_err("a slash");
        Backup { folder: None, ..unnamed }.check().expect_err("no suffix");
    }

    #[test]
    fn a_folder_of_backups_is_made_and_who_is_confined_stays_in_the_target() {
        let home = tempfile::tempdir().expect("room");
        let target = File::open(home.path()).expect("a folder");
        let inside = backup(Numbering::Simple, Some("old/er"));
        assert_eq!(inside.open(&target, false, true).err(), Some(Errno::ENOENT));
        let open = inside.open(&target, true, true).expect("room").expect("a folder");
        let (folders, open) = (BackupFolders::default(), Arc::new(open));
        let originals = Originals { base: &target, found: &|_| None };
        let open_below = |below: &str| folders.open_below(&open, Path::new(below), originals);
        open_below("sub/deep").expect("room");
        assert!(home.path().join("old/er/sub/deep").is_dir());
        std::os::unix::fs::symlink("/etc", home.path().join("old/er/etc")).expect("room");
        open_below("etc/sub").expect("the link is a backup like any other");
        assert!(
            home.path().join("old/er/etc/sub").is_dir() && home.path().join("old/er/etc.~1~").is_symlink()
        );
        assert!(open_below("../x").is_err());
        fs::create_dir(home.path().join("sub")).expect("room");
        let sub = File::open(home.path().join("sub")).expect("a folder");
        let absolute = home.path().join("there").display().to_string();
        for folder in ["../beside", &absolute] {
            let outside = backup(Numbering::Simple, Some(folder));
            assert!(outside.open(&sub, true, true).is_err(), "{folder}");
            assert!(outside.open(&sub, true, false).is_ok(), "{folder}");
        }
        assert!(home.path().join("beside").is_dir() && home.path().join("there").is_dir());
    }

    #[test]
    fn backups_are_known_by_their_names() {
        for (name, simple, numbered) in [
            ("a~", true, false),
            ("~", false, false),
            ("a.~1~", true, true),
            ("a.~~", true, false),
            ("a", false, false),
        ] {
            let is = |numbering| backup(numbering, None).is_beside(OsStr::new(name));
            assert_eq!((is(Numbering::Simple), is(Numbering::Numbered)), (simple, numbered), "{name}");
        }
        assert!(!backup(Numbering::Simple, Some("kept")).is_beside(OsStr::new("a~")));
    }
}
