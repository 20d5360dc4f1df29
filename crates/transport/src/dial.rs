//! Makes connections: calls another host, or has one carried over ssh; shakes hands, greets.
//!
//! Must not know: sessions, what a connection is used for.

mod address;
mod connect;
mod direct;
mod pool;

pub(crate) use address::split_zone;
pub use address::{address_hint, decoded_zone, resolve, shown_address};
pub use direct::DirectWay;
pub use pool::{Dial, Pool};

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datapump_core::wire::hello::{Purpose, Reply, greet};
use datapump_engine::Socket;

use crate::cancel::CancelToken;
use crate::channel::{Channel, HANDSHAKE_MAX};
use crate::fault::NetFault;
use crate::sockets::SocketOptions;
use crate::ssh::SshMux;
use crate::timed::POLL_INTERVAL;
use crate::tls::{Seal, Ticket};

use connect::call;
pub(crate) use connect::{connect, look_up};

/// How connections get to the other side.
#[derive(Clone)]
pub enum Route {
    /// `host:port`.
    Called(String),
    /// A far end that was started over ssh: at its address, or through ssh where nothing answers there.
    Direct(Arc<DirectWay>),
    /// Over ssh.
    ConnectionStats(Arc<SshMux>),
}

/// A connection after its handshake, and how long that took.
struct Sealed {
    channel: Channel,
    handshake: Duration,
}

/// What a call needs.
#[derive(Clone)]
pub struct Dialer {
    /// How they get there.
    pub route: Route,
    /// What lets them in; without one nothing is sealed.
    pub ticket: Option<Ticket>,
    /// Ends its waits.
    pub cancel: CancelToken,
    /// How its sockets are set up.
    pub sockets: SocketOptions,
    /// Silence after which the host is taken for dead.
    pub patience: Duration,
}

/// What a control connection was told.
#[derive(Clone, Copy, Debug)]
pub struct Welcome {
    /// The session that was made.
    pub session: [u8; 16],
    /// So many more it may have.
    pub connections_max: u32,
    /// Which start of which system the other side runs on.
    pub boot: Option<[u8; 16]>,
}

/// A path with a longer round trip is worth sending what was not requested. A handshake on loopback takes 1 to 2 ms,
/// and with requests for 16 small files under way a lane gets 3,000 files a second over 5 ms.
pub const LONG_PATH_NS: u64 = 5_000_000;

/// Whether a path of this round trip is long.
pub fn is_long_path(round_trip_ns: u64) -> bool {
    (LONG_PATH_NS..u64::MAX).contains(&round_trip_ns)
}

impl Welcome {
    /// What the reply to the greeting of a control connection said.
    ///
    /// Errors: it made no session.
    pub fn from_reply(reply: Option<Reply>) -> Result<Welcome, NetFault> {
        let Some(Reply::Welcome { session: Some(session), connections_max, boot, .. }) = reply else {
            return Err(NetFault::Protocol("the other side made no session".into()));
        };
        Ok(Welcome { session, connections_max: connections_max.unwrap_or(u32::MAX), boot })
    }
}

impl Dialer {
    /// A control connection that has greeted, for a session of this number; and how long its handshake took, if there
    /// was one: where nothing is sealed a connection tells nothing of the path, as a relay may take the call. Its reply
    /// is read with the first thing that is received. `called` may do something once it is called.
    pub fn control(&self, proposed: [u8; 16], called: &dyn Fn()) -> Result<(Channel, Option<u64>), NetFault> {
        self.greeted(Purpose::Control, None, Some(proposed), called)
    }

    /// Another connection of a session, once the other side has let it in.
    pub fn join(&self, purpose: Purpose, session: [u8; 16]) -> Result<Channel, NetFault> {
        let mut channel = self.let_in(purpose, session, None, &|| true)?;
        channel.join(self.cancel.begun());
        Ok(channel)
    }

    /// Another connection of a session that is being made under this number. Bytes put on it are sent with the
    /// greeting, by its next `flush`.
    pub fn join_early(&self, purpose: Purpose, session: [u8; 16]) -> Result<Channel, NetFault> {
        let (mut channel, _) = self.greeted(purpose, Some(session), Some(session), &|| ())?;
        channel.join(self.cancel.begun());
        Ok(channel)
    }

    /// An early connection that the other side has let in. It does so when the session has begun, for which its disk may
    /// take long: until then no time limit holds.
    pub fn joined_early(
        &self,
        purpose: Purpose,
        session: [u8; 16],
        has_begun: &dyn Fn() -> bool,
    ) -> Result<Channel, NetFault> {
        self.let_in(purpose, session, Some(session), has_begun)
    }

    /// A connection that got an answer to its greeting. Where the direct way is silent behind the handshake, it is
    /// made once more, through ssh.
    fn let_in(
        &self,
        purpose: Purpose,
        session: [u8; 16],
        early: Option<[u8; 16]>,
        has_begun: &dyn Fn() -> bool,
    ) -> Result<Channel, NetFault> {
        let asked = Cell::new(Instant::now());
        let once = || {
            let (mut channel, _) = self.greeted(purpose, Some(session), early, &|| ())?;
            if early.is_some() {
                channel.join(self.cancel.begun());
            }
            channel.flush()?;
            while !has_begun() && !channel.has_input(POLL_INTERVAL)? {
                channel.line_check()?;
                asked.set(Instant::now());
            }
            channel.within(self.patience(), Channel::receive_reply).map(|()| channel)
        };
        match (once(), &self.route) {
            (Err(fault @ NetFault::Lost(_)), Route::Direct(direct))
                if !direct.is_given_up()
                    && asked.get().elapsed() >= self.patience()
                    && !self.cancel.is_cut() =>
            {
                direct.give_up(&fault);
                once()
            }
            (made, _) => made,
        }
    }

    fn greeted(
        &self,
        purpose: Purpose,
        session: Option<[u8; 16]>,
        early: Option<[u8; 16]>,
        called: &dyn Fn(),
    ) -> Result<(Channel, Option<u64>), NetFault> {
        let Sealed { mut channel, handshake } = self.sealed(called)?;
        let round_trip_ns = self.ticket.is_some().then_some(handshake.as_nanos() as u64);
        channel.tune(&self.sockets)?;
        channel.watch(self.patience)?;
        let program = concat!("pump ", env!("CARGO_PKG_VERSION"));
        let number = session.map(|_| self.cancel.connections.next_number());
        number.into_iter().for_each(|number| channel.count_as(number));
        channel.put_greeting(&greet(purpose, session, early, number, program))?;
        Ok((channel, round_trip_ns))
    }

    /// A connection after its handshake.
    fn sealed(&self, called: &dyn Fn()) -> Result<Sealed, NetFault> {
        let socket = match &self.route {
            Route::Called(address) => {
                let socket = call(address, &self.cancel, self.patience(), called);
                socket.map(Socket::Tcp).map_err(NetFault::of_first)?
            }
            Route::ConnectionStats(ssh_mux) => {
                let opened = ssh_mux.open().map(Socket::Unix);
                called();
                opened?
            }
            Route::Direct(direct) => return direct.sealed(self, called),
        };
        self.shaken(socket)
    }

    /// The handshake over a socket that is connected.
    fn shaken(&self, socket: Socket) -> Result<Sealed, NetFault> {
        let seal = self.ticket.as_ref().map_or(Ok(Seal::Open), Seal::caller)?;
        let start = Instant::now();
        let channel = Channel::new(socket, seal, self.cancel.clone(), self.patience())?;
        Ok(Sealed { channel, handshake: start.elapsed() })
    }

    /// No session came about, because of this. If it was lost on the direct way, the next one goes through ssh.
    pub fn distrust(&self, fault: &NetFault) {
        if let (Route::Direct(direct), NetFault::Lost(_)) = (&self.route, fault) {
            direct.distrust();
        }
    }

    /// Round trips until a connection is there: a call, and a handshake where something is sealed.
    pub fn round_trips(&self) -> u64 {
        let called = !matches!(self.route, Route::ConnectionStats(_));
        u64::from(called) + u64::from(self.ticket.is_some())
    }

    /// How long each step of a call may take.
    fn patience(&self) -> Duration {
        self.patience.min(HANDSHAKE_MAX)
    }
}
