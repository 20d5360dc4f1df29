//! How long a control group's limit for memory holds a process back: page cache that it fills is charged to its group,
//! and at the limit whoever reads or writes waits until pages were reclaimed, of dirty ones until they are on the disk.
//!
//! Must not know: what is moved, what the time is compared with.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use datapump_core::units::bytes_words;

use super::ControlGroups;

/// Stalls of the whole machine: a group of version 1 counts none of its own.
const MACHINE: &str = "/proc/pressure/memory";

/// The limit of one group, as it is set. Shown it is the figure and the file: `64.0 MiB, /sys/fs/cgroup/a/memory.max`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    bytes: u64,
    file: PathBuf,
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {}", bytes_words(self.bytes), self.file.display())
    }
}

/// What was counted of a group that has a limit, when the look at it began.
#[derive(Clone, Debug)]
struct CountedGroup {
    limit: MemoryLimit,
    /// Pressure stall information (Documentation/accounting/psi.rst).
    stalls: PathBuf,
    stalled_us: u64,
    /// `memory.failcnt` of version 1: how often the limit was reached.
    reached: Option<(PathBuf, u64)>,
}

/// The limit that held a process back, and for how long at least one of its threads waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryHeld {
    /// As it is set.
    pub limit: MemoryLimit,
    /// Nanoseconds.
    pub ns: u64,
}

/// Time behind limits for memory, from a point in time on.
#[derive(Clone, Debug, Default)]
pub struct MemoryWait {
    groups: Vec<CountedGroup>,
}

impl ControlGroups {
    /// From now on, how long limits for memory hold the process back. Empty where none is set.
    pub fn begin_memory_wait(&self) -> MemoryWait {
        let old = self.memory.iter().filter_map(|folder| CountedGroup::old(folder, Path::new(MACHINE)));
        let new = self.unified.iter().filter_map(|folder| CountedGroup::new(folder));
        MemoryWait { groups: old.chain(new).collect() }
    }
}

impl MemoryWait {
    /// The limit that held the process back for longest since.
    pub fn held(&self) -> Option<MemoryHeld> {
        let held =
            self.groups.iter().map(|group| MemoryHeld { limit: group.limit.clone(), ns: group.stalled_ns() });
        held.filter(|held| held.ns > 0).max_by_key(|held| held.ns)
    }
}

impl CountedGroup {
    fn old(folder: &Path, stalls: &Path) -> Option<CountedGroup> {
        let count = folder.join("memory.failcnt");
        let reached = || Some((count.clone(), number_in(&count)?));
        let file = folder.join("memory.limit_in_bytes");
        bytes_in(&file).and_then(|_| CountedGroup::of(file, stalls.into(), Some(reached()?)))
    }

    fn new(folder: &Path) -> Option<CountedGroup> {
        // At `high` who allocates reclaims, and is slowed down; at `max` it waits for that.
        let files = ["memory.high", "memory.max"].map(|name| folder.join(name));
        let set = files.into_iter().filter(|file| bytes_in(file).is_some());
        CountedGroup::of(set.min_by_key(|file| bytes_in(file))?, folder.join("memory.pressure"), None)
    }

    fn of(file: PathBuf, stalls: PathBuf, reached: Option<(PathBuf, u64)>) -> Option<CountedGroup> {
        let limit = MemoryLimit { bytes: bytes_in(&file)?, file };
        Some(CountedGroup { limit, stalled_us: stalled_us(&stalls)?, stalls, reached })
    }

    fn stalled_ns(&self) -> u64 {
        let was_reached = |(file, before): &(PathBuf, u64)| number_in(file).is_some_and(|now| now > *before);
        if self.reached.as_ref().is_some_and(|reached| !was_reached(reached)) {
            return 0;
        }
        stalled_us(&self.stalls).unwrap_or(0).saturating_sub(self.stalled_us) * 1000
    }
}

/// A limit that is set: version 2 has `max` else, version 1 a number above any memory.
pub(super) fn bytes_in(file: &Path) -> Option<u64> {
    number_in(file).filter(|bytes| *bytes < 1 << 62)
}

fn number_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// `total` of the line `some`: at least one waited.
fn stalled_us(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix("some ")?.rsplit_once("total=")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, files: &[(&str, &str)]) {
        files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).expect("room"));
    }

    fn stalls(us: u64) -> String {
        format!(
            "some avg10=0.00 avg60=0.00 avg300=0.00 total={us}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"
        )
    }

    #[test]
    fn time_counts_where_a_limit_is_set_and_was_reached() {
        let folder = tempfile::tempdir().expect("room");
        let root = folder.path();
        let pressure = root.join("memory.pressure");
        write(root, &[("memory.pressure", &stalls(500)), ("memory.failcnt", "7\n")]);
        for (bytes, failcnt, now_us, held) in [
            ("4096\n", "8\n", 800, Some(300_000)),
            ("4096\n", "7\n", 800, None),
            ("4096\n", "8\n", 500, None),
            ("9223372036854771712\n", "8\n", 800, None),
        ] {
            write(
                root,
                &[
                    ("memory.pressure", &stalls(500)),
                    ("memory.failcnt", "7\n"),
                    ("memory.limit_in_bytes", bytes),
                ],
            );
            let wait = MemoryWait { groups: CountedGroup::old(root, &pressure).into_iter().collect() };
            write(root, &[("memory.pressure", &stalls(now_us)), ("memory.failcnt", failcnt)]);
            assert_eq!(wait.held().map(|held| held.ns), held, "{bytes} {failcnt} {now_us}");
        }
    }

    #[test]
    fn the_lower_limit_of_a_group_of_version_2_is_the_one() {
        let folder = tempfile::tempdir().expect("room");
        let root = folder.path();
        for (high, max, shown) in [
            ("max\n", "max\n", None),
            ("max\n", "67108864\n", Some("64.0 MiB, memory.max")),
            ("1048576\n", "67108864\n", Some("1.0 MiB, memory.high")),
        ] {
            write(root, &[("memory.pressure", &stalls(5)), ("memory.high", high), ("memory.max", max)]);
            let wait = MemoryWait { groups: CountedGroup::new(root).into_iter().collect() };
            write(root, &[("memory.pressure", &stalls(6))]);
            let words = wait.held().map(|held| held.limit.to_string());
            let expected = shown.map(|words| words.replace(", ", &format!(", {}/", root.display())));
            assert_eq!(words, expected);
        }
    }
}
