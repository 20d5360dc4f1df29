//! The soaker against loads that are known (SCIENCE S20, S21), and what it does where it may do little. What it says
//! depends on how quiet the machine is: loads are in shuffled rounds, medians are judged, and a machine that is not
//! quiet enough to judge fails with its figures.
#![cfg(feature = "wider")]

mod support;
mod wider_parts;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{Home, outcome};

const ROUNDS: usize = 7;
const LOADS: [u32; 5] = [0, 25, 50, 75, 100];
/// SCIENCE S20: points of one CPU.
const ERROR_MAX: f64 = 0.05;
/// Of this many runs more than half must be quiet, else nothing can be said.
const QUIET_MIN: usize = ROUNDS / 2 + 1;

/// Names this program's share of one CPU, in percent, and how long it keeps to it.
const LOAD: &str = "SOAKER_TEST_LOAD";
const LOAD_FOR: Duration = Duration::from_secs(1);
const PERIOD: Duration = Duration::from_millis(10);

/// No test, but the load of the others: in each period it computes for its share and sleeps for the rest.
#[test]
fn load() {
    let Some(share) = std::env::var(LOAD).ok().and_then(|text| text.parse::<u32>().ok()) else { return };
    let begin = Instant::now();
    let busy = PERIOD * share / 100;
    let mut state = 1_u64;
    for period in 1.. {
        let used = Instant::now();
        while used.elapsed() < busy {
            state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        let until = begin + PERIOD * period;
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        if begin.elapsed() >= LOAD_FOR {
            return;
        }
    }
}

/// A study of this program's load at these levels.
fn study(home: &Home, rounds: usize, extra: &str) {
    let program = std::env::current_exe().expect("known here").display().to_string();
    let levels: String =
        LOADS.map(|share| format!("load-{share} = \"{LOAD}={share} {program} --exact load\"\n")).concat();
    let head = "name = \"loads\"\ntitle = \"loads that are known\"\nwarmup = 0\nprobes = [\"soaker\"]\n";
    let text = format!(
        "{head}repeats = {rounds}\n[factors]\nsoaker = [\"on\"]\n{extra}\n[command.levels]\n{levels}"
    );
    std::fs::write(home.path("loads.toml"), text).expect("room");
}

/// Runs the study behind these words and gives its rows.
fn rows(home: &Home, words: &[&str]) -> Vec<Value> {
    let pump = env!("CARGO_BIN_EXE_pump");
    let all = [words, &[pump, "lab", "run", "loads.toml", "--folder", ".", "--out", "rows.jsonl"]].concat();
    let mut command = Command::new(all[0]);
    command.args(&all[1..]).current_dir(home.path(""));
    let run = outcome(command, b"");
    assert_eq!(run.status, 0, "{}", run.err);
    let text = std::fs::read_to_string(home.path("rows.jsonl")).expect("rows");
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn number(row: &Value, path: &str) -> f64 {
    row.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {row}"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What one run says: the share of one CPU by the soaker, and by the process's own clock.
fn shares(row: &Value) -> (f64, f64) {
    let elapsed = number(row, "/soaker/elapsed_ns");
    let own = number(row, "/user_ns") + number(row, "/system_ns");
    (number(row, "/soaker/cpu_ns") / elapsed, own / elapsed)
}

fn is_noisy(row: &Value) -> bool {
    row["soaker"]["noisy"].as_bool().expect("a mark")
}

#[test]
fn known_loads_are_recovered_within_five_points_of_one_cpu() {
    let home = Home::new();
    study(&home, ROUNDS, "");
    let mut by_load: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for row in rows(&home, &["env"]) {
        let load = row["asked"]["command"].as_str().expect("a level").to_string();
        by_load.entry(load).or_default().push(row);
    }
    eprintln!("      load  quiet  soaker  own time   each by the soaker (* noisy)");
    let mut wrong = Vec::new();
    for (load, share) in LOADS.map(|share| (format!("load-{share}"), f64::from(share) / 100.0)) {
        let rows = &by_load[&load];
        assert_eq!(rows.len(), ROUNDS, "{load}");
        rows.iter().for_each(adds_up);
        let quiet: Vec<&Value> = rows.iter().filter(|row| !is_noisy(row)).collect();
        let mark = |row: &Value| if is_noisy(row) { "*" } else { "" };
        let each: Vec<String> = rows.iter().map(|row| format!("{:.3}{}", shares(row).0, mark(row))).collect();
        let judged = if quiet.is_empty() { rows.iter().collect() } else { quiet.clone() };
        let soaker = median(judged.iter().map(|row| shares(row).0).collect());
        let own = median(judged.iter().map(|row| shares(row).1).collect());
        eprintln!("{load:>10}  {:>5}  {soaker:>6.3}  {own:>8.3}   {}", quiet.len(), each.join(" "));
        if quiet.len() < QUIET_MIN {
            wrong.push(format!(
                "{load}: {} of {ROUNDS} runs were quiet: {}",
                quiet.len(),
                rows[0]["soaker"]["why"]
            ));
        } else if (soaker - share).abs() > ERROR_MAX {
            wrong.push(format!("{load}: {soaker:.3} of one CPU instead of {share:.2}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "a machine that is not quiet cannot be judged, a quiet one is wrong: {wrong:#?}"
    );
}

/// SCIENCE S21.
fn adds_up(row: &Value) {
    let whole = |path: &str| row.pointer(path).and_then(Value::as_i64).expect("a whole number");
    let parts = whole("/user_ns") + whole("/system_ns") + whole("/soaker/remainder_ns");
    assert_eq!(parts, whole("/soaker/cpu_ns"), "{row}");
}

#[test]
fn without_the_right_to_idle_priority_it_says_what_it_fell_back_to() {
    for (calls, words) in [
        (
            &["sched_setscheduler"][..],
            "idle priority was refused (Operation not permitted (os error 1)): nice 19",
        ),
        (&["sched_setscheduler", "setpriority"], "idle priority and nice 19 were refused"),
    ] {
        let home = Home::new();
        study(&home, 1, "command = [\"load-0\"]");
        let mut strace = vec!["strace", "-f", "-qq", "-o", "/dev/null"];
        let inject: Vec<String> = calls.iter().map(|call| format!("inject={call}:error=EPERM")).collect();
        let trace = format!("trace={}", calls.join(","));
        strace.extend(["-e", &trace]);
        inject.iter().for_each(|inject| strace.extend(["-e", inject]));
        let row = rows(&home, &strace).remove(0);
        let fallback = row["soaker"]["fallback"].to_string();
        assert!(fallback.contains(words), "{fallback}");
        adds_up(&row);
    }
}

#[test]
fn with_one_cpu_of_several_it_measures_that_one_and_marks_the_rest_as_not_seen() {
    let home = Home::new();
    study(&home, 1, "command = [\"load-0\"]");
    let text = std::fs::read_to_string(home.path("loads.toml")).expect("written");
    let both = text.replacen("soaker = [\"on\"]", "soaker = [\"on\", \"half\"]", 1);
    std::fs::write(home.path("loads.toml"), both).expect("room");
    let rows = rows(&home, &["taskset", "-c", "0"]);
    assert_eq!(rows.len(), 1, "one CPU has no half");
    let soaker = &rows[0]["soaker"];
    assert_eq!((&soaker["cpus"], &soaker["of_cpus"]), (&1.into(), &1.into()));
    let several = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    assert_eq!(soaker["why"].to_string().contains("may use 1 of"), several, "{soaker}");
    adds_up(&rows[0]);
}
