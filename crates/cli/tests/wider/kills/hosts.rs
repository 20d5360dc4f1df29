//! Copies of trees between two hosts, of which one or both are killed at random moments: whatever stands under a final
//! name is whole, nothing outside of the target changes, and the same command goes on to the end.
//!
//! `DATAPUMP_KILLS=200` does it that often; `DATAPUMP_SEED=7041` repeats the choices of one round.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::support::listing::{differences, listing, paths, stamps, still_there};
use crate::support::running::eventually;
use crate::support::serving::Serving;
use crate::support::{Home, expect, make_folder, outcome};
use crate::wider_parts::judge::{
    is_ours, no_leftovers, rsync_difference, same_tree, whatever_is_there_is_whole,
};
use crate::wider_parts::random::{Random, seeds};
use crate::wider_parts::tree::make_tree;
use crate::wider_parts::{program, report};

const ENTRIES: usize = 1500;

/// The side that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Client,
    Server,
    Both,
}

const VICTIMS: [Victim; 3] = [Victim::Client, Victim::Server, Victim::Both];

/// Which side writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Push,
    Pull,
}

const WAYS: [Way; 2] = [Way::Push, Way::Pull];

/// Regular files that stand under their final names: number and size.
type Files = BTreeMap<PathBuf, (u64, u64)>;

/// What the rounds came to.
#[derive(Debug, Default)]
struct Tally {
    rounds: u64,
    killed: u64,
    complete_files: u64,
    kept_files: u64,
    complete_bytes: u64,
    kept_bytes: u64,
    moved_bytes: u64,
    needed_bytes: u64,
    told_twice_bytes: u64,
}

/// A tree on each side, and how long a whole copy takes.
struct Ground {
    home: Home,
    whole: Duration,
    tree_bytes: u64,
    /// When what was written counts after a kill: at once (none), or behind a sync.
    sync: &'static str,
    outside: BTreeMap<PathBuf, (u64, i64, i64)>,
}

impl Ground {
    fn new() -> Ground {
        let home = Home::new();
        for folder in ["client", "served", "served/outside", "client/outside"] {
            make_folder(&home, folder);
            std::fs::write(home.path(folder).join("untouched"), folder).expect("room");
        }
        make_tree(&home.path("client/tree"), 41, ENTRIES);
        let shown = |name: &str| home.path(name).display().to_string();
        program(&["cp", "--archive", &shown("client/tree"), &shown("served/tree")]);
        let (whole, sync) = (Duration::ZERO, "end");
        let mut ground = Ground { home, whole, tree_bytes: 0, sync, outside: BTreeMap::new() };
        ground.tree_bytes = ground.bytes_of_the_tree();
        ground.outside = ground.stamps_outside();
        let (serving, begun) = (ground.serve(), Instant::now());
        expect(&outcome(ground.command(&serving, Way::Push), b""), 0, &[], "undisturbed");
        ground.whole = begun.elapsed();
        ground.forget();
        ground
    }

    fn serve(&self) -> Serving {
        Serving::new(&self.home, &[])
    }

    /// Bytes of all files, each once however many names it has.
    fn bytes_of_the_tree(&self) -> u64 {
        let tree = self.home.path("client/tree");
        let of = |path: PathBuf| {
            let meta = tree.join(path).symlink_metadata().expect("nobody removes it");
            (meta.ino(), if meta.is_file() { meta.len() } else { 0 })
        };
        paths(&tree).into_iter().map(of).collect::<BTreeMap<_, _>>().values().sum()
    }

    fn stamps_outside(&self) -> BTreeMap<PathBuf, (u64, i64, i64)> {
        stamps(&self.home.path("")).into_iter().filter(|(path, _)| path.ends_with("untouched")).collect()
    }

    fn lands(&self, way: Way) -> PathBuf {
        self.home.path(if way == Way::Push { "served/new" } else { "client/new" })
    }

    fn command(&self, serving: &Serving, way: Way) -> std::process::Command {
        let (source, target) = match way {
            Way::Push => ("client/tree".to_owned(), serving.at("new")),
            Way::Pull => (serving.at("tree"), "client/new".to_owned()),
        };
        // A side that is left alone soon gives up: the other one comes back with another ticket.
        let words = ["copy", "--json", "--retry-for=0s", "--peer-timeout=5s", "--ticket-file", "ticket"];
        let sync = format!("--sync={}", self.sync);
        self.home.command(&[&words[..], &[&sync, &source, &target]].concat())
    }

    /// The list of what was committed goes last of all: a kill behind that finds nothing left to do.
    fn is_over(&self, way: Way) -> bool {
        let lands = self.lands(way);
        lands.exists() && !lands.join(".pump-job").exists()
    }

    fn forget(&self) {
        for way in WAYS {
            let lands = self.lands(way).display().to_string();
            program(&["rm", "-rf", &lands]);
        }
    }

    /// Starts, waits for a moment by chance, and kills. Gives the client's end, and the server if it lives.
    fn disturbed(&self, way: Way, victim: Victim, random: &mut Random) -> (ExitStatus, Option<Serving>) {
        let mut serving = self.serve();
        let mut command = self.command(&serving, way);
        let mut client = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("pump was built");
        // No condition is waited for: any moment will do.
        let most = self.whole.as_micros() as u64 * 6 / 5;
        std::thread::sleep(Duration::from_micros(random.below(most.max(1))));
        if victim != Victim::Client {
            serving.kill();
        }
        if victim != Victim::Server {
            client.kill().expect("it can be killed, or has ended");
        }
        let status = ended(&mut client);
        (status, (victim == Victim::Client).then_some(serving))
    }

    /// Files that are there, each of which must be whole.
    fn complete(&self, way: Way, row: &str) -> Files {
        let lands = self.lands(way);
        if !lands.exists() {
            return Files::new();
        }
        whatever_is_there_is_whole(&self.home.path("client/tree"), &lands, row);
        self.files(way)
    }

    fn files(&self, way: Way) -> Files {
        let lands = self.lands(way);
        let facts = |path: PathBuf| {
            let full = lands.join(&path);
            let meta = still_there(&full, full.symlink_metadata())?;
            meta.is_file().then(|| (path, (meta.ino(), meta.len())))
        };
        paths(&lands).into_iter().filter(|path| !is_ours(path)).filter_map(facts).collect()
    }

    /// The same command, until the end.
    fn goes_on(&self, serving: &Serving, way: Way, found: &Files, tally: &mut Tally, row: &str) {
        let run = outcome(self.command(serving, way), b"");
        expect(&run, 0, &[], row);
        self.is_exact(way, row);
        let now = self.files(way);
        let kept: Files = found.iter().filter(|(path, one)| now.get(*path) == Some(one)).map(owned).collect();
        let report = report(&run);
        let number = |name: &str| report[name].as_u64().unwrap_or_else(|| panic!("{row}: no {name}"));
        tally.complete_files += found.len() as u64;
        tally.kept_files += kept.len() as u64;
        tally.complete_bytes += bytes(found);
        tally.kept_bytes += bytes(&kept);
        tally.moved_bytes += number("bytes_moved");
        tally.needed_bytes += self.tree_bytes - bytes(&kept);
        tally.told_twice_bytes += number("bytes_moved_twice");
    }

    fn is_exact(&self, way: Way, row: &str) {
        let (tree, lands) = (self.home.path("client/tree"), self.lands(way));
        assert_eq!(rsync_difference(&tree, &lands, &[]), "", "{row}: rsync");
        assert!(lands.join("tree").symlink_metadata().is_err(), "{row}: nested");
        no_leftovers(&lands, row);
    }

    /// Nothing beside the target was touched, and nothing was left there.
    fn is_clean(&self, row: &str) {
        assert_eq!(self.stamps_outside(), self.outside, "{row}: outside of the target");
        for folder in ["client", "served"] {
            let names = std::fs::read_dir(self.home.path(folder)).expect("the folder").flatten();
            let ours: Vec<_> =
                names.map(|entry| entry.file_name()).filter(|it| is_ours(it.as_ref())).collect();
            assert!(ours.is_empty(), "{row}: beside the copy in {folder}: {ours:?}");
        }
        let (one, other) = ("client/tree", "served/tree");
        let found = differences(&listing(&self.home.path(one)), &listing(&self.home.path(other)));
        assert!(found.is_empty(), "{row}: a source was changed: {found:?}");
    }
}

fn owned((path, one): (&PathBuf, &(u64, u64))) -> (PathBuf, (u64, u64)) {
    (path.clone(), *one)
}

/// Bytes of the files, each once.
fn bytes(files: &Files) -> u64 {
    files.values().copied().collect::<BTreeMap<u64, u64>>().values().sum()
}

fn ended(client: &mut Child) -> ExitStatus {
    let mut status = None;
    eventually("the client ends", || {
        status = client.try_wait().expect("it can be waited for");
        status.is_some()
    });
    status.expect("it has ended")
}

impl Tally {
    fn tell(&self) {
        let Tally { rounds, killed, complete_files, kept_files, .. } = self;
        eprintln!("{rounds} rounds, {killed} of them disturbed in the middle, nothing lost");
        eprintln!("of {complete_files} files that were complete, {kept_files} were kept");
        let Tally { complete_bytes, kept_bytes, .. } = self;
        eprintln!(
            "of {complete_bytes} bytes that were complete, {} were moved twice",
            complete_bytes - kept_bytes
        );
        let Tally { moved_bytes, needed_bytes, told_twice_bytes, .. } = self;
        eprintln!("the second runs moved {moved_bytes} bytes where {needed_bytes} were left to move");
        eprintln!("and told of {told_twice_bytes} bytes moved twice");
    }
}

/// One round: killed once, then to the end.
fn round(ground: &Ground, seed: u64, tally: &mut Tally) {
    let mut random = Random(seed);
    let (way, victim) = (*random.pick(&WAYS), *random.pick(&VICTIMS));
    let row = format!("DATAPUMP_SEED={seed} {way:?}, {victim:?} killed");
    ground.forget();
    tally.rounds += 1;
    let (status, left) = ground.disturbed(way, victim, &mut random);
    let serving = left.unwrap_or_else(|| ground.serve());
    // A session whose client was killed may write for a moment yet.
    let found = ground.complete_when_quiet(way, &row);
    if status.success() || ground.is_over(way) {
        // Done before the moment came: what follows would be a second copy below.
        same_tree(&ground.home.path("client/tree"), &ground.lands(way), &row);
    } else {
        tally.killed += 1;
        ground.goes_on(&serving, way, &found, tally, &row);
    }
    ground.is_clean(&row);
}

impl Ground {
    fn complete_when_quiet(&self, way: Way, row: &str) -> Files {
        let mut before = Files::new();
        eventually("nothing more arrives", || {
            let now = if self.lands(way).exists() { self.files(way) } else { Files::new() };
            let is_quiet = now == before;
            before = now;
            std::thread::sleep(Duration::from_millis(20));
            is_quiet
        });
        self.complete(way, row)
    }
}

#[test]
fn whoever_is_killed_the_same_command_goes_on() {
    let mut ground = Ground::new();
    let (mut at_once, mut behind_syncs) = (Tally::default(), Tally::default());
    for (index, seed) in seeds("kills of two hosts", 20).enumerate() {
        let (sync, tally) = if index % 2 == 0 { ("none", &mut at_once) } else { ("end", &mut behind_syncs) };
        ground.sync = sync;
        round(&ground, seed, tally);
    }
    [&at_once, &behind_syncs].iter().for_each(|tally| tally.tell());
    let Tally { complete_files, kept_files, .. } = at_once;
    // Marks lag behind files by a moment, which is longer where others have the CPUs: 78 to 89 % with five or six tests
    // at once, and none without marks.
    assert!(kept_files * 2 >= complete_files, "only {kept_files} of {complete_files} files were kept");
}

#[test]
fn killed_again_and_again_it_still_arrives() {
    let ground = Ground::new();
    for seed in seeds("repeated kills of two hosts", 20).step_by(5) {
        let mut random = Random(seed);
        let way = *random.pick(&WAYS);
        let row = format!("DATAPUMP_SEED={seed} {way:?}");
        ground.forget();
        for _ in 0..5 {
            let victim = *random.pick(&VICTIMS);
            let (status, _) = ground.disturbed(way, victim, &mut random);
            ground.complete_when_quiet(way, &row);
            if status.success() || ground.is_over(way) {
                break;
            }
        }
        if ground.is_over(way) {
            same_tree(&ground.home.path("client/tree"), &ground.lands(way), &row);
        } else {
            ground.goes_on(&ground.serve(), way, &Files::new(), &mut Tally::default(), &row);
        }
        ground.is_clean(&row);
    }
}
