//! A host whose first address is dead costs little, on the web and with `pump://` (RFC 8305).

use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::server::{Answer, WebServer};
use crate::support::home::outcome;
use crate::support::serving::Serving;
use crate::support::{Home, PUMP, expect, has_content, is_root, make_folder, noise, noise_file};

/// What a run takes at most: one address after the other took 5 s on the web and 10 s with `pump://`.
const QUICK: Duration = Duration::from_secs(4);

/// An address of loopback that answers nothing at this port: its queue is full.
pub fn dead(port: u16) -> (TcpListener, Vec<TcpStream>) {
    let listener = TcpListener::bind(("127.0.0.2", port)).expect("the port is free there");
    rustix::net::listen(&listener, 0).expect("a short queue");
    let address = listener.local_addr().expect("its address");
    let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok();
    let taken: Vec<_> = std::iter::from_fn(connect).take(100).collect();
    assert!(taken.len() < 100, "the queue has no end");
    (listener, taken)
}

/// Runs a command where the host `two` has the dead address first and then the other one.
fn run(home: &Home, words: &[&str]) -> Duration {
    std::fs::write(home.path("hosts"), "127.0.0.1 localhost\n127.0.0.2 two\n127.0.0.1 two\n").expect("room");
    let mut command = Command::new("unshare");
    command.current_dir(home.path("")).args(["-m", "sh", "-c"]);
    command.arg("mount --bind hosts /etc/hosts && exec \"$@\"").args(["sh", PUMP]).args(words);
    let begun = Instant::now();
    expect(&outcome(command, b""), 0, &[], words[0]);
    begun.elapsed()
}

#[test]
fn a_first_address_that_is_dead_costs_little() {
    if !is_root() {
        eprintln!("not tested: only root gives a host other addresses");
        return;
    }
    let (home, content) = (Home::new(), Arc::new(noise(10_000, 7)));
    let of = Arc::clone(&content);
    let server = WebServer::new(move |request, _| Answer::part(request, &of).with("ETag", "\"one\""));
    let _dead = dead(server.port());
    let took = run(&home, &["copy", &format!("http://two:{}/x", server.port()), "to"]);
    has_content(&home.path("to"), &content, "the web");
    assert!(took < QUICK, "the web: {took:?}");

    make_folder(&home, "served");
    noise_file(&home, "source", 10_000, 1);
    let serving = Serving::new(&home, &["--listen", "127.0.0.1:0"]);
    let port = serving.address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
    let _dead = dead(port);
    let target = format!("pump://two:{port}/to");
    let took = run(&home, &["copy", "--ticket-file", "ticket", "source", &target]);
    assert!(home.path("served/to").exists());
    assert!(took < QUICK, "pump://: {took:?}");
}
