//! Records copies of which progress is shown, for the judge of the time left: `bench/time-left.ndjson`, a line a copy.
//! The judge is a test of the meter (`crates/cli/src/output/meter/time_left.rs`).
//!
//! Files, trees, copies that go on, copies to and from another process; as fast as they are and held to a rate; some
//! are slowed down when half of their time is over (stopped for half of each 200 ms), which nobody can foresee.
//!
//! Must not know: how the time left is found.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::Value;

use crate::steps::Steps;

const ROUNDS: u32 = 5;
const LARGE_BYTES: u64 = 4 << 30;
const SMALL_FILES: u64 = 80_000;
const MIXED_FILES: u64 = 6_000;
/// Those that are held to a rate take 20 s.
const MIDDLE: Duration = Duration::from_secs(9);

/// A copy: what it is called, its source, where to, its options, how it is treated.
struct Recorded {
    kind: &'static str,
    source: &'static str,
    target: &'static str,
    options: &'static [&'static str],
    treatment: Treatment,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Treatment {
    Usual,
    /// An earlier one is ended in its middle, and this one goes on.
    Resumed,
    /// Slowed down from its middle on.
    Throttled,
}

const HELD: &[&str] = &["--bwlimit=200MB"];
const TREE_HELD: &[&str] = &["--bwlimit=60MB"];

const RECORDED: [Recorded; 10] = [
    Recorded::new("file", ("large", "copy"), &[], Treatment::Usual),
    Recorded::new("file, held to a rate", ("large", "copy"), HELD, Treatment::Usual),
    Recorded::new("tree of small files", ("small", "copy"), &[], Treatment::Usual),
    Recorded::new("tree of all sizes", ("mixed", "copy"), &["--bwlimit=150MB"], Treatment::Usual),
    Recorded::new("file, resumed", ("large", "copy"), HELD, Treatment::Resumed),
    Recorded::new("tree, resumed", ("small", "copy"), TREE_HELD, Treatment::Resumed),
    Recorded::new("file, pushed", ("large", "SERVER/copy"), &[], Treatment::Usual),
    Recorded::new("tree, pulled", ("SERVER/small", "copy"), TREE_HELD, Treatment::Usual),
    Recorded::new("file, throttled midway", ("large", "copy"), HELD, Treatment::Throttled),
    Recorded::new("tree, throttled midway", ("small", "copy"), TREE_HELD, Treatment::Throttled),
];

impl Recorded {
    const fn new(
        kind: &'static str,
        (source, target): (&'static str, &'static str),
        options: &'static [&'static str],
        treatment: Treatment,
    ) -> Recorded {
        Recorded { kind, source, target, options, treatment }
    }
}

/// A copy as it was shown.
#[derive(Serialize)]
struct Row {
    kind: &'static str,
    round: u32,
    is_throttled: bool,
    /// When it ended.
    elapsed_ns: u64,
    /// Nanoseconds, bytes, all bytes or null, files, all files or null.
    events: Vec<[Option<u64>; 5]>,
}

/// Records them all, of `target/release/pump`; half an hour, and 20 GiB.
pub fn record(root: &Path) -> Result<()> {
    let mut steps = Steps::new(root, None);
    let ground = Ground::new(root)?;
    let path = root.join("bench/time-left.ndjson");
    let mut rows = File::create(&path).with_context(|| format!("make '{}'", path.display()))?;
    for round in 1..=ROUNDS {
        for recorded in &RECORDED {
            let row = ground.record(recorded, round)?;
            steps.say(&format!(
                "{} {round}: {:.1} s, {} events",
                row.kind,
                row.elapsed_ns as f64 / 1e9,
                row.events.len()
            ))?;
            writeln!(rows, "{}", serde_json::to_string(&row)?)?;
        }
    }
    steps.close()
}

/// A folder with the sources, and a server of it. It goes with this.
struct Ground {
    folder: PathBuf,
    pump: PathBuf,
    server: Child,
    address: String,
}

impl Ground {
    fn new(root: &Path) -> Result<Ground> {
        let folder = root.join("target/time-left");
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder)?;
        let mut random = 1;
        write_noise(&folder.join("large"), LARGE_BYTES, &mut random)?;
        tree(&folder.join("small"), SMALL_FILES, (1 << 10, 64 << 10), &mut random)?;
        tree(&folder.join("mixed"), MIXED_FILES, (1 << 10, 4 << 20), &mut random)?;
        let pump = root.join("target/release/pump");
        let words = ["serve", ".", "--ticket-file", "ticket", "--listen", "127.0.0.1:0"];
        let mut server = Command::new(&pump)
            .args(words)
            .current_dir(&folder)
            .stdout(Stdio::piped())
            .spawn()
            .context("start a server")?;
        let mut line = String::new();
        BufReader::new(server.stdout.take().context("its output")?).read_line(&mut line)?;
        let address =
            line.trim().strip_prefix("listening: ").with_context(|| format!("no address in '{line}'"))?;
        let address = format!("pump://{address}");
        Ok(Ground { folder, pump, server, address })
    }

    fn record(&self, recorded: &Recorded, round: u32) -> Result<Row> {
        let target = self.folder.join("copy");
        drop(fs::remove_dir_all(&target));
        drop(fs::remove_file(&target));
        drop(Command::new("sync").status());
        std::thread::sleep(Duration::from_secs(3));
        if recorded.treatment == Treatment::Resumed {
            let mut first = self.copy(recorded)?;
            std::thread::sleep(MIDDLE);
            first.kill()?;
            first.wait()?;
        }
        let mut copy = self.copy(recorded)?;
        let lines = BufReader::new(copy.stdout.take().context("its output")?);
        let throttle = (recorded.treatment == Treatment::Throttled).then(|| throttle(copy.id()));
        let (mut events, mut elapsed_ns) = (Vec::new(), 0);
        for line in lines.lines() {
            let event: Value = serde_json::from_str(&line?)?;
            let of = |name: &str| event[name].as_u64();
            match event["event"].as_str() {
                Some("progress") => {
                    events.push(["elapsed_ns", "bytes", "bytes_total", "files", "files_total"].map(of));
                }
                Some("report") => elapsed_ns = of("elapsed_ns").context("a report has a time")?,
                _ => {}
            }
        }
        let status = copy.wait()?;
        ensure!(status.success(), "{}: {status}", recorded.kind);
        drop(throttle.map(std::thread::JoinHandle::join));
        let is_throttled = recorded.treatment == Treatment::Throttled;
        Ok(Row { kind: recorded.kind, round, is_throttled, elapsed_ns, events })
    }

    fn copy(&self, recorded: &Recorded) -> Result<Child> {
        let place = |name: &str| name.replace("SERVER", &self.address);
        Command::new(&self.pump)
            .args(["copy", "--json", "--progress=always", "--ticket-file", "ticket"])
            .args(recorded.options)
            .args([place(recorded.source), place(recorded.target)])
            .current_dir(&self.folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("start a copy")
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        drop(self.server.kill());
        drop(self.server.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// Stops a process for half of each 200 ms from some time on, until it has ended.
fn throttle(process: u32) -> std::thread::JoinHandle<()> {
    let send = move |signal: &str| {
        let sent = Command::new("kill").args([signal, &process.to_string()]).stderr(Stdio::null()).status();
        sent.is_ok_and(|status| status.success())
    };
    std::thread::spawn(move || {
        std::thread::sleep(MIDDLE);
        while send("-STOP") {
            std::thread::sleep(Duration::from_millis(100));
            if !send("-CONT") {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    })
}

/// Folders of 500 files, whose sizes are spread evenly over the powers of two between.
fn tree(folder: &Path, files: u64, (least, most): (u64, u64), random: &mut u64) -> Result<()> {
    for number in 0..files {
        let below = folder.join((number / 500).to_string());
        if number % 500 == 0 {
            fs::create_dir_all(&below)?;
        }
        let share = (next(random) >> 11) as f64 / (1_u64 << 53) as f64;
        let bytes = least as f64 * (most as f64 / least as f64).powf(share);
        write_noise(&below.join(number.to_string()), bytes as u64, random)?;
    }
    Ok(())
}

fn write_noise(path: &Path, bytes: u64, random: &mut u64) -> Result<()> {
    let mut file = File::create(path).with_context(|| format!("make '{}'", path.display()))?;
    let mut block = [0; 64 << 10];
    let mut left = bytes;
    while left > 0 {
        let block = &mut block[..left.min(64 << 10) as usize];
        block.chunks_mut(8).for_each(|word| word.copy_from_slice(&next(random).to_le_bytes()[..word.len()]));
        file.write_all(block)?;
        left -= block.len() as u64;
    }
    Ok(())
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
