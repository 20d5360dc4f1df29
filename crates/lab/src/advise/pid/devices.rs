//! Block devices while a process is watched: their counters, and the limits of control groups for them.
//!
//! Must not know: which files lie on them.

use std::collections::BTreeMap;
use std::fs;

use datapump_files::devices::control_groups::{ControlGroups, DiskAccess};

use super::parse::{self, DiskCounters};
use super::watched::WatchedDevice;

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
    pub fn device(&self, number: &str, groups: &ControlGroups) -> WatchedDevice {
        let (first, last) = self.seen.get(number).cloned().unwrap_or_default();
        let read = |index: usize| last.reads[index].saturating_sub(first.reads[index]);
        let written = |index: usize| last.writes[index].saturating_sub(first.writes[index]);
        let limit = |access| {
            let limits = groups.disk_limits(number, access);
            let words: Vec<String> = limits.iter().map(ToString::to_string).collect();
            (!words.is_empty()).then(|| words.join(" and "))
        };
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
            read_rule: limit(DiskAccess::Read),
            write_rule: limit(DiskAccess::Write),
        }
    }
}
