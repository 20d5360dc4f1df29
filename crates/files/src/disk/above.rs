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
    let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let wanted = if is_folder { path } else { folder_of(path) };
    let is_missing =
        |folder: &&Path| !folder.as_os_str().is_empty() && open(folder).err() == Some(Errno::ENOENT);
    let mut missing: Vec<&Path> = wanted.ancestors().take_while(is_missing).collect();
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
