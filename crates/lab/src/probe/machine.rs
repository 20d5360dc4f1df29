//! CPU time and wake-ups of the whole machine, kernel threads included, and CPU time of this program's control group.
//!
//! Must not know: what it was used for.

use std::fs;
use std::path::{Path, PathBuf};

use datapump_engine::os::linux::TICK_NS;
use datapump_files::devices::control_groups::GROUPS;

use super::limits::own_group;

/// Where the time is read. The first that is there is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineMeter {
    /// The root of the control groups, version 1: nanoseconds.
    Cpuacct,
    /// The root of the control groups, version 2: microseconds.
    CpuStat,
    /// Ticks of 10 ms.
    ProcStat,
}

impl MachineMeter {
    /// The best meter of this machine.
    pub fn find() -> Option<MachineMeter> {
        [MachineMeter::Cpuacct, MachineMeter::CpuStat, MachineMeter::ProcStat]
            .into_iter()
            .find(|meter| meter.read_ns().is_some())
    }

    /// The word in a row.
    pub fn name(self) -> &'static str {
        match self {
            MachineMeter::Cpuacct => "cpuacct",
            MachineMeter::CpuStat => "cpu.stat",
            MachineMeter::ProcStat => "/proc/stat",
        }
    }

    /// CPU time since the machine started, in nanoseconds.
    pub fn read_ns(self) -> Option<u64> {
        match self {
            MachineMeter::Cpuacct => {
                let paths =
                    ["/sys/fs/cgroup/cpuacct/cpuacct.usage", "/sys/fs/cgroup/cpu,cpuacct/cpuacct.usage"];
                paths.iter().find_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
            }
            MachineMeter::CpuStat if is_group(Path::new(GROUPS)) => None,
            MachineMeter::CpuStat => usage_of(&fs::read_to_string("/sys/fs/cgroup/cpu.stat").ok()?),
            MachineMeter::ProcStat => busy_of(&fs::read_to_string("/proc/stat").ok()?),
        }
    }
}

/// Only the root of version 2 has no type: what a container sees as its root has one (cgroup-v2, "Core Interface
/// Files").
fn is_group(path: &Path) -> bool {
    path.join("cgroup.type").exists()
}

/// This program's own control group, if it is not the root, which is the whole machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    name: String,
    file: PathBuf,
}

impl Group {
    /// The group of version 1 if there is one, else that of version 2.
    pub fn find() -> Option<Group> {
        let of = |kind: &str, mount: &str, group: String, file: &str| Group {
            file: Path::new(GROUPS).join(mount).join(group.trim_start_matches('/')).join(file),
            name: format!("{kind}:{group}"),
        };
        let one = own_group("cpuacct").filter(|group| group != "/").into_iter().flat_map(|group| {
            let mounts = ["cpuacct", "cpu,cpuacct"];
            mounts.map(|mount| of("cpuacct", mount, group.clone(), "cpuacct.usage"))
        });
        let two = own_group("").filter(|group| group != "/" || is_group(Path::new(GROUPS)));
        let two = two.map(|group| of("cpu.stat", "", group, "cpu.stat"));
        one.chain(two).find(|group| group.read_ns().is_some())
    }

    /// Which group it is: `cpuacct:PATH` or `cpu.stat:PATH`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// CPU time of the group since it was made, in nanoseconds.
    pub fn read_ns(&self) -> Option<u64> {
        let text = fs::read_to_string(&self.file).ok()?;
        text.trim().parse().ok().or_else(|| usage_of(&text))
    }
}

/// How many threads were woken since the machine started, where the kernel counts that: `kernel.sched_schedstats` is 1.
pub fn wakeups() -> Option<u64> {
    let counts = fs::read_to_string("/proc/sys/kernel/sched_schedstats").is_ok_and(|text| text.trim() == "1");
    wakeups_in(&fs::read_to_string("/proc/schedstat").ok().filter(|_| counts)?)
}

/// The fifth number of each CPU is that of wake-ups (sched-stats.rst, from version 15 on).
fn wakeups_in(schedstat: &str) -> Option<u64> {
    let cpus = schedstat.lines().filter(|line| line.starts_with("cpu"));
    let woken: Vec<u64> =
        cpus.map(|line| line.split_whitespace().nth(5)?.parse().ok()).collect::<Option<_>>()?;
    (!woken.is_empty()).then(|| woken.iter().sum())
}

fn usage_of(cpu_stat: &str) -> Option<u64> {
    let usage = cpu_stat.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    Some(usage.parse::<u64>().ok()? * 1000)
}

/// user, nice, system, irq and softirq; idle and iowait (fields 4 and 5) are nobody's time. Guests are part of user.
fn busy_of(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let busy = [0, 1, 2, 5, 6].iter().map(|&at| ticks.get(at)).sum::<Option<u64>>()?;
    Some(busy * TICK_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_read_without_idle_time() {
        let stat = "cpu  100 10 50 9000 800 5 6 70 3 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n";
        assert_eq!(busy_of(stat), Some((100 + 10 + 50 + 5 + 6) * TICK_NS));
        assert_eq!(busy_of("cpu  1 2\n"), None);
        assert_eq!(usage_of("usage_usec 1234\nuser_usec 1000\n"), Some(1_234_000));
        assert_eq!(usage_of("user_usec 1000\n"), None);
    }

    #[test]
    fn wakeups_are_those_of_all_processors() {
        let two = "version 17\ntimestamp 9\ncpu0 1 0 30 4 50 6 7 8 9\ndomain0 3 0\ncpu1 1 0 3 4 5 6 7 8 9\n";
        for (text, count) in [(two, Some(55)), ("version 17\n", None), ("cpu0 1 0\n", None)] {
            assert_eq!(wakeups_in(text), count, "{text}");
        }
    }

    #[test]
    fn a_group_is_read_in_the_units_of_its_version() {
        let folder = tempfile::tempdir().expect("a folder");
        let group = Group { name: "cpuacct:/a".into(), file: folder.path().join("usage") };
        assert_eq!((group.read_ns(), group.name()), (None, "cpuacct:/a"));
        for (text, ns) in [("1234\n", Some(1234)), ("usage_usec 5\nuser_usec 1\n", Some(5000)), ("", None)] {
            std::fs::write(&group.file, text).expect("room");
            assert_eq!(group.read_ns(), ns, "{text}");
        }
        if let Some(own) = Group::find() {
            assert!(own.read_ns().is_some() && own.name().contains(":/"), "{own:?}");
        }
    }

    #[test]
    fn the_machine_has_a_meter_that_does_not_run_backwards() {
        let meter = MachineMeter::find().expect("/proc/stat at least");
        let before = meter.read_ns().expect("it was found");
        assert!(meter.read_ns().expect("it was found") >= before, "{}", meter.name());
    }
}
