//! A box on loopback between a client and a server that spoils some of their connections: it loses, damages or holds
//! back bytes, or forgets a connection, while both kernels see one that lives.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A wait looks up as often.
const LOOK_EACH: Duration = Duration::from_millis(20);
const PIECE_BYTES: usize = 16 << 10;

/// How a connection is spoiled, from some byte of one direction on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoils {
    /// What goes this way is taken and lost.
    Swallows,
    /// What goes either way is taken and lost.
    Forgets,
    /// Nothing more is taken from this way.
    StopsReading,
    /// One byte changes.
    Damages,
    /// The side that sends is hung up on, and the other one hears nothing of that.
    ClosesSender,
    /// The reverse.
    ClosesReceiver,
    /// Both are hung up on.
    Cuts,
    /// Nothing is carried this way for so long.
    Stalls(Duration),
}

/// A place in one direction of a connection, and how it is spoiled.
#[derive(Clone, Copy, Debug)]
pub struct Spoiled {
    /// Which connection, in the order in which they were made.
    pub connection: u64,
    /// Bytes of the client are spoiled, not of the server.
    pub is_of_client: bool,
    /// Bytes that pass before.
    pub at: u64,
    pub how: Spoils,
}

impl Spoiled {
    /// Whether it damages bytes that are not sealed yet.
    pub fn damages_first_words(&self) -> bool {
        const FIRST_WORDS: u64 = 2048;
        (self.connection, self.how) == (0, Spoils::Damages) && self.at < FIRST_WORDS
    }
}

/// The box, until dropped.
pub struct MiddleBox {
    pub address: String,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stops: AtomicBool,
    connections: AtomicU64,
    /// How many of what was to be spoiled were.
    spoiled: AtomicU64,
    rules: Mutex<BTreeMap<(u64, bool), (u64, Spoils)>>,
}

/// One direction of a connection.
struct Way {
    shared: Arc<Shared>,
    from: TcpStream,
    to: TcpStream,
    rule: Option<(u64, Spoils)>,
    /// What either way carries is lost.
    is_forgotten: Arc<AtomicBool>,
    passed: u64,
}

impl MiddleBox {
    /// Before a server.
    pub fn new(server: &str, spoiled: &[Spoiled]) -> MiddleBox {
        let server = server.to_owned();
        MiddleBox::before(move || server.clone(), spoiled)
    }

    /// Before whatever is at this address when a connection comes.
    pub fn before(server: impl Fn() -> String + Send + 'static, spoiled: &[Spoiled]) -> MiddleBox {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("an address").to_string();
        let rule = |it: &Spoiled| ((it.connection, it.is_of_client), (it.at, it.how));
        let rules = Mutex::new(spoiled.iter().map(rule).collect());
        let shared = Arc::new(Shared { rules, ..Shared::default() });
        let own = Arc::clone(&shared);
        let thread = std::thread::spawn(move || accept(&listener, &server, &own));
        MiddleBox { address, shared, thread: Some(thread) }
    }

    /// The place of a path that the server serves.
    pub fn at(&self, path: &str) -> String {
        format!("pump://{}/{path}", self.address)
    }

    /// How many connections came.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// How many were spoiled.
    pub fn spoiled(&self) -> u64 {
        self.shared.spoiled.load(Ordering::Relaxed)
    }
}

impl Drop for MiddleBox {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn accept(listener: &TcpListener, server: &dyn Fn() -> String, shared: &Arc<Shared>) {
    let mut ways = Vec::new();
    while !shared.stops.load(Ordering::Relaxed) {
        let Ok((client, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        };
        let number = shared.connections.fetch_add(1, Ordering::Relaxed);
        let Ok(server) = TcpStream::connect(server()) else { continue };
        let is_forgotten = Arc::default();
        for (is_of_client, from, to) in [(true, &client, &server), (false, &server, &client)] {
            let [from, to] = [from, to].map(|socket| {
                socket.set_nonblocking(false).expect("a socket");
                socket.set_nodelay(true).expect("a socket");
                socket.set_read_timeout(Some(LOOK_EACH)).expect("a socket");
                socket.set_write_timeout(Some(LOOK_EACH)).expect("a socket");
                socket.try_clone().expect("descriptors")
            });
            let rule = shared.rules.lock().expect("no panic").remove(&(number, is_of_client));
            let (shared, is_forgotten) = (Arc::clone(shared), Arc::clone(&is_forgotten));
            let mut way = Way { shared, from, to, rule, is_forgotten, passed: 0 };
            ways.push(std::thread::spawn(move || way.carry()));
        }
    }
    ways.into_iter().for_each(|way| way.join().expect("no panic"));
}

impl Way {
    fn stops(&self) -> bool {
        self.shared.stops.load(Ordering::Relaxed)
    }

    fn carry(&mut self) {
        let mut piece = vec![0; PIECE_BYTES];
        while !self.stops() {
            match self.from.read(&mut piece) {
                Ok(0) => break,
                Ok(len) => {
                    if self.pass(&mut piece[..len]).is_none() {
                        return;
                    }
                }
                Err(error) if is_wait(&error) => {}
                Err(_) => break,
            }
        }
        let is_forgotten = self.is_forgotten.load(Ordering::Relaxed);
        if self.stops() {
            drop((self.from.shutdown(Shutdown::Both), self.to.shutdown(Shutdown::Both)));
        } else if !is_forgotten {
            drop(self.to.shutdown(Shutdown::Write));
        }
    }

    /// Carries a piece, as far as it is not spoiled. `None` where nothing more is read.
    fn pass(&mut self, piece: &mut [u8]) -> Option<()> {
        if self.is_forgotten.load(Ordering::Relaxed) {
            return Some(());
        }
        let end = self.passed + piece.len() as u64;
        let Some((at, how)) = self.rule.take_if(|(at, _)| *at < end) else { return self.send(piece) };
        let (before, piece) = piece.split_at_mut((at - self.passed) as usize);
        self.send(before)?;
        self.spoil(piece, how)
    }

    /// From the first byte of the piece on, which is not empty.
    fn spoil(&mut self, piece: &mut [u8], how: Spoils) -> Option<()> {
        self.shared.spoiled.fetch_add(1, Ordering::Relaxed);
        match how {
            Spoils::Swallows => {
                self.lose_the_rest();
                None
            }
            Spoils::Forgets => {
                self.is_forgotten.store(true, Ordering::Relaxed);
                Some(())
            }
            Spoils::StopsReading => {
                self.wait_until(|| false);
                None
            }
            Spoils::Damages => {
                piece[0] ^= 1 << (self.passed % 8);
                self.send(piece)
            }
            Spoils::ClosesSender => {
                self.is_forgotten.store(true, Ordering::Relaxed);
                let _ = self.from.shutdown(Shutdown::Both);
                self.wait_until(|| false);
                None
            }
            Spoils::ClosesReceiver => {
                self.is_forgotten.store(true, Ordering::Relaxed);
                let _ = self.to.shutdown(Shutdown::Both);
                self.lose_the_rest();
                None
            }
            Spoils::Cuts => {
                let _ = (self.from.shutdown(Shutdown::Both), self.to.shutdown(Shutdown::Both));
                None
            }
            Spoils::Stalls(time) => {
                let end = Instant::now() + time;
                self.wait_until(|| Instant::now() >= end);
                self.send(piece)
            }
        }
    }

    /// Takes what comes, and says nothing.
    fn lose_the_rest(&mut self) {
        let mut piece = vec![0; PIECE_BYTES];
        while !self.stops() {
            match self.from.read(&mut piece) {
                Ok(1..) => {}
                Err(error) if is_wait(&error) => {}
                // Its end is lost, too.
                Ok(0) | Err(_) => return self.wait_until(|| false),
            }
        }
    }

    fn wait_until(&self, is_over: impl Fn() -> bool) {
        while !self.stops() && !is_over() {
            std::thread::sleep(LOOK_EACH);
        }
    }

    fn send(&mut self, mut piece: &[u8]) -> Option<()> {
        self.passed += piece.len() as u64;
        while !piece.is_empty() {
            match self.to.write(piece) {
                Ok(len) => piece = &piece[len..],
                Err(error) if is_wait(&error) && !self.stops() => {}
                Err(_) => {
                    let _ = self.from.shutdown(Shutdown::Both);
                    return None;
                }
            }
        }
        Some(())
    }
}

fn is_wait(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
