//! The side that is called: lets in who holds its ticket, and gives each session its connections.
//!
//! Until it has greeted a connection costs an open file and no thread, and not for long ([`Waiting`]). Connections
//! belong to a session by its number, which nobody can guess, and by the key of who began it.
//!
//! Must not know: what sessions do (`server_session`), command lines.

pub(crate) mod connections;
pub(crate) mod control;
pub(crate) mod datagram_allowance;
pub(crate) mod datagram_session;
pub(crate) mod limits;
mod listening;
pub mod serve_options;
pub(crate) mod served_connection;
pub(crate) mod server_session;
pub(crate) mod server_state;

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use datapump_core::wire::encode;
use datapump_core::wire::hello::read_greeting;
use datapump_engine::Socket;
use datapump_transport::{
    CalledConfig, Caller, CancelToken, Channel, HANDSHAKE_MAX, Handshake, NetFault, Seal, Seed, Ticket,
    Waiting, called_config,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(crate) use crate::count_ahead::served_root::ServedRoot;
use crate::net::folder::shared_reads::SharedReads;
use crate::net::server::connections::NewSession;
use crate::net::server::datagram_allowance::DatagramAllowance;
use crate::net::server::listening::{is_of_this_host_alone, listen};
use crate::net::server::serve_options::ServeOptions;
use crate::net::server::server_state::{Admitted, LOOK_AGAIN_AFTER, ServerState};
use crate::problem::{Class, Operation, Problem};
use crate::run::rate::Rate;
use crate::setup::budget::Budget;
use crate::setup::platform::Platform;

/// Greetings that are answered at a time: each is a thread, for as long as that takes.
const GREETING_MAX: u32 = 64;
/// Callers that are taken at a time.
const CALLERS_MAX: usize = 64;
/// How long the accepting looks away.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How serving ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServeEnd {
    /// It was stopped, or the one session is over.
    Done,
    /// The ticket was for one session, and expired before one began.
    Expired,
}

/// A server that listens.
pub struct Server {
    /// None where connections come another way.
    listener: Option<TcpListener>,
    config: CalledConfig,
    pub(crate) ticket: Ticket,
    pub(crate) state: Arc<ServerState>,
    /// Connections that came another way.
    carried: Mutex<Vec<Socket>>,
    /// Wakes the accepting when there is an end to it, or when one was carried.
    woken: UnixStream,
}

impl Server {
    /// Listens, and makes a ticket. Ends soon once `stop` is true, and its sessions so that they can be resumed.
    ///
    /// Errors: the folder cannot be opened, the address cannot be had, or the system refuses what is wished of sockets.
    pub fn bind(options: ServeOptions, stop: Arc<AtomicBool>) -> Result<Server, Problem> {
        options.sockets.check().map_err(Problem::usage)?;
        let listener = listen(options.listen)?;
        // Each caller gets a socket like this one.
        options.sockets.apply(listener.as_fd()).map_err(Problem::usage)?;
        let root = ServedRoot::open(&options.place)?;
        Server::with_root(options, root, Some(listener), stop)
    }

    /// A server of this root, which listens with this listener, if any; its ticket is new.
    pub(crate) fn with_root(
        options: ServeOptions,
        root: ServedRoot,
        listener: Option<TcpListener>,
        stop: Arc<AtomicBool>,
    ) -> Result<Server, Problem> {
        let rate = options.bytes_per_second.map(|limit| Arc::new(Rate::new(limit, Platform::real().clock)));
        let (waker, woken) = pair().map_err(|error| {
            Problem::of(Class::Io, Operation::Listen, format!("make a pair of sockets: {error}"))
        })?;
        let budget = Budget::new(options.memory_bytes);
        let datagram_allowance = DatagramAllowance::new(options.datagram_bytes_per_second.unwrap_or(0));
        let (maker, holder) = (Seed::random(), Seed::random());
        let ticket = Ticket::new(holder.clone(), maker.public());
        let state = ServerState {
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
            changed: Condvar::new(),
            early: AtomicU32::new(0),
            closed: Mutex::default(),
            greeting_line: CancelToken::default(),
            greeting: AtomicU32::new(0),
            budget,
            rate,
            listens: listener.as_ref().and_then(|listener| listener.local_addr().ok()),
            datagram_allowance,
            // A server that was started over ssh has one client.
            shared_reads: listener.is_some().then(|| SharedReads::new(Platform::real().clock)),
        };
        let config = called_config(&maker);
        Ok(Server { listener, config, ticket, state: Arc::new(state), carried: Mutex::default(), woken })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        let address = self.listener.as_ref().and_then(|listener| listener.local_addr().ok());
        address.unwrap_or(self.state.options.listen)
    }

    /// Whether only programs of this host can reach it.
    pub fn is_of_this_host_alone(&self) -> bool {
        is_of_this_host_alone(self.address())
    }

    /// What lets clients in.
    pub fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// Serves until it is stopped, or the one session is over or cannot begin any more.
    pub fn run(self) {
        self.run_with(&|| {});
    }

    /// Serves as `run` does; `on_expiry` is called when the ticket has expired, while the server goes on.
    pub fn run_with(self, on_expiry: &dyn Fn()) -> ServeEnd {
        std::thread::scope(|scope| self.accept(scope, on_expiry));
        if self.state.is_unused() && !self.state.stop.load(Ordering::Relaxed) {
            ServeEnd::Expired
        } else {
            ServeEnd::Done
        }
    }

    /// Accepts clients, until all is over.
    pub(crate) fn accept<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, on_expiry: &dyn Fn()) {
        let (mut waiting, mut is_reported) = (Waiting::default(), false);
        while !self.is_over(&waiting) {
            if self.state.is_expired() && !self.state.options.once && !is_reported {
                on_expiry();
                is_reported = true;
            }
            let (has_called, ready) = self.wait_for_clients(&waiting);
            for handshake in waiting.advance(&ready) {
                self.greet(scope, handshake);
            }
            let carried = std::mem::take(&mut *self.carried());
            carried.into_iter().for_each(|socket| self.admit(&mut waiting, Caller::OWN, socket));
            if has_called {
                self.accept_waiting(&mut waiting);
            }
        }
        self.state.greeting_line.stop();
    }

    fn is_over(&self, waiting: &Waiting) -> bool {
        // In this order: who is carried waits, greets, and becomes a session.
        let is_awaited = !self.carried().is_empty() || waiting.has_speakers();
        self.state.is_over(is_awaited)
    }

    /// Waits a short time for clients. Gives whether there are new ones, and which of the waiting ones have sent something.
    fn wait_for_clients(&self, waiting: &Waiting) -> (bool, Vec<bool>) {
        let of = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let listener = self.listener.as_ref().map_or(self.woken.as_fd(), |listener| listener.as_fd());
        let mut fds = vec![of(listener), of(self.woken.as_fd())];
        fds.extend(waiting.fds().map(of));
        let patience = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.subsec_nanos().into() };
        let _ = poll(&mut fds, Some(&patience));
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let _ = (&self.woken).read(&mut [0; 64]);
        (ready[0] && self.listener.is_some(), ready[2..].to_vec())
    }

    /// Accepts clients that have connected, and not so many that others wait for it.
    fn accept_waiting(&self, waiting: &mut Waiting) {
        let Some(listener) = &self.listener else { return };
        for _ in 0..CALLERS_MAX {
            match listener.accept() {
                Ok((stream, address)) => {
                    self.admit(waiting, Caller::from_address(address.ip()), Socket::Tcp(stream));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // No more open files: one of those that have not greeted gives up its place.
                Err(error) if lacks_room(&error) && waiting.give_way() => {}
                Err(error) if lacks_room(&error) => return std::thread::sleep(POLL_INTERVAL),
                // Of this caller alone: accept(2).
                Err(_) => return std::thread::sleep(LOOK_AGAIN_AFTER),
            }
        }
    }

    fn carried(&self) -> MutexGuard<'_, Vec<Socket>> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that comes another way: it is let in as those that call.
    pub(crate) fn carry(&self, socket: Socket) {
        self.carried().push(socket);
        self.state.wake();
    }

    fn admit(&self, waiting: &mut Waiting, caller: Caller, socket: Socket) {
        let seal = if self.state.options.insecure { Ok(Seal::Open) } else { Seal::called(&self.config) };
        if let Ok(seal) = seal {
            waiting.add(caller, Handshake::new(socket, seal));
        }
    }

    /// Answers a client's greeting on a thread, and holds its session there. A client too many is hung up on.
    fn greet<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, handshake: Handshake) {
        if self.state.greeting.fetch_add(1, Ordering::Relaxed) >= GREETING_MAX {
            self.state.greeting.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        // Where the system gives no more threads the caller is hung up on, and may call again.
        let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
            let greeted = catch_unwind(AssertUnwindSafe(|| self.answer_greeting(handshake)));
            self.state.greeting.fetch_sub(1, Ordering::Relaxed);
            if let Ok(Ok(Some((channel, session)))) = greeted {
                server_session::run_session(&self.state, channel, session);
            }
        });
        if spawned.is_err() {
            self.state.greeting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Receives and answers a greeting. Gives a control connection with its new session; any other connection goes to its
    /// session.
    fn answer_greeting(&self, handshake: Handshake) -> Result<Option<(Channel, NewSession)>, NetFault> {
        let mut channel = handshake.channel(self.state.greeting_line.clone())?;
        channel.watch(self.state.options.peer_timeout)?;
        let holder = channel.peer();
        let (body, _) = channel.message_within(HANDSHAKE_MAX)?;
        let mut number = None;
        let admitted = match read_greeting(&body)? {
            Ok(greeting) => {
                number = greeting.number;
                let admitted = self.state.admit(&greeting, holder);
                if let (Err(_), None, Some(early)) = (&admitted, greeting.session, &greeting.early) {
                    self.state.forget(early);
                }
                admitted
            }
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
                channel.join(session.cancel.clone());
                Some((channel, session))
            }
            Some(Admitted::ConnectionAcceptor(purpose, cancel, acceptor)) => {
                channel.join(cancel);
                number.into_iter().for_each(|number| channel.count_as(number));
                acceptor.take(purpose, channel);
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
