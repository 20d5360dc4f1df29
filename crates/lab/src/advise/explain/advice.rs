//! From a cause to the one thing to try: a closed table.
//!
//! Must not know: how a cause is found, how a gain is measured.

use datapump::units::rate_words;
use datapump::{Choice, Cpu, LimitedBy, LimitedDetail, Options, Report, Sync, Why};

pub use super::cause::Cause;
use super::law::Prediction;
use super::trial::Gain;
use crate::probe::host::cpus;

/// A gain below this is none.
const GAIN_MIN: f64 = 1.10;
/// Files that are smaller in the mean cost names, not copies of bytes.
const SMALL_BYTES: u64 = 256 << 10;

/// The one thing to try.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Against what.
    pub cause: Cause,
    /// In words: sentences, without the last full stop.
    pub words: String,
    /// The flag with its value, if it is one.
    pub flag: Option<String>,
    /// How many times as fast the part was with it, measured; none if it was not tried.
    pub gain: Option<f64>,
}

impl Advice {
    /// Nothing to say.
    pub(super) fn none(cause: Cause) -> Advice {
        Advice { cause, words: String::new(), flag: None, gain: None }
    }
}

/// The cause behind a verdict.
pub(super) fn cause(limited_by: LimitedBy, detail: &LimitedDetail, report: &Report) -> Cause {
    match (limited_by, detail.why) {
        (_, Why::RateLimit) => Cause::RateLimit,
        (_, Why::ServerLimit) => Cause::ServerLimit,
        (LimitedBy::Source | LimitedBy::Sink, Why::SharedDevice) => Cause::SharedDevice,
        (LimitedBy::Source | LimitedBy::Sink | LimitedBy::Sync, why) if why.is_group_limit() => {
            Cause::GroupLimit
        }
        (LimitedBy::Source | LimitedBy::Sink, Why::Pipe) => Cause::Pipe,
        (LimitedBy::Source, Why::PageCache) => Cause::PageCache,
        (LimitedBy::Source, _) => Cause::SourceDevice,
        (LimitedBy::Sink, _) if detail.stage == "read back" => Cause::ReadBack,
        (LimitedBy::Sink, _) => Cause::SinkDevice,
        (LimitedBy::Network, Why::ReceiveWindow) => Cause::ReceiveWindow,
        (LimitedBy::Network, Why::SendBuffer) => Cause::SendBuffer,
        (LimitedBy::Network, Why::Loss) => Cause::Loss,
        (LimitedBy::Network, Why::RoundTrips) => Cause::RoundTrips,
        (LimitedBy::Network, Why::Peer) => Cause::Peer,
        (LimitedBy::Network, Why::Server) => Cause::Server,
        (LimitedBy::Network, _) => Cause::Path,
        (LimitedBy::Cpu, Why::CpuQuota) => Cause::CpuQuota,
        (LimitedBy::Cpu, Why::NotScheduled) => Cause::Busy,
        (LimitedBy::Cpu, Why::Encryption) => Cause::Encryption,
        (LimitedBy::Cpu, Why::Hashing) => Cause::Hashing,
        (LimitedBy::Cpu, Why::Copying) if report.files > 1 && mean_bytes(report) < SMALL_BYTES => {
            Cause::Metadata
        }
        (LimitedBy::Cpu, Why::Copying) => Cause::Copying,
        (LimitedBy::Cpu, _) if report.network.is_some_and(|network| network.is_sealed()) => Cause::Encryption,
        (LimitedBy::Cpu, _) => Cause::PostingRequests,
        (LimitedBy::Metadata, _) => Cause::Metadata,
        (LimitedBy::Sync, _) => Cause::Sync,
        (LimitedBy::Balanced, _) => Cause::Balanced,
        (LimitedBy::Unknown, _) => Cause::Unknown,
    }
}

/// What to try: whatever was measured to help most; else what the table has for the cause.
pub(super) fn advise(
    cause: Cause,
    options: &Options,
    report: &Report,
    prediction: Option<&Prediction>,
    gains: &[Gain],
) -> Advice {
    let best = gains.iter().filter(|gain| gain.times >= GAIN_MIN);
    if let Some(best) = best.max_by(|one, other| one.times.total_cmp(&other.times)) {
        let words =
            format!("Try {}: the part that limits was {:.2} times as fast with it", best.flag, best.times);
        return Advice { cause, words, flag: Some(best.flag.clone()), gain: Some(best.times) };
    }
    let (words, flag) = by_table(cause, options, report, gains);
    let tried: Vec<&str> = gains.iter().map(|gain| gain.flag.as_str()).collect();
    let tried =
        if tried.is_empty() { String::new() } else { format!(" ({} tried: no gain)", tried.join(" and ")) };
    let next = prediction.and_then(|it| it.next_limit(report)).map_or(String::new(), |(part, speed)| {
        format!(". The next limit would be {}, at {}", part.limit_words(), rate_words(speed))
    });
    Advice { cause, words: format!("{words}{tried}{next}"), flag, gain: None }
}

/// The mean bytes of a file.
fn mean_bytes(report: &Report) -> u64 {
    report.bytes / report.files.max(1)
}

fn by_table(cause: Cause, options: &Options, report: &Report, gains: &[Gain]) -> (String, Option<String>) {
    match Flag::for_cause(cause, options, report).filter(|flag| flag.is_new(options)) {
        Some(flag) if gains.iter().any(|gain| gain.flag == flag.typed) => {
            ("Nothing that was tried helped".into(), None)
        }
        Some(flag) => (format!("Try {}, which {} (not tried)", flag.typed, flag.words), Some(flag.typed)),
        None => {
            let words = by_setting(cause, options, report).unwrap_or_else(|| without_flag(cause));
            (format!("{words}{}", others_share(cause, report)), None)
        }
    }
}

/// Advice on the setting that is known to be the cause.
fn by_setting(cause: Cause, options: &Options, report: &Report) -> Option<&'static str> {
    let is_window = matches!(cause, Cause::ReceiveWindow | Cause::SendBuffer);
    if is_window && options.network.sockets.buffer_bytes.is_some() {
        return Some("Leave out --socket-buffer, so that the kernels tune their buffers, or raise it");
    }
    let is_unscaled = report.limited_detail.setting.contains("tcp_window_scaling");
    (cause == Cause::ReceiveWindow && is_unscaled)
        .then_some("Switch window scaling on at the receiver: sysctl net.ipv4.tcp_window_scaling=1")
}

/// What was measured of the other programs that a machine is to be without.
fn others_share(cause: Cause, report: &Report) -> String {
    let of_ns = report.limited_detail.of_ns.max(1);
    let waited_ns = match cause {
        Cause::Busy => report.limited_detail.waited_ns,
        // No verdict has said which part of it others had.
        _ => report.waits_ns.not_scheduled,
    };
    let percent = 100.0 * waited_ns.min(of_ns) as f64 / of_ns as f64;
    match cause {
        Cause::Busy | Cause::Unknown if percent >= 1.0 => {
            format!(": the copy waited for a CPU, which other programs used, for {percent:.0} % of the time")
        }
        _ => String::new(),
    }
}

/// A flag that may help.
struct Flag {
    words: &'static str,
    typed: String,
    /// With it.
    options: Options,
}

impl Flag {
    /// The flag of a cause, if the copy leaves room for one.
    fn for_cause(cause: Cause, options: &Options, report: &Report) -> Option<Flag> {
        let flag = |words, typed, options| Some(Flag { words, typed, options });
        let used = options.clone();
        match cause {
            Cause::RoundTrips => {
                let depth = wider(report.source_depth, 32);
                let options = used.with(|it| it.tuning.source_depth = Some(depth));
                flag("keeps more requests under way", format!("--source-depth {depth}"), options)
            }
            Cause::Encryption | Cause::Hashing if has_idle_cpu(report, cpus()) => {
                let (typed, lanes) = more_lanes(report, 2);
                flag("uses another core", typed, used.with(|it| it.tuning.lanes = Some(lanes)))
            }
            Cause::Metadata if report.files > 1 => {
                let (typed, lanes) = more_lanes(report, 4);
                flag("uses more lanes for names", typed, used.with(|it| it.tuning.lanes = Some(lanes)))
            }
            // Where the sink is written directly already, its source is in memory, or none.
            Cause::Copying if mean_bytes(report) >= SMALL_BYTES && !is_direct(report) => {
                let options = used.with(|it| it.tuning.direct = Choice::Always);
                flag("leaves out the kernel's copies", "--direct=always".into(), options)
            }
            Cause::PostingRequests if mean_bytes(report) > u64::from(report.request_bytes) => {
                let options = used.with(|it| it.tuning.request_bytes = Some(LARGE_BYTES));
                let typed = "--request-size 4MiB".into();
                flag("makes fewer, larger requests", typed, options)
                    .filter(|_| report.request_bytes < LARGE_BYTES)
            }
            Cause::Sync => {
                let options = used.with(|it| it.durability.sync = Sync::None);
                flag("leaves stable storage to the system, as cp does", "--sync=none".into(), options)
            }
            _ => None,
        }
    }

    /// It asks for something else than was asked, and for something that can be had.
    fn is_new(&self, options: &Options) -> bool {
        self.options != *options && self.options.check().is_ok()
    }
}

/// 4 MiB.
const LARGE_BYTES: u32 = 4 << 20;

/// So many, or twice as many as were used.
fn wider(used: u32, least: u32) -> u32 {
    if used >= least { used.saturating_mul(2) } else { least }
}

/// Between two hosts each lane has a connection.
fn more_lanes(report: &Report, least: u32) -> (String, u32) {
    let (name, used) = match report.network {
        Some(network) => ("--connections", network.connections),
        None => ("--lanes", report.lanes),
    };
    let lanes = wider(used, least);
    (format!("{name} {lanes}"), lanes)
}

/// The copy leaves a CPU of this host idle that one more lane could have. Where both sides are on it both are counted.
fn has_idle_cpu(report: &Report, cpus: u32) -> bool {
    let is_one_machine = report.network.is_some_and(|network| network.same_host);
    let other_ns = report.cpu_remote.as_ref().filter(|_| is_one_machine).map_or(0, Cpu::total_ns);
    let left_ns = (report.elapsed_ns * u64::from(cpus)).saturating_sub(report.cpu.total_ns() + other_ns);
    2 * left_ns >= report.elapsed_ns
}

fn is_direct(report: &Report) -> bool {
    ["both", "sink"].contains(&report.direct.got.as_str())
}

fn without_flag(cause: Cause) -> &'static str {
    match cause {
        Cause::RateLimit => "Raise --bwlimit, or do without it",
        Cause::ServerLimit => "Raise --bwlimit of \"pump serve\" there",
        Cause::SharedDevice => "Put the target on another device than the source",
        Cause::GroupLimit => "Raise that limit, or run the copy in another group",
        Cause::Pipe => "See what keeps that program: pump explain --pid of it",
        Cause::SourceDevice => "Read from a faster device, or from several",
        Cause::PageCache => "No flag would help: the kernel copies the source from the page cache",
        Cause::SinkDevice => "Write to a faster device, or to several",
        Cause::ReadBack => "Do without --verify where the device is trusted",
        Cause::ReceiveWindow => {
            "Raise the receiver's largest window: sysctl net.ipv4.tcp_rmem, net.core.rmem_max"
        }
        Cause::SendBuffer => "Raise the sender's largest buffer: sysctl net.ipv4.tcp_wmem, net.core.wmem_max",
        Cause::Path => "A path with more bandwidth would help",
        Cause::Server => "A faster server, or a faster path to it, would help",
        Cause::Loss => "Find out where the path loses segments (ip -s link, ethtool -S)",
        Cause::RoundTrips => "No flag would help: as many requests are under way as can be",
        Cause::Peer => "See what keeps pump from running on one of the hosts: it is stopped, or gets no CPU",
        Cause::Encryption => "A CPU with faster AES would help",
        Cause::Hashing => "A faster CPU would help",
        Cause::Copying => "No flag would help: the copies that the kernel makes cannot be avoided",
        Cause::CpuQuota => {
            "Raise the quota of its control group (cpu.max, cpu.cfs_quota_us, a container's CPU limit)"
        }
        Cause::PostingRequests => "A larger request size would not help",
        Cause::Metadata => "A file system that is faster with names would help",
        Cause::Sync => "Write to a device that is faster to sync",
        Cause::Balanced => "No single change would help: no part is notably slower than the others",
        Cause::Busy | Cause::Unknown => "Run it again when the machine is idle",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(files: u64, mebibytes: u64, lanes: u32) -> Report {
        let (bytes, request_bytes) = (mebibytes << 20, 1 << 20);
        Report { files, bytes, lanes, request_bytes, source_depth: 2, ..Report::default() }
    }

    #[test]
    fn a_measured_gain_comes_before_the_table() {
        let gain = |flag: &str, times| Gain { flag: flag.into(), times };
        for (gains, flag, words) in [
            (vec![], None, "Write to a faster device, or to several"),
            (vec![gain("--sink-depth 8", 1.05)], None, "(--sink-depth 8 tried: no gain)"),
            (
                vec![gain("--sink-depth 8", 1.2), gain("--lanes 2", 1.9)],
                Some("--lanes 2"),
                "1.90 times as fast",
            ),
        ] {
            let known = (&Options::default(), &report(1, 64, 1));
            let advice = advise(Cause::SinkDevice, known.0, known.1, None, &gains);
            assert_eq!(advice.flag.as_deref(), flag, "{advice:?}");
            assert!(advice.words.contains(words), "{advice:?}");
        }
    }

    #[test]
    fn a_flag_is_new_and_may_help_or_is_not_given() {
        let plain = Options::default;
        let direct = |got: &str| {
            let direct = datapump::AskedAndGot { got: got.into(), ..Default::default() };
            Report { direct, ..report(1, 64, 1) }
        };
        let network = Some(datapump::Network { connections: 2, ..Default::default() });
        let remote = Report { network, ..report(1, 64, 1) };
        let sized = |request_bytes| Report { request_bytes, ..report(1, 64, 1) };
        for (cause, options, report, flag) in [
            (Cause::Metadata, plain(), report(1000, 3, 2), Some("--lanes 4")),
            (Cause::Metadata, plain(), report(1000, 3, 4), Some("--lanes 8")),
            (Cause::Metadata, plain(), report(1000, 3, 256), None),
            (Cause::Metadata, plain(), report(1, 3, 1), None),
            (Cause::Copying, plain(), direct("none"), Some("--direct=always")),
            (
                Cause::Copying,
                plain().with(|it| it.tuning.direct = Choice::Never),
                direct("none"),
                Some("--direct=always"),
            ),
            (Cause::Copying, plain().with(|it| it.tuning.direct = Choice::Always), direct("none"), None),
            (Cause::Copying, plain(), direct("both"), None),
            (Cause::Copying, plain(), report(1, 0, 1), None),
            (Cause::Sync, plain(), report(1, 64, 1), Some("--sync=none")),
            (Cause::Sync, plain().with(|it| it.durability.sync = Sync::None), report(1, 64, 1), None),
            (Cause::PostingRequests, plain(), sized(4096), Some("--request-size 4MiB")),
            (Cause::PostingRequests, plain(), sized(LARGE_BYTES), None),
            (Cause::PostingRequests, plain(), report(1000, 3, 4), None),
            (Cause::Hashing, plain(), report(1, 64, 1), Some("--lanes 2")),
            (Cause::Hashing, plain(), report(9, 64, 4), Some("--lanes 8")),
            (Cause::Encryption, plain(), remote, Some("--connections 4")),
            (Cause::RoundTrips, plain(), report(1, 64, 1), Some("--source-depth 32")),
            (Cause::RateLimit, plain(), report(1, 64, 1), None),
        ] {
            let advice = advise(cause, &options, &report, None, &[]);
            let what = format!("{options:?} {report:?}: {advice:?}");
            assert_eq!(advice.flag.as_deref(), flag, "{what}");
            assert_eq!(advice.words.contains("(not tried)"), flag.is_some(), "{what}");
        }
    }

    /// A second lane computes only where there is a CPU for it.
    #[test]
    fn no_lane_is_advised_where_all_cpus_are_busy() {
        let second = |user_ns| Cpu { user_ns, system_ns: 0 };
        for (same_host, here_ns, there_ns, is_idle) in [
            (true, 900_000_000, 900_000_000, false),
            (true, 900_000_000, 400_000_000, true),
            (false, 900_000_000, 900_000_000, true),
            (false, 1_900_000_000, 0, false),
        ] {
            let network = Some(datapump::Network { same_host, ..Default::default() });
            let (cpu, cpu_remote) = (second(here_ns), Some(second(there_ns)));
            let report = Report { elapsed_ns: 1_000_000_000, network, cpu, cpu_remote, ..report(1, 64, 1) };
            assert_eq!(has_idle_cpu(&report, 2), is_idle, "{same_host} {here_ns} {there_ns}");
        }
    }

    #[test]
    fn what_is_set_is_what_is_to_be_changed() {
        let small = || Options::default().with(|it| it.network.sockets.buffer_bytes = Some(65_536));
        for (cause, options, setting, words) in [
            (
                Cause::ReceiveWindow,
                Options::default(),
                "64 KiB, net.ipv4.tcp_window_scaling=0",
                "tcp_window_scaling=1",
            ),
            (
                Cause::ReceiveWindow,
                Options::default(),
                "net.ipv4.tcp_rmem allows 64.0 KiB",
                "net.ipv4.tcp_rmem",
            ),
            (Cause::ReceiveWindow, small(), "net.ipv4.tcp_rmem allows 6.0 MiB", "--socket-buffer"),
            (Cause::SendBuffer, small(), "", "--socket-buffer"),
            (Cause::SendBuffer, Options::default(), "", "net.ipv4.tcp_wmem"),
        ] {
            let mut report = report(1, 64, 1);
            report.limited_detail.setting = setting.into();
            let advice = advise(cause, &options, &report, None, &[]);
            assert!(advice.words.contains(words) && advice.flag.is_none(), "{cause:?} {setting}: {advice:?}");
        }
    }

    #[test]
    fn a_busy_machine_is_told_once_with_what_was_measured() {
        let mut busy = report(1, 64, 1);
        // The verdict has said which part of it others had; where there is none, all of it.
        (busy.limited_detail.of_ns, busy.limited_detail.waited_ns, busy.waits_ns.not_scheduled) =
            (200, 50, 86);
        let waited = LimitedDetail { why: Why::NotScheduled, ..LimitedDetail::default() };
        let causes = [cause(LimitedBy::Cpu, &waited, &busy), Cause::Unknown];
        for (cause, percent) in causes.into_iter().zip([25, 43]) {
            let advice = advise(cause, &Options::default(), &busy, None, &[]);
            let words = "Run it again when the machine is idle: the copy waited for a CPU, which other programs used, \
                         for";
            assert_eq!(advice.words, format!("{words} {percent} % of the time"));
            let idle = advise(cause, &Options::default(), &report(1, 64, 1), None, &[]);
            assert_eq!(idle.words, "Run it again when the machine is idle");
        }
    }

    #[test]
    fn a_limit_is_raised_where_it_was_set() {
        for (why, words) in [
            (Why::RateLimit, "Raise --bwlimit, or do without it"),
            (Why::ServerLimit, "Raise --bwlimit of \"pump serve\" there"),
        ] {
            let detail = LimitedDetail { why, ..LimitedDetail::default() };
            let limited = report(1, 64, 1);
            let cause = cause(LimitedBy::Source, &detail, &limited);
            assert_eq!(advise(cause, &Options::default(), &limited, None, &[]).words, words);
        }
    }

    /// No other device would help: none is read.
    #[test]
    fn a_source_in_the_page_cache_is_no_device() {
        for (why, expected) in [(Why::Device, Cause::SourceDevice), (Why::PageCache, Cause::PageCache)] {
            let detail = LimitedDetail { why, ..LimitedDetail::default() };
            let cause = cause(LimitedBy::Source, &detail, &report(1, 64, 1));
            assert_eq!(cause, expected);
            let advice = advise(cause, &Options::default(), &report(1, 64, 1), None, &[]);
            assert_eq!(advice.words.contains("device"), why == Why::Device, "{advice:?}");
        }
    }

    #[test]
    fn small_files_cost_names() {
        let copying = LimitedDetail { why: Why::Copying, ..LimitedDetail::default() };
        for (files, mebibytes, expected) in
            [(1000, 3, Cause::Metadata), (1000, 300, Cause::Copying), (1, 0, Cause::Copying)]
        {
            let got = cause(LimitedBy::Cpu, &copying, &report(files, mebibytes, 4));
            assert_eq!(got, expected, "{files} files");
        }
    }
}
