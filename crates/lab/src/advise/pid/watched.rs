//! Numbers that were collected of a process, and nothing that is derived from them.
//!
//! Must not know: where the numbers came from, what they mean.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::wait::Doing;

/// All that was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Watched {
    /// The process that was named.
    pub pid: u32,
    /// Its command.
    pub command: String,
    /// For how long it was watched.
    pub elapsed_ns: u64,
    /// It ended meanwhile.
    pub ended: bool,
    /// It was stopped at the end, by a signal or a debugger.
    #[serde(skip)]
    pub stopped: bool,
    /// Random bytes of the kernel are open to be read.
    #[serde(skip)]
    pub reads_random: bool,
    /// One of its sockets listens for TCP connections.
    #[serde(skip)]
    pub listens: bool,
    /// How often its threads were looked at.
    pub rounds: u32,
    /// It and what it started.
    pub processes: Vec<Process>,
    /// Their threads.
    pub threads: Vec<Thread>,
    /// Files, pipes and devices that they had open.
    pub files: Vec<WatchedFile>,
    /// The devices of these files.
    pub devices: Vec<WatchedDevice>,
    /// Their TCP connections.
    pub connections: Vec<WatchedConnection>,
    /// For how long the quota of their control group kept them from running.
    pub throttled_ns: u64,
    /// For how long threads of their control group waited for memory, at the group's limit.
    pub memory_held_ns: u64,
    /// That limit: `64.0 MiB, /sys/fs/cgroup/a/memory.max`; null where it was not reached.
    pub memory_limit: Option<String>,
    /// What could not be read, and what to do about it.
    pub could_not_read: Vec<String>,
}

/// A process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its command.
    pub command: String,
    /// The limit of its rate that it was given, as it was given: `--bwlimit 10MiB`.
    pub rate_limit: Option<String>,
    /// That limit as a figure, if it is known.
    #[serde(skip)]
    pub limit_bytes_per_second: Option<f64>,
    /// Bytes that its calls read, from anywhere.
    pub called_read_bytes: u64,
    /// Bytes that its calls wrote, to anywhere.
    pub called_write_bytes: u64,
    /// Bytes that devices gave it.
    pub device_read_bytes: u64,
    /// Bytes that it caused devices to get.
    pub device_write_bytes: u64,
    /// How long it waited for block devices, if the kernel counts that (kernel.task_delayacct).
    pub device_delay_ns: Option<u64>,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Thread {
    /// The process that it is part of.
    pub pid: u32,
    /// Its number.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// CPU time in user mode.
    pub user_ns: u64,
    /// CPU time in the kernel.
    pub system_ns: u64,
    /// Time on a CPU.
    pub cpu_ns: u64,
    /// Time in the queue of a CPU.
    pub run_delay_ns: u64,
    /// In how many rounds it did what.
    pub doing: BTreeMap<Doing, u32>,
}

/// Which end a file is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It is read.
    #[default]
    Source,
    /// It is written.
    Sink,
}

/// A file, pipe or device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WatchedFile {
    /// The process that has it open.
    pub pid: u32,
    /// Its name, as the kernel has it.
    pub path: String,
    /// Read or written.
    pub role: Role,
    /// `file`, `device`, `fifo` or `pipe`.
    pub kind: &'static str,
    /// Number of its device, such as `8:1`; none where it lies on no block device.
    pub device: Option<String>,
    /// The process at the other end of a pipe, such as `yes (1234)`; null if none is seen.
    pub other_process: Option<String>,
    /// How far its position moved.
    pub moved_bytes: u64,
    /// Bytes for each second that was watched.
    pub bytes_per_second: f64,
}

/// A block device while the process was watched, whoever used it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WatchedDevice {
    /// Its number.
    pub number: String,
    /// Its name.
    pub name: String,
    /// Files that are read lie on it.
    pub source: bool,
    /// Files that are written lie on it.
    pub sink: bool,
    /// Time with a request in it.
    pub busy_ns: u64,
    /// Reads that ended.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Their time, summed.
    pub read_ns: u64,
    /// Writes that ended.
    pub writes: u64,
    /// Their bytes.
    pub write_bytes: u64,
    /// Their time, summed.
    pub write_ns: u64,
    /// The rule of a control group that bounds reads from it.
    pub read_rule: Option<String>,
    /// The rule of a control group that bounds writes to it.
    pub write_rule: Option<String>,
}

/// A TCP connection. Counters are those of the time that was watched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WatchedConnection {
    /// Both ends, this one first.
    pub connection: String,
    /// Samples of it.
    pub samples: u32,
    /// Bytes that the other side acknowledged.
    pub sent_bytes: u64,
    /// Bytes that were received.
    pub received_bytes: u64,
    /// There was something to send or to be acknowledged.
    pub busy_ns: u64,
    /// Time of it in which the other side's window was full.
    pub receive_window_limited_ns: u64,
    /// Time of it in which the send buffer was too small.
    pub send_buffer_limited_ns: u64,
    /// Segments that were sent.
    pub sent_segments: u64,
    /// Segments that were sent again.
    pub retransmitted_segments: u64,
    /// Round trip, the last one.
    pub rtt_us: u32,
    /// The shortest of late: without the queues on the way.
    pub min_rtt_us: u32,
    /// Its congestion control holds its rate through losses, as BBR does.
    pub ignores_loss: bool,
    /// The congestion window, the last one.
    pub congestion_window_segments: u32,
    /// Room that this side offered, the last.
    pub window_bytes: u32,
    /// Samples with something that was not sent yet.
    pub unsent_samples: u32,
    /// Samples in which the other side offered no room.
    pub no_window_samples: u32,
    /// Samples with something that came and was not read yet.
    pub unread_samples: u32,
}
