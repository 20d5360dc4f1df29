//! What a server says of itself, and its own files in the folder that it serves: the ticket and its log are neither given
//! nor replaced nor removed, and the ticket of a client is never written.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use crate::support::serving::Serving;
use crate::support::{Home, PUMP, after, expect, has_content, make_folder, noise_file, only, outcome};

#[test]
fn the_ticket_and_the_log_of_a_server_are_neither_given_nor_mirrored_away() {
    let home = Home::new();
    ["served", "served/sub", "from", "other"].iter().for_each(|name| make_folder(&home, name));
    let content = noise_file(&home, "served/file", 1000, 1);
    noise_file(&home, "from/new", 1000, 2);
    noise_file(&home, "other/ticket", 1000, 3);
    let words = ["serve", "served", "--ticket-file", "served/ticket", "--listen", "127.0.0.1:0"];
    let serving = Serving::start(after(&home, "exec 2>>served/sub/log", &words));
    let ticket = std::fs::read(home.path("served/ticket")).expect("it was written");
    let pump = |words: &[&str]| home.pump(&[words, &["--ticket-file", "served/ticket"]].concat());

    expect(&pump(&["copy", &serving.at(""), "got"]), 0, &[], "a copy of all");
    has_content(&home.path("got/file"), &content, "a copy of all");
    for name in ["got/ticket", "got/sub/log"] {
        assert!(!home.path(name).exists(), "{name} was given");
    }
    for name in ["ticket", "sub/log"] {
        let run = pump(&["copy", &serving.at(name), "stolen"]);
        expect(&run, 1, &[name, "not permitted"], name);
        only(&home, &["from", "got", "other", "served"], name);
    }
    expect(&pump(&["mirror", "from/", &serving.at("")]), 0, &["1 deleted"], "a mirror");
    let names = ["new", "sub", "sub/log", "ticket"];
    assert!(names.iter().all(|name| home.path("served").join(name).exists()), "the server's own stay");
    assert!(!home.path("served/file").exists(), "others go");
    for words in [&["copy"][..], &["copy", "--inplace"], &["copy", "--backup"], &["copy", "-u"]] {
        let run = pump(&[words, &["other/ticket", &serving.at("ticket")]].concat());
        expect(&run, 1, &["not permitted"], &format!("{words:?}"));
    }
    assert_eq!(std::fs::read(home.path("served/ticket")).expect("it is there"), ticket);
}

/// What a server withholds is not missing there: the copies that a client has of it stay, and a line names each.
#[test]
fn what_a_server_withholds_stays_in_mirrors_of_what_it_serves() {
    let home = Home::new();
    ["served", "served/sub", "mirror", "mirror/sub"].iter().for_each(|name| make_folder(&home, name));
    let content = noise_file(&home, "mirror/sub/log", 1000, 1);
    noise_file(&home, "served/file", 1000, 2);
    noise_file(&home, "mirror/old", 1000, 3);
    let words = ["serve", "served", "--ticket-file", "served/ticket", "--listen", "127.0.0.1:0"];
    let serving = Serving::start(after(&home, "exec 2>>served/sub/log", &words));
    let pump = |words: &[&str]| home.pump(&[words, &["--ticket-file", "served/ticket"]].concat());
    let withheld = ["log' is withheld by its server", "ticket' is withheld by its server"];

    for flag in ["--delete-excluded", "--checksum"] {
        expect(&pump(&["mirror", flag, &serving.at(""), "mirror"]), 0, &withheld, flag);
        has_content(&home.path("mirror/sub/log"), &content, flag);
        assert!(!home.path("mirror/old").exists() && home.path("mirror/file").exists(), "{flag}");
    }
    for (one, other) in [(&*serving.at(""), "mirror/"), ("mirror/", &*serving.at(""))] {
        expect(&pump(&["verify", one, other]), 0, &withheld, one);
    }
    let run = pump(&["mirror", "--exclude=log", "--exclude=ticket", &serving.at(""), "mirror"]);
    expect(&run, 0, &[], "excluded");
    assert!(!run.err.contains("withheld"), "{run:?}");
    // A source that holds nothing else counts as empty.
    let run = pump(&["mirror", &serving.at("sub/"), "mirror"]);
    expect(&run, 1, &["--max-delete"], "nothing else");
}

#[test]
fn the_ticket_of_a_client_is_never_written_by_a_server() {
    let home = Home::new();
    make_folder(&home, "served");
    let content = noise_file(&home, "mine", 80, 1);
    let mut command = home.command(&["serve", "served", "--listen", "127.0.0.1:0"]);
    let serving = Serving::start({
        command.env("PUMP_TICKET_FILE", home.path("mine"));
        command
    });
    has_content(&home.path("mine"), &content, &serving.address);
}

#[test]
fn a_server_that_only_this_host_reaches_says_so() {
    let home = Home::new();
    make_folder(&home, "served");
    for (listen, is_told) in [("127.0.0.1:0", true), ("127.0.1.1:0", true), ("0.0.0.0:0", false)] {
        let words = ["serve", "served", "--ticket-file", "ticket", "--listen", listen];
        drop(Serving::start(after(&home, "exec 2>err", &words)));
        let err = std::fs::read_to_string(home.path("err")).expect("it is there");
        assert_eq!(err.contains("only this host can reach 127.0."), is_told, "{listen}: {err}");
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = taken.local_addr().expect("bound").to_string();
    let run = home.pump(&["serve", "served", "--listen", &taken]);
    expect(&run, 1, &["listen on", "another program listens there"], "a port that is taken");
}

/// Where IPv6 is off, `[::1]` is an address that nobody has.
#[test]
fn a_host_without_ipv6_says_so() {
    let home = Home::new();
    make_folder(&home, "served");
    let script = "sysctl -q net.ipv6.conf.all.disable_ipv6=1 && echo ready && exec \"$0\" serve served --listen '[::1]:4000'";
    let mut command = Command::new("unshare");
    command.args(["-rn", "sh", "-c", script, PUMP]).current_dir(home.path("")).stdin(Stdio::null());
    let run = outcome(command, b"");
    if !run.out.starts_with("ready\n") {
        return eprintln!("not tested: no network namespace without IPv6: {}", run.err);
    }
    expect(&run, 1, &["listen on [::1]:4000", "IPv6 is off on this host"], "IPv6 is off");
}
