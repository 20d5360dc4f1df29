//! Compares a copy of a tree with the tree: every entry, and the content of a sample; says whether anything in it
//! changed since a moment.
//!
//! Must not know: who copied.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::walk::{at, below, facts, walk};
use datapump_engine::sim::Random;

/// With a thousand of a million files compared, a fault of one file in a hundred is missed once in 20,000 runs.
const SAMPLE_FILES: usize = 1000;
/// The largest files are always in the sample: there are few, and they hold most of the bytes.
const LARGE_FILES: usize = 20;
/// The size of a chunk: of a file larger than three, the first, the last and one between are compared.
const CHUNK_BYTES: u64 = 1 << 20;

/// The class of a problem and what is wrong.
type Difference = (&'static str, String);

/// A tree and what should be its copy.
#[derive(Clone, Copy, Debug)]
pub struct TreeComparison<'paths> {
    /// The tree.
    pub source: &'paths Path,
    /// The copy.
    pub target: &'paths Path,
    /// Whether modes and times of modification count too.
    pub exact: bool,
    /// Decides the sample.
    pub seed: u64,
}

/// Files whose content is compared.
struct ContentSample {
    random: Random,
    seen: usize,
    files: Vec<PathBuf>,
    large: Vec<(u64, PathBuf)>,
}

impl ContentSample {
    /// Every file has the same chance (reservoir sampling), however many there are.
    fn offer(&mut self, path: &Path, size: u64) {
        self.seen += 1;
        if self.files.len() < SAMPLE_FILES {
            self.files.push(path.into());
        } else if let Some(place) = self.files.get_mut(self.random.index(self.seen)) {
            *place = path.into();
        }
        if self.large.len() < LARGE_FILES || self.large.last().is_some_and(|(least, _)| size > *least) {
            self.large.push((size, path.into()));
            self.large.sort_by(|one, other| other.cmp(one));
            self.large.truncate(LARGE_FILES);
        }
    }
}

impl TreeComparison<'_> {
    /// The first difference, if there is one.
    pub fn check(&self, stop: &AtomicBool) -> Result<(), Difference> {
        let random = Random::seeded(self.seed, &format!("sample {}", self.target.display()));
        let mut sample = ContentSample { random, seen: 0, files: Vec::new(), large: Vec::new() };
        let entries = self.entries(&mut sample, stop)?;
        let found = facts(self.target, stop).map_err(trouble)?;
        if found.entries != entries {
            return Err(different(format!("the target has {} entries, not {entries}", found.entries)));
        }
        let large = sample.large.iter().map(|(_, path)| path);
        large.chain(&sample.files).try_for_each(|path| self.content(path))
    }

    /// Compares every entry but for its content. Gives their number.
    fn entries(&self, sample: &mut ContentSample, stop: &AtomicBool) -> Result<u64, Difference> {
        let mut difference = None;
        let mut entries = 0;
        let root = std::fs::metadata(self.source).map_err(trouble)?;
        self.entry(Path::new(""), &root)?;
        let walked = walk(self.source, stop, &mut |path, metadata| {
            entries += 1;
            if metadata.is_file() {
                sample.offer(path, metadata.len());
            }
            self.entry(path, metadata).map_err(|found| {
                difference = Some(found);
                io::Error::other("different")
            })
        });
        difference.map_or(Ok(()), Err)?;
        walked.map(|()| entries).map_err(trouble)
    }

    fn entry(&self, path: &Path, source: &Metadata) -> Result<(), Difference> {
        let full = below(self.target, path);
        // The tree's own folder may be given by a link; nothing in it is followed.
        let target = if path.as_os_str().is_empty() { full.metadata() } else { full.symlink_metadata() };
        let target = target.map_err(|error| trouble(at(&full, &error)))?;
        let wrong = |what: &str| Err(different(format!("{}: the {what} differs", shown(path))));
        if source.file_type() != target.file_type() {
            return wrong("kind");
        }
        if source.is_file() && source.len() != target.len() {
            return wrong("size");
        }
        if source.is_symlink() && self.links(path).map_err(trouble)? {
            return wrong("link's text");
        }
        if self.exact && source.mode() != target.mode() {
            return wrong("mode");
        }
        if self.exact && modified(source) != modified(&target) {
            return wrong("time of modification");
        }
        Ok(())
    }

    /// Whether the texts of a link differ.
    fn links(&self, path: &Path) -> io::Result<bool> {
        Ok(std::fs::read_link(self.source.join(path))? != std::fs::read_link(self.target.join(path))?)
    }

    fn content(&self, path: &Path) -> Result<(), Difference> {
        let open = |root: &Path| {
            let full = root.join(path);
            File::open(&full).map_err(|error| trouble(at(&full, &error)))
        };
        let (source, target) = (open(self.source)?, open(self.target)?);
        let size = source.metadata().map_err(trouble)?.len();
        for offset in offsets(size) {
            let len = CHUNK_BYTES.min(size - offset) as usize;
            let (mut ours, mut theirs) = (vec![0; len], vec![0; len]);
            source.read_exact_at(&mut ours, offset).map_err(trouble)?;
            target.read_exact_at(&mut theirs, offset).map_err(trouble)?;
            if let Some(at) = ours.iter().zip(&theirs).position(|(one, other)| one != other) {
                let at = offset + at as u64;
                return Err(different(format!("{}: it differs at byte {at}", path.display())));
            }
        }
        Ok(())
    }
}

/// Where chunks begin that are compared.
fn offsets(size: u64) -> Vec<u64> {
    match size {
        _ if size > 3 * CHUNK_BYTES => vec![0, size / 2, size - CHUNK_BYTES],
        _ => (0..size).step_by(CHUNK_BYTES as usize).collect(),
    }
}

/// The tree's own folder has no name.
fn shown(path: &Path) -> std::path::Display<'_> {
    if path.as_os_str().is_empty() { Path::new(".").display() } else { path.display() }
}

fn modified(metadata: &Metadata) -> (i64, i64) {
    (metadata.mtime(), metadata.mtime_nsec())
}

fn different(words: String) -> Difference {
    ("mismatch", words)
}

fn trouble(error: io::Error) -> Difference {
    match error.kind() {
        ErrorKind::NotFound => ("missing", error.to_string()),
        _ => ("io", format!("compare source and target: {error}")),
    }
}

/// Says which entry of the tree was written since the moment: content, attributes, or names in a folder. The file
/// system keeps that time itself (ctime), and nobody can set it back.
pub fn changed_since(root: &Path, moment: SystemTime, stop: &AtomicBool) -> Result<(), Difference> {
    let moment = moment.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let moment = (moment.as_secs() as i64, i64::from(moment.subsec_nanos()));
    let is_new = |metadata: &Metadata| (metadata.ctime(), metadata.ctime_nsec()) >= moment;
    let root_is_new = is_new(&std::fs::metadata(root).map_err(trouble)?);
    let mut written = root_is_new.then(|| PathBuf::from("."));
    walk(root, stop, &mut |path, metadata| {
        written = written.take().or_else(|| is_new(metadata).then(|| path.to_path_buf()));
        Ok(())
    })
    .map_err(trouble)?;
    match written {
        None => Ok(()),
        Some(path) => {
            Err(("changed", format!("{}: it was written, and there was nothing to do", path.display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A folder with a tree and its exact copy.
    fn pair() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for root in ["one", "other"] {
            let path = |name: &str| folder.path().join(root).join(name);
            std::fs::create_dir_all(path("a")).expect("room");
            std::fs::write(path("a/file"), b"content").expect("room");
            std::fs::write(path("large"), vec![7; 5 << 20]).expect("room");
            symlink("nowhere", path("link")).expect("room");
            ["a/file", "large", "a", ""].iter().for_each(|name| set_time(&path(name), 1_000_000_007));
        }
        let link = std::fs::symlink_metadata(folder.path().join("one/link")).expect("it is there");
        let times = rustix::fs::Timestamps {
            last_access: rustix::fs::Timespec { tv_sec: 1, tv_nsec: 1 },
            last_modification: rustix::fs::Timespec { tv_sec: link.mtime(), tv_nsec: link.mtime_nsec() as _ },
        };
        let (other, flags) = (folder.path().join("other/link"), rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
        rustix::fs::utimensat(rustix::fs::CWD, other, &times, flags).expect("allowed");
        folder
    }

    fn set_time(path: &Path, ns: u64) {
        let file = File::open(path).expect("readable");
        file.set_modified(UNIX_EPOCH + Duration::from_nanos(ns)).expect("allowed");
    }

    fn compare(folder: &Path, exact: bool) -> Result<(), Difference> {
        let (source, target) = (&*folder.join("one"), &*folder.join("other"));
        TreeComparison { source, target, exact, seed: 1 }.check(&AtomicBool::new(false))
    }

    #[test]
    fn every_difference_is_named() {
        type Change = fn(&Path);
        let rows: &[(Change, bool, &str)] = &[
            (|_| {}, true, ""),
            (
                |to| std::fs::write(to.join("a/file"), b"contenT").unwrap(),
                false,
                "a/file: it differs at byte 6",
            ),
            (|to| std::fs::write(to.join("a/file"), b"short").unwrap(), false, "a/file: the size differs"),
            (|to| std::fs::remove_file(to.join("a/file")).unwrap(), false, "a/file: No such file"),
            (|to| std::fs::write(to.join("more"), b"").unwrap(), false, "the target has 5 entries, not 4"),
            (|to| std::fs::remove_dir_all(to).unwrap(), false, "other: No such file"),
            (
                |to| set_time(&to.join("large"), 1_000_000_008),
                true,
                "large: the time of modification differs",
            ),
            (|to| set_time(&to.join("a"), 7), true, "a: the time of modification differs"),
            (|to| set_time(&to.join("large"), 7), false, ""),
        ];
        for (change, exact, words) in rows {
            let folder = pair();
            change(&folder.path().join("other"));
            let got = compare(folder.path(), *exact).err().map_or(String::new(), |(_, words)| words);
            assert!(got.contains(words) && got.is_empty() == words.is_empty(), "{words}: {got}");
        }
    }

    #[test]
    fn kinds_modes_and_links_are_compared() {
        let folder = pair();
        let link = folder.path().join("other/link");
        std::fs::remove_file(&link).expect("it is there");
        symlink("elsewhere", &link).expect("room");
        assert_eq!(compare(folder.path(), false), Err(different("link: the link's text differs".into())));
        std::fs::remove_file(&link).expect("it is there");
        std::fs::write(&link, b"").expect("room");
        assert_eq!(compare(folder.path(), false), Err(different("link: the kind differs".into())));
        let folder = pair();
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(folder.path().join("other/a/file"), mode).expect("allowed");
        assert_eq!(compare(folder.path(), false), Ok(()));
        assert_eq!(compare(folder.path(), true), Err(different("a/file: the mode differs".into())));
    }

    #[test]
    fn large_files_are_always_in_the_sample_and_their_ends_are_compared() {
        let mut sample =
            ContentSample { random: Random::new(1), seen: 0, files: Vec::new(), large: Vec::new() };
        for size in 0..100_000 {
            sample.offer(Path::new(&size.to_string()), size);
        }
        let least = sample.large.iter().map(|(size, _)| *size).min();
        assert_eq!(
            (sample.files.len(), sample.large.len(), least),
            (SAMPLE_FILES, LARGE_FILES, Some(99_980))
        );
        let late = sample.files.iter().filter(|path| path.as_os_str().len() == 5).count();
        assert!((850..950).contains(&late), "{late} of the sample are from the last 90 %");
        assert_eq!(offsets(5 << 20), [0, 5 << 19, 4 << 20]);
        assert_eq!((offsets(0), offsets(7)), (vec![], vec![0]));
    }

    #[test]
    fn what_was_written_since_is_found() {
        let folder = pair();
        let go = AtomicBool::new(false);
        let later = SystemTime::now() + Duration::from_secs(3600);
        assert_eq!(changed_since(folder.path(), later, &go), Ok(()));
        let (class, words) = changed_since(folder.path(), UNIX_EPOCH, &go).expect_err("new");
        assert_eq!((class, words.as_str()), ("changed", ".: it was written, and there was nothing to do"));
    }
}
