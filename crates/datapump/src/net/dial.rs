//! Makes connections: calls another host, shakes hands, greets.
//!
//! Must not know: sessions, what a connection is used for.

use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use datapump_core::wire::hello::{Purpose, Reason, Reply, greet, read_reply};

use super::channel::{Channel, HANDSHAKE_MAX, Line};
use super::fault::NetFault;
use super::pipe::Pipe;
use super::seal::Seal;
use super::sockets::SocketOptions;
use super::ticket::Ticket;
use crate::account::version;

/// What a call needs.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    /// `host:port`.
    pub(crate) address: String,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) line: Line,
    pub(crate) sockets: SocketOptions,
    /// Silence after which the host is taken for dead.
    pub(crate) patience: Duration,
}

/// What a control connection was told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Welcome {
    pub(crate) session: [u8; 16],
    pub(crate) connections_max: u32,
    /// Which start of which system the other side runs on.
    pub(crate) boot: Option<[u8; 16]>,
}

impl Dialer {
    /// A control connection and the session that was made for it.
    pub(crate) fn control(&self) -> Result<(Channel, Welcome), NetFault> {
        let (channel, reply) = self.greeted(Purpose::Control, None)?;
        let Reply::Welcome { session: Some(session), connections_max, boot, .. } = reply else {
            return Err(NetFault::Protocol("the other side made no session".into()));
        };
        Ok((channel, Welcome { session, connections_max: connections_max.unwrap_or(u32::MAX), boot }))
    }

    /// Another connection of a session.
    pub(crate) fn join(&self, purpose: Purpose, session: [u8; 16]) -> Result<Channel, NetFault> {
        self.greeted(purpose, Some(session)).map(|(channel, _)| channel)
    }

    fn greeted(&self, purpose: Purpose, session: Option<[u8; 16]>) -> Result<(Channel, Reply), NetFault> {
        let pipe = Pipe::Tcp(self.call()?);
        let seal = self.ticket.as_ref().map_or(Ok(Seal::Open), Seal::caller)?;
        let mut channel = Channel::new(pipe, seal, self.line.clone(), self.patience())?;
        let program = format!("pump {}", version());
        channel.send_message(&greet(purpose, session, &program), 0)?;
        let reply = channel.message_before(Instant::now() + self.patience())?;
        let reply = reply.ok_or_else(|| NetFault::Lost("the other side does not answer".into()))?;
        match read_reply(&reply)? {
            Reply::Refused { reason: Reason::Busy, words } => {
                Err(NetFault::Busy(crate::shown(words.as_bytes())))
            }
            // It took this side for dead meanwhile, or was stopped: a new session may be had.
            Reply::Refused { reason: Reason::Session, words } => {
                Err(NetFault::Lost(crate::shown(words.as_bytes())))
            }
            Reply::Refused { words, .. } => Err(NetFault::Refused(crate::shown(words.as_bytes()))),
            welcome => Ok((channel, welcome)),
        }
    }

    /// How long each step of a call may take.
    fn patience(&self) -> Duration {
        self.patience.min(HANDSHAKE_MAX)
    }

    fn call(&self) -> Result<TcpStream, NetFault> {
        let addresses =
            self.address.to_socket_addrs().map_err(|error| NetFault::of_io("look up the host", &error))?;
        let mut failed = NetFault::Lost("the host has no address".into());
        for address in addresses {
            match TcpStream::connect_timeout(&address, self.patience()) {
                Ok(stream) => {
                    self.sockets.apply(stream.as_fd()).map_err(NetFault::Lost)?;
                    return Ok(stream);
                }
                Err(error) => failed = NetFault::of_io("call", &error),
            }
        }
        Err(failed)
    }
}
