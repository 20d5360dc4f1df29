//! State that the threads of a server share: its sessions, and their common budget.
//!
//! Must not know: who is let in, what sessions do.

use std::collections::{HashMap, VecDeque};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use datapump_core::wire::VERSION;
use datapump_core::wire::hello::{Greeting, Purpose, Reason, Reply};
use datapump_engine::WAIT_MAX;
use datapump_transport::{CancelToken, HANDSHAKE_MAX, PublicKey, random};

pub(crate) use crate::count_ahead::served_root::ServedRoot;
use crate::net::folder::shared_reads::SharedReads;
use crate::net::server::connections::{ConnectionAcceptor, ConnectionQuota, NewSession};
use crate::net::server::control::message_boxes;
use crate::net::server::datagram_allowance::DatagramAllowance;
use crate::report::version;
use crate::run::rate::Rate;
use crate::setup::budget::Budget;
use datapump_files::disk::boot;

use crate::net::server::serve_options::ServeOptions;

/// Connections that may wait for their session at a time: a quarter of those that may greet.
const EARLY_MAX: u32 = 16;
/// Closed sessions that are remembered.
const CLOSED_MAX: usize = 64;
/// Between two looks whether a session has ended.
pub(crate) const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(10);

/// What the threads of a server share.
pub(crate) struct ServerState {
    pub(crate) options: ServeOptions,
    pub(crate) root: ServedRoot,
    pub(crate) holder: PublicKey,
    pub(crate) begun: Instant,
    /// A ticket for one session was used.
    pub(crate) used: AtomicBool,
    /// The session that a ticket was for is over.
    pub(crate) over: AtomicBool,
    /// Nobody is going to begin a session any more.
    pub(crate) is_closing: AtomicBool,
    pub(crate) waker: UnixStream,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) sessions: Mutex<HashMap<[u8; 16], OpenSession>>,
    /// A session was made, agreed or closed.
    pub(crate) changed: Condvar,
    /// Connections that wait for their session.
    pub(crate) early: AtomicU32,
    /// Sessions that were closed last: nobody waits for those.
    pub(crate) closed: Mutex<VecDeque<[u8; 16]>>,
    /// Of connections that belong to no session yet.
    pub(crate) greeting_line: CancelToken,
    pub(crate) greeting: AtomicU32,
    /// What all sessions may hold together.
    pub(crate) budget: Arc<Budget>,
    /// The limit that all sessions share.
    pub(crate) rate: Option<Arc<Rate>>,
    /// Where it listens, if it does.
    pub(crate) listens: Option<SocketAddr>,
    /// What all sessions may take of datagrams together.
    pub(crate) datagram_allowance: DatagramAllowance,
    /// The files that sessions have open, where there may be several sessions.
    pub(crate) shared_reads: Option<Arc<SharedReads>>,
}

/// A session that is open.
pub(crate) struct OpenSession {
    pub(crate) holder: Option<PublicKey>,
    pub(crate) cancel: CancelToken,
    pub(crate) acceptor: ConnectionAcceptor,
}

impl ServerState {
    /// Whether nothing is left to be done; `is_awaited` says whether somebody is about to greet.
    pub(crate) fn is_over(&self, is_awaited: bool) -> bool {
        // In this order: a greeting becomes a session.
        let is_idle = || self.greeting.load(Ordering::SeqCst) == 0 && self.sessions().is_empty();
        let is_closed = self.is_closing.load(Ordering::SeqCst) && !is_awaited && is_idle();
        let is_unused = || self.is_unused() && !is_awaited && is_idle();
        self.is_stopped() || is_closed || is_unused()
    }

    /// Whether the ticket lets in no new session any more.
    pub(crate) fn is_expired(&self) -> bool {
        self.options.expires.is_some_and(|expires| self.begun.elapsed() > expires)
    }

    /// Whether the ticket was for one session, and expired before one began.
    pub(crate) fn is_unused(&self) -> bool {
        self.options.once && !self.used.load(Ordering::SeqCst) && self.is_expired()
    }

    /// Looks again whether all is over.
    pub(crate) fn wake(&self) {
        // A full pipe wakes just as well.
        let _ = (&self.waker).write(&[0]);
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, HashMap<[u8; 16], OpenSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection: it begins a session or joins one.
    ///
    /// Errors: the reply that refuses it, for its ticket, its session or the number of sessions.
    pub(crate) fn admit(&self, greeting: &Greeting, holder: Option<PublicKey>) -> Result<Admitted, Reply> {
        let is_expired = self.is_expired();
        match (holder, greeting.session) {
            (Some(holder), _) if holder != self.holder => {
                Err(refused(Reason::Ticket, "this server did not make this ticket"))
            }
            (None, _) if !self.options.insecure => Err(refused(Reason::Ticket, "no ticket was shown")),
            (holder, Some(session)) => self.join(greeting.purpose, greeting.early.is_some(), session, holder),
            (_, None) if is_expired => Err(refused(Reason::Ticket, "the ticket has expired")),
            (holder, None) => self.begin(holder, greeting.early),
        }
    }

    /// The sessions, once the one with this number is agreed, or will not be. Few clients may wait at once, so that others find
    /// threads that answer them.
    fn wait_for_session(
        &self,
        session: &[u8; 16],
        holder: Option<PublicKey>,
    ) -> MutexGuard<'_, HashMap<[u8; 16], OpenSession>> {
        let (mut sessions, mut was_there) = (self.sessions(), false);
        let waits = self.early.fetch_add(1, Ordering::Relaxed) < EARLY_MAX;
        let end = Instant::now() + HANDSHAKE_MAX;
        while waits && Instant::now() < end && !self.is_stopped() {
            match sessions.get(session) {
                Some(entry) if entry.holder != holder || entry.acceptor.is_agreed() => break,
                Some(_) => was_there = true,
                None if was_there || self.was_closed(session) || self.is_closing.load(Ordering::Relaxed) => {
                    break;
                }
                None => {}
            }
            let waited = self.changed.wait_timeout(sessions, WAIT_MAX);
            sessions = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.early.fetch_sub(1, Ordering::Relaxed);
        sessions
    }

    fn was_closed(&self, session: &[u8; 16]) -> bool {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner).contains(session)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.over.load(Ordering::Relaxed)
    }

    /// Connections of a session may come now.
    pub(crate) fn agree(&self, left: &ConnectionQuota, connections: u32, ahead: bool) {
        let sessions = self.sessions();
        left.agree(connections, ahead);
        drop(sessions);
        self.changed.notify_all();
    }

    /// Admits a connection to a session; an early one waits for the session.
    ///
    /// Errors: there is no such session of this ticket, or it has all its connections.
    pub(crate) fn join(
        &self,
        purpose: Purpose,
        is_early: bool,
        session: [u8; 16],
        holder: Option<PublicKey>,
    ) -> Result<Admitted, Reply> {
        let sessions = if is_early { self.wait_for_session(&session, holder) } else { self.sessions() };
        match sessions.get(&session) {
            Some(entry) if entry.holder == holder && !entry.acceptor.admits(purpose) => {
                Err(refused(Reason::Session, "this session has all the connections that were agreed"))
            }
            Some(entry) if entry.holder == holder => {
                Ok(Admitted::ConnectionAcceptor(purpose, entry.cancel.clone(), entry.acceptor.clone()))
            }
            _ => Err(refused(Reason::Session, "there is no such session (any more)")),
        }
    }

    /// Enters a new session, and marks the ticket as used.
    ///
    /// Errors: the ticket was for one session, or there are too many sessions.
    pub(crate) fn begin(
        &self,
        holder: Option<PublicKey>,
        proposed: Option<[u8; 16]>,
    ) -> Result<Admitted, Reply> {
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
        let (outbox, inbox) = message_boxes()
            .map_err(|_| refused(Reason::Busy, "this server has too many files open; try again later"))?;
        self.used.store(true, Ordering::SeqCst);
        let (channels, receiver) = channel();
        let left = Arc::new(ConnectionQuota::default());
        let acceptor = ConnectionAcceptor { channels, outbox: outbox.clone(), left: Arc::clone(&left) };
        let number = proposed.filter(|number| !sessions.contains_key(number)).unwrap_or_else(random);
        let cancel = CancelToken::default();
        sessions.insert(number, OpenSession { holder, cancel: cancel.clone(), acceptor });
        Ok(Admitted::Begins(NewSession { number, cancel, acceptor: receiver, boxes: (outbox, inbox), left }))
    }

    /// The reply that admits a connection.
    pub(crate) fn welcome(&self, admitted: &Admitted) -> Reply {
        let session = match admitted {
            Admitted::Begins(session) => Some(session.number),
            Admitted::ConnectionAcceptor(..) => None,
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
            self.sessions().get(session).inspect(|entry| entry.cancel.cut());
            std::thread::sleep(LOOK_AGAIN_AFTER);
        }
    }

    /// Notes that there is no session of this number, and will be none: connections do not wait for it.
    pub(crate) fn forget(&self, session: &[u8; 16]) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.push_front(*session);
        closed.truncate(CLOSED_MAX);
        drop(closed);
        drop(self.sessions());
        self.changed.notify_all();
    }

    /// Removes a session that is over. A server for one session ends then.
    pub(crate) fn close(&self, session: &[u8; 16]) {
        self.sessions().remove(session);
        self.forget(session);
        if self.options.once {
            self.over.store(true, Ordering::Relaxed);
        }
        self.wake();
    }
}

pub(crate) enum Admitted {
    Begins(NewSession),
    ConnectionAcceptor(Purpose, CancelToken, ConnectionAcceptor),
}

pub(crate) fn refused(reason: Reason, words: &str) -> Reply {
    Reply::Refused { reason, words: words.into() }
}
