//! Sessions of which one connection alone is lost. Is it the one that controls, lanes may end before they notice, and
//! what they left undone must not be called done. Is it another, the rest may have done all.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use crate::net_parts::{Served, make_tree, noise};
use datapump::{Event, Host, Job, Options, Place, Remote, ServeOptions};

/// Slow enough that no file is complete when the session is lost.
const BYTES_PER_SECOND: u64 = 2_000_000;
const UNTIL_CUT: Duration = Duration::from_millis(400);
/// A lane that is held up before it has asked for its first block sees the loss before it could notice it.
const HELD_UP: Duration = Duration::from_millis(800);
/// More than there are lanes.
const LANES: usize = 8;
const LOST: i32 = 10;

/// Passes connections on but for one, which is heard and never answered; `first` gets the control connection.
fn relay(to: String, silent: Option<usize>, first: mpsc::Sender<TcpStream>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for (number, client) in listener.incoming().flatten().enumerate() {
            let handle = |stream: &TcpStream| stream.try_clone().expect("a handle");
            if Some(number) == silent {
                held.push(client);
                continue;
            }
            let Ok(server) = TcpStream::connect(&to) else { continue };
            if number == 0 {
                let _ = first.send(handle(&client));
            }
            for (from, into) in [(&client, &server), (&server, &client)] {
                let (from, into) = (handle(from), handle(into));
                std::thread::spawn(move || pass(from, into));
            }
        }
    });
    address
}

/// A while after the first connection has come, that one is cut. It is the control connection.
fn cutter(to: String) -> String {
    let (first, control) = mpsc::channel::<TcpStream>();
    std::thread::spawn(move || {
        let Ok(control) = control.recv() else { return };
        std::thread::sleep(UNTIL_CUT);
        let _ = control.shutdown(Shutdown::Both);
    });
    relay(to, None, first)
}

fn pass(mut from: TcpStream, mut into: TcpStream) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if into.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = into.shutdown(Shutdown::Both);
}

#[test]
fn what_a_lost_session_left_undone_is_not_done() {
    let home = tempfile::tempdir().expect("room");
    for folder in ["served", "here"] {
        std::fs::create_dir(home.path().join(folder)).expect("room");
        make_tree(&home.path().join(folder).join("tree"));
        std::fs::write(home.path().join(folder).join("file"), noise(8 << 20)).expect("room");
    }
    let served = Served::new(ServeOptions::for_place(Place::Path(home.path().join("served"))));
    let here = |name: &str| Place::Path(home.path().join("here").join(name));
    for name in ["file", "tree"] {
        for (push, compares) in [(false, false), (true, false), (false, true)] {
            let host = Host::Served(cutter(served.address.clone()));
            let there = |path: &str| Place::Remote(Remote { host: host.clone(), path: path.into() });
            let target = if compares { name } else { "new" };
            let (source, target) =
                if push { (here(name), there(target)) } else { (there(name), here(target)) };
            let rate = Some(BYTES_PER_SECOND);
            let options = Options::default().with(|it| {
                it.tuning.bytes_per_second = rate;
                it.reporting.notes = true;
            });
            let job = if compares { Job::compare(source, target) } else { Job::copy(vec![source], target) };
            let copy = served.let_in(job).options(options);
            let held_up = AtomicUsize::new(0);
            let report = copy.run_reported(&|event| {
                // All that was told before the cut is told, at the pace of who listens.
                if matches!(event, Event::Note(_)) && held_up.fetch_add(1, Ordering::Relaxed) < LANES {
                    std::thread::sleep(HELD_UP);
                }
            });
            let row = format!("{name}, push {push}, compares {compares}: {report:?}");
            assert_eq!(report.exit_status, LOST, "{row}");
            let new = ["served", "here"].map(|folder| home.path().join(folder).join("new"));
            // A tree's folder is made at once, and goes on later.
            assert!(name == "tree" || new.iter().all(|path| !path.exists()), "{row}");
            new.iter().filter(|path| path.is_dir()).for_each(|path| {
                std::fs::remove_dir_all(path).expect("it is ours");
            });
        }
    }
}

/// One of the connections is never made: the others copy all meanwhile, and the session that follows must not take what
/// the lost one made for a folder to copy into.
#[test]
fn a_folder_that_a_lost_session_made_receives_nothing() {
    let home = tempfile::tempdir().expect("room");
    for folder in ["served", "here"] {
        std::fs::create_dir(home.path().join(folder)).expect("room");
        make_tree(&home.path().join(folder).join("tree"));
    }
    let served = Served::new(ServeOptions::for_place(Place::Path(home.path().join("served"))));
    let here = |name: &str| Place::Path(home.path().join("here").join(name));
    for silent in 1..5 {
        for push in [false, true] {
            let (first, _control) = mpsc::channel();
            let host = Host::Served(relay(served.address.clone(), Some(silent), first));
            let there = |path: &str| Place::Remote(Remote { host: host.clone(), path: path.into() });
            let (source, target) =
                if push { (here("tree"), there("new")) } else { (there("tree"), here("new")) };
            let copy = served.remote(vec![source], target).retry_for(Duration::from_secs(30));
            let copy = copy.peer_timeout(Duration::from_secs(1));
            let report = copy.run_reported(&|_| ());
            let row = format!("connection {silent}, push {push}: {report:?}");
            assert_eq!(report.exit_status, 0, "{row}");
            let new = home.path().join(if push { "served/new" } else { "here/new" });
            let names = |path: &Path| {
                let entries = std::fs::read_dir(path).expect("it was made").flatten();
                let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
                names.sort();
                names
            };
            assert_eq!(names(&new), names(&home.path().join("here/tree")), "{row}");
            std::fs::remove_dir_all(&new).expect("it is ours");
        }
    }
}
