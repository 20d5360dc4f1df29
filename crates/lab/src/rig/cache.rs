//! Brings files and trees into the page cache, or takes them out.
//!
//! Must not know: studies, why.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use rustix::fs::Advice;

use crate::rig::tree;

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Reads the file, or every file of the tree, into the page cache. Ends early once `stop` is set.
pub fn warm(path: &Path, stop: &AtomicBool) -> anyhow::Result<()> {
    let read = if path.is_dir() { tree::read_all(path, stop) } else { tree::read_file(path, stop) };
    read.with_context(|| format!("read {} into the page cache", path.display()))
}

/// Takes the file out of the page cache, or with a tree everything: no call takes out the names and attributes of one
/// tree, and they are most of what a small file costs.
///
/// Errors: for a tree also that the user may not do that.
pub fn cool(path: &Path) -> anyhow::Result<()> {
    let cooled = if path.is_dir() { drop_all() } else { drop_file(path) };
    cooled.with_context(|| format!("take {} out of the page cache", path.display()))
}

/// It was synced when it was made, so all of its pages can go.
fn drop_file(path: &Path) -> anyhow::Result<()> {
    Ok(rustix::fs::fadvise(File::open(path)?, 0, None, Advice::DontNeed)?)
}

/// Only clean pages can go: all is written out first. 3 stands for pages, names and attributes (proc_sys_vm(5)).
fn drop_all() -> anyhow::Result<()> {
    rustix::fs::sync();
    let drop = || File::options().write(true).open(DROP_CACHES)?.write_all(b"3");
    drop().with_context(|| {
        format!("write to {DROP_CACHES}, which only root may: the state of a tree is that of all")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_trees_are_read_and_errors_name_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, [1; 5000]).expect("room");
        let go = AtomicBool::new(false);
        [folder.path(), &file].iter().for_each(|path| warm(path, &go).expect("readable"));
        cool(&file).expect("allowed");
        let missing = folder.path().join("no");
        for error in [warm(&missing, &go).expect_err("missing"), cool(&missing).expect_err("missing")] {
            assert!(format!("{error:#}").contains("/no "), "{error:#}");
        }
    }
}
