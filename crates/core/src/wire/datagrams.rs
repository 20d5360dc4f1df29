//! Datagrams beside a session: what a client may send to a server over UDP, what stands at the beginning of each
//! datagram, and what the receiver counts.
//!
//! The session goes over its control connection as any other; it agrees on the datagrams and tells the counts. A
//! datagram begins with 32 bytes: the token of the grant (16), the sequence number and the sender's time of sending in
//! nanoseconds (8 each, little-endian); what follows means nothing.
//!
//! Must not know: sockets, clocks, what counts are taken for.

mod counter;
mod gaps;
mod histogram;
#[cfg(test)]
mod tests;

pub use counter::DatagramCounter;
pub use gaps::LossGaps;
pub use histogram::{HISTOGRAM_BUCKETS, TimeHistogram};

use minicbor::{Decode, Encode};

use super::bounds::HasCounts;

/// Bytes at the beginning of a datagram.
pub const DATAGRAM_HEAD_BYTES: usize = 32;
/// The longest payload of UDP over IP version 4: 65,535 bytes less both headers.
pub const DATAGRAM_BYTES_MAX: u32 = 65_507;
/// Headers of UDP and IP (version 4), which a rate counts too.
pub const DATAGRAM_HEADERS_BYTES: u64 = 28;
/// Datagrams of a session: a bit is kept for each, 8 MiB in all.
pub const DATAGRAMS_MAX: u64 = 1 << 26;
/// The longest time for which datagrams are taken.
pub const DATAGRAMS_LAST_MAX_NS: u64 = 60_000_000_000;

/// Bytes that datagrams take of a path, headers counted.
pub fn packet_bytes(payload_bytes: u32) -> u64 {
    u64::from(payload_bytes) + DATAGRAM_HEADERS_BYTES
}

/// What the server does with datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum DatagramUse {
    /// It counts them.
    #[n(0)]
    Count,
    /// It counts each and sends it back.
    #[n(1)]
    Reflect,
}

/// Datagrams that a client wants to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DatagramRequest {
    /// What the server shall do with them.
    #[n(0)]
    pub wanted: DatagramUse,
    /// The most that will be sent.
    #[n(1)]
    pub datagrams: u64,
    /// The longest payload.
    #[n(2)]
    pub payload_bytes: u32,
    /// The rate that they keep to, headers counted; 0 asks for all that the server allows.
    #[n(3)]
    pub bytes_per_second: u64,
    /// The longest time that they take.
    #[n(4)]
    pub lasts_ns: u64,
}

/// What a server grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct DatagramGrant {
    /// The UDP port, at the address of the control connection.
    #[n(0)]
    pub port: u16,
    /// What each datagram begins with.
    #[n(1)]
    #[cbor(with = "minicbor::bytes")]
    pub token: [u8; 16],
    /// The rate that they must keep to.
    #[n(2)]
    pub bytes_per_second: u64,
    /// The receive buffer of the server's socket, as its system counts it.
    #[n(3)]
    pub buffer_bytes: u64,
}

impl DatagramRequest {
    /// Why no server grants this, in words; `None` if nothing is wrong.
    pub fn wrong(&self) -> Option<String> {
        let DatagramRequest { datagrams, payload_bytes, lasts_ns, .. } = *self;
        let (least, most) = (DATAGRAM_HEAD_BYTES, DATAGRAM_BYTES_MAX);
        if !(least..=most as usize).contains(&(payload_bytes as usize)) {
            Some(format!("a datagram carries {least} to {most} bytes, not {payload_bytes}"))
        } else if !(1..=DATAGRAMS_MAX).contains(&datagrams) {
            Some(format!("1 to {DATAGRAMS_MAX} datagrams are sent in one session, not {datagrams}"))
        } else if lasts_ns > DATAGRAMS_LAST_MAX_NS {
            Some(format!("datagrams are sent for at most {} s", DATAGRAMS_LAST_MAX_NS / 1_000_000_000))
        } else {
            None
        }
    }
}

/// What stands at the beginning of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHead {
    /// That of the grant.
    pub token: [u8; 16],
    /// From 0 on, one more for each.
    pub sequence: u64,
    /// When it was sent, by the sender's monotonic clock.
    pub sent_ns: u64,
}

impl DatagramHead {
    /// Writes it to the beginning of a datagram of at least [`DATAGRAM_HEAD_BYTES`].
    pub fn write(&self, datagram: &mut [u8]) {
        datagram[..16].copy_from_slice(&self.token);
        datagram[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        datagram[24..DATAGRAM_HEAD_BYTES].copy_from_slice(&self.sent_ns.to_le_bytes());
    }

    /// Reads it; `None` where the datagram is too short.
    pub fn read(datagram: &[u8]) -> Option<DatagramHead> {
        let (token, rest) = datagram.split_first_chunk::<16>()?;
        let (sequence, rest) = rest.split_first_chunk::<8>()?;
        let (sent_ns, _) = rest.split_first_chunk::<8>()?;
        let number = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        Some(DatagramHead { token: *token, sequence: number(sequence), sent_ns: number(sent_ns) })
    }
}

/// What a receiver counted. Sent datagrams are unique ones and lost ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct DatagramCounts {
    /// Datagrams that came, duplicates too.
    #[n(0)]
    pub received: u64,
    /// Sequence numbers that came.
    #[n(1)]
    pub unique: u64,
    /// Sequence numbers that were sent and did not come.
    #[n(2)]
    pub lost: u64,
    /// Datagrams whose sequence number had come before.
    #[n(3)]
    pub duplicates: u64,
    /// First arrivals with a sequence number below that of an earlier one (RFC 4737, singleton reordering by the next
    /// expected number).
    #[n(4)]
    pub reordered: u64,
    /// Bytes of the payloads of unique ones.
    #[n(5)]
    pub bytes: u64,
    /// From the first arrival to the last.
    #[n(6)]
    pub elapsed_ns: u64,
    /// Smoothed deviation of the transit time (RFC 3550, 6.4.1).
    #[n(7)]
    pub jitter_ns: u64,
    /// Times from one arrival to the next.
    #[n(8)]
    pub arrivals: TimeHistogram,
    /// How far losses lie apart.
    #[n(9)]
    pub gaps: LossGaps,
    /// Datagrams above the rate that was granted: neither counted nor sent back.
    #[n(10)]
    pub above_rate: u64,
    /// Datagrams without the token.
    #[n(11)]
    pub foreign: u64,
    /// How often the receiver woke and found datagrams.
    #[n(12)]
    pub wake_ups: u64,
    /// CPU time of the receiver's thread in user mode.
    #[n(13)]
    pub user_ns: u64,
    /// CPU time of the receiver's thread in the kernel.
    #[n(14)]
    pub system_ns: u64,
}

impl HasCounts for Box<DatagramCounts> {
    fn counts(&mut self) -> impl Iterator<Item = &mut u64> {
        let DatagramCounts {
            received,
            unique,
            lost,
            duplicates,
            reordered,
            bytes,
            elapsed_ns,
            jitter_ns,
            arrivals,
            gaps: LossGaps { gaps, mean_thousandths, variation_thousandths, longest },
            above_rate,
            foreign,
            wake_ups,
            user_ns,
            system_ns,
        } = &mut **self;
        let numbers = [received, unique, lost, duplicates, reordered, bytes, elapsed_ns, jitter_ns];
        let others = [above_rate, foreign, wake_ups, user_ns, system_ns];
        let of_gaps = [gaps, mean_thousandths, variation_thousandths, longest];
        numbers.into_iter().chain(others).chain(of_gaps).chain(arrivals.counts.iter_mut())
    }
}
