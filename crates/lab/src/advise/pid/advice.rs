//! Cause and what to try: a closed table, one thing for each cause.
//!
//! Must not know: how the cause was found.

use datapump::{LimitedBy, Why};

/// Cause, stage (empty for any), why (none for any), and the advice. The first that fits counts.
const TABLE: &[(LimitedBy, &str, Option<Why>, &str)] = &[
    (
        LimitedBy::Source,
        "",
        Some(Why::RateLimit),
        "it throttles itself: give it a higher rate, or none (--bwlimit of pump and rsync, -l of scp)",
    ),
    (
        LimitedBy::Source,
        "",
        Some(Why::CgroupLimit),
        "a control group limits reads from this device: raise that limit, or run it in another group",
    ),
    (LimitedBy::Source, "", Some(Why::MemoryLimit), MEMORY_LIMIT),
    (LimitedBy::Sink, "", Some(Why::MemoryLimit), MEMORY_LIMIT),
    (
        LimitedBy::Source,
        "",
        Some(Why::Pipe),
        "look at the process that fills the pipe: pump explain --pid of that one",
    ),
    (
        LimitedBy::Source,
        "",
        Some(Why::SharedDevice),
        "source and target share one device: put one of them on another, or read in larger pieces",
    ),
    (
        LimitedBy::Source,
        "",
        Some(Why::RoundTrips),
        "the device gets too few requests at a time: blockdev --setra 8192, or pump copy --source-depth 8",
    ),
    (
        LimitedBy::Source,
        "",
        None,
        "the source's device gives no more: read from a faster one, or from several at once",
    ),
    (
        LimitedBy::Sink,
        "",
        Some(Why::CgroupLimit),
        "a control group limits writes to this device: raise that limit, or run it in another group",
    ),
    (
        LimitedBy::Sink,
        "",
        Some(Why::Pipe),
        "look at the process that empties the pipe: pump explain --pid of that one",
    ),
    (
        LimitedBy::Sink,
        "",
        Some(Why::SharedDevice),
        "source and target share one device: put one of them on another",
    ),
    (
        LimitedBy::Sink,
        "",
        Some(Why::RoundTrips),
        "the device gets too few requests at a time: use pump copy --sink-depth 8",
    ),
    (
        LimitedBy::Sink,
        "sync",
        None,
        "it waits for stable storage again and again: sync once at the end (pump copy does), not after each write",
    ),
    (LimitedBy::Sink, "", None, "the target's device takes no more: write to a faster one"),
    (
        LimitedBy::Network,
        "send",
        Some(Why::ReceiveWindow),
        "the receiver reads too slowly or offers too little room: run pump explain --pid there",
    ),
    (
        LimitedBy::Network,
        "receive",
        Some(Why::ReceiveWindow),
        "this side offers too small a window for the round trip: raise net.ipv4.tcp_rmem here",
    ),
    (
        LimitedBy::Network,
        "",
        Some(Why::SendBuffer),
        "the send buffer is too small for the round trip: raise net.ipv4.tcp_wmem here",
    ),
    (
        LimitedBy::Network,
        "",
        Some(Why::Loss),
        "the path loses segments: look for where, or set net.ipv4.tcp_congestion_control=bbr",
    ),
    (
        LimitedBy::Network,
        "",
        Some(Why::CongestionWindow),
        "the path takes no more: send less by compressing, or try several connections (pump copy --connections 4)",
    ),
    (LimitedBy::Network, "", None, "this side waits for the other one: run pump explain --pid on that host"),
    (
        LimitedBy::Cpu,
        "",
        Some(Why::CpuQuota),
        "a control group bounds its CPU time: raise cpu.max (cpu.cfs_quota_us)",
    ),
    (
        LimitedBy::Cpu,
        "",
        Some(Why::NotScheduled),
        "others use the CPUs: stop them, lower their priority (renice), or give it CPUs of its own",
    ),
    (
        LimitedBy::Cpu,
        "",
        Some(Why::Copying),
        "the kernel copies bytes on its behalf: use direct I/O (pump copy does)",
    ),
    (
        LimitedBy::Cpu,
        "",
        None,
        "one thread is busy all the time: switch compression or encryption off, or use several processes",
    ),
    (
        LimitedBy::Metadata,
        "",
        None,
        "names and attributes take the time: pack small files into one stream (tar), or use pump copy",
    ),
    (LimitedBy::Balanced, "", None, "it does one thing after the other: overlap them, as pump copy does"),
];

const MEMORY_LIMIT: &str =
    "a control group limits its memory, page cache included: raise that limit, or run it in another group";
/// Nothing was found out, and there is nothing left to watch.
pub const ENDED: &str = "it has ended: watch the next one from its start, or copy by pump explain SRC DST";
/// Nothing moves, and nothing is waited for.
pub const STOPPED: &str =
    "it is stopped, by a signal or a debugger: let it go on (fg in its shell, or kill -CONT)";
/// A server without clients.
pub const IDLE: &str = "watch it while a client copies (--for 60s)";
/// The kernel copies, and no file on a disk is an end: direct I/O is of no use.
pub const MEMORY_ONLY: &str =
    "the kernel copies bytes from memory to memory: ask for larger pieces, or use several processes";

/// The one thing to try.
pub fn advice(limited_by: LimitedBy, stage: &str, why: Why) -> &'static str {
    let fits = |row: &&(LimitedBy, &str, Option<Why>, &str)| {
        row.0 == limited_by && (row.1.is_empty() || row.1 == stage) && row.2.is_none_or(|asked| asked == why)
    };
    TABLE.iter().find(fits).map_or("watch it for longer (--for 60s), while it moves data", |row| row.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_reached_and_every_cause_has_one() {
        for (limited_by, stage, why, text) in TABLE {
            let (stage, why) = (if stage.is_empty() { "any" } else { stage }, why.unwrap_or_default());
            assert_eq!(advice(*limited_by, stage, why), *text, "{limited_by:?} {stage} {why}");
        }
        assert!(advice(LimitedBy::Unknown, "", Why::Untold).contains("longer"));
    }
}
