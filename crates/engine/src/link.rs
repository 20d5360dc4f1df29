//! The engine of sockets: receives and sends over one connection, by plain calls of the system or in a simulated net.
//!
//! Plain calls, because what a socket gives and takes is there or not, and no device works meanwhile: null to null over
//! loopback they move 5.4 GB/s with 256 KiB a call, through a ring 4.3. A wait ends now and then, so that
//! who waits can look whether to go on.
//!
//! Must not know: what the bytes mean, whether they are sealed, who is at the other end.

mod net;
mod socket;

use std::io::{self, IoSlice};
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

pub use net::{SimLink, SimNet, go_on_meanwhile};
pub use socket::Socket;

/// One end of a connection.
#[derive(Debug)]
pub enum Link {
    /// Plain calls of the system.
    Calls(Socket),
    /// In memory, on a virtual clock.
    Sim(SimLink),
}

/// How long a receive waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Not at all.
    Now,
    /// Until something is there.
    Some,
    /// Until all that was asked for is there: the kernel assembles it (`MSG_WAITALL` of recv(2)).
    Whole,
}

impl From<Socket> for Link {
    fn from(socket: Socket) -> Link {
        Link::Calls(socket)
    }
}

impl Link {
    /// What performs, as reports name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Link::Calls(_) => "calls",
            Link::Sim(_) => "sim",
        }
    }

    /// Small sends go at once, and no wait takes longer than this.
    ///
    /// Errors: of the system.
    pub fn prepare(&self, look_up: Duration) -> io::Result<()> {
        match self {
            Link::Calls(socket) => socket.prepare(look_up),
            Link::Sim(_) => Ok(()),
        }
    }

    /// Receives into `bytes`. Gives how many; 0 at the end.
    ///
    /// Errors: `WouldBlock` when nothing came for as long as it waits; of the system.
    pub fn receive(&mut self, bytes: &mut [u8], until: Until) -> io::Result<usize> {
        match self {
            Link::Calls(socket) => socket.receive(bytes, until),
            Link::Sim(link) => link.receive(bytes, until),
        }
    }

    /// Sends these parts, one behind the other. Gives how many bytes were taken.
    ///
    /// Errors: `WouldBlock` when nothing was taken for as long as it waits; of the system.
    pub fn send(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Link::Calls(socket) => socket.send(parts),
            Link::Sim(link) => link.send(parts),
        }
    }

    /// Waits until something can be received, or `other` can be read, or for so long. Whether it can be received.
    ///
    /// Errors: of the system.
    pub fn has_input(&self, other: Option<BorrowedFd<'_>>, patience: Duration) -> io::Result<bool> {
        match self {
            Link::Calls(socket) => socket.has_input(other, patience),
            Link::Sim(link) => link.has_input(patience),
        }
    }

    /// Nanoseconds on the clock of its waits, from any beginning.
    pub fn now_ns(&self) -> u64 {
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        match self {
            Link::Calls(_) => BEGAN.get_or_init(Instant::now).elapsed().as_nanos() as u64,
            Link::Sim(link) => link.now_ns(),
        }
    }

    /// The socket below, for who waits for several; on a virtual clock there is none.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Link::Calls(socket) => Some(socket.fd()),
            Link::Sim(_) => None,
        }
    }

    /// The socket below, if the kernel's TCP is.
    pub fn tcp(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Link::Calls(socket @ Socket::Tcp(_)) => Some(socket.fd()),
            Link::Calls(Socket::Unix(_)) | Link::Sim(_) => None,
        }
    }
}
