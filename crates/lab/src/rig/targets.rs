//! The folder of a study's targets, with whatever else a run leaves beside its target: half files of copies that were
//! ended go with it. One of a process that was killed goes when the next study begins in the same place.
//!
//! Must not know: what the targets hold.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::probe::host;
use crate::session::finished::delete;

/// Gives names; the folder goes when this is dropped.
#[derive(Debug)]
pub struct Targets {
    folder: PathBuf,
    given: u64,
}

impl Targets {
    /// In this folder, where nothing is made yet.
    pub fn new(parent: &Path) -> Targets {
        let kind = format!("targets-{}", host::name());
        sweep(parent, &kind);
        Targets { folder: parent.join(own_name(&kind)), given: 0 }
    }

    /// A name never given before, where nothing stands.
    pub fn next(&mut self, ending: &str) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        self.given += 1;
        Ok(self.folder.join(format!("{}.{ending}", self.given)))
    }
}

impl Drop for Targets {
    fn drop(&mut self) {
        if self.given > 0 {
            delete(&self.folder);
        }
    }
}

/// The name of a folder of this process.
pub fn own_name(kind: &str) -> String {
    format!("pump-lab-{kind}-{}", std::process::id())
}

/// Deletes the folders of this kind whose process is gone.
pub fn sweep(parent: &Path, kind: &str) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| is_left(name, kind)).for_each(|name| delete(&parent.join(name)));
}

fn is_left(name: &str, kind: &str) -> bool {
    let after = name.strip_prefix("pump-lab-").and_then(|rest| rest.strip_prefix(kind)?.strip_prefix('-'));
    let process = after.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
    process.is_some_and(|process| !Path::new("/proc").join(process.to_string()).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_leave_goes_with_their_targets() {
        let parent = tempfile::tempdir().expect("a folder");
        let there = || fs::read_dir(parent.path()).expect("a folder").count();
        let mut targets = Targets::new(parent.path());
        assert_eq!(there(), 0);
        let (first, second) = (targets.next("bin").expect("room"), targets.next("tree").expect("room"));
        assert!(first != second && !first.exists());
        fs::write(first.with_file_name(".pump-0123456789abcdef"), "half").expect("room");
        drop(targets);
        assert_eq!(there(), 0);
    }

    #[test]
    fn only_folders_of_processes_that_are_gone_are_swept() {
        // No process has this number: it is above the largest that Linux gives (2^22).
        let gone = u32::MAX;
        let kind = format!("targets-{}", host::name());
        let parent = tempfile::tempdir().expect("a folder");
        let own = own_name(&kind);
        let names =
            [format!("pump-lab-{kind}-{gone}"), own.clone(), format!("pump-lab-targets-other-host-{gone}")];
        names.iter().for_each(|name| fs::create_dir(parent.path().join(name)).expect("room"));
        sweep(parent.path(), &kind);
        let left = names.map(|name| parent.path().join(name).exists());
        assert_eq!(left, [false, true, true]);
        assert!(is_left(&format!("pump-lab-host-{gone}-3"), "host") && !is_left("pump-lab-host-x-3", "host"));
    }
}
