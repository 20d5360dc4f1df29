//! Reaches the other side of a session: an address with a ticket, or over ssh, which brings a ticket and perhaps an
//! address. A far end that can be called is called; otherwise its connections go through ssh.
//!
//! Must not know: what the session is for.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::channel::{Channel, Line};
use super::dial::{Dialer, Route, Welcome};
use super::fault::NetFault;
use super::sockets::SocketOptions;
use super::ssh::{FarEnd, Shell};
use super::ticket::Ticket;
use crate::place::Host;

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

/// What is needed to reach a host.
pub(crate) struct Reaching<'copy> {
    pub(crate) way_in: &'copy WayIn,
    pub(crate) sockets: &'copy SocketOptions,
    pub(crate) patience: Duration,
    pub(crate) stop: &'copy Arc<AtomicBool>,
}

/// Another host that was reached.
pub(crate) struct Reached {
    /// For further connections.
    pub(crate) dialer: Dialer,
    pub(crate) channel: Channel,
    pub(crate) welcome: Welcome,
    /// What was started there for this session; ends when it is dropped.
    pub(crate) far_end: Option<FarEnd>,
}

/// Makes the control connection; a stop ends its waits. What the user should know besides is told to `notice`.
pub(crate) fn reach(
    host: &Host,
    with: &Reaching<'_>,
    line: &Line,
    notice: &dyn Fn(String),
) -> Result<Reached, NetFault> {
    let of = |route, ticket| {
        let (line, sockets) = (line.heeding(with.stop), with.sockets.clone());
        Dialer { route, ticket, line, sockets, patience: with.patience }
    };
    match (host, with.way_in) {
        (Host::Served(address), WayIn::Ticket(ticket)) => {
            called(of(Route::Called(address.clone()), Some(ticket.clone())), None)
        }
        (Host::Served(address), WayIn::Open) => called(of(Route::Called(address.clone()), None), None),
        (Host::Ssh(host), WayIn::Ssh(shell)) => over_ssh(FarEnd::start(shell, host, with.stop)?, &of, notice),
        (Host::Ssh(_), _) => Err(NetFault::Refused("is reached over ssh, not with a ticket".into())),
        (Host::Served(_) | Host::Caller, _) => Err(NetFault::Refused("needs a ticket".into())),
    }
}

fn called(dialer: Dialer, far_end: Option<FarEnd>) -> Result<Reached, NetFault> {
    let (channel, welcome) = dialer.control()?;
    Ok(Reached { dialer, channel, welcome, far_end })
}

fn over_ssh(
    mut far_end: FarEnd,
    of: &dyn Fn(Route, Option<Ticket>) -> Dialer,
    notice: &dyn Fn(String),
) -> Result<Reached, NetFault> {
    let ticket = Some(far_end.ticket.clone());
    let of = |route| of(route, ticket.clone());
    let why = match far_end.address {
        Some(address) => match of(Route::Tried(address)).control() {
            Ok((channel, welcome)) => {
                let dialer = of(Route::Called(address.to_string()));
                return Ok(Reached { dialer, channel, welcome, far_end: Some(far_end) });
            }
            Err(NetFault::Stopped) => return Err(NetFault::Stopped),
            // Whoever answered there, the far end is reached over ssh.
            Err(fault) => format!("no direct connection to {address} ({})", fault.words()),
        },
        None => "the far end has no address of its own".into(),
    };
    notice(format!("{why}: everything goes through ssh, which may be slower"));
    called(of(Route::Carried(far_end.carry())), Some(far_end))
}
