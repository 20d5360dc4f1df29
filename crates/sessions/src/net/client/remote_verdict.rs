//! The verdict over two hosts: the report of the side that writes, and what the side that reads says of its time.
//!
//! To the writing side everything behind its connection is the source: what it waited for there is looked for at the
//! reading side. That one waited for its disk, computed, was inside calls that send, or had nothing to do; and its
//! kernel tells whether the path was busy meanwhile, and whose window was full.
//!
//! Must not know: how the two were told.

use datapump_core::verdict::{
    CPU_FRACTION, HELD_FRACTION, LimitedBy, LimitedDetail, Why, contended_ns, shares_its_cpu,
    waited_for_others_ns,
};
use datapump_core::wire::session::{SenderStats, TcpStats};
use datapump_engine::Spent;
use datapump_engine::os::linux::cpus;
use datapump_transport::is_long_path;

use crate::report::bill::{Bill, BillHost, KernelThreads, MeasuredHost};
use crate::report::{Network, Report};

/// A path that has something under way for less than this part of the time is not what is slow.
const BUSY_FRACTION: f64 = 0.5;
/// Segments over a long path are paced: a window that is as small as what is under way is full only when its last
/// segment has gone, for a sixth of the round trip (Linux paces at 1.2 times the rate); for a third of 12.5 s, measured.
const PACED_FRACTION: f64 = 0.15;
/// Segments sent again, of all: below this no stack lets go of much of its window.
const LOSS_FRACTION: f64 = 0.001;
/// A round trip this much longer than the shortest one has a queue on its way: the path is full.
const QUEUED: u64 = 2;
/// Round trips that take less than this part of the time are not what is slow.
const WAY_FRACTION: f64 = 0.1;
/// Answers about names, one after the other, that take this part of the time are what is slow.
const ANSWERS_FRACTION: f64 = 0.5;
/// Names of the sender that take this part of the receiver's time explain it, where nothing else took as long.
const NAMES_FRACTION: f64 = 0.25;
/// Waits of the sender for the clock of a file system that take this part of the time are what the receiver waits for.
const CLOCK_FRACTION: f64 = 0.5;
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
    if report.limited_by == LimitedBy::Source {
        let is_limited = report.limited_detail.why.is_rate_limit();
        let cause = if is_limited { lower_limit(&report, given) } else { Some(find_cause(&report, given)) };
        if let Some(cause) = cause {
            (report.limited_by, report.limited_detail) = cause;
        }
    }
    // Names and data may be waited for about equally long.
    let may_wait = matches!(report.limited_by, LimitedBy::Metadata | LimitedBy::Balanced);
    if let Some(cause) = quota_cause(&report, given).filter(|_| may_wait) {
        (report.limited_by, report.limited_detail) = cause;
    } else if report.limited_by == LimitedBy::Metadata
        && 2 * names_wait_ns(given) >= report.limited_detail.waited_ns
    {
        report.limited_detail.host = "sender".into();
    }
    let cpus = cpus().max(given.cpus.unwrap_or(0));
    if report.limited_detail.why == Why::NotScheduled && is_kept_busy_by_both(&report, given, cpus) {
        report.limited_detail.why = computing_of(&report, given);
    }
    report.bill = bill_of_hosts(&report, given);
    report
}

/// The bill of both hosts, of those that told theirs.
pub(crate) fn bill_of_hosts(report: &Report, given: &SenderStats) -> Option<Bill> {
    let moved = report.moved();
    let sender = given.spent_ns.map(|spent_ns| {
        let (spent, kernel) = (Spent(spent_ns), KernelThreads::seen(given.kernel_ns));
        let measured = MeasuredHost { spent, process_ns: process_ns(given), kernel };
        Bill::from_measured(BillHost::Sender, &measured, moved)
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

/// How long the sender waited for its file system while it answered about names. Whatever its process computed may have
/// been for that.
fn names_wait_ns(given: &SenderStats) -> u64 {
    given.names_ns.unwrap_or(0).saturating_sub(process_ns(given))
}

/// CPU time of the sender's process, where it reports that.
fn process_ns(given: &SenderStats) -> u64 {
    given.user_ns.unwrap_or(0) + given.system_ns.unwrap_or(0)
}

/// Whether both processes run on one machine, and their lanes waited for a CPU that the two of them had, most of that time.
fn is_kept_busy_by_both(report: &Report, given: &SenderStats, cpus: u32) -> bool {
    let both_ns = report.cpu.total_ns() + process_ns(given);
    let cpus_ns = cpus_ns(report, given, Some(cpus));
    let waited_ns = report.waits_ns.not_scheduled.saturating_add(given.not_scheduled_ns.unwrap_or(0));
    let others_ns = waited_for_others_ns(waited_ns, cpus_ns, both_ns);
    let is_one_machine = report.network.is_some_and(|network| network.same_host);
    is_one_machine && others_ns < waited_ns - others_ns
}

/// The time of so many CPUs at the sender for which its lanes can have waited.
fn cpus_ns(report: &Report, given: &SenderStats, cpus: Option<u32>) -> u64 {
    contended_ns(cpus, report.elapsed_ns, given.busy_cpus_ns, given.quota_held_ns.unwrap_or(0))
}

/// The largest computation of the host that limits.
fn computing_of(report: &Report, given: &SenderStats) -> Why {
    if report.limited_detail.host == "sender" {
        let ns = |ns: Option<u64>| ns.unwrap_or(0);
        return computing(ns(given.hashing_ns), ns(given.sealing_ns), ns(given.lanes_cpu_ns));
    }
    let opening_ns = report.network.map_or(0, |network| network.opening_ns);
    computing(report.waits_ns.hashing, opening_ns, report.lanes_cpu_ns)
}

/// Most of what was computed; the rest is what the kernel copies.
fn computing(hashing_ns: u64, sealing_ns: u64, cpu_ns: u64) -> Why {
    if hashing_ns.max(sealing_ns).saturating_mul(2) < cpu_ns {
        Why::Copying
    } else if hashing_ns > sealing_ns {
        Why::Hashing
    } else {
        Why::Encryption
    }
}

/// The limit of the sender, where one holds back the receiver, too, and it is the lower one: that holds its side back for
/// longer. A sender that is held back is a server: the limit of a client is kept to by the side that writes.
fn lower_limit(report: &Report, given: &SenderStats) -> Option<(LimitedBy, LimitedDetail)> {
    let (held_ns, of_ns) = given.rate_wait_ns.zip(given.lanes_ns)?;
    let LimitedDetail { waited_ns, of_ns: own_of_ns, .. } = report.limited_detail;
    let product = |one: u64, other: u64| u128::from(one) * u128::from(other);
    let is_lower = product(held_ns, own_of_ns) > product(waited_ns, of_ns);
    is_lower.then(|| of_sender(given, LimitedBy::Source, "send", Why::ServerLimit, held_ns))
}

/// A cause at the sender, and the time of its lanes behind it.
fn of_sender(
    given: &SenderStats,
    limit: LimitedBy,
    stage: &str,
    why: Why,
    waited_ns: u64,
) -> (LimitedBy, LimitedDetail) {
    let of_ns = given.lanes_ns.unwrap_or(0);
    // An older version reads for digests in more threads than it counts.
    let detail = LimitedDetail::here(stage, why, waited_ns.min(of_ns), of_ns);
    (limit, LimitedDetail { host: "sender".into(), ..detail })
}

/// What limited the sender, where the receiver waited for it.
fn find_cause(report: &Report, given: &SenderStats) -> (LimitedBy, LimitedDetail) {
    let of_ns = given.lanes_ns.unwrap_or(0);
    let sender = |limit, stage: &str, why, waited_ns| of_sender(given, limit, stage, why, waited_ns);
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
    let computes = computing(hashing, sealing, cpu);
    let cpus_ns = cpus_ns(report, given, given.cpus);
    let not_scheduled = waited_for_others_ns(waited(given.not_scheduled_ns), cpus_ns, cpu);
    let waited_for_itself = waited(given.not_scheduled_ns) - not_scheduled;
    let cpu = cpu + waited_for_itself;
    if cpu as f64 >= CPU_FRACTION * of_ns as f64 {
        return sender(LimitedBy::Cpu, "compute", computes, cpu);
    }
    if let Some(cause) = quota_cause(report, given) {
        return cause;
    }
    if let Some(cause) = names_cause(report, given, disk.max(held).max(sending)) {
        return cause;
    }
    // Both are times of a clock, in which others may have had the CPU.
    let computed = (hashing + sealing).min(given.lanes_cpu_ns.unwrap_or(u64::MAX)) + waited_for_itself;
    let idle = of_ns.saturating_sub(disk + sending + held + computed + not_scheduled);
    let known = disk.max(held).max(computed).max(not_scheduled).max(sending);
    if idle > known && waits_for_clock(report, given) {
        return sender(LimitedBy::Balanced, "", Why::NoStage, known);
    }
    let is_shared = shares_its_cpu(not_scheduled, computed, of_ns);
    match known.max(idle) {
        ns if ns == disk => {
            let (limit, detail) = sender(LimitedBy::Source, "read", disk_reason(report, given), ns);
            (limit, with_read_limit(detail, given))
        }
        ns if ns == held => sender(LimitedBy::Source, "send", Why::ServerLimit, ns),
        ns if ns == computed && !is_shared => sender(LimitedBy::Cpu, "compute", computes, ns),
        ns if ns == computed || ns == not_scheduled => {
            sender(LimitedBy::Cpu, "compute", Why::NotScheduled, not_scheduled)
        }
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

/// A sender that its quota kept from running for so long is the cause of any wait for it, also of one for names.
fn quota_cause(report: &Report, given: &SenderStats) -> Option<(LimitedBy, LimitedDetail)> {
    let held = given.quota_held_ns.unwrap_or(0) as f64 / report.elapsed_ns.max(1) as f64;
    let of_ns = given.lanes_ns.filter(|&ns| ns > 0 && held >= HELD_FRACTION)?;
    let held_ns = (held.min(1.0) * of_ns as f64) as u64;
    let detail = LimitedDetail::here("compute", Why::CpuQuota, held_ns, of_ns);
    Some((LimitedBy::Cpu, LimitedDetail { host: "sender".into(), ..detail }))
}

/// Whether the sender waited for the clock of its file system for most of the copy. That is charged to nobody, as on one host.
fn waits_for_clock(report: &Report, given: &SenderStats) -> bool {
    let settling_ns = given.settling_ns.unwrap_or(0);
    settling_ns as f64 >= CLOCK_FRACTION * report.elapsed_ns.max(1) as f64
}

/// The sender's names, where they took a large part of the receiver's time, and more than what else the sender waited for.
/// Each lane of the receiver waits for one thread of the sender at a time: both are sums over these.
fn names_cause(report: &Report, given: &SenderStats, others_ns: u64) -> Option<(LimitedBy, LimitedDetail)> {
    let (names_ns, of_ns) = (names_wait_ns(given), report.limited_detail.of_ns);
    if (names_ns as f64) < NAMES_FRACTION * of_ns as f64 || names_ns <= others_ns {
        return None;
    }
    let detail = LimitedDetail::here("metadata", Why::NamesAndAttributes, names_ns.min(of_ns), of_ns);
    Some((LimitedBy::Metadata, LimitedDetail { host: "sender".into(), ..detail }))
}

/// Why the sender waits for its source.
fn disk_reason(report: &Report, given: &SenderStats) -> Why {
    match report.limited_detail.why {
        Why::SharedDevice => Why::SharedDevice,
        _ if given.reads_a_pipe == Some(true) => Why::Pipe,
        _ => Why::Device,
    }
}

/// The limit of the sender's control group is behind a wait for its source, if its reads reached it.
fn with_read_limit(detail: LimitedDetail, given: &SenderStats) -> LimitedDetail {
    match &given.read_limit {
        Some(setting) => detail.with_limit(Why::CgroupLimit, setting.as_str()),
        None => detail,
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
    let is_at_least = |fraction: f64, ns: u64| ns as f64 >= fraction * busy_ns && ns > 0;
    let is_most = |ns: u64| is_at_least(BUSY_FRACTION, ns);
    let is_bound =
        |ns: u64| is_long_path(path.min_rtt_us.saturating_mul(1000)) && is_at_least(PACED_FRACTION, ns);
    if !is_sending && busy_ns < BUSY_FRACTION * lanes_ns as f64 {
        // The sender waits to be asked, and nothing is under way.
        if takes_round_trips(report, path) { Why::RoundTrips } else { Why::Peer }
    } else if is_most(path.receive_window_limited_ns) {
        Why::ReceiveWindow
    } else if is_most(path.send_buffer_limited_ns) {
        Why::SendBuffer
    } else if loses(path) {
        Why::Loss
    } else if is_bound(path.receive_window_limited_ns.max(path.send_buffer_limited_ns)) {
        let is_window = path.receive_window_limited_ns > path.send_buffer_limited_ns;
        if is_window { Why::ReceiveWindow } else { Why::SendBuffer }
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

/// What only the client knows: which side is the peer, where two wait for each other, and whether it set a limit of the
/// rate. A server of an older version does not say that a limit is its own.
pub(crate) fn seen_by_client(mut report: Report, peer: &str, has_own_limit: bool) -> Report {
    if report.limited_detail.why == Why::RateLimit && !has_own_limit {
        report.limited_detail.why = Why::ServerLimit;
    }
    if report.limited_detail.why == Why::Peer {
        report.limited_detail.host = peer.into();
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
mod tests;
