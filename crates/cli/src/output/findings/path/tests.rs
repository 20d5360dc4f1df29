//! Findings about paths that were never laid.

use datapump::{PathFacts, Probed, ShortText, SocketFacts};

use super::*;

fn here() -> Inspection {
    Inspection { host: "here".into(), ..Inspection::default() }
}

fn socket(min_rtt_us: u32) -> SocketFacts {
    let info = datapump_engine::os::linux::TcpInfo { min_rtt_us, path_mtu_bytes: 1500, ..Default::default() };
    let address = ([10, 0, 0, 1], 1).into();
    SocketFacts { local: address, peer: address, congestion: None, info }
}

/// A path of 20 ms over which a sender lost so many of 40,000 segments; under load a round trip took so long.
fn path(lost: u64, rtt_us: u64) -> PathFacts {
    let sender = TcpStats {
        retransmitted_segments: lost,
        sent_segments: 40_000,
        rtt_us,
        min_rtt_us: 20_000,
        ..TcpStats::default()
    };
    let probed = Probed { bytes: 64 << 20, bytes_per_second: 1e8, ..Probed::default() };
    PathFacts {
        has_answered: true,
        remote: Some(HostSettings {
            congestion: Some(ShortText::shortened("cubic")),
            ..HostSettings::default()
        }),
        first: Some(socket(20_100)),
        sender: Some(sender),
        probed: Some(probed),
        ..PathFacts::default()
    }
}

fn one(facts: &PathFacts, name: &str, side: FindingSide) -> Finding {
    let found = path_findings(facts, &here(), "there");
    let is_it = |finding: &&Finding| finding.name == name && finding.side == side;
    found.iter().find(is_it).unwrap_or_else(|| panic!("no {name}: {found:?}")).clone()
}

#[test]
fn losses_without_a_queue_are_the_paths_and_the_sender_should_change() {
    for (lost, rtt_us, is_good) in
        [(0, 21_000, true), (1, 21_000, true), (40, 21_000, false), (40, 60_000, true)]
    {
        let facts = path(lost, rtt_us);
        assert_eq!(one(&facts, "loss", FindingSide::Path).good, is_good, "{lost} {rtt_us}");
        assert_eq!(one(&facts, "congestion", FindingSide::Remote).good, is_good, "{lost} {rtt_us}");
    }
    let few = path(40, 21_000);
    let loss = one(&few, "loss", FindingSide::Path);
    assert!(loss.value.contains("40 of 40000") && loss.value.contains("0.100 %"), "{loss:?}");
}

#[test]
fn the_round_trip_is_that_of_this_kernel_and_no_setting_follows_from_another_word() {
    let words = |facts: &PathFacts| one(facts, "round trip", FindingSide::Path).value;
    let settings = HostSettings { receive_buffer: Some([4096, 131_072, 1 << 20]), ..HostSettings::default() };
    let facts = PathFacts { local: settings, ..path(0, 21_000) };
    let says = |min_rtt_us| facts.sender.map(|sender| TcpStats { min_rtt_us, ..sender });
    for of_sender in [0, 1, 20_000, 1 << 58] {
        let facts = PathFacts { sender: says(of_sender), ..facts.clone() };
        assert!(words(&facts).starts_with("smallest 20 ms"), "{facts:?}");
        assert!(!one(&facts, "receive buffer", FindingSide::Local).good, "{facts:?}");
    }
    let over_ssh = PathFacts { first: None, sender: None, session_round_trip_ns: Some(7_000_000), ..facts };
    assert!(words(&over_ssh).starts_with("about 7.0 ms"));
    for of_sender in [20_000, 1 << 58, u64::MAX] {
        let told = PathFacts {
            sender: Some(TcpStats { min_rtt_us: of_sender, ..TcpStats::default() }),
            ..over_ssh.clone()
        };
        let buffer = one(&told, "receive buffer", FindingSide::Local);
        assert!(buffer.good && buffer.value.contains("did not measure"), "{buffer:?}");
    }
    let route = one(&over_ssh, "route", FindingSide::Path);
    assert!(!route.good && route.value.contains("through ssh to there"), "{route:?}");
}

#[test]
fn a_black_hole_is_named_with_what_to_set_on_both_hosts() {
    let probed = Probed { is_black_hole: true, sockets: vec![socket(20_000)], ..Probed::default() };
    let settings = HostSettings { mtu_probing: Some(0), ..HostSettings::default() };
    let (local, remote) = (settings.clone(), Some(settings));
    let facts = PathFacts { probed: Some(probed), sender: None, local, remote, ..path(0, 0) };
    let segments = one(&facts, "segments", FindingSide::Path);
    assert!(!segments.good && segments.value.contains("MTU black hole"), "{segments:?}");
    for side in [FindingSide::Local, FindingSide::Remote] {
        assert!(!one(&facts, "MTU probing", side).good, "{side:?}");
    }
}

#[test]
fn a_host_that_does_not_tell_leaves_the_local_half() {
    let older = PathFacts { remote: None, ..path(0, 21_000) };
    let settings = one(&older, "settings", FindingSide::Remote);
    assert!(settings.value.contains("older") && settings.host.as_deref() == Some("there"), "{settings:?}");
    let unreached = PathFacts { has_answered: false, remote: None, ..path(0, 21_000) };
    let found = path_findings(&unreached, &here(), "there");
    assert!(found.iter().all(|finding| finding.side == FindingSide::Local), "{found:?}");
}
