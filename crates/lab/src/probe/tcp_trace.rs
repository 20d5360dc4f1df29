//! A time series of TCP connections: what the kernel tells of each, two hundred times a second, as lines of JSON.
//!
//! TCP.md beside this crate says what the fields mean. [`TcpTrace::start`] runs beside whatever is measured until it is
//! finished or dropped. Must not know: who measures, what the numbers mean for a verdict.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use schemars::JsonSchema;
use serde::Serialize;

use crate::probe::sock_diag::{KernelConnection, SockDiag, SocketIdentity};
use crate::probe::sockets;
pub use crate::probe::sockets::Nobody;

/// Twice as often as is promised, so that a late sample does not break the promise.
const PERIOD: Duration = Duration::from_millis(5);
/// How often connections that are new are looked for.
const LOOK_EACH: u32 = 10;
/// A sample of a connection takes about 10 us; more of them would not be sampled in time.
const CONNECTIONS_MAX: usize = 256;

/// Whose connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpTarget {
    /// Those of a process and of what it starts.
    Process(u32),
    /// Those with this port at either end.
    Port(u16),
    /// A process of this number if it has connections, or else a port.
    Number(u32),
}

impl FromStr for TcpTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<TcpTarget, String> {
        let wrong =
            || format!("'{text}' is no process and no port; write a number, pid:NUMBER or port:NUMBER");
        let (kind, number) = text.split_once(':').unwrap_or(("", text));
        let port = || number.parse().ok().filter(|&port| port > 0).map(TcpTarget::Port);
        let pid = || number.parse().ok().filter(|&pid: &u32| pid > 0 && pid <= i32::MAX as u32);
        let target = match (kind, text.contains(':')) {
            ("", false) => pid().map(TcpTarget::Number),
            ("pid", _) => pid().map(TcpTarget::Process),
            ("port" | "", _) => port(),
            _ => None,
        };
        target.ok_or_else(wrong)
    }
}

/// What a time series came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TcpTraced {
    /// From start to end.
    pub elapsed_ns: u64,
    /// Rounds of samples.
    pub rounds: u64,
    /// Lines that were written.
    pub samples: u64,
    /// Each connection once.
    pub connections: Vec<TcpConnection>,
    /// Connections that were left out because there were too many.
    pub left_out: u64,
}

/// The last that was seen of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TcpConnection {
    /// Both ends, this one first.
    pub connection: String,
    /// Samples of it.
    pub samples: u64,
    /// State at the last one.
    pub state: &'static str,
    /// Bytes that it had sent and the other side had acknowledged.
    pub bytes_acked: u64,
    /// Bytes that it had received.
    pub bytes_received: u64,
    /// Segments that it had sent again.
    pub retransmitted_segments: u64,
}

/// A line of the file.
#[derive(Serialize)]
struct TcpLine<'sample> {
    v: u32,
    event: &'static str,
    #[serde(flatten)]
    sample: &'sample TcpSample<'sample>,
}

/// What a connection was at one moment. TCP.md says more of the fields.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TcpSample<'a> {
    /// Since the series began.
    pub time_ns: u64,
    /// Both ends, this one first.
    pub connection: &'a str,
    /// The kernel's number of the socket.
    pub socket: u64,
    /// As tcp(7).
    pub state: &'static str,
    /// The kernel's name of its congestion control.
    pub congestion: Option<&'a str>,
    /// How many may be under way: the congestion window.
    pub cwnd_segments: u32,
    /// Where slow start ends; null until a loss sets it.
    pub ssthresh_segments: Option<u32>,
    /// Largest payload of a segment that is sent.
    pub mss_bytes: u32,
    /// Round trip, smoothed.
    pub rtt_us: u32,
    /// Shortest round trip of late.
    pub min_rtt_us: u32,
    /// Counter: sent again.
    pub retransmitted_segments: u64,
    /// Counter: segments with data that were sent, those sent again included.
    pub sent_segments: u64,
    /// Under way now.
    pub unacked_segments: u32,
    /// Counter: acknowledged by the other side.
    pub bytes_acked: u64,
    /// Counter: sent, those sent again included.
    pub bytes_sent: u64,
    /// Counter: received in order.
    pub bytes_received: u64,
    /// Handed over by the process, not sent yet.
    pub unsent_bytes: u32,
    /// Handed over, not acknowledged yet.
    pub send_queue_bytes: u32,
    /// Received, not read by the process yet.
    pub receive_queue_bytes: u32,
    /// Room that the other side offers.
    pub peer_window_bytes: u32,
    /// Room that this side offers (0 before Linux 6.2, which does not tell).
    pub window_bytes: u32,
    /// How fast the other side got what was sent, by the kernel's latest measurement.
    pub delivered_bytes_per_second: u64,
    /// Counter: there was something to send or to be acknowledged.
    pub busy_ns: u64,
    /// Counter: of that, the other side's window was full.
    pub receive_window_limited_ns: u64,
    /// Counter: of that, the send buffer was too small.
    pub send_buffer_limited_ns: u64,
}

/// A time series that is being written. Dropped, it ends.
#[derive(Debug)]
pub struct TcpTrace {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<anyhow::Result<TcpTraced>>>,
}

impl TcpTrace {
    /// Begins to write into a new file.
    ///
    /// Errors: no such process, a number that is both a process and a port, no permission, a file that cannot be made.
    pub fn start(target: TcpTarget, path: &Path) -> anyhow::Result<TcpTrace> {
        let shown = || path.display().to_string();
        let file = File::create(path).with_context(|| format!("create '{}'", shown()))?;
        TcpTrace::start_into(target, Box::new(file), path)
    }

    /// Starts a series into anything that can be written; `path` names it in errors.
    pub fn start_into(target: TcpTarget, to: Box<dyn Write + Send>, path: &Path) -> anyhow::Result<TcpTrace> {
        let (target, diag) = open(target)?;
        let stop = Arc::new(AtomicBool::new(false));
        let series = TraceSeries::new(target, diag, to, path.to_path_buf());
        let until = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("tcp-trace".into())
            .spawn(move || series.run(&until))
            .context("no thread for the time series")?;
        Ok(TcpTrace { stop, thread: Some(thread) })
    }

    /// Whether it has ended: the process is gone, or the file cannot be written.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Takes a last sample and says what was seen.
    pub fn finish(mut self) -> anyhow::Result<TcpTraced> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(traced)) => traced,
            _ => bail!("the thread of the time series ended early"),
        }
    }
}

impl Drop for TcpTrace {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Settles what a bare number means, and where its connections are asked for.
fn open(target: TcpTarget) -> anyhow::Result<(TcpTarget, SockDiag)> {
    match target {
        TcpTarget::Process(pid) => Ok((target, sockets::diag_of(pid)?)),
        TcpTarget::Port(_) => Ok((target, SockDiag::open().context("netlink")?)),
        TcpTarget::Number(number) => open_number(number),
    }
}

fn open_number(number: u32) -> anyhow::Result<(TcpTarget, SockDiag)> {
    let port = u16::try_from(number).ok().map(TcpTarget::Port);
    let process = if sockets::exists(number) { Some(TcpTarget::Process(number)) } else { None };
    let (Some(process), Some(port)) = (process, port) else {
        return open(process.or(port).ok_or(Nobody { number, nor: ", and no port can have it" })?);
    };
    let has_some = |target: TcpTarget| -> bool {
        open(target).and_then(|(target, mut diag)| Ok(look(target, &mut diag)?.1 > 0)).unwrap_or(false)
    };
    match (has_some(process), has_some(port)) {
        (true, true) => bail!(
            "{number} is a process with connections and a port in use; write pid:{number} or port:{number}"
        ),
        (false, true) => open(port),
        _ => open(process),
    }
}

/// The connections there are now, and how many.
fn look(target: TcpTarget, diag: &mut SockDiag) -> anyhow::Result<(Vec<KernelConnection>, usize)> {
    let wanted: Box<dyn Fn(&KernelConnection) -> bool> = match target {
        TcpTarget::Port(port) => Box::new(move |it| it.local.port() == port || it.remote.port() == port),
        TcpTarget::Process(pid) | TcpTarget::Number(pid) => {
            let inodes: BTreeSet<u32> = sockets::of_family(pid);
            Box::new(move |it| inodes.contains(&it.inode))
        }
    };
    let found = diag.all(&*wanted).context("ask the kernel for its TCP connections")?;
    let count = found.len();
    Ok((found, count))
}

struct TraceSeries {
    target: TcpTarget,
    diag: SockDiag,
    to: BufWriter<Box<dyn Write + Send>>,
    path: PathBuf,
    known: BTreeMap<u64, (SocketIdentity, TcpConnection)>,
    gone: BTreeMap<u64, TcpConnection>,
    left_out: BTreeSet<u64>,
    start: Instant,
    traced: TcpTraced,
}

impl TraceSeries {
    fn new(target: TcpTarget, diag: SockDiag, to: Box<dyn Write + Send>, path: PathBuf) -> TraceSeries {
        let to = BufWriter::new(to);
        let (known, gone, left_out) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        TraceSeries {
            target,
            diag,
            to,
            path,
            known,
            gone,
            left_out,
            start: Instant::now(),
            traced: TcpTraced::default(),
        }
    }

    fn run(mut self, stop: &AtomicBool) -> anyhow::Result<TcpTraced> {
        for round in 0_u32.. {
            let last = stop.load(Ordering::Relaxed);
            if round.is_multiple_of(LOOK_EACH) || last {
                self.look()?;
            }
            self.sample().with_context(|| format!("write '{}'", self.path.display()))?;
            self.traced.rounds += 1;
            if last || (self.known.is_empty() && self.is_over()) {
                break;
            }
            let next = PERIOD * (round + 1);
            std::thread::sleep(next.saturating_sub(self.start.elapsed()));
        }
        self.to.flush().with_context(|| format!("write '{}'", self.path.display()))?;
        Ok(self.summed_up())
    }

    fn is_over(&self) -> bool {
        matches!(self.target, TcpTarget::Process(pid) if !sockets::exists(pid))
    }

    fn look(&mut self) -> anyhow::Result<()> {
        for connection in look(self.target, &mut self.diag)?.0 {
            let cookie = connection.cookie;
            if self.known.contains_key(&cookie)
                || self.gone.contains_key(&cookie)
                || connection.info.is_none()
            {
                continue;
            }
            if self.known.len() >= CONNECTIONS_MAX {
                self.left_out.insert(cookie);
                continue;
            }
            let seen = TcpConnection { connection: connection.name(), ..TcpConnection::default() };
            self.known.insert(cookie, (connection.identity, seen));
        }
        self.to.flush().with_context(|| format!("write '{}'", self.path.display()))
    }

    fn sample(&mut self) -> io::Result<()> {
        let cookies: Vec<u64> = self.known.keys().copied().collect();
        for cookie in cookies {
            let Some((identity, seen)) = self.known.get_mut(&cookie) else { continue };
            let now = self.diag.connection(identity)?;
            let time_ns = self.start.elapsed().as_nanos() as u64;
            match now.as_ref().and_then(|now| sampled(time_ns, now, &seen.connection)) {
                Some(sample) => {
                    serde_json::to_writer(&mut self.to, &TcpLine { v: 1, event: "tcp", sample: &sample })?;
                    self.to.write_all(b"\n")?;
                    let (state, acked, received) = (sample.state, sample.bytes_acked, sample.bytes_received);
                    let again = sample.retransmitted_segments;
                    seen.note(state, acked, received, again);
                    self.traced.samples += 1;
                }
                None => {
                    if let Some((_, seen)) = self.known.remove(&cookie) {
                        self.gone.insert(cookie, seen);
                    }
                }
            }
        }
        Ok(())
    }

    fn summed_up(self) -> TcpTraced {
        let living = self.known.into_iter().map(|(cookie, (_, seen))| (cookie, seen));
        let all: BTreeMap<u64, TcpConnection> = self.gone.into_iter().chain(living).collect();
        TcpTraced {
            elapsed_ns: self.start.elapsed().as_nanos() as u64,
            connections: all.into_values().collect(),
            left_out: self.left_out.len() as u64,
            ..self.traced
        }
    }
}

impl TcpConnection {
    fn note(&mut self, state: &'static str, bytes_acked: u64, bytes_received: u64, again: u64) {
        self.samples += 1;
        (self.state, self.bytes_acked, self.bytes_received) = (state, bytes_acked, bytes_received);
        self.retransmitted_segments = again;
    }
}

fn sampled<'a>(time_ns: u64, now: &'a KernelConnection, connection: &'a str) -> Option<TcpSample<'a>> {
    let info = now.info?;
    Some(TcpSample {
        time_ns,
        connection,
        socket: now.cookie,
        state: now.state_name(),
        congestion: now.congestion.as_deref(),
        cwnd_segments: info.congestion_window_segments,
        ssthresh_segments: info.slow_start_threshold_segments,
        mss_bytes: info.segment_bytes,
        rtt_us: info.rtt_us,
        min_rtt_us: info.min_rtt_us,
        retransmitted_segments: info.retransmitted_segments,
        sent_segments: info.sent_segments,
        unacked_segments: info.unacknowledged_segments,
        bytes_acked: info.acknowledged_bytes,
        bytes_sent: info.sent_bytes,
        bytes_received: info.received_bytes,
        unsent_bytes: info.unsent_bytes,
        send_queue_bytes: now.send_queue_bytes,
        receive_queue_bytes: now.receive_queue_bytes,
        peer_window_bytes: info.peer_window_bytes,
        window_bytes: info.window_bytes,
        delivered_bytes_per_second: info.delivered_bytes_per_second,
        busy_ns: info.busy_ns,
        receive_window_limited_ns: info.receive_window_limited_ns,
        send_buffer_limited_ns: info.send_buffer_limited_ns,
    })
}

#[cfg(test)]
mod tests;
