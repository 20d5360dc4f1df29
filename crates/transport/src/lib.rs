//! Connections below a session: who may have one, how it is made and accepted, and frames over it.
//!
//! A [`Ticket`] names the keys of both sides. [`reach()`] calls the other host, or starts one there over ssh, where
//! [`SshMux`] puts several streams into one pipe; the side that is called lets a [`Handshake`] end among those that
//! [wait](Waiting). What both then have is a [`Channel`]: frames over a socket, sealed by TLS 1.3. Its waits end when
//! its [`CancelToken`] is cut.
//!
//! A [`DatagramSocket`] sends and receives datagrams, several with one call.
//!
//! A [`WebFile`] is what a server of HTTP has, read at offsets.
//!
//! Must not know: files, trees, jobs, what the frames of a session mean.

#![forbid(unsafe_code)]

mod accept;
mod cancel;
mod channel;
mod dial;
mod fault;
mod reach;
mod sockets;
mod ssh;
mod timed;
mod tls;
mod web;

pub use accept::{Caller, Handshake, Waiting};
pub use cancel::{CancelToken, CutOnPanic, Stopping};
pub use channel::{
    Channel, ConnectionLook, ConnectionProbe, ConnectionStats, Digest, HANDSHAKE_MAX, SocketFacts,
    ignores_loss,
};
pub use dial::{
    Dial, Dialer, DirectWay, LONG_PATH_NS, Pool, Route, Welcome, address_hint, decoded_zone, is_long_path,
    resolve, shown_address,
};
pub use fault::NetFault;
pub use reach::{Host, Reached, Reaching, WayIn, reach};
pub use sockets::datagram::{DatagramBuffers, DatagramSocket, ReceivedDatagram};
pub use sockets::{Assembly, SocketOptions, host_settings, kernel_buffer_bytes};
pub use ssh::{Distrusts, RemoteEnd, Shell, SshHost, SshMux};
pub use tls::{CalledConfig, Outgoing, PublicKey, Seal, Seed, Ticket, Turn, called_config, random};
pub use web::{WebError, WebFault, WebFile, WebPatience, WebUrl};
