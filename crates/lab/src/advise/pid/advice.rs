//! Cause and what to try: a closed table, one thing for each cause.
//!
//! Must not know: how the cause was found.

use datapump::LimitedBy;

/// Cause, stage (empty for any), why (empty for any), and the advice. The first that fits counts.
const TABLE: &[(LimitedBy, &str, &str, &str)] = &[
    (
        LimitedBy::Source,
        "",
        "rate limit",
        "it sleeps by its own choice: give it a higher rate, or none (--bwlimit of rsync, -l of scp)",
    ),
    (LimitedBy::Source, "", "cgroup limit", "a control group bounds reads from this device: raise that rule"),
    (
        LimitedBy::Source,
        "",
        "pipe",
        "look at the process that fills the pipe: pump explain --pid of that one",
    ),
    (
        LimitedBy::Source,
        "",
        "shared device",
        "source and target share one device: put one of them on another, or read in larger pieces",
    ),
    (
        LimitedBy::Source,
        "",
        "round trips",
        "the device gets too few requests at a time: blockdev --setra 8192, or pump copy --source-depth 8",
    ),
    (
        LimitedBy::Source,
        "",
        "",
        "the source's device gives no more: read from a faster one, or from several at once",
    ),
    (LimitedBy::Sink, "", "cgroup limit", "a control group bounds writes to this device: raise that rule"),
    (
        LimitedBy::Sink,
        "",
        "pipe",
        "look at the process that empties the pipe: pump explain --pid of that one",
    ),
    (LimitedBy::Sink, "", "shared device", "source and target share one device: put one of them on another"),
    (
        LimitedBy::Sink,
        "",
        "round trips",
        "the device gets too few requests at a time: use pump copy --sink-depth 8",
    ),
    (
        LimitedBy::Sink,
        "sync",
        "",
        "it waits for stable storage again and again: sync once at the end (pump copy does), not after each write",
    ),
    (LimitedBy::Sink, "", "", "the target's device takes no more: write to a faster one"),
    (
        LimitedBy::Network,
        "send",
        "receive window",
        "the receiver reads too slowly or offers too little room: run pump explain --pid there",
    ),
    (
        LimitedBy::Network,
        "receive",
        "receive window",
        "this side offers too small a window for the round trip: raise net.ipv4.tcp_rmem here",
    ),
    (
        LimitedBy::Network,
        "",
        "send buffer",
        "the send buffer is too small for the round trip: raise net.ipv4.tcp_wmem here",
    ),
    (
        LimitedBy::Network,
        "",
        "loss",
        "the path loses segments: look for where, or set net.ipv4.tcp_congestion_control=bbr",
    ),
    (
        LimitedBy::Network,
        "",
        "congestion window",
        "the path takes no more: send less by compressing, or try several connections (pump copy --connections 4)",
    ),
    (LimitedBy::Network, "", "", "this side waits for the other one: run pump explain --pid on that host"),
    (
        LimitedBy::Cpu,
        "",
        "cpu quota",
        "a control group bounds its CPU time: raise cpu.max (cpu.cfs_quota_us)",
    ),
    (
        LimitedBy::Cpu,
        "",
        "waiting for a cpu",
        "others use the CPUs: stop them, lower their priority (renice), or give it CPUs of its own",
    ),
    (LimitedBy::Cpu, "", "copying", "the kernel copies bytes on its behalf: use direct I/O (pump copy does)"),
    (
        LimitedBy::Cpu,
        "",
        "",
        "one thread computes all the time: leave out compression or encryption, or use several processes",
    ),
    (
        LimitedBy::Metadata,
        "",
        "",
        "names and attributes take the time: pack small files into one stream (tar), or use pump copy",
    ),
    (LimitedBy::Balanced, "", "", "it does one thing after the other: overlap them, as pump copy does"),
];

/// Nothing was found out, and there is nothing left to watch.
pub const ENDED: &str = "it has ended: watch the next one from its start, or copy by pump explain SRC DST";
/// The kernel copies, and no file on a disk is an end: direct I/O is of no use.
pub const MEMORY_ONLY: &str =
    "the kernel copies bytes from memory to memory: ask for larger pieces, or use several processes";

/// The one thing to try.
pub fn advice(limited_by: LimitedBy, stage: &str, why: &str) -> &'static str {
    let fits = |row: &&(LimitedBy, &str, &str, &str)| {
        row.0 == limited_by && (row.1.is_empty() || row.1 == stage) && (row.2.is_empty() || row.2 == why)
    };
    TABLE.iter().find(fits).map_or("watch it for longer (--for 60s), while it moves data", |row| row.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_can_be_reached_and_every_cause_has_one() {
        for (limited_by, stage, why, text) in TABLE {
            let (stage, why) =
                (if stage.is_empty() { "any" } else { stage }, if why.is_empty() { "any" } else { why });
            assert_eq!(advice(*limited_by, stage, why), *text, "{limited_by:?} {stage} {why}");
        }
        assert!(advice(LimitedBy::Unknown, "", "").contains("longer"));
    }
}
