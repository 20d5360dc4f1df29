//! A large source on a file system whose clock ticks in whole seconds, rewritten in the second in which its copy was
//! begun and cut: the command that goes on, or the session behind a lost connection, makes no mix of both.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::support::running::{Running, eventually, is_unlocked};
use crate::support::serving::Serving;
use crate::support::told::left;
use crate::support::{Home, Outcome, expect, has_content, noise};
use crate::wider_parts::{Mount, pump_command};
use rustix::process::Signal;

const MIB: u64 = 1 << 20;
const BYTES: usize = 72 << 20 | 777;
const OTHER: &[u8] = b"other";
/// A second may be over before the test has done in it what it wants.
const SECONDS_TRIED: usize = 30;

fn await_new_second() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later");
    std::thread::sleep(Duration::from_secs(1) - Duration::from_nanos(now.subsec_nanos().into()));
    // The kernel's clock of the last tick comes behind.
    std::thread::sleep(Duration::from_millis(15));
}

fn times(path: &Path) -> (i64, i64) {
    let meta = fs::metadata(path).expect("it is there");
    (meta.mtime(), meta.ctime())
}

fn write_over(path: &Path, bytes: &[u8]) {
    let file = fs::OpenOptions::new().write(true).open(path);
    file.and_then(|file| file.write_all_at(bytes, 0)).expect("it is ours");
}

/// Passes connections on, and while it is away hangs up on all.
struct Road {
    address: String,
    shared: Arc<RoadState>,
}

struct RoadState {
    is_away: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl Road {
    fn new(to: String) -> Road {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let shared = Arc::new(RoadState { is_away: AtomicBool::new(false), streams: Mutex::default() });
        let state = Arc::clone(&shared);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&to) else { continue };
                let mut streams = state.streams.lock().expect("no panic");
                if state.is_away.load(Ordering::SeqCst) {
                    continue;
                }
                for (from, into) in [(&client, &server), (&server, &client)] {
                    let (mut from, mut into) =
                        (from.try_clone().expect("a handle"), into.try_clone().expect("a handle"));
                    streams.push(from.try_clone().expect("a handle"));
                    std::thread::spawn(move || {
                        let mut bytes = vec![0; 1 << 16];
                        while let Ok(count @ 1..) = from.read(&mut bytes)
                            && into.write_all(&bytes[..count]).is_ok()
                        {}
                        let _ = into.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Road { address, shared }
    }

    fn go_away(&self) {
        let mut streams = self.shared.streams.lock().expect("no panic");
        self.shared.is_away.store(true, Ordering::SeqCst);
        streams.drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }

    fn come_back(&self) {
        self.shared.is_away.store(false, Ordering::SeqCst);
    }
}

/// What cuts a copy.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    Kill,
    Lost,
}

struct Ground {
    _mount: Mount,
    file: PathBuf,
    home: Home,
    serving: Serving,
    content: Vec<u8>,
}

impl Ground {
    fn new() -> Ground {
        let mount = Mount::ext4(256, &["-I", "128"]);
        let (file, content) = (PathBuf::from(mount.point()).join("file"), noise(BYTES, 1));
        fs::write(&file, &content).expect("room");
        assert_eq!(fs::metadata(&file).expect("it is there").ctime_nsec(), 0, "it tells whole seconds");
        let home = Home::new();
        fs::create_dir(home.path("to")).expect("room");
        let mut command = home.command(&["serve", "--ticket-file", "ticket"]);
        command.arg(mount.point());
        Ground { _mount: mount, file, serving: Serving::start(command), home, content }
    }

    /// Begins a copy in a new second, cuts it in its middle, and writes over what it has read. `None`: the second was
    /// over. Else the outcome of what goes on with it, in a later second.
    fn cut_and_rewritten(&self, cut: Cut, from: &str, road: Option<&Road>) -> Option<Outcome> {
        let (copy, ticket) = (self.home.path("to/file"), self.home.path("ticket").display().to_string());
        let to = copy.display().to_string();
        let words = |more: &[&'static str]| {
            pump_command(&[&["copy", "-v", "--ticket-file", &*ticket], more, &[from, &*to]].concat())
        };
        for entry in fs::read_dir(self.home.path("to")).expect("the folder").flatten() {
            fs::remove_file(entry.path()).expect("it is ours");
        }
        await_new_second();
        write_over(&self.file, &self.content[..OTHER.len()]);
        let before = times(&self.file);
        let running = Running::start(words(&["--lanes=1", "--bwlimit=60MB"]));
        let told = || left(&self.home.path("to")).map_or(0, |left| left.told(false).max(left.told(true)));
        eventually("a part of it", || told() >= 2 * MIB || running.has_ended());
        match (cut, road) {
            (Cut::Lost, Some(road)) => road.go_away(),
            _ => running.signal(Signal::KILL),
        }
        let is_cut = !running.has_ended() || cut == Cut::Kill;
        write_over(&self.file, OTHER);
        let is_hidden = times(&self.file) == before;
        if let (Cut::Lost, Some(road)) = (cut, road) {
            await_new_second();
            road.come_back();
            let ended = running.end();
            return (is_cut && is_hidden).then_some(ended);
        }
        running.end();
        let left = left(&self.home.path("to"))?;
        let lock = fs::File::open(&left.file).expect("it is there");
        eventually("nobody writes it", || is_unlocked(&lock));
        await_new_second();
        is_hidden.then(|| Running::start(words(&[])).end())
    }
}

#[test]
fn a_cut_copy_does_not_go_on_behind_what_was_rewritten_in_its_second() {
    let ground = Ground::new();
    let road = Road::new(ground.serving.address.clone());
    let here = ground.file.display().to_string();
    let (there, by_road) = (ground.serving.at("file"), format!("pump://{}/file", road.address));
    let rows = [
        ("here", Cut::Kill, &here, None),
        ("pulled", Cut::Kill, &there, None),
        ("lost", Cut::Lost, &by_road, Some(&road)),
    ];
    for (row, cut, from, road) in rows {
        let ended = (0..SECONDS_TRIED).find_map(|_| ground.cut_and_rewritten(cut, from, road));
        let ended = ended.expect("one of the seconds is long enough");
        expect(&ended, 24, &["resumes at byte", "copy again when the source is quiet"], row);
        let copy = ground.home.path("to/file");
        assert!(!copy.exists(), "{row}: half of the one, half of the other");
        let ticket = ground.home.path("ticket").display().to_string();
        let to = copy.display().to_string();
        let words = ["copy", "--ticket-file", &*ticket, &*ground.serving.at("file"), &*to];
        expect(&Running::start(pump_command(&words)).end(), 0, &[], row);
        let expected = [OTHER, &ground.content[OTHER.len()..]].concat();
        has_content(&copy, &expected, row);
    }
}
