//! How long a quota of CPU time has kept this process from running: its control groups count that.
//!
//! A process that is held back stands still wherever it is, inside a read as well, so that its own clock charges that
//! time to whatever it was doing. Must not know: what a move does, what the time is compared with.

use std::fs;
use std::path::{Path, PathBuf};

/// Where groups are mounted: of version 1 and version 2, and both beside each other.
const ROOTS: [&str; 4] =
    ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];

/// The files in which the groups of this process count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quota {
    /// Each with what it held at first, in nanoseconds.
    counts: Vec<(PathBuf, u64)>,
}

impl Quota {
    /// From now on.
    pub(crate) fn now() -> Quota {
        let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let groups = text.lines().filter_map(group);
        let files = groups.flat_map(|group| ROOTS.iter().flat_map(move |root| files(Path::new(root), group)));
        let mut counts: Vec<(PathBuf, u64)> =
            files.filter_map(|file| throttled_ns(&file).map(|ns| (file, ns))).collect();
        counts.sort();
        counts.dedup();
        Quota { counts }
    }

    /// How long it has been held back since, by the quota that held it most.
    pub(crate) fn held_ns(&self) -> u64 {
        let since = |(file, before): &(PathBuf, u64)| throttled_ns(file).unwrap_or(0).saturating_sub(*before);
        self.counts.iter().map(since).max().unwrap_or(0)
    }
}

/// The path of a line of `/proc/self/cgroup` that may bound CPU time: `4:cpu,cpuacct:/a/b` or `0::/a/b`.
fn group(line: &str) -> Option<&str> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
    let is_meant = controllers.is_empty() || controllers.split(',').any(|name| name == "cpu");
    is_meant.then_some(path)
}

/// The counts of a group and of those above it.
fn files(root: &Path, group: &str) -> Vec<PathBuf> {
    let folder = root.join(group.trim_start_matches('/'));
    folder.ancestors().take_while(|it| it.starts_with(root)).map(|it| it.join("cpu.stat")).collect()
}

fn throttled_ns(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let field =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    field("throttled_usec ").map(|us| us * 1000).or_else(|| field("throttled_time "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_are_read() {
        for (line, path) in [
            ("4:cpu,cpuacct:/a/b", Some("/a/b")),
            ("1:cpu:/", Some("/")),
            ("0::/user.slice", Some("/user.slice")),
            ("3:cpuset:/a", None),
            ("nonsense", None),
        ] {
            assert_eq!(group(line), path, "{line}");
        }
        let root = Path::new("/root");
        assert_eq!(files(root, "/a"), [root.join("a/cpu.stat"), root.join("cpu.stat")]);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("cpu.stat");
        for (text, ns) in [
            ("nr_periods 3\nnr_throttled 2\nthrottled_time 900\n", Some(900)),
            ("usage_usec 7\nnr_throttled 2\nthrottled_usec 5\n", Some(5000)),
            ("usage_usec 7\n", None),
        ] {
            std::fs::write(&file, text).expect("room");
            assert_eq!(throttled_ns(&file), ns, "{text}");
        }
        assert_eq!(throttled_ns(&root.join("cpu.stat")), None);
    }

    #[test]
    fn what_is_held_back_is_counted_from_the_start() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("cpu.stat");
        let quota = Quota { counts: vec![(file.clone(), 500)] };
        for (now, held) in [(500, 0), (1700, 1200), (100, 0)] {
            std::fs::write(&file, format!("throttled_time {now}\n")).expect("room");
            assert_eq!(quota.held_ns(), held);
        }
        assert_eq!(Quota::default().held_ns(), 0);
    }
}
