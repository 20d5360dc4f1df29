//! The side that is called: lets in who holds its ticket, and gives each session its connections.
//!
//! Until it has greeted a connection costs an open file and no thread, and not for long ([`Waiting`]). Connections
//! belong to a session by its number, which nobody can guess, and by the key of who began it.
//!
//! Must not know: what sessions do (`called`), command lines.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use datapump_core::wire::VERSION;
use datapump_core::wire::encode;
use datapump_core::wire::hello::{Greeting, Purpose, Reason, Reply, read_greeting};
use datapump_transport::{
    CalledConfig, Caller, Channel, HANDSHAKE_MAX, Handshake, Line, NetFault, Pipe, PublicKey, Seal, Seed,
    SocketOptions, Ticket, Waiting, called_config, random,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::called;
use super::control::boxes;
use super::joins::{Joins, Left, NewSession};
pub(crate) use super::root::Root;
use crate::account::version;
use crate::budget::Budget;
use crate::place::Place;
use crate::problem::{Class, Problem};
use crate::rate::Rate;
use crate::world::World;
use datapump_files::disk::boot;

/// Greetings that are answered at a time: each is a thread, for as long as that takes.
const GREETING_MAX: u32 = 64;
/// Callers that are taken at a time, and those that the system keeps meanwhile.
const CALLERS_MAX: usize = 64;
const BACKLOG: i32 = 1024;
/// Between two looks whether a session has ended.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(10);
/// How long the accepting looks away.
const LOOK_UP: Duration = Duration::from_millis(100);

/// What a server offers.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// What it serves: a folder, or null.
    pub place: Place,
    /// Clients may read.
    pub reads: bool,
    /// Clients may write.
    pub writes: bool,
    /// It ends after one session.
    pub once: bool,
    /// How long the ticket is good.
    pub expires: Option<Duration>,
    /// Sessions at a time.
    pub sessions_max: u32,
    /// Connections for blocks of a session.
    pub connections_max: u32,
    /// Bytes of memory that all sessions hold together: in slots, and for what their clients have opened.
    pub memory_bytes: u64,
    /// Silence after which a client is taken for dead.
    pub peer_timeout: Duration,
    /// Nothing is encrypted, and nobody has to prove anything. For the lab.
    pub insecure: bool,
    /// Clients may ask that blocks are not hashed. For the lab.
    pub unhashed: bool,
    /// Most bytes per second that all sessions move together, in both directions.
    pub bytes_per_second: Option<u64>,
    /// Sockets below its connections, where a client wishes nothing else.
    pub sockets: SocketOptions,
}

impl ServeOptions {
    /// Serves a place on this host only, for reading and writing.
    pub fn of(place: Place) -> ServeOptions {
        ServeOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            place,
            reads: true,
            writes: true,
            once: false,
            expires: None,
            sessions_max: 64,
            connections_max: 16,
            memory_bytes: 256 << 20,
            peer_timeout: Duration::from_secs(30),
            insecure: false,
            unhashed: false,
            bytes_per_second: None,
            sockets: SocketOptions::default(),
        }
    }
}

/// A server that listens.
pub struct Server {
    /// None where connections come another way.
    listener: Option<TcpListener>,
    config: CalledConfig,
    pub(crate) ticket: Ticket,
    pub(crate) state: Arc<State>,
    /// Connections that came another way.
    carried: Mutex<Vec<Pipe>>,
    /// Wakes the accepting when there is an end to it, or when one was carried.
    woken: UnixStream,
}

/// What the threads of a server share.
pub(crate) struct State {
    pub(crate) options: ServeOptions,
    pub(crate) root: Root,
    holder: PublicKey,
    begun: Instant,
    /// A ticket for one session was used.
    used: AtomicBool,
    /// The session that a ticket was for is over.
    over: AtomicBool,
    /// Nobody is going to begin a session any more.
    pub(crate) is_closing: AtomicBool,
    waker: UnixStream,
    pub(crate) stop: Arc<AtomicBool>,
    sessions: Mutex<HashMap<[u8; 16], Entry>>,
    /// Of connections that belong to no session yet.
    greeting_line: Line,
    greeting: AtomicU32,
    /// What all sessions may hold together.
    pub(crate) budget: Arc<Budget>,
    /// The limit that all sessions share.
    pub(crate) rate: Option<Arc<Rate>>,
}

struct Entry {
    holder: Option<PublicKey>,
    line: Line,
    joins: Joins,
}

impl Server {
    /// Listens, and makes a ticket. Ends soon once `stop` is true, and its sessions so that they can be resumed.
    ///
    /// Errors: the folder cannot be opened, the address cannot be had, or the system refuses what is wished of sockets.
    pub fn bind(options: ServeOptions, stop: Arc<AtomicBool>) -> Result<Server, Problem> {
        options.sockets.check().map_err(Problem::usage)?;
        let wrong = |error: std::io::Error| {
            let message = format!("listen on {}: {error}", options.listen);
            Problem { class: Class::Io, path: None, host: None, operation: "listen", offset: None, message }
        };
        let listener = TcpListener::bind(options.listen).map_err(wrong)?;
        listener.set_nonblocking(true).map_err(wrong)?;
        rustix::net::listen(&listener, BACKLOG).map_err(|errno| wrong(errno.into()))?;
        // Whoever calls gets a socket like this one.
        options.sockets.apply(listener.as_fd()).map_err(Problem::usage)?;
        let root = Root::open(&options.place)?;
        Server::of(options, root, Some(listener), stop)
    }

    /// The same with what it listens on, if it does.
    pub(crate) fn of(
        options: ServeOptions,
        root: Root,
        listener: Option<TcpListener>,
        stop: Arc<AtomicBool>,
    ) -> Result<Server, Problem> {
        let rate = options.bytes_per_second.map(|limit| Arc::new(Rate::new(limit, World::real().clock)));
        let (waker, woken) = pair().map_err(|error| Problem {
            class: Class::Io,
            path: None,
            operation: "listen",
            host: None,
            offset: None,
            message: format!("make a pair of sockets: {error}"),
        })?;
        let budget = Budget::new(options.memory_bytes);
        let (maker, holder) = (Seed::random(), Seed::random());
        let ticket = Ticket::new(holder.clone(), maker.public());
        let state = State {
            options,
            root,
            holder: holder.public(),
            begun: Instant::now(),
            used: AtomicBool::new(false),
            over: AtomicBool::new(false),
            is_closing: AtomicBool::new(false),
            waker,
            stop,
            sessions: Mutex::default(),
            greeting_line: Line::default(),
            greeting: AtomicU32::new(0),
            budget,
            rate,
        };
        let config = called_config(&maker);
        Ok(Server { listener, config, ticket, state: Arc::new(state), carried: Mutex::default(), woken })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        let address = self.listener.as_ref().and_then(|listener| listener.local_addr().ok());
        address.unwrap_or(self.state.options.listen)
    }

    /// What lets clients in.
    pub fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// Serves until it is stopped, or the one session is over.
    pub fn run(self) {
        std::thread::scope(|scope| self.accept(scope));
    }

    /// Lets in who calls, until all is over.
    pub(crate) fn accept<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let mut waiting = Waiting::default();
        while !self.is_over(&waiting) {
            let (has_called, ready) = self.wait(&waiting);
            for handshake in waiting.advance(&ready) {
                self.greet(scope, handshake);
            }
            self.take_carried(&mut waiting);
            if has_called {
                self.take_callers(&mut waiting);
            }
        }
        self.state.greeting_line.stop();
    }

    fn is_over(&self, waiting: &Waiting) -> bool {
        // In this order: who is carried waits, greets, and becomes a session.
        let is_awaited = !self.carried().is_empty() || waiting.has_speakers();
        self.state.is_over(is_awaited)
    }

    /// Waits for callers. Whether there are new ones, and which of those that wait have said something.
    fn wait(&self, waiting: &Waiting) -> (bool, Vec<bool>) {
        let of = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let listener = self.listener.as_ref().map_or(self.woken.as_fd(), |listener| listener.as_fd());
        let mut fds = vec![of(listener), of(self.woken.as_fd())];
        fds.extend(waiting.fds().map(of));
        let patience = Timespec { tv_sec: 0, tv_nsec: LOOK_UP.subsec_nanos().into() };
        let _ = poll(&mut fds, Some(&patience));
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let _ = (&self.woken).read(&mut [0; 64]);
        (ready[0] && self.listener.is_some(), ready[2..].to_vec())
    }

    /// Takes those that have called, and not so many that others wait for it.
    fn take_callers(&self, waiting: &mut Waiting) {
        let Some(listener) = &self.listener else { return };
        for _ in 0..CALLERS_MAX {
            match listener.accept() {
                Ok((stream, address)) => self.admit(waiting, Caller::of(address.ip()), Pipe::Tcp(stream)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // No more open files: one of those that have not greeted gives up its place.
                Err(error) if lacks_room(&error) && waiting.give_way() => {}
                Err(error) if lacks_room(&error) => return std::thread::sleep(LOOK_UP),
                // Of this caller alone: accept(2).
                Err(_) => return std::thread::sleep(LOOK_AGAIN_AFTER),
            }
        }
    }

    /// Takes those that come another way.
    fn take_carried(&self, waiting: &mut Waiting) {
        let carried = std::mem::take(&mut *self.carried());
        carried.into_iter().for_each(|pipe| self.admit(waiting, Caller::OWN, pipe));
    }

    fn carried(&self) -> MutexGuard<'_, Vec<Pipe>> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that comes another way: it is let in as those that call.
    pub(crate) fn carry(&self, pipe: Pipe) {
        self.carried().push(pipe);
        self.state.wake();
    }

    fn admit(&self, waiting: &mut Waiting, caller: Caller, pipe: Pipe) {
        let seal = if self.state.options.insecure { Ok(Seal::Open) } else { Seal::called(&self.config) };
        if let Ok(seal) = seal {
            waiting.add(caller, Handshake::new(pipe, seal));
        }
    }

    /// Hears a caller that has greeted, on a thread of its own.
    fn greet<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, handshake: Handshake) {
        if self.state.greeting.fetch_add(1, Ordering::Relaxed) >= GREETING_MAX {
            self.state.greeting.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        // Where the system gives no more threads the caller is hung up on, and may call again.
        let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
            let greeted = catch_unwind(AssertUnwindSafe(|| self.greeted(handshake)));
            self.state.greeting.fetch_sub(1, Ordering::Relaxed);
            if let Ok(Ok(Some((channel, session)))) = greeted {
                called::session(&self.state, channel, session);
            }
        });
        if spawned.is_err() {
            self.state.greeting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Reads and answers the greeting. Gives a control connection and its new session.
    fn greeted(&self, handshake: Handshake) -> Result<Option<(Channel, NewSession)>, NetFault> {
        let mut channel = handshake.channel(self.state.greeting_line.clone())?;
        channel.watch(self.state.options.peer_timeout)?;
        let holder = channel.peer();
        let (body, _) = channel.message_within(HANDSHAKE_MAX)?;
        let admitted = match read_greeting(&body)? {
            Ok(greeting) => self.state.admit(&greeting, holder),
            Err(reply) => Err(reply),
        };
        let (reply, admitted) = match admitted {
            Ok(admitted) => (self.state.welcome(&admitted), Some(admitted)),
            Err(refused) => (refused, None),
        };
        let told = channel.within(HANDSHAKE_MAX, |channel| channel.send_message(&encode(&reply), 0));
        if let (Err(_), Some(Admitted::Begins(session))) = (&told, &admitted) {
            // Nobody is there to begin it.
            self.state.close(&session.number);
            self.state.used.store(false, Ordering::Relaxed);
        }
        told?;
        Ok(match admitted {
            Some(Admitted::Begins(session)) => {
                channel.join(session.line.clone());
                Some((channel, session))
            }
            Some(Admitted::Joins(purpose, line, joins)) => {
                channel.join(line);
                joins.take(purpose, channel);
                None
            }
            None => None,
        })
    }
}

/// Whether this process, or the system, has no more files or memory for a caller.
fn lacks_room(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM].contains(&errno))
}

/// Two ends that nobody waits for.
fn pair() -> std::io::Result<(UnixStream, UnixStream)> {
    let (waker, woken) = UnixStream::pair()?;
    waker.set_nonblocking(true)?;
    woken.set_nonblocking(true)?;
    Ok((waker, woken))
}

enum Admitted {
    Begins(NewSession),
    Joins(Purpose, Line, Joins),
}

fn refused(reason: Reason, words: &str) -> Reply {
    Reply::Refused { reason, words: words.into() }
}

impl State {
    /// Whether nothing is left to be done; `is_awaited` says whether somebody is about to greet.
    fn is_over(&self, is_awaited: bool) -> bool {
        // In this order: a greeting becomes a session.
        let is_idle = || self.greeting.load(Ordering::SeqCst) == 0 && self.sessions().is_empty();
        let is_closed = self.is_closing.load(Ordering::SeqCst) && !is_awaited && is_idle();
        self.stop.load(Ordering::Relaxed) || self.over.load(Ordering::Relaxed) || is_closed
    }

    /// Looks again whether all is over.
    pub(crate) fn wake(&self) {
        // A full pipe wakes just as well.
        let _ = (&self.waker).write(&[0]);
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<[u8; 16], Entry>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a caller may have what it greets for.
    fn admit(&self, greeting: &Greeting, holder: Option<PublicKey>) -> Result<Admitted, Reply> {
        let is_expired = self.options.expires.is_some_and(|expires| self.begun.elapsed() > expires);
        match (holder, greeting.session) {
            (Some(holder), _) if holder != self.holder => {
                Err(refused(Reason::Ticket, "this server did not make this ticket"))
            }
            (None, _) if !self.options.insecure => Err(refused(Reason::Ticket, "no ticket was shown")),
            (holder, Some(session)) => self.join(greeting.purpose, session, holder),
            (_, None) if is_expired => Err(refused(Reason::Ticket, "the ticket has expired")),
            (holder, None) => self.begin(holder),
        }
    }

    fn join(
        &self,
        purpose: Purpose,
        session: [u8; 16],
        holder: Option<PublicKey>,
    ) -> Result<Admitted, Reply> {
        match self.sessions().get(&session) {
            Some(entry) if entry.holder == holder && !entry.joins.admits(purpose) => {
                Err(refused(Reason::Session, "this session has all the connections that were agreed"))
            }
            Some(entry) if entry.holder == holder => {
                Ok(Admitted::Joins(purpose, entry.line.clone(), entry.joins.clone()))
            }
            _ => Err(refused(Reason::Session, "there is no such session (any more)")),
        }
    }

    fn begin(&self, holder: Option<PublicKey>) -> Result<Admitted, Reply> {
        let mut sessions = self.sessions();
        if self.options.once && self.used.load(Ordering::Relaxed) {
            return Err(refused(Reason::Ticket, "the ticket was for one session, and was used"));
        }
        if sessions.len() as u32 >= self.options.sessions_max {
            return Err(refused(
                Reason::Busy,
                "this server has as many sessions as it may have (--max-sessions)",
            ));
        }
        let (outbox, inbox) = boxes()
            .map_err(|_| refused(Reason::Busy, "this server has too many files open; try again later"))?;
        self.used.store(true, Ordering::Relaxed);
        let (channels, receiver) = channel();
        let left = Arc::new(Left::default());
        let joins = Joins { channels, outbox: outbox.clone(), left: Arc::clone(&left) };
        let (number, line) = (random(), Line::default());
        sessions.insert(number, Entry { holder, line: line.clone(), joins });
        Ok(Admitted::Begins(NewSession { number, line, joins: receiver, boxes: (outbox, inbox), left }))
    }

    fn welcome(&self, admitted: &Admitted) -> Reply {
        let session = match admitted {
            Admitted::Begins(session) => Some(session.number),
            Admitted::Joins(..) => None,
        };
        let program = Some(format!("pump {}", version()));
        Reply::Welcome {
            version: VERSION,
            session,
            connections_max: Some(self.options.connections_max),
            program,
            boot: Some(boot()),
        }
    }

    /// Ends a session for another one of the same holder, and waits until it has.
    pub(crate) fn end(&self, session: &[u8; 16], of: &[u8; 16]) {
        let holder = |number: &[u8; 16]| self.sessions().get(number).map(|entry| entry.holder);
        let is_same = || holder(session).is_some_and(|one| holder(of) == Some(one));
        let start = Instant::now();
        while is_same() && start.elapsed() < self.options.peer_timeout && !self.is_over(false) {
            self.sessions().get(session).inspect(|entry| entry.line.cut());
            std::thread::sleep(LOOK_AGAIN_AFTER);
        }
    }

    /// The session is over.
    pub(crate) fn close(&self, session: &[u8; 16]) {
        self.sessions().remove(session);
        if self.options.once {
            self.over.store(true, Ordering::Relaxed);
        }
        self.wake();
    }
}
