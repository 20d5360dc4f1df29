//! Limits that keep this program from all of the machine's processors, and what these did besides running programs.
//!
//! Must not know: what the answers are used for.

use std::fs;
use std::path::Path;

use datapump_engine::os::linux::TICK_NS;
use datapump_files::devices::control_groups::{GROUPS, group_folders, group_in};

/// The path of this process's control group for a controller, of version 1; of version 2 for "". `None` without one.
pub fn own_group(controller: &str) -> Option<String> {
    group_in(&fs::read_to_string("/proc/self/cgroup").ok()?, controller)
}

/// Whether the least urgent threads of this process yield to those of its own session or group alone, and not to
/// threads of the kernel: with `sched_autogroup_enabled` (sched(7)), or in a control group for the CPU.
pub fn yields_to_its_group_alone() -> bool {
    match own_group("cpu").or_else(|| own_group("")).as_deref() {
        None | Some("/") => fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled")
            .is_ok_and(|text| text.trim() == "1"),
        Some(_) => true,
    }
}

/// How many CPUs' worth of time this process's control group and those above it allow: the least of them.
pub fn quota_cpus() -> Option<f64> {
    quota_below(Path::new(GROUPS), &fs::read_to_string("/proc/self/cgroup").ok()?)
}

fn quota_below(root: &Path, text: &str) -> Option<f64> {
    let of = |path: &Path, name: &str| fs::read_to_string(path.join(name)).ok();
    let one = group_folders(root, text, "cpu")
        .into_iter()
        .filter_map(|path| quota_v1(&of(&path, "cpu.cfs_quota_us")?, &of(&path, "cpu.cfs_period_us")?));
    let two = group_folders(root, text, "").into_iter().filter_map(|path| quota_v2(&of(&path, "cpu.max")?));
    one.chain(two).reduce(f64::min)
}

/// -1 is no limit.
fn quota_v1(quota_us: &str, period_us: &str) -> Option<f64> {
    let quota: f64 = quota_us.trim().parse().ok()?;
    let period: f64 = period_us.trim().parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// `QUOTA PERIOD` in µs; the quota may be `max`.
fn quota_v2(cpu_max: &str) -> Option<f64> {
    let (quota, period) = cpu_max.trim().split_once(' ')?;
    quota_v1(quota, period)
}

/// How many CPUs the machine runs; 0 where that cannot be read.
pub fn online_cpus() -> usize {
    fs::read_to_string("/sys/devices/system/cpu/online").map_or(0, |text| listed(&text))
}

/// As in `0-3,8`.
fn listed(text: &str) -> usize {
    let count = |part: &str| -> Option<usize> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        (last + 1).checked_sub(first)
    };
    text.trim().split(',').filter_map(count).sum()
}

/// Time of some CPUs since the machine started: in interrupts, and what a hypervisor took.
pub fn interrupts_and_stolen_ns(cpus: &[usize]) -> (u64, u64) {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let of = |cpu: &usize| interrupts_and_stolen(&text, &format!("cpu{cpu} ")).unwrap_or_default();
    cpus.iter().map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Time of all CPUs that a hypervisor took since the machine started.
pub fn stolen_ns() -> Option<u64> {
    interrupts_and_stolen(&fs::read_to_string("/proc/stat").ok()?, "cpu ").map(|(_, stolen)| stolen)
}

/// irq, softirq and steal are the sixth to eighth field of a line (proc_stat(5)).
fn interrupts_and_stolen(stat: &str, name: &str) -> Option<(u64, u64)> {
    let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    Some(((ticks.get(5)? + ticks.get(6)?) * TICK_NS, ticks.get(7)? * TICK_NS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_read_from_both_versions_of_control_groups() {
        for (text, cpus) in
            [("max 100000\n", None), ("50000 100000\n", Some(0.5)), ("300000 100000", Some(3.0)), ("", None)]
        {
            assert_eq!(quota_v2(text), cpus, "{text}");
        }
        for (quota, period, cpus) in [
            ("-1\n", "100000\n", None),
            ("150000\n", "100000\n", Some(1.5)),
            ("1", "0", None),
            ("", "", None),
        ] {
            assert_eq!(quota_v1(quota, period), cpus, "{quota} {period}");
        }
    }

    #[test]
    fn a_quota_is_found_wherever_its_version_is_mounted() {
        let text = "2:cpu,cpuacct:/a/b\n0::/a/b\n";
        for (file, content, cpus) in [
            ("unified/a/cpu.max", "50000 100000\n", Some(0.5)),
            ("a/b/cpu.max", "200000 100000\n", Some(2.0)),
            ("cpu/a/cpu.cfs_quota_us", "150000\n", Some(1.5)),
            ("cpu,cpuacct/cpu.cfs_quota_us", "30000\n", Some(0.3)),
            ("unified/other/cpu.max", "50000 100000\n", None),
        ] {
            let root = tempfile::tempdir().expect("room");
            let path = root.path().join(file);
            let folder = path.parent().expect("a folder");
            fs::create_dir_all(folder).expect("room");
            fs::write(&path, content).expect("room");
            fs::write(folder.join("cpu.cfs_period_us"), "100000\n").expect("room");
            assert_eq!(quota_below(root.path(), text), cpus, "{file}");
        }
    }

    #[test]
    fn processors_are_counted_from_a_list() {
        for (text, count) in [("0\n", 1), ("0-1\n", 2), ("0-3,8,10-11\n", 7), ("", 0)] {
            assert_eq!(listed(text), count, "{text}");
        }
        assert!(online_cpus() > 0);
    }

    #[test]
    fn interrupts_and_what_was_stolen_are_read_by_processor() {
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n\
                    cpu10 1 1 1 1 1 2 2 3\n";
        for (cpu, ticks) in [
            ("cpu ", Some((18, 9))),
            ("cpu0 ", Some((13, 8))),
            ("cpu1 ", Some((0, 0))),
            ("cpu10 ", Some((4, 3))),
            ("cpu2 ", None),
        ] {
            let ns = ticks.map(|(interrupts, stolen)| (interrupts * TICK_NS, stolen * TICK_NS));
            assert_eq!(interrupts_and_stolen(stat, cpu), ns, "{cpu}");
        }
    }
}
