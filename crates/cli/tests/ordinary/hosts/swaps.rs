//! Somebody swaps what stands in a served folder for a symbolic link that leads out of it, while clients write there:
//! nothing outside is ever written, replaced or removed.
//!
//! `DATAPUMP_KILLS=200` makes that many rounds.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::support::listing::listing;
use crate::support::serving::Serving;
use crate::support::{Home, expect, make_folder, noise_file};
use rustix::fs::{CWD, RenameFlags};

const ROUNDS: u64 = 20;

fn rounds() -> u64 {
    std::env::var("DATAPUMP_KILLS").ok().and_then(|number| number.parse().ok()).unwrap_or(ROUNDS)
}

/// Swaps pairs of names for each other, over and over, until it is dropped.
struct Swapper {
    stop: Arc<AtomicBool>,
    swaps: Arc<AtomicU64>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Swapper {
    fn start(pairs: Vec<(PathBuf, PathBuf)>) -> Swapper {
        let (stop, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (told, count) = (Arc::clone(&stop), Arc::clone(&swaps));
        let swap = move |(one, other): &(PathBuf, PathBuf)| {
            let exchanged = rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
            // Where one of the two does not stand there, the other takes its place.
            exchanged.is_ok() || rustix::fs::rename(one, other).or(rustix::fs::rename(other, one)).is_ok()
        };
        let thread = thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                let swapped = pairs.iter().filter(|pair| swap(pair)).count();
                count.fetch_add(swapped as u64, Ordering::Relaxed);
                thread::yield_now();
            }
        });
        Swapper { stop, swaps, thread: Some(thread) }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic while swapping");
        }
    }
}

/// What stands in the served folder, each beside a link of its kind that leads out.
fn make_ground(home: &Home) -> Vec<(PathBuf, PathBuf)> {
    for folder in ["served", "victim", "victim/sub", "tree", "tree/sub", "served/folder"] {
        make_folder(home, folder);
    }
    for file in ["victim/kept", "victim/sub/kept", "victim/file", "tree/one", "tree/sub/two", "file"] {
        noise_file(home, file, 5_000, 1);
    }
    noise_file(home, "served/plain", 10, 2);
    let pair = |name: &str| {
        let (here, link) = (home.path(format!("served/{name}")), home.path(format!("served/{name}.link")));
        symlink(home.path("victim"), &link).expect("room for a link");
        (here, link)
    };
    // The last does not stand there: its link comes and goes.
    ["folder", "plain", "nothing"].map(pair).to_vec()
}

/// What two clients do at a time: the flags, what is copied, where it goes.
const COPIES: [(&[&str], &str, &str); 7] = [
    (&[], "file", "plain"),
    (&[], "file", "folder/file"),
    (&["--inplace"], "file", "folder/kept"),
    (&[], "tree", "nothing"),
    (&["-T", "--delete"], "tree", "plain"),
    (&["-T", "--delete"], "tree", "folder"),
    (&["--delete"], "tree/.", "nothing"),
];

#[test]
fn nothing_outside_is_written_while_names_of_targets_are_swapped_for_links() {
    let home = Home::new();
    let pairs = make_ground(&home);
    let serving = Serving::new(&home, &[]);
    let victim = listing(&home.path("victim"));
    let swapper = Swapper::start(pairs);
    let copies = |round: u64, client: usize| {
        for number in 0..COPIES.len() {
            let (flags, source, target) = COPIES[(number + client * 3) % COPIES.len()];
            let target = serving.at(target);
            let words = ["copy", "--retry-for", "0s", "--ticket-file", "ticket", source, &target];
            let run = home.pump(&[&words[..], flags].concat());
            expect(&run, run.status, &[], &format!("round {round}: {flags:?} {source} to {target}"));
        }
    };
    for round in 0..rounds() {
        thread::scope(|scope| (0..2).for_each(|client| drop(scope.spawn(move || copies(round, client)))));
        assert_eq!(listing(&home.path("victim")), victim, "round {round}");
    }
    assert!(swapper.swaps.load(Ordering::Relaxed) > 0, "nothing was ever swapped");
}
