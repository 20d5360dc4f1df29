//! From a cause to the one thing to try: a closed table.
//!
//! Must not know: how a cause is found, how a gain is measured.

use datapump::units::rate_words;
use datapump::{LimitedBy, LimitedDetail, Report};
use serde::Serialize;

use super::law::Prediction;
use super::trial::Gain;

/// A gain below this is none.
const GAIN_MIN: f64 = 1.10;

/// Why a copy is as slow as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// `--bwlimit`.
    RateLimit,
    /// One device serves both ends.
    SharedDevice,
    /// The source's device.
    SourceDevice,
    /// The sink's device.
    SinkDevice,
    /// The target was read back.
    ReadBack,
    /// The receiver's window, though its disk keeps up.
    ReceiveWindow,
    /// The sender's buffer.
    SendBuffer,
    /// The path takes no more.
    Path,
    /// Segments are lost.
    Loss,
    /// Too little is under way for this round trip.
    RoundTrips,
    /// One of the hosts stands still.
    Peer,
    /// Encrypting.
    Encryption,
    /// Hashing.
    Hashing,
    /// The kernel copies bytes.
    Copying,
    /// A quota of CPU time.
    CpuQuota,
    /// Requests themselves.
    PostingRequests,
    /// Names and attributes.
    Metadata,
    /// Stable storage.
    Sync,
    /// No part is slower than the others.
    Balanced,
    /// It cannot be told.
    Unknown,
}

/// The one thing to try.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Against what.
    pub cause: Cause,
    /// In words.
    pub words: String,
    /// The flag with its value, if it is one.
    pub flag: Option<String>,
    /// How many times as fast the part was with it, measured.
    pub gain: Option<f64>,
}

/// The cause behind a verdict.
pub(super) fn cause(limited_by: LimitedBy, detail: &LimitedDetail, report: &Report) -> Cause {
    match (limited_by, detail.why.as_str()) {
        (_, "rate limit") => Cause::RateLimit,
        (LimitedBy::Source | LimitedBy::Sink, "shared device") => Cause::SharedDevice,
        (LimitedBy::Source, _) => Cause::SourceDevice,
        (LimitedBy::Sink, _) if detail.stage == "read back" => Cause::ReadBack,
        (LimitedBy::Sink, _) => Cause::SinkDevice,
        (LimitedBy::Network, "receive window") => Cause::ReceiveWindow,
        (LimitedBy::Network, "send buffer") => Cause::SendBuffer,
        (LimitedBy::Network, "loss") => Cause::Loss,
        (LimitedBy::Network, "round trips") => Cause::RoundTrips,
        (LimitedBy::Network, "peer") => Cause::Peer,
        (LimitedBy::Network, _) => Cause::Path,
        (LimitedBy::Cpu, "cpu quota") => Cause::CpuQuota,
        (LimitedBy::Cpu, "encryption") => Cause::Encryption,
        (LimitedBy::Cpu, "hashing") => Cause::Hashing,
        (LimitedBy::Cpu, "copying") => Cause::Copying,
        (LimitedBy::Cpu, _) if report.network.is_some() => Cause::Encryption,
        (LimitedBy::Cpu, _) => Cause::PostingRequests,
        (LimitedBy::Metadata, _) => Cause::Metadata,
        (LimitedBy::Sync, _) => Cause::Sync,
        (LimitedBy::Balanced, _) => Cause::Balanced,
        (LimitedBy::Unknown, _) => Cause::Unknown,
    }
}

/// What to try: whatever was measured to help most; else what the table has for the cause.
pub(super) fn advise(cause: Cause, prediction: Option<&Prediction>, gains: &[Gain]) -> Advice {
    let best = gains.iter().filter(|gain| gain.times >= GAIN_MIN);
    if let Some(best) = best.max_by(|one, other| one.times.total_cmp(&other.times)) {
        let words =
            format!("try {}: the part that limits was {:.2} times as fast with it", best.flag, best.times);
        return Advice { cause, words, flag: Some(best.flag.clone()), gain: Some(best.times) };
    }
    let (words, flag) = by_table(cause);
    let is_tried = |flag: &&str| gains.iter().any(|gain| gain.flag == **flag);
    let (words, flag) = match flag.filter(is_tried) {
        Some(_) => ("nothing that was tried does", None),
        None => (words, flag),
    };
    let tried: Vec<&str> = gains.iter().map(|gain| gain.flag.as_str()).collect();
    let tried = match tried.is_empty() {
        true => String::new(),
        false => format!(" ({} tried: no gain)", tried.join(" and ")),
    };
    let next = prediction.map(|prediction| prediction.next).map_or(String::new(), |(part, speed)| {
        format!("; the next limit would be {}, at {}", part.words(), rate_words(speed))
    });
    Advice { cause, words: format!("{words}{tried}{next}"), flag: flag.map(str::to_string), gain: None }
}

fn by_table(cause: Cause) -> (&'static str, Option<&'static str>) {
    match cause {
        Cause::RateLimit => ("leave --bwlimit out, or raise it", Some("--bwlimit")),
        Cause::SharedDevice => ("put the target on another device than the source", None),
        Cause::SourceDevice => ("read from a faster device, or from several", None),
        Cause::SinkDevice => ("write to a faster device, or to several", None),
        Cause::ReadBack => ("leave --verify out where the device is trusted", None),
        Cause::ReceiveWindow => {
            ("raise the receiver's largest window: sysctl net.ipv4.tcp_rmem, net.core.rmem_max", None)
        }
        Cause::SendBuffer => {
            ("raise the sender's largest buffer: sysctl net.ipv4.tcp_wmem, net.core.wmem_max", None)
        }
        Cause::Path => ("the path takes no more; a path with more bandwidth would help", None),
        Cause::Loss => ("look for what loses segments on the path (ip -s link, ethtool -S)", None),
        Cause::RoundTrips => ("have more under way: --source-depth 32", Some("--source-depth 32")),
        Cause::Peer => {
            ("see what keeps pump from running on one of the hosts: it is stopped, or gets no CPU", None)
        }
        Cause::Encryption => {
            ("use a CPU with faster AES, or another core: --connections 2", Some("--connections 2"))
        }
        Cause::Hashing => ("use another core: --lanes 2", Some("--lanes 2")),
        Cause::Copying => ("leave the kernel's copies out: --direct=always", Some("--direct=always")),
        Cause::CpuQuota => (
            "raise the quota of its control group (cpu.max, cpu.cfs_quota_us, a container's CPU limit)",
            None,
        ),
        Cause::PostingRequests => {
            ("make fewer, larger requests: --request-size 4MiB", Some("--request-size 4MiB"))
        }
        Cause::Metadata => ("use more lanes for names: --lanes 4", Some("--lanes 4")),
        Cause::Sync => ("leave stable storage to the system, as cp does: --sync=none", Some("--sync=none")),
        Cause::Balanced => ("nothing by itself: no part is notably slower than the others", None),
        Cause::Unknown => ("run it again on a quieter machine", None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_gain_comes_before_the_table() {
        let gain = |flag: &str, times| Gain { flag: flag.into(), times };
        for (gains, flag, words) in [
            (vec![], None, "write to a faster device, or to several"),
            (vec![gain("--sink-depth 8", 1.05)], None, "(--sink-depth 8 tried: no gain)"),
            (
                vec![gain("--sink-depth 8", 1.2), gain("--lanes 2", 1.9)],
                Some("--lanes 2"),
                "1.90 times as fast",
            ),
        ] {
            let advice = advise(Cause::SinkDevice, None, &gains);
            assert_eq!(advice.flag.as_deref(), flag, "{advice:?}");
            assert!(advice.words.contains(words), "{advice:?}");
        }
    }
}
