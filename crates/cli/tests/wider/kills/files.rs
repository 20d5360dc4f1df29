//! Killed and interrupted at random moments: never a wrong or half file under the final name, and the next run cleans
//! up and completes.
//!
//! `DATAPUMP_KILLS=200` does it that often; `DATAPUMP_SEED=7041` repeats the choices of one round.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::support::{Home, expect};
use crate::wider_parts::{leftovers, pump, pump_command, with_content};

const MIB: usize = 1 << 20;

/// The ways that a killed copy may have taken.
const WAYS: [&[&str]; 7] = [
    &[],
    &["--direct=always"],
    &["--direct=never", "--engine=threads"],
    &["--engine=inline", "--request-size=64KiB"],
    &["--verify"],
    &["--lanes=3"],
    &["--sync=none"],
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (bits ^ (bits >> 31)) % bound
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The seeds of the rounds: a different first one each day the suite runs, printed.
fn seeds() -> std::ops::Range<u64> {
    if let Some(seed) = number("DATAPUMP_SEED") {
        return seed..seed + 1;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let first = u64::from(now.subsec_nanos()) << 16;
    first..first + number("DATAPUMP_KILLS").unwrap_or(20)
}

/// A source, an old target, and how long a whole copy takes.
struct Ground {
    home: Home,
    old: Vec<u8>,
    new: Vec<u8>,
}

/// What stands under the final name.
#[derive(Debug, PartialEq)]
enum Found {
    Old,
    New,
}

impl Ground {
    fn new(bytes: usize) -> Ground {
        let home = Home::new();
        let new = with_content(&home.path("source").display().to_string(), bytes, 1);
        let old = with_content(&home.path("target").display().to_string(), bytes / 2 + 1, 2);
        Ground { home, old, new }
    }

    fn folder(&self) -> String {
        self.home.path("").display().to_string()
    }

    fn words<'a>(&self, way: &[&'a str]) -> Vec<String> {
        let places = ["source", "target"].map(|name| self.home.path(name).display().to_string());
        let words = ["copy".to_owned()].into_iter().chain(places);
        words.chain(way.iter().map(|word: &&'a str| (*word).to_owned())).collect()
    }

    fn start(&self, way: &[&str]) -> Child {
        let words = self.words(way);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = pump_command(&words);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("pump was built")
    }

    fn put_old(&self) {
        std::fs::write(self.home.path("target"), &self.old).expect("room");
    }

    /// Anything but one of the two whole files under the final name fails the test.
    fn found(&self, row: &str) -> Found {
        let found = std::fs::read(self.home.path("target")).unwrap_or_else(|error| panic!("{row}: {error}"));
        if found == self.old {
            Found::Old
        } else if found == self.new {
            Found::New
        } else {
            panic!("{row}: {} bytes that are neither the old nor the new file", found.len())
        }
    }

    /// Time that this way takes when nothing disturbs it: random moments are taken from a little more.
    fn whole(&self, way: &[&str]) -> Duration {
        let start = Instant::now();
        assert!(self.start(way).wait().expect("it ends").success(), "{way:?}");
        self.put_old();
        start.elapsed()
    }
}

fn signal(child: &Child, name: &str) {
    crate::wider_parts::program(&["kill", "-s", name, &child.id().to_string()]);
}

/// Waits for the random moment; the copy may be over before.
fn until_random_moment(random: &mut Random, whole: Duration) {
    let most = whole.as_micros() as u64 * 6 / 5;
    // No condition is waited for: any moment will do.
    std::thread::sleep(Duration::from_micros(random.below(most.max(1))));
}

#[test]
fn killed_at_any_moment_it_leaves_a_whole_file_and_the_next_run_completes() {
    let ground = Ground::new(64 * MIB + 777);
    let whole: Vec<Duration> = WAYS.iter().map(|way| ground.whole(way)).collect();
    let seeds = seeds();
    eprintln!("kills: seeds {seeds:?}");
    let (mut old, mut left) = (0, 0);
    for seed in seeds.clone() {
        let mut random = Random(seed);
        let choice = random.below(WAYS.len() as u64) as usize;
        let row = format!("DATAPUMP_SEED={seed} {:?}", WAYS[choice]);
        ground.put_old();
        let mut child = ground.start(WAYS[choice]);
        until_random_moment(&mut random, whole[choice]);
        child.kill().expect("it can be killed, or has ended");
        child.wait().expect("it ends");
        old += u32::from(ground.found(&row) == Found::Old);
        let leftovers_before = leftovers(&ground.folder());
        // The temporary file and its journal.
        assert!(leftovers_before.len() <= 2, "{row}: {leftovers_before:?}");
        left += leftovers_before.len();
        let words = ground.words(&[]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        expect(&pump(&words), 0, &[], &row);
        assert_eq!(ground.found(&row), Found::New, "{row}: the next run completes");
        assert_eq!(leftovers(&ground.folder()), [""; 0], "{row}: the next run cleans");
    }
    eprintln!("kills: the old file stood {old} times, {left} leftovers were cleaned, of {}", seeds.count());
}

#[test]
fn interrupted_at_any_moment_it_leaves_nothing_behind() {
    // Too small to be gone on with.
    let ground = Ground::new(48 * MIB + 777);
    let whole: Vec<Duration> = WAYS.iter().map(|way| ground.whole(way)).collect();
    let seeds = seeds();
    eprintln!("signals: seeds {seeds:?}");
    let mut interrupted = 0;
    for seed in seeds.clone() {
        let mut random = Random(seed);
        let choice = random.below(WAYS.len() as u64) as usize;
        let name = ["INT", "TERM"][random.below(2) as usize];
        let row = format!("DATAPUMP_SEED={seed} SIG{name} {:?}", WAYS[choice]);
        ground.put_old();
        let mut child = ground.start(WAYS[choice]);
        until_random_moment(&mut random, whole[choice]);
        if child.try_wait().expect("it can be waited for").is_none() {
            signal(&child, name);
        }
        let status = child.wait().expect("it ends");
        let found = ground.found(&row);
        assert_eq!(leftovers(&ground.folder()), [""; 0], "{row}: nothing is left behind");
        match status.code() {
            Some(0) => assert_eq!(found, Found::New, "{row}"),
            Some(20) => assert_eq!(found, Found::Old, "{row}"),
            // Before the program takes signals over it ends as any program does, and has done nothing yet.
            None => assert_eq!(found, Found::Old, "{row}: {status}"),
            Some(_) => panic!("{row}: {status}"),
        }
        interrupted += u32::from(status.code() == Some(20));
    }
    eprintln!("signals: status 20 in {interrupted} of {} rounds", seeds.count());
}

#[test]
fn a_leftover_is_removed_under_its_own_name_only() {
    let ground = Ground::new(MIB);
    let mut child = ground.start(&["--bwlimit=100kB"]);
    wait_until("the temporary file", || !leftovers(&ground.folder()).is_empty());
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(leftovers(&ground.folder()).len(), 1);
    std::fs::remove_file(ground.home.path("source")).expect("it is there");
    // Another name has another temporary name: it is not touched.
    let target = ground.home.path("other").display().to_string();
    let source = ground.home.path("target").display().to_string();
    expect(&pump(&["copy", &source, &target]), 0, &[], "another name");
    assert_eq!(leftovers(&ground.folder()).len(), 1, "the leftover of another name");
    let target = ground.home.path("target").display().to_string();
    expect(&pump(&["copy", "null:1MiB,zero", &target]), 0, &[], "the same name");
    assert_eq!(leftovers(&ground.folder()), [""; 0]);
    assert!(Path::new(&target).metadata().expect("the copy").len() == MIB as u64);
}

#[test]
fn two_pumps_do_not_mix() {
    let ground = Ground::new(4 * MIB);
    let mut child = ground.start(&["--bwlimit=2MB"]);
    wait_until("the temporary file", || !leftovers(&ground.folder()).is_empty());
    let words = ground.words(&[]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let run = pump(&words);
    expect(&run, 1, &["another pump is writing it"], "the second");
    assert_eq!(ground.found("the second"), Found::Old);
    assert!(child.wait().expect("it ends").success());
    assert_eq!(ground.found("the first"), Found::New);
    assert_eq!(leftovers(&ground.folder()), [""; 0]);
}

/// Polls a condition; a suite that hangs says for what it waits.
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "no {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
