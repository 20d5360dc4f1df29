//! A frame of a TUN device with the header of virtio_net before it: how many packets it holds, and a part of them as a
//! frame of its own.
//!
//! The kernel passes on up to 64 KiB of one TCP connection, or of datagrams of one size, as one frame (`struct
//! virtio_net_hdr` of include/uapi/linux/virtio_net.h), to be cut into packets of `gso_size` by whoever sends it. Where
//! one of them is lost, or where a frame takes too long of a slow link, it is cut here.
//!
//! Must not know: links, devices.

use std::ops::Range;

/// The header before each packet.
pub const HEADER_BYTES: usize = 10;

/// The checksum is a sum of the pseudo header so far (`VIRTIO_NET_HDR_F_NEEDS_CSUM`).
const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
/// Congestion notification may be in a frame of TCP.
const GSO_ECN: u8 = 0x80;

const TCP: u8 = 6;
const UDP: u8 = 17;
const FIN: u8 = 0x01;
const PUSH: u8 = 0x08;
const WINDOW_REDUCED: u8 = 0x80;

/// Where the parts of a frame that can be cut lie, counted from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FrameLayout {
    transport: usize,
    payload: usize,
    packet_bytes: usize,
    is_ip6: bool,
    is_udp: bool,
}

/// How many packets a frame holds, and what all but the last of them take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    pub count: u32,
    pub bytes: u64,
    pub last_bytes: u64,
}

impl Packets {
    /// What a part of them takes.
    pub fn bytes_of(&self, part: &Range<u32>) -> u64 {
        let whole = u64::from(part.end.min(self.count - 1).saturating_sub(part.start)) * self.bytes;
        whole + if part.end == self.count && part.start < part.end { self.last_bytes } else { 0 }
    }
}

/// The packets of a frame. One that is not known to be cut is one packet.
pub fn packets(frame: &[u8]) -> Packets {
    let one = || {
        let bytes = frame.len().saturating_sub(HEADER_BYTES) as u64;
        Packets { count: 1, bytes, last_bytes: bytes }
    };
    let Some(layout) = layout(frame) else { return one() };
    let headers = (layout.payload - HEADER_BYTES) as u64;
    let payload = frame.len() - layout.payload;
    let count = payload.div_ceil(layout.packet_bytes).max(1);
    let last = payload - (count - 1) * layout.packet_bytes;
    Packets {
        count: count as u32,
        bytes: headers + layout.packet_bytes as u64,
        last_bytes: headers + last as u64,
    }
}

fn layout(frame: &[u8]) -> Option<FrameLayout> {
    let header = frame.get(..HEADER_BYTES)?;
    let kind = header[1] & !GSO_ECN;
    if ![GSO_TCP4, GSO_TCP6, GSO_UDP].contains(&kind) || header[0] & NEEDS_CHECKSUM == 0 {
        return None;
    }
    let (is_udp, is_ip6) = (kind == GSO_UDP, frame.get(HEADER_BYTES)? >> 4 == 6);
    let packet_bytes = usize::from(u16::from_le_bytes([header[4], header[5]]));
    let transport = HEADER_BYTES + usize::from(u16::from_le_bytes([header[6], header[7]]));
    let transport_bytes = if is_udp { 8 } else { usize::from(frame.get(transport + 12)? >> 4) * 4 };
    let payload = transport + transport_bytes;
    let is_sound = packet_bytes > 0
        && (is_udp || transport_bytes >= 20)
        && payload <= frame.len()
        && transport >= HEADER_BYTES + if is_ip6 { 40 } else { 20 };
    is_sound.then_some(FrameLayout { transport, payload, packet_bytes, is_ip6, is_udp })
}

/// Some of a frame's packets, as a frame of their own, behind what `out` holds.
pub fn cut(frame: &[u8], part: &Range<u32>, out: &mut Vec<u8>) {
    let count = packets(frame).count;
    let Some(layout) = layout(frame).filter(|_| *part != (0..count)) else {
        out.extend_from_slice(frame);
        return;
    };
    let begin = out.len();
    let from = part.start as usize * layout.packet_bytes;
    let to = (part.end as usize * layout.packet_bytes).min(frame.len() - layout.payload);
    out.extend_from_slice(&frame[..layout.payload]);
    out.extend_from_slice(&frame[layout.payload + from..layout.payload + to]);
    let cut = &mut out[begin..];
    if part.len() == 1 {
        cut[1] = GSO_NONE;
        cut[4..6].fill(0);
    }
    set_network(cut, &layout, part.start as u16);
    if layout.is_udp {
        set_udp(cut, &layout);
    } else {
        set_tcp(cut, &layout, from as u32, part.start == 0, part.end == count);
    }
}

/// Length, number and checksum of the IP header.
fn set_network(cut: &mut [u8], layout: &FrameLayout, packets_before: u16) {
    let bytes = (cut.len() - HEADER_BYTES) as u16;
    let ip = &mut cut[HEADER_BYTES..layout.transport];
    if layout.is_ip6 {
        ip[4..6].copy_from_slice(&(bytes - 40).to_be_bytes());
        return;
    }
    ip[2..4].copy_from_slice(&bytes.to_be_bytes());
    let number = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(packets_before);
    ip[4..6].copy_from_slice(&number.to_be_bytes());
    ip[10..12].fill(0);
    let checksum = !folded(sum(ip));
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Sequence number, flags and the sum of the pseudo header.
fn set_tcp(cut: &mut [u8], layout: &FrameLayout, bytes_before: u32, is_first: bool, is_last: bool) {
    let pseudo = pseudo_sum(cut, layout, TCP);
    let tcp = &mut cut[layout.transport..];
    let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]).wrapping_add(bytes_before);
    tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
    if !is_last {
        tcp[13] &= !(FIN | PUSH);
    }
    if !is_first {
        tcp[13] &= !WINDOW_REDUCED;
    }
    tcp[16..18].copy_from_slice(&pseudo.to_be_bytes());
}

/// Length and the sum of the pseudo header.
fn set_udp(cut: &mut [u8], layout: &FrameLayout) {
    let pseudo = pseudo_sum(cut, layout, UDP);
    let bytes = (cut.len() - layout.transport) as u16;
    let udp = &mut cut[layout.transport..];
    udp[4..6].copy_from_slice(&bytes.to_be_bytes());
    udp[6..8].copy_from_slice(&pseudo.to_be_bytes());
}

fn pseudo_sum(cut: &[u8], layout: &FrameLayout, protocol: u8) -> u16 {
    let ip = &cut[HEADER_BYTES..layout.transport];
    let addresses = if layout.is_ip6 { &ip[8..40] } else { &ip[12..20] };
    folded(sum(addresses) + (cut.len() - layout.transport) as u32 + u32::from(protocol))
}

/// The sum of 16-bit words (RFC 1071).
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two.get(1).copied().unwrap_or(0))).sum()
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of TCP over IPv4 or IPv6 with so much payload, to be cut into packets of 1000 bytes of it.
    fn frame(is_ip6: bool, payload_bytes: usize) -> Vec<u8> {
        let ip_bytes: usize = if is_ip6 { 40 } else { 20 };
        let mut frame = vec![NEEDS_CHECKSUM, if is_ip6 { GSO_TCP6 } else { GSO_TCP4 }];
        for word in [ip_bytes as u16 + 20, 1000, ip_bytes as u16, 16] {
            frame.extend(word.to_le_bytes());
        }
        let mut ip = vec![0_u8; ip_bytes];
        if is_ip6 {
            ip[0] = 0x60;
            ip[4..6].copy_from_slice(&(20 + payload_bytes as u16).to_be_bytes());
            ip[6] = TCP;
            ip[8..40].copy_from_slice(&[7; 32]);
        } else {
            ip[0] = 0x45;
            ip[2..4].copy_from_slice(&(40 + payload_bytes as u16).to_be_bytes());
            ip[4..6].copy_from_slice(&[0xff, 0xff]);
            ip[9] = TCP;
            ip[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
            let checksum = !folded(sum(&ip));
            ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        frame.extend(ip);
        let mut tcp = [0_u8; 20];
        tcp[4..8].copy_from_slice(&(u32::MAX - 500).to_be_bytes());
        tcp[12] = 5 << 4;
        tcp[13] = FIN | PUSH | WINDOW_REDUCED | 0x10;
        frame.extend(tcp);
        frame.extend((0..payload_bytes).map(|at| at as u8));
        frame
    }

    fn part(frame: &[u8], part: Range<u32>) -> Vec<u8> {
        let mut out = vec![9];
        cut(frame, &part, &mut out);
        assert_eq!(out[0], 9, "what was there stays");
        out.split_off(1)
    }

    #[test]
    fn packets_are_counted_with_their_headers() {
        let it = packets(&frame(false, 2500));
        assert_eq!(it, Packets { count: 3, bytes: 1040, last_bytes: 540 });
        assert_eq!([0..1, 0..2, 2..3, 0..3, 1..1].map(|part| it.bytes_of(&part)), [1040, 2080, 540, 2620, 0]);
        assert_eq!(packets(&frame(true, 1000)), Packets { count: 1, bytes: 1060, last_bytes: 1060 });
        assert_eq!(packets(&[0; 94]), Packets { count: 1, bytes: 84, last_bytes: 84 });
        assert_eq!(packets(&[]).count, 1);
    }

    #[test]
    fn all_parts_put_together_are_the_payload() {
        for is_ip6 in [false, true] {
            let whole = frame(is_ip6, 3300);
            let headers = HEADER_BYTES + if is_ip6 { 60 } else { 40 };
            for at in 1..4 {
                let [one, other] = [0..at, at..4].map(|it| part(&whole, it));
                assert_eq!([&one[headers..], &other[headers..]].concat(), whole[headers..]);
                let tcp = headers - 20;
                let sequence = u32::from_be_bytes(other[tcp + 4..tcp + 8].try_into().expect("four bytes"));
                assert_eq!(sequence, (u32::MAX - 500).wrapping_add(at * 1000));
                assert_eq!(one[tcp + 13] & (FIN | PUSH | WINDOW_REDUCED), WINDOW_REDUCED);
                assert_eq!(other[tcp + 13] & (FIN | PUSH | WINDOW_REDUCED), FIN | PUSH);
            }
        }
    }

    #[test]
    fn a_single_packet_is_not_to_be_cut_again_and_its_headers_are_sound() {
        let it = part(&frame(false, 3300), 1..2);
        assert_eq!((it[1], packets(&it).count, it.len()), (GSO_NONE, 1, HEADER_BYTES + 1040));
        let ip = &it[HEADER_BYTES..HEADER_BYTES + 20];
        assert_eq!((folded(sum(ip)), &ip[2..6]), (0xffff, &[4, 16, 0, 0][..]));
        let pseudo = folded(sum(&ip[12..20]) + 1020 + u32::from(TCP));
        assert_eq!(it[HEADER_BYTES + 36..HEADER_BYTES + 38], pseudo.to_be_bytes());
        let it = part(&frame(true, 3300), 3..4);
        assert_eq!(it[HEADER_BYTES + 4..HEADER_BYTES + 6], 320_u16.to_be_bytes());
    }

    #[test]
    fn datagrams_of_one_frame_are_cut_with_their_lengths() {
        // The first eight bytes of what was TCP are the header, the rest is payload.
        let mut udp = frame(false, 2988);
        udp[1] = GSO_UDP;
        assert_eq!(packets(&udp), Packets { count: 3, bytes: 1028, last_bytes: 1028 });
        let it = part(&udp, 1..3);
        let header = &it[HEADER_BYTES + 20..HEADER_BYTES + 28];
        assert_eq!((it[1], packets(&it).count, &header[4..6]), (GSO_UDP, 2, &2008_u16.to_be_bytes()[..]));
        let pseudo = folded(sum(&it[HEADER_BYTES + 12..HEADER_BYTES + 20]) + 2008 + u32::from(UDP));
        assert_eq!(header[6..8], pseudo.to_be_bytes());
        assert_eq!(it[HEADER_BYTES + 28..], udp[HEADER_BYTES + 28 + 1000..]);
    }

    #[test]
    fn what_is_not_to_be_cut_stays_whole() {
        let mut other = frame(false, 3300);
        other[1] = 3;
        assert_eq!((packets(&other).count, part(&other, 0..1)), (1, other.clone()));
        let whole = frame(false, 3300);
        assert_eq!(part(&whole, 0..4), whole);
        for cut_at in 0..60 {
            assert_eq!(packets(&whole[..cut_at]).count, 1, "{cut_at}");
        }
    }
}
