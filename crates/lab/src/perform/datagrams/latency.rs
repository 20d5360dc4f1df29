//! Round trips of single datagrams over a server that sends them back, by frame size.
//!
//! Must not know: command lines, how a session is made.

use std::time::{Duration, Instant};

use datapump::Problem;
use datapump::datagrams::{
    DATAGRAMS_LAST_MAX_NS, DatagramBuffers, DatagramClient, DatagramHead, DatagramPath, DatagramRequest,
    DatagramSocket, DatagramUse, DatagramsSent, packet_bytes,
};
use datapump_engine::os::linux::thread_cpu_ns;
use schemars::JsonSchema;
use serde::Serialize;

use super::nothing_came::{no_answers, why_nothing_came};
use super::{InterfaceFacts, is_ending, not_sent, socket_for};
use crate::judge::datagrams::latency::{LatencyCurve, LatencyHistogram};
use crate::judge::stats::{mean, median, standard_deviation};
use crate::perform::datagrams::pacer::Pacer;

/// A round trip that takes longer counts as lost.
const REPLY_MAX: Duration = Duration::from_secs(1);
/// After so many of one size without any reply no more of it are sent.
const SILENT_MAX: u64 = 3;
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Round trips to measure.
#[derive(Clone, Debug)]
pub struct LatencyArguments {
    /// Where the datagrams go.
    pub client: DatagramClient,
    /// Payloads, in bytes.
    pub frame_sizes: Vec<u32>,
    /// Rounds: each has one round trip of each size.
    pub count: u64,
    /// From one to the next at least; more where the server's rate asks for it.
    pub spacing: Duration,
}

/// Round trips of one size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FrameLatency {
    /// Payload in bytes.
    pub frame_size: u64,
    /// Datagrams that were sent.
    pub sent: u64,
    /// Those that did not come back within a second.
    pub lost: u64,
    /// Median of the round trips, in microseconds; null, as the following, where none came back.
    pub median_us: Option<f64>,
    /// Their mean.
    pub mean_us: Option<f64>,
    /// The shortest.
    pub min_us: Option<f64>,
    /// Their standard deviation; null of one.
    pub deviation_us: Option<f64>,
    /// Their histogram, with its full width at half maximum.
    pub histogram: Option<LatencyHistogram>,
}

/// Round trips by frame size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UdpLatency {
    /// Each size.
    pub frames: Vec<FrameLatency>,
    /// How the medians grow with the size; null of fewer than three sizes.
    pub curve: Option<LatencyCurve>,
    /// CPU time of this side for each round trip, in microseconds.
    pub sender_cpu_us: f64,
    /// CPU time of the server for each round trip, in microseconds.
    pub receiver_cpu_us: f64,
    /// The interface that they left by.
    #[serde(flatten)]
    pub interface: InterfaceFacts,
}

/// Measures round trips.
///
/// Errors: what is asked cannot be; the server refuses or is lost; of one size nothing came, however often it was sent.
pub fn udp_latency(arguments: &LatencyArguments) -> Result<UdpLatency, Problem> {
    let mut frame_sizes = arguments.frame_sizes.clone();
    frame_sizes.sort_unstable();
    frame_sizes.dedup();
    let request = arguments.request(&frame_sizes).map_err(Problem::usage)?;
    let (mut port, mut interface) = (0, InterfaceFacts::default());
    let (trips, counts) = arguments.client.measure(request, |path| {
        port = path.address.port();
        interface = InterfaceFacts::to(path.address);
        Reflections::new(path, &frame_sizes, arguments)?.run()
    })?;
    if counts.received > 0 && trips.sizes.iter().all(TimedSize::is_silent) {
        return Err(no_answers(&arguments.client, counts.received));
    }
    if let Some(size) = trips.sizes.iter().find(|size| size.is_silent()) {
        return Err(why_nothing_came(&arguments.client, size.payload_bytes as usize, port));
    }
    let frames: Vec<FrameLatency> = trips.sizes.iter().map(TimedSize::frame).collect();
    let point = |frame: &FrameLatency| Some((frame.frame_size, frame.median_us?));
    let points: Vec<(u64, f64)> = frames.iter().filter_map(point).collect();
    let all: u64 = frames.iter().map(|frame| frame.sent).sum();
    let each_us = |ns: u64| ns as f64 / 1e3 / all.max(1) as f64;
    Ok(UdpLatency {
        curve: LatencyCurve::from_points(&points),
        sender_cpu_us: each_us(trips.cpu_ns),
        receiver_cpu_us: each_us(counts.user_ns + counts.system_ns),
        frames,
        interface,
    })
}

impl LatencyArguments {
    fn request(&self, frame_sizes: &[u32]) -> Result<DatagramRequest, String> {
        let round_s = self.spacing.as_secs_f64() * frame_sizes.len() as f64;
        if round_s > DATAGRAMS_LAST_MAX_NS as f64 / 1e9 {
            return Err(format!(
                "one round of all sizes takes {round_s:.0} s and all may take 60 s; send closer ones or fewer sizes \
                 (--spacing, --frame-size)"
            ));
        }
        let request = DatagramRequest {
            wanted: DatagramUse::Reflect,
            datagrams: self.count.saturating_mul(frame_sizes.len() as u64),
            payload_bytes: frame_sizes.iter().copied().max().unwrap_or(0),
            // Each waits for the one before: what the server allows is kept to by waiting longer.
            bytes_per_second: 0,
            lasts_ns: DATAGRAMS_LAST_MAX_NS,
        };
        Ok(request)
    }
}

/// Round trips of all sizes, as they were timed.
struct TimedTrips {
    sizes: Vec<TimedSize>,
    cpu_ns: u64,
}

/// Round trips of one size.
struct TimedSize {
    payload_bytes: u32,
    sent: u64,
    times_us: Vec<f64>,
}

impl TimedSize {
    /// Nothing came back so often that nothing will.
    fn is_silent(&self) -> bool {
        self.times_us.is_empty() && self.sent >= SILENT_MAX
    }

    fn frame(&self) -> FrameLatency {
        let times = &self.times_us;
        FrameLatency {
            frame_size: self.payload_bytes.into(),
            sent: self.sent,
            lost: self.sent - times.len() as u64,
            median_us: median(times),
            mean_us: mean(times),
            min_us: times.iter().copied().min_by(f64::total_cmp),
            deviation_us: standard_deviation(times),
            histogram: LatencyHistogram::from_times(times),
        }
    }
}

struct Reflections<'path> {
    socket: DatagramSocket,
    path: &'path DatagramPath,
    buffers: DatagramBuffers,
    bytes: Vec<u8>,
    sizes: Vec<TimedSize>,
    count: u64,
    apart: Duration,
}

impl<'path> Reflections<'path> {
    fn new(
        path: &'path DatagramPath,
        frame_sizes: &[u32],
        arguments: &LatencyArguments,
    ) -> Result<Reflections<'path>, Problem> {
        let rate = path.grant.bytes_per_second.max(1);
        let longest = frame_sizes.iter().copied().max().unwrap_or(0);
        let allowed = packet_bytes(longest) as f64 / rate as f64;
        let size =
            |payload_bytes: &u32| TimedSize { payload_bytes: *payload_bytes, sent: 0, times_us: Vec::new() };
        Ok(Reflections {
            socket: socket_for(path.address)?,
            path,
            buffers: DatagramBuffers::default(),
            bytes: vec![0; longest as usize],
            sizes: frame_sizes.iter().map(size).collect(),
            count: arguments.count,
            apart: arguments.spacing.max(Duration::from_secs_f64(allowed)),
        })
    }

    /// Each round visits all sizes once, so that what changes meanwhile (on which processor a thread runs) hits all
    /// alike.
    fn run(mut self) -> Result<DatagramsSent<TimedTrips>, Problem> {
        let (mut pacer, cpu, start) = (Pacer::new(self.apart), thread_cpu_ns(), Instant::now());
        let (path, mut sequence) = (self.path, 0);
        let is_late = || start.elapsed().as_nanos() >= u128::from(DATAGRAMS_LAST_MAX_NS);
        'rounds: for _ in 0..self.count {
            for at in 0..self.sizes.len() {
                if self.sizes[at].is_silent() {
                    continue;
                }
                pacer.wait(&|| path.is_over() || is_late());
                if path.is_over() {
                    return Err(is_ending());
                }
                if is_late() {
                    break 'rounds;
                }
                let time = self.round_trip(sequence, self.sizes[at].payload_bytes as usize)?;
                sequence += 1;
                self.sizes[at].sent += 1;
                self.sizes[at].times_us.extend(time.map(|time| time.as_nanos() as f64 / 1e3));
            }
        }
        let now = thread_cpu_ns();
        let cpu_ns = (now.0 + now.1).saturating_sub(cpu.0 + cpu.1);
        Ok(DatagramsSent { sent: sequence, outcome: TimedTrips { sizes: self.sizes, cpu_ns } })
    }

    /// One round trip. `None` if nothing came back in time; what comes for an earlier one is not taken for it.
    fn round_trip(&mut self, sequence: u64, payload_bytes: usize) -> Result<Option<Duration>, Problem> {
        let (token, to) = (self.path.grant.token, self.path.address);
        DatagramHead { token, sequence, sent_ns: 0 }.write(&mut self.bytes);
        let start = Instant::now();
        let sent = self.socket.send(&self.bytes[..payload_bytes], None, to, None);
        sent.map_err(|error| not_sent(&error, payload_bytes, to))?;
        let mut came = None;
        while came.is_none() && start.elapsed() < REPLY_MAX {
            if self.path.is_over() {
                return Err(is_ending());
            }
            let received = self.socket.receive(&mut self.buffers, POLL_INTERVAL, &mut |datagram| {
                let now = Instant::now();
                let head = DatagramHead::read(datagram.payload);
                if head.is_some_and(|head| head.token == token && head.sequence == sequence) {
                    came = came.or(Some(now - start));
                }
            });
            received.map_err(|error| not_sent(&error, payload_bytes, to))?;
        }
        Ok(came)
    }
}
