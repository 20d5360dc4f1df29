//! Verdicts over two hosts, by what each says of its time.

use super::*;
use crate::report::RoundTrips;
use datapump_core::verdict::Waits;
use datapump_core::wire::session::ShortText;

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
    let idle_remote = idle.map(|path| TcpStats { min_rtt_us: 20_000, ..path });
    let far = |path: Option<TcpStats>| path.map(|path| TcpStats { min_rtt_us: 40_000, ..path });
    let (paced_window, paced_buffer) = (far(path(950, 300, 20)), far(path(950, 20, 200)));
    let long_path = path(950, 0, 0).map(|path| TcpStats { min_rtt_us: 20_000, ..path });
    for (times, path, limit, host, stage, why) in [
        ([900, 20, 20, 20, 0, 60], path(100, 0, 0), "source", "sender", "read", "device"),
        ([20, 20, 600, 200, 0, 800], path(900, 0, 0), "cpu", "sender", "compute", "hashing"),
        ([20, 20, 200, 600, 0, 950], path(900, 0, 0), "cpu", "sender", "compute", "encryption"),
        ([20, 700, 100, 100, 0, 900], path(900, 0, 0), "cpu", "sender", "compute", "copying"),
        ([20, 10, 20, 20, 900, 60], path(900, 0, 0), "source", "sender", "send", "rate limit of the server"),
        ([20, 900, 20, 20, 0, 60], path(950, 900, 0), "network", "receiver", "network", "receive window"),
        ([20, 900, 20, 20, 0, 60], path(950, 10, 900), "network", "sender", "network", "send buffer"),
        ([20, 900, 20, 20, 0, 60], path(950, 10, 10), "network", "sender", "network", "congestion window"),
        ([20, 900, 20, 20, 0, 60], lossy, "network", "sender", "network", "loss"),
        // A full path drops what it has no room for, and BBR does not slow down for that.
        ([20, 900, 20, 20, 0, 60], held, "network", "sender", "network", "congestion window"),
        ([20, 900, 20, 20, 0, 60], full, "network", "sender", "network", "congestion window"),
        ([20, 900, 20, 20, 0, 60], paced_window, "network", "receiver", "network", "receive window"),
        ([20, 900, 20, 20, 0, 60], paced_buffer, "network", "sender", "network", "send buffer"),
        // Near by nothing is paced.
        ([20, 900, 20, 20, 0, 60], path(950, 200, 0), "network", "sender", "network", "congestion window"),
        ([20, 10, 20, 20, 0, 60], idle_remote, "network", "sender", "network", "round trips"),
        // The requesting side was stopped for 3 of 3.5 s on a path of 0.1 ms: no round trips are that long.
        ([20, 10, 20, 20, 0, 60], idle, "network", "", "network", "peer"),
        ([20, 10, 20, 20, 0, 60], long_path, "network", "sender", "network", "round trips"),
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

/// A file as young as the tick of its file system is read again when a change would show: nobody keeps the other waiting.
#[test]
fn a_wait_for_the_clock_of_a_file_system_is_no_peer() {
    for (settling_ms, limit, why) in [
        (0, LimitedBy::Network, Why::Peer),
        (400, LimitedBy::Network, Why::Peer),
        (800, LimitedBy::Balanced, Why::NoStage),
    ] {
        let idle = given([20, 10, 20, 20, 0, 60], path(50, 0, 0));
        let idle = SenderStats { settling_ns: Some(settling_ms * 1_000_000), ..idle };
        let merged = merge_reports(waiting(), &idle);
        assert_eq!((merged.limited_by, merged.limited_detail.why), (limit, why), "{settling_ms} ms");
    }
    let busy = given([900, 10, 20, 20, 0, 60], path(50, 0, 0));
    let busy = SenderStats { settling_ns: Some(800_000_000), ..busy };
    assert_eq!(merge_reports(waiting(), &busy).limited_by, LimitedBy::Source, "its disk");
}

/// A writer of one lane that a limit held back for so many of 1000 ms.
fn held_back(why: Why, ms: u64) -> Report {
    let ns = ms * 1_000_000;
    Report {
        limited_detail: LimitedDetail::here("read", why, ns, 1_000_000_000),
        waits_ns: Waits { rate_limit: ns, ..Waits::default() },
        ..waiting()
    }
}

/// The lower of two limits holds its side back for longer. It is named, with the host that it is set at.
#[test]
fn the_lower_of_two_limits_is_named_with_its_host() {
    use Why::{RateLimit, ServerLimit};
    let held = |ms| given([20, 10, 20, 20, ms, 60], path(900, 0, 0));
    for (what, report, held_ms, has_own, host, why) in [
        ("a pull from a server with one", waiting(), 900, false, "sender", ServerLimit),
        ("and the client has a higher one", held_back(RateLimit, 600), 900, true, "sender", ServerLimit),
        ("or a lower one", held_back(RateLimit, 900), 600, true, "receiver", RateLimit),
        ("a push to a server with one", held_back(ServerLimit, 900), 0, false, "receiver", ServerLimit),
        ("and the client has a higher one", held_back(ServerLimit, 900), 0, true, "receiver", ServerLimit),
        ("or a lower one", held_back(RateLimit, 900), 0, true, "receiver", RateLimit),
        ("a server of an older version", held_back(RateLimit, 900), 0, false, "receiver", ServerLimit),
        ("from one server to another", held_back(ServerLimit, 600), 900, false, "sender", ServerLimit),
        ("and that has the lower one", held_back(ServerLimit, 900), 600, false, "receiver", ServerLimit),
    ] {
        let seen = seen_by_client(merge_reports(report, &held(held_ms)), "receiver", has_own);
        let LimitedDetail { host: got_host, why: got, .. } = &seen.limited_detail;
        assert_eq!((seen.limited_by, got_host.as_str(), *got), (LimitedBy::Source, host, why), "{what}");
    }
    let stopped = merge_reports(waiting(), &given([20, 10, 20, 20, 0, 60], path(50, 0, 0)));
    assert_eq!(seen_by_client(stopped, "sender", false).limited_detail.host, "sender");
}

/// A sender without a CPU waits wherever it is: its times say nothing of its disk or of the path.
#[test]
fn a_sender_that_gets_no_cpu_is_the_cause() {
    let ns = |ms: u64| Some(ms * 1_000_000);
    let shared = given([20, 10, 300, 190, 0, 500], path(950, 0, 0));
    let shared = SenderStats { not_scheduled_ns: ns(460), ..shared };
    let given = given([300, 250, 20, 20, 0, 60], path(950, 0, 0));
    let held = SenderStats { quota_held_ns: ns(800), ..given.clone() };
    let busy = SenderStats { not_scheduled_ns: ns(350), ..given.clone() };
    for (given, limit, why, waited_ms) in [
        (held, LimitedBy::Cpu, Why::CpuQuota, 800),
        (busy, LimitedBy::Cpu, Why::NotScheduled, 350),
        // With one other program on its CPU it gets about half.
        (shared, LimitedBy::Cpu, Why::NotScheduled, 460),
        (SenderStats { quota_held_ns: ns(100), ..given }, LimitedBy::Network, Why::CongestionWindow, 900),
    ] {
        let merged = merge_reports(waiting(), &given);
        let detail = &merged.limited_detail;
        assert_eq!((merged.limited_by, detail.why, detail.host.as_str()), (limit, why, "sender"));
        assert_eq!(detail.waited_ns, waited_ms * 1_000_000);
    }
}

/// A tree of 24 MiB under a quota of 5 % of a CPU was `metadata` of the receiver in one run of three.
#[test]
fn a_sender_that_its_quota_holds_is_waited_for_also_for_names() {
    let ns = |ms: u64| Some(ms * 1_000_000);
    let given = given([20, 10, 20, 20, 0, 60], path(50, 0, 0));
    use LimitedBy::{Balanced, Cpu, Metadata, Sink};
    for (limited_by, held_ms, limit) in
        [(Metadata, 800, Cpu), (Metadata, 400, Metadata), (Balanced, 800, Cpu), (Sink, 800, Sink)]
    {
        let waits = Report { limited_by, ..waiting() };
        let merged = merge_reports(waits, &SenderStats { quota_held_ns: ns(held_ms), ..given.clone() });
        let is_quota = merged.limited_detail.why == Why::CpuQuota;
        assert_eq!((merged.limited_by, is_quota), (limit, limit == Cpu), "{limited_by:?}, {held_ms} ms");
    }
}

/// A file that a program writes into a pipe at its own pace.
#[test]
fn a_pipe_that_the_sender_reads_is_named() {
    for (reads_a_pipe, why) in [(Some(true), Why::Pipe), (Some(false), Why::Device), (None, Why::Device)] {
        let given = SenderStats { reads_a_pipe, ..given([900, 20, 20, 20, 0, 60], path(100, 0, 0)) };
        let merged = merge_reports(waiting(), &given);
        assert_eq!((merged.limited_by, merged.limited_detail.why), (LimitedBy::Source, why));
    }
}

/// A file system whose names come from a slow server, at the host that reads: whoever asks waits.
#[test]
fn a_sender_whose_names_take_long_is_the_cause() {
    let ns = |ms: u64| ms * 1_000_000;
    let given = |names_ms| SenderStats {
        names_ns: Some(ns(names_ms)),
        user_ns: Some(ns(30)),
        ..given([20, 10, 20, 20, 0, 60], path(50, 0, 0))
    };
    for (limited_by, names_ms, limit, host) in [
        (LimitedBy::Metadata, 800, LimitedBy::Metadata, "sender"),
        (LimitedBy::Metadata, 100, LimitedBy::Metadata, "receiver"),
        (LimitedBy::Source, 800, LimitedBy::Metadata, "sender"),
        (LimitedBy::Source, 100, LimitedBy::Network, ""),
    ] {
        let merged = merge_reports(Report { limited_by, ..waiting() }, &given(names_ms));
        assert_eq!((merged.limited_by, merged.limited_detail.host.as_str()), (limit, host), "{names_ms}");
    }
}

/// As many threads at the sender answer as lanes of the receiver wait: together they take a fifth of the time of each.
#[test]
fn names_of_many_threads_are_a_part_of_the_time_of_many_lanes() {
    let ns = |ms: u64| ms * 1_000_000;
    let given = |names_ms| SenderStats {
        names_ns: Some(ns(names_ms)),
        ..given([20, 10, 20, 20, 0, 60], path(50, 0, 0))
    };
    for (lanes, names_ms, limit) in [
        (1, 800, LimitedBy::Metadata),
        (4, 800, LimitedBy::Network),
        (4, 1200, LimitedBy::Metadata),
        (4, 4800, LimitedBy::Metadata),
    ] {
        let mut report = waiting();
        (report.limited_detail.waited_ns, report.limited_detail.of_ns) = (lanes * ns(900), lanes * ns(1000));
        let merged = merge_reports(report, &given(names_ms));
        assert_eq!(merged.limited_by, limit, "{lanes} {names_ms}");
        assert!(merged.limited_detail.waited_ns <= merged.limited_detail.of_ns, "{merged:?}");
    }
}

/// Two processes on one machine of two CPUs that wait for each other have these alone; with a third one they do not.
#[test]
fn two_sides_on_one_machine_wait_for_each_other() {
    let ns = |ms: u64| ms * 1_000_000;
    for (same_host, cpu_ms, why) in
        [(true, 900, Why::Encryption), (true, 400, Why::NotScheduled), (false, 900, Why::NotScheduled)]
    {
        let waits_ns = Waits { not_scheduled: ns(900), ..Waits::default() };
        let mut report =
            Report { limited_by: LimitedBy::Cpu, lanes_cpu_ns: ns(cpu_ms), waits_ns, ..waiting() };
        report.limited_detail = LimitedDetail::here("compute", Why::NotScheduled, ns(900), ns(1000));
        report.cpu.user_ns = ns(cpu_ms);
        report.network =
            report.network.map(|network| Network { same_host, opening_ns: ns(cpu_ms), ..network });
        let given = SenderStats { user_ns: Some(ns(cpu_ms)), ..SenderStats::default() };
        let is_both = is_kept_busy_by_both(&report, &given, 2);
        report.limited_detail.why = if is_both { computing_of(&report, &given) } else { Why::NotScheduled };
        assert_eq!(report.limited_detail.why, why, "{same_host} {cpu_ms}");
    }
}

/// Four lanes of a sender of two CPUs, or of eight CPUs that run nothing else.
#[test]
fn lanes_of_a_sender_that_wait_for_each_other_compute() {
    let ns = |ms: u64| Some(ms * 1_000_000);
    let given = |cpus, busy_cpus_ns| SenderStats {
        lanes_ns: ns(4000),
        lanes_cpu_ns: ns(1800),
        sealing_ns: ns(1500),
        not_scheduled_ns: ns(2100),
        cpus,
        busy_cpus_ns,
        ..SenderStats::default()
    };
    for (cpus, busy_cpus_ns, why) in [
        (Some(2), None, Why::Encryption),
        (Some(8), None, Why::NotScheduled),
        (None, None, Why::NotScheduled),
        (Some(8), ns(1900), Why::Encryption),
        (Some(8), ns(7000), Why::NotScheduled),
    ] {
        let detail = merge_reports(waiting(), &given(cpus, busy_cpus_ns)).limited_detail;
        assert_eq!((detail.host.as_str(), detail.why), ("sender", why), "{cpus:?} {busy_cpus_ns:?}");
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
        let merged = merge_reports(waiting(), &SenderStats { read_limit, ..given(times, path(950, 0, 0)) });
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
        (1725, 27_000, "round trips", Some("1,726 round trips of 20 ms, 16 requests under way at a time")),
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
    let merged = merge_reports(Report { limited_by: LimitedBy::Sink, ..waiting() }, &SenderStats::default());
    let detail = LimitedDetail { stage: "write".into(), ..merged.limited_detail.clone() };
    let words = Report { limited_detail: detail, ..merged }.sentence();
    assert!(words.contains("limited by sink: the receiver's disk was waited for 0.90 of 1.00 s"), "{words}");
}
