//! `pump doctor` of another host: the path and both hosts are looked at, each finding has its side. Also of a host that
//! refuses, is not there, is older, goes away or means harm.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;

use datapump_core::wire::frame::{Head, Messages, framed};
use datapump_core::wire::hello::{Greeting, Purpose, Reply};
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_core::wire::session::{HostSettings, LinkFacts, Message, ShortText};
use datapump_core::wire::{VERSION, decode, encode};
use serde_json::Value;

use crate::support::programs::script;
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, PUMP, expect, make_folder, outcome, schema, set_mode};

/// Findings about either host on any machine.
const OF_A_HOST: [&str; 8] = [
    "pump",
    "kernel",
    "congestion",
    "idle restart",
    "MTU probing",
    "device",
    "receive buffer",
    "send buffer",
];

fn doctor(home: &Home, words: &[&str]) -> Outcome {
    home.pump(&[&["doctor", "--json"], words].concat())
}

/// The findings of a side, by their names.
fn of_side<'out>(events: &'out [Value], side: &str) -> Vec<&'out Value> {
    events.iter().filter(|event| event["event"] == "finding" && event["side"] == side).collect()
}

fn finding<'out>(events: &'out [Value], side: &str, name: &str) -> &'out Value {
    let found = of_side(events, side);
    let named = found.iter().find(|finding| finding["name"] == name);
    named.unwrap_or_else(|| panic!("no {name} of {side}: {found:?}"))
}

#[test]
fn the_path_and_both_hosts_are_looked_at() {
    for words in [&[][..], &["--read-only"], &["--write-only"]] {
        let home = Home::new();
        make_folder(&home, "served");
        let serving = Serving::new(&home, words);
        let run = doctor(&home, &["--ticket-file", "ticket", &serving.at("")]);
        expect(&run, 0, &["64 MiB of null data"], "said before");
        let events = schema::checked(&run.out);
        for name in OF_A_HOST {
            finding(&events, "local", name);
            assert_eq!(finding(&events, "remote", name)["host"], serving.address.as_str(), "{name}");
        }
        for name in ["route", "round trip", "loss", "rate", "segments", "copy"] {
            assert!(finding(&events, "path", name)["host"].is_null(), "{name}");
        }
        let loss = finding(&events, "path", "loss")["value"].as_str().expect("text");
        assert!(loss.contains("segments from") && !loss.contains("of 0 segments"), "{loss}");
        let rate = finding(&events, "path", "rate")["value"].as_str().expect("text");
        assert!(rate.contains("64.0 MiB"), "{rate}");
        let copy = finding(&events, "path", "copy")["value"].as_str().expect("text");
        assert!(copy.starts_with("2 connections with 4 requests of 1.0 MiB"), "{copy}");
        assert_eq!(events.last().expect("a report")["exit_status"], 0);
        assert!(std::fs::read_dir(home.path("served")).expect("it is there").next().is_none());
    }
}

#[test]
fn people_see_which_side_a_finding_is_of() {
    let home = Home::new();
    make_folder(&home, "served");
    let serving = Serving::new(&home, &["--once"]);
    let run = home.pump(&["doctor", "--ticket-file", "ticket", &serving.at("some/folder")]);
    expect(&run, 0, &["not the folder there"], "a path");
    let headings: Vec<&str> = run.out.lines().filter(|line| line.ends_with(':')).collect();
    assert_eq!(headings.len(), 3, "{run:?}");
    assert!(headings[0] == "The path:" && headings[2].contains(&serving.address), "{headings:?}");
}

#[test]
fn a_host_that_is_not_there_or_refuses_leaves_the_local_half() {
    let home = Home::new();
    make_folder(&home, "served");
    let serving = Serving::new(&home, &[]);
    std::fs::write(home.path("other"), format!("pump1-{}\n", "0a".repeat(64))).expect("room");
    set_mode(&home.path("other"), 0o600);
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    let closed = format!("pump://{closed}/");
    for (place, status, class) in [
        (serving.at("").as_str(), 5, "refused"),
        (closed.as_str(), 10, "lost"),
        ("pump://nosuch.invalid:7/", 10, "lost"),
    ] {
        let run = doctor(&home, &["--ticket-file", "other", place]);
        expect(&run, status, &["64 MiB"], place);
        let events = schema::checked(&run.out);
        for name in ["kernel", "congestion", "engine inline"] {
            finding(&events, "local", name);
        }
        assert!(of_side(&events, "remote").is_empty() && of_side(&events, "path").is_empty(), "{run:?}");
        let report = events.last().expect("a report");
        assert_eq!(
            (&report["exit_status"], &report["problems"][class]),
            (&status.into(), &1.into()),
            "{place}"
        );
        let text = home.pump(&["doctor", "--ticket-file", "other", place]);
        assert!(text.err.contains(place.trim_end_matches('/')), "{text:?}");
    }
}

#[test]
fn what_is_no_place_and_a_missing_ticket_are_usage_errors_before_anything_is_sent() {
    let home = Home::new();
    for (words, part) in [
        (&["pump://host/"][..], "has no port"),
        (&["null:"], "neither a folder nor another host"),
        (&["-"], "neither a folder nor another host"),
        (&["http://host/x"], "neither a folder nor another host"),
        (&["--ticket-file", "nothing", "pump://127.0.0.1:7/"], "nothing"),
        (&["--insecure", "host:"], "--insecure"),
        (&["--ssh", "'", "host:"], "quote"),
    ] {
        let run = doctor(&home, words);
        expect(&run, 2, &[part], part);
        assert_eq!(schema::checked(&run.out).last().expect("a report")["exit_status"], 2, "{part}");
    }
    let mut nobody = home.command(&["doctor", "pump://127.0.0.1:7/"]);
    nobody.env_remove("PUMP_TICKET").env_remove("PUMP_TICKET_FILE");
    assert_eq!(outcome(nobody, b"").status, 2, "no ticket");
}

#[test]
fn over_ssh_both_ways_of_connections_are_looked_at() {
    for (row, connection) in [("direct", Some("127.0.0.1 1 127.0.0.1 22")), ("through ssh", None)] {
        let home = Home::new();
        script(home.path("rsh"), "shift; exec sh -c \"$*\"");
        let words = ["doctor", "--json", "--ssh=./rsh", "--remote-bin", PUMP, "user@host:"];
        let mut command: Command = home.command(&words);
        command.env_remove("SSH_CONNECTION");
        if let Some(connection) = connection {
            command.env("SSH_CONNECTION", connection);
        }
        let run = outcome(command, b"");
        expect(&run, 0, &[], row);
        let events = schema::checked(&run.out);
        assert_eq!(finding(&events, "remote", "kernel")["host"], "user@host", "{row}");
        assert_eq!(finding(&events, "path", "route")["good"], connection.is_some(), "{row}: {run:?}");
        finding(&events, "path", "rate");
    }
}

/// What a peer of ours does when it is asked for blocks.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Peer {
    /// It goes away.
    Gone,
    /// It sends what is no block.
    Garbage,
    /// It opens another thing than null.
    Refuses,
    /// It does what a server does.
    Serves,
}

/// A server of ours without encryption, until the test ends.
pub(crate) fn serve(host: Option<HostSettings>, peer: Peer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has one");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let host = host.clone();
            std::thread::spawn(move || converse(stream, host, peer));
        }
    });
    address
}

/// The bodies of the frames that come.
struct Heard(TcpStream, Messages);

impl Heard {
    fn next(&mut self) -> Option<(u64, Vec<u8>)> {
        let mut bytes = [0; 4096];
        loop {
            if let Some(message) = self.1.poll_message().ok()? {
                return Some(message);
            }
            match self.0.read(&mut bytes) {
                Ok(len @ 1..) => self.1.handle_bytes(&bytes[..len]),
                _ => return None,
            }
        }
    }

    fn say(&mut self, body: &[u8], number: u64) -> Option<()> {
        self.0.write_all(&framed(body, number).ok()?).ok()
    }
}

fn converse(stream: TcpStream, host: Option<HostSettings>, peer: Peer) -> Option<()> {
    let mut heard = Heard(stream, Messages::default());
    let greeting: Greeting = decode(&heard.next()?.1).ok()?;
    let is_control = greeting.purpose == Purpose::Control;
    let session = is_control.then_some(greeting.early).flatten();
    let welcome =
        Reply::Welcome { version: VERSION, session, connections_max: Some(2), program: None, boot: None };
    heard.say(&encode(&welcome), 0)?;
    if is_control {
        heard.next()?;
        let (receives, reads_on, sends_ahead) = (None, None, None);
        heard.say(
            &encode(&Message::Begun {
                receives,
                reads_on,
                sends_ahead,
                host: host.map(Box::new),
                datagrams: None,
                places: None,
                has_links: None,
                holds_events: None,
            }),
            0,
        )?;
        while let Some((_, body)) = heard.next() {
            if matches!(decode(&body), Ok(Message::Report(_))) {
                return (peer != Peer::Gone)
                    .then(|| heard.say(&encode(&Message::Agreed(Box::default())), 0))?;
            }
        }
        return None;
    }
    while let Some((number, body)) = heard.next() {
        match (greeting.purpose, peer) {
            (Purpose::Blocks, Peer::Serves) => {
                let PeerRequest::Read { len, .. } = decode(&body).ok()? else { return None };
                let block = vec![0; len as usize];
                heard
                    .0
                    .write_all(&[&Head::block(len, number).encode()[..], &[0; 32], &block].concat())
                    .ok()?;
            }
            (Purpose::Names, Peer::Refuses) => heard.say(&encode(&Answer::Done), number)?,
            (Purpose::Names, _) => heard.say(&encode(&Answer::Stream { bytes: None }), number)?,
            (_, Peer::Garbage) => heard.0.write_all(&[0xff; 4096]).ok()?,
            _ => return None,
        }
    }
    Some(())
}

#[test]
fn words_of_a_stranger_move_no_cursor_and_are_no_command() {
    let text = |words: &str| Some(ShortText::shortened(words));
    let link = LinkFacts { name: text("x; touch HARM"), tso: Some(false), ..LinkFacts::default() };
    let host = HostSettings {
        kernel: text("6\x1b[2J\nok      all is good"),
        congestion: text("\u{202e}bbr"),
        receive_buffer: Some([u64::MAX; 3]),
        send_buffer: Some([u64::MAX, 0, 0]),
        cpus: Some(u32::MAX),
        mtu_probing: Some(255),
        link: Some(link),
        ..HostSettings::default()
    };
    let home = Home::new();
    let place = format!("pump://{}/", serve(Some(host), Peer::Serves));
    let run = home.pump(&["doctor", "--insecure", &place]);
    expect(&run, 0, &[], "it ends well");
    assert!(
        !run.out.contains(['\x1b', '\u{202e}'])
            && !run.out.lines().any(|line| line.starts_with("ok      all"))
    );
    assert!(run.out.contains("6\\u{1b}[2J\\nok"), "{run:?}");
    assert!(!run.out.lines().any(|line| line.contains("how:") && line.contains("HARM")), "{run:?}");
    schema::checked(&doctor(&home, &["--insecure", &place]).out);
}

#[test]
fn a_peer_that_is_older_goes_away_or_talks_nonsense_leaves_what_was_found() {
    let home = Home::new();
    let settings = HostSettings { kernel: Some(ShortText::shortened("9.9")), ..HostSettings::default() };
    for (row, host, peer, status) in [
        ("older", None, Peer::Serves, 0),
        ("gone", Some(settings.clone()), Peer::Gone, 10),
        ("nonsense", Some(settings.clone()), Peer::Garbage, 10),
        ("another thing", Some(settings), Peer::Refuses, 10),
    ] {
        let is_older = host.is_none();
        let place = format!("pump://{}/", serve(host, peer));
        let run = doctor(&home, &["--insecure", &place]);
        expect(&run, status, &[], row);
        let events = schema::checked(&run.out);
        assert_eq!(events.last().expect("a report")["exit_status"], status, "{row}");
        finding(&events, "local", "kernel");
        finding(&events, "path", "round trip");
        if is_older {
            assert!(
                finding(&events, "remote", "settings")["value"]
                    .as_str()
                    .is_some_and(|it| it.contains("older"))
            );
        } else {
            assert_eq!(finding(&events, "remote", "kernel")["value"], "9.9", "{row}");
        }
    }
}
