//! A socket of the system, and the calls that receive and send over it.
//!
//! Must not know: what the bytes mean, how often a wait looks up.

use std::io::{self, IoSlice, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::Until;

/// A socket that bytes come from and go to.
#[derive(Debug)]
pub enum Socket {
    /// The system carries them.
    Tcp(TcpStream),
    /// Another program of this host carries them, or a test.
    Unix(UnixStream),
}

impl Socket {
    /// Small sends go at once (an answer in several pieces would wait 40 ms each for the other side's delayed
    /// acknowledgement: Nagle, RFC 896), and no wait takes longer than this.
    ///
    /// Errors: of the system.
    pub fn prepare(&self, look_up: Duration) -> io::Result<()> {
        match self {
            Socket::Tcp(socket) => {
                socket.set_nodelay(true)?;
                socket.set_read_timeout(Some(look_up))?;
                socket.set_write_timeout(Some(look_up))
            }
            Socket::Unix(socket) => {
                socket.set_read_timeout(Some(look_up))?;
                socket.set_write_timeout(Some(look_up))
            }
        }
    }

    /// As [`super::Link::receive`].
    ///
    /// Errors: as there.
    pub fn receive(&self, bytes: &mut [u8], until: Until) -> io::Result<usize> {
        let flags = match until {
            Until::Now => RecvFlags::DONTWAIT,
            Until::Some => RecvFlags::empty(),
            Until::Whole => RecvFlags::WAITALL,
        };
        let received = recv(self.fd(), bytes, flags);
        received.map(|(_, len)| len).map_err(Into::into)
    }

    pub(super) fn send(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Socket::Tcp(socket) => socket.write_vectored(parts),
            Socket::Unix(socket) => socket.write_vectored(parts),
        }
    }

    /// Sends without waiting.
    ///
    /// Errors: `WouldBlock` when nothing is taken; of the system.
    pub fn send_now(&self, bytes: &[u8]) -> io::Result<usize> {
        send(self.fd(), bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).map_err(Into::into)
    }

    pub(super) fn has_input(&self, other: Option<BorrowedFd<'_>>, patience: Duration) -> io::Result<bool> {
        let of = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut fds = [of(self.fd()), of(other.unwrap_or(self.fd()))];
        let patience =
            Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: patience.subsec_nanos().into() };
        match poll(&mut fds, Some(&patience)) {
            Ok(_) => Ok(!fds[0].revents().is_empty()),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// For who waits for several.
    pub fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Unix(socket) => socket.as_fd(),
        }
    }
}
