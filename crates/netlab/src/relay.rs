//! A delaying TCP relay on loopback: bytes, closes and resets from one side reach the other in order after a delay,
//! and a new connection takes a round trip, as with a distant host.
//!
//! It does not model a network: no packet is lost, windows are large, and TCP's slow start is that of loopback. One
//! thread polls all connections, with two copies of each byte; up to 256 MiB are queued for a direction.
//!
//! Must not know: the programs that talk, how a study is run.

mod connection;
mod line;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use connection::{RelayClock, RelayConnection};

/// Each has two descriptors, and a process usually may have 1,024. Further clients wait to be accepted.
const CONNECTIONS_MAX: usize = 256;
/// Pause after a failed accept, as when no descriptor is left.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(10);
/// Longest wait of the loop when nothing is due.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// Delays and limits of a relay, for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayOptions {
    /// One-way delay.
    pub delay: Duration,
    /// Most that is added to it at random. Bytes stay in order.
    pub jitter: Duration,
    /// Most bytes per second; `None` is no limit.
    pub bytes_per_second: Option<u64>,
}

impl RelayOptions {
    /// Whether a relay would change anything.
    pub fn is_needed(&self) -> bool {
        *self != RelayOptions::default()
    }
}

/// The relay. Dropping it resets its connections and ends its thread.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    control: Arc<RelayControl>,
    /// A byte written here wakes the loop.
    waker: UnixStream,
    thread: Option<JoinHandle<()>>,
}

/// Settings for the loop, and its counters.
#[derive(Debug, Default)]
struct RelayControl {
    settings: Mutex<RelaySettings>,
    accepted: AtomicU64,
    forwarded_bytes: AtomicU64,
}

/// Settings that change while the relay runs.
#[derive(Clone, Debug, Default)]
struct RelaySettings {
    delay: Duration,
    /// Delays of single connections, by their number.
    delays: BTreeMap<u64, Duration>,
    /// How often all connections were to be cut.
    cuts: u64,
    stop: bool,
}

impl RelaySettings {
    fn delay_of(&self, connection: u64) -> Duration {
        self.delays.get(&connection).copied().unwrap_or(self.delay)
    }
}

impl RelayControl {
    fn settings(&self) -> MutexGuard<'_, RelaySettings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Relay {
    /// Listens on a free port of 127.0.0.1 and connects each accepted client to `to`, which may start to listen later.
    /// The seed decides the jitter.
    ///
    /// Errors: no port can be had, or no thread.
    pub fn start(to: SocketAddr, options: RelayOptions, seed: u64) -> io::Result<Relay> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (waker, wake) = UnixStream::pair()?;
        waker.set_nonblocking(true)?;
        wake.set_nonblocking(true)?;
        let control = Arc::new(RelayControl::default());
        control.settings().delay = options.delay;
        let work = RelayLoop {
            to,
            options,
            seed,
            listener,
            wake,
            control: Arc::clone(&control),
            clock: RelayClock(Instant::now()),
            connections: BTreeMap::new(),
            cuts: 0,
        };
        let thread = thread::Builder::new().name("relay".into()).spawn(move || work.run())?;
        Ok(Relay { address, control, waker, thread: Some(thread) })
    }

    /// The address that it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the one-way delay of bytes that are received from now on. They do not overtake those before them.
    pub fn set_delay(&self, delay: Duration) {
        self.update(|settings| settings.delay = delay);
    }

    /// Sets the delay of one connection, by its number: the first that is accepted is 0.
    pub fn set_delay_of(&self, connection: u64, delay: Duration) {
        self.update(|settings| {
            settings.delays.insert(connection, delay);
        });
    }

    /// Resets all open connections; bytes in flight are lost. New connections are accepted.
    pub fn cut(&self) {
        self.update(|settings| settings.cuts += 1);
    }

    /// Connections that were accepted so far.
    pub fn accepted(&self) -> u64 {
        self.control.accepted.load(Ordering::Relaxed)
    }

    /// Bytes that were forwarded so far, in both directions together.
    pub fn forwarded_bytes(&self) -> u64 {
        self.control.forwarded_bytes.load(Ordering::Relaxed)
    }

    fn update(&self, change: impl FnOnce(&mut RelaySettings)) {
        change(&mut self.control.settings());
        // It fails when it is full, and then the loop is about to wake.
        let _ = (&self.waker).write(&[0]);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.update(|settings| settings.stop = true);
        // The thread waits in `poll` alone, which the waker ends. A panic was reported where it happened.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// State of the thread.
struct RelayLoop {
    to: SocketAddr,
    options: RelayOptions,
    seed: u64,
    listener: TcpListener,
    wake: UnixStream,
    control: Arc<RelayControl>,
    clock: RelayClock,
    connections: BTreeMap<u64, RelayConnection>,
    cuts: u64,
}

/// Events of a poll: of the listener, and of both sockets of each connection.
#[derive(Default)]
struct ReadySockets {
    listener: bool,
    sides: Vec<[PollFlags; 2]>,
}

impl RelayLoop {
    fn run(mut self) {
        loop {
            let ready = match self.wait() {
                Ok(ready) => ready,
                Err(error) if error.kind() == ErrorKind::Interrupted => ReadySockets::default(),
                // The kernel is out of memory. The sockets close.
                Err(_) => return,
            };
            // Read after the wait: a delay that was set before a client connected holds for it.
            let settings = self.control.settings().clone();
            if settings.cuts != self.cuts || settings.stop {
                self.cuts = settings.cuts;
                self.connections.values_mut().for_each(RelayConnection::reset);
                self.connections.clear();
            }
            if settings.stop {
                return;
            }
            self.step(&settings, &ready.sides);
            if ready.listener {
                self.accept(&settings);
            }
        }
    }

    /// Waits until a socket is ready or bytes are due.
    fn wait(&self) -> io::Result<ReadySockets> {
        let now = self.clock.now();
        let idle = || PollFd::new(&self.wake, PollFlags::empty());
        let listens = if self.connections.len() < CONNECTIONS_MAX {
            PollFd::new(&self.listener, PollFlags::IN)
        } else {
            idle()
        };
        let mut sockets = vec![PollFd::new(&self.wake, PollFlags::IN), listens];
        for connection in self.connections.values() {
            let interests = connection.interests(now);
            sockets.extend(
                interests.map(|it| it.map_or_else(idle, |(fd, flags)| PollFd::from_borrowed_fd(fd, flags))),
            );
        }
        let wakes_at = self.connections.values().filter_map(|connection| connection.wakes_at(now)).min();
        let most = wakes_at.map_or(WAIT_MAX, |at| at.saturating_sub(now).min(WAIT_MAX));
        poll(&mut sockets, Some(&timespec(most)))?;
        let flags: Vec<PollFlags> = sockets.iter().map(PollFd::revents).collect();
        if !flags[0].is_empty() {
            while matches!((&self.wake).read(&mut [0; 64]), Ok(1..)) {}
        }
        let sides = flags[2..].chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        Ok(ReadySockets { listener: flags[1].contains(PollFlags::IN), sides })
    }

    fn step(&mut self, settings: &RelaySettings, ready: &[[PollFlags; 2]]) {
        let mut forwarded = 0;
        for ((number, connection), ready) in self.connections.iter_mut().zip(ready) {
            connection.step(self.to, settings.delay_of(*number), *ready);
            forwarded += connection.take_forwarded();
        }
        self.control.forwarded_bytes.fetch_add(forwarded, Ordering::Relaxed);
        self.connections.retain(|_, connection| !connection.is_over());
    }

    fn accept(&mut self, settings: &RelaySettings) {
        while self.connections.len() < CONNECTIONS_MAX {
            match self.listener.accept() {
                Ok((client, _)) => self.add(client, settings),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => return thread::sleep(ACCEPT_AGAIN_AFTER),
            }
        }
    }

    fn add(&mut self, client: TcpStream, settings: &RelaySettings) {
        let number = self.control.accepted.fetch_add(1, Ordering::Relaxed);
        let options = RelayOptions { delay: settings.delay_of(number), ..self.options };
        // An error means that the client is gone already.
        if let Ok(connection) = RelayConnection::new(client, options, (self.seed, number), self.clock) {
            self.connections.insert(number, connection);
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}

#[cfg(test)]
mod tests;
