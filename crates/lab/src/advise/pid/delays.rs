//! Bytes that processes read and wrote, how long they waited for block devices, and the rate that they were given.
//!
//! The kernel counts the latter only if it is told to (sysctl kernel.task_delayacct); the time is then a field of
//! /proc/PID/stat. Must not know: what is made of the numbers.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use super::parse;
use super::watched::Process;

/// First and last counters of each process.
#[derive(Debug, Default)]
pub struct Delays {
    seen: BTreeMap<u32, (Process, Process)>,
}

impl Delays {
    /// Takes in the counters of a process.
    pub fn note(&mut self, pid: u32) -> io::Result<()> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let Some(stat) = parse::stat(&stat) else { return Ok(()) };
        let io = fs::read_to_string(format!("/proc/{pid}/io"));
        let counter = |name: &str| io.as_ref().ok().and_then(|text| parse::field(text, name)).unwrap_or(0);
        let counted = fs::read_to_string("/proc/sys/kernel/task_delayacct").is_ok_and(|it| it.trim() == "1");
        // What only its user may read is none.
        let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let rate_limit = parse::rate_limit(&stat.name, &read("cmdline"), &read("environ"));
        let now = Process {
            pid,
            command: datapump::shown(stat.name.as_bytes()),
            limit_bytes_per_second: rate_limit.as_ref().and_then(|limit| limit.bytes_per_second),
            rate_limit: rate_limit.map(|limit| datapump::shown(limit.words.as_bytes())),
            called_read_bytes: counter("rchar"),
            called_write_bytes: counter("wchar"),
            device_read_bytes: counter("read_bytes"),
            device_write_bytes: counter("write_bytes"),
            device_delay_ns: counted.then_some(stat.device_delay_ns),
        };
        self.seen.entry(pid).and_modify(|(_, last)| last.clone_from(&now)).or_insert((now.clone(), now));
        io.map(|_| ())
    }

    /// The list, as differences.
    pub fn list(&self) -> Vec<Process> {
        self.seen.values().map(|(first, last)| difference(first, last)).collect()
    }
}

fn difference(first: &Process, last: &Process) -> Process {
    Process {
        called_read_bytes: last.called_read_bytes.saturating_sub(first.called_read_bytes),
        called_write_bytes: last.called_write_bytes.saturating_sub(first.called_write_bytes),
        device_read_bytes: last.device_read_bytes.saturating_sub(first.device_read_bytes),
        device_write_bytes: last.device_write_bytes.saturating_sub(first.device_write_bytes),
        device_delay_ns: last.device_delay_ns.map(|ns| ns.saturating_sub(first.device_delay_ns.unwrap_or(0))),
        ..last.clone()
    }
}
