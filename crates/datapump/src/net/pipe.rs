//! The bytes below a connection: a socket whose waits end now and then.
//!
//! Must not know: what the bytes mean.

use std::io::{IoSlice, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use crate::bill::{Stage, within};

/// How long a wait goes on before it looks up: signals are answered within a second.
pub(super) const LOOK_UP: Duration = Duration::from_millis(100);

/// The bytes below.
#[derive(Debug)]
pub(crate) enum Pipe {
    Tcp(TcpStream),
    /// Another program carries them (`carrier`), or a test.
    Unix(UnixStream),
}

/// A pipe, and how long its calls took.
#[derive(Debug)]
pub(super) struct Timed {
    pub(super) pipe: Pipe,
    pub(super) sending_ns: u64,
    pub(super) receiving_ns: u64,
    /// Returns of receives, and their bytes: the network gives what is there.
    pub(super) received_parts: u64,
    pub(super) received_bytes: u64,
}

impl Timed {
    pub(super) fn new(pipe: Pipe) -> Timed {
        Timed { pipe, sending_ns: 0, receiving_ns: 0, received_parts: 0, received_bytes: 0 }
    }

    pub(super) fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let (start, _stage) = (Instant::now(), within(Stage::Receive));
        let result = self.pipe.read(bytes);
        self.received(start, result)
    }

    pub(super) fn read_whole(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let (start, _stage) = (Instant::now(), within(Stage::Receive));
        let result = self.pipe.read_whole(bytes);
        self.received(start, result)
    }

    /// What is there, without waiting.
    pub(super) fn read_now(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let (start, _stage) = (Instant::now(), within(Stage::Receive));
        let result = rustix::net::recv(self.fd(), bytes, rustix::net::RecvFlags::DONTWAIT);
        self.received(start, result.map(|(_, len)| len).map_err(Into::into))
    }

    fn received(&mut self, start: Instant, result: std::io::Result<usize>) -> std::io::Result<usize> {
        self.receiving_ns += start.elapsed().as_nanos() as u64;
        let len = result?;
        self.received_parts += 1;
        self.received_bytes += len as u64;
        Ok(len)
    }

    pub(super) fn write(&mut self, parts: &[IoSlice<'_>]) -> std::io::Result<usize> {
        let (start, _stage) = (Instant::now(), within(Stage::Send));
        let result = self.pipe.write(parts);
        self.sending_ns += start.elapsed().as_nanos() as u64;
        result
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.pipe.fd()
    }
}

impl Pipe {
    pub(super) fn prepare(&self) -> std::io::Result<()> {
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

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Pipe::Tcp(socket) => socket.as_fd(),
            Pipe::Unix(socket) => socket.as_fd(),
        }
    }
}
