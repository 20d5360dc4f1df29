//! From what was seen to what limits: a pure function. A label comes with its share of the time, or not at all.
//!
//! A chain of processes is limited by the one that waits for something outside of it, or computes, most of the time;
//! the others wait for each other. So a share is that of the one thread that has most of it. Must not know: how numbers
//! were taken, how a verdict is printed.

use std::collections::BTreeMap;

use datapump::{LimitedBy, LimitedDetail, Why};
use schemars::JsonSchema;
use serde::Serialize;

use super::advice::{ENDED, IDLE, MEMORY_ONLY, STOPPED, advice};
use super::wait::Doing;
use super::watched::{Process, Role, Thread, Watched, WatchedConnection, WatchedDevice, WatchedFile};

/// A lead below this fraction of the time is no lead.
const BALANCED_FRACTION: f64 = 0.10;
/// Below this fraction of the time the largest share explains too little.
const EXPLAINS_FRACTION: f64 = 0.25;
/// A device that is busy for less than this part of the time that is waited for it could do more.
const BUSY_FRACTION: f64 = 0.5;
/// With fewer requests than this in a busy device on average, it gets them one by one.
const ONE_BY_ONE: f64 = 1.2;
/// A device that gets larger requests one by one is well used; with smaller ones the time is that of each request.
const SMALL_REQUEST_BYTES: u64 = 64 * 1024;
/// Above this fraction of segments sent again the path loses too many to keep its window open.
const LOSS_FRACTION: f64 = 0.005;
/// A round trip this much longer than the shortest one has a queue on its way: what is lost there is lost because the
/// path is full.
const QUEUED: u32 = 2;
/// A window that is the cause is full for this part of the time that there is something to send.
const WINDOW_FRACTION: f64 = 0.5;
/// A quota that keeps threads from running for this part of the time is the cause.
const QUOTA_FRACTION: f64 = 0.2;
/// A limit of a rate that was given is reached at this part of it.
const LIMIT_FRACTION: f64 = 0.8;
/// Stalls for memory that last this part of a wait for a disk are its cause, as in the report of a copy.
const MEMORY_FRACTION: f64 = 0.25;
/// A process that sleeps and moves fewer bytes than this is not held back by a rate: a shell that starts a program now
/// and then moves some, too.
const SLEEPER_BYTES_MIN: u64 = 16 << 10;
/// Files on disks with less than one in so many of the bytes that calls moved are logs and the like.
const DISK_PART: u64 = 10;
/// Fewer looks than this tell nothing.
const ROUNDS_MIN: u32 = 20;

/// What limits a process, and what to try.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// The cause.
    pub limited_by: LimitedBy,
    /// Where and why.
    pub limited_detail: LimitedDetail,
    /// The largest share of the time that any one thread spent so.
    pub shares: BTreeMap<&'static str, f64>,
    /// The one thing to try.
    pub advice: &'static str,
}

/// Where time goes. Names of shares in the output.
const SHARES: [&str; 10] =
    ["source", "sink", "sync", "metadata", "network_out", "network_in", "cpu", "sleep", "queue", "poll"];

/// A part that may be the cause: its share of the time, and what it is called.
#[derive(Clone, Debug)]
struct Candidate {
    share: f64,
    limited_by: LimitedBy,
    host: &'static str,
    stage: &'static str,
    why: Why,
}

/// Says what limits.
pub fn verdict(watched: &Watched) -> Verdict {
    let shares: BTreeMap<&'static str, f64> =
        SHARES.iter().map(|&name| (name, share(watched, name))).collect();
    let found = behind(watched, cause(watched, &shares), &shares);
    let advice = tried(watched, &found);
    let waited_ns = (found.share.min(1.0) * watched.elapsed_ns as f64) as u64;
    let (host, stage, why) = (found.host.into(), found.stage.into(), found.why);
    let setting = match why {
        Why::CgroupLimit => limit_set(watched, &found),
        Why::MemoryLimit => watched.memory_limit.clone().unwrap_or_default(),
        Why::RateLimit => rate_limit(watched).and_then(|it| it.rate_limit.clone()).unwrap_or_default(),
        _ => String::new(),
    };
    Verdict {
        limited_by: found.limited_by,
        limited_detail: LimitedDetail { host, stage, why, waited_ns, of_ns: watched.elapsed_ns, setting },
        shares,
        advice,
    }
}

fn tried(watched: &Watched, found: &Candidate) -> &'static str {
    match (found.limited_by, found.why) {
        (LimitedBy::Unknown, _) if watched.ended => ENDED,
        (LimitedBy::Unknown, _) if watched.stopped => STOPPED,
        (LimitedBy::Unknown, Why::Idle) => IDLE,
        (LimitedBy::Cpu, Why::Copying) if !has_disk(watched) => MEMORY_ONLY,
        _ => advice(found.limited_by, found.stage, found.why),
    }
}

/// Whether files on disks are a part of what is moved.
fn has_disk(watched: &Watched) -> bool {
    let positions: u64 = watched.files.iter().filter(|it| it.device.is_some()).map(|it| it.moved_bytes).sum();
    let caused: u64 = watched.processes.iter().map(|it| it.device_read_bytes + it.device_write_bytes).sum();
    let disk = positions.max(caused);
    disk > 0 && disk >= called_bytes(watched) / DISK_PART
}

fn share(watched: &Watched, name: &str) -> f64 {
    let largest = |of: &dyn Fn(&Thread) -> f64| watched.threads.iter().map(of).fold(0.0, f64::max);
    let rounds = f64::from(watched.rounds.max(1));
    let looks = |doing: &[Doing]| {
        let kinds = doing.to_vec();
        largest(&|thread| {
            kinds.iter().map(|kind| f64::from(thread.doing.get(kind).copied().unwrap_or(0))).sum::<f64>()
                / rounds
        })
    };
    match name {
        "source" => looks(&[Doing::Source, Doing::PipeIn]),
        "sink" => looks(&[Doing::Sink, Doing::PipeOut, Doing::Sync]),
        "sync" => looks(&[Doing::Sync]),
        "metadata" => looks(&[Doing::Metadata]),
        "network_out" => looks(&[Doing::NetworkOut]),
        "network_in" => looks(&[Doing::NetworkIn]),
        "sleep" => looks(&[Doing::Sleep]),
        "queue" => looks(&[Doing::Queue]),
        "poll" => looks(&[Doing::Poll]),
        // Times are exact, and looks say who waits for a CPU.
        _ => looks(&[Doing::Running]).max(largest(&|thread| cpu_fraction(watched, thread))),
    }
}

fn cpu_fraction(watched: &Watched, thread: &Thread) -> f64 {
    thread.cpu_ns as f64 / watched.elapsed_ns.max(1) as f64
}

fn cause(watched: &Watched, shares: &BTreeMap<&'static str, f64>) -> Candidate {
    if watched.rounds < ROUNDS_MIN || watched.threads.is_empty() {
        return unknown(Why::TooShortToTell);
    }
    let mut candidates = candidates(watched, shares);
    candidates.sort_by(|one, other| other.share.total_cmp(&one.share));
    let [first, second, ..] = &candidates[..] else { return unknown(Why::NoStage) };
    let lead = first.share - second.share;
    if first.share < EXPLAINS_FRACTION.max(shares["poll"] / 2.0) {
        // A process that waits for any of its connections, all of which have taken what there was, waits for the other
        // host.
        weak(watched, shares)
    } else if lead < BALANCED_FRACTION && first.limited_by != second.limited_by {
        Candidate { limited_by: LimitedBy::Balanced, host: "local", why: Why::EqualStages, ..first.clone() }
    } else {
        first.clone()
    }
}

/// The cause behind a wait for others: a limit that the process was given, to which the other host may keep, or no client.
fn behind(watched: &Watched, found: Candidate, shares: &BTreeMap<&'static str, f64>) -> Candidate {
    let is_wait = matches!(
        (found.limited_by, found.why),
        (LimitedBy::Network, _) | (LimitedBy::Unknown, Why::NoStage | Why::NothingMoved) | (_, Why::Pipe)
    );
    if is_wait && rate_limit(watched).is_some_and(|it| reaches_its_limit(watched, it)) {
        let waits = ["sleep", "network_in", "network_out", "poll", "queue"].map(|name| shares[name]);
        throttled(waits.into_iter().fold(0.0, f64::max))
    } else if is_wait && watched.listens && is_idle(watched) {
        unknown(Why::Idle)
    } else {
        found
    }
}

/// The part of the time for which threads waited for memory, if their group reached its limit.
fn memory_held(watched: &Watched) -> Option<f64> {
    let held = watched.memory_held_ns as f64 / watched.elapsed_ns.max(1) as f64;
    watched.memory_limit.is_some().then_some(held)
}

fn throttled(share: f64) -> Candidate {
    Candidate { share, limited_by: LimitedBy::Source, host: "local", stage: "read", why: Why::RateLimit }
}

/// The process that was given a limit of its rate.
fn rate_limit(watched: &Watched) -> Option<&Process> {
    watched.processes.iter().find(|it| it.rate_limit.is_some())
}

fn reaches_its_limit(watched: &Watched, process: &Process) -> bool {
    let (sent, received) = network_bytes(watched);
    let files = watched.files.iter().map(|it| it.moved_bytes).max().unwrap_or(0);
    let called = process.called_read_bytes.max(process.called_write_bytes);
    let moved = sent.max(received).max(files).max(called);
    let rate = moved as f64 * 1e9 / watched.elapsed_ns.max(1) as f64;
    process.limit_bytes_per_second.is_some_and(|limit| rate >= LIMIT_FRACTION * limit)
}

/// Bytes that its connections sent, and received.
fn network_bytes(watched: &Watched) -> (u64, u64) {
    let sum = |of: fn(&WatchedConnection) -> u64| watched.connections.iter().map(of).sum();
    (sum(|it| it.sent_bytes), sum(|it| it.received_bytes))
}

/// Whether next to nothing was moved, and nothing is to be sent.
fn is_idle(watched: &Watched) -> bool {
    let (sent, received) = network_bytes(watched);
    moved_bytes(watched) + sent + received < SLEEPER_BYTES_MIN && !has_unsent(watched)
}

/// Whether a connection has bytes that the other side does not take, or does not acknowledge.
fn has_unsent(watched: &Watched) -> bool {
    let of = |part: f64, whole: f64| part / whole.max(1.0) >= EXPLAINS_FRACTION;
    watched.connections.iter().any(|it| {
        of(it.busy_ns as f64, watched.elapsed_ns as f64) || of(it.unsent_samples.into(), it.samples.into())
    })
}

fn unknown(why: Why) -> Candidate {
    Candidate { share: 0.0, limited_by: LimitedBy::Unknown, host: "local", stage: "", why }
}

fn candidates(watched: &Watched, shares: &BTreeMap<&'static str, f64>) -> Vec<Candidate> {
    let [source, sink] = [Role::Source, Role::Sink].map(|role| end(watched, role, shares));
    let names = Candidate {
        share: shares["metadata"],
        limited_by: LimitedBy::Metadata,
        host: "local",
        stage: "metadata",
        why: Why::NamesAndAttributes,
    };
    let mut all = vec![
        source,
        sink,
        names,
        throttled(if has_a_rate(watched) { shares["sleep"] } else { 0.0 }),
        Candidate { share: shares["cpu"], ..cpu(watched) },
        Candidate { share: shares["network_out"], ..sending(watched) },
        Candidate { share: shares["network_in"], ..receiving(watched) },
    ];
    if let Some(queued) = queue(watched, shares["queue"]) {
        all.push(queued);
    }
    all
}

/// Reading or writing files, devices and pipes.
fn end(watched: &Watched, role: Role, shares: &BTreeMap<&'static str, f64>) -> Candidate {
    let looks = |kinds: &[Doing]| -> u32 {
        watched.threads.iter().map(|it| kinds.iter().filter_map(|kind| it.doing.get(kind)).sum::<u32>()).sum()
    };
    let (share, files, pipes) = match role {
        Role::Source => (shares["source"], looks(&[Doing::Source]), looks(&[Doing::PipeIn])),
        Role::Sink => (shares["sink"], looks(&[Doing::Sink, Doing::Sync]), looks(&[Doing::PipeOut])),
    };
    let (limited_by, stage) = limit_of(role);
    let (stage, why) = match role {
        _ if pipes > files => (stage, Why::Pipe),
        // Synced bytes go to the disk, however much memory there is.
        Role::Sink if shares["sync"] * 2.0 > share => ("sync", sync_reason(watched)),
        _ => (stage, device_reason(watched, role, share)),
    };
    Candidate { share, limited_by, host: "local", stage, why }
}

fn limit_of(role: Role) -> (LimitedBy, &'static str) {
    match role {
        Role::Source => (LimitedBy::Source, "read"),
        Role::Sink => (LimitedBy::Sink, "write"),
    }
}

/// The limit of the control group that is the cause.
fn limit_set(watched: &Watched, found: &Candidate) -> String {
    let limit = match found.limited_by {
        LimitedBy::Source => devices(watched, Role::Source).find_map(|it| it.read_rule.clone()),
        _ => devices(watched, Role::Sink).find_map(|it| it.write_rule.clone()),
    };
    limit.unwrap_or_default()
}

fn sync_reason(watched: &Watched) -> Why {
    let bounded = devices(watched, Role::Sink).any(|it| it.write_rule.is_some());
    if bounded { Why::CgroupLimit } else { Why::StableStorage }
}

fn devices(watched: &Watched, role: Role) -> impl Iterator<Item = &WatchedDevice> {
    let fits = move |device: &&WatchedDevice| if role == Role::Source { device.source } else { device.sink };
    watched.devices.iter().filter(fits)
}

/// Why an end is waited for: a control group limits its device, or memory; the device serves both ends, could do more, or
/// is slow.
fn device_reason(watched: &Watched, role: Role, share: f64) -> Why {
    let device = busiest(watched, role);
    let own = device.map(|it| traffic(it, role)).unwrap_or_default();
    let is_shared = |it: &WatchedDevice| {
        let other_bytes = it.read_bytes + it.write_bytes - own.bytes;
        it.source && it.sink && other_bytes * 4 > own.bytes && own.bytes > 0
    };
    if own.is_bounded {
        Why::CgroupLimit
    } else if memory_held(watched).is_some_and(|held| held >= MEMORY_FRACTION * share) {
        Why::MemoryLimit
    } else if device.is_some_and(is_shared) {
        Why::SharedDevice
    } else if device.is_some_and(|it| could_do_more(watched, it, role, share)) {
        Why::RoundTrips
    } else {
        Why::Device
    }
}

/// What a device did for one end.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    requests: u64,
    bytes: u64,
    taken_ns: u64,
    /// A control group limits it.
    is_bounded: bool,
}

fn traffic(device: &WatchedDevice, role: Role) -> Traffic {
    match role {
        Role::Source => Traffic {
            requests: device.reads,
            bytes: device.read_bytes,
            taken_ns: device.read_ns,
            is_bounded: device.read_rule.is_some(),
        },
        Role::Sink => Traffic {
            requests: device.writes,
            bytes: device.write_bytes,
            taken_ns: device.write_ns,
            is_bounded: device.write_rule.is_some(),
        },
    }
}

fn busiest(watched: &Watched, role: Role) -> Option<&WatchedDevice> {
    devices(watched, role).max_by_key(|it| {
        let own = traffic(it, role);
        (own.is_bounded, own.bytes)
    })
}

/// A device that is idle while it is waited for, or that gets small requests one by one.
fn could_do_more(watched: &Watched, device: &WatchedDevice, role: Role, share: f64) -> bool {
    let busy = device.busy_ns as f64 / watched.elapsed_ns.max(1) as f64;
    let Traffic { requests, bytes, taken_ns, .. } = traffic(device, role);
    let one_by_one = (taken_ns as f64) < ONE_BY_ONE * device.busy_ns as f64;
    let small = requests > 0 && bytes / requests <= SMALL_REQUEST_BYTES;
    requests > 0 && (busy < BUSY_FRACTION * share || (one_by_one && small))
}

fn cpu(watched: &Watched) -> Candidate {
    let by = |thread: &&Thread| thread.cpu_ns + thread.run_delay_ns;
    let busiest = watched.threads.iter().max_by_key(by);
    let of = |ns: u64| ns as f64 / watched.elapsed_ns.max(1) as f64;
    let running = share(watched, "cpu");
    let on_cpu = busiest.map_or(0.0, |thread| of(thread.cpu_ns));
    let why = match busiest {
        _ if of(watched.throttled_ns) >= QUOTA_FRACTION => Why::CpuQuota,
        _ if running - on_cpu > on_cpu => Why::NotScheduled,
        Some(thread) if thread.system_ns > thread.user_ns && !only_reads_random(watched) => Why::Copying,
        _ => Why::Computing,
    };
    Candidate { share: running, limited_by: LimitedBy::Cpu, host: "local", stage: "compute", why }
}

/// Random bytes are all that is read: the kernel computes them, and copies little.
fn only_reads_random(watched: &Watched) -> bool {
    let receives = || watched.connections.iter().any(|it| it.received_bytes > it.sent_bytes);
    watched.reads_random && !watched.files.iter().any(|it| it.role == Role::Source) && !receives()
}

fn sending(watched: &Watched) -> Candidate {
    let most = watched.connections.iter().max_by_key(|it| (it.busy_ns, it.sent_bytes));
    let (host, why) = most.map_or(("sender", Why::CongestionWindow), window);
    Candidate { share: 0.0, limited_by: LimitedBy::Network, host, stage: "send", why }
}

/// Whose window it is that a sender waits for.
fn window(connection: &WatchedConnection) -> (&'static str, Why) {
    let busy = connection.busy_ns.max(1) as f64;
    let samples = f64::from(connection.unsent_samples.max(1));
    let queued = connection.rtt_us >= QUEUED * connection.min_rtt_us.max(1);
    let again = connection.retransmitted_segments as f64 / connection.sent_segments.max(1) as f64;
    let is_full = connection.receive_window_limited_ns as f64 / busy >= WINDOW_FRACTION
        || f64::from(connection.no_window_samples) / samples >= WINDOW_FRACTION;
    if is_full {
        ("receiver", Why::ReceiveWindow)
    } else if connection.send_buffer_limited_ns as f64 / busy >= WINDOW_FRACTION {
        ("sender", Why::SendBuffer)
    } else if again >= LOSS_FRACTION && !queued && !connection.ignores_loss {
        ("sender", Why::Loss)
    } else {
        ("sender", Why::CongestionWindow)
    }
}

fn receiving(watched: &Watched) -> Candidate {
    let most = watched.connections.iter().max_by_key(|it| it.received_bytes);
    let full = |it: &WatchedConnection| {
        let window_ns = f64::from(it.rtt_us) * 1000.0;
        let in_a_round = it.received_bytes as f64 * window_ns / watched.elapsed_ns.max(1) as f64;
        it.window_bytes > 0 && in_a_round >= WINDOW_FRACTION * f64::from(it.window_bytes)
    };
    let (host, why) = match most {
        Some(connection) if full(connection) => ("receiver", Why::ReceiveWindow),
        _ => ("sender", Why::Peer),
    };
    Candidate { share: 0.0, limited_by: LimitedBy::Network, host, stage: "receive", why }
}

/// Requests that the kernel performs while their process waits for any of them: the busier device is what it waits for,
/// or a pipe, where no device is busy for as long.
fn queue(watched: &Watched, share: f64) -> Option<Candidate> {
    if let Some(pipe) = queued_pipe(watched, share) {
        // Its other end is seen unless that is watched, too: then one waits for the other.
        pipe.other_process.as_ref()?;
        let (limited_by, stage) = limit_of(pipe.role);
        return Some(Candidate { share, limited_by, host: "local", stage, why: Why::Pipe });
    }
    let of = |role| busiest(watched, role).map(|device| traffic(device, role)).unwrap_or_default();
    let (read, written) = (of(Role::Source), of(Role::Sink));
    let role = match (read.is_bounded, written.is_bounded) {
        (true, false) => Role::Source,
        (false, true) => Role::Sink,
        _ if read.taken_ns == 0 && written.taken_ns == 0 => return None,
        _ if read.taken_ns >= written.taken_ns => Role::Source,
        _ => Role::Sink,
    };
    let (limited_by, stage) = limit_of(role);
    let why = device_reason(watched, role, share);
    Some(Candidate { share, limited_by, host: "local", stage, why })
}

/// A pipe that is all that is read, or all that is written, while no device is busy for as long as is waited.
fn queued_pipe(watched: &Watched, share: f64) -> Option<&WatchedFile> {
    let busy_ns = BUSY_FRACTION * share * watched.elapsed_ns as f64;
    let is_bounded = |it: &WatchedDevice| it.read_rule.is_some() || it.write_rule.is_some();
    if watched.devices.iter().any(|it| it.busy_ns as f64 >= busy_ns || is_bounded(it)) {
        return None;
    }
    let is_pipe = |it: &&WatchedFile| matches!(it.kind, "pipe" | "fifo");
    [Role::Source, Role::Sink].into_iter().find_map(|role| {
        let of_role = || watched.files.iter().filter(|it| it.role == role);
        // One that leads out before one between processes that are watched.
        let pipe = of_role().filter(is_pipe).max_by_key(|it| it.other_process.is_some());
        pipe.filter(|_| of_role().all(|it| is_pipe(&it)))
    })
}

/// When nothing is waited for here but connections that have taken all there was: the other host is. Else only memory may
/// be the cause.
fn weak(watched: &Watched, shares: &BTreeMap<&'static str, f64>) -> Candidate {
    let (sent, received) = network_bytes(watched);
    let share = shares["poll"];
    if share < EXPLAINS_FRACTION || sent + received == 0 && !has_unsent(watched) {
        match (nothing_or(watched), memory_held(watched)) {
            (Why::NoStage, Some(share)) if share >= EXPLAINS_FRACTION => {
                let (limited_by, stage) = limit_of(Role::Sink);
                Candidate { share, limited_by, host: "local", stage, why: Why::MemoryLimit }
            }
            (why, _) => unknown(why),
        }
    } else if received > sent {
        Candidate { share, ..receiving(watched) }
    } else {
        Candidate { share, limited_by: LimitedBy::Network, host: "receiver", stage: "send", why: Why::Peer }
    }
}

/// Whether a process that sleeps may be held back by a rate: it was given one, or moves bytes.
fn has_a_rate(watched: &Watched) -> bool {
    rate_limit(watched).is_some() || moved_bytes(watched) >= SLEEPER_BYTES_MIN
}

/// Bytes that calls moved, whatever they were.
fn moved_bytes(watched: &Watched) -> u64 {
    called_bytes(watched) + watched.files.iter().map(|it| it.moved_bytes).sum::<u64>()
}

fn called_bytes(watched: &Watched) -> u64 {
    watched.processes.iter().map(|it| it.called_read_bytes + it.called_write_bytes).sum()
}

fn nothing_or(watched: &Watched) -> Why {
    match moved_bytes(watched) {
        0 if watched.could_not_read.is_empty() => Why::NothingMoved,
        0 => Why::NotPermitted,
        _ => Why::NoStage,
    }
}
