//! The advice of `pump explain`, row by row: a copy that the cause limits, the same with the flag that the row has,
//! in turns, and how many times as fast it is. The printed table is the evidence; what is asserted is that the flag is
//! one, and that it makes nothing slower beyond what a busy machine does. Rows without a case are printed with the
//! reason.

use crate::support::serving::Serving;
use crate::support::{Home, expect, make_folder};
use crate::wider_parts::truth::is_meant;
use crate::wider_parts::{Kind, Mount, program, with_content};
use serde_json::Value;

const MIB: usize = 1 << 20;
const TURNS: usize = 3;
/// With an advice that helps, a copy is not four times as slow as without, whatever else the machine does.
const SLOWER_MAX: f64 = 0.25;
const SMALL_FILES: usize = 60;
const NAMES: usize = 4000;

/// The cause, what limits, the words of the copy, and the advice's flag; it replaces a flag of that name.
type Row = (&'static str, &'static str, &'static [&'static str], &'static str);

const ROWS: &[Row] = &[
    (
        "posting_requests",
        "requests of 4 KiB",
        &["--request-size", "4KiB", "null:4GiB", "null:"],
        "--request-size 4MiB",
    ),
    (
        "posting_requests",
        "requests of 4 KiB of a file",
        &["--request-size", "4KiB", "big", "null:"],
        "--request-size 4MiB",
    ),
    ("rate_limit", "a limit of 50 MB/s", &["--bwlimit", "50MB/s", "big", "null:"], "--bwlimit"),
    ("copying", "the page cache", &["--direct", "never", "big", "DISKtarget"], "--direct=always"),
    ("sync", "each file synced", &["--sync", "each", "small", "DISKtarget"], "--sync=none"),
    (
        "sink_device",
        "a file system that syncs each write",
        &["--request-size", "64KiB", "big", "SYNCtarget"],
        "--sink-depth 8",
    ),
    (
        "source_device",
        "one request at a time",
        &["--source-depth", "1", "--request-size", "64KiB", "big", "null:"],
        "--source-depth 8",
    ),
    ("metadata", "empty files", &["--sync", "none", "names", "DISKtarget"], "--lanes 4"),
    ("encryption", "one connection", &["--connections", "1", "THERE", "null:"], "--connections 2"),
];

/// Rows of the table that no limit here can show.
const NOT_HERE: &[(&str, &str)] = &[
    (
        "round_trips, receive_window, send_buffer",
        "want delay on a path: this kernel has no netem, and a queue is not a way",
    ),
    (
        "hashing",
        "a copy on one host hashes only what it is asked to, and between hosts encrypting costs more",
    ),
    (
        "path, loss, shared_device, page_cache, read_back, cpu_quota, server_limit",
        "no flag helps: the row names what hardware or setting would",
    ),
];

/// Files, a disk, a disk that syncs each write, and a server of nothing but zeros.
struct Bench {
    home: Home,
    disk: Mount,
    syncing: Mount,
    serving: Serving,
}

impl Bench {
    fn new() -> Bench {
        let home = Home::new();
        let [disk, syncing] = [512, 512].map(|mebibytes| Mount::of(Kind::Ext4, mebibytes));
        program(&["mount", "-o", "remount,sync", &syncing.point()]);
        with_content(&home.path("big").display().to_string(), 48 * MIB, 1);
        make_folder(&home, "small");
        for number in 0..SMALL_FILES {
            let path = home.path("small").join(number.to_string()).display().to_string();
            with_content(&path, 4000, number as u64);
        }
        make_folder(&home, "names");
        for number in 0..NAMES {
            std::fs::write(home.path("names").join(number.to_string()), b"").expect("room for a name");
        }
        let serving = Serving::start(home.command(&["serve", "null:512MiB", "--ticket-file", "ticket"]));
        Bench { home, disk, syncing, serving }
    }

    /// How long the copy took, and how long it computed, in seconds.
    fn run(&self, words: &[String]) -> (f64, f64) {
        let big = self.home.path("big").display().to_string();
        program(&["dd", &format!("if={big}"), "iflag=nocache", "count=0", "status=none"]);
        let _ = std::fs::remove_dir_all(self.disk.at("target"));
        let targets = [self.disk.at("target"), self.syncing.at("target")];
        targets.iter().for_each(|target| drop(std::fs::remove_file(target)));
        program(&["sync", "-f", &self.disk.point()]);
        let place = |word: &String| match word.as_str() {
            "THERE" => self.serving.at(""),
            word => word.replace("DISK", &self.disk.at("")).replace("SYNC", &self.syncing.at("")),
        };
        let words: Vec<String> = words.iter().map(place).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let run = self.home.pump(&[&["copy", "--json", "--ticket-file", "ticket"], &words[..]].concat());
        expect(&run, 0, &[], &format!("{words:?}"));
        let report = crate::wider_parts::report(&run);
        let seconds = |value: &Value| value.as_f64().expect("nanoseconds") / 1e9;
        let cpu = &report["cpu"];
        (seconds(&report["elapsed_ns"]), seconds(&cpu["user_ns"]) + seconds(&cpu["system_ns"]))
    }
}

/// The words with the flag in place of what they have of it; a flag without a value is left out.
fn advised(words: &[&str], flag: &str) -> Vec<String> {
    let (name, value) = flag.split_once([' ', '=']).map_or((flag, None), |(name, value)| (name, Some(value)));
    let mut advised = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == name {
            words.next();
        } else {
            advised.push((*word).to_owned());
        }
    }
    value
        .into_iter()
        .for_each(|value| advised.splice(0..0, [name.to_owned(), value.to_owned()]).for_each(drop));
    advised
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// What was measured without the flag, and with it.
fn measured(bench: &Bench, words: &[&str], flag: &str) -> [(f64, f64); 2] {
    let plain: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let both = [plain, advised(words, flag)];
    let mut runs = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        runs.iter_mut().zip(&both).for_each(|(runs, words)| runs.push(bench.run(words)));
    }
    runs.map(|runs| {
        let of = |part: fn(&(f64, f64)) -> f64| median(runs.iter().map(part).collect());
        (of(|run| run.0), of(|run| run.1))
    })
}

#[test]
fn the_flag_of_each_row_helps_against_its_cause() {
    let bench = Bench::new();
    eprintln!(
        "{:<18} {:<36} {:<22} {:>8} {:>8} {:>7} {:>8} {:>8}",
        "cause", "what limits", "advice", "s", "s then", "times", "CPU s", "CPU then"
    );
    for (cause, limit, words, flag) in ROWS.iter().filter(|row| is_meant(row.0)) {
        let [(before, cpu_before), (after, cpu_after)] = measured(&bench, words, flag);
        let times = before / after;
        eprintln!(
            "{cause:<18} {limit:<36} {flag:<22} {before:>8.3} {after:>8.3} {times:>7.2} \
             {cpu_before:>8.3} {cpu_after:>8.3}"
        );
        assert!(times > SLOWER_MAX, "{cause}: {flag}: {times}");
    }
    NOT_HERE.iter().for_each(|(causes, why)| eprintln!("not shown: {causes}: {why}"));
}
