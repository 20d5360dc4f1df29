//! Makes connections: calls another host, or has one carried over ssh; shakes hands, greets.
//!
//! Must not know: sessions, what a connection is used for.

mod connect;
mod pool;

pub use pool::{Dial, Pool};

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use datapump_core::wire::hello::{Purpose, Reason, Reply, greet, read_reply};
use datapump_engine::Socket;

use crate::cancel::CancelToken;
use crate::channel::{Channel, HANDSHAKE_MAX};
use crate::fault::NetFault;
use crate::sockets::SocketOptions;
use crate::ssh::SshMux;
use crate::tls::{Seal, Ticket};

use connect::{call, connect};

/// How long a host may take to answer a call where another way is known.
const TRY_MAX: Duration = Duration::from_secs(1);

/// How connections get to the other side.
#[derive(Clone)]
pub enum Route {
    /// `host:port`.
    Called(String),
    /// An address of a far end that was started over ssh.
    Tried(SocketAddr),
    /// Over ssh.
    ConnectionStats(Arc<SshMux>),
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

impl Dialer {
    /// A control connection and the session that was made for it.
    pub fn control(&self) -> Result<(Channel, Welcome), NetFault> {
        let (channel, reply) = self.greeted(Purpose::Control, None)?;
        let Reply::Welcome { session: Some(session), connections_max, boot, .. } = reply else {
            return Err(NetFault::Protocol("the other side made no session".into()));
        };
        Ok((channel, Welcome { session, connections_max: connections_max.unwrap_or(u32::MAX), boot }))
    }

    /// Another connection of a session.
    pub fn join(&self, purpose: Purpose, session: [u8; 16]) -> Result<Channel, NetFault> {
        let (mut channel, _) = self.greeted(purpose, Some(session))?;
        channel.join(self.cancel.begun());
        Ok(channel)
    }

    fn greeted(&self, purpose: Purpose, session: Option<[u8; 16]>) -> Result<(Channel, Reply), NetFault> {
        let seal = self.ticket.as_ref().map_or(Ok(Seal::Open), Seal::caller)?;
        let mut channel = Channel::new(self.call()?, seal, self.cancel.clone(), self.patience())?;
        channel.tune(&self.sockets)?;
        channel.watch(self.patience)?;
        let program = concat!("pump ", env!("CARGO_PKG_VERSION"));
        channel.send_message(&greet(purpose, session, program), 0)?;
        let (reply, _) = channel.message_within(self.patience())?;
        match read_reply(&reply)? {
            Reply::Refused { reason: Reason::Busy, words } => {
                Err(NetFault::Busy(datapump_core::problem::shown(words.as_bytes())))
            }
            // It took this side for dead meanwhile, or was stopped: a new session may be had.
            Reply::Refused { reason: Reason::Session, words } => {
                Err(NetFault::Lost(datapump_core::problem::shown(words.as_bytes())))
            }
            Reply::Refused { words, .. } => {
                Err(NetFault::Refused(datapump_core::problem::shown(words.as_bytes())))
            }
            welcome => Ok((channel, welcome)),
        }
    }

    /// How long each step of a call may take.
    fn patience(&self) -> Duration {
        self.patience.min(HANDSHAKE_MAX)
    }

    fn call(&self) -> Result<Socket, NetFault> {
        match &self.route {
            Route::Called(address) => {
                let called = call(address, &self.cancel, self.patience());
                called.map(Socket::Tcp).map_err(NetFault::of_first)
            }
            Route::Tried(address) => connect(address, &self.cancel.within(TRY_MAX)).map(Socket::Tcp),
            Route::ConnectionStats(ssh_mux) => ssh_mux.open().map(Socket::Unix),
        }
    }
}
