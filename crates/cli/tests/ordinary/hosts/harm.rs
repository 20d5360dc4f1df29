//! What a holder of a ticket makes a server keep, and a server a client, when it means harm: no more than the bound,
//! whatever it sends, and nobody else is harmed.

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use datapump_core::FileKind;
use datapump_core::wire::hello::Purpose;
use datapump_core::wire::peer_request::{Answer, Fault, PeerRequest};
use datapump_core::wire::session::{Begin, Direction, Message};
use datapump_core::wire::{decode, encode};

use crate::support::running::memory_max_bytes;
use crate::support::serving::Serving;
use crate::support::wire::{Wire, begin, entry, folder, frame, looked, names, try_begin, unreadable};
use crate::support::{Home, Outcome, expect, make_folder};

const MIB: u64 = 1 << 20;
/// Folders in each other: of each a frame in which it is opened and one with the next name.
const CHAIN: u64 = 20_000;
/// Of the sessions that a server has.
const SESSIONS: usize = 64;

/// The most memory that a process has had.
fn memory_max(id: u32) -> u64 {
    memory_max_bytes(id).expect("it runs")
}

/// A server with so much memory, and what it has at rest: after a session of somebody who means no harm.
struct Attacked {
    home: Home,
    serving: Serving,
    memory: u64,
    rest: u64,
}

impl Attacked {
    fn new(memory_mib: u64) -> Attacked {
        let home = Home::new();
        make_folder(&home, "served");
        make_folder(&home, "served/tree");
        std::fs::write(home.path("served/tree/file"), b"content").expect("room");
        let serving = Serving::new(&home, &["--insecure", &format!("--memory={memory_mib}MiB")]);
        let mut attacked = Attacked { home, serving, memory: memory_mib * MIB, rest: 0 };
        attacked.serves("before");
        attacked.rest = memory_max(attacked.serving.id());
        attacked
    }

    fn serves(&self, row: &str) {
        let target = format!("got-{}", row.replace(' ', "-"));
        let words =
            ["copy", "--insecure", "--sync=none", "--connections=1", &self.serving.at("tree"), &target];
        expect(&self.home.pump(&words), 0, &[], row);
    }

    /// The bound holds, and others are served.
    fn holds(&self, row: &str) {
        let (most, bound) = (memory_max(self.serving.id()), self.memory * 5 / 4 + self.rest);
        eprintln!(
            "{row}: {} MiB at most; at rest {}, the bound {}",
            most / MIB,
            self.rest / MIB,
            bound / MIB
        );
        assert!(most <= bound, "{row}: {} MiB", most / MIB);
        self.serves(row);
    }

    /// A session that pushes, whose requests for names a thread answers, and the connection for what comes ahead.
    fn pushes_ahead(&self) -> (Wire, Wire) {
        let wanted = Begin { sends_ahead: Some(true), ..begin(Direction::Push) };
        let (control, session) = try_begin(&self.serving.address, wanted).expect("it has room");
        let join = |purpose| Wire::call(&self.serving.address, purpose, Some(session)).0;
        let (mut names, blocks, mut ahead) =
            (join(Purpose::Names), join(Purpose::Blocks), join(Purpose::Ahead));
        std::thread::spawn(move || {
            while let Ok((body, number)) = names.take_numbered() {
                let answer = match decode(&body) {
                    Ok(PeerRequest::Look(_)) => looked(FileKind::Folder),
                    Ok(PeerRequest::Leave(_) | PeerRequest::Close(_)) => Answer::Done,
                    _ => fault("no".into()),
                };
                if names.put_answer(&answer, number).is_err() {
                    break;
                }
            }
            drop(blocks);
        });
        let request = decode(&ahead.take().expect("it is requested")).expect("a request");
        assert!(matches!(request, PeerRequest::Ahead { credit: 1.., .. }), "{request:?}");
        (control, ahead)
    }
}

fn fault(words: String) -> Answer {
    Answer::Fault(Fault { operation: "open".into(), errno: None, words: Some(words), class: None })
}

/// The root, with a name that a lane waits for, and one that is dropped behind it.
fn two_names() -> Vec<(u64, Answer)> {
    let listed = names(vec![entry("waits", 3), unreadable("dropped", 4)], 1);
    vec![(1, looked(FileKind::Folder)), (2, folder(1, 0)), (2, listed)]
}

/// Names that each lane waits for, first in its batch, and so many behind them.
fn names_that_wait(count: u64) -> Answer {
    const BATCH: u64 = 64;
    let name = |number: u64| {
        if number.is_multiple_of(BATCH) {
            entry(&format!("waits-{number}"), 1_000_000 + number)
        } else {
            unreadable(&number.to_string(), 4 + number)
        }
    };
    names((0..count).map(name).collect(), 1)
}

/// Sends until nobody listens.
fn send(wire: &mut Wire, answers: impl IntoIterator<Item = (u64, Answer)>) -> bool {
    answers.into_iter().all(|(number, answer)| wire.put_answer(&answer, number).is_ok())
}

/// All messages of a session until its end.
fn listen(mut control: Wire) {
    control.0.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
    while control.take().is_ok_and(|body| !matches!(decode(&body), Ok(Message::Report(_)))) {}
}

/// 468 kB of folders in each other ended the whole server when they were dropped.
#[test]
fn folders_in_folders_that_nobody_takes_end_no_server() {
    let attacked = Attacked::new(64);
    let (control, mut ahead) = attacked.pushes_ahead();
    let chain = (4..4 + CHAIN).flat_map(|number| {
        let below = names(vec![entry("d", number + 1)], 1);
        [(number, folder(number, 0)), (number, below)]
    });
    send(&mut ahead, two_names().into_iter().chain(chain).chain([(3, fault("no".into()))]));
    listen(control);
    attacked.holds("folders in folders");
}

/// What came was charged by its frames: an attribute of five bytes takes more than a hundred.
#[test]
fn what_comes_ahead_is_charged_as_what_it_takes() {
    const FOLDERS: u64 = 1000;
    let attacked = Attacked::new(64);
    let (control, mut ahead) = attacked.pushes_ahead();
    let root = vec![(1, looked(FileKind::Folder)), (2, folder(1, 0)), (2, names_that_wait(FOLDERS))];
    let heavy = encode(&folder(9, 16_000));
    let sent = send(&mut ahead, root)
        && (0..FOLDERS)
            .filter(|number| !number.is_multiple_of(64))
            .all(|number| ahead.0.write_all(&frame(&heavy, 4 + number)).is_ok());
    eprintln!("all was sent: {sent}");
    drop(ahead);
    listen(control);
    attacked.holds("attributes ahead");
}

/// What nobody wants was not charged at all.
#[test]
fn what_nobody_wants_is_charged_too() {
    const EACH: u64 = 1000;
    let attacked = Attacked::new(16);
    let (control, mut ahead) = attacked.pushes_ahead();
    let mut next = 5;
    let mut sent = send(&mut ahead, two_names());
    let mut waiting = std::collections::VecDeque::from([4]);
    while sent && next < 400_000 {
        let Some(number) = waiting.pop_front() else { break };
        let mut answers = vec![encode_numbered(number, &folder(number, 0))];
        if waiting.len() < 2000 {
            let below = (next..next + EACH).map(|number| entry("d", number)).collect();
            answers.push(encode_numbered(number, &names(below, 1)));
            waiting.extend(next..next + EACH);
            next += EACH;
        }
        sent = ahead.0.write_all(&answers.concat()).is_ok();
        if next == 5 + EACH {
            sent &= send(&mut ahead, [(3, fault("no".into()))]);
        }
    }
    eprintln!("{next} folders were sent");
    drop(ahead);
    listen(control);
    attacked.holds("unwanted folders");
}

fn encode_numbered(number: u64, answer: &Answer) -> Vec<u8> {
    frame(&encode(answer), number)
}

/// One message to begin with took 37 MB, and a server has 64 sessions.
#[test]
fn what_begins_a_session_is_charged() {
    let numbers: String = vec!["97,10"; 140_000].join(",");
    let rules = format!(r#"{{"request_bytes":1024,"selection":[{{"ExcludeFrom":[[{numbers}],false]}}]}}"#);
    let deep: String = vec!["97,47"; 2000].join(",") + ",97";
    let lists = format!(
        r#"{{"request_bytes":1024,"selection":[{}]}}"#,
        vec![format!(r#"{{"Names":[[{deep}],false]}}"#); 60].join(",")
    );
    let small = r#"{"request_bytes":1024}"#;
    let places = |count| vec![b"f".to_vec().into(); count];
    for (row, way, options, sources) in [
        ("rules of a push", Direction::Push, &*rules, 1),
        ("rules of a count", Direction::Pull, &*rules, 1),
        ("names in names", Direction::Push, &*lists, 1),
        ("places that are written", Direction::Push, small, 1 << 16),
        ("places that are read", Direction::Pull, small, 1 << 16),
    ] {
        let attacked = Attacked::new(256);
        let wanted = || Begin {
            options: options.into(),
            sources: places(sources),
            counts_ahead: Some(true),
            ..begin(way)
        };
        let held: Vec<_> = std::thread::scope(|scope| {
            let begins = || try_begin(&attacked.serving.address, wanted());
            let threads: Vec<_> = (0..SESSIONS).map(|_| scope.spawn(begins)).collect();
            threads.into_iter().filter_map(|thread| thread.join().expect("no panic").ok()).collect()
        });
        eprintln!("{row}: {} of {SESSIONS} sessions began", held.len());
        // Time to make of it what a session makes.
        std::thread::sleep(Duration::from_millis(500));
        let most = memory_max(attacked.serving.id());
        drop(held);
        eprintln!("{row}: {} MiB", most / MIB);
        attacked.holds(row);
    }
}

/// A list that somebody means is no attack.
#[test]
fn a_long_list_begins_a_session_within_the_budget() {
    let list: String = (0..100_000).map(|number| format!("n{number:06}\\n")).collect();
    let options = format!(r#"{{"selection":[{{"Names":["{list}",false]}}]}}"#);
    let attacked = Attacked::new(128);
    let wanted = Begin { options, ..begin(Direction::Push) };
    let begun = try_begin(&attacked.serving.address, wanted).map_err(|said| format!("{said:?}"));
    assert!(begun.is_ok(), "{:?}", begun.err());
    drop(begun);
    attacked.holds("a long list");
}

/// Words of 250 kB waited, 64 at a time, for a client that does not listen.
#[test]
fn long_words_that_nobody_hears_make_nothing_grow() {
    let attacked = Attacked::new(16);
    let (_control, session) = try_begin(&attacked.serving.address, begin(Direction::Push)).expect("room");
    let join = |purpose| Wire::call(&attacked.serving.address, purpose, Some(session)).0;
    let (mut wire, _blocks) = (join(Purpose::Names), join(Purpose::Blocks));
    wire.0.set_read_timeout(Some(Duration::from_secs(3))).expect("a socket");
    let long = fault("w".repeat(250_000));
    let mut lists = 0;
    while let Ok((body, number)) = wire.take_numbered()
        && lists < 3
    {
        let answer = match decode(&body).expect("a request") {
            PeerRequest::Look(_) => looked(FileKind::Folder),
            PeerRequest::Root { .. } => folder(1, 0),
            PeerRequest::List { .. } => {
                lists += 1;
                names((0..200).map(|name| entry(&name.to_string(), 100 + name)).collect(), lists)
            }
            _ => long.clone(),
        };
        if wire.put_answer(&answer, number).is_err() {
            break;
        }
    }
    attacked.holds("long words");
}

/// A server that means harm: it begins a session, and sends ahead what it likes; all else stays unanswered.
fn harmful_server(sends: impl FnOnce(&mut Wire) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        let (mut others, mut sends) = (Vec::new(), Some(sends));
        loop {
            let (mut wire, purpose) = Wire::accept(&listener);
            match purpose {
                Purpose::Control => {
                    let begun = Message::Begun {
                        receives: None,
                        reads_on: Some(true),
                        sends_ahead: Some(true),
                        host: None,
                        datagrams: None,
                        places: None,
                        has_links: None,
                        holds_events: None,
                    };
                    wire.take().expect("it begins");
                    wire.put(&encode(&begun), 0).expect("sent");
                }
                Purpose::Ahead => {
                    let sends = sends.take().expect("there is one such connection");
                    std::thread::spawn(move || {
                        wire.take().expect("it is requested");
                        sends(&mut wire);
                        // It stays open until the client has had enough.
                        let _ = wire.take();
                    });
                    continue;
                }
                Purpose::Names | Purpose::Blocks => {}
            }
            others.push(wire);
        }
    });
    format!("pump://{address}/tree")
}

/// A client that pulls from it within so much memory: what it had at most, and how it ended.
fn pull(home: &Home, source: &str) -> (u64, Outcome) {
    let words = ["copy", "--insecure", "--read-ahead=always", "--retry-for=0s", "--peer-timeout=3s"];
    let words = [&words[..], &["--memory=512MiB", source, "got"]].concat();
    let mut command = home.command(&words);
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().expect("pump was built");
    let mut most = 0;
    while child.try_wait().expect("it is a child").is_none() {
        most = most.max(memory_max_bytes(child.id()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    let ended = child.wait_with_output().expect("it has ended");
    let err = String::from_utf8_lossy(&ended.stderr).into_owned();
    (most, Outcome { status: ended.status.code().unwrap_or(-1), out: String::new(), err })
}

/// What a client takes at rest, with buffers of its connections.
const CLIENT_REST: u64 = 48 * MIB;

fn is_bounded(home: &Home, source: &str, row: &str) {
    let (most, ended) = pull(home, source);
    eprintln!("{row}: the client had {} MiB at most, and ended with {ended:?}", most / MIB);
    assert!([1, 5, 10, 23].contains(&ended.status), "{row}: {ended:?}");
    assert!(!ended.err.contains("overflow") && !ended.err.contains("panicked"), "{row}: {ended:?}");
    assert!(most <= 640 * MIB + CLIENT_REST, "{row}: {} MiB", most / MIB);
}

#[test]
fn folders_in_folders_that_nobody_takes_end_no_client() {
    let source = harmful_server(|wire| {
        let chain = (4..4 + CHAIN).flat_map(|number| {
            let below = names(vec![entry("d", number + 1)], 1);
            [(number, folder(number, 0)), (number, below)]
        });
        send(wire, two_names().into_iter().chain(chain).chain([(3, fault("no".into()))]));
    });
    is_bounded(&Home::new(), &source, "folders in folders");
}

#[test]
fn what_a_server_sends_ahead_is_charged_as_what_it_takes() {
    let source = harmful_server(|wire| {
        let heavy = encode(&folder(9, 16_000));
        let _ = send(wire, [(1, looked(FileKind::Folder)), (2, folder(1, 0)), (2, names_that_wait(1000))])
            && (0..1000)
                .filter(|number: &u64| !number.is_multiple_of(64))
                .all(|number| wire.0.write_all(&frame(&heavy, 4 + number)).is_ok());
    });
    is_bounded(&Home::new(), &source, "attributes ahead");
}
