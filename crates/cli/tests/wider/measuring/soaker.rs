//! The soaker against loads that are known (statements S20, S21), against the kernel's own account, and what it does
//! where it may do little. Loads are in shuffled rounds, medians of quiet runs are judged, and there are more rounds
//! if few are quiet. On a machine that is never quiet enough a load cannot be judged, which is printed with the
//! reason. One test at a time: each is work beside another's runs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::support::{Home, outcome};
use serde_json::Value;

/// More rounds each time that fewer runs of a load than `QUIET_MIN` were quiet.
const ROUNDS: [usize; 2] = [5, 9];
const QUIET_MIN: usize = 4;
const LOADS: [u32; 5] = [0, 25, 50, 75, 100];
/// Statement S20: points of one CPU.
const ERROR_MAX: f64 = 0.05;
/// Of all CPU time that the machine used in the runs of a transfer.
const DISAGREEMENT_MAX: f64 = 0.03;
const TRANSFERS: usize = 7;

static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names this program's share of one CPU, in percent, and how long it keeps to it.
const LOAD: &str = "SOAKER_TEST_LOAD";
const LOAD_FOR: Duration = Duration::from_secs(2);
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
fn study(home: &Home, extra: &str) {
    let program = std::env::current_exe().expect("known here").display().to_string();
    let levels: String =
        LOADS.map(|share| format!("load-{share} = \"{LOAD}={share} {program} --exact load\"\n")).concat();
    write_study(
        home,
        &format!("warmup = 0\n[factors]\nsoaker = [\"on\"]\n{extra}\n[command.levels]\n{levels}"),
    );
}

fn write_study(home: &Home, text: &str) {
    let head = "name = \"loads\"\ntitle = \"loads that are known\"\nprobes = [\"soaker\"]\n";
    std::fs::write(home.path("loads.toml"), format!("{head}{text}")).expect("room");
}

/// From nothing to nothing between two processes, over loopback.
const TRANSFER: &str = r#"prepare = [{ step = "new_host" }]
[factors]
soaker = ["on"]
[command.levels]
bare = """
. {host}/host.sh; start {pump} serve --insecure=bare --listen 127.0.0.1:{port} null: &&
{pump} copy --insecure=bare --json --request-size 256KiB null:6GiB pump://127.0.0.1:{port}/x
"""
"#;

/// Runs the study behind these words and gives its rows.
fn rows(home: &Home, words: &[&str], rounds: usize) -> Vec<Value> {
    let pump = crate::support::PUMP;
    let rounds = rounds.to_string();
    let run =
        [pump, "lab", "run", "loads.toml", "--folder", ".", "--out", "rows.jsonl", "--repeats", &rounds];
    let all = [words, &run].concat();
    let mut command = Command::new(all[0]);
    command.args(&all[1..]).current_dir(home.path(""));
    let run = outcome(command, b"");
    assert_eq!(run.status, 0, "{}", run.err);
    home.rows("rows.jsonl")
}

fn number(row: &Value, path: &str) -> f64 {
    row.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {row}"))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What one run says of the load, as a share of one CPU: the soaker, and the process's own clock.
fn shares(row: &Value) -> (f64, f64) {
    let elapsed = number(row, "/soaker/elapsed_ns");
    let own = number(row, "/user_ns") + number(row, "/system_ns");
    (number(row, "/soaker/cpu_ns") / elapsed, own / elapsed)
}

/// CPU time of the whole machine by the soaker, and by the kernel.
fn of_the_machine(row: &Value) -> (f64, f64) {
    let all = number(row, "/soaker/of_cpus") * number(row, "/soaker/elapsed_ns");
    (all - number(row, "/soaked_ns"), number(row, "/machine_cpu_ns"))
}

fn is_noisy(row: &Value) -> bool {
    row["soaker"]["noisy"].as_bool().expect("a mark")
}

/// Nothing else ran beside it: of two that want a whole CPU one gives way, and not by what it took before.
fn is_quiet(row: &Value) -> bool {
    !is_noisy(row) && number(row, "/soaker/background_ns_per_s") < ERROR_MAX * 1e9
}

/// The runs of a load, and those of them that are not marked.
struct Load {
    share: f64,
    rows: Vec<Value>,
    quiet: Vec<Value>,
}

impl Load {
    fn of(share: u32, rows: &[Value]) -> Load {
        let name = format!("load-{share}");
        let rows: Vec<Value> = rows.iter().filter(|row| row["asked"]["command"] == name).cloned().collect();
        let quiet = rows.iter().filter(|row| is_quiet(row)).cloned().collect();
        Load { share: f64::from(share) / 100.0, rows, quiet }
    }

    /// The medians by the soaker and by the process's own clock.
    fn medians(&self) -> (f64, f64) {
        let judged = if self.quiet.is_empty() { &self.rows } else { &self.quiet };
        let shares = |which: fn((f64, f64)) -> f64| judged.iter().map(|row| which(shares(row))).collect();
        (median(shares(|it| it.0)), median(shares(|it| it.1)))
    }

    /// A line of the table, and what is wrong.
    fn judged(&self) -> Option<String> {
        let (soaker, own) = self.medians();
        let mark = |row: &Value| if is_quiet(row) { "" } else { "*" };
        let each = self.rows.iter().map(|row| format!("{:.3}{}", shares(row).0, mark(row)));
        let (quiet, all) = (self.quiet.len(), self.rows.len());
        let each: Vec<String> = each.collect();
        eprintln!("{:>5.2}  {quiet:>5}  {soaker:>6.3}  {own:>8.3}   {}", self.share, each.join(" "));
        let load = self.share;
        if quiet < QUIET_MIN {
            let soaker = &self.rows.iter().find(|row| !is_quiet(row))?["soaker"];
            let (why, others) = (&soaker["why"], &soaker["background_ns_per_s"]);
            let words = format!(
                "{quiet} of {all} runs were quiet; the first: others had {others} ns a second, {why}"
            );
            say(&format!("S20, load {load}: CANNOT RUN: {words}"));
            return None;
        }
        // What it used is what is to be recovered: a load that was kept from the CPU is less than it was to be.
        let is_wrong = (soaker - own).abs() > ERROR_MAX;
        is_wrong.then(|| format!("load {load}: the soaker says {soaker:.3} of one CPU"))
    }
}

#[test]
fn known_loads_are_recovered_within_five_points_of_one_cpu() {
    let _alone = alone();
    let home = Home::new();
    study(&home, "");
    let mut loads = Vec::new();
    for rounds in ROUNDS {
        let all = rows(&home, &["env"], rounds);
        assert_eq!(all.len(), rounds * LOADS.len());
        all.iter().for_each(adds_up);
        loads = LOADS.map(|share| Load::of(share, &all)).into();
        if loads.iter().all(|load: &Load| load.quiet.len() >= QUIET_MIN) {
            break;
        }
    }
    eprintln!("\n load  quiet  soaker  own time   each by the soaker (* marked as noisy)");
    let wrong: Vec<String> = loads.iter().filter_map(Load::judged).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Past the harness, which keeps what a test that passes prints.
fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}

/// A transfer leaves nothing of the CPUs, so what no program has, of which the kernel's account knows nothing, is
/// little.
#[test]
fn of_a_transfer_over_loopback_the_control_groups_say_the_same() {
    let _alone = alone();
    let home = Home::new();
    write_study(&home, TRANSFER);
    let all = rows(&home, &["env"], TRANSFERS);
    let by = all[0]["machine_cpu_by"].as_str().expect("a meter");
    let (soaker, kernel): (Vec<f64>, Vec<f64>) = all.iter().map(of_the_machine).unzip();
    let (soaker, kernel) = (soaker.iter().sum::<f64>() / 1e9, kernel.iter().sum::<f64>() / 1e9);
    eprintln!("the whole machine: {soaker:.3} CPU seconds by the soaker, {kernel:.3} by {by}");
    if by == "/proc/stat" {
        return say(
            "soaker against control groups: CANNOT RUN: the root of the control groups has no account",
        );
    }
    assert!((soaker / kernel - 1.0).abs() <= DISAGREEMENT_MAX, "soaker {soaker:.3}, {by} {kernel:.3}");
}

/// Statement S21.
fn adds_up(row: &Value) {
    let whole = |path: &str| row.pointer(path).and_then(Value::as_i64).expect("a whole number");
    let parts = whole("/user_ns") + whole("/system_ns") + whole("/soaker/remainder_ns");
    assert_eq!(parts, whole("/soaker/cpu_ns"), "{row}");
}

#[test]
fn without_the_right_to_idle_priority_it_says_what_it_fell_back_to() {
    let _alone = alone();
    for (calls, words) in [
        (
            &["sched_setscheduler"][..],
            "idle priority was refused (Operation not permitted (os error 1)): nice 19",
        ),
        (&["sched_setscheduler", "setpriority"], "idle priority and nice 19 were refused"),
    ] {
        let home = Home::new();
        study(&home, "command = [\"load-0\"]");
        let mut strace = vec!["strace", "-f", "-qq", "-o", "/dev/null"];
        let inject: Vec<String> = calls.iter().map(|call| format!("inject={call}:error=EPERM")).collect();
        let trace = format!("trace={}", calls.join(","));
        strace.extend(["-e", &trace]);
        inject.iter().for_each(|inject| strace.extend(["-e", inject]));
        let row = rows(&home, &strace, 1).remove(0);
        let fallback = row["soaker"]["fallback"].to_string();
        assert!(fallback.contains(words), "{fallback}");
        adds_up(&row);
    }
}

#[test]
fn with_one_cpu_of_several_it_measures_that_one_and_marks_the_rest_as_not_seen() {
    let _alone = alone();
    let home = Home::new();
    study(&home, "command = [\"load-0\"]");
    let text = std::fs::read_to_string(home.path("loads.toml")).expect("written");
    let both = text.replacen("soaker = [\"on\"]", "soaker = [\"on\", \"half\"]", 1);
    std::fs::write(home.path("loads.toml"), both).expect("room");
    let rows = rows(&home, &["taskset", "-c", "0"], 1);
    assert_eq!(rows.len(), 1, "one CPU has no half");
    let soaker = &rows[0]["soaker"];
    assert_eq!((&soaker["cpus"], &soaker["of_cpus"]), (&1.into(), &1.into()));
    let several = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    assert_eq!(soaker["why"].to_string().contains("may use 1 of"), several, "{soaker}");
    adds_up(&rows[0]);
}

/// A control group of this test's own, under each of these folders.
struct Groups(Vec<PathBuf>);

impl Groups {
    /// Version 1 has a tree for each controller, version 2 one for all.
    fn new() -> Groups {
        let root = Path::new("/sys/fs/cgroup");
        let name = format!("pump-test-{}", std::process::id());
        let one = ["cpu", "cpuacct"].map(|tree| root.join(tree)).into_iter().filter(|tree| tree.is_dir());
        let mut trees: Vec<PathBuf> = one.collect();
        if trees.is_empty() {
            trees.push(root.into());
        }
        let groups = Groups(trees.iter().map(|tree| tree.join(&name)).collect());
        groups.0.iter().for_each(|group| std::fs::create_dir(group).expect("the tests run as root"));
        groups
    }

    /// Half of a CPU.
    fn limit(&self) {
        let limits = [("cpu.max", "50000 100000"), ("cpu.cfs_quota_us", "50000")];
        let set = |group: &PathBuf| limits.map(|(file, limit)| write_there(&group.join(file), limit));
        assert!(
            self.0.iter().any(|group| set(group).contains(&true)),
            "no control group limits CPU time here"
        );
    }

    /// Words that run a command in the groups.
    fn enter(&self) -> String {
        let enter = |group: &PathBuf| format!("echo $$ > {}/cgroup.procs && ", group.display());
        self.0.iter().map(enter).collect::<String>() + "exec \"$@\""
    }
}

/// Whether it is there and takes this.
fn write_there(path: &Path, text: &str) -> bool {
    path.exists() && std::fs::write(path, text).is_ok()
}

impl Drop for Groups {
    fn drop(&mut self) {
        // A group is empty, and can be removed, soon after its last process has ended.
        let removed = |group: &PathBuf| {
            (0..100).any(|_| {
                std::fs::remove_dir(group).is_ok() || {
                    std::thread::sleep(PERIOD);
                    false
                }
            })
        };
        self.0
            .iter()
            .filter(|group| !removed(group))
            .for_each(|group| eprintln!("left: {}", group.display()));
    }
}

#[test]
fn a_quota_of_a_control_group_is_told_and_the_time_of_the_group_is_read() {
    let _alone = alone();
    let home = Home::new();
    study(&home, "command = [\"load-25\"]");
    let groups = Groups::new();
    groups.limit();
    let row = rows(&home, &["sh", "-c", &groups.enter(), "sh"], 1).remove(0);
    let why = row["soaker"]["why"].to_string();
    assert!(is_noisy(&row) && why.contains("a control group allows 0.50 of"), "{why}");
    let name = format!("/pump-test-{}", std::process::id());
    assert!(row["group_cpu_by"].as_str().is_some_and(|group| group.ends_with(&name)), "{row}");
    assert!(row["group_cpu_ns"].is_u64(), "{row}");
    adds_up(&row);
}
