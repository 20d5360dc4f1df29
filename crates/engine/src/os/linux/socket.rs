//! TCP_INFO of a connection, and socket options that no safe wrapper sets.
//!
//! Must not know: what is sent over a connection, why a parameter is wanted.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// What the kernel tells of a connection: `TCP_INFO`, tcp(7). What an older kernel does not tell is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// The number of its state: 1 is established, 7 closed (linux/tcp_states.h).
    pub state: u8,
    /// Largest payload of a segment that is sent.
    pub segment_bytes: u32,
    /// Bytes of the largest packet that the path is known to take.
    pub path_mtu_bytes: u32,
    /// Segments that may be under way: the congestion window.
    pub congestion_window_segments: u32,
    /// Where slow start ends; `None` as long as no loss has set it.
    pub slow_start_threshold_segments: Option<u32>,
    /// Segments that are under way.
    pub unacknowledged_segments: u32,
    /// How long ago the other side last acknowledged anything, as its kernel does also while its window is full.
    pub acknowledged_ms_ago: u32,
    /// Bytes that the other side has acknowledged; SYN and FIN count as one each.
    pub acknowledged_bytes: u64,
    /// Bytes that were sent, those sent again included.
    pub sent_bytes: u64,
    /// Bytes that were received in order.
    pub received_bytes: u64,
    /// Bytes that were handed over and not yet sent once.
    pub unsent_bytes: u32,
    /// What the other side offers room for.
    pub peer_window_bytes: u32,
    /// What this side offers room for.
    pub window_bytes: u32,
    /// The smoothed round trip.
    pub rtt_us: u32,
    /// By how much the round trip varies: the mean deviation from the smoothed one.
    pub rtt_variation_us: u32,
    /// The shortest round trip that was seen: without the queues on the way.
    pub min_rtt_us: u32,
    /// A round trip as the receiver sees it, by the time stamps that come back with the data; 0 where none did.
    pub receiver_rtt_us: u32,
    /// Segments that were sent again.
    pub retransmitted_segments: u64,
    /// Segments with data that were sent, those sent again included.
    pub sent_segments: u64,
    /// Segments that came before others that were sent earlier.
    pub out_of_order_segments: u32,
    /// Segments with data that were received.
    pub received_segments: u32,
    /// How fast the other side has got what was sent, most recently.
    pub delivered_bytes_per_second: u64,
    /// How long something was to be sent or acknowledged.
    pub busy_ns: u64,
    /// How much of that the other side's window was full.
    pub receive_window_limited_ns: u64,
    /// How much of that the send buffer was too small.
    pub send_buffer_limited_ns: u64,
}

/// The kernel's word for a threshold that was never set (TCP_INFINITE_SSTHRESH).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// More than any kernel tells as yet (232 bytes in 6.1).
const INFO_BYTES: usize = 512;

impl TcpInfo {
    /// Reads `struct tcp_info` of linux/tcp.h by the offsets of its fields, as far as the kernel filled it.
    pub fn read(told: &[u8]) -> TcpInfo {
        let u32_at =
            |at: usize| told.get(at..at + 4).map_or(0, |it| u32::from_ne_bytes([it[0], it[1], it[2], it[3]]));
        let u64_at = |at: usize| {
            let bytes = told.get(at..at + 8).and_then(|it| it.try_into().ok());
            bytes.map_or(0, u64::from_ne_bytes)
        };
        let min_rtt_us = u32_at(148);
        let threshold = u32_at(76);
        TcpInfo {
            state: told.first().copied().unwrap_or(0),
            segment_bytes: u32_at(16),
            path_mtu_bytes: u32_at(60),
            congestion_window_segments: u32_at(80),
            slow_start_threshold_segments: (threshold < NO_THRESHOLD).then_some(threshold),
            unacknowledged_segments: u32_at(24),
            acknowledged_ms_ago: u32_at(56),
            acknowledged_bytes: u64_at(120),
            sent_bytes: u64_at(200),
            received_bytes: u64_at(128),
            unsent_bytes: u32_at(144),
            peer_window_bytes: u32_at(228),
            window_bytes: u32_at(232),
            rtt_us: u32_at(68),
            rtt_variation_us: u32_at(72),
            // The kernel's word for "not measured yet" is all ones.
            min_rtt_us: if min_rtt_us == u32::MAX { 0 } else { min_rtt_us },
            receiver_rtt_us: u32_at(92),
            retransmitted_segments: u32_at(100).into(),
            sent_segments: u32_at(156).into(),
            received_segments: u32_at(152),
            out_of_order_segments: u32_at(224),
            delivered_bytes_per_second: u64_at(160),
            busy_ns: u64_at(168).saturating_mul(1000),
            receive_window_limited_ns: u64_at(176).saturating_mul(1000),
            send_buffer_limited_ns: u64_at(184).saturating_mul(1000),
        }
    }
}

/// Asks the kernel about a TCP connection.
pub fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    let mut told = [0_u8; INFO_BYTES];
    let mut len = INFO_BYTES as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into the array, which lives in this frame, stores in `len` how many
    // they were, and keeps no reference to either.
    let result = unsafe {
        let into = told.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, into, &mut len)
    };
    match result {
        0 => Ok(TcpInfo::read(&told[..(len as usize).min(INFO_BYTES)])),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the kernel spread over the round trip what a connection sends, instead of sending it in bursts, at a rate that
/// it computes from the window: any limit but none makes it do so (`SO_MAX_PACING_RATE`, socket(7); since Linux 4.13
/// without the `fq` queue). The limit here is one that no path has.
pub fn set_pacing(socket: BorrowedFd<'_>) -> io::Result<()> {
    const LIMIT_BYTES_PER_S: u64 = 1 << 40;
    let bytes_per_s = LIMIT_BYTES_PER_S;
    // SAFETY: the kernel reads one u64, which lives in this frame, and keeps no reference to it.
    let result = unsafe {
        let (from, len) = (&raw const bytes_per_s, size_of::<u64>() as libc::socklen_t);
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, from.cast(), len)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets how long a blocking receive looks at the device itself instead of waiting to be woken: `SO_BUSY_POLL`,
/// socket(7). More than net.core.busy_read needs CAP_NET_ADMIN.
pub fn set_busy_poll(socket: BorrowedFd<'_>, us: u32) -> io::Result<()> {
    let us = libc::c_int::try_from(us).unwrap_or(libc::c_int::MAX);
    // SAFETY: the kernel reads one int, which lives in this frame, and keeps no reference to it.
    let result = unsafe {
        let (from, len) = (&raw const us, size_of::<libc::c_int>() as libc::socklen_t);
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL, from.cast(), len)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn the_kernel_tells_what_a_connection_did() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let mut one = TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
        let (mut other, _) = listener.accept().expect("it called");
        one.write_all(&[7; 10_000]).expect("room");
        other.read_exact(&mut [0; 10_000]).expect("it was sent");
        let info = tcp_info(one.as_fd()).expect("a TCP socket");
        assert!(info.sent_segments > 0 && info.rtt_us > 0, "{info:?}");
        assert!(tcp_info(std::fs::File::open("/dev/null").expect("it is there").as_fd()).is_err());
    }

    #[test]
    fn what_a_kernel_does_not_tell_is_nothing() {
        let mut told = [0; 232];
        told[148..152].copy_from_slice(&[0xff; 4]);
        told[168..176].copy_from_slice(&3_u64.to_ne_bytes());
        told[176..184].copy_from_slice(&2_u64.to_ne_bytes());
        let info = TcpInfo::read(&told);
        assert_eq!((info.busy_ns, info.receive_window_limited_ns, info.min_rtt_us), (3000, 2000, 0));
        assert_eq!((info.sent_bytes, info.window_bytes), (0, 0), "the kernel told 232 bytes");
        // The kernel of 2006 ended behind `tcpi_total_retrans`.
        assert_eq!(TcpInfo::read(&told[..104]).busy_ns, 0);
    }
}
