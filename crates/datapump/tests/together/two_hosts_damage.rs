//! One bit flipped on its way between two hosts, where nothing seals what passes: `--insecure=open` leaves blocks
//! their hashes and messages their sums. A copy then ends with the exact target, or with a failure that leaves what
//! stood there.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::net_parts::{Served, noise};
use datapump::{
    Choice, DurabilityOptions, Event, NetworkOptions, Options, Place, Report, ServeOptions, Sync,
    TuningOptions, WayIn,
};

/// A file that is one block.
const BYTES: usize = 3000;
/// What stands before the bytes of a block.
const BEFORE_BLOCK: usize = 24 + 32;
/// How long the user waits for a copy that takes a hundredth of it.
const WAIT_MAX: Duration = Duration::from_secs(3);
/// What the report says then.
const INTERRUPTED: i32 = 20;
/// What stands under the target's name before.
const OLD: &[u8] = b"what stood there";

/// Which byte gets a bit flipped: of the first connection for a purpose, on its way there or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flip {
    connection: usize,
    back: bool,
    byte: usize,
    /// Again each time that so many bytes have passed.
    period: usize,
}

impl Flip {
    /// Once.
    fn once(connection: usize, back: bool, byte: usize) -> Flip {
        Flip { connection, back, byte, period: usize::MAX }
    }

    /// Damages bytes behind so many others.
    fn damage(&self, passed: usize, bytes: &mut [u8]) {
        for (at, byte) in (passed..).zip(bytes) {
            if at.checked_sub(self.byte).is_some_and(|behind| behind % self.period == 0) {
                *byte ^= 1 << (self.byte % 8);
            }
        }
    }
}

/// Carries connections to a server; flips one bit of what passes.
struct Flipper {
    address: String,
    run: Arc<Mutex<Arc<Run>>>,
}

/// How much passed over each connection, there and back.
type Passed = Vec<[usize; 2]>;

/// One copy: what it has to bear, and what passed.
#[derive(Default)]
struct Run {
    flip: Option<Flip>,
    passed: Mutex<Passed>,
    /// Purposes that a connection had.
    seen: Mutex<[bool; PURPOSES]>,
}

/// Purposes of connections: control, names, blocks, what is sent ahead.
const PURPOSES: usize = 4;

impl Run {
    /// Another connection; its number: the purpose of the first that has it, as they are made in no order.
    fn connect(&self, client: &TcpStream) -> usize {
        /// Of its greeting: behind the head, and two arrays with a version.
        const PURPOSE_AT: usize = 24 + 4;
        let mut greeting = [0; PURPOSE_AT + 1];
        while matches!(client.peek(&mut greeting), Ok(len @ 1..) if len < greeting.len()) {
            std::thread::yield_now();
        }
        let purpose = usize::from(greeting[PURPOSE_AT]).min(PURPOSES - 1);
        let mut passed = self.passed.lock().expect("no panic");
        while passed.len() < PURPOSES {
            passed.push([0; 2]);
        }
        if !std::mem::replace(&mut self.seen.lock().expect("no panic")[purpose], true) {
            return purpose;
        }
        passed.push([0; 2]);
        passed.len() - 1
    }

    fn count(&self, connection: usize, back: bool, len: usize) {
        self.passed.lock().expect("no panic")[connection][usize::from(back)] += len;
    }
}

impl Flipper {
    fn new(to: &str) -> Flipper {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let (address, to) = (listener.local_addr().expect("an address").to_string(), to.to_owned());
        let flipper = Flipper { address, run: Arc::default() };
        let current = Arc::clone(&flipper.run);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&to) else { continue };
                let run = Arc::clone(&current.lock().expect("no panic"));
                std::thread::spawn(move || carry(client, server, &run));
            }
        });
        flipper
    }

    /// What the next copy has to bear.
    fn set(&self, flip: Option<Flip>) -> Arc<Run> {
        let run = Arc::new(Run { flip, ..Run::default() });
        *self.run.lock().expect("no panic") = Arc::clone(&run);
        run
    }
}

/// Both ways of a connection.
fn carry(client: TcpStream, server: TcpStream, run: &Arc<Run>) {
    let connection = run.connect(&client);
    let ends = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
    for (back, (from, into)) in [false, true].into_iter().zip(ends) {
        let (from, into) = (from.expect("a handle"), into.expect("a handle"));
        let run = Arc::clone(run);
        std::thread::spawn(move || pass(from, into, &run, connection, back));
    }
}

fn pass(mut from: TcpStream, mut into: TcpStream, run: &Run, connection: usize, back: bool) {
    let flip = run.flip.filter(|flip| (flip.connection, flip.back) == (connection, back));
    let (mut passed, mut bytes) = (0, [0; 4096]);
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        flip.iter().for_each(|flip| flip.damage(passed, &mut bytes[..len]));
        passed += len;
        run.count(connection, back, len);
        if into.write_all(&bytes[..len]).is_err() {
            break;
        }
    }
    let _ = (into.shutdown(Shutdown::Both), from.shutdown(Shutdown::Both));
}

struct Ground {
    home: tempfile::TempDir,
    served: Served,
    flipper: Flipper,
    content: Vec<u8>,
    read_ahead: Choice,
    source_depth: Option<u32>,
}

impl Ground {
    fn new(bytes: usize) -> Ground {
        let home = tempfile::tempdir().expect("room");
        let content = noise(bytes);
        for folder in ["served", "here"] {
            std::fs::create_dir(home.path().join(folder)).expect("room");
            std::fs::write(home.path().join(folder).join("source"), &content).expect("room");
        }
        let options = ServeOptions::for_place(Place::Path(home.path().join("served")));
        let served = Served::new(ServeOptions { insecure: true, ..options });
        let flipper = Flipper::new(&served.address);
        let (read_ahead, source_depth) = (Choice::Never, None);
        Ground { home, served, flipper, content, read_ahead, source_depth }
    }

    fn target(&self, push: bool) -> PathBuf {
        self.home.path().join(if push { "served/target" } else { "here/target" })
    }

    /// Copies once over what is damaged so; the report and what was said.
    fn copy(&self, push: bool, flip: Option<Flip>) -> (Report, String, Passed) {
        let run = self.flipper.set(flip);
        std::fs::write(self.target(push), OLD).expect("room");
        let there = |name: &str| {
            let host = datapump::Host::Served(self.flipper.address.clone());
            Place::Remote(datapump::Remote { host, path: name.into() })
        };
        let here = |name: &str| Place::Path(self.home.path().join("here").join(name));
        let (source, target) =
            if push { (here("source"), there("target")) } else { (there("source"), here("target")) };
        let stop = Arc::new(AtomicBool::new(false));
        // A wait for a connection that brings what is sent ahead, and was damaged, takes ten seconds.
        let options = Options {
            durability: DurabilityOptions { sync: Sync::None, ..DurabilityOptions::default() },
            tuning: TuningOptions {
                request_bytes: Some(64 << 10),
                source_depth: self.source_depth,
                ..TuningOptions::default()
            },
            network: NetworkOptions { read_ahead: self.read_ahead, ..NetworkOptions::default() },
            ..Options::default()
        };
        let copy = self.served.remote(vec![source], target).options(options).way_in(WayIn::Open);
        let copy = copy.connections(Some(1)).stop(Arc::clone(&stop));
        let (over, is_over) = channel::<()>();
        let user = std::thread::spawn(move || {
            if is_over.recv_timeout(WAIT_MAX) == Err(RecvTimeoutError::Timeout) {
                stop.store(true, Ordering::SeqCst);
            }
        });
        let said = Mutex::new(String::new());
        let report = copy.run_reported(&|event| {
            if let Event::Problem(problem) = event {
                said.lock().expect("no panic").push_str(&format!("{problem}\n"));
            }
        });
        drop(over);
        user.join().expect("no panic");
        let passed = run.passed.lock().expect("no panic").clone();
        (report, said.into_inner().expect("no panic"), passed)
    }

    /// The target is exact; or it is what it was, and the status says that something failed.
    fn is_right(&self, push: bool, status: i32, row: &str) {
        let found = std::fs::read(self.target(push)).unwrap_or_default();
        let (is_exact, is_old) = (found == self.content, found == OLD);
        assert!(is_exact || (status != 0 && is_old), "{row}: status {status}, {} bytes", found.len());
    }

    /// The connection over which blocks come, and where the last block begins.
    fn last_block(&self, push: bool, block: usize) -> (usize, usize) {
        let (report, said, passed) = self.copy(push, None);
        assert_eq!((report.exit_status, &said[..]), (0, ""), "push {push}");
        let most = passed.iter().map(|lens| lens[usize::from(!push)]);
        let (connection, len) = most.enumerate().max_by_key(|(_, len)| *len).expect("there are some");
        (connection, len - block - BEFORE_BLOCK)
    }
}

/// Every so many bytes of each connection: greetings, messages, askings, heads, digests, bytes. All of them with
/// `DATAPUMP_EVERY=1`, which takes minutes. Nobody waits for good, whatever is damaged.
#[test]
fn a_flipped_bit_is_found_or_harms_nothing() {
    let every = std::env::var("DATAPUMP_EVERY").ok().and_then(|text| text.parse().ok()).unwrap_or(61);
    let (mut flips, mut failed) = (0, 0);
    for push in [true, false] {
        let ground = Ground::new(BYTES);
        let (_, _, passed) = ground.copy(push, None);
        let ways = passed.iter().enumerate().flat_map(|(connection, lens)| {
            [false, true].into_iter().zip(*lens).map(move |(back, len)| (connection, back, len))
        });
        for (connection, back, len) in ways {
            for byte in (0..len).step_by(every) {
                let flip = Flip::once(connection, back, byte);
                let (report, said, _) = ground.copy(push, Some(flip));
                let row = format!("push {push}, {flip:?}: {said}");
                ground.is_right(push, report.exit_status, &row);
                assert_ne!(report.exit_status, INTERRUPTED, "{row}: it hung until the user had enough");
                (flips, failed) = (flips + 1, failed + u32::from(report.exit_status != 0));
            }
        }
    }
    eprintln!("damage: {flips} flipped bits, {failed} of them ended the copy");
}

/// One of several blocks is damaged, in its digest or its bytes: it comes again, and no other does.
#[test]
fn a_damaged_block_is_asked_for_again_alone() {
    const BLOCK: usize = 64 << 10;
    let ground = Ground::new(20 * BLOCK);
    for push in [true, false] {
        let (connection, block_at) = ground.last_block(push, BLOCK);
        for inside in [24, 55, 56, BLOCK / 2, BEFORE_BLOCK + BLOCK - 1] {
            let flip = Flip::once(connection, !push, block_at + inside);
            let (report, said, _) = ground.copy(push, Some(flip));
            let row = format!("push {push}, byte {inside}: {said}");
            assert_eq!(report.exit_status, 0, "{row}");
            ground.is_right(push, report.exit_status, &row);
            assert_eq!(report.bytes_moved_twice, BLOCK as u64, "{row}");
        }
    }
}

/// The same where blocks are requested before they have slots. With one slot alone those behind it are passed over,
/// and requested again, too.
#[test]
fn a_damaged_block_of_many_that_were_requested_together_comes_again() {
    const BLOCK: usize = 64 << 10;
    let mut ground = Ground::new(20 * BLOCK);
    ground.read_ahead = Choice::Always;
    for (depth, again) in [(4, 1..2), (1, 2..20)] {
        ground.source_depth = Some(depth);
        for push in [true, false] {
            let (connection, block_at) = ground.last_block(push, BLOCK);
            let before = 10 * (BLOCK + BEFORE_BLOCK);
            for byte in [block_at - before + BLOCK / 2, block_at + BLOCK / 2] {
                let (report, said, _) = ground.copy(push, Some(Flip::once(connection, !push, byte)));
                let row = format!("depth {depth}, push {push}, byte {byte}: {said}");
                assert_eq!(report.exit_status, 0, "{row}");
                ground.is_right(push, report.exit_status, &row);
                let moved_twice = report.bytes_moved_twice as usize / BLOCK;
                let is_last = byte > block_at;
                assert!(
                    again.contains(&moved_twice) || (is_last && moved_twice == 1),
                    "{row}: {moved_twice}"
                );
            }
        }
    }
}

/// What comes damaged each time is told as that, and nothing of it gets the target's name.
#[test]
fn a_block_that_is_always_damaged_is_told() {
    let ground = Ground::new(BYTES);
    for push in [true, false] {
        let (connection, block_at) = ground.last_block(push, BYTES);
        let (byte, period) = (block_at + BEFORE_BLOCK + 100, BEFORE_BLOCK + BYTES);
        let flip = Flip { connection, back: !push, byte, period };
        let (report, said, _) = ground.copy(push, Some(flip));
        assert_eq!(report.exit_status, 26, "push {push}: {said}");
        assert!(said.contains("arrived damaged over the network 4 times"), "push {push}: {said}");
        assert_eq!(std::fs::read(ground.target(push)).expect("it stands"), OLD, "push {push}");
    }
}
