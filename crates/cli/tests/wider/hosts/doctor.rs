//! `pump doctor` of another host over paths of a box, over a cable that swallows large packets or everything, and over
//! a real sshd: what is wrong is named with its side and the command.

use std::path::Path;

use serde_json::Value;

use crate::paths::box_path::{BoxPath, RIGHT};
use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, PUMP, expect, make_folder, outcome, schema};
use crate::wider_parts::network::{Cut, INTERFACE, Network, Side};
use crate::wider_parts::sshd::Sshd;

const DOCTOR: [&str; 4] = ["doctor", "--json", "--ticket-file", "ticket"];

fn finding<'out>(events: &'out [Value], side: &str, name: &str) -> &'out Value {
    let is_it = |event: &&Value| event["side"] == side && event["name"] == name;
    events.iter().find(is_it).unwrap_or_else(|| panic!("no {name} of {side}: {events:?}"))
}

fn text<'out>(finding: &'out Value, field: &str) -> &'out str {
    finding[field].as_str().unwrap_or_default()
}

/// Looks from the left end of a path at a server on the right one. Each end has these settings of its own.
fn over(path: &BoxPath, settings: [&[(&str, &str)]; 2]) -> (Outcome, Vec<Value>) {
    let home = Home::new();
    make_folder(&home, "served");
    for (side, settings) in settings.into_iter().enumerate() {
        path.inside(side, || {
            for (name, value) in settings {
                std::fs::write(Path::new("/proc/sys/net/ipv4").join(name), value).expect("a setting");
            }
        });
    }
    let serve = ["serve", "served", "--ticket-file", "ticket", "--listen", &format!("{RIGHT}:0")];
    let server = path.inside(1, || Serving::start(home.command(&serve)));
    let at = server.at("");
    let run = path.inside(0, || home.pump(&[&DOCTOR[..], &[&at]].concat()));
    let events = schema::checked(&run.out);
    (run, events)
}

#[test]
fn the_side_whose_buffer_is_too_small_is_named_with_the_command() {
    let large = &[("tcp_rmem", "4096 131072 33554432"), ("tcp_wmem", "4096 16384 33554432")][..];
    for (row, settings, side, name, command) in [
        (
            "remote",
            [large, &[("tcp_rmem", "4096 131072 262144")]],
            "remote",
            "receive buffer",
            "tcp_rmem='4096 131072 ",
        ),
        (
            "local",
            [&[("tcp_wmem", "4096 16384 262144")], large],
            "local",
            "send buffer",
            "tcp_wmem='4096 16384 ",
        ),
    ] {
        let Some(path) = BoxPath::lay(&format!("doctor-{row}"), &["--rtt", "20ms"]) else { return };
        let (run, events) = over(&path, settings);
        expect(&run, 0, &[], row);
        let found = finding(&events, side, name);
        assert_eq!(found["good"], false, "{row}: {found}");
        assert!(text(found, "command").starts_with(&format!("sudo sysctl -w net.ipv4.{command}")), "{found}");
        assert!(text(found, "value").contains("does not hold 1 Gbit/s"), "{found}");
        // 2 connections with half of 256 KiB each, a round trip of at least 20 ms.
        assert!(text(found, "advice").contains("Mbit/s"), "{found}");
        let other = finding(&events, if side == "remote" { "local" } else { "remote" }, name);
        assert_eq!(other["good"], true, "{row}: {other}");
        let round_trip = text(finding(&events, "path", "round trip"), "value");
        assert!(round_trip.starts_with("smallest 2"), "{row}: {round_trip}");
        assert!(text(finding(&events, "path", "copy"), "value").contains("up to 14 requests"), "{row}");
        assert_eq!(finding(&events, "remote", "idle restart")["good"], false, "a long path");
        path.end();
    }
}

#[test]
fn segments_that_were_lost_are_counted_by_the_host_that_sent_them() {
    let Some(path) = BoxPath::lay("doctor-loss", &["--rtt", "20ms", "--loss", "1/200"]) else { return };
    let (run, events) = over(&path, [&[], &[("tcp_congestion_control", "reno")]]);
    expect(&run, 0, &[], "losses");
    let loss = finding(&events, "path", "loss");
    assert!(
        text(loss, "value").contains("were sent again") && !text(loss, "value").starts_with("0 of"),
        "{loss}"
    );
    assert!(text(finding(&events, "remote", "congestion"), "value").starts_with("reno (available: "));
    path.end();
}

/// A cable whose client side takes packets of up to 4000 bytes, and says that it takes larger ones.
fn swallow_large(network: &Network, home: &Home) {
    let ip = |side, words: &[&str]| {
        let run = network.command(side, home, &[&["ip"], words].concat()).output().expect("ip runs");
        assert!(run.status.success(), "{words:?}: {run:?}");
    };
    // Packets that are cut later would pass as one.
    ip(Side::Server, &["link", "set", INTERFACE, "mtu", "9000", "gso_max_segs", "1"]);
    ip(Side::Client, &["link", "set", INTERFACE, "mtu", "4000"]);
    ip(Side::Client, &["route", "replace", "10.77.0.0/24", "dev", INTERFACE, "advmss", "8960"]);
}

#[test]
fn a_path_that_swallows_large_packets_is_named_a_black_hole() {
    let Some(network) = Network::new() else { return };
    let home = Home::new();
    make_folder(&home, "served");
    swallow_large(&network, &home);
    let server = network.serve(&home, &[]);
    let at = server.at("");
    let run = outcome(network.pump(Side::Client, &home, &[&DOCTOR[..], &[&at]].concat()), b"");
    expect(&run, 0, &[], "a black hole");
    let events = schema::checked(&run.out);
    let segments = finding(&events, "path", "segments");
    assert!(text(segments, "value").contains("MTU black hole") && segments["good"] == false, "{segments}");
    for side in ["local", "remote"] {
        let probing = finding(&events, side, "MTU probing");
        assert!(text(probing, "command").contains("tcp_mtu_probing=1"), "{side}: {probing}");
    }
}

/// No block of 64 KiB comes in time, and parts of one do.
#[test]
fn a_slow_path_is_no_black_hole() {
    let Some(path) = BoxPath::lay("doctor-slow", &["--rate", "100kbit", "--rtt", "20ms"]) else { return };
    let (run, events) = over(&path, [&[], &[]]);
    // A small answer may stand behind the blocks for longer than is waited for it.
    assert!([0, 10].contains(&run.status), "{run:?}");
    assert_eq!(finding(&events, "path", "segments")["good"], true, "{events:?}");
    let rate = finding(&events, "path", "rate");
    assert!(text(rate, "value").contains("no block of 64 KiB came in time"), "{rate}");
    path.end();
}

#[test]
fn a_peer_that_disappears_in_the_middle_ends_it_with_what_was_found() {
    for row in ["killed", "silent"] {
        let Some(network) = Network::new() else { return };
        let home = Home::new();
        make_folder(&home, "served");
        // The transfer takes its second.
        let mut server = network.serve(&home, &["--bwlimit", "1MB"]);
        let at = server.at("");
        let port = server.address.rsplit(':').next().expect("a port").parse().expect("a number");
        let running = Running::start(network.pump(Side::Client, &home, &[&DOCTOR[..], &[&at]].concat()));
        eventually("it connects", || network.connections(&home, port).len() > 2);
        match row {
            "killed" => server.kill(),
            _ => network.cut(Cut::Silent),
        }
        let run = running.end();
        expect(&run, 10, &[&server.address], row);
        let events = schema::checked(&run.out);
        finding(&events, "local", "kernel");
        assert_eq!(events.last().expect("a report")["exit_status"], 10, "{row}");
    }
}

#[test]
fn over_a_real_sshd_both_ways_of_connections_are_looked_at() {
    const UNREACHABLE: &str = "env -u SSH_CONNECTION sh -c \"$SSH_ORIGINAL_COMMAND\"";
    for (row, forced) in [("direct", None), ("through ssh", Some(UNREACHABLE))] {
        let home = Home::new();
        let _sshd = Sshd::new(&home, forced);
        let words = ["doctor", "--json", "--ssh", &Sshd::ssh(&home, ""), "--remote-bin", PUMP, "loop:"];
        let run = home.pump(&words);
        expect(&run, 0, &[], row);
        let events = schema::checked(&run.out);
        assert_eq!(finding(&events, "path", "route")["good"], forced.is_none(), "{row}");
        assert_eq!(finding(&events, "remote", "congestion")["host"], "loop", "{row}");
        finding(&events, "path", "rate");
    }
    // Nobody is there, and nobody is let in.
    let home = Home::new();
    let _sshd = Sshd::new(&home, None);
    for (more, host, status) in [("", "stranger:", 5), ("-p 1", "loop:", 10)] {
        let words = ["doctor", "--json", "--ssh", &Sshd::ssh(&home, more), "--remote-bin", PUMP, host];
        let run = home.pump(&words);
        assert_eq!(run.status, status, "{run:?}");
        finding(&schema::checked(&run.out), "local", "kernel");
    }
}
