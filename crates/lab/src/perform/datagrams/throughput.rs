//! A paced stream to a server that counts it: the spacing that was achieved, what came, what it cost both sides.
//!
//! Must not know: command lines, how a session is made.

use std::time::{Duration, Instant};

use datapump::Problem;
use datapump::datagrams::{
    DATAGRAMS_LAST_MAX_NS, DatagramClient, DatagramCounts, DatagramHead, DatagramPath, DatagramRequest,
    DatagramSocket, DatagramUse, DatagramsSent, packet_bytes,
};
use datapump_engine::os::linux::thread_cpu_ns;
use schemars::JsonSchema;
use serde::Serialize;

use super::nothing_came::why_nothing_came;
use super::{InterfaceFacts, is_ending, not_sent, socket_for};
use crate::judge::datagrams::losses::LossPattern;
use crate::judge::datagrams::spacing::{DatagramRate, Spacing};
use crate::perform::datagrams::pacer::Pacer;

/// A time is kept for each datagram: 128 MiB.
const SENT_MAX: u64 = 1 << 24;
/// The longest that the system sends with one call: an IP packet.
const BATCH_BYTES_MAX: usize = 65_507;
/// A stream may take so much longer than its spacing says: a sender that is slower than asked is what is measured.
const SLOWER: u64 = 4;
/// The shortest time for which a server is asked.
const LASTS_MIN_NS: u64 = 2_000_000_000;

/// How fast datagrams are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StreamPace {
    /// So far apart; with nothing as close as the server allows.
    Spacing(Duration),
    /// So many bytes per second, headers of UDP and IP counted.
    Rate(u64),
}

/// The arguments of a stream.
#[derive(Clone, Debug)]
pub struct ThroughputArguments {
    /// Where it goes.
    pub client: DatagramClient,
    /// Payload of each datagram.
    pub payload_bytes: u32,
    /// How fast.
    pub pace: StreamPace,
    /// Datagrams; by default as many as fit into the duration.
    pub count: Option<u64>,
    /// For how long.
    pub duration: Duration,
    /// Datagrams that are sent together.
    pub batch: u32,
    /// They are handed to the system with one call.
    pub offload: bool,
}

/// What a stream came to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UdpThroughput {
    /// Payload of each datagram.
    pub frame_size: u64,
    /// The spacing that was asked for, in microseconds.
    pub asked_spacing_us: f64,
    /// The spacing that the sender achieved; null of fewer than three batches.
    pub spacing: Option<Spacing>,
    /// How much the sender was late in all, in microseconds: what it did not catch up.
    pub late_us: f64,
    /// Datagrams that were sent.
    pub sent: u64,
    /// Datagrams that came, duplicates too.
    pub received: u64,
    /// Sequence numbers that came.
    pub unique: u64,
    /// Sequence numbers that did not come.
    pub lost: u64,
    /// Datagrams that had come before.
    pub duplicates: u64,
    /// Datagrams that came behind one that was sent later (RFC 4737).
    pub reordered: u64,
    /// Datagrams above the rate that was granted, which the server did not count.
    pub above_rate: u64,
    /// Smoothed deviation of the transit time, in microseconds (RFC 3550).
    pub jitter_us: f64,
    /// Where losses come from, by the gaps between them.
    pub loss_pattern: LossPattern,
    /// The mean gap between losses, in datagrams.
    pub loss_gap_mean: f64,
    /// The standard deviation of the gaps over their mean.
    pub loss_gap_variation: f64,
    /// Times between arrivals: the shortest of a bucket in nanoseconds, and how many.
    pub arrivals_ns: Vec<(u64, u64)>,
    /// The rate at which datagrams were sent.
    pub sender: DatagramRate,
    /// The rate at which they came, over the time from the first arrival to the last one, or that of the sender where it
    /// is longer: of a stream whose first datagrams were held up the rest comes closer together than it was sent.
    pub receiver: DatagramRate,
    /// CPU time of the sender for each datagram, in microseconds.
    pub sender_cpu_us: f64,
    /// CPU time of the receiver for each datagram, in microseconds.
    pub receiver_cpu_us: f64,
    /// How often the receiver was woken for each datagram.
    pub wake_ups_per_frame: f64,
    /// The receive buffer of the server's socket, as its system counts it.
    pub receive_buffer_bytes: u64,
    /// Datagrams that were sent together.
    pub batch: u64,
    /// Whether segmentation offload was used, and why not.
    pub offload: String,
    /// The interface that they left by.
    #[serde(flatten)]
    pub interface: InterfaceFacts,
}

/// Sends a stream. Warns of nothing: what was not as asked stands in the outcome.
///
/// Errors: what is asked cannot be; the server refuses or is lost; nothing came at all.
pub fn udp_throughput(arguments: &ThroughputArguments) -> Result<UdpThroughput, Problem> {
    let request = arguments.request().map_err(Problem::usage)?;
    let mut port = 0;
    let (sent, counts) = arguments.client.measure(request, |path| {
        port = path.address.port();
        StreamSender::new(arguments, path, &request)?.run()
    })?;
    match counts.received {
        0 if counts.above_rate == 0 => {
            Err(why_nothing_came(&arguments.client, arguments.payload_bytes as usize, port))
        }
        _ => Ok(outcome(arguments, &sent, &counts)),
    }
}

impl ThroughputArguments {
    /// From one datagram to the next at this rate.
    fn apart(&self, bytes_per_second: u64) -> Duration {
        let ns = packet_bytes(self.payload_bytes) * 1_000_000_000;
        Duration::from_nanos(ns.div_ceil(bytes_per_second.max(1)))
    }

    /// The rate that is asked for: that of the user, if he gave one, and not what its spacing comes to.
    fn bytes_per_second(&self) -> u64 {
        match self.pace {
            StreamPace::Rate(bytes_per_second) => bytes_per_second,
            StreamPace::Spacing(Duration::ZERO) => 0,
            StreamPace::Spacing(spacing) => {
                let bytes = u128::from(packet_bytes(self.payload_bytes)) * 1_000_000_000;
                u64::try_from(bytes.div_ceil(spacing.as_nanos())).unwrap_or(u64::MAX)
            }
        }
    }

    /// The spacing that is asked for; nothing: as close as allowed.
    fn spacing(&self) -> Duration {
        match self.pace {
            StreamPace::Spacing(spacing) => spacing,
            StreamPace::Rate(bytes_per_second) => self.apart(bytes_per_second),
        }
    }

    fn request(&self) -> Result<DatagramRequest, String> {
        let (spacing, duration) = (self.spacing(), self.duration.as_nanos() as u64);
        let fits = match spacing.as_nanos() as u64 {
            0 => SENT_MAX,
            ns => (duration / ns).max(1),
        };
        let datagrams = self.count.unwrap_or(fits.min(SENT_MAX));
        let takes_ns = datagrams.saturating_mul(spacing.as_nanos() as u64);
        if takes_ns > DATAGRAMS_LAST_MAX_NS || duration > DATAGRAMS_LAST_MAX_NS {
            return Err(format!(
                "the stream takes {:.0} s and may take 60 s; send fewer or closer ones (--count, --spacing, --for)",
                takes_ns.max(duration) as f64 / 1e9
            ));
        }
        if datagrams > SENT_MAX {
            return Err(format!("at most {SENT_MAX} datagrams are sent (--count)"));
        }
        if self.batch as usize * self.payload_bytes as usize > BATCH_BYTES_MAX && self.offload {
            return Err(format!(
                "a batch has at most {BATCH_BYTES_MAX} bytes with --offload; ask for a smaller --batch"
            ));
        }
        let lasts_ns = if spacing.is_zero() { duration } else { takes_ns.max(LASTS_MIN_NS) * SLOWER };
        Ok(DatagramRequest {
            wanted: DatagramUse::Count,
            datagrams,
            payload_bytes: self.payload_bytes,
            bytes_per_second: self.bytes_per_second(),
            lasts_ns: lasts_ns.min(DATAGRAMS_LAST_MAX_NS),
        })
    }
}

/// What a sender has to tell.
struct SentStream {
    sent: u64,
    asked: Duration,
    batches_ns: Vec<u64>,
    late: Duration,
    cpu_ns: u64,
    elapsed: Duration,
    offload: String,
    buffer_bytes: u64,
    interface: InterfaceFacts,
}

struct StreamSender<'path> {
    socket: DatagramSocket,
    path: &'path DatagramPath,
    datagrams: u64,
    lasts: Duration,
    batch: usize,
    payload_bytes: usize,
    apart: Duration,
    asked: Duration,
    offload: Offload,
    bytes: Vec<u8>,
}

/// Whether the system cuts what it is given into datagrams.
enum Offload {
    Used,
    /// Why not.
    Not(String),
}

impl<'path> StreamSender<'path> {
    fn new(
        arguments: &ThroughputArguments,
        path: &'path DatagramPath,
        request: &DatagramRequest,
    ) -> Result<StreamSender<'path>, Problem> {
        let socket = socket_for(path.address)?;
        let (batch, payload_bytes) = (arguments.batch as usize, arguments.payload_bytes as usize);
        let offload = match (arguments.offload, socket.segments_max()) {
            (false, _) => Offload::Not("not asked for".into()),
            (true, most) if batch <= most => Offload::Used,
            (true, most) => Offload::Not(format!("this system takes {most} datagrams in one call at most")),
        };
        let allowed = arguments.apart(path.grant.bytes_per_second);
        let asked = arguments.spacing();
        Ok(StreamSender {
            socket,
            path,
            datagrams: request.datagrams,
            lasts: Duration::from_nanos(request.lasts_ns),
            batch,
            payload_bytes,
            apart: if asked.is_zero() { allowed } else { asked },
            asked,
            offload,
            bytes: vec![0; batch * payload_bytes],
        })
    }

    fn run(mut self) -> Result<DatagramsSent<SentStream>, Problem> {
        let path = self.path;
        let batches = self.datagrams.div_ceil(self.batch as u64);
        let (mut batches_ns, cpu) = (Vec::with_capacity(batches as usize), thread_cpu_ns());
        let mut pacer = Pacer::new(self.apart * self.batch as u32);
        let start = Instant::now();
        let mut sent = 0;
        let lasts = self.lasts;
        let is_over = || path.is_over() || start.elapsed() > lasts;
        while sent < self.datagrams {
            let now = pacer.wait(&is_over).saturating_duration_since(start);
            if path.is_over() {
                return Err(is_ending());
            }
            if now > lasts {
                break;
            }
            let count = (self.datagrams - sent).min(self.batch as u64) as usize;
            self.send_batch(sent, count, now.as_nanos() as u64)?;
            batches_ns.push(now.as_nanos() as u64);
            sent += count as u64;
        }
        let (elapsed, cpu_now) = (start.elapsed(), thread_cpu_ns());
        let offload = match self.offload {
            Offload::Used => "used".into(),
            Offload::Not(why) => why,
        };
        let outcome = SentStream {
            sent,
            asked: self.asked,
            batches_ns,
            late: pacer.late,
            cpu_ns: (cpu_now.0 + cpu_now.1).saturating_sub(cpu.0 + cpu.1),
            elapsed,
            offload,
            buffer_bytes: path.grant.buffer_bytes,
            interface: InterfaceFacts::to(path.address),
        };
        Ok(DatagramsSent { sent, outcome })
    }

    /// Sends so many from this number on. Where the system takes no segments after all, one by one from then on.
    fn send_batch(&mut self, first: u64, count: usize, sent_ns: u64) -> Result<(), Problem> {
        let (token, to) = (self.path.grant.token, self.path.address);
        let size = self.payload_bytes;
        for (sequence, datagram) in (first..).zip(self.bytes.chunks_mut(size).take(count)) {
            DatagramHead { token, sequence, sent_ns }.write(datagram);
        }
        let bytes = &self.bytes[..count * size];
        if matches!(self.offload, Offload::Used) && count > 1 {
            match self.socket.send(bytes, Some(size), to, None) {
                Ok(()) => return Ok(()),
                Err(error) if is_no_offload(&error) => {
                    let why = format!("the system offers it and refused the first send: {error}");
                    self.offload = Offload::Not(why);
                }
                Err(error) => return Err(not_sent(&error, size, to)),
            }
        }
        let sent = bytes.chunks(size).try_for_each(|datagram| self.socket.send(datagram, None, to, None));
        sent.map_err(|error| not_sent(&error, size, to))
    }
}

/// EIO and EINVAL: a device that cannot what the system says it can.
fn is_no_offload(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(5 | 22))
}

fn outcome(arguments: &ThroughputArguments, sent: &SentStream, counts: &DatagramCounts) -> UdpThroughput {
    let size = u64::from(arguments.payload_bytes);
    let each_us = |ns: u64, of: u64| ns as f64 / 1e3 / of.max(1) as f64;
    let DatagramCounts { received, unique, lost, duplicates, reordered, above_rate, .. } = *counts;
    UdpThroughput {
        frame_size: size,
        asked_spacing_us: sent.asked.as_nanos() as f64 / 1e3,
        spacing: Spacing::from_batches(&sent.batches_ns, u64::from(arguments.batch)),
        late_us: sent.late.as_nanos() as f64 / 1e3,
        sent: sent.sent,
        received,
        unique,
        lost,
        duplicates,
        reordered,
        above_rate,
        jitter_us: counts.jitter_ns as f64 / 1e3,
        loss_pattern: LossPattern::from_gaps(lost, &counts.gaps),
        loss_gap_mean: counts.gaps.mean_thousandths as f64 / 1e3,
        loss_gap_variation: counts.gaps.variation_thousandths as f64 / 1e3,
        arrivals_ns: counts.arrivals.filled().collect(),
        sender: DatagramRate::from_datagrams(sent.sent, size, sent.elapsed.as_secs_f64()),
        receiver: received_rate(unique, size, counts.elapsed_ns as f64 / 1e9, sent.elapsed.as_secs_f64()),
        sender_cpu_us: each_us(sent.cpu_ns, sent.sent),
        receiver_cpu_us: each_us(counts.user_ns + counts.system_ns, received),
        wake_ups_per_frame: counts.wake_ups as f64 / received.max(1) as f64,
        receive_buffer_bytes: sent.buffer_bytes,
        batch: arguments.batch.into(),
        offload: sent.offload.clone(),
        interface: sent.interface.clone(),
    }
}

/// From the first arrival to the last one datagram less came than in all.
fn received_rate(unique: u64, size: u64, arrivals_s: f64, sent_s: f64) -> DatagramRate {
    DatagramRate::from_datagrams(unique.saturating_sub(1), size, arrivals_s.max(sent_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump::{Host, WayIn};

    /// No receiver gets more than was sent (statement S54), however close together what was held up arrives.
    #[test]
    fn s54_a_receiver_gets_no_higher_rate_than_the_sender_sent() {
        for (unique, arrivals_s, expected) in [
            (1000, 1.0, 0.999),
            (1000, 0.5, 0.999),
            (500, 1.0, 0.499),
            (1000, 2.0, 0.4995),
            (1, 0.0, 0.0),
            (0, 0.0, 0.0),
        ] {
            let sent = DatagramRate::from_datagrams(1000, 1472, 1.0).user_mbit_per_s;
            let got = received_rate(unique, 1472, arrivals_s, 1.0).user_mbit_per_s;
            assert!((got / sent - expected).abs() < 1e-9, "{unique} in {arrivals_s} s: {got} of {sent}");
        }
    }

    #[test]
    fn what_is_asked_for_is_the_rate_that_was_given() {
        let asked = |payload_bytes, pace| {
            let host = Host::Served("host:1".into());
            let client = DatagramClient { host, way_in: WayIn::Open, stop: Default::default() };
            let duration = Duration::from_secs(1);
            let arguments = ThroughputArguments {
                client,
                payload_bytes,
                pace,
                count: None,
                duration,
                batch: 1,
                offload: false,
            };
            arguments.request().expect("nothing is wrong").bytes_per_second
        };
        for rate in [10_000, 125_000, 125_001, 1_250_000_000] {
            for payload_bytes in [32, 1472, 8972, 65_507] {
                assert_eq!(asked(payload_bytes, StreamPace::Rate(rate)), rate, "{payload_bytes}");
            }
        }
        // 1500 bytes each.
        for (spacing, rate) in [(120_000, 12_500_000), (120_001, 12_499_896), (7, 214_285_714_286), (0, 0)] {
            assert_eq!(asked(1472, StreamPace::Spacing(Duration::from_nanos(spacing))), rate, "{spacing}");
        }
    }
}
