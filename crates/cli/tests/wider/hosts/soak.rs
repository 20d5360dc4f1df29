//! Sessions beside one another through boxes that damage, lose and hold back bytes, cut connections and forget them:
//! each copy ends in time, well or with words, what stands is whole, and no side keeps anything of it.
//!
//! `DATAPUMP_SESSIONS=1000` does it that often; `DATAPUMP_SEED=7041` repeats the choices of one session.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::support::middle_box::{MiddleBox, Spoiled, Spoils};
use crate::support::running::{BESIDES_BYTES, Running, eventually, memory_max_bytes};
use crate::support::serving::Serving;
use crate::support::{Home, make_folder, noise, noise_file};
use crate::wider_parts::judge::{same_tree, whatever_is_there_is_whole};
use crate::wider_parts::program;
use crate::wider_parts::random::{Random, seeds_of};

const SESSIONS: u64 = 40;
/// How many wait beside one another.
const BESIDE: usize = 8;
const PEER_TIMEOUT: Duration = Duration::from_secs(2);
const RETRY_FOR: Duration = Duration::from_secs(20);
/// What the machine may take besides: the sessions have it together, and other tests run.
const BUSY: Duration = Duration::from_secs(30);
const SERVER_BYTES: u64 = 256 << 20;
const LOOK_EACH: Duration = Duration::from_millis(20);

/// What a side may take of memory where it was given so much.
const fn most_bytes(memory_bytes: u64) -> u64 {
    memory_bytes * 5 / 4 + BESIDES_BYTES
}

const HOW: [Spoils; 7] = [
    Spoils::Swallows,
    Spoils::Forgets,
    Spoils::StopsReading,
    Spoils::Damages,
    Spoils::ClosesSender,
    Spoils::ClosesReceiver,
    Spoils::Cuts,
];

/// One session, by its seed.
#[derive(Clone, Debug)]
struct Choice {
    is_push: bool,
    source: &'static str,
    is_sealed: bool,
    memory_bytes: u64,
    words: Vec<String>,
    spoiled: Vec<Spoiled>,
}

impl Choice {
    fn of(seed: u64) -> Choice {
        let mut random = Random(seed);
        let connections = *random.pick(&[1, 2, 4]);
        let ahead = *random.pick(&["auto", "always", "never"]);
        let block_kib = *random.pick(&[64, 256, 1024]);
        let memory_bytes = *random.pick(&[64 << 20, 256 << 20]);
        let words = [
            format!("--connections={connections}"),
            format!("--read-ahead={ahead}"),
            format!("--request-size={block_kib}KiB"),
            format!("--memory={memory_bytes}B"),
        ];
        Choice {
            is_push: random.below(2) == 0,
            source: random.pick::<&str>(&["file", "tree", "mixed"]),
            is_sealed: random.below(4) > 0,
            memory_bytes,
            words: words.to_vec(),
            spoiled: (0..=random.below(3)).map(|_| spoiled(&mut random, 2 * connections + 2)).collect(),
        }
    }
}

fn spoiled(random: &mut Random, connections: u64) -> Spoiled {
    let how = match random.below(8) {
        0 => Spoils::Stalls(Duration::from_millis(100 + random.below(4000))),
        _ => *random.pick(&HOW),
    };
    // As often among the first bytes as among millions.
    let most = 1 << (4 + random.below(18));
    Spoiled {
        connection: random.below(connections),
        is_of_client: random.below(2) == 0,
        at: random.below(most),
        how,
    }
}

/// What all sessions came to.
#[derive(Debug, Default)]
struct Tally {
    sessions: u64,
    spoiled: u64,
    again: u64,
    lost: u64,
    longest: Duration,
    client_bytes: u64,
}

struct Ground {
    home: Home,
    sealed: Serving,
    open: Serving,
}

impl Ground {
    fn new() -> Ground {
        let home = Home::new();
        for folder in ["served", "pulled", "tree", "mixed", "mixed/more"] {
            make_folder(&home, folder);
        }
        noise_file(&home, "file", 12_000_000, 1);
        for number in 0..300 {
            let content = noise(number * 37 % 9000, number as u64 + 1);
            std::fs::write(home.path(format!("tree/{number}")), content).expect("room");
        }
        for number in 0..40 {
            let content = noise(number * 20_011, number as u64 + 1);
            std::fs::write(home.path(format!("mixed/more/{number}")), content).expect("room");
        }
        noise_file(&home, "mixed/large", 5_000_001, 2);
        for name in ["file", "tree", "mixed"] {
            let paths = [home.path(name), home.path("served")].map(|path| path.display().to_string());
            program(&["cp", "--archive", &paths[0], &paths[1]]);
        }
        let memory = format!("--memory={SERVER_BYTES}B");
        let words = [&*memory, "--peer-timeout=2s", "--max-sessions=64"];
        let sealed = Serving::new(&home, &words);
        let open = Serving::start(home.command(&[&["serve", "served", "--insecure"], &words[..]].concat()));
        Ground { home, sealed, open }
    }

    /// One session to its end.
    fn session(&self, seed: u64, tally: &Mutex<Tally>) {
        let choice = Choice::of(seed);
        let row = format!("DATAPUMP_SEED={seed}: {choice:?}");
        let serving = if choice.is_sealed { &self.sealed } else { &self.open };
        let middle = MiddleBox::new(&serving.address, &choice.spoiled);
        let (name, source) = (seed.to_string(), choice.source.to_owned());
        let (from, to, lands) = if choice.is_push {
            (source, middle.at(&name), self.home.path(format!("served/{name}")))
        } else {
            (middle.at(&source), format!("pulled/{name}"), self.home.path(format!("pulled/{name}")))
        };
        let way_in = if choice.is_sealed { "--ticket-file=ticket" } else { "--insecure" };
        let times = [
            format!("--peer-timeout={}s", PEER_TIMEOUT.as_secs()),
            format!("--retry-for={}s", RETRY_FOR.as_secs()),
        ];
        let words =
            [&["copy".to_owned(), way_in.to_owned()][..], &times, &choice.words, &[from, to]].concat();
        let mut command = self.home.command(&words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = Running::start_as_it_is(command);
        let (began, mut bytes) = (Instant::now(), 0);
        // Each thing that is spoiled may have to be missed before the next is met.
        let most = RETRY_FOR + 2 * PEER_TIMEOUT * (choice.spoiled.len() as u32 + 1) + BUSY;
        while !running.has_ended() {
            bytes = memory_max_bytes(running.id()).unwrap_or(0).max(bytes);
            assert!(began.elapsed() < most, "it hangs: {row}: {}", running.err());
            std::thread::sleep(LOOK_EACH);
        }
        let (took, ended) = (began.elapsed(), running.end());
        let row = format!("{row}: {} in {took:?}: {}", ended.status, ended.err);
        assert!(!ended.err.contains("panicked"), "{row}");
        assert!(bytes <= most_bytes(choice.memory_bytes), "it took {bytes} bytes: {row}");
        self.judge(&choice, &lands, (ended.status, &row));
        let mut tally = tally.lock().expect("no session failed");
        tally.sessions += 1;
        tally.spoiled += u64::from(middle.spoiled() > 0);
        tally.again += u64::from(ended.err.contains("trying again"));
        tally.lost += u64::from(ended.status != 0);
        tally.longest = tally.longest.max(took);
        tally.client_bytes = tally.client_bytes.max(bytes);
    }

    fn judge(&self, choice: &Choice, lands: &PathBuf, (status, row): (i32, &str)) {
        let source = self.home.path(choice.source);
        match status {
            0 if choice.source == "file" => {
                program(&["cmp", &source.display().to_string(), &lands.display().to_string()]);
            }
            0 => same_tree(&source, lands, row),
            10 if choice.source == "file" => {
                assert!(!lands.exists() || std::fs::read(&source).ok() == std::fs::read(lands).ok(), "{row}");
            }
            10 if lands.exists() => drop(whatever_is_there_is_whole(&source, lands, row)),
            10 => {}
            // The first words of a host that does not encrypt, damaged, are those of another program.
            5 if !choice.is_sealed && choice.spoiled.iter().any(Spoiled::damages_first_words) => {}
            _ => panic!("{row}"),
        }
        program(&["rm", "-rf", &lands.display().to_string()]);
    }
}

fn threads(id: u32) -> usize {
    std::fs::read_dir(format!("/proc/{id}/task")).expect("it runs").count()
}

#[test]
fn sessions_end_in_time_whatever_becomes_of_their_connections() {
    let ground = Ground::new();
    let servers = [ground.sealed.id(), ground.open.id()];
    let at_rest = servers.map(threads);
    let seeds = Mutex::new(seeds_of("DATAPUMP_SESSIONS", "sessions that are spoiled", SESSIONS));
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for _ in 0..BESIDE {
            scope.spawn(|| {
                while let Some(seed) = { seeds.lock().expect("no panic").next() } {
                    ground.session(seed, &tally);
                }
            });
        }
    });
    let tally = tally.into_inner().expect("no session failed");
    eprintln!("{tally:?}");
    assert!(tally.lost * 4 <= tally.sessions, "most connections were spoiled once: {tally:?}");
    for (id, at_rest) in servers.into_iter().zip(at_rest) {
        eventually("the server keeps nothing of a session", || threads(id) <= at_rest);
        let took = memory_max_bytes(id).expect("it runs");
        eprintln!("the server's memory: {took} bytes");
        assert!(took <= most_bytes(SERVER_BYTES), "the server took {took} bytes");
    }
}
