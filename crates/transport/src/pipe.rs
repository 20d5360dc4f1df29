//! The bytes below a connection: a socket whose waits end now and then.
//!
//! Must not know: what the bytes mean.

use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use datapump_core::wire::frame::{DIGEST_BYTES, HEAD_BYTES};
use datapump_engine::os::linux::tcp_info;
use datapump_engine::{Stage, meter::within};
use rustix::net::sockopt;

use crate::sockets::Assembly;

/// How long a wait goes on before it looks up: signals are answered within a second.
pub(crate) const LOOK_UP: Duration = Duration::from_millis(100);

/// The bytes below.
#[derive(Debug)]
pub enum Pipe {
    /// The system carries them.
    Tcp(TcpStream),
    /// Another program carries them (`Carrier`), or a test.
    Unix(UnixStream),
}

/// A pipe, and how long its calls took.
#[derive(Debug)]
pub(crate) struct Timed {
    pub(crate) pipe: Pipe,
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
    pub(crate) fn new(pipe: Pipe) -> Timed {
        let (patience, unanswered) = (None, None);
        let (sending_ns, receiving_ns, received_parts, received_bytes) = (0, 0, 0, 0);
        let assembly = Assembly::default();
        Timed {
            pipe,
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
        match &self.pipe {
            Pipe::Tcp(socket) => keep_alive(socket.as_fd(), patience),
            Pipe::Unix(_) => Ok(()),
        }
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
        let (Some(patience), Ok(info)) = (self.patience, tcp_info(self.fd())) else { return false };
        let since = *self.unanswered.get_or_insert_with(Instant::now);
        let heard_ago = Duration::from_millis(info.acknowledged_ms_ago.into());
        if info.unacknowledged_segments == 0 || heard_ago < since.elapsed() {
            self.unanswered = None;
        }
        since.elapsed() >= patience && self.unanswered.is_some()
    }

    pub(crate) fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let (start, _stage) = (Instant::now(), within(Stage::Receive));
        let result = self.pipe.read(bytes);
        let result = self.looked_up(result);
        self.received(start, bytes.len(), result)
    }

    /// Reads for a block that has its own place.
    pub(crate) fn read_block(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self.assembly {
            Assembly::Kernel => self.read_whole(bytes),
            Assembly::Pump => self.read(bytes),
        }
    }

    fn read_whole(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let (start, _stage) = (Instant::now(), within(Stage::Receive));
        let result = self.pipe.read_whole(bytes);
        let result = self.looked_up(result);
        self.received(start, bytes.len(), result)
    }

    /// What is there, without waiting.
    pub(crate) fn read_now(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let (start, _stage) = (Instant::now(), within(Stage::Receive));
        let result = rustix::net::recv(self.fd(), &mut *bytes, rustix::net::RecvFlags::DONTWAIT);
        self.received(start, bytes.len(), result.map(|(_, len)| len).map_err(Into::into))
    }

    fn received(
        &mut self,
        start: Instant,
        asked_bytes: usize,
        result: std::io::Result<usize>,
    ) -> std::io::Result<usize> {
        self.receiving_ns += start.elapsed().as_nanos() as u64;
        let len = result?;
        if asked_bytes > HEAD_BYTES.max(DIGEST_BYTES as usize) {
            self.received_parts += 1;
            self.received_bytes += len as u64;
        }
        Ok(len)
    }

    pub(crate) fn write(&mut self, parts: &[IoSlice<'_>]) -> std::io::Result<usize> {
        let (start, _stage) = (Instant::now(), within(Stage::Send));
        let result = self.pipe.write(parts);
        self.sending_ns += start.elapsed().as_nanos() as u64;
        self.looked_up(result)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.pipe.fd()
    }
}

/// Lets the kernel ask the other one whether the connection is still there, when nothing else is under way: tcp(7). It
/// has gone unanswered for the whole patience when it is given up.
fn keep_alive(socket: BorrowedFd<'_>, patience: Duration) -> std::io::Result<()> {
    const TRIES: u32 = 4;
    /// The most that tcp(7) takes.
    const MOST: Duration = Duration::from_secs(32_767);
    let whole = |time: Duration| time.clamp(Duration::from_secs(1), MOST);
    sockopt::set_tcp_keepidle(socket, whole(patience / 2))?;
    sockopt::set_tcp_keepintvl(socket, whole(patience / (2 * TRIES)))?;
    sockopt::set_tcp_keepcnt(socket, TRIES)?;
    sockopt::set_socket_keepalive(socket, true)?;
    Ok(())
}

impl Pipe {
    pub(crate) fn prepare(&self) -> std::io::Result<()> {
        match self {
            Pipe::Tcp(socket) => {
                socket.set_nodelay(true)?;
                socket.set_read_timeout(Some(LOOK_UP))?;
                socket.set_write_timeout(Some(LOOK_UP))
            }
            Pipe::Unix(socket) => {
                socket.set_read_timeout(Some(LOOK_UP))?;
                socket.set_write_timeout(Some(LOOK_UP))
            }
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Pipe::Tcp(socket) => socket.read(bytes),
            Pipe::Unix(socket) => socket.read(bytes),
        }
    }

    fn write(&mut self, parts: &[IoSlice<'_>]) -> std::io::Result<usize> {
        match self {
            Pipe::Tcp(socket) => socket.write_vectored(parts),
            Pipe::Unix(socket) => socket.write_vectored(parts),
        }
    }

    /// Reads until the bytes are full, or for as long as a read takes: the kernel assembles them (LIMITS §3).
    fn read_whole(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let received = rustix::net::recv(self.fd(), bytes, rustix::net::RecvFlags::WAITALL);
        received.map(|(_, len)| len).map_err(Into::into)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Pipe::Tcp(socket) => socket.as_fd(),
            Pipe::Unix(socket) => socket.as_fd(),
        }
    }
}
