//! Handshakes that fail: damage on the way is a lost connection (10), a side that does not encrypt is refused (5).

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::support::middle_box::{MiddleBox, Spoiled, Spoils};
use crate::support::serving::Serving;
use crate::support::{Home, expect, has_content, make_folder, noise_file};

/// The first words of either side are shorter: what it says behind them is sealed.
const FIRST_WORDS: u64 = 260;

#[test]
fn a_handshake_that_is_damaged_is_a_lost_connection() {
    let home = Home::new();
    make_folder(&home, "served");
    let content = noise_file(&home, "served/file", 1000, 1);
    let serving = Serving::new(&home, &[]);
    let mut lost = 0;
    for is_of_client in [true, false] {
        for at in (0..12).chain((12..FIRST_WORDS).step_by(31)) {
            let row = format!("byte {at} of the {}", if is_of_client { "client" } else { "server" });
            let spoiled = Spoiled { connection: 0, is_of_client, at, how: Spoils::Damages };
            let middle = MiddleBox::new(&serving.address, &[spoiled]);
            let words = ["copy", "--retry-for=0s", "--peer-timeout=1s", "--ticket-file", "ticket"];
            let run = home.pump(&[&words[..], &[&middle.at("file"), "got"]].concat());
            match run.status {
                // A version that is for old programs alone.
                0 => has_content(&home.path("got"), &content, &row),
                status => assert_eq!(status, 10, "{row}: {run:?}"),
            }
            lost += u64::from(run.status == 10);
        }
    }
    assert!(lost > 20, "{lost} were lost");
}

#[test]
fn sealed_against_insecure_says_which_side_to_change() {
    let home = Home::new();
    make_folder(&home, "served");
    noise_file(&home, "served/file", 1000, 1);
    let sealed = Serving::new(&home, &[]);
    let open = Serving::new(&home, &["--insecure", "--ticket-file", "none"]);
    let run = home.pump(&["copy", "--ticket-file", "ticket", &open.at("file"), "got"]);
    expect(&run, 5, &["the server does not encrypt", "add --insecure here"], "a server with --insecure");
    let run = home.pump(&["copy", "--insecure", &sealed.at("file"), "got"]);
    expect(&run, 5, &["the server encrypts", "drop --insecure here"], "a client with --insecure");
    assert!(!home.path("got").exists());
}

#[test]
fn another_protocol_is_no_damage() {
    let home = Home::new();
    make_folder(&home, "served");
    noise_file(&home, "file", 1000, 1);
    drop(Serving::new(&home, &[]));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let answers = std::thread::spawn(move || {
        let (mut caller, _) = listener.accept().expect("a caller");
        caller.write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n").expect("it listens");
        let _ = caller.read(&mut [0; 4096]);
    });
    let run = home.pump(&["copy", "--ticket-file", "ticket", "file", &format!("pump://{address}/file")]);
    expect(&run, 5, &["does not speak TLS"], "sshd");
    answers.join().expect("no panic");
}
