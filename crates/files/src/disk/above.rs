//! Makes the folders that are missing on the way to a target.
//!
//! Must not know: what is copied there.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use datapump_engine::Errno;

use super::{Outcome, names, path_at::folder_of};

/// Makes what is missing above the path's name, and the path itself where it ends with a slash, as rsync's --mkpath
/// does. Each folder's name is on stable storage before the next one is made in it. `open` opens a folder by its path:
/// so that nothing leads out of where it may be.
pub fn make_above(path: &Path, open: impl Fn(&Path) -> Outcome<File>) -> Outcome<()> {
    let mut missing = missing_above(path, &open);
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

/// Whether [`make_above`] would make the path itself; nothing is made.
///
/// Errors: what is missing cannot be made where it is missing.
pub fn would_make(path: &Path, open: impl Fn(&Path) -> Outcome<File>) -> Outcome<bool> {
    let missing = missing_above(path, &open);
    let Some(first) = missing.last() else { return Ok(false) };
    let above = open(folder_of(first))?;
    let name = first.file_name().ok_or(Errno::ENOENT)?;
    let is_link_to_nothing = names::metadata(&above, name).is_ok();
    if is_link_to_nothing && missing.len() == 1 && is_folder(path) {
        return Ok(false);
    }
    match missing.iter().any(|folder| folder.file_name().is_none()) || is_link_to_nothing {
        true => Err(Errno::ENOENT),
        false => Ok(is_folder(path)),
    }
}

/// The path ends with a slash.
fn is_folder(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// The folders that are missing on the way, the deepest first.
fn missing_above<'path>(path: &'path Path, open: &impl Fn(&Path) -> Outcome<File>) -> Vec<&'path Path> {
    let wanted = if is_folder(path) { path } else { folder_of(path) };
    let is_missing =
        |folder: &&Path| !folder.as_os_str().is_empty() && open(folder).err() == Some(Errno::ENOENT);
    wanted.ancestors().take_while(is_missing).collect()
}

fn synced(folder: &File) -> Outcome<()> {
    folder.sync_all().map_err(|error| Errno::of(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(path: &Path) -> Outcome<()> {
        make_above(path, names::find_folder)
    }

    #[test]
    fn what_would_be_made_is_known_and_not_made() {
        let home = tempfile::tempdir().expect("room");
        std::fs::write(home.path().join("file"), "").expect("room");
        std::os::unix::fs::symlink("nothing", home.path().join("link")).expect("room");
        for (path, expected) in [
            ("a/b/c", Ok(false)),
            ("a/b/", Ok(true)),
            ("a", Ok(false)),
            ("file/x/y/", Ok(false)),
            ("link/", Ok(false)),
            ("link/x", Err(Errno::ENOENT)),
            ("link/x/", Err(Errno::ENOENT)),
        ] {
            let found = would_make(&home.path().join(path), names::find_folder);
            assert_eq!(found, expected, "{path}");
        }
        assert_eq!(std::fs::read_dir(home.path()).expect("it is there").count(), 2, "nothing is made");
    }

    #[test]
    fn only_what_is_missing_is_made() {
        let home = tempfile::tempdir().expect("room");
        for (path, made, is_not) in [("a/b/c", "a/b", "a/b/c"), ("d/e/", "d/e", "d/f"), ("a/x", "a", "a/x")] {
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
