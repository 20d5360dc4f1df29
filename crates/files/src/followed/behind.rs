//! Follows a symbolic link name by name: the links on the way, and what is at its end.
//!
//! The kernel follows a link and says what it found, not by which names. A link on the way that is replaced leads
//! elsewhere afterwards, as does a name at its end.
//!
//! Must not know: what is done there.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use datapump_engine::Errno;
use rustix::process::geteuid;

use crate::disk::{FileKind, Meta, Outcome, file_meta, names, path_of};

/// As many links as the kernel follows: path_resolution(7).
const LINKS_MAX: usize = 40;
const ROOT: u32 = 0;

/// A link on the way, or what stands at its end.
#[derive(Debug)]
pub struct PlaceBehind {
    /// The folder that its name stands in; without a name the place itself.
    pub folder: Arc<File>,
    /// Its name.
    pub name: Option<OsString>,
    /// What it is, links not followed.
    pub meta: Meta,
}

impl PlaceBehind {
    /// What the system calls it, as far as it says so.
    pub fn path(&self) -> PathBuf {
        let folder = path_of(&self.folder).unwrap_or_default();
        self.name.as_ref().map_or_else(|| folder.clone(), |name| folder.join(name))
    }
}

/// The places that a symbolic link of a folder leads to: further links, and the last one, if it is there.
pub fn places_behind(folder: &Arc<File>, link: &OsStr) -> Vec<PlaceBehind> {
    names::read_symlink(folder, link).map_or_else(|_| Vec::new(), |content| places_on(folder, &content))
}

/// The same of a path that begins in a folder.
pub fn places_on(folder: &Arc<File>, path: &OsStr) -> Vec<PlaceBehind> {
    let mut way = LinkWay { here: Arc::clone(folder), rest: Vec::new(), links: Vec::new(), end: None };
    way.put_first(path);
    let led = way.go();
    let LinkWay { mut links, end, .. } = way;
    links.extend(end.filter(|_| led.is_ok()));
    links
}

/// The first symbolic link on a path of this process that is neither root's nor this user's, and its user. That one
/// could lead the path elsewhere.
pub fn foreign_link_on(path: &Path) -> Option<(PathBuf, u32)> {
    let start = Path::new(if path.is_absolute() { "/" } else { "." });
    let places = places_on(&Arc::new(names::find_folder(start).ok()?), path.as_os_str());
    let own = geteuid().as_raw();
    let is_foreign = |meta: &Meta| meta.kind == FileKind::Symlink && meta.uid != ROOT && meta.uid != own;
    let link = places.into_iter().find(|place| is_foreign(&place.meta))?;
    Some((link.path(), link.meta.uid))
}

/// A path that is being followed.
struct LinkWay {
    here: Arc<File>,
    /// The names that are left, the next one last.
    rest: Vec<OsString>,
    links: Vec<PlaceBehind>,
    end: Option<PlaceBehind>,
}

impl LinkWay {
    fn put_first(&mut self, path: &OsStr) {
        let parts = Path::new(path).components().rev();
        let parts = parts.filter(|part| *part != Component::CurDir);
        self.rest.extend(parts.map(|part| part.as_os_str().to_owned()));
    }

    /// Follows the words of a link to their end.
    fn go(&mut self) -> Outcome<()> {
        self.end_here()?;
        while let Some(part) = self.rest.pop() {
            match part.as_encoded_bytes() {
                b"/" | b".." => {
                    self.here = Arc::new(names::find_folder_from(&self.here, Path::new(&part))?);
                    self.end_here()?;
                }
                _ => self.enter(part)?,
            }
        }
        Ok(())
    }

    /// A name is held, looked at and followed: one and the same, even if things are renamed meanwhile.
    fn enter(&mut self, name: OsString) -> Outcome<()> {
        let held = names::hold(&self.here, &name)?;
        let meta = file_meta(&held)?;
        let folder = Arc::clone(&self.here);
        match meta.kind {
            FileKind::Symlink if self.links.len() >= LINKS_MAX => return Err(Errno::ELOOP),
            FileKind::Symlink => {
                let content = names::read_held_symlink(&held)?;
                self.put_first(&content);
                self.links.push(PlaceBehind { folder, name: Some(name), meta });
                return self.end_here();
            }
            FileKind::Folder => self.here = Arc::new(held.into_file()),
            _ if !self.rest.is_empty() => return Err(Errno::ENOTDIR),
            _ => {}
        }
        self.end = Some(PlaceBehind { folder, name: Some(name), meta });
        Ok(())
    }

    fn end_here(&mut self) -> Outcome<()> {
        let meta = file_meta(&self.here)?;
        self.end = Some(PlaceBehind { folder: Arc::clone(&self.here), name: None, meta });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_on_the_way_and_the_end_are_found() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let below = |name: &str| home.path().join(name);
        std::fs::create_dir_all(below("a/b")).expect("room");
        std::fs::write(below("a/b/file"), "x").expect("room");
        let absolute = below("a/b").display().to_string();
        for (to, name) in [
            ("a/b/file", "file"),
            ("a/./b/../b", "folder"),
            ("a/b/..", "up"),
            ("folder/file", "twice"),
            ("loop", "loop"),
            ("a/none", "nothing"),
            ("file/below", "wrong"),
            (&*absolute, "absolute"),
        ] {
            symlink(to, below(name)).expect("room");
        }
        let folder = Arc::new(names::find_folder(home.path()).expect("it is there"));
        let root = path_of(&folder).expect("the system says it");
        for (link, expected) in [
            ("file", &["a/b/file"][..]),
            ("folder", &["a/b"]),
            ("up", &["a"]),
            ("twice", &["folder", "a/b/file"]),
            ("nothing", &[]),
            ("wrong", &["file"]),
            ("absolute", &["a/b"]),
            ("a", &[]),
        ] {
            let found: Vec<PathBuf> =
                places_behind(&folder, OsStr::new(link)).iter().map(PlaceBehind::path).collect();
            let expected: Vec<PathBuf> = expected.iter().map(|path| root.join(path)).collect();
            assert_eq!(found, expected, "{link}");
        }
        assert_eq!(places_behind(&folder, OsStr::new("loop")).len(), LINKS_MAX);
    }
}
