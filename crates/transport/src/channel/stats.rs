//! Statistics of connections for blocks: their time, and the kernel's counts.
//!
//! Must not know: what was sent, who judges it.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use datapump_core::wire::session::TcpStats;
use datapump_engine::os::linux::{TcpInfo, tcp_info};
use rustix::net::{getpeername, getsockname, sockopt};

/// What a connection for blocks did, or several together.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionStats {
    /// How many they are.
    pub connections: u32,
    /// Which engine received and sent.
    pub engine: Option<&'static str>,
    /// Time in which bytes were sealed.
    pub sealing_ns: u64,
    /// Time in which bytes were opened.
    pub opening_ns: u64,
    /// Time inside calls that receive.
    pub receiving_ns: u64,
    /// Returns of those for more than a head or a hash, and their bytes.
    pub received: (u64, u64),
    /// Blocks that came damaged and were asked for again.
    pub again_bytes: u64,
    /// What the kernel tells of it.
    pub path: Option<TcpStats>,
}

impl ConnectionStats {
    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &ConnectionStats) -> ConnectionStats {
        let path = match (self.path, other.path) {
            (Some(one), Some(other)) => Some(one.plus(&other)),
            (one, other) => one.or(other),
        };
        ConnectionStats {
            connections: self.connections + other.connections,
            engine: self.engine.or(other.engine),
            sealing_ns: self.sealing_ns + other.sealing_ns,
            opening_ns: self.opening_ns + other.opening_ns,
            receiving_ns: self.receiving_ns + other.receiving_ns,
            received: (self.received.0 + other.received.0, self.received.1 + other.received.1),
            again_bytes: self.again_bytes + other.again_bytes,
            path,
        }
    }
}

/// Looks at a connection from beside it, for as long as it likes.
#[derive(Debug)]
pub struct ConnectionProbe(OwnedFd);

/// The state of a connection now.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLook {
    /// Received in order until now.
    pub received_bytes: u64,
    /// A round trip, smoothed; 0 where nothing was sent yet. A side that only receives sends too little to learn it: of
    /// its own round trip and that of the data, the longer one.
    pub round_trip_ns: u64,
    /// The shortest of the last minutes.
    pub path_round_trip_ns: u64,
}

impl ConnectionProbe {
    pub(crate) fn from_socket(socket: BorrowedFd<'_>) -> Option<ConnectionProbe> {
        socket.try_clone_to_owned().ok().map(ConnectionProbe)
    }

    /// None where the system does not tell.
    pub fn look(&self) -> Option<ConnectionLook> {
        let info = tcp_info(self.0.as_fd()).ok()?;
        Some(ConnectionLook {
            received_bytes: info.received_bytes,
            round_trip_ns: u64::from(info.rtt_us.max(info.receiver_rtt_us)) * 1000,
            path_round_trip_ns: u64::from(info.min_rtt_us) * 1000,
        })
    }
}

/// What the kernel tells of a connection, if it is one of TCP.
pub(crate) fn path(socket: BorrowedFd<'_>) -> Option<TcpStats> {
    let info = tcp_info(socket).ok()?;
    Some(TcpStats {
        rtt_us: info.rtt_us.into(),
        min_rtt_us: info.min_rtt_us.into(),
        sent_segments: info.sent_segments,
        retransmitted_segments: info.retransmitted_segments,
        delivered_bytes_per_second: info.delivered_bytes_per_second,
        busy_ns: info.busy_ns,
        receive_window_limited_ns: info.receive_window_limited_ns,
        send_buffer_limited_ns: info.send_buffer_limited_ns,
        segment_bytes: Some(info.segment_bytes),
        path_mtu_bytes: Some(info.path_mtu_bytes),
        rtt_variation_us: Some(info.rtt_variation_us),
        ignores_loss: sockopt::tcp_congestion(socket).ok().map(|name| ignores_loss(&name)),
    })
}

/// Whether a congestion control holds its rate through losses: BBR in all its versions. What it loses on a full path is
/// no cause.
pub fn ignores_loss(congestion: &str) -> bool {
    congestion.starts_with("bbr")
}

/// The ends of a connection and what the kernel says of it.
#[derive(Clone, Debug)]
pub struct SocketFacts {
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub peer: SocketAddr,
    /// Its congestion control.
    pub congestion: Option<String>,
    /// What the kernel counts.
    pub info: TcpInfo,
}

pub(crate) fn socket_facts(socket: BorrowedFd<'_>) -> Option<SocketFacts> {
    let local = SocketAddr::try_from(getsockname(socket).ok()?).ok()?;
    let peer = SocketAddr::try_from(getpeername(socket).ok()??).ok()?;
    let congestion = sockopt::tcp_congestion(socket).ok();
    Some(SocketFacts { local, peer, congestion, info: tcp_info(socket).ok()? })
}
