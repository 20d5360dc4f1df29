//! Facts about the host: read once for a study, except its load.
//!
//! What cannot be read is `unknown`, never guessed. Must not know: studies, rows.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

pub use datapump_engine::os::linux::cpus;
use datapump_files::disk::MountEntry;

/// What the rows of one machine have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFacts {
    /// Its name.
    pub name: String,
    /// Model of its processors.
    pub cpu_model: String,
    /// Clock of its processors: the highest that is told, else that of now.
    pub cpu_mhz: Option<f64>,
    /// Number of processors that this process may use.
    pub cpus: u32,
    /// What the kernel reads the time from.
    pub clock_source: String,
    /// Version of the kernel.
    pub kernel: String,
    /// Kind of file system of the folder.
    pub file_system: String,
    /// The installation, as a hash.
    pub machine_id: Option<String>,
}

impl HostFacts {
    /// This host, with the file system of `folder`.
    pub fn read(folder: &Path) -> HostFacts {
        let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        HostFacts {
            name: name(),
            cpu_model: cpu_model(&fs::read_to_string("/proc/cpuinfo").unwrap_or_default()),
            cpu_mhz: cpu_mhz(),
            cpus: cpus(),
            clock_source: line_of(clock),
            kernel: line_of("/proc/sys/kernel/osrelease"),
            file_system: file_system_of(folder),
            machine_id: super::identity::machine_id(),
        }
    }
}

/// The name of this host.
pub fn name() -> String {
    line_of("/proc/sys/kernel/hostname")
}

/// The load average of the last minute; 0 where it cannot be read.
pub fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

const UNKNOWN: &str = "unknown";

fn line_of(path: &str) -> String {
    fs::read_to_string(path).map_or(UNKNOWN.into(), |text| text.trim().into())
}

fn cpu_model(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':')).map_or(UNKNOWN.into(), |(_, model)| model.trim().into())
}

/// A virtual machine has no cpufreq, and a clock that stands still.
fn cpu_mhz() -> Option<f64> {
    let khz = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").ok();
    let highest = khz.and_then(|text| text.trim().parse::<f64>().ok()).map(|khz| khz / 1e3);
    highest.or_else(|| clock_of_now(&fs::read_to_string("/proc/cpuinfo").ok()?))
}

fn clock_of_now(cpuinfo: &str) -> Option<f64> {
    let line = cpuinfo.lines().find(|line| line.starts_with("cpu MHz"))?;
    line.split_once(':')?.1.trim().parse().ok()
}

fn file_system_of(folder: &Path) -> String {
    let Ok(meta) = fs::metadata(folder) else { return UNKNOWN.into() };
    let device = format!("{}:{}", rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let mut mounts = MountEntry::list("self").into_iter();
    mounts.find(|mount| mount.device == device).map_or(UNKNOWN.into(), |mount| mount.file_system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_in_their_files() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz\n"), "Some CPU @ 2.00GHz");
        assert_eq!(cpu_model(""), "unknown");
        assert_eq!(clock_of_now("cpu MHz\t\t: 2445.406\n"), Some(2445.406));
        assert_eq!(clock_of_now(""), None);
    }

    #[test]
    fn this_host_has_processors_and_a_kernel() {
        let host = HostFacts::read(Path::new("."));
        assert!(host.cpus > 0 && !host.kernel.is_empty() && !host.file_system.is_empty(), "{host:?}");
        assert!(load() >= 0.0);
    }
}
