//! Limits that control groups set for a disk: `blkio.throttle.*` of version 1, `io.max` of version 2.
//!
//! Must not know: what is moved to or from the disk.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

use super::ControlGroups;
use crate::disk::MountEntry;
use datapump_core::problem::shown_path;
use datapump_core::units::{rate_words, with_commas};

/// A move that is slower than this part of a limit has another cause.
const REACHED_FRACTION: f64 = 0.5;
/// The kernel splits large requests: so many of its own may be one of a move.
const REQUESTS_FOR_ONE: f64 = 4.0;

/// What a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskAccess {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// The limit of one group, as it is set. Shown it is the figure and the file: `10.0 MiB/s, /sys/fs/cgroup/a/io.max`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskLimit {
    bytes_per_second: Option<u64>,
    requests_per_second: Option<u64>,
    file: PathBuf,
}

impl fmt::Display for DiskLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes_per_second.map(|bytes| rate_words(bytes as f64));
        let requests =
            self.requests_per_second.map(|requests| format!("{} requests/s", with_commas(requests)));
        let figures: Vec<String> = bytes.into_iter().chain(requests).collect();
        write!(out, "{}, {}", figures.join(" and "), shown_path(&self.file))
    }
}

impl DiskLimit {
    /// So much in this time as a part of what it lets through.
    fn reached_fraction(&self, bytes: u64, requests: u64, elapsed_ns: u64) -> f64 {
        let part = |done: f64, limit: Option<u64>| {
            let allowed = |limit: u64| limit as f64 * elapsed_ns as f64 / 1e9;
            limit.map_or(0.0, |limit| done / allowed(limit))
        };
        let of_requests = part(requests as f64 * REQUESTS_FOR_ONE, self.requests_per_second);
        part(bytes as f64, self.bytes_per_second).max(of_requests)
    }
}

/// Bytes and requests of a move that read from disks, or wrote to them.
#[derive(Clone, Copy, Debug)]
pub struct DiskTraffic {
    /// Which of both.
    pub access: DiskAccess,
    /// Bytes.
    pub bytes: u64,
    /// Requests of the move.
    pub requests: u64,
    /// In so many nanoseconds.
    pub elapsed_ns: u64,
}

impl ControlGroups {
    /// The limit for one of these devices that the move reached, and most of all.
    pub fn reached_limit(&self, devices: &BTreeSet<u64>, traffic: DiskTraffic) -> Option<DiskLimit> {
        let DiskTraffic { access, bytes, requests, elapsed_ns } = traffic;
        let numbers = devices.iter().filter_map(|device| block_device("self", *device));
        let limits = numbers.flat_map(|number| self.disk_limits(&number, access));
        let fraction = |limit: &DiskLimit| limit.reached_fraction(bytes, requests, elapsed_ns);
        limits
            .filter(|limit| fraction(limit) >= REACHED_FRACTION)
            .max_by(|one, other| fraction(one).total_cmp(&fraction(other)))
    }

    /// The lowest limits for a device, by its number as in `8:1`: of bytes, and of requests where another group or file
    /// sets that. Limits are set for whole disks.
    pub fn disk_limits(&self, device: &str, access: DiskAccess) -> Vec<DiskLimit> {
        let device = whole_disk(device);
        let old = self.disk.iter().flat_map(|folder| old_files(folder, access));
        let new = self.unified.iter().map(|folder| folder.join("io.max"));
        let limits = old.chain(new).filter_map(|file| {
            let text = fs::read_to_string(&file).ok()?;
            limit_in(&text, &device, access, &file)
        });
        let limits: Vec<DiskLimit> = limits.collect();
        let lowest = |figure: fn(&DiskLimit) -> Option<u64>| {
            limits.iter().filter(|limit| figure(limit).is_some()).min_by_key(|limit| figure(limit))
        };
        let kinds = [lowest(|limit| limit.bytes_per_second), lowest(|limit| limit.requests_per_second)];
        let mut lowest: Vec<DiskLimit> = kinds.into_iter().flatten().cloned().collect();
        lowest.dedup();
        lowest
    }
}

fn old_files(folder: &Path, access: DiskAccess) -> [PathBuf; 2] {
    let way = if access == DiskAccess::Read { "read" } else { "write" };
    ["bps", "iops"].map(|what| folder.join(format!("blkio.throttle.{way}_{what}_device")))
}

/// The limit for a device in a file of version 1, `8:0 1048576` a line, or of version 2, `8:0 rbps=1 wbps=max`.
fn limit_in(text: &str, device: &str, access: DiskAccess, file: &Path) -> Option<DiskLimit> {
    let line = text.lines().find_map(|line| line.strip_prefix(device)?.strip_prefix(' '))?;
    let alone = line.trim().parse::<u64>().ok();
    let is_of_requests = file.to_string_lossy().contains("_iops_");
    let letter = if access == DiskAccess::Read { 'r' } else { 'w' };
    let keyed = |key: &str| {
        let mut words = line.split_whitespace();
        words.find_map(|word| word.strip_prefix(letter)?.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
    };
    let limit = DiskLimit {
        bytes_per_second: alone.filter(|_| !is_of_requests).or_else(|| keyed("bps")),
        requests_per_second: alone.filter(|_| is_of_requests).or_else(|| keyed("iops")),
        file: file.into(),
    };
    (limit.bytes_per_second.is_some() || limit.requests_per_second.is_some()).then_some(limit)
}

/// The disk that a partition is of.
fn whole_disk(device: &str) -> String {
    let folder = fs::canonicalize(format!("/sys/dev/block/{device}")).ok();
    let disk = folder.filter(|folder| folder.join("partition").exists());
    let number = disk.and_then(|folder| fs::read_to_string(folder.parent()?.join("dev")).ok());
    number.map_or(device.to_string(), |number| number.trim().to_string())
}

/// The number of the block device below a file's device, as in `8:1`. File systems over several devices have numbers of
/// their own: then the mount names one, as the process (`self` or its number) sees it.
pub fn block_device(process: &str, device: u64) -> Option<String> {
    let numbered = |device: u64| format!("{}:{}", major(device), minor(device));
    if major(device) != 0 {
        return Some(numbered(device));
    }
    let mut mounts = MountEntry::list(process).into_iter();
    let mount = mounts.find(|mount| mount.device == numbered(device))?;
    let meta = fs::metadata(mount.source).ok()?;
    meta.file_type().is_block_device().then(|| numbered(meta.rdev()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_both_versions_have_a_figure_and_a_file() {
        let folder = tempfile::tempdir().expect("room");
        let root = folder.path();
        for name in ["a/b", "blkio/a/b"] {
            fs::create_dir_all(root.join(name)).expect("room");
        }
        let old = root.join("blkio/blkio.throttle.read_bps_device");
        fs::write(&old, "8:0 1048576\n").expect("room");
        fs::write(root.join("blkio/a/blkio.throttle.write_iops_device"), "8:16 400\n").expect("room");
        let new = root.join("a/io.max");
        fs::write(&new, "8:0 rbps=max wbps=2097152 riops=max wiops=max\n").expect("room");
        let groups = ControlGroups::below(root, "1:blkio:/a/b\n0::/a/b\n");
        let limits = |device: &str, access| {
            let limits = groups.disk_limits(device, access);
            limits.iter().map(DiskLimit::to_string).collect::<Vec<_>>()
        };
        let limit = |device: &str, access| limits(device, access).pop();
        assert_eq!(limit("8:0", DiskAccess::Read), Some(format!("1.00 MiB/s, {}", old.display())));
        assert_eq!(limit("8:0", DiskAccess::Write), Some(format!("2.00 MiB/s, {}", new.display())));
        assert!(limit("8:16", DiskAccess::Write).is_some_and(|words| words.starts_with("400 requests/s, ")));
        assert_eq!((limit("8:16", DiskAccess::Read), limit("8:1", DiskAccess::Read)), (None, None));
        // A lower one of a group below.
        fs::write(root.join("blkio/a/b/blkio.throttle.read_bps_device"), "8:0 524288\n").expect("room");
        assert!(limit("8:0", DiskAccess::Read).is_some_and(|words| words.starts_with("512 KiB/s, ")));
        // One of requests beside one of bytes, and the lowest of each.
        for (name, figure) in [("blkio", 100), ("blkio/a", 50), ("blkio/a/b", 70)] {
            let file = root.join(name).join("blkio.throttle.read_iops_device");
            fs::write(file, format!("8:0 {figure}\n")).expect("room");
        }
        let words = limits("8:0", DiskAccess::Read);
        assert_eq!(words.len(), 2, "{words:?}");
        assert!(words[0].starts_with("512 KiB/s, ") && words[1].starts_with("50 requests/s, "), "{words:?}");
        // A group that has both is one.
        fs::write(&new, "8:32 rbps=1048576 wbps=max riops=7 wiops=max\n").expect("room");
        let words = limits("8:32", DiskAccess::Read);
        assert_eq!(words, [format!("1.00 MiB/s and 7 requests/s, {}", new.display())]);
    }

    /// The name is given by anybody who may make groups.
    #[test]
    fn the_name_of_a_group_moves_no_cursor() {
        let limit = DiskLimit {
            bytes_per_second: None,
            requests_per_second: Some(7),
            file: "/sys/fs/cgroup/a\u{1b}[2J/io.max".into(),
        };
        assert_eq!(limit.to_string(), "7 requests/s, /sys/fs/cgroup/a\\u{1b}[2J/io.max");
    }

    #[test]
    fn a_limit_that_is_far_from_reached_is_no_cause() {
        let limit = |bytes, requests| DiskLimit {
            bytes_per_second: bytes,
            requests_per_second: requests,
            file: "io.max".into(),
        };
        for (limit, requests, is_reached) in [
            (limit(Some(1000), None), 1, true),
            (limit(Some(1_000_000), None), 1, false),
            (limit(None, Some(10)), 8, true),
            (limit(None, Some(1000)), 8, false),
        ] {
            let fraction = limit.reached_fraction(990, requests, 1_000_000_000);
            assert_eq!(fraction >= REACHED_FRACTION, is_reached, "{limit}");
        }
    }

    #[test]
    fn a_device_with_a_number_of_its_own_is_that() {
        assert_eq!(block_device("self", rustix::fs::makedev(8, 1)).as_deref(), Some("8:1"));
    }
}
