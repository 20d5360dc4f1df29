//! Prepares a run and clears up behind it: source, cache, name of the target, quiet disk, room.
//!
//! What it makes carries names of its own and is deleted when the rig goes, whatever happened. Must not know: what is
//! run, how it is measured.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use datapump::units::{bytes_words, parse_bytes};
use rustix::fs::Advice;

use crate::quiet::Disk;
use crate::random::Random;
use crate::study::{Cell, Level, Step, Study, fill};

const CHUNK_BYTES: usize = 1 << 20;

/// File systems slow down and fragment when they are nearly full: this part of the need stays free.
const ROOM_SPARE: u64 = 20;

/// Where the files of a study are made.
#[derive(Debug)]
pub struct Rig {
    folder: PathBuf,
    disk: Disk,
    seed: u64,
    sources: BTreeMap<u64, PathBuf>,
    targets: u64,
    target: Option<PathBuf>,
    stop: Arc<AtomicBool>,
}

/// What was prepared for one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The source, if there is one.
    pub source: Option<PathBuf>,
    /// Its size in bytes.
    pub source_bytes: u64,
    /// The target's name, if there is one. Nothing stands there.
    pub target: Option<PathBuf>,
    /// State of the source in the page cache.
    pub cache_state: CacheState,
    /// Whether the disk came to rest; `None` if nobody waited.
    pub quiet: Option<bool>,
}

/// State of the source in the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheState {
    /// There is no source file.
    #[default]
    None,
    /// As the run before left it.
    Unprepared,
    /// Taken out.
    Cold,
    /// Read in.
    Warm,
}

impl CacheState {
    /// The word in a row.
    pub fn name(self) -> &'static str {
        match self {
            CacheState::None => "none",
            CacheState::Unprepared => "unprepared",
            CacheState::Cold => "cold",
            CacheState::Warm => "warm",
        }
    }
}

impl Rig {
    /// A rig in this folder. Once `stop` is set, long steps end with an error.
    pub fn new(folder: &Path, seed: u64, stop: Arc<AtomicBool>) -> anyhow::Result<Rig> {
        let open = || format!("the folder {}", folder.display());
        // A command may change its folder: names are given from the root.
        let folder = std::fs::canonicalize(folder).with_context(open)?;
        let disk = Disk::of(&folder)?;
        Ok(Rig { folder, disk, seed, sources: BTreeMap::new(), targets: 0, target: None, stop })
    }

    /// The folder, from the root.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Checks that all sources of the study and the largest target fit, and says how much that is.
    pub fn check_room(&self, study: &Study, cells: &[Cell]) -> anyhow::Result<String> {
        let mut sizes: Vec<u64> = Vec::new();
        for cell in cells {
            sizes.extend(source_size(study, cell)?);
        }
        sizes.sort_unstable();
        sizes.dedup();
        let missing: u64 = sizes.iter().filter(|&&size| !self.has_source(size)).sum();
        let need = missing.saturating_add(sizes.last().copied().unwrap_or(0));
        let need = need.saturating_add(need / ROOM_SPARE);
        let state = rustix::fs::statvfs(&self.folder).context("ask for free room")?;
        let free = state.f_bavail.saturating_mul(state.f_frsize);
        let words = format!(
            "{} has {} free, the study needs {}",
            self.folder.display(),
            bytes_words(free),
            bytes_words(need)
        );
        match need <= free {
            true => Ok(words),
            false => bail!("{words}: make room, or give another folder or smaller sizes"),
        }
    }

    fn has_source(&self, size: u64) -> bool {
        std::fs::metadata(self.source_path(size)).is_ok_and(|meta| meta.is_file() && meta.len() == size)
    }

    fn source_path(&self, size: u64) -> PathBuf {
        self.folder.join(format!("pump-lab-source-{size}-{}.bin", self.seed))
    }

    /// Performs the steps for a cell, in order.
    pub fn prepare(&mut self, study: &Study, cell: &Cell) -> anyhow::Result<Prepared> {
        let mut prepared = Prepared::default();
        for step in &study.prepare {
            self.step(step, cell, &mut prepared)?;
            self.go_on()?;
        }
        Ok(prepared)
    }

    fn step(&mut self, step: &Step, cell: &Cell, prepared: &mut Prepared) -> anyhow::Result<()> {
        match step {
            Step::MakeSource { size } => {
                prepared.source_bytes = size_in(size, cell)?;
                prepared.source = Some(self.make_source(prepared.source_bytes)?);
                prepared.cache_state = CacheState::Unprepared;
            }
            Step::NewTarget {} => prepared.target = Some(self.new_target()),
            Step::ColdSource {} => {
                prepared.source.as_deref().map_or(Ok(()), make_cold)?;
                prepared.cache_state = CacheState::Cold;
            }
            Step::WarmSource {} => {
                prepared.source.as_deref().map_or(Ok(()), |path| self.make_warm(path))?;
                prepared.cache_state = CacheState::Warm;
            }
            Step::WaitQuiet {} => prepared.quiet = Some(self.disk.wait_quiet(&self.stop)),
        }
        Ok(())
    }

    /// The source of this size: made, or found from a run that was interrupted. It stands under its name only when it
    /// is whole and synced.
    fn make_source(&mut self, size: u64) -> anyhow::Result<PathBuf> {
        let path = self.source_path(size);
        if self.sources.insert(size, path.clone()).is_none() && !self.has_source(size) {
            let part = path.with_extension("part");
            let made = self.write_source(&part, size);
            let named = made.and_then(|()| Ok(std::fs::rename(&part, &path)?));
            if named.is_err() {
                let _ = std::fs::remove_file(&part);
            }
            named.with_context(|| format!("make the source {}", path.display()))?;
        }
        Ok(path)
    }

    fn write_source(&self, path: &Path, size: u64) -> anyhow::Result<()> {
        let mut file = File::create(path)?;
        let mut random = Random::of(self.seed, &format!("source {size}"));
        let mut bytes = vec![0; CHUNK_BYTES];
        let mut left = size;
        while left > 0 {
            self.go_on()?;
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(CHUNK_BYTES);
            random.fill(&mut bytes[..len]);
            file.write_all(&bytes[..len])?;
            left -= len as u64;
        }
        Ok(file.sync_all()?)
    }

    fn make_warm(&self, path: &Path) -> anyhow::Result<()> {
        let read = || -> std::io::Result<()> {
            let mut file = File::open(path)?;
            let mut bytes = vec![0; CHUNK_BYTES];
            while !self.stop.load(Ordering::Relaxed) && file.read(&mut bytes)? > 0 {}
            Ok(())
        };
        read().with_context(|| format!("read {} into the page cache", path.display()))
    }

    fn new_target(&mut self) -> PathBuf {
        self.targets += 1;
        let name = format!("pump-lab-target-{}-{}.bin", std::process::id(), self.targets);
        let path = self.folder.join(name);
        self.target = Some(path.clone());
        path
    }

    /// Compares the target with the source, chunk by chunk. The error says the first difference.
    pub fn compare(&self, prepared: &Prepared) -> Result<(), (&'static str, String)> {
        let (Some(source), Some(target)) = (&prepared.source, &prepared.target) else { return Ok(()) };
        let trouble = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => ("missing", format!("there is no target: {error}")),
            _ => ("io", format!("compare source and target: {error}")),
        };
        let mut files = [File::open(source).map_err(trouble)?, File::open(target).map_err(trouble)?];
        let mut chunks = [vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]];
        let mut at = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let [one, other] = &mut files;
            let ours = read_full(one, &mut chunks[0]).map_err(trouble)?;
            let theirs = read_full(other, &mut chunks[1]).map_err(trouble)?;
            if chunks[0][..ours] != chunks[1][..theirs] {
                let same =
                    chunks[0][..ours].iter().zip(&chunks[1][..theirs]).take_while(|(a, b)| a == b).count();
                return Err((
                    "mismatch",
                    format!("the target differs from the source at byte {}", at + same as u64),
                ));
            }
            if ours == 0 {
                return Ok(());
            }
            at += ours as u64;
        }
        Ok(())
    }

    /// Deletes the target of the last run.
    pub fn delete_target(&mut self) {
        if let Some(path) = self.target.take() {
            // A run that failed may have left nothing to delete.
            let _ = std::fs::remove_file(path);
        }
    }

    /// An error once the user asked to stop.
    pub fn go_on(&self) -> anyhow::Result<()> {
        match self.stop.load(Ordering::Relaxed) {
            true => bail!("interrupted; the same command goes on with the runs that are left"),
            false => Ok(()),
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.delete_target();
        self.sources.values().for_each(|path| drop(std::fs::remove_file(path)));
    }
}

/// The size of the cell's source; `None` if the study has none.
fn source_size(study: &Study, cell: &Cell) -> anyhow::Result<Option<u64>> {
    let made = study.prepare.iter().find_map(|step| match step {
        Step::MakeSource { size } => Some(size),
        Step::NewTarget {} | Step::ColdSource {} | Step::WarmSource {} | Step::WaitQuiet {} => None,
    });
    made.map(|size| size_in(size, cell)).transpose()
}

fn size_in(size: &Level, cell: &Cell) -> anyhow::Result<u64> {
    let value = |name: &str| cell.levels.get(name).map(Level::to_string);
    let word = fill(&size.to_string(), &value).map_err(|name| anyhow::anyhow!("{{{name}}} has no value"))?;
    parse_bytes(&word).map_err(anyhow::Error::msg)
}

/// Takes the file out of the page cache. It was synced when it was made, so all of its pages can go.
fn make_cold(path: &Path) -> anyhow::Result<()> {
    let drop =
        || -> anyhow::Result<()> { Ok(rustix::fs::fadvise(File::open(path)?, 0, None, Advice::DontNeed)?) };
    drop().with_context(|| format!("take {} out of the page cache", path.display()))
}

/// Reads until the slot is full or the file ends.
fn read_full(file: &mut File, bytes: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..])? {
            0 => break,
            len => filled += len,
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Changes;

    const STUDY: &str = r#"
name = "rig"
title = "t"
prepare = [
  { step = "make_source", size = "{size}" }, { step = "new_target" }, { step = "cold_source" },
  { step = "warm_source" },
]
check = ["same_content"]
[factors]
size = ["1500000B"]
[command.levels]
cp = "cp {source} {target}"
"#;

    fn rig(folder: &Path) -> (Rig, Study, Cell) {
        let study = Study::parse("rig.toml", STUDY, &Changes::default()).expect("in order");
        let cell = study.cells().remove(0);
        (Rig::new(folder, 7, Arc::default()).expect("a folder"), study, cell)
    }

    fn names(folder: &Path) -> usize {
        std::fs::read_dir(folder).expect("a folder").count()
    }

    #[test]
    fn a_source_is_made_once_and_all_is_cleared_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut rig, study, cell) = rig(folder.path());
        assert!(rig.check_room(&study, std::slice::from_ref(&cell)).expect("room").contains("needs 3.0 MiB"));
        let first = rig.prepare(&study, &cell).expect("prepared");
        assert_eq!((first.source_bytes, first.cache_state.name(), first.quiet), (1_500_000, "warm", None));
        let source = first.source.clone().expect("a source");
        let content = std::fs::read(&source).expect("readable");
        assert_eq!(content.len(), 1_500_000);
        std::fs::write(first.target.as_ref().expect("a name"), b"x").expect("writable");
        rig.delete_target();
        let second = rig.prepare(&study, &cell).expect("prepared");
        assert_eq!((second.source.as_ref(), names(folder.path())), (Some(&source), 1));
        assert_ne!(first.target, second.target, "every run has a new name");
        drop(rig);
        assert_eq!(names(folder.path()), 0);
    }

    #[test]
    fn the_seed_decides_the_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = |name: &str, seed| {
            let rig = Rig::new(folder.path(), seed, Arc::default()).expect("a folder");
            let path = folder.path().join(name);
            rig.write_source(&path, 3_000_001).expect("room");
            std::fs::read(path).expect("readable")
        };
        let bytes = made("a", 1);
        assert_eq!(bytes.len(), 3_000_001);
        assert!(bytes == made("b", 1) && bytes != made("c", 2));
    }

    #[test]
    fn targets_are_compared_to_the_last_byte() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut rig, study, cell) = rig(folder.path());
        let prepared = rig.prepare(&study, &cell).expect("prepared");
        let content = std::fs::read(prepared.source.as_ref().expect("a source")).expect("readable");
        let mut changed = content.clone();
        changed[1_200_000] ^= 1;
        for (written, expected) in [
            (Some(content.clone()), Ok(())),
            (Some(changed), Err(("mismatch", "at byte 1200000"))),
            (Some(content[..1_499_999].to_vec()), Err(("mismatch", "at byte 1499999"))),
            (Some([&content[..], b"x"].concat()), Err(("mismatch", "at byte 1500000"))),
            (Some(Vec::new()), Err(("mismatch", "at byte 0"))),
            (None, Err(("missing", "there is no target"))),
        ] {
            let target = prepared.target.as_ref().expect("a name");
            match &written {
                Some(bytes) => std::fs::write(target, bytes).expect("writable"),
                None => std::fs::remove_file(target).expect("it was there"),
            }
            let (got, len) = (rig.compare(&prepared), written.map(|bytes| bytes.len()));
            match (&got, expected) {
                (Ok(()), Ok(())) => {}
                (Err((class, words)), Err((expected, hint))) => {
                    assert!(*class == expected && words.contains(hint), "{len:?}: {class}: {words}");
                }
                _ => panic!("{len:?}: {got:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn a_study_that_does_not_fit_is_refused_with_the_figures() {
        let folder = tempfile::tempdir().expect("a folder");
        let (rig, study, mut cell) = rig(folder.path());
        cell.levels.insert("size".into(), "4000PiB".into());
        let error = rig.check_room(&study, &[cell]).expect_err("no such disk").to_string();
        assert!(error.contains("free, the study needs") && error.contains("make room"), "{error}");
    }

    #[test]
    fn a_stop_ends_the_preparation_and_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut rig, study, cell) = rig(folder.path());
        rig.stop.store(true, Ordering::Relaxed);
        let error = format!("{:#}", rig.prepare(&study, &cell).expect_err("stopped"));
        assert!(error.contains("interrupted; the same command goes on"), "{error}");
        drop(rig);
        assert_eq!(names(folder.path()), 0);
    }
}
