//! Options of a server.
//!
//! Must not know: how it serves.

use std::net::SocketAddr;
use std::time::Duration;

use datapump_transport::SocketOptions;

use crate::place::Place;

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
    /// Most bytes per second of datagrams of all sessions together, headers of UDP and IP counted; without it none are
    /// taken.
    pub datagram_bytes_per_second: Option<u64>,
    /// Sockets below its connections, where a client wishes nothing else.
    pub sockets: SocketOptions,
}

impl ServeOptions {
    /// Serves a place on this host only, for reading and writing.
    pub fn for_place(place: Place) -> ServeOptions {
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
            datagram_bytes_per_second: None,
            sockets: SocketOptions::default(),
        }
    }
}
