//! A large file that is killed at random moments, on one host and between two: sender, receiver, or both. Then the same
//! command again: the target is exact, and what had come before does not come again, but for what was under way.
//!
//! `DATAPUMP_KILLS=200` does it that often; `DATAPUMP_SEED=7041` repeats the choices of one round.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::running::is_unlocked;
use crate::support::told::{Left, left};
use crate::support::{Home, expect, outcome};
use crate::wider_parts::random::{Random, seeds};
use crate::wider_parts::{pump_command, report, with_content};

const MIB: u64 = 1 << 20;
const BYTES: usize = 96 << 20 | 777;
const SLOW: &str = "--bwlimit=150MB";

/// Where the bytes go.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Here,
    Push,
    Pull,
}

const WAYS: [Way; 3] = [Way::Here, Way::Push, Way::Pull];

/// The side that is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Caller,
    Server,
    Both,
}

const VICTIMS: [Victim; 3] = [Victim::Caller, Victim::Server, Victim::Both];

impl Way {
    /// Lanes x (source depth + sink depth) x request size.
    fn bound_bytes(self) -> u64 {
        if self == Way::Here { 4 * MIB } else { 12 * MIB }
    }
}

struct Ground {
    home: Home,
    content: Vec<u8>,
    server: Option<(Child, String)>,
}

impl Ground {
    fn new() -> Ground {
        let home = Home::new();
        let mut content = Vec::new();
        for folder in ["here", "served"] {
            std::fs::create_dir(home.path(folder)).expect("room");
            let path = home.path(folder).join("source").display().to_string();
            content = with_content(&path, BYTES, 1);
        }
        Ground { home, content, server: None }
    }

    fn word(&self, name: &str) -> String {
        self.home.path(name).display().to_string()
    }

    /// Where the other host is; it is started if it was killed.
    fn address(&mut self) -> String {
        if let Some((_, address)) = &self.server {
            return address.clone();
        }
        let words = ["serve", &self.word("served"), "--ticket-file", &self.word("ticket")].map(String::from);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut child =
            pump_command(&words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it was built");
        let out = child.stdout.take().expect("a pipe");
        let line = BufReader::new(out).lines().next().expect("a line").expect("text");
        let address = line.strip_prefix("listening: ").expect("where it listens").to_owned();
        self.server = Some((child, address.clone()));
        address
    }

    /// The folder of the target.
    fn folder(&self, way: Way) -> PathBuf {
        self.home.path(if way == Way::Push { "served" } else { "here" })
    }

    fn command(&mut self, way: Way, more: &[&str]) -> Command {
        let mut words = vec!["copy".to_owned()];
        let here = |ground: &Ground, name: &str| ground.word(&format!("here/{name}"));
        if way == Way::Here {
            words.extend([here(self, "source"), here(self, "target")]);
        } else {
            let address = self.address();
            let there = |name: &str| format!("pump://{address}/{name}");
            words.extend(["--retry-for=0s".to_owned(), format!("--ticket-file={}", self.word("ticket"))]);
            words.extend(match way {
                Way::Push => [here(self, "source"), there("target")],
                _ => [there("source"), here(self, "target")],
            });
        }
        words.extend(more.iter().map(|word| (*word).to_owned()));
        pump_command(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn kill_server(&mut self) {
        if let Some((mut child, _)) = self.server.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Copies until so many bytes are told, and kills. Gives what is left, if the copy was not faster.
    fn kill(&mut self, way: Way, victim: Victim, at: u64) -> Option<Left> {
        let mut child =
            self.command(way, &[SLOW]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("built");
        let folder = self.folder(way);
        let start = Instant::now();
        let is_told = || left(&folder).is_some_and(|left| left.told(false) >= at);
        while !is_told() && child.try_wait().expect("it can be waited for").is_none() {
            assert!(start.elapsed() < Duration::from_secs(120), "{way:?} hangs");
            std::thread::sleep(Duration::from_millis(1));
        }
        if way != Way::Here && victim != Victim::Caller {
            self.kill_server();
        }
        if way == Way::Here || victim != Victim::Server {
            let _ = child.kill();
        }
        child.wait().expect("it ends");
        // The session of a caller that was killed ends when its connections do; it may have all that it needs.
        let writer_lives = way == Way::Push && victim == Victim::Caller;
        loop {
            let left = left(&folder)?;
            if is_free(&left) {
                return Some(left);
            }
            // Killed between the rename and the end of its journal: the copy was faster.
            if !writer_lives && !left.file.exists() {
                return None;
            }
            assert!(
                start.elapsed() < Duration::from_secs(120),
                "{way:?}: the temporary file is still in use"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.kill_server();
    }
}

fn is_free(left: &Left) -> bool {
    std::fs::File::open(&left.file).is_ok_and(|file| is_unlocked(&file))
}

#[test]
fn killed_at_any_moment_the_same_command_goes_on() {
    let mut ground = Ground::new();
    let (mut twice, mut most, mut kills) = (0, 0, 0);
    let seeds = seeds("resume", 12);
    for seed in seeds.clone() {
        let mut random = Random(seed);
        let (way, times) = (*random.pick(&WAYS), 1 + random.below(3));
        let mut told = 0;
        for _ in 0..times {
            let victim = *random.pick(&VICTIMS);
            let at = random.below(BYTES as u64);
            let row = format!("DATAPUMP_SEED={seed} {way:?} {victim:?} at {at}");
            let Some(left) = ground.kill(way, victim, at) else { break };
            let before = std::mem::replace(&mut told, left.told(false));
            let really = left.really(&ground.content);
            assert!(before <= told && told <= really, "{row}: {before}, {told} told, {really} there");
            assert!(really - told <= way.bound_bytes(), "{row}: {told} told, {really} there");
            (twice, most, kills) = (twice + really - told, most.max(really - told), kills + 1);
        }
        let row = format!("DATAPUMP_SEED={seed} {way:?}");
        let target = ground.folder(way).join("target");
        if target.exists() {
            told = 0; // it was faster than its killer
            std::fs::remove_file(&target).expect("it is ours");
        }
        let run = outcome(ground.command(way, &["--json"]), b"");
        expect(&run, 0, &[], &row);
        assert!(std::fs::read(&target).expect("it is there") == ground.content, "{row}: the target");
        assert!(left(&ground.folder(way)).is_none(), "{row}: the journal");
        let moved = report(&run)["bytes_moved"].as_u64().expect("a number");
        // Edges are moved to whole pages.
        assert!(moved <= BYTES as u64 - told + 64 * 4096, "{row}: {moved} moved, {told} told");
        std::fs::remove_file(&target).expect("it is ours");
    }
    let rounds = seeds.count();
    eprintln!("resume: {rounds} rounds, {kills} kills, {twice} bytes moved twice, at most {most} at a time");
}
