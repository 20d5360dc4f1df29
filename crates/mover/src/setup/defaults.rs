//! Defaults of a run: sizes, depths and lanes, each measured, by what is read.
//!
//! Must not know: what the user asked, how a job is performed.

use datapump_engine::os::linux::cpus;

use crate::setup::options::Options;

/// 1 MiB: bench/request-size-local-file.jsonl, 4 GiB cold, CPU of the whole machine in s/GiB: 512 KiB 0.076, 1 MiB
/// 0.047 and 1.06 times as fast, on slots of huge pages.
const REQUEST_BYTES: u32 = 1 << 20;
/// Two at each end. One request of 2 MiB was as cheap and 1.11 times as fast on that serial disk, but leaves a device
/// that serves several at once idle between requests.
const DEPTH: u32 = 2;
/// Blocks that are asked of another host at a time: one on its way here, one that is sent, two that are read there.
const ASKING_DEPTH: u32 = 4;
/// Of trees, whose files are small: a lane that waits is woken once for what has come, and with more asked for it waits
/// less often. 50,000 files into ext4 over loopback, CPU of both ends and time: 8: 3.5 s, 2.22 s; 16: 3.3 s, 1.98 s;
/// 32: as 16.
const ASKING_DEPTH_TREES: u32 = 16;
/// To so many the depth is raised where the path to another host is long: 128 MiB a connection fill 180 ms at 6 Gbit/s.
/// A slot takes memory when it is first filled.
const ASKING_DEPTH_MAX: u32 = 128;
/// Blocks that are read ahead of the one that is sent.
const GIVING_DEPTH: u32 = 4;
/// Parts of a file on the web that come at a time: one connection moves what one window of TCP and one core of the
/// server allow.
const WEB_LANES: u32 = 4;
/// Connections to another host, and lanes at both ends. Two: 1.07 times as fast as one, four were slower.
const CONNECTIONS: u32 = 2;

/// To so many connections a copy of files grows over a long path while they move more: with Linux's own buffers (4 MiB
/// to send) one moves 0.16 Gbit/s at 180 ms, and half of that with one loss in 1e5.
pub const LONG_PATH_CONNECTIONS: u32 = 16;

/// What a run reads. The later ones of these decide where there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reads {
    /// Files, pipes and null of this host.
    Files,
    /// Files of a server on the web.
    Web,
    /// Folders of this host.
    Trees,
    /// Files of another host.
    RemoteFiles,
    /// Folders of another host.
    RemoteTrees,
    /// What another host requests.
    ForAnother,
}

/// The numbers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// Size of a request.
    pub request_bytes: u32,
    /// Requests at the source.
    pub source_depth: u32,
    /// To so many they may grow, where the path to the source is long.
    pub source_depth_max: u32,
    /// Requests at the sink.
    pub sink_depth: u32,
    /// Lanes, and connections between two hosts.
    pub lanes: u32,
}

impl Options {
    /// The defaults for sources of this kind: lanes, depths and the size of requests.
    pub fn defaults(reads: Reads) -> Defaults {
        let (source_depth, source_depth_max, sink_depth) = (DEPTH, DEPTH, DEPTH);
        let files =
            Defaults { request_bytes: REQUEST_BYTES, source_depth, source_depth_max, sink_depth, lanes: 1 };
        let remote = Defaults { source_depth_max: ASKING_DEPTH_MAX, lanes: CONNECTIONS, ..files };
        match reads {
            Reads::Files => files,
            Reads::Web => Defaults { lanes: WEB_LANES, ..files },
            Reads::Trees => Defaults { lanes: tree_lanes(), ..files },
            Reads::RemoteFiles => Defaults { source_depth: ASKING_DEPTH, ..remote },
            Reads::RemoteTrees => Defaults { source_depth: ASKING_DEPTH_TREES, ..remote },
            Reads::ForAnother => Defaults {
                source_depth: GIVING_DEPTH,
                source_depth_max: GIVING_DEPTH,
                sink_depth: 1,
                ..remote
            },
        }
    }
}

/// More than CPUs, because small files wait for each other's metadata.
fn tree_lanes() -> u32 {
    (cpus() * 2).clamp(2, 8)
}
