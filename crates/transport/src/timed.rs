//! The link below a connection: how long its calls took, and whether the other host is still there.
//!
//! Must not know: what the bytes mean.

use std::io::{ErrorKind, IoSlice};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use datapump_core::wire::frame::{DIGEST_BYTES, HEAD_BYTES};
use datapump_engine::os::linux::tcp_info;
use datapump_engine::{CpuStage, Link, Until, meter::within};
use rustix::net::sockopt;

use crate::sockets::Assembly;

/// How long a wait goes on before it looks up: signals are answered within a second.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A link, and how long its calls took.
#[derive(Debug)]
pub(crate) struct Timed {
    pub(crate) link: Link,
    pub(crate) sending_ns: u64,
    pub(crate) receiving_ns: u64,
    /// Returns of receives for more than a head or a hash, and their bytes: the network gives what is there.
    pub(crate) received_parts: u64,
    pub(crate) received_bytes: u64,
    pub(crate) assembly: Assembly,
    /// How long the other host may leave unacknowledged what it was sent; none: for ever.
    patience: Option<Duration>,
    unanswered: Option<Instant>,
}

impl Timed {
    pub(crate) fn new(link: Link) -> Timed {
        let (patience, unanswered) = (None, None);
        let (sending_ns, receiving_ns, received_parts, received_bytes) = (0, 0, 0, 0);
        let assembly = Assembly::default();
        Timed {
            link,
            sending_ns,
            receiving_ns,
            received_parts,
            received_bytes,
            assembly,
            patience,
            unanswered,
        }
    }

    /// Notices from now on that the other host is gone for this connection alone, as where the path forgets it. One
    /// whose program is slow has a kernel that answers.
    pub(crate) fn watch(&mut self, patience: Duration) -> std::io::Result<()> {
        self.patience = Some(patience);
        self.link.tcp().map_or(Ok(()), |socket| keep_alive(socket, patience))
    }

    /// The end of a wait in which nothing came or went.
    fn looked_up(&mut self, result: std::io::Result<usize>) -> std::io::Result<usize> {
        match &result {
            Err(error) if error.kind() == ErrorKind::WouldBlock && self.is_dead() => {
                Err(std::io::Error::new(ErrorKind::ConnectionAborted, "the other host acknowledges nothing"))
            }
            _ => result,
        }
    }

    /// What was sent is not acknowledged, and nothing else was for too long.
    fn is_dead(&mut self) -> bool {
        let info = self.link.tcp().and_then(|socket| tcp_info(socket).ok());
        let (Some(patience), Some(info)) = (self.patience, info) else { return false };
        let since = *self.unanswered.get_or_insert_with(Instant::now);
        let heard_ago = Duration::from_millis(info.acknowledged_ms_ago.into());
        if info.unacknowledged_segments == 0 || heard_ago < since.elapsed() {
            self.unanswered = None;
        }
        since.elapsed() >= patience && self.unanswered.is_some()
    }

    pub(crate) fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.receive(bytes, Until::Some)
    }

    /// Reads for a block that has its own place.
    pub(crate) fn read_block(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let until = if self.assembly == Assembly::Kernel { Until::Whole } else { Until::Some };
        self.receive(bytes, until)
    }

    /// Reads the bytes that are there, without waiting.
    pub(crate) fn read_now(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.receive(bytes, Until::Now)
    }

    fn receive(&mut self, bytes: &mut [u8], until: Until) -> std::io::Result<usize> {
        let (start_ns, _stage) = (self.link.now_ns(), within(CpuStage::Receive));
        let result = self.link.receive(bytes, until);
        let result = if until == Until::Now { result } else { self.looked_up(result) };
        self.received(start_ns, bytes.len(), result)
    }

    fn received(
        &mut self,
        start_ns: u64,
        asked_bytes: usize,
        result: std::io::Result<usize>,
    ) -> std::io::Result<usize> {
        self.receiving_ns += self.link.now_ns() - start_ns;
        let len = result?;
        if asked_bytes > HEAD_BYTES.max(DIGEST_BYTES as usize) {
            self.received_parts += 1;
            self.received_bytes += len as u64;
        }
        Ok(len)
    }

    pub(crate) fn write(&mut self, parts: &[IoSlice<'_>]) -> std::io::Result<usize> {
        let (start_ns, _stage) = (self.link.now_ns(), within(CpuStage::Send));
        let result = self.link.send(parts);
        self.sending_ns += self.link.now_ns() - start_ns;
        self.looked_up(result)
    }
}

/// Lets the kernel ask the other one whether the connection is still there, when nothing else is under way: tcp(7). It
/// has gone unanswered for the whole patience, 5 s at least, when it is given up. A firewall that forgets what is
/// silent for seconds sees each of these questions.
fn keep_alive(socket: BorrowedFd<'_>, patience: Duration) -> std::io::Result<()> {
    const IDLE: Duration = Duration::from_secs(1);
    const TRIES_MIN: u64 = 4;
    /// The most that tcp(7) takes.
    const TRIES_MAX: u64 = 127;
    const INTERVAL_S_MAX: u64 = 32_767;
    let asked_s = patience.saturating_sub(IDLE).as_secs().max(TRIES_MIN);
    let interval_s = asked_s.div_ceil(TRIES_MAX).min(INTERVAL_S_MAX);
    let tries = (asked_s / interval_s).min(TRIES_MAX);
    sockopt::set_tcp_keepidle(socket, IDLE)?;
    sockopt::set_tcp_keepintvl(socket, Duration::from_secs(interval_s))?;
    sockopt::set_tcp_keepcnt(socket, tries as u32)?;
    sockopt::set_socket_keepalive(socket, true)?;
    Ok(())
}
