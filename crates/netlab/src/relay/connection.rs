//! One relayed connection: two non-blocking sockets, and a delay line for each direction.
//!
//! Its owner polls the sockets and steps it. Must not know: threads, other connections, who sets the delay.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use datapump_engine::sim::Random;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use super::RelayOptions;
use super::line::{DelayLine, LineEnd};

/// The side that connected to the relay, and the side that the relay connects to. `lines[side]` holds what it sent.
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// The clock of a relay: time since its start.
#[derive(Clone, Copy, Debug)]
pub struct RelayClock(pub Instant);

impl RelayClock {
    /// Time since the start.
    pub fn now(self) -> Duration {
        self.0.elapsed()
    }
}

/// State of the connection to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerConnect {
    /// It is begun then.
    At(Duration),
    InProgress,
    /// It is connected, or was refused.
    Finished,
}

/// A socket, if it is open, and whether it must become writable before more is sent.
#[derive(Debug, Default)]
struct RelaySide {
    stream: Option<TcpStream>,
    is_blocked: bool,
}

/// The connection.
#[derive(Debug)]
pub struct RelayConnection {
    sides: [RelaySide; 2],
    lines: [DelayLine; 2],
    connect: ServerConnect,
    /// Delay of bytes that are received from now on.
    delay: Duration,
    clock: RelayClock,
    forwarded_bytes: u64,
    is_reset: bool,
}

impl RelayConnection {
    /// For a client that was just accepted. As in a TCP handshake, the server sees the connection after the delay, and
    /// what the client sends leaves after a round trip.
    ///
    /// `seed` is that of the relay and the number of the connection.
    pub fn new(
        client: TcpStream,
        options: RelayOptions,
        seed: (u64, u64),
        clock: RelayClock,
    ) -> io::Result<RelayConnection> {
        prepare(&client)?;
        let (now, delay) = (clock.now(), options.delay);
        let random = |way: &str| Random::seeded(seed.0, &format!("relay {} {way}", seed.1));
        Ok(RelayConnection {
            sides: [RelaySide { stream: Some(client), is_blocked: false }, RelaySide::default()],
            lines: [
                DelayLine::new(options, random("there"), now + delay * 2),
                DelayLine::new(options, random("back"), now),
            ],
            connect: ServerConnect::At(now + delay),
            delay,
            clock,
            forwarded_bytes: 0,
            is_reset: false,
        })
    }

    /// The events to poll for on each socket; `None` if there are none.
    pub fn interests(&self, now: Duration) -> [Option<(BorrowedFd<'_>, PollFlags)>; 2] {
        [CLIENT, SERVER].map(|side| {
            let mut flags = PollFlags::empty();
            if self.is_connected(side) && self.lines[side].accepts(now) {
                flags |= PollFlags::IN;
            }
            if self.sides[side].is_blocked || (side == SERVER && self.connect == ServerConnect::InProgress) {
                flags |= PollFlags::OUT;
            }
            let stream = self.sides[side].stream.as_ref().filter(|_| !flags.is_empty());
            stream.map(|stream| (stream.as_fd(), flags))
        })
    }

    fn is_connected(&self, side: usize) -> bool {
        side == CLIENT || self.connect == ServerConnect::Finished
    }

    /// When it must be stepped even if no socket is ready.
    pub fn wakes_at(&self, now: Duration) -> Option<Duration> {
        let connect = match self.connect {
            ServerConnect::At(at) => Some(at),
            ServerConnect::InProgress | ServerConnect::Finished => None,
        };
        let of_line = |side: usize| {
            let (line, other) = (&self.lines[side], 1 - side);
            let due = line.next_due().filter(|_| self.is_connected(other) && !self.sides[other].is_blocked);
            let accepts = line.accepts_at().filter(|at| *at > now);
            due.into_iter().chain(accepts).min()
        };
        connect.into_iter().chain(of_line(CLIENT)).chain(of_line(SERVER)).min()
    }

    /// Receives from the sockets that are ready and sends what is due. Bytes received now are delayed by `delay`.
    pub fn step(&mut self, to: SocketAddr, delay: Duration, ready: [PollFlags; 2]) {
        self.delay = delay;
        self.step_connect(to, ready[SERVER]);
        for side in [CLIENT, SERVER] {
            if ready[side].contains(PollFlags::OUT) {
                self.sides[side].is_blocked = false;
            }
            if ready[side].intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
                self.sides[side].is_blocked = false;
                self.receive(side);
            }
        }
        for side in [CLIENT, SERVER] {
            if self.is_connected(side) {
                self.send(side);
            }
        }
    }

    fn step_connect(&mut self, to: SocketAddr, ready: PollFlags) {
        match self.connect {
            ServerConnect::At(at) if at <= self.clock.now() => match begin_connect(to) {
                Ok(server) => {
                    self.sides[SERVER].stream = Some(server);
                    self.connect = ServerConnect::InProgress;
                }
                Err(_) => self.refuse(),
            },
            ServerConnect::InProgress if !ready.is_empty() => {
                let server = self.sides[SERVER].stream.as_ref();
                let result =
                    server.map(|server| server.take_error().and_then(|error| error.map_or(Ok(()), Err)));
                match result {
                    Some(Ok(())) => self.connect = ServerConnect::Finished,
                    Some(Err(_)) | None => self.refuse(),
                }
            }
            _ => {}
        }
    }

    /// The server cannot be reached: the client is reset, after the delay.
    fn refuse(&mut self) {
        self.connect = ServerConnect::Finished;
        self.lose(SERVER);
    }

    fn receive(&mut self, side: usize) {
        let line = &mut self.lines[side];
        let Some(stream) = &mut self.sides[side].stream else { return };
        if !line.accepts(self.clock.now()) {
            return;
        }
        match stream.read(line.space()) {
            Ok(0) => line.end(LineEnd::Closed, self.clock.now(), self.delay),
            Ok(len) => line.push(len, self.clock.now(), self.delay),
            Err(error) if is_transient(&error) => {}
            Err(_) => self.lose(side),
        }
    }

    /// Sends to this side what is due, then the end if it is due.
    fn send(&mut self, side: usize) {
        let line = &mut self.lines[1 - side];
        while let Some(bytes) = line.poll(self.clock.now()) {
            let Some(stream) = &mut self.sides[side].stream else { return };
            match stream.write(bytes) {
                Ok(len) => {
                    line.sent(len);
                    self.forwarded_bytes += len as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_transient(&error) => {
                    self.sides[side].is_blocked = true;
                    return;
                }
                Err(_) => return self.lose(side),
            }
        }
        match line.poll_end(self.clock.now()) {
            Some(LineEnd::Closed) => {
                // If it fails the connection is gone, and the next read returns the reset.
                let _ = self.sides[side].stream.as_ref().map(|stream| stream.shutdown(Shutdown::Write));
            }
            Some(LineEnd::Reset) => self.reset(),
            None => {}
        }
    }

    /// A side is gone: the other is reset after all that was sent before, and bytes for the lost side are dropped.
    fn lose(&mut self, side: usize) {
        self.sides[side] = RelaySide::default();
        self.lines[1 - side].discard();
        self.lines[side].end(LineEnd::Reset, self.clock.now(), self.delay);
    }

    /// Resets both sides at once.
    pub fn reset(&mut self) {
        for side in &mut self.sides {
            if let Some(stream) = side.stream.take() {
                // Closed without lingering, a socket sends RST. If the option fails it sends FIN.
                let _ = set_socket_linger(&stream, Some(Duration::ZERO));
            }
        }
        self.is_reset = true;
    }

    /// Whether both directions have ended, or it was reset.
    pub fn is_over(&self) -> bool {
        self.is_reset || self.lines.iter().all(DelayLine::is_over)
    }

    /// Bytes that were forwarded since the last call.
    pub fn take_forwarded(&mut self) -> u64 {
        std::mem::take(&mut self.forwarded_bytes)
    }
}

/// The same call succeeds later.
fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    // Small messages are forwarded at once, as their sender sent them.
    stream.set_nodelay(true)
}

/// Begins to connect; the socket becomes writable when it is connected or refused.
fn begin_connect(to: SocketAddr) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let server = TcpStream::from(socket);
    prepare(&server)?;
    Ok(server)
}
