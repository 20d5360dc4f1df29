//! Walks a tree: counts what it holds, reads it into the page cache.
//!
//! Must not know: what the tree is for.

use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const CHUNK_BYTES: usize = 1 << 20;

/// What a tree holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeFacts {
    /// Files, folders and everything else, without the tree's own folder.
    pub entries: u64,
    /// Sizes of all files; of a file with several names, once for each.
    pub bytes: u64,
}

/// Visits everything below the tree's folder, folders before what is in them, with the path from there. Keeps no more
/// than the names of folders still to be visited.
///
/// Errors: the first that the system or the visitor gives; a stop.
pub fn walk(
    root: &Path,
    stop: &AtomicBool,
    visit: &mut dyn FnMut(&Path, &Metadata) -> Result<()>,
) -> Result<()> {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let full = below(root, &folder);
        for entry in std::fs::read_dir(&full).map_err(|error| at(&full, &error))? {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
            }
            let entry = entry.map_err(|error| at(&full, &error))?;
            let metadata = entry.metadata().map_err(|error| at(&entry.path(), &error))?;
            let path = folder.join(entry.file_name());
            visit(&path, &metadata)?;
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(())
}

/// A path below the tree's folder, from there; the folder itself without a slash behind it.
pub fn below(root: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { root.into() } else { root.join(path) }
}

/// Names the path in an error of the system.
pub fn at(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Counts what the tree holds.
pub fn facts(root: &Path, stop: &AtomicBool) -> Result<TreeFacts> {
    let mut facts = TreeFacts::default();
    walk(root, stop, &mut |_, metadata| {
        facts.entries += 1;
        facts.bytes += if metadata.is_file() { metadata.len() } else { 0 };
        Ok(())
    })?;
    Ok(facts)
}

/// Reads every file of the tree, which brings names, attributes and content into memory.
pub fn read_all(root: &Path, stop: &AtomicBool) -> Result<()> {
    let mut bytes = vec![0; CHUNK_BYTES];
    walk(root, stop, &mut |path, metadata| {
        let full = root.join(path);
        if metadata.is_file() {
            read(&full, &mut bytes, stop).map_err(|error| at(&full, &error))
        } else {
            Ok(())
        }
    })
}

/// Reads one file; it ends early once `stop` is set.
pub fn read_file(path: &Path, stop: &AtomicBool) -> Result<()> {
    read(path, &mut vec![0; CHUNK_BYTES], stop)
}

fn read(path: &Path, bytes: &mut [u8], stop: &AtomicBool) -> Result<()> {
    let mut file = File::open(path)?;
    while !stop.load(Ordering::Relaxed) && file.read(bytes)? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_counted_and_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("a/b")).expect("room");
        std::fs::write(path("a/b/c"), [0; 1000]).expect("room");
        std::fs::write(path("d"), [0; 24]).expect("room");
        std::os::unix::fs::symlink("nowhere", path("a/link")).expect("room");
        let go = AtomicBool::new(false);
        assert_eq!(facts(folder.path(), &go).expect("readable"), TreeFacts { entries: 5, bytes: 1024 });
        read_all(folder.path(), &go).expect("readable");
        let error = facts(&path("no"), &go).expect_err("missing").to_string();
        assert!(error.contains("/no: "), "{error}");
        let stopped = read_all(folder.path(), &AtomicBool::new(true)).expect_err("stopped");
        assert_eq!(stopped.kind(), ErrorKind::Interrupted);
    }
}
