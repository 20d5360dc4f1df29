//! Reaches the other side of a session: an address with a ticket, or over ssh, which brings a ticket and perhaps an
//! address. A far end that can be called is called; otherwise, or where that is asked for, its connections go through
//! ssh.
//!
//! Must not know: what the session is for.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::channel::Channel;
use crate::dial::{Dialer, DirectWay, Route};
use crate::fault::NetFault;
use crate::sockets::SocketOptions;
use crate::ssh::{RemoteEnd, Shell, SshHost};
use crate::tls::Ticket;

/// How another host is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// `pump serve` at an address: `host:port`.
    Served(String),
    /// Over ssh.
    Ssh(SshHost),
    /// The host that called this one, in whose words the path is.
    Caller,
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Served(address) => write!(out, "pump://{address}"),
            Host::Ssh(host) => out.write_str(&host.name),
            Host::Caller => out.write_str("the caller"),
        }
    }
}

/// What lets this side in.
#[derive(Clone, Debug)]
pub enum WayIn {
    /// To places of [`Host::Served`].
    Ticket(Ticket),
    /// To the same; nothing is encrypted, and nobody has to prove anything: for the lab.
    Open,
    /// To places of [`Host::Ssh`].
    Ssh(Shell),
}

/// The settings to reach a host with.
pub struct Reaching<'copy> {
    /// What lets this side in.
    pub way_in: &'copy WayIn,
    /// How sockets are set up.
    pub sockets: &'copy SocketOptions,
    /// Silence after which the host is taken for dead.
    pub patience: Duration,
    /// The user's stop: it ends all waits.
    pub stop: &'copy Arc<AtomicBool>,
    /// The number that the session shall have.
    pub proposed: [u8; 16],
    /// A call tells it how further connections are made, as soon as that is known: they may be made beside the first.
    pub beside: &'copy dyn Fn(&Dialer),
}

/// Another host that was reached.
pub struct Reached {
    /// For further connections.
    pub dialer: Dialer,
    /// The control connection; it has greeted.
    pub channel: Channel,
    /// How long its handshake took.
    pub round_trip_ns: Option<u64>,
    /// What was started there for this session; ends when it is dropped.
    pub remote_end: Option<RemoteEnd>,
    /// Says why further connections are not made as the first one was, if that comes to pass.
    pub notices: Option<Receiver<String>>,
}

/// Makes the control connection; a stop ends its waits. What the user should know besides is told to `notice`.
pub fn reach(
    host: &Host,
    with: &Reaching<'_>,
    cancel: &CancelToken,
    notice: &dyn Fn(String),
) -> Result<Reached, NetFault> {
    let of = |route, ticket| {
        let (cancel, sockets) = (cancel.heeding(with.stop), with.sockets.clone());
        Dialer { route, ticket, cancel, sockets, patience: with.patience }
    };
    match (host, with.way_in) {
        (Host::Served(address), WayIn::Ticket(ticket)) => {
            called(with, of(Route::Called(address.clone()), Some(ticket.clone())), None)
        }
        (Host::Served(address), WayIn::Open) => called(with, of(Route::Called(address.clone()), None), None),
        (Host::Ssh(host), WayIn::Ssh(shell)) => {
            over_ssh(with, RemoteEnd::start(shell, host, with.patience, with.stop)?, &of, notice)
        }
        (Host::Ssh(_), _) => Err(NetFault::Refused("is reached over ssh, not with a ticket".into())),
        (Host::Served(_) | Host::Caller, _) => Err(NetFault::Refused("needs a ticket".into())),
    }
}

fn called(with: &Reaching<'_>, dialer: Dialer, remote_end: Option<RemoteEnd>) -> Result<Reached, NetFault> {
    let (channel, round_trip_ns) = dialer.control(with.proposed, &|| (with.beside)(&dialer))?;
    Ok(Reached { dialer, channel, round_trip_ns, remote_end, notices: None })
}

fn over_ssh(
    with: &Reaching<'_>,
    mut remote_end: RemoteEnd,
    of: &dyn Fn(Route, Option<Ticket>) -> Dialer,
    notice: &dyn Fn(String),
) -> Result<Reached, NetFault> {
    let ticket = Some(remote_end.ticket.clone());
    let of = |route| of(route, ticket.clone());
    let ssh_mux = remote_end.carry();
    match remote_end.address {
        _ if remote_end.carries_all => {}
        Some(address) => {
            let (direct, notices) =
                DirectWay::new(address, Arc::clone(&ssh_mux), remote_end.distrusted.clone());
            let dialer = of(Route::Direct(direct));
            let (channel, round_trip_ns) = dialer.control(with.proposed, &|| ())?;
            (with.beside)(&dialer);
            notices.try_iter().for_each(notice);
            let (remote_end, notices) = (Some(remote_end), Some(notices));
            return Ok(Reached { dialer, channel, round_trip_ns, remote_end, notices });
        }
        None => notice(
            "the other host did not say its address: everything goes through ssh, which may be slower".into(),
        ),
    }
    called(with, of(Route::ConnectionStats(ssh_mux)), Some(remote_end))
}
