//! Frames of UDP on the wire: what they take there, and how close they can follow one another.
//!
//! Must not know: sockets.

/// Headers of UDP and IP (version 4).
const HEADERS_BYTES: u64 = 28;
/// The least that an Ethernet frame carries.
const PAYLOAD_MIN_BYTES: u64 = 46;
/// Header, checksum, preamble and the gap to the next frame (IEEE 802.3).
const ETHERNET_BYTES: u64 = 14 + 4 + 8 + 12;

/// Bytes that a datagram takes of the wire.
pub fn wire_bytes(payload_bytes: u64) -> u64 {
    (payload_bytes + HEADERS_BYTES).max(PAYLOAD_MIN_BYTES) + ETHERNET_BYTES
}

/// From the beginning of one frame to that of the next, at least.
pub fn spacing_min_s(payload_bytes: u64, link_bytes_per_s: f64) -> f64 {
    wire_bytes(payload_bytes) as f64 / link_bytes_per_s
}

/// What datagrams carry at this spacing; the link allows no closer one.
pub fn user_rate_bytes_per_s(payload_bytes: u64, link_bytes_per_s: f64, spacing_s: f64) -> f64 {
    payload_bytes as f64 / spacing_s.max(spacing_min_s(payload_bytes, link_bytes_per_s))
}
