//! How long a control group's limit for memory holds a process back: page cache that it fills is charged to its group,
//! and at the limit each read and write waits until pages were reclaimed, of dirty ones until they are on the disk.
//!
//! Must not know: what is moved, what the time is compared with.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use datapump_core::problem::shown_path;
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
        write!(out, "{}, {}", bytes_words(self.bytes), shown_path(&self.file))
    }
}

/// A group that has a limit, with its counts at the start.
#[derive(Clone, Debug)]
struct CountedGroup {
    limit: MemoryLimit,
    /// Pressure stall information (Documentation/accounting/psi.rst). That of a group has its descendants' in it.
    stalls: PathBuf,
    stalled_us: u64,
    /// How often the limit was reached, which the stalls of a group do not say.
    reached: ReachedCount,
}

/// `memory.failcnt` of version 1, a line of `memory.events.local` of version 2.
#[derive(Clone, Debug)]
struct ReachedCount {
    file: PathBuf,
    key: &'static str,
    before: u64,
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
        let old = self.memory.iter().filter_map(|folder| CountedGroup::from_v1(folder, Path::new(MACHINE)));
        let new = self.unified.iter().filter_map(|folder| CountedGroup::from_v2(folder));
        MemoryWait { groups: old.chain(new).collect() }
    }
}

impl MemoryWait {
    /// The limit that was reached since, of the innermost group that has one, and the time of the stalls.
    pub fn held(&self) -> Option<MemoryHeld> {
        let held = |group: &CountedGroup| MemoryHeld { limit: group.limit.clone(), ns: group.stalled_ns() };
        self.groups.iter().filter(|group| group.reached.has_risen()).map(held).find(|held| held.ns > 0)
    }
}

impl CountedGroup {
    fn from_v1(folder: &Path, stalls: &Path) -> Option<CountedGroup> {
        let limit = MemoryLimit::set_in(folder.join("memory.limit_in_bytes"))?;
        CountedGroup::begin(limit, stalls.into(), ReachedCount::begin(folder.join("memory.failcnt"), "")?)
    }

    fn from_v2(folder: &Path) -> Option<CountedGroup> {
        // At `high` the kernel slows down whatever allocates; at `max` it waits.
        let limits =
            ["high", "max"].map(|key| (MemoryLimit::set_in(folder.join(format!("memory.{key}"))), key));
        let set = limits.into_iter().filter_map(|(limit, key)| Some((limit?, key)));
        let (limit, key) = set.min_by_key(|(limit, _)| limit.bytes)?;
        let reached = ReachedCount::begin(folder.join("memory.events.local"), key)?;
        CountedGroup::begin(limit, folder.join("memory.pressure"), reached)
    }

    fn begin(limit: MemoryLimit, stalls: PathBuf, reached: ReachedCount) -> Option<CountedGroup> {
        Some(CountedGroup { limit, stalled_us: stalled_us(&stalls)?, stalls, reached })
    }

    fn stalled_ns(&self) -> u64 {
        stalled_us(&self.stalls).unwrap_or(0).saturating_sub(self.stalled_us) * 1000
    }
}

impl ReachedCount {
    fn begin(file: PathBuf, key: &'static str) -> Option<ReachedCount> {
        let count = ReachedCount { file, key, before: 0 };
        Some(ReachedCount { before: count.now()?, ..count })
    }

    fn now(&self) -> Option<u64> {
        let text = fs::read_to_string(&self.file).ok()?;
        text.lines().find_map(|line| line.strip_prefix(self.key)?.trim().parse().ok())
    }

    fn has_risen(&self) -> bool {
        self.now().is_some_and(|now| now > self.before)
    }
}

impl MemoryLimit {
    fn set_in(file: PathBuf) -> Option<MemoryLimit> {
        Some(MemoryLimit { bytes: bytes_in(&file)?, file })
    }
}

/// A limit that is set: version 2 has `max` else, version 1 a number above any memory.
pub(super) fn bytes_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok().filter(|bytes: &u64| *bytes < 1 << 62)
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
            let wait = MemoryWait { groups: CountedGroup::from_v1(root, &pressure).into_iter().collect() };
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
            write(root, &[("memory.events.local", "low 0\nhigh 4\nmax 7\noom 0\n")]);
            let wait = MemoryWait { groups: CountedGroup::from_v2(root).into_iter().collect() };
            write(
                root,
                &[("memory.pressure", &stalls(6)), ("memory.events.local", "low 0\nhigh 5\nmax 8\n")],
            );
            let words = wait.held().map(|held| held.limit.to_string());
            let expected = shown.map(|words| words.replace(", ", &format!(", {}/", root.display())));
            assert_eq!(words, expected);
        }
    }

    /// The name is given by anybody who may make groups.
    #[test]
    fn the_name_of_a_group_moves_no_cursor() {
        let limit = MemoryLimit { bytes: 4096, file: "/sys/fs/cgroup/a\u{1b}[2J/memory.max".into() };
        assert_eq!(limit.to_string(), "4.0 KiB, /sys/fs/cgroup/a\\u{1b}[2J/memory.max");
    }

    /// The outer group's stalls have the inner one's in them; a group that stalled below its limit is short of the machine's
    /// memory.
    #[test]
    fn the_innermost_group_that_reached_its_limit_is_named() {
        let folder = tempfile::tempdir().expect("room");
        let (outer, inner) = (folder.path().join("a"), folder.path().join("a/b"));
        fs::create_dir_all(&inner).expect("room");
        for (inner_max, outer_max, named) in [(8, 9, Some("b")), (7, 9, Some("a")), (7, 7, None)] {
            for (group, bytes) in [(&inner, "67108864\n"), (&outer, "8589934592\n")] {
                write(group, &[("memory.max", bytes), ("memory.events.local", "max 7\n")]);
                write(group, &[("memory.pressure", &stalls(5))]);
            }
            let groups =
                ControlGroups { unified: vec![inner.clone(), outer.clone()], ..ControlGroups::default() };
            let wait = groups.begin_memory_wait();
            for (group, max, us) in [(&inner, inner_max, 300), (&outer, outer_max, 400)] {
                write(
                    group,
                    &[("memory.events.local", &format!("max {max}\n")), ("memory.pressure", &stalls(us))],
                );
            }
            let file = wait.held().map(|held| held.limit.file);
            let name = file.as_deref().and_then(Path::parent).and_then(Path::file_name);
            assert_eq!(name.and_then(|name| name.to_str()), named, "{inner_max} {outer_max}");
        }
    }
}
