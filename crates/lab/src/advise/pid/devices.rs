//! Block devices while a process is watched: their counters, and the rules of control groups that bound them.
//!
//! Must not know: which files lie on them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::parse::{self, DiskCounters};
use super::watched::WatchedDevice;
use crate::probe::limits::{GROUPS, group_folders};
use crate::session::quiet::whole_disk;

/// First and last counters of each device.
#[derive(Debug, Default)]
pub struct DeviceCounters {
    seen: BTreeMap<String, (DiskCounters, DiskCounters)>,
}

impl DeviceCounters {
    /// Takes in the counters of all devices; cheap, and which will matter is not known before.
    pub fn note(&mut self) -> std::io::Result<()> {
        let text = fs::read_to_string("/proc/diskstats")?;
        for (number, now) in text.lines().filter_map(parse::disk) {
            self.seen
                .entry(number)
                .and_modify(|(_, last)| last.clone_from(&now))
                .or_insert((now.clone(), now));
        }
        Ok(())
    }

    /// What a device did meanwhile, and what bounds it for a process.
    pub fn device(&self, number: &str, groups: &Groups) -> WatchedDevice {
        let (first, last) = self.seen.get(number).cloned().unwrap_or_default();
        let read = |index: usize| last.reads[index].saturating_sub(first.reads[index]);
        let written = |index: usize| last.writes[index].saturating_sub(first.writes[index]);
        let whole = whole_device(number);
        WatchedDevice {
            number: number.to_string(),
            name: last.name.clone(),
            source: false,
            sink: false,
            busy_ns: last.busy_ns.saturating_sub(first.busy_ns),
            reads: read(0),
            read_bytes: read(1),
            read_ns: read(2),
            writes: written(0),
            write_bytes: written(1),
            write_ns: written(2),
            read_rule: groups.rule(&whole, "read"),
            write_rule: groups.rule(&whole, "write"),
        }
    }
}

/// Rules are made for whole devices: the one that a partition is of.
fn whole_device(number: &str) -> String {
    let device = fs::canonicalize(format!("/sys/dev/block/{number}"));
    let whole = device.and_then(|device| fs::read_to_string(whole_disk(device).join("dev")));
    whole.map_or(number.to_string(), |whole| whole.trim().to_string())
}

/// The control groups of a process, of either version, and those above them.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    disk: Vec<PathBuf>,
    cpu: Vec<PathBuf>,
    unified: Vec<PathBuf>,
}

impl Groups {
    /// Those that this process is in.
    pub fn of(pid: u32) -> Groups {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        Groups::below(Path::new(GROUPS), &text)
    }

    fn below(root: &Path, text: &str) -> Groups {
        let of = |controller| group_folders(root, text, controller);
        Groups { disk: of("blkio"), cpu: of("cpu"), unified: of("") }
    }

    /// The rule that bounds reads or writes of a device, with the file that it stands in.
    fn rule(&self, number: &str, way: &str) -> Option<String> {
        let letter = &way[..1];
        let keys = [format!("{letter}bps"), format!("{letter}iops")];
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let old = ["bps", "iops"].map(|what| format!("blkio.throttle.{way}_{what}_device"));
        let files = self.disk.iter().flat_map(|folder| old.iter().map(|name| (folder.join(name), &[][..])));
        let files = files.chain(self.unified.iter().map(|folder| (folder.join("io.max"), &keys[..])));
        files.into_iter().find_map(|(file, keys)| {
            let rule = parse::rule(&fs::read_to_string(&file).ok()?, number, keys)?;
            Some(format!("{number} {rule} in {}", file.display()))
        })
    }

    /// How long a quota has kept their processes from running, since they were made.
    pub fn throttled_ns(&self) -> u64 {
        let of = |folder: &PathBuf| -> Option<u64> {
            let text = fs::read_to_string(folder.join("cpu.stat")).ok()?;
            let us = parse::field(&text, "throttled_usec").map(|us| us * 1000);
            us.or_else(|| parse::field(&text, "throttled_time"))
        };
        self.cpu.iter().chain(&self.unified).filter_map(of).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_above_count_too() {
        let folder = tempfile::tempdir().expect("room");
        let text = "2:cpu,cpuacct:/a\n1:blkio:/a/b\n0::/a/b\n";
        fs::create_dir_all(folder.path().join("a/b")).expect("room");
        fs::create_dir_all(folder.path().join("blkio/a/b")).expect("room");
        let old = folder.path().join("blkio/blkio.throttle.read_bps_device");
        fs::write(old, "8:0 1048576\n").expect("room");
        fs::write(folder.path().join("a/cpu.stat"), "nr_throttled 1\nthrottled_usec 5\n").expect("room");
        fs::write(folder.path().join("a/io.max"), "8:0 rbps=max wbps=7 riops=max wiops=max\n").expect("room");
        let groups = Groups::below(folder.path(), text);
        assert_eq!((groups.disk.len(), groups.cpu.len(), groups.unified.len()), (3, 0, 3));
        assert!(groups.rule("8:0", "read").is_some_and(|it| it.starts_with("8:0 1048576 in ")));
        assert!(groups.rule("8:0", "write").is_some_and(|it| it.starts_with("8:0 wbps=7 in ")));
        assert_eq!((groups.rule("8:16", "read"), groups.throttled_ns()), (None, 5000));
    }
}
