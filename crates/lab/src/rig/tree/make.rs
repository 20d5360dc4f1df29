//! Makes a tree of seeded random bytes.
//!
//! Must not know: where it will be used.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};

use super::Layout;
use datapump_engine::sim::Random;

const CHUNK_BYTES: usize = 1 << 20;

/// Makes the tree in this folder, which is not there yet. On stable storage when it returns.
///
/// Errors: what the system says; a stop.
pub fn make(layout: &Layout, root: &Path, stop: &AtomicBool) -> anyhow::Result<()> {
    std::fs::create_dir(root).with_context(|| format!("make {}", root.display()))?;
    let mut random = Random::seeded(layout.seed, "tree");
    let mut bytes = vec![0; CHUNK_BYTES];
    let mut folder = root.to_path_buf();
    for (name, size) in layout.files() {
        if stop.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        let path = root.join(name);
        let own = path.parent().unwrap_or(root);
        if own != folder {
            std::fs::create_dir_all(own).with_context(|| format!("make {}", own.display()))?;
            folder = own.into();
        }
        write(&path, size, &mut random, &mut bytes).with_context(|| format!("make {}", path.display()))?;
    }
    Ok(rustix::fs::syncfs(File::open(root)?)?)
}

fn write(path: &Path, size: u64, random: &mut Random, bytes: &mut [u8]) -> std::io::Result<()> {
    let mut file = File::create_new(path)?;
    let mut left = size;
    while left > 0 {
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        random.fill(&mut bytes[..len]);
        file.write_all(&bytes[..len])?;
        left -= len as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::tree::{TreeComparison, TreeFacts, facts};
    use crate::study::TreeShape;

    fn layout(seed: u64) -> Layout {
        let shape = TreeShape {
            files: 60,
            smallest: 1,
            largest: 9000,
            per_folder: 2,
            levels: None,
            large_files: 1,
            large_size: 2_000_000,
        };
        Layout { shape, seed }
    }

    #[test]
    fn the_seed_decides_the_tree() {
        let folder = tempfile::tempdir().expect("a folder");
        let go = AtomicBool::new(false);
        let made = |name: &str, seed| {
            let path = folder.path().join(name);
            make(&layout(seed), &path, &go).expect("room");
            path
        };
        let (one, same, other) = (made("a", 1), made("b", 1), made("c", 2));
        let expected: u64 = layout(1).files().map(|(_, size)| size).sum();
        let all = facts(&one, &go).expect("readable");
        // 30 folders of two files, in two folders of 25.
        assert_eq!(all, TreeFacts { entries: 61 + 30 + 2, bytes: expected });
        let compare =
            |target: &Path| TreeComparison { source: &one, target, exact: false, seed: 1 }.check(&go);
        assert_eq!(compare(&same), Ok(()));
        assert_eq!(compare(&other).expect_err("other bytes").0, "mismatch");
    }

    #[test]
    fn a_stop_ends_the_making() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = make(&layout(1), &folder.path().join("a"), &AtomicBool::new(true)).expect_err("stopped");
        assert_eq!(error.to_string(), "interrupted");
    }
}
