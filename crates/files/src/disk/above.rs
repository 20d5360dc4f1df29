//! Folders that are missing on the way to a target: what will be there, and making them.
//!
//! Must not know: what is copied there.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_engine::Errno;

use super::path_at::{Promise, folder_of};
use super::{Disk, Outcome, PathAt, names};

/// A target above which folders may be missing.
#[derive(Clone, Debug)]
pub struct PathAbove {
    path: PathBuf,
    /// As its user knows it.
    shown: PathBuf,
    /// Nothing leads out of it.
    beneath: Option<Arc<File>>,
    /// The path's own name is made as well.
    is_folder: bool,
}

impl PathAbove {
    /// That of a path which the user gave, under the name that he knows.
    pub fn of(path: PathBuf, shown: &Path) -> PathAbove {
        PathAbove { is_folder: names_folder(&path), path, shown: shown.to_path_buf(), beneath: None }
    }

    /// That of a path beneath an open folder.
    pub fn beneath(root: Arc<File>, path: &Path) -> PathAbove {
        PathAbove { beneath: Some(root), ..PathAbove::of(path.to_path_buf(), path) }
    }

    /// That of a folder into which several sources go, however the path ends.
    pub fn of_folder(self, is_folder: bool) -> PathAbove {
        PathAbove { is_folder: self.is_folder || is_folder, ..self }
    }

    /// The target as [`PathAbove::find`] would give it behind [`PathAbove::make`]; nothing is made. `None` where
    /// nothing is missing that could be made.
    ///
    /// Errors: what is missing cannot be made where it is missing.
    pub fn promised(&self) -> Outcome<Option<PathAt>> {
        let missing = missing_from(self.wanted(), &|path: &Path| self.open(path));
        let Some(first) = missing.last() else { return Ok(None) };
        let folder = self.open(folder_of(first))?;
        let is_link_to_nothing = first.file_name().is_some_and(|name| names::metadata(&folder, name).is_ok());
        if is_link_to_nothing {
            let says_itself = missing.len() == 1 && self.is_folder;
            return if says_itself { Ok(None) } else { Err(Errno::ENOENT) };
        }
        let names = missing.iter().rev().map(|folder| folder.file_name().map(OsStr::to_owned));
        let names = names.collect::<Option<Vec<OsString>>>().ok_or(Errno::ENOENT)?;
        let name = self.path.file_name().filter(|_| !self.is_folder);
        let promise = Promise { folder: Arc::new(folder), names };
        Ok(Some(PathAt::promised(&self.shown, name, promise, self.beneath.is_none())))
    }

    /// Makes what is missing above the path's name, and the path itself where it is a folder's, as rsync's --mkpath
    /// does.
    pub fn make(&self) -> Outcome<()> {
        make_missing(self.wanted(), &|path: &Path| self.open(path))
    }

    /// The folder that has to be there.
    fn wanted(&self) -> &Path {
        if self.is_folder { &self.path } else { folder_of(&self.path) }
    }

    /// Finds the target.
    pub fn find(&self) -> Outcome<PathAt> {
        match &self.beneath {
            Some(root) => PathAt::find_beneath(root, &self.path),
            None => Ok(PathAt::find(&Disk::Os, &self.path).shown_as(&self.shown)),
        }
    }

    fn open(&self, path: &Path) -> Outcome<File> {
        self.beneath.as_ref().map_or_else(|| names::find_folder(path), |root| names::find_beneath(root, path))
    }
}

/// Makes what is missing above the path's name, and the path itself where it ends with a slash. Each folder's name is
/// on stable storage before the next one is made in it. `open` opens a folder by its path: so that nothing leads out of
/// where it may be.
pub fn make_above(path: &Path, open: impl Fn(&Path) -> Outcome<File>) -> Outcome<()> {
    make_missing(if names_folder(path) { path } else { folder_of(path) }, &open)
}

/// Makes the missing folders of a path, each in its synced parent.
fn make_missing(wanted: &Path, open: &impl Fn(&Path) -> Outcome<File>) -> Outcome<()> {
    let mut missing = missing_from(wanted, open);
    while let Some(folder) = missing.pop() {
        let above = open(folder_of(folder))?;
        let name = folder.file_name().ok_or(Errno::ENOENT)?;
        match names::make_usual_folder(&above, name) {
            Err(errno) if errno != Errno::EEXIST => return Err(errno),
            _ => names::open_folder(&above, OsStr::new(".")).and_then(|open| synced(&open))?,
        }
    }
    Ok(())
}

/// The path ends with a slash, or with one and a dot.
fn names_folder(path: &Path) -> bool {
    [&b"/"[..], b"/."].iter().any(|end| path.as_os_str().as_encoded_bytes().ends_with(end))
}

/// The folders that are missing on the way to this one, the deepest first.
fn missing_from<'path>(wanted: &'path Path, open: &impl Fn(&Path) -> Outcome<File>) -> Vec<&'path Path> {
    let is_missing =
        |folder: &&Path| !folder.as_os_str().is_empty() && open(folder).err() == Some(Errno::ENOENT);
    wanted.ancestors().take_while(is_missing).collect()
}

fn synced(folder: &File) -> Outcome<()> {
    super::os::sync(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(path: &Path) -> Outcome<()> {
        PathAbove::of(path.to_path_buf(), path).make()
    }

    #[test]
    fn what_would_be_made_is_known_and_not_made() {
        let home = tempfile::tempdir().expect("room");
        std::fs::write(home.path().join("file"), "").expect("room");
        std::os::unix::fs::symlink("nothing", home.path().join("link")).expect("room");
        let root = Arc::new(names::find_folder(home.path()).expect("it is there"));
        for (path, expected) in [
            ("a/b/c", Ok(Some(false))),
            ("a/b/", Ok(Some(true))),
            ("a/b/.", Ok(Some(true))),
            ("a/../b", Err(Errno::ENOENT)),
            ("a", Ok(None)),
            ("file/x/y/", Ok(None)),
            ("link/", Ok(None)),
            ("link/x", Err(Errno::ENOENT)),
            ("link/x/", Err(Errno::ENOENT)),
        ] {
            let above = [
                PathAbove::of(home.path().join(path), Path::new(path)),
                PathAbove::beneath(Arc::clone(&root), Path::new(path)),
            ];
            for above in above {
                let found = above.promised().map(|found| found.map(|at| at.is_folder()));
                assert_eq!(found, expected, "{path}");
            }
        }
        assert_eq!(std::fs::read_dir(home.path()).expect("it is there").count(), 2, "nothing is made");
    }

    #[test]
    fn only_what_is_missing_is_made() {
        let home = tempfile::tempdir().expect("room");
        let rows =
            [("a/b/c", "a/b", "a/b/c"), ("d/e/", "d/e", "d/f"), ("a/x", "a", "a/x"), ("g/h/.", "g/h", "i")];
        for (path, made, is_not) in rows {
            make(&home.path().join(path)).expect("room");
            assert!(home.path().join(made).is_dir(), "{path}");
            assert!(!home.path().join(is_not).exists(), "{path}");
        }
        std::fs::write(home.path().join("file"), "").expect("room");
        assert_eq!(
            make(&home.path().join("file/x")),
            Ok(()),
            "nothing is missing: the copy says what is wrong"
        );
        assert!(make(&home.path().join("file/x/y")).is_ok());
    }
}
