//! Control groups of a process, of both versions: their limits on disks and memory, and how long their quotas of CPU time
//! held it back.
//!
//! Must not know: what a move does, what a limit is compared with.

mod disk_limit;
mod memory_limit;

use std::fs;
use std::path::{Path, PathBuf};

pub use disk_limit::{DiskAccess, DiskLimit, DiskTraffic, block_device};
pub use memory_limit::{MemoryHeld, MemoryLimit, MemoryWait};

/// Where control groups are mounted.
pub const GROUPS: &str = "/sys/fs/cgroup";

/// The groups of a process, and those above them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlGroups {
    /// Folders of version 1, for disks, CPU time and memory.
    disk: Vec<PathBuf>,
    cpu: Vec<PathBuf>,
    memory: Vec<PathBuf>,
    /// The folder of version 2.
    unified: Vec<PathBuf>,
}

impl ControlGroups {
    /// The groups of this process.
    pub fn of_this_process() -> ControlGroups {
        ControlGroups::named("self")
    }

    /// The groups of another one.
    pub fn of_process(pid: u32) -> ControlGroups {
        ControlGroups::named(&pid.to_string())
    }

    /// All groups that any of these has.
    pub fn joined<'groups>(all: impl IntoIterator<Item = &'groups ControlGroups>) -> ControlGroups {
        let mut joined = ControlGroups::default();
        for groups in all {
            joined.disk.extend_from_slice(&groups.disk);
            joined.cpu.extend_from_slice(&groups.cpu);
            joined.memory.extend_from_slice(&groups.memory);
            joined.unified.extend_from_slice(&groups.unified);
        }
        joined
    }

    fn named(process: &str) -> ControlGroups {
        let text = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
        ControlGroups::below(Path::new(GROUPS), &text)
    }

    /// The groups that a text of /proc/PID/cgroup names, mounted below `root`.
    fn below(root: &Path, text: &str) -> ControlGroups {
        let of = |controller| group_folders(root, text, controller);
        ControlGroups { disk: of("blkio"), cpu: of("cpu"), memory: of("memory"), unified: of("") }
    }

    /// The lowest limit for memory. A process that touches more pages of its own is killed; page cache is reclaimed.
    pub fn memory_bytes(&self) -> Option<u64> {
        let old = self.memory.iter().map(|folder| folder.join("memory.limit_in_bytes"));
        let new = self.unified.iter().map(|folder| folder.join("memory.max"));
        old.chain(new).filter_map(|file| memory_limit::bytes_in(&file)).min()
    }

    /// From now on, how long a quota holds the process back.
    pub fn begin_quota(&self) -> CpuQuota {
        let files = self.cpu.iter().chain(&self.unified).map(|folder| folder.join("cpu.stat"));
        CpuQuota { counts: files.filter_map(|file| held_ns(&file).map(|ns| (file, ns))).collect() }
    }
}

/// What quotas of CPU time had held when it began: groups count that. A process that is held back waits wherever
/// it is, inside a read as well, so that its own clock charges that time to whatever it was doing.
#[derive(Clone, Debug, Default)]
pub struct CpuQuota {
    counts: Vec<(PathBuf, u64)>,
}

impl CpuQuota {
    /// Nanoseconds that it has been held back since, by the quota that held it most.
    pub fn held_ns(&self) -> u64 {
        let since = |(file, before): &(PathBuf, u64)| held_ns(file).unwrap_or(0).saturating_sub(*before);
        self.counts.iter().map(since).max().unwrap_or(0)
    }
}

fn held_ns(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let field =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    field("throttled_usec ").map(|us| us * 1000).or_else(|| field("throttled_time "))
}

/// The path of a process's group for a controller of version 1, or of version 2 for "". Lines of /proc/PID/cgroup are
/// `number:controllers:path`; version 2 has no controllers (cgroups(7)).
pub fn group_in(text: &str, controller: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|it| it == controller).then(|| path.to_string())
    })
}

/// Folders of a process's group for a controller, and of the groups above it: `root` is [`GROUPS`], the text that of
/// /proc/PID/cgroup. Where a host has both versions, the second is mounted beside the controllers of the first.
pub fn group_folders(root: &Path, text: &str, controller: &str) -> Vec<PathBuf> {
    let mounts: &[&str] = match controller {
        "" => &["unified", ""],
        "cpu" => &["cpu", "cpu,cpuacct"],
        other => &[other],
    };
    let mount = mounts.iter().map(|mount| root.join(mount)).find(|mount| mount.is_dir());
    mount.map_or(Vec::new(), |mount| groups_up(&mount, group_in(text, controller)))
}

/// The folder of a group, and those of all above it, below where its version is mounted.
fn groups_up(mount: &Path, group: Option<String>) -> Vec<PathBuf> {
    let Some(group) = group else { return Vec::new() };
    let own = mount.join(group.trim_start_matches('/'));
    own.ancestors().take_while(|path| path.starts_with(mount)).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_are_read_and_those_above_them() {
        let folder = tempfile::tempdir().expect("room");
        let root = folder.path();
        for name in ["a/b", "blkio/a/b", "cpu,cpuacct/a"] {
            fs::create_dir_all(root.join(name)).expect("room");
        }
        let groups = ControlGroups::below(root, "2:cpu,cpuacct:/a\n1:blkio:/a/b\n0::/a/b\nnonsense\n");
        assert_eq!((groups.disk.len(), groups.cpu.len(), groups.unified.len()), (3, 2, 3));
        assert_eq!(groups.disk[1], root.join("blkio/a"));
        assert_eq!(group_in("3:cpuset:/a", "cpu"), None);
        // Both versions beside each other.
        fs::create_dir_all(root.join("unified")).expect("room");
        assert_eq!(group_folders(root, "0::/a", ""), [root.join("unified/a"), root.join("unified")]);
        assert!(group_folders(root, "0::/a", "memory").is_empty());
    }

    #[test]
    fn the_lowest_limit_for_memory_counts() {
        let folder = tempfile::tempdir().expect("room");
        let root = folder.path();
        for (file, text) in [("a/memory.max", "max\n"), ("memory/b/memory.limit_in_bytes", "7000\n")] {
            fs::create_dir_all(root.join(file).parent().expect("a folder")).expect("room");
            fs::write(root.join(file), text).expect("room");
        }
        let limit = |text| ControlGroups::below(root, text).memory_bytes();
        assert_eq!([limit("0::/a\n"), limit("4:memory:/b/c\n0::/a\n")], [None, Some(7000)]);
        fs::write(root.join("a/memory.max"), "5000\n").expect("room");
        assert_eq!(limit("4:memory:/b\n0::/a\n"), Some(5000));
    }

    #[test]
    fn a_quota_is_counted_from_the_start() {
        let folder = tempfile::tempdir().expect("room");
        let file = folder.path().join("cpu.stat");
        for (text, ns) in [
            ("nr_periods 3\nnr_throttled 2\nthrottled_time 900\n", Some(900)),
            ("usage_usec 7\nnr_throttled 2\nthrottled_usec 5\n", Some(5000)),
            ("usage_usec 7\n", None),
        ] {
            fs::write(&file, text).expect("room");
            assert_eq!(held_ns(&file), ns, "{text}");
        }
        fs::write(&file, "throttled_time 500\n").expect("room");
        let groups = ControlGroups { unified: vec![folder.path().into()], ..ControlGroups::default() };
        let quota = groups.begin_quota();
        for (now, held) in [(500, 0), (1700, 1200), (100, 0)] {
            fs::write(&file, format!("throttled_time {now}\n")).expect("room");
            assert_eq!(quota.held_ns(), held);
        }
        assert_eq!(CpuQuota::default().held_ns(), 0);
    }
}
