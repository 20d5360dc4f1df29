//! The limit of a move: its cause, its place, and the time behind it.
//!
//! Must not know: how that is found out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Why;

crate::closed_list! {
    /// The cause that bounds a move: reading, writing, the path between two hosts, computing, names and attributes,
    /// waiting for stable storage, no part notably more than another, or nothing that the evidence tells.
    LimitedBy {
        Source "source"
        Sink "sink"
        Network "network"
        Cpu "cpu"
        Metadata "metadata"
        Sync "sync"
        Balanced "balanced"
        Unknown "unknown"
    }
}

unknown_is!(LimitedBy::Unknown);

/// Where the limit is, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitedDetail {
    /// `local`, `sender` or `receiver`.
    pub host: String,
    /// The stage, such as `write`.
    pub stage: String,
    /// Why: `device`, `shared device`, `copying`, `hashing`, `rate limit`, …
    pub why: Why,
    /// The time behind it, summed over the lanes of that host.
    #[serde(default)]
    pub waited_ns: u64,
    /// The time that these lanes were there.
    #[serde(default)]
    pub of_ns: u64,
    /// The setting behind it, where that is known: `10.0 MiB/s, /sys/fs/cgroup/a/io.max` of a control group,
    /// `net.ipv4.tcp_window_scaling=0` of a window, `--bwlimit 10MiB` of the process that `explain --pid` watches.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub setting: String,
}

impl LimitedDetail {
    /// On this host.
    pub fn here(stage: &str, why: Why, waited_ns: u64, of_ns: u64) -> LimitedDetail {
        let host = "local".into();
        LimitedDetail { host, stage: stage.into(), why, waited_ns, of_ns, setting: String::new() }
    }

    /// A limit of a control group, as it is set, is behind a wait for a disk.
    #[must_use]
    pub fn with_limit(self, why: Why, setting: &str) -> LimitedDetail {
        LimitedDetail { why, setting: setting.into(), ..self }
    }

    /// What one of two hosts did for the time behind the limit.
    pub fn words(&self) -> Option<String> {
        let whose = match self.host.as_str() {
            host @ ("sender" | "receiver") if self.of_ns > 0 => format!("the {host}"),
            _ => return None,
        };
        Some(match (self.stage.as_str(), self.why) {
            (_, why) if why.is_rate_limit() => format!("the {why} held it back for"),
            (_, why) if why.is_group_limit() => {
                format!("the limit of {whose}'s control group held it back for")
            }
            (_, Why::Pipe) => format!("the program at the other end of {whose}'s pipe was waited for"),
            (_, Why::ReceiveWindow) => "the receiver's window was full for".into(),
            (_, Why::SendBuffer) => "the send buffer was full for".into(),
            (_, Why::CongestionWindow) => "the path took no more for".into(),
            (_, Why::Loss) => "the path lost segments, and was waited for".into(),
            (_, Why::Outage) => "the other host was out of reach for".into(),
            (_, Why::RoundTrips) => {
                "too little was under way for this round trip, which was waited for".into()
            }
            ("read" | "write", Why::SharedDevice) => {
                format!("{whose}'s disk, which serves both ends, was waited for")
            }
            (_, Why::PageCache) => format!("{whose} read its page cache for"),
            ("read" | "write", _) => format!("{whose}'s disk was waited for"),
            ("read back", _) => format!("{whose} read its disk back for"),
            ("metadata", _) => format!("{whose} dealt with names and attributes for"),
            ("deleting", _) => format!("{whose} removed what the source does not have for"),
            ("listing", _) => format!("{whose} read names of folders for"),
            ("sync", _) => format!("{whose} waited for stable storage for"),
            ("compute", Why::NotScheduled) => format!("{whose} waited for a CPU for"),
            ("compute", why) => format!("{whose}'s CPU was busy ({why}) for"),
            _ => return None,
        })
    }
}
