//! The table: each limit with the copies that it bounds, what is right to name, and what is right to advise.

use super::scene::CopyShape::{File, Large, Null, Tree};
use super::scene::CopyWay::{Local, Pull, Push, SshPull, SshPush};
use super::scene::{Bench, CopyShape, CopyWay, LimitState, Scene};
use super::{disks, hosts, paths, programs};
use crate::wider_parts::limits::{LimitTruth, with_hosts};

type MakeScene = fn(&Bench, CopyWay, LimitState) -> Option<Scene>;

/// One limit.
struct LimitRow {
    what: &'static str,
    limit: MakeScene,
    copies: &'static [(CopyWay, CopyShape)],
    /// Part, reason and host: one of these. A star is any; READER and WRITER are the hosts that do.
    right: &'static [&'static str],
    /// Words of the advice: it has one of these.
    advice: &'static [&'static str],
}

/// One copy of it.
pub(super) struct LimitCase {
    pub(super) truth: LimitTruth,
    pub(super) limit: MakeScene,
    pub(super) way: CopyWay,
    pub(super) shape: CopyShape,
}

/// All of them.
pub(super) fn all() -> Vec<LimitCase> {
    let of_row = |row: &'static LimitRow| {
        row.copies.iter().map(|(way, shape)| LimitCase {
            truth: LimitTruth {
                name: format!("{}, {}, {}", row.what, way.words(), shape.words()),
                what: row.what,
                right: with_hosts(row.right, way.reader(), way.writer()),
                advice: row.advice,
            },
            limit: row.limit,
            way: *way,
            shape: *shape,
        })
    };
    ROWS.iter().flat_map(of_row).collect()
}

const RAISE_GROUP: &[&str] = &["Raise that limit, or run the copy in another group"];
const RAISE_QUOTA: &[&str] = &["Raise the quota of its control group"];
const MORE_CORES: &[&str] = &["--connections", "--lanes", "A CPU with faster AES", "A faster CPU"];

const ROWS: &[LimitRow] = &[
    LimitRow {
        what: "source disk",
        limit: disks::slow_source,
        copies: &[
            (Local, File),
            (Local, Tree),
            (Push, File),
            (Push, Tree),
            (Pull, File),
            (Pull, Tree),
            (SshPush, File),
            (SshPull, File),
            (SshPull, Tree),
        ],
        right: &["source/cgroup limit/READER"],
        advice: RAISE_GROUP,
    },
    LimitRow {
        what: "source disk within ssh",
        limit: disks::slow_source_within_ssh,
        copies: &[(SshPull, File)],
        right: &["source/cgroup limit/READER"],
        advice: RAISE_GROUP,
    },
    LimitRow {
        what: "target disk",
        limit: disks::slow_sink,
        copies: &[
            (Local, File),
            (Local, Tree),
            (Push, File),
            (Push, Tree),
            (Pull, File),
            (SshPush, File),
            (SshPull, File),
        ],
        right: &["sink/cgroup limit/WRITER", "sync/cgroup limit/WRITER"],
        advice: RAISE_GROUP,
    },
    LimitRow {
        what: "sync",
        limit: disks::slow_sync,
        copies: &[(Local, File), (Push, File)],
        right: &["sync/cgroup limit/WRITER"],
        advice: RAISE_GROUP,
    },
    LimitRow {
        what: "target that syncs each write",
        limit: disks::syncing_sink,
        copies: &[(Local, File), (Push, File)],
        right: &["sink/device/WRITER"],
        advice: &["--sink-depth", "Write to a faster device"],
    },
    LimitRow {
        what: "group's reads",
        limit: disks::group_reads,
        copies: &[(Local, File), (Push, File), (Pull, File), (Pull, Tree), (SshPull, File)],
        right: &["source/cgroup limit/READER"],
        advice: RAISE_GROUP,
    },
    LimitRow {
        what: "group's writes",
        limit: disks::group_writes,
        copies: &[(Local, File), (Local, Tree), (Push, File), (Pull, File), (SshPush, File)],
        right: &["sink/cgroup limit/WRITER"],
        advice: RAISE_GROUP,
    },
    LimitRow {
        what: "group's memory",
        limit: disks::group_memory,
        copies: &[(Local, Large), (Push, Large), (Pull, Large)],
        right: &["sink/memory limit/WRITER"],
        advice: RAISE_GROUP,
    },
    LimitRow {
        what: "CPU quota of who reads",
        limit: hosts::reader_quota,
        copies: &[(Push, Large), (Pull, Large), (Pull, Tree), (SshPull, Large)],
        right: &["cpu/cpu quota/READER"],
        advice: RAISE_QUOTA,
    },
    LimitRow {
        what: "CPU quota of who writes",
        limit: hosts::writer_quota,
        copies: &[(Push, Large), (Push, Tree), (Pull, Large), (SshPush, Large)],
        right: &["cpu/cpu quota/WRITER"],
        advice: RAISE_QUOTA,
    },
    LimitRow {
        what: "CPU quota",
        limit: hosts::buffered_quota,
        copies: &[(Local, Large), (Local, Tree)],
        right: &["cpu/cpu quota/local"],
        advice: RAISE_QUOTA,
    },
    LimitRow {
        what: "CPU quota, to nothing",
        limit: hosts::null_quota,
        copies: &[(Local, Null("null:2GiB"))],
        right: &["cpu/cpu quota/local"],
        advice: RAISE_QUOTA,
    },
    LimitRow {
        what: "busy host",
        limit: hosts::busy_here,
        copies: &[(Local, Null("null:6GiB"))],
        right: &["cpu/waiting for a cpu/local"],
        advice: &["Run it again when the machine is idle"],
    },
    LimitRow {
        what: "busy host, called",
        limit: hosts::busy_there,
        copies: &[(Pull, Null("null:1GiB"))],
        right: &["cpu/waiting for a cpu/sender"],
        advice: &["Run it again when the machine is idle"],
    },
    LimitRow {
        what: "busy host, called to write",
        limit: hosts::busy_there,
        copies: &[(Push, Null("null:1GiB"))],
        right: &["cpu/waiting for a cpu/receiver"],
        advice: &["Run it again when the machine is idle"],
    },
    LimitRow {
        what: "writer of a pipe",
        limit: programs::writer,
        copies: &[(Local, File), (Push, File)],
        right: &["source/pipe/READER"],
        advice: &["See what keeps that program"],
    },
    LimitRow {
        what: "reader of a pipe",
        limit: programs::reader,
        copies: &[(Local, File), (Pull, File)],
        right: &["sink/pipe/WRITER"],
        advice: &["See what keeps that program"],
    },
    LimitRow {
        what: "store on the web",
        limit: programs::store,
        copies: &[(Local, File)],
        right: &["network/server or path/READER"],
        advice: &["A faster server"],
    },
    LimitRow {
        what: "path full",
        limit: paths::full,
        copies: &[(Push, File), (Push, Tree), (Pull, File), (Pull, Tree)],
        right: &["network/congestion window/sender"],
        advice: &["A path with more bandwidth would help"],
    },
    LimitRow {
        what: "path that loses",
        limit: paths::lossy,
        copies: &[(Push, File), (Pull, File), (Pull, Tree)],
        right: &["network/loss/sender"],
        advice: &["Find out where the path loses", "--connections"],
    },
    LimitRow {
        what: "receive window",
        limit: paths::receive_window,
        copies: &[(Push, File), (Pull, File), (Push, Tree)],
        right: &["network/receive window/receiver"],
        advice: &["Raise the receiver's largest window"],
    },
    LimitRow {
        what: "window scaling off",
        limit: paths::no_scaling,
        copies: &[(Push, File), (Pull, File)],
        right: &["network/receive window/receiver"],
        advice: &["net.ipv4.tcp_window_scaling"],
    },
    LimitRow {
        what: "send buffer",
        limit: paths::send_buffer,
        copies: &[(Push, File), (Pull, File), (Pull, Tree)],
        right: &["network/send buffer/sender"],
        advice: &["Raise the sender's largest buffer"],
    },
    LimitRow {
        what: "small socket buffers",
        limit: paths::small_buffers,
        copies: &[(Push, File), (Pull, File)],
        right: &["network/receive window/receiver", "network/send buffer/sender"],
        advice: &["--socket-buffer"],
    },
    LimitRow {
        what: "rate limit",
        limit: hosts::rate_limit,
        copies: &[(Local, File), (Local, Tree), (Push, File), (Pull, File), (Pull, Tree), (SshPush, File)],
        right: &["source/rate limit/*"],
        advice: &["Raise --bwlimit, or do without it"],
    },
    LimitRow {
        what: "hashing",
        limit: hosts::hashing,
        copies: &[(Push, Null("null:1GiB")), (Pull, Null("null:1GiB"))],
        right: &["cpu/hashing/*"],
        advice: MORE_CORES,
    },
    LimitRow {
        what: "encryption",
        limit: hosts::encryption,
        copies: &[(Push, Null("null:1GiB")), (Pull, Null("null:1GiB"))],
        // Blocks are hashed as well: with AES and AVX-512 in the processor the two take as long as each other.
        right: &["cpu/encryption/*", "cpu/hashing/*"],
        advice: MORE_CORES,
    },
    LimitRow {
        what: "stopped server that writes",
        limit: hosts::stopped_server,
        copies: &[(Push, File)],
        right: &["network/receive window/receiver", "network/peer/*"],
        advice: &["See what keeps pump from running", "Raise the receiver's largest window"],
    },
    LimitRow {
        what: "stopped server that reads",
        limit: hosts::stopped_server,
        copies: &[(Pull, File)],
        right: &["network/*/*"],
        advice: &["See what keeps pump from running", "A path with more bandwidth would help"],
    },
];
