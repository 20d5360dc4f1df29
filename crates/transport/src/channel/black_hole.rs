//! A connection that was made and over which nothing large comes through: an MTU black hole, where a router drops what
//! is too large and its word for it (ICMP "fragmentation needed", RFC 2923) does not arrive.
//!
//! Must not know: who waits, what was said.

use super::SocketFacts;
use crate::fault::NetFault;

/// A handshake that was lost, with this reason where the kernel's counts show it.
pub(super) fn explained(fault: NetFault, facts: Option<&SocketFacts>) -> NetFault {
    match (fault, facts) {
        (NetFault::Lost(words), Some(facts)) if drops_large(facts) => {
            let bytes = facts.info.path_mtu_bytes;
            NetFault::Lost(format!(
                "{words}; the connection was made, but its first large segment did not come through: perhaps an MTU \
                 black hole (this side sends packets of up to {bytes} bytes); try net.ipv4.tcp_mtu_probing=1 on both \
                 hosts, or a smaller MTU"
            ))
        }
        (fault, _) => fault,
    }
}

/// What this side sent was sent again and never acknowledged; or something came behind what never did.
fn drops_large(facts: &SocketFacts) -> bool {
    let info = &facts.info;
    // The SYN counts as one byte.
    let is_unheard = info.acknowledged_bytes <= 1 && info.retransmitted_segments > 1;
    let has_hole = info.received_bytes == 0 && info.out_of_order_segments > 0;
    is_unheard || has_hole
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_engine::os::linux::TcpInfo;

    #[test]
    fn only_what_the_kernel_counted_is_named_a_black_hole() {
        let address = ([127, 0, 0, 1], 1).into();
        let words = |info| {
            let facts = SocketFacts { local: address, peer: address, congestion: None, info };
            explained(NetFault::Lost("too long".into()), Some(&facts)).words().to_owned()
        };
        let unheard = TcpInfo { acknowledged_bytes: 1, retransmitted_segments: 4, ..TcpInfo::default() };
        let hole = TcpInfo { out_of_order_segments: 1, acknowledged_bytes: 900, ..TcpInfo::default() };
        for (info, is_named) in [
            (unheard, true),
            (hole, true),
            (TcpInfo { acknowledged_bytes: 900, ..unheard }, false),
            (TcpInfo { received_bytes: 900, ..hole }, false),
            (TcpInfo::default(), false),
        ] {
            assert_eq!(words(info).contains("black hole"), is_named, "{info:?}");
        }
        assert_eq!(explained(NetFault::Stopped, None), NetFault::Stopped);
    }
}
