//! What strangers, wrong tickets and bad luck get from a served folder: a refusal in words, nothing written outside.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::net_parts::{Served, make_tree, noise};
use datapump::{Options, Place, ServeOptions, Ticket};

/// A folder with a served one in it, a source, and something outside that is nobody's business.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        let home = Home(tempfile::tempdir().expect("room"));
        for folder in ["served", "outside"] {
            std::fs::create_dir(home.path(folder)).expect("room");
        }
        std::fs::write(home.path("outside/secret"), "secret").expect("room");
        std::fs::write(home.path("file"), noise(3_000_000)).expect("room");
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn place(&self, name: &str) -> Place {
        Place::Path(self.path(name))
    }

    fn options(&self) -> ServeOptions {
        ServeOptions::for_place(Place::Path(self.path("served")))
    }

    /// Nothing outside was changed, and nothing is half done.
    fn is_untouched(&self, row: &str) {
        assert_eq!(names(&self.path("outside")), ["secret"], "{row}");
        assert_eq!(std::fs::read(self.path("outside/secret")).expect("it is there"), b"secret", "{row}");
        let left: Vec<String> =
            names(&self.path("served")).into_iter().filter(|name| name.starts_with(".pump-")).collect();
        assert!(left.is_empty(), "{row}: {left:?}");
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("it is there");
    entries.map(|entry| entry.expect("it is listed").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn wrong_used_and_expired_tickets_are_refused_in_words() {
    let home = Home::new();
    let push =
        |served: &Served| served.copy(vec![home.place("file")], served.place("new"), Options::default());
    let other = Served::new(home.options());
    let mut served = Served::new(home.options());
    let good = served.ticket.clone();
    served.ticket = other.ticket.clone();
    let (report, said) = push(&served);
    assert_eq!((report.exit_status, said.len()), (5, 1), "{said:?}");
    assert!(said[0].contains("does not have the key of the ticket"), "{said:?}");
    // The right server, and another holder.
    let (mine, theirs) = (good.word(), other.ticket.word());
    served.ticket = Ticket::parse(&format!("{}{}", &theirs[..70], &mine[70..])).expect("a ticket");
    let (report, said) = push(&served);
    assert_eq!(report.exit_status, 5, "{said:?}");
    assert!(said[0].contains("did not make this ticket"), "{said:?}");
    served.ticket = good;
    assert_eq!(push(&served).0.exit_status, 0);

    let once = Served::new(ServeOptions { once: true, ..home.options() });
    assert_eq!(push(&once).0.exit_status, 0);
    assert_ne!(push(&once).0.exit_status, 0, "it was for one session");

    let expired = Served::new(ServeOptions { expires: Some(Duration::ZERO), ..home.options() });
    let (report, said) = push(&expired);
    assert_eq!(report.exit_status, 5, "{said:?}");
    assert!(said[0].contains("expired"), "{said:?}");
    home.is_untouched("tickets");
}

#[test]
fn a_ticket_has_a_scope() {
    let home = Home::new();
    std::fs::write(home.path("served/there"), "there").expect("room");
    let reads = Served::new(ServeOptions { writes: false, ..home.options() });
    let (report, said) = reads.copy(vec![home.place("file")], reads.place("new"), Options::default());
    assert_eq!(report.exit_status, 5, "{said:?}");
    assert!(said[0].contains("only be read from") && !home.path("served/new").exists(), "{said:?}");
    assert_eq!(reads.copy(vec![reads.place("there")], home.place("a"), Options::default()).0.exit_status, 0);
    let writes = Served::new(ServeOptions { reads: false, ..home.options() });
    let (report, said) = writes.copy(vec![writes.place("there")], home.place("b"), Options::default());
    assert_eq!(report.exit_status, 5, "{said:?}");
    assert!(said[0].contains("only be written to") && !home.path("b").exists(), "{said:?}");
}

#[test]
fn nothing_leads_out_of_the_served_folder() {
    let home = Home::new();
    make_tree(&home.path("tree"));
    symlink("../outside", home.path("served/out")).expect("room");
    symlink(home.path("outside/secret"), home.path("served/link")).expect("room");
    // A source that would be called as a link is that stands there.
    std::fs::create_dir(home.path("out")).expect("room");
    std::fs::write(home.path("out/new"), "new").expect("room");
    let served = Served::new(home.options());
    for (source, target) in [
        ("file", "../outside/new"),
        ("file", "/etc/new"),
        ("file", "out/new"),
        ("file", "out"),
        ("file", "link"),
        ("tree", "../outside"),
        ("tree", "out/tree"),
        ("tree", "sub/../../outside/tree"),
        ("out", ""),
    ] {
        let (report, said) = served.copy(vec![home.place(source)], served.place(target), Options::default());
        assert_ne!(report.exit_status, 0, "{source} to {target}: {said:?}");
        home.is_untouched(&format!("{source} to {target}"));
    }
    for source in ["../outside/secret", "/etc/hostname", "out/secret", "link", "../outside", "out"] {
        let (report, said) = served.copy(vec![served.place(source)], home.place("got"), Options::default());
        assert_ne!(report.exit_status, 0, "{source}: {said:?}");
        assert!(!home.path("got").exists(), "{source}");
    }
    // Links inside a tree are copied as links, not followed.
    let (report, said) = served.copy(vec![served.place("")], home.place("all"), Options::default());
    assert_eq!(report.exit_status, 0, "{said:?}");
    assert!(home.path("all/out").is_symlink() && home.path("all/link").is_symlink());
}

#[test]
fn strangers_and_silence_do_not_keep_others_out() {
    let home = Home::new();
    let served = Served::new(home.options());
    let silent: Vec<TcpStream> = (0..200).filter_map(|_| TcpStream::connect(&served.address).ok()).collect();
    for words in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"SSH-2.0-x\r\n",
        &[0; 4096],
        &[0x16, 3, 1, 0xff, 0xff, 1],
        &noise(20_000),
    ] {
        let mut stream = TcpStream::connect(&served.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let _ = stream.write_all(words);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.len() < 100, "at most an alert: {answer:?}");
    }
    let (report, said) = served.copy(vec![home.place("file")], served.place("new"), Options::default());
    assert_eq!(report.exit_status, 0, "{said:?}");
    drop(silent);
}

/// Carries connections to an address; what passes is changed by `change`, told how many bytes passed before.
fn proxy(to: &str, change: fn(usize, &mut [u8]) -> bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let (address, to) = (listener.local_addr().expect("an address").to_string(), to.to_owned());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(&to) else { continue };
            let both = [(stream.try_clone(), server.try_clone()), (Ok(server), Ok(stream))];
            for (from, to) in both {
                let (mut from, mut to) = (from.expect("a socket"), to.expect("a socket"));
                std::thread::spawn(move || {
                    let (mut passed, mut bytes) = (0, vec![0; 4096]);
                    while let Ok(len @ 1..) = from.read(&mut bytes) {
                        let mut piece = bytes[..len].to_vec();
                        if !change(passed, &mut piece) || to.write_all(&piece).is_err() {
                            break;
                        }
                        passed += len;
                    }
                    let _ = (to.shutdown(std::net::Shutdown::Both), from.shutdown(std::net::Shutdown::Both));
                });
            }
        }
    });
    address
}

fn cut(passed: usize, _: &mut [u8]) -> bool {
    passed < 1_000_000
}

fn flip(passed: usize, bytes: &mut [u8]) -> bool {
    if (500_000..504_096).contains(&passed) {
        bytes[0] ^= 1;
    }
    true
}

/// A connection that is cut, or damaged on the way, ends with a status that says so, and leaves no file under a name.
#[test]
fn a_cut_or_damaged_connection_is_told_and_nothing_half_has_a_name() {
    let home = Home::new();
    std::fs::write(home.path("served/there"), noise(3_000_000)).expect("room");
    for (name, change) in [("cut", cut as fn(usize, &mut [u8]) -> bool), ("flip", flip)] {
        let mut served = Served::new(home.options());
        served.peer_timeout = Some(Duration::from_secs(5));
        served.address = proxy(&served.address, change);
        let (report, said) = served.copy(vec![home.place("file")], served.place("new"), Options::default());
        assert_eq!(report.exit_status, 10, "{name}: {said:?}");
        assert!(!home.path("served/new").exists(), "{name}");
        let (report, said) = served.copy(vec![served.place("there")], home.place("got"), Options::default());
        assert_eq!(report.exit_status, 10, "{name}: {said:?}");
        assert!(!home.path("got").exists(), "{name}");
    }
}
