//! A short transfer of null bytes from the other host, over connections as a copy makes them: at most so many bytes,
//! and requested for at most so long.
//!
//! The bytes under way grow with those that have come, as in slow start, so that a slow path soon has given what was
//! requested. It is a transfer of its own and not a job because a job ends with its bytes, and this one with its time;
//! the requests and answers are those of a job.
//!
//! Must not know: sessions, what is good or bad about a path.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use datapump_core::wire::bounds::FileSize;
use datapump_core::wire::frame::{DIGEST_BYTES, FrameKind, Head};
use datapump_core::wire::hello::Purpose;
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_core::wire::{WireError, decode, encode};
use datapump_transport::{Channel, NetFault, SocketFacts};

use crate::net::folder::remote_host::Pools;

/// So many bytes at most, over all connections.
pub(crate) const BYTES_MAX: u64 = 64 << 20;
/// For so long something is requested.
const REQUESTING_MAX: Duration = Duration::from_secs(1);
/// For so long what was requested is waited for.
const RECEIVING_MAX: Duration = Duration::from_secs(2);
/// The same as long as nothing at all has come: a kernel that probes for a smaller segment takes a few seconds.
const NOTHING_MAX: Duration = Duration::from_secs(6);
/// How long a small answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(3);
/// Over a path of 1 Mbit/s such a block takes half a second.
const BLOCK_BYTES: u32 = 64 << 10;
/// Under way at first, on each connection.
const FIRST_BYTES: u64 = 256 << 10;
/// A handshake and a greeting, all in small segments, are less than this; of a block a slow path brings more in time.
const GREETING_BYTES_MAX: u64 = 4 << 10;
/// The number that the place's file gets.
pub(crate) const FILE: u64 = 1;

/// What the transfer did.
#[derive(Clone, Debug, Default)]
pub struct Probed {
    /// Bytes that came.
    pub bytes: u64,
    /// From the first request to the last byte.
    pub elapsed_ns: u64,
    /// The rate in its later half, in bytes per second.
    pub bytes_per_second: f64,
    /// What this side's kernel says of the connections.
    pub sockets: Vec<SocketFacts>,
    /// No byte of a block came, as this side's kernel says, while small messages went there and back. Never through
    /// ssh, whose connection is not seen.
    pub is_black_hole: bool,
}

/// What one connection did.
#[derive(Debug, Default)]
struct ProbeLane {
    /// When how many bytes came, since the transfer began.
    came: Vec<(Duration, u64)>,
    socket: Option<SocketFacts>,
    fault: Option<NetFault>,
}

/// Moves null bytes over the session's connections for a while. A fault ends it, and is given with what was received until
/// then.
pub(crate) fn probe_path(pools: &Pools, lanes: u32, stop: &AtomicBool) -> (Probed, Option<NetFault>) {
    let opened = pools.names.take(Purpose::Names).and_then(|mut names| open(&mut names).map(|()| names));
    let mut names = match opened {
        Ok(names) => names,
        Err(fault) => return (Probed::default(), Some(fault)),
    };
    let lanes = u64::from(lanes.max(1));
    let share = BYTES_MAX / lanes / u64::from(BLOCK_BYTES) * u64::from(BLOCK_BYTES);
    let start = Instant::now();
    let done: Vec<ProbeLane> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..lanes)
            .map(|lane| {
                let (first, end) = (lane * share, (lane + 1) * share);
                scope.spawn(move || probe_lane(pools, first, end, start, stop))
            })
            .collect();
        started.into_iter().filter_map(|lane| lane.join().ok()).collect()
    });
    let lost = done.iter().find_map(|lane| lane.fault.clone());
    let probed = sum_lanes(done);
    // Whether small messages pass: a host that went away is not a path that takes its time.
    let fault = lost.or_else(|| look(&mut names).err());
    let is_black_hole = fault.is_none() && !stop.load(Ordering::Relaxed) && nothing_came(&probed);
    (Probed { is_black_hole, ..probed }, fault)
}

/// Only whole blocks count as bytes: of a path that is slow the kernel has a part of one.
fn nothing_came(probed: &Probed) -> bool {
    let is_small = |socket: &SocketFacts| socket.info.received_bytes <= GREETING_BYTES_MAX;
    probed.bytes == 0 && !probed.sockets.is_empty() && probed.sockets.iter().all(is_small)
}

/// Opens the place.
pub(crate) fn open(names: &mut Channel) -> Result<(), NetFault> {
    match asked(names, &PeerRequest::OpenPlace { file: FILE, place: 0 })? {
        Answer::Stream { .. } => Ok(()),
        _ => Err(WireError::Unexpected("another thing than null").into()),
    }
}

/// A small message there and back.
fn look(names: &mut Channel) -> Result<(), NetFault> {
    asked(names, &PeerRequest::Look(0)).map(|_| ())
}

fn asked(names: &mut Channel, request: &PeerRequest) -> Result<Answer, NetFault> {
    names.send_message(&encode(request), 1)?;
    let (body, _) = names.message_within(ANSWER_MAX)?;
    Ok(decode(&body)?)
}

/// Moves null bytes over one connection, and keeps what went wrong. A wait that ended with the time is no fault.
fn probe_lane(pools: &Pools, first: u64, end: u64, start: Instant, stop: &AtomicBool) -> ProbeLane {
    let mut lane = ProbeLane::default();
    match pools.blocks.take(Purpose::Blocks) {
        Ok(mut channel) => {
            let received = lane.request_and_receive(&mut channel, first, end, start, stop);
            // A wait that ended with the time is how a slow path ends.
            lane.fault = received.err().filter(|_| start.elapsed() < lane.time_max());
            lane.socket = channel.socket_facts();
        }
        Err(fault) => lane.fault = Some(fault),
    }
    lane
}

/// Requests of one connection.
struct Requests {
    next: u64,
    end: u64,
    under_way: u64,
    came: u64,
}

impl Requests {
    /// The next request, if it may be sent now: as much may be under way as was received, and a little more.
    fn next_request(&mut self) -> Option<PeerRequest> {
        let len = u64::from(BLOCK_BYTES);
        if self.next + len > self.end || self.under_way + len > self.came + FIRST_BYTES {
            return None;
        }
        let at = FileSize(self.next);
        self.next += len;
        self.under_way += len;
        Some(PeerRequest::Read { file: FILE, at, len: BLOCK_BYTES, sum: None })
    }
}

impl ProbeLane {
    /// For how long what was requested is waited for.
    fn time_max(&self) -> Duration {
        if self.came.is_empty() { NOTHING_MAX } else { RECEIVING_MAX }
    }

    /// Requests blocks of this range and receives them, until the time for requests is over or this side is stopped, and
    /// nothing is under way.
    fn request_and_receive(
        &mut self,
        channel: &mut Channel,
        first: u64,
        end: u64,
        start: Instant,
        stop: &AtomicBool,
    ) -> Result<(), NetFault> {
        let mut requests = Requests { next: first, end, under_way: 0, came: 0 };
        let mut block = vec![0; BLOCK_BYTES as usize];
        let mut number = 0;
        loop {
            let may_request = start.elapsed() < REQUESTING_MAX && !stop.load(Ordering::Relaxed);
            while may_request && let Some(request) = requests.next_request() {
                number += 1;
                channel.put_message(&encode(&request), number)?;
            }
            if requests.under_way == 0 {
                return Ok(());
            }
            channel.flush()?;
            let left = self.time_max().saturating_sub(start.elapsed());
            let bytes = channel.within(left, |channel| receive_block(channel, &mut block))?;
            requests.came += bytes;
            requests.under_way -= bytes;
            self.came.push((start.elapsed(), bytes));
        }
    }
}

/// A block of the size that was requested, which nobody looks at.
pub(crate) fn receive_block(channel: &mut Channel, block: &mut [u8]) -> Result<u64, NetFault> {
    let head = channel.receive_head()?;
    let is_meant = matches!(head, Head { kind: FrameKind::Block, len, .. } if len as usize == block.len());
    if !is_meant {
        return Err(WireError::Unexpected("another thing than the block that was requested").into());
    }
    channel.receive(&mut [0; DIGEST_BYTES as usize])?;
    channel.receive(block)?;
    Ok(block.len() as u64)
}

/// All connections together.
fn sum_lanes(lanes: Vec<ProbeLane>) -> Probed {
    let mut came: Vec<(Duration, u64)> = lanes.iter().flat_map(|lane| lane.came.iter().copied()).collect();
    came.sort_unstable();
    let bytes: u64 = came.iter().map(|(_, bytes)| bytes).sum();
    let last = came.last().map_or(Duration::ZERO, |(at, _)| *at);
    Probed {
        bytes,
        elapsed_ns: last.as_nanos() as u64,
        bytes_per_second: later_rate(&came, bytes, last),
        sockets: lanes.into_iter().filter_map(|lane| lane.socket).collect(),
        is_black_hole: false,
    }
}

/// The rate behind the first half of the bytes.
fn later_rate(came: &[(Duration, u64)], bytes: u64, last: Duration) -> f64 {
    let mut until = 0;
    let half = came.iter().find(|(_, len)| {
        until += len;
        until * 2 >= bytes
    });
    let (since, before) = half.map_or((Duration::ZERO, 0), |(at, _)| (*at, until));
    match (last - since).as_secs_f64() {
        seconds if seconds > 0.0 => (bytes - before) as f64 / seconds,
        _ => bytes as f64 / last.as_secs_f64().max(1e-9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_engine::os::linux::TcpInfo;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn what_is_under_way_follows_what_has_come() {
        let mut requests = Requests { next: 0, end: 64 << 20, under_way: 0, came: 0 };
        let mut sent = |came: u64| {
            requests.came += came;
            requests.under_way -= came;
            std::iter::from_fn(|| requests.next_request()).count()
        };
        assert_eq!(sent(0), 4, "256 KiB at first");
        // Each block that came allows two: what is under way doubles each round trip.
        assert_eq!((sent(64 << 10), sent(128 << 10)), (2, 4));
        let mut last = Requests { next: 0, end: 100 << 10, under_way: 0, came: 0 };
        assert!(last.next_request().is_some() && last.next_request().is_none(), "whole blocks alone");
    }

    /// Also below 175 kbit/s, where no block of 64 KiB comes in 6 s; and through ssh, where no kernel tells.
    #[test]
    fn a_slow_path_is_no_black_hole() {
        let address = ([10, 0, 0, 1], 1).into();
        let socket = |received_bytes: u64| SocketFacts {
            local: address,
            peer: address,
            congestion: None,
            info: TcpInfo { received_bytes, ..TcpInfo::default() },
        };
        for (bytes, received, is_nothing) in [
            (0, &[2000, 1500][..], true),
            (0, &[2000, 30_000], false),
            (0, &[30_000, 30_000], false),
            (0, &[], false),
            (64 << 10, &[2000], false),
        ] {
            let sockets = received.iter().copied().map(socket).collect();
            let probed = Probed { bytes, sockets, ..Probed::default() };
            assert_eq!(nothing_came(&probed), is_nothing, "{bytes} {received:?}");
        }
    }

    #[test]
    fn the_rate_is_that_of_the_later_half() {
        let lane = |came: &[(u32, u64)]| ProbeLane {
            came: came.iter().map(|(ms, bytes)| (MS * *ms, *bytes)).collect(),
            ..ProbeLane::default()
        };
        let probed = sum_lanes(vec![lane(&[(100, 1000), (300, 1000)]), lane(&[(200, 1000), (400, 1000)])]);
        assert_eq!((probed.bytes, probed.elapsed_ns), (4000, 400_000_000));
        assert!((probed.bytes_per_second - 10_000.0).abs() < 1e-6, "{probed:?}");
        assert_eq!(sum_lanes(Vec::new()).bytes, 0);
        assert!((sum_lanes(vec![lane(&[(100, 50)])]).bytes_per_second - 500.0).abs() < 1e-6);
    }
}
