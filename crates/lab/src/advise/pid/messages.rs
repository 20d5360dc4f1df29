//! A verdict for people: one paragraph with the numbers behind it, and then what they are made of.
//!
//! Must not know: how a verdict was reached.

use std::fmt::Write as _;

use datapump::units::{bit_rate_words, bytes_words, rate_words};
use datapump::{LimitedBy, Why};

use super::verdict::Verdict;
use super::watched::{Role, Watched, WatchedConnection, WatchedDevice, WatchedFile};

/// Lines of each kind that are shown; `--json` has all.
const LINES_MAX: usize = 4;

/// The whole text.
pub fn paragraph(watched: &Watched, verdict: &Verdict) -> String {
    let mut text = format!("{}\n", sentence(watched, verdict));
    for line in moved(watched).iter().chain(&evidence(watched, verdict)) {
        let _ = writeln!(text, "  {line}");
    }
    for missing in &watched.could_not_read {
        let _ = writeln!(text, "  could not read {missing}");
    }
    let _ = writeln!(text, "try: {}", verdict.advice);
    text
}

fn seconds(ns: u64) -> String {
    format!("{:.1} s", ns as f64 / 1e9)
}

fn percent(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// `cp (1234), watched for 10.0 s: limited by source (device): it waited for reads for 9.4 s (94 %).`
fn sentence(watched: &Watched, verdict: &Verdict) -> String {
    let (command, pid) = (&watched.command, watched.pid);
    let more = match watched.processes.len() {
        0 | 1 => String::new(),
        several => format!(" and {} of its processes", several - 1),
    };
    let ended = if watched.ended { ", then it ended" } else { "" };
    let head = format!("{command} ({pid}){more}, watched for {}{ended}", seconds(watched.elapsed_ns));
    let detail = &verdict.limited_detail;
    let (waited, of) =
        (seconds(detail.waited_ns), percent(detail.waited_ns as f64 / detail.of_ns.max(1) as f64));
    let name = verdict.limited_by.words();
    match verdict.limited_by {
        LimitedBy::Unknown if detail.why == Why::Idle => format!("{head}: idle: it waits for clients."),
        LimitedBy::Unknown => format!("{head}: cannot tell what limits it: {}.", detail.why),
        LimitedBy::Balanced => format!("{head}: balanced: {}, {waited} ({of}) each.", detail.why),
        _ => {
            let setting = match detail.setting.as_str() {
                "" => String::new(),
                setting => format!(": {setting}"),
            };
            let why = why(detail.why);
            let did = match verdict.limited_by {
                LimitedBy::Cpu => on_cpu(watched),
                _ => format!("{} for {waited} ({of})", did(verdict)),
            };
            format!("{head}: limited by {name} ({why}{setting}): {did}.")
        }
    }
}

/// The reason in the words of people.
fn why(why: Why) -> &'static str {
    match why {
        Why::RoundTrips => "too few requests in flight",
        Why::Peer => "waiting for the peer",
        why => why.words(),
    }
}

/// What its busiest thread did: the kernel counts both times.
fn on_cpu(watched: &Watched) -> String {
    let busiest = watched.threads.iter().max_by_key(|thread| thread.cpu_ns + thread.run_delay_ns);
    let (ran, waited) = busiest.map_or((0, 0), |thread| (thread.cpu_ns, thread.run_delay_ns));
    let of = percent((ran + waited) as f64 / watched.elapsed_ns.max(1) as f64);
    format!("it ran on a CPU for {} and waited for one for {} ({of})", seconds(ran), seconds(waited))
}

fn did(verdict: &Verdict) -> &'static str {
    let detail = &verdict.limited_detail;
    match (detail.stage.as_str(), detail.why) {
        (_, Why::Pipe) => "it waited for the process at the other end of a pipe",
        (_, Why::RateLimit) => "it throttled itself",
        ("read", _) => "it waited for reads",
        ("write", _) => "it waited for writes",
        ("sync", _) => "it waited for stable storage",
        ("metadata", _) => "it waited for names and attributes",
        ("send", Why::ReceiveWindow) => "it had bytes to send and the peer's receive window was full",
        ("send", Why::Peer) => "all was sent, and it waited for the peer",
        ("send", _) => "it had bytes to send",
        _ => "it waited for bytes of the peer",
    }
}

/// The files that moved most; where none did (positions stand still when offsets are given), those that are open.
fn moved(watched: &Watched) -> Vec<String> {
    let of = |role: Role| {
        let own = move || watched.files.iter().filter(move |file| file.role == role);
        let mut lines: Vec<String> = own()
            .filter(|file| file.moved_bytes > 0 || file.other_process.is_some())
            .take(LINES_MAX)
            .map(|file| file_line(role, file))
            .collect();
        if lines.is_empty() {
            let files = own().filter(|file| file.device.is_some() || file.kind == "fifo");
            lines = files.take(LINES_MAX).map(|file| file_line(role, file)).collect();
        }
        lines
    };
    [of(Role::Source), of(Role::Sink)].concat()
}

fn file_line(role: Role, file: &WatchedFile) -> String {
    let name = if role == Role::Source { "source" } else { "sink" };
    let device = file.device.as_ref().map(|number| format!(" on device {number}")).unwrap_or_default();
    let rate =
        if file.moved_bytes > 0 { format!(", {}", rate_words(file.bytes_per_second)) } else { String::new() };
    let to = if role == Role::Source { "from" } else { "to" };
    let other = file.other_process.as_ref().map(|process| format!(" {to} {process}")).unwrap_or_default();
    format!("{name}: {} '{}'{other}{device}{rate}", file.kind, file.path)
}

fn evidence(watched: &Watched, verdict: &Verdict) -> Vec<String> {
    let shares = verdict.shares.iter().filter(|(_, share)| **share >= 0.01);
    let shares: Vec<String> = shares.map(|(name, share)| format!("{name} {}", percent(*share))).collect();
    let mut lines = Vec::new();
    if !shares.is_empty() {
        lines.push(format!("time, of the thread that has most of it: {}", shares.join(", ")));
    }
    let used =
        |it: &&WatchedDevice| it.reads + it.writes > 0 || it.read_rule.is_some() || it.write_rule.is_some();
    lines.extend(watched.devices.iter().filter(used).take(LINES_MAX).map(|it| device_line(watched, it)));
    let busy = |it: &&WatchedConnection| it.sent_bytes + it.received_bytes > 0 || it.busy_ns > 0;
    lines.extend(
        watched.connections.iter().filter(busy).take(LINES_MAX).map(|it| connection_line(watched, it)),
    );
    if watched.throttled_ns > 0 {
        lines.push(format!("its CPU quota held it back for {}", seconds(watched.throttled_ns)));
    }
    if let Some(limit) = &watched.memory_limit {
        let held = seconds(watched.memory_held_ns);
        lines.push(format!(
            "the limit of its control group for memory ({limit}) held threads back for {held}"
        ));
    }
    lines
}

fn device_line(watched: &Watched, device: &WatchedDevice) -> String {
    let elapsed = watched.elapsed_ns.max(1) as f64;
    let busy = percent(device.busy_ns as f64 / elapsed);
    let rate = |bytes: u64| rate_words(bytes as f64 * 1e9 / elapsed);
    let mean = |bytes: u64, requests: u64| bytes_words(bytes / requests.max(1));
    let part = |name: &str, requests: u64, bytes: u64| {
        if requests == 0 {
            String::new()
        } else {
            format!(", {name} {} in requests of {}", rate(bytes), mean(bytes, requests))
        }
    };
    let rules = device.read_rule.iter().chain(&device.write_rule);
    let rules: String = rules.map(|rule| format!(", limited by its control group: {rule}")).collect();
    let (name, number) = (&device.name, &device.number);
    let (read, written) =
        (part("read", device.reads, device.read_bytes), part("written", device.writes, device.write_bytes));
    format!("device {number} ({name}): busy {busy}{read}{written}{rules}")
}

fn connection_line(watched: &Watched, it: &WatchedConnection) -> String {
    let rate = |bytes: u64| bit_rate_words(bytes as f64 * 1e9 / watched.elapsed_ns.max(1) as f64);
    let (name, again, sent) = (&it.connection, it.retransmitted_segments, it.sent_segments);
    format!(
        "connection {name}: sent {}, received {}, busy {}, receive window full {}, send buffer full {}, {again} of \
         {sent} segments sent again, round trip {:.1} ms, congestion window {} segments",
        rate(it.sent_bytes),
        rate(it.received_bytes),
        seconds(it.busy_ns),
        seconds(it.receive_window_limited_ns),
        seconds(it.send_buffer_limited_ns),
        f64::from(it.rtt_us) / 1000.0,
        it.congestion_window_segments,
    )
}
