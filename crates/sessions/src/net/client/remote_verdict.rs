//! The verdict over two hosts: the report of the side that writes, and what the side that reads says of its time.
//!
//! To the writing side everything behind its connection is the source: what it waited for there is looked for at the
//! reading side. That one waited for its disk, computed, was inside calls that send, or had nothing to do; and its
//! kernel tells whether the path was busy meanwhile, and whose window was full.
//!
//! Must not know: how the two were told.

use datapump_core::verdict::{CPU_FRACTION, HELD_FRACTION, LimitedBy, LimitedDetail, Why};
use datapump_core::wire::session::{SenderStats, ShortText, TcpStats};
use datapump_engine::Spent;

use crate::report::bill::{Bill, BillHost, KernelThreads, MeasuredHost};
use crate::report::{Network, Report};

/// A path that has something under way for less than this part of the time is not what is slow.
const BUSY_FRACTION: f64 = 0.5;
/// Segments sent again, of all: below this no stack lets go of much of its window.
const LOSS_FRACTION: f64 = 0.001;
/// A round trip this much longer than the shortest one has a queue on its way: the path is full.
const QUEUED: u64 = 2;
/// Round trips that take less than this part of the time are not what is slow.
const WAY_FRACTION: f64 = 0.1;
/// Answers about names, one after the other, that take this part of the time are what is slow.
const ANSWERS_FRACTION: f64 = 0.5;
/// A path that holds this part of what is asked for at a time would take more.
const ASKED_FRACTION: f64 = 0.8;

/// The report of a copy over two hosts: the receiver's, with what the sender knows of connections and CPU time, and with the
/// cause of a wait for the sender.
pub(crate) fn merge_reports(mut report: Report, given: &SenderStats) -> Report {
    report.limited_detail.host = "receiver".into();
    let request_bytes = report.request_bytes;
    if let Some(network) = &mut report.network {
        add_sender_facts(network, given);
        network.filling_depth = filling_depth(network, request_bytes);
    }
    if report.limited_by == LimitedBy::Source && report.limited_detail.why != Why::RateLimit {
        (report.limited_by, report.limited_detail) = find_cause(&report, given);
    }
    report.bill = bill_of_hosts(&report, given);
    report
}

/// The bill of both hosts, of those that told theirs.
pub(crate) fn bill_of_hosts(report: &Report, given: &SenderStats) -> Option<Bill> {
    let moved = report.moved();
    let sender = given.spent_ns.map(|spent_ns| {
        let ns = |ns: Option<u64>| ns.unwrap_or(0);
        let process_ns = ns(given.user_ns).saturating_add(ns(given.system_ns));
        let kernel = KernelThreads::seen(given.kernel_ns);
        Bill::from_measured(
            BillHost::Sender,
            &MeasuredHost { spent: Spent(spent_ns), process_ns, kernel },
            moved,
        )
    });
    let receiver = report.bill.as_ref().map(|bill| bill.assigned_to(BillHost::Receiver, moved));
    Bill::of_two_hosts(sender.as_ref(), receiver.as_ref(), moved)
}

/// Enters what the sender knows of the connections.
fn add_sender_facts(network: &mut Network, given: &SenderStats) {
    let path = given.path.unwrap_or_default();
    *network = Network {
        sealing_ns: given.sealing_ns.unwrap_or(0),
        sending_ns: given.network_wait_ns.unwrap_or(0),
        rtt_us: path.rtt_us,
        min_rtt_us: path.min_rtt_us,
        filling_depth: 0,
        sent_segments: path.sent_segments,
        retransmitted_segments: path.retransmitted_segments,
        delivered_bytes_per_second: path.delivered_bytes_per_second,
        busy_ns: path.busy_ns,
        receive_window_limited_ns: path.receive_window_limited_ns,
        send_buffer_limited_ns: path.send_buffer_limited_ns,
        ..*network
    };
}

/// Requests that fill the path: what arrives in a round trip at the rate at which data arrived.
fn filling_depth(network: &Network, request_bytes: u32) -> u32 {
    let per_s = u128::from(network.delivered_bytes_per_second);
    let bytes = per_s * u128::from(network.round_trip_us()) / 1_000_000;
    bytes.div_ceil(request_bytes.max(1).into()).try_into().unwrap_or(u32::MAX)
}

/// What limited the sender, where the receiver waited for it.
fn find_cause(report: &Report, given: &SenderStats) -> (LimitedBy, LimitedDetail) {
    let of_ns = given.lanes_ns.unwrap_or(0);
    let sender = |limit, stage: &str, why: Why, waited_ns| {
        let host = "sender".into();
        (limit, LimitedDetail { host, ..LimitedDetail::here(stage, why, waited_ns, of_ns) })
    };
    if waits_for_answers(report) {
        return of_path(Why::RoundTrips, "sender", report);
    }
    let waited = |ns: Option<u64>| ns.unwrap_or(0);
    let (disk, sending, held) =
        (waited(given.source_wait_ns), waited(given.network_wait_ns), waited(given.rate_wait_ns));
    let (hashing, sealing) = (waited(given.hashing_ns), waited(given.sealing_ns));
    let cpu = waited(given.lanes_cpu_ns);
    if of_ns == 0 {
        return sender(LimitedBy::Unknown, "", Why::Untold, 0);
    }
    let computes = if hashing.max(sealing) * 2 < cpu {
        Why::Copying
    } else if hashing > sealing {
        Why::Hashing
    } else {
        Why::Encryption
    };
    if cpu as f64 >= CPU_FRACTION * of_ns as f64 {
        return sender(LimitedBy::Cpu, "compute", computes, cpu);
    }
    let quota_held = waited(given.quota_held_ns) as f64 / report.elapsed_ns.max(1) as f64;
    if quota_held >= HELD_FRACTION {
        let held_ns = (quota_held.min(1.0) * of_ns as f64) as u64;
        return sender(LimitedBy::Cpu, "compute", Why::CpuQuota, held_ns);
    }
    // Both are times of a clock, in which others may have had the CPU.
    let computing = (hashing + sealing).min(given.lanes_cpu_ns.unwrap_or(u64::MAX));
    let not_scheduled = waited(given.not_scheduled_ns);
    let idle = of_ns.saturating_sub(disk + sending + held + computing + not_scheduled);
    let most = [disk, held, computing, not_scheduled, sending, idle].into_iter().max().unwrap_or(0);
    let device = if report.limited_detail.why == Why::SharedDevice { Why::SharedDevice } else { Why::Device };
    match most {
        ns if ns == disk => {
            let (limit, detail) = sender(LimitedBy::Source, "read", device, ns);
            (limit, detail.with_limit(given.read_limit.as_ref().map(ShortText::as_str)))
        }
        ns if ns == held => sender(LimitedBy::Source, "send", Why::RateLimit, ns),
        ns if ns == computing => sender(LimitedBy::Cpu, "compute", computes, ns),
        ns if ns == not_scheduled => sender(LimitedBy::Cpu, "compute", Why::NotScheduled, ns),
        ns => {
            let why = path_reason(report, given.path.as_ref(), of_ns, ns == sending);
            let host = match why {
                Why::ReceiveWindow => "receiver",
                // Each waits for the other; who called says of whom it is the peer.
                Why::Peer => "",
                _ => "sender",
            };
            of_path(why, host, report)
        }
    }
}

/// The path is the cause. Where it is the receiver's window, the writing side has said what bounds that.
fn of_path(why: Why, host: &str, report: &Report) -> (LimitedBy, LimitedDetail) {
    let LimitedDetail { waited_ns, of_ns, setting, .. } = &report.limited_detail;
    let setting = if why == Why::ReceiveWindow { setting.clone() } else { String::new() };
    let detail = LimitedDetail::here("network", why, *waited_ns, *of_ns);
    (LimitedBy::Network, LimitedDetail { host: host.into(), setting, ..detail })
}

/// Why the receiver waits while the sender would send, or has sent all that was asked for.
fn path_reason(report: &Report, path: Option<&TcpStats>, lanes_ns: u64, is_sending: bool) -> Why {
    // Through ssh nobody tells what the path did.
    let Some(path) = path else { return Why::Untold };
    let busy_ns = path.busy_ns as f64;
    let is_most = |ns: u64| ns as f64 >= BUSY_FRACTION * busy_ns && ns > 0;
    if !is_sending && busy_ns < BUSY_FRACTION * lanes_ns as f64 {
        // The sender waits to be asked, and nothing is under way.
        if takes_round_trips(report, path) { Why::RoundTrips } else { Why::Peer }
    } else if is_most(path.receive_window_limited_ns) {
        Why::ReceiveWindow
    } else if is_most(path.send_buffer_limited_ns) {
        Why::SendBuffer
    } else if loses(path) {
        Why::Loss
    } else if is_short_of_asking(report, path) {
        Why::RoundTrips
    } else {
        Why::CongestionWindow
    }
}

/// Whether losses keep the rate down: no queue explains them, and the congestion control heeds them.
fn loses(path: &TcpStats) -> bool {
    let is_queued = path.rtt_us >= QUEUED * path.min_rtt_us.max(1);
    let is_lossy = path.retransmitted_segments as f64 > LOSS_FRACTION * path.sent_segments as f64;
    is_lossy && !is_queued && path.ignores_loss != Some(true)
}

/// Whether most of the time went by until the other side answered about names, once for each round trip. Neither its
/// disk nor the path is slow then, whatever the kernel counts meanwhile.
fn waits_for_answers(report: &Report) -> bool {
    let trips = report.round_trips.map_or(0, |trips| trips.listing);
    let way_us = report.network.map_or(0, |network| network.round_trip_us());
    trips as f64 * way_us as f64 * 1e3 >= ANSWERS_FRACTION * report.elapsed_ns.max(1) as f64
}

/// Of two sides that wait for each other, the one that stands still is the other one, for whoever can still say so.
pub(crate) fn with_peer(mut report: Report, host: &str) -> Report {
    if report.limited_detail.why == Why::Peer {
        report.limited_detail.host = host.into();
    }
    report
}

/// Whether the way there and back, once for all that is asked for at a time, takes a notable part of the time; if not,
/// one of the two stands still while the other waits: it is stopped, or gets no CPU.
fn takes_round_trips(report: &Report, path: &TcpStats) -> bool {
    let asked = report.bytes_moved as f64 / asked_bytes(report).max(1.0);
    // Those that were counted, where the other side counts them.
    let counted = report.round_trips.map_or(0, |trips| trips.listing.saturating_add(trips.data));
    let way_us = path.rtt_us.max(round_trip_us(report, path));
    let way_ns = asked.max(counted as f64) * way_us as f64 * 1e3;
    way_ns >= WAY_FRACTION * report.elapsed_ns as f64
}

/// The bytes requested at a time by the lanes that have something to do.
fn asked_bytes(report: &Report) -> f64 {
    let lanes = report.limited_detail.of_ns as f64 / report.elapsed_ns.max(1) as f64;
    lanes * f64::from(report.source_depth) * f64::from(report.request_bytes)
}

/// Whether the path holds as much as is asked for at a time: rate x round trip, that without queues on the way.
fn is_short_of_asking(report: &Report, path: &TcpStats) -> bool {
    let bytes_per_second = report.bytes_moved as f64 * 1e9 / report.elapsed_ns.max(1) as f64;
    let under_way = bytes_per_second * round_trip_us(report, path) as f64 / 1e6;
    under_way >= ASKED_FRACTION * asked_bytes(report)
}

/// That without queues on the way: of what the kernel and the session saw the longer one.
fn round_trip_us(report: &Report, path: &TcpStats) -> u64 {
    path.min_rtt_us.max(report.network.map_or(0, |network| network.answer_us))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::RoundTrips;
    use datapump_core::verdict::Waits;

    /// A writer of one lane that waited for the network for 900 of 1000 ms.
    fn waiting() -> Report {
        let ms = 1_000_000;
        Report {
            limited_by: LimitedBy::Source,
            limited_detail: LimitedDetail::here("read", Why::Device, 900 * ms, 1000 * ms),
            waits_ns: Waits { source: 900 * ms, ..Waits::default() },
            elapsed_ns: 1000 * ms,
            bytes_moved: 100_000_000,
            lanes: 1,
            source_depth: 2,
            request_bytes: 1 << 20,
            network: Some(Network { connections: 1, ..Network::default() }),
            ..Report::default()
        }
    }

    /// Times in ms: disk, inside send, hashing, sealing, held back, CPU; of 1000.
    fn given(times: [u64; 6], path: Option<TcpStats>) -> SenderStats {
        let [disk, sending, hashing, sealing, held, cpu] = times.map(|ms| Some(ms * 1_000_000));
        SenderStats {
            source_wait_ns: disk,
            network_wait_ns: sending,
            hashing_ns: hashing,
            sealing_ns: sealing,
            rate_wait_ns: held,
            lanes_ns: Some(1_000_000_000),
            lanes_cpu_ns: cpu,
            path,
            ..SenderStats::default()
        }
    }

    fn path(busy_ms: u64, window_ms: u64, buffer_ms: u64) -> Option<TcpStats> {
        let ns = |ms| ms * 1_000_000;
        Some(TcpStats {
            sent_segments: 10_000,
            min_rtt_us: 100,
            busy_ns: ns(busy_ms),
            receive_window_limited_ns: ns(window_ms),
            send_buffer_limited_ns: ns(buffer_ms),
            ..TcpStats::default()
        })
    }

    #[test]
    fn a_wait_for_the_other_host_is_charged_to_what_stands_behind_it() {
        let lossy = path(950, 0, 0).map(|path| TcpStats { retransmitted_segments: 100, ..path });
        let held = lossy.map(|path| TcpStats { ignores_loss: Some(true), ..path });
        let full = lossy.map(|path| TcpStats { rtt_us: 250, ..path });
        let idle = path(50, 0, 0);
        let idle_far_away = idle.map(|path| TcpStats { min_rtt_us: 20_000, ..path });
        let far_away = path(950, 0, 0).map(|path| TcpStats { min_rtt_us: 20_000, ..path });
        for (times, path, limit, host, stage, why) in [
            ([900, 20, 20, 20, 0, 60], path(100, 0, 0), "source", "sender", "read", "device"),
            ([20, 20, 600, 200, 0, 800], path(900, 0, 0), "cpu", "sender", "compute", "hashing"),
            ([20, 20, 200, 600, 0, 950], path(900, 0, 0), "cpu", "sender", "compute", "encryption"),
            ([20, 700, 100, 100, 0, 900], path(900, 0, 0), "cpu", "sender", "compute", "copying"),
            ([20, 10, 20, 20, 900, 60], path(900, 0, 0), "source", "sender", "send", "rate limit"),
            ([20, 900, 20, 20, 0, 60], path(950, 900, 0), "network", "receiver", "network", "receive window"),
            ([20, 900, 20, 20, 0, 60], path(950, 10, 900), "network", "sender", "network", "send buffer"),
            (
                [20, 900, 20, 20, 0, 60],
                path(950, 10, 10),
                "network",
                "sender",
                "network",
                "congestion window",
            ),
            ([20, 900, 20, 20, 0, 60], lossy, "network", "sender", "network", "loss"),
            // A full path drops what it has no room for, and BBR does not slow down for that.
            ([20, 900, 20, 20, 0, 60], held, "network", "sender", "network", "congestion window"),
            ([20, 900, 20, 20, 0, 60], full, "network", "sender", "network", "congestion window"),
            ([20, 10, 20, 20, 0, 60], idle_far_away, "network", "sender", "network", "round trips"),
            // The requesting side was stopped for 3 of 3.5 s on a path of 0.1 ms: no round trips are that long.
            ([20, 10, 20, 20, 0, 60], idle, "network", "", "network", "peer"),
            ([20, 10, 20, 20, 0, 60], far_away, "network", "sender", "network", "round trips"),
            ([20, 10, 20, 20, 0, 60], path(950, 0, 0), "network", "sender", "network", "congestion window"),
            ([20, 900, 20, 20, 0, 60], None, "network", "sender", "network", ""),
        ] {
            let merged = merge_reports(waiting(), &given(times, path));
            let LimitedDetail { host: got_host, stage: got_stage, why: got_why, waited_ns, .. } =
                &merged.limited_detail;
            assert_eq!(
                (merged.limited_by.words(), got_host.as_str(), got_stage.as_str(), got_why.words()),
                (limit, host, stage, why),
                "{times:?}"
            );
            assert!(*waited_ns >= 800_000_000, "the seconds behind it: {merged:?}");
        }
    }

    /// A sender without a CPU waits wherever it is: its times say nothing of its disk or of the path.
    #[test]
    fn a_sender_that_gets_no_cpu_is_the_cause() {
        let ns = |ms: u64| Some(ms * 1_000_000);
        let given = given([300, 250, 20, 20, 0, 60], path(950, 0, 0));
        let held = SenderStats { quota_held_ns: ns(800), ..given.clone() };
        let busy = SenderStats { not_scheduled_ns: ns(350), ..given.clone() };
        for (given, limit, why, waited_ms) in [
            (held, LimitedBy::Cpu, Why::CpuQuota, 800),
            (busy, LimitedBy::Cpu, Why::NotScheduled, 350),
            (SenderStats { quota_held_ns: ns(100), ..given }, LimitedBy::Network, Why::CongestionWindow, 900),
        ] {
            let merged = merge_reports(waiting(), &given);
            let detail = &merged.limited_detail;
            assert_eq!((merged.limited_by, detail.why, detail.host.as_str()), (limit, why, "sender"));
            assert_eq!(detail.waited_ns, waited_ms * 1_000_000);
        }
    }

    /// The group of the sender bounds its reads: that is behind the wait for its disk, and for nothing else.
    #[test]
    fn a_limit_of_the_senders_group_is_named() {
        let limit = "10.0 MiB/s, /sys/fs/cgroup/a/io.max";
        for (times, why, setting) in [
            ([900, 20, 20, 20, 0, 60], Why::CgroupLimit, limit),
            ([20, 900, 20, 20, 0, 60], Why::CongestionWindow, ""),
        ] {
            let read_limit = Some(ShortText::shortened(limit));
            let merged =
                merge_reports(waiting(), &SenderStats { read_limit, ..given(times, path(950, 0, 0)) });
            let LimitedDetail { why: got, setting: of, .. } = &merged.limited_detail;
            assert_eq!((*got, of.as_str()), (why, setting), "{times:?}");
        }
    }

    /// A receiver that waits for its own disk is the cause, however full the window is for that.
    #[test]
    fn what_the_writing_side_waits_for_itself_is_its_own() {
        let full = given([20, 900, 20, 20, 0, 60], path(950, 900, 0));
        for limited_by in [LimitedBy::Sink, LimitedBy::Cpu, LimitedBy::Metadata, LimitedBy::Sync] {
            let merged = merge_reports(Report { limited_by, ..waiting() }, &full);
            assert_eq!((merged.limited_by, merged.limited_detail.host.as_str()), (limited_by, "receiver"));
            let network = merged.network.expect("there are connections");
            assert_eq!((network.receive_window_limited_ns, network.connections), (900_000_000, 1));
        }
        let mut shared = waiting();
        shared.limited_detail.why = Why::SharedDevice;
        let detail = merge_reports(shared, &given([900, 20, 20, 20, 0, 60], None)).limited_detail;
        assert_eq!((detail.host.as_str(), detail.why.words()), ("sender", "shared device"));
    }

    #[test]
    fn people_read_what_was_under_way_and_what_would_fill_the_path() {
        // 1 GB/s over 180 ms, which a relay hides from the kernel.
        let far = path(50, 0, 0).map(|path| TcpStats { delivered_bytes_per_second: 1_000_000_000, ..path });
        let network = Network { answer_us: 180_000, ..Network::default() };
        let round_trips = Some(RoundTrips { beginning: 1, data: 4, ending: 1, ..RoundTrips::default() });
        let report =
            Report { network: Some(network), round_trips, bytes_moved: 8000, requests: 900, ..waiting() };
        let merged = merge_reports(report, &given([20, 10, 20, 20, 0, 60], far));
        let words = "(6 round trips of 180 ms, 2 requests under way; 172 would fill the path)";
        assert!(merged.sentence().contains(words), "{}", merged.sentence());
    }

    /// A mirror with nothing to do that looks up each name: 1,725 times 20 ms of 38 s, with windows that seem full.
    #[test]
    fn answers_one_after_the_other_are_the_cause_whatever_the_kernel_counts() {
        let network = Some(Network { connections: 1, answer_us: 20_000, ..Network::default() });
        let of = |listing, requests| Report {
            network,
            round_trips: Some(RoundTrips { beginning: 1, listing, requests, ..RoundTrips::default() }),
            elapsed_ns: 38_000_000_000,
            bytes_moved: 0,
            ..waiting()
        };
        let given = given([20, 900, 20, 20, 0, 60], path(950, 900, 0));
        for (listing, requests, why, words) in [
            (1725, 1800, "round trips", Some("1,726 round trips of 20 ms, 1 request under way at a time")),
            (
                1725,
                27_000,
                "round trips",
                Some("1,726 round trips of 20 ms, 16 requests under way at a time"),
            ),
            // An older version counts no requests.
            (1725, 0, "round trips", Some("1,726 round trips of 20 ms")),
            (12, 27_000, "receive window", None),
        ] {
            let merged = merge_reports(of(listing, requests), &given);
            assert_eq!(merged.limited_detail.why.words(), why, "{listing} {requests}");
            let (bottleneck, sentence) = (merged.bottleneck().expect("a sentence"), merged.sentence());
            let Some(words) = words else { continue };
            let expected = format!("Bottleneck: waiting for answers, 90 % of the time: {words}.");
            assert_eq!(bottleneck, expected);
            assert!(
                sentence.contains(&format!("answers were waited for 34.20 of 38.00 s ({words})")),
                "{sentence}"
            );
        }
        // Through ssh no kernel tells of the path, and a side with no blocks to send has no lanes.
        let merged = merge_reports(of(1725, 1800), &SenderStats::default());
        assert_eq!(merged.limited_detail.why, Why::RoundTrips);
    }

    #[test]
    fn a_small_window_has_the_setting_behind_it() {
        let setting = "net.ipv4.tcp_window_scaling=0";
        let detail = LimitedDetail { setting: setting.into(), ..waiting().limited_detail };
        let report = Report { limited_detail: detail, ..waiting() };
        let full = merge_reports(report.clone(), &given([20, 900, 20, 20, 0, 60], path(950, 900, 0)));
        assert_eq!(full.limited_detail.setting, setting);
        assert!(full.bottleneck().is_some_and(|words| words.contains(setting)), "{full:?}");
        let other = merge_reports(report, &given([20, 900, 20, 20, 0, 60], path(950, 10, 10)));
        assert_eq!(other.limited_detail.setting, "");
    }

    #[test]
    fn people_read_whose_part_was_waited_for_and_how_long() {
        let merged =
            merge_reports(Report { limited_by: LimitedBy::Sink, ..waiting() }, &SenderStats::default());
        let detail = LimitedDetail { stage: "write".into(), ..merged.limited_detail.clone() };
        let words = Report { limited_detail: detail, ..merged }.sentence();
        assert!(
            words.contains("limited by sink: the receiver's disk was waited for 0.90 of 1.00 s"),
            "{words}"
        );
    }
}
