//! Hosts that are not there, and what is told of those that are.

use std::net::TcpListener;

use crate::support;
use crate::support::serving::Serving;
use crate::support::{Home, expect, make_folder, noise_file};

/// A port of this host at which nobody listens.
fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

#[test]
fn a_host_that_never_answered_is_not_tried_again() {
    let home = Home::new();
    noise_file(&home, "file", 10, 1);
    std::fs::write(home.path("ticket"), format!("pump1-{}\n", "0a".repeat(64))).expect("room");
    support::set_mode(&home.path("ticket"), 0o600);
    let closed = format!("pump://127.0.0.1:{}/x", closed_port());
    for place in [closed.as_str(), "pump://nosuch.invalid:7/x"] {
        for words in [[place, "new"], ["file", place]] {
            let run = home.pump(&[&["copy", "--ticket-file", "ticket"][..], &words].concat());
            expect(&run, 10, &[place], place);
            assert!(!run.err.contains("trying again"), "{run:?}");
        }
    }
}

#[test]
fn over_ssh_a_host_that_is_not_there_is_told_from_one_that_lets_nobody_in() {
    let home = Home::new();
    for (said, status) in [
        ("ssh: Could not resolve hostname host: Name or service not known", 10),
        ("ssh: connect to host host port 22: Connection refused", 10),
        ("user@host: Permission denied (publickey).", 5),
        ("Host key verification failed.", 5),
    ] {
        let script = format!("#!/bin/sh\necho '{said}' >&2\nexit 255\n");
        std::fs::write(home.path("ssh"), script).expect("room");
        let run = home.pump(&["copy", "--ssh", "sh ./ssh", "host:/x", "new"]);
        expect(&run, status, &[said, "host:/x"], said);
        assert!(!run.err.contains("trying again"), "{run:?}");
    }
}

#[test]
fn a_server_that_gives_nothing_is_no_source() {
    let home = Home::new();
    let mut serving = Serving::start(home.command(&["serve", "null:", "--ticket-file", "ticket"]));
    let at = serving.at("");
    for target in ["new", "null:"] {
        let run = home.pump(&["copy", "--ticket-file", "ticket", &at, target]);
        expect(&run, 5, &["null: without a size"], target);
        assert!(!home.path("new").exists());
    }
    let run = home.pump(&["copy", "--ticket-file", "ticket", "null:3MiB", &at]);
    expect(&run, 0, &["3.0 MiB"], "it takes everything");
    serving.kill();
}

#[test]
fn what_went_wrong_on_another_host_is_told_with_its_name() {
    let home = Home::new();
    make_folder(&home, "served");
    let serving = Serving::new(&home, &[]);
    noise_file(&home, "file", 10, 1);
    let host = format!("on pump://{}", serving.address);
    for (words, part) in [
        ([serving.at("nothing"), "new".into()], format!("open 'nothing' {host}: No such file")),
        (["file".into(), serving.at("no/folder/new")], format!("'no/folder/new' {host}: No such file")),
        (["nothing".into(), serving.at("new")], "open 'nothing': No such file".into()),
    ] {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = home.pump(&[&["copy", "--ticket-file", "ticket"], &words[..]].concat());
        expect(&run, 1, &[&part], &words.join(" "));
    }
}
