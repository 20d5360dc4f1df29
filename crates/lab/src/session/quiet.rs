//! Waits until a disk has come to rest.
//!
//! A file system mounted with `discard` keeps the disk busy for seconds after a delete has returned, and a run that
//! starts meanwhile is measured 3 to 5 times too slow. ext4 and XFS discard what was freed when the transaction with it is
//! committed: in the next run's fsync, unless somebody commits before. Must not know: studies, what is deleted.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

/// Discards come in bursts less than a second apart.
pub const REST: Duration = Duration::from_secs(1);
/// The discards of 4 GiB take 6 s; twenty times that is somebody else's work.
const WAIT_MAX: Duration = Duration::from_secs(120);
const STEP: Duration = Duration::from_millis(20);

/// The disk under a folder.
#[derive(Clone, Debug)]
pub struct QuietDisk {
    folder: PathBuf,
    /// Its counters; `None` for a file system without a disk of its own, such as tmpfs.
    stat: Option<PathBuf>,
}

/// What the disk is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Activity {
    in_flight: u64,
    discards: u64,
}

impl QuietDisk {
    /// The disk under the folder.
    pub fn containing(folder: &Path) -> std::io::Result<QuietDisk> {
        let device = std::fs::metadata(folder)?.dev();
        let name = format!("/sys/dev/block/{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
        let stat = std::fs::canonicalize(name).ok().map(|device| whole_disk(device).join("stat"));
        Ok(QuietDisk { folder: folder.into(), stat: stat.filter(|stat| stat.exists()) })
    }

    /// A name that stays: the device's place in the system, or the kind of folder.
    pub fn name(&self) -> Option<String> {
        let stat = self.stat.as_ref()?;
        Some(stat.parent()?.to_string_lossy().into_owned())
    }

    /// Whether both are one disk; file systems without one are none.
    pub fn is_same(&self, other: &QuietDisk) -> bool {
        self.stat.is_some() && self.stat == other.stat
    }

    /// Writes out what all programs have dirty, so that deletes reach the disk, and waits until nothing is in flight and
    /// nothing was discarded for a second: for studies, which have the machine to themselves. False if that failed or took
    /// longer than two minutes, or `stop` was set.
    pub fn wait_quiet(&self, stop: &AtomicBool) -> bool {
        let is_flushed = File::open(&self.folder).is_ok_and(|folder| rustix::fs::syncfs(&folder).is_ok());
        self.wait_at_rest(REST, stop) && is_flushed
    }

    /// Commits what removed files leave to the file system's journal, by fsync of an unnamed empty file in the folder, or in
    /// that of the file: a transaction takes what was freed before it, and none of what others only have in memory. (An
    /// fsync of the folder commits nothing, as unnamed files change nothing in it.) Takes as long as the disk does.
    ///
    /// # Errors
    /// The file system has no unnamed files, or the disk fails.
    pub fn commit(&self) -> std::io::Result<()> {
        let folder = if self.folder.is_dir() { Some(&*self.folder) } else { self.folder.parent() };
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let unnamed = rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(rustix::fs::fsync(unnamed)?)
    }

    /// Waits until nothing is in flight and nothing was discarded for so long, and writes nothing out. False if that took
    /// longer than two minutes, or `stop` was set.
    pub fn wait_at_rest(&self, rest: Duration, stop: &AtomicBool) -> bool {
        let Some(stat) = &self.stat else { return true };
        let start = Instant::now();
        let mut discards = None;
        let mut unchanged_since = start;
        while start.elapsed() < WAIT_MAX && !stop.load(Ordering::Relaxed) {
            let Some(now) = activity(stat) else { return false };
            if discards != Some(now.discards) {
                discards = Some(now.discards);
                unchanged_since = Instant::now();
            }
            if now.in_flight == 0 && unchanged_since.elapsed() >= rest {
                return true;
            }
            sleep(STEP);
        }
        false
    }
}

/// The path, or the nearest folder above it that is there.
pub fn nearest_there(path: &Path) -> &Path {
    // What stands above the first name of a relative path has no name, and is not found.
    path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."))
}

/// The disk that a device in /sys is, or is a part of: a partition's counters leave out what its neighbours do.
pub fn whole_disk(device: PathBuf) -> PathBuf {
    match device.parent() {
        Some(disk) if device.join("partition").exists() => disk.into(),
        _ => device,
    }
}

fn activity(stat: &Path) -> Option<Activity> {
    parse_activity(&std::fs::read_to_string(stat).ok()?)
}

/// Fields 9 and 12 (Linux, Documentation/block/stat.rst). Before 4.18 there are 11: no discards are counted.
fn parse_activity(text: &str) -> Option<Activity> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    Some(Activity { in_flight: *fields.get(8)?, discards: fields.get(11).copied().unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_engine::Errno;
    use datapump_engine::os::linux::answer_calls_with;

    #[test]
    fn counters_are_read() {
        let now =
            "  212670 37113 34677602 307639 29776 46602 18358432 38220 3 41176 347871 14142 58 516 197 1 3\n";
        let old = "212670 37113 34677602 307639 29776 46602 18358432 38220 0 41176 347871";
        for (text, expected) in [
            (now, Some(Activity { in_flight: 3, discards: 14142 })),
            (old, Some(Activity { in_flight: 0, discards: 0 })),
            ("1 2 3", None),
            ("", None),
        ] {
            assert_eq!(parse_activity(text), expected, "{text}");
        }
    }

    #[test]
    fn the_nearest_folder_is_found_for_what_is_not_there_yet() {
        for (path, nearest) in
            [("/proc/self/none/at/all", "/proc/self"), ("/", "/"), ("no-such/file", "."), ("", ".")]
        {
            assert_eq!(nearest_there(Path::new(path)), Path::new(nearest), "{path}");
        }
    }

    /// Other programs' data are their own: only a study writes them out.
    #[test]
    fn only_a_study_flushes_the_file_system() {
        const SYNCFS: i64 = if cfg!(target_arch = "x86_64") { 306 } else { 267 };
        let folder = tempfile::tempdir().expect("a folder");
        let idle = folder.path().join("stat");
        std::fs::write(&idle, "0 0 0 0 0 0 0 0 0 0 0 0").expect("room");
        for stat in [None, Some(idle)] {
            let disk = QuietDisk { folder: folder.path().into(), stat };
            let went = std::thread::spawn(move || {
                answer_calls_with(&[SYNCFS], Errno::ENOSYS).expect("a filter");
                let stop = AtomicBool::new(false);
                [disk.commit().is_ok() && disk.wait_at_rest(Duration::ZERO, &stop), disk.wait_quiet(&stop)]
            });
            assert_eq!(went.join().expect("no panic"), [true, false]);
        }
    }

    #[test]
    fn a_commit_leaves_no_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        std::fs::write(&file, b"1").expect("room");
        for place in [folder.path(), &file] {
            QuietDisk::containing(place).expect("a folder").commit().expect("unnamed files");
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 1);
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = QuietDisk::containing(folder.path()).expect("a folder");
        let quiet = disk.wait_quiet(&AtomicBool::new(true));
        assert!(!quiet || disk.stat.is_none());
    }
}
