//! Measures with datagrams: round trips by frame size, and paced streams. All times are of one
//! host's monotonic clock; times of two hosts are never compared.
//!
//! Must not know: command lines, how a session is made.

mod interface;
mod latency;
mod messages;
mod nothing_came;
mod pacer;
mod throughput;

pub use interface::InterfaceFacts;
pub use latency::{FrameLatency, LatencyArguments, UdpLatency, udp_latency};
pub use throughput::{StreamPace, ThroughputArguments, UdpThroughput, udp_throughput};

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use datapump::datagrams::DatagramSocket;
use datapump::{Class, Operation, Problem};

/// A socket of the same family on a free port.
fn socket_for(to: SocketAddr) -> Result<DatagramSocket, Problem> {
    let wrong = |error: io::Error| Problem::of(Class::Io, Operation::Open, format!("a UDP socket: {error}"));
    DatagramSocket::bind(SocketAddr::new(any_address(to), 0)).map_err(wrong)
}

/// No address of this host, of the family of that one.
fn any_address(to: SocketAddr) -> IpAddr {
    if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

/// What the system said of a datagram of so many bytes.
fn not_sent(error: &io::Error, payload_bytes: usize, to: SocketAddr) -> Problem {
    /// EMSGSIZE.
    const TOO_LONG: i32 = 90;
    let message = match error.raw_os_error() {
        Some(TOO_LONG) => format!(
            "send {payload_bytes} bytes to {to}: with its headers this is longer than the MTU of this host's own \
             interface; ask for a smaller --frame-size, or raise the MTU"
        ),
        _ => format!("send {payload_bytes} bytes to {to}: {error}"),
    };
    Problem::of(Class::Io, Operation::Measure, message)
}

/// That the session or this run ends.
fn is_ending() -> Problem {
    Problem::of(Class::Lost, Operation::Measure, "this run was stopped")
}
