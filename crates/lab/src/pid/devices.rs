//! Block devices while a process is watched: their counters, and the rules of control groups that bound them.
//!
//! Must not know: which files lie on them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::parse::{self, DiskCounters};
use super::watched::Device;

/// First and last counters of each device.
#[derive(Debug, Default)]
pub struct Devices {
    seen: BTreeMap<String, (DiskCounters, DiskCounters)>,
}

impl Devices {
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
    pub fn device(&self, number: &str, groups: &Groups) -> Device {
        let (first, last) = self.seen.get(number).cloned().unwrap_or_default();
        let read = |index: usize| last.reads[index].saturating_sub(first.reads[index]);
        let written = |index: usize| last.writes[index].saturating_sub(first.writes[index]);
        let whole = whole_device(number);
        Device {
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
    let folder = PathBuf::from(format!("/sys/dev/block/{number}"));
    let parent = folder.canonicalize().ok().and_then(|it| it.parent().map(|it| it.join("dev")));
    match (folder.join("partition").exists(), parent.and_then(|it| fs::read_to_string(it).ok())) {
        (true, Some(parent)) => parent.trim().to_string(),
        _ => number.to_string(),
    }
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
        let mut groups = Groups::default();
        for (controllers, path) in parse::cgroups(&text) {
            let has = |name: &str| controllers.split(',').any(|it| it == name);
            if controllers.is_empty() {
                groups.unified = up(&["/sys/fs/cgroup/unified", "/sys/fs/cgroup"], path);
            }
            if has("blkio") {
                groups.disk = up(&["/sys/fs/cgroup/blkio"], path);
            }
            if has("cpu") {
                groups.cpu = up(&["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"], path);
            }
        }
        groups
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

/// The group's folder and those above it, below the first root that is there.
fn up(roots: &[&str], path: &str) -> Vec<PathBuf> {
    let Some(root) = roots.iter().map(Path::new).find(|root| root.is_dir()) else { return Vec::new() };
    let folder = root.join(path.trim_start_matches('/'));
    folder.ancestors().take_while(|it| it.starts_with(root)).map(Path::to_path_buf).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_above_count_too() {
        let folder = tempfile::tempdir().expect("room");
        let root = folder.path().to_str().expect("text");
        assert_eq!(up(&["/nowhere/at/all", root], "/a/b").len(), 3);
        assert_eq!(up(&["/nowhere/at/all"], "/a"), Vec::<PathBuf>::new());
        fs::create_dir_all(folder.path().join("a/b")).expect("room");
        let old = folder.path().join("blkio.throttle.read_bps_device");
        fs::write(old, "8:0 1048576\n").expect("room");
        fs::write(folder.path().join("a/cpu.stat"), "nr_throttled 1\nthrottled_usec 5\n").expect("room");
        fs::write(folder.path().join("a/io.max"), "8:0 rbps=max wbps=7 riops=max wiops=max\n").expect("room");
        let all = up(&[root], "/a/b");
        let groups = Groups { disk: all.clone(), cpu: all.clone(), unified: all };
        assert!(groups.rule("8:0", "read").is_some_and(|it| it.starts_with("8:0 1048576 in ")));
        assert!(groups.rule("8:0", "write").is_some_and(|it| it.starts_with("8:0 wbps=7 in ")));
        assert_eq!((groups.rule("8:16", "read"), groups.throttled_ns()), (None, 5000));
    }
}
