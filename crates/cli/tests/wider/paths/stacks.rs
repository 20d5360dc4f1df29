//! `pump-stacks`: what it loads is what connections use, moves windows as the simulator does, and is gone when it is,
//! also when it was killed.
//!
//! It is tested where it was built with what it takes (feature `bpf-cc`).

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::Value;

use crate::paths::box_path::{BoxPath, RIGHT};
use crate::support::running::eventually;
use crate::support::serving::Serving;
use crate::support::{Home, Outcome, PUMP, expect, outcome};

/// All network namespaces of a kernel have the same algorithms.
static KERNEL: Mutex<()> = Mutex::new(());

/// The program, and the kernel for this test alone.
struct Stacks {
    program: PathBuf,
    _kernel: MutexGuard<'static, ()>,
}

/// One that holds something.
struct Holding {
    child: Child,
    output: BufReader<ChildStdout>,
}

/// None where it cannot be tested, which is told.
fn stacks(test: &str) -> Option<Stacks> {
    let named = std::env::var_os("PUMP_STACKS").map(PathBuf::from);
    let program = named.unwrap_or_else(|| Path::new(PUMP).with_file_name("pump-stacks"));
    let version = Command::new(&program).arg("--version").output().map(|output| output.stdout);
    let version = String::from_utf8(version.unwrap_or_default()).unwrap_or_default();
    let why_not = match (version.contains("(with BPF)"), geteuid().is_root()) {
        (false, _) => "pump-stacks was not built: cargo build -p pump-stacks --features bpf-cc",
        (true, false) => "only root loads something into the kernel",
        (true, true) => {
            let kernel = KERNEL.lock().unwrap_or_else(PoisonError::into_inner);
            return Some(Stacks { program, _kernel: kernel });
        }
    };
    eprintln!("not tested: {test}: {why_not}");
    None
}

fn kernel_has(name: &str) -> bool {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    text.expect("TCP").split_whitespace().any(|it| it == name)
}

/// What bpftool lists, where it is installed.
fn struct_ops() -> String {
    match Command::new("bpftool").arg("struct_ops").output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        Err(error) => {
            eprintln!("not looked at: bpftool: {error}");
            String::new()
        }
    }
}

/// The kernel frees what was unloaded when it comes to it, and later where all CPUs are busy.
fn is_gone(name: &str) {
    eventually("no connection can have it", || !kernel_has(name));
    eventually("the kernel has freed it", || !struct_ops().contains(name));
}

impl Stacks {
    fn run(&self, before: &[&str], words: &[&str]) -> Outcome {
        let program = self.program.display().to_string();
        let line = [before, &[&program], words].concat();
        let mut command = Command::new(line[0]);
        command.args(&line[1..]);
        outcome(command, b"")
    }

    fn hold(&self, words: &[&str]) -> Holding {
        let mut command = Command::new(&self.program);
        let mut child = command.args(words).stdout(Stdio::piped()).spawn().expect("it was built");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        Holding { child, output }
    }
}

impl Holding {
    fn end(mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
        self.output.read_to_string(&mut String::new()).expect("text");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn nothing_is_left_by_one_that_ends_or_is_killed() {
    let Some(stacks) = stacks("what stays behind") else { return };
    for (signal, status) in [(Signal::TERM, Some(0)), (Signal::INT, Some(0)), (Signal::KILL, None)] {
        let holding = stacks.hold(&["scalable"]);
        assert!(kernel_has("scalable") && !kernel_has("highspeed"));
        let again = stacks.run(&[], &["scalable"]);
        expect(&again, 0, &["this kernel has scalable: nothing is to be loaded for it"], "twice");
        assert_eq!(holding.end(signal), status, "{signal:?}");
        is_gone("scalable");
    }
    let both = stacks.hold(&[]);
    assert!(kernel_has("scalable") && kernel_has("highspeed"));
    assert_eq!(both.end(Signal::TERM), Some(0));
    is_gone("scalable");
    is_gone("highspeed");
}

#[test]
fn it_ends_with_the_parent_that_asked_for_that() {
    let Some(stacks) = stacks("the end of the parent") else { return };
    let home = Home::new();
    let line = format!("{} --with-parent scalable > out & wait", stacks.program.display());
    let mut parent = Command::new("sh");
    let mut parent = parent.args(["-c", &line]).current_dir(home.path("")).spawn().expect("a shell");
    eventually("it holds something", || kernel_has("scalable"));
    parent.kill().expect("it runs");
    parent.wait().expect("it ends");
    eventually("it has ended", || !kernel_has("scalable"));
}

#[test]
fn whoever_may_not_load_is_told_so() {
    let Some(stacks) = stacks("refusals") else { return };
    for (before, part) in [
        (&["unshare", "--user"][..], "pump-stacks: only root loads something into the kernel\n"),
        (
            &["setpriv", "--bounding-set", "-bpf,-sys_admin"],
            "the kernel does not take the BPF: Operation not permitted",
        ),
    ] {
        let refused = stacks.run(before, &["scalable"]);
        expect(&refused, 1, &[part], &before.join(" "));
        assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
    }
    let unknown = stacks.run(&[], &["westwood"]);
    expect(&unknown, 2, &["invalid value 'westwood'", "highspeed, scalable"], "unknown");
    assert!(!kernel_has("scalable"));
}

#[test]
fn without_clang_it_is_not_built_and_says_what_to_install() {
    let Some(_stacks) = stacks("a build without clang") else { return };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "-p", "pump-stacks", "--features", "bpf-cc"]).env("CLANG", "/nonexistent/clang");
    // In a folder of its own it waits for nobody who builds.
    let home = Home::new();
    cargo.current_dir(env!("CARGO_MANIFEST_DIR")).env("CARGO_TARGET_DIR", home.path("target"));
    let built = outcome(cargo, b"");
    let parts =
        ["/nonexistent/clang: No such file or directory", "needs the packages clang libbpf-dev libelf-dev"];
    expect(&built, 101, &parts, "no clang");
}

/// A series of one connection that sends as fast as the path takes it, over one that loses exactly a packet in 4000.
fn series(stack: &str) -> Option<Vec<Value>> {
    let words = ["--rtt", "10ms", "--rate", "1Gbit", "--queue", "8MiB", "--loss", "1/4000"];
    let path = BoxPath::lay(stack, &words)?;
    let home = Home::new();
    std::fs::create_dir(home.path("served")).expect("room");
    let listen = format!("{RIGHT}:0");
    let serve = ["serve", "--insecure=bare", "--listen", &listen, "null:"];
    let server = path.inside(1, || Serving::start(home.command(&serve)));
    let to = server.at("x");
    let copy = ["copy", "--insecure=bare", "--connections=1", "--congestion", stack, "--tcp-trace", "series"];
    let copied = path.inside(0, || home.pump(&[&copy[..], &["null:200MiB", &to]].concat()));
    drop(server);
    path.end();
    expect(&copied, 0, &[], stack);
    let lines = BufReader::new(File::open(home.path("series")).expect("a series")).lines();
    let all = lines.map(|line| serde_json::from_str::<Value>(&line.expect("text")).expect("JSON"));
    let sent = |it: &Value| it["bytes_sent"].as_u64() > Some(100_000);
    Some(all.filter(|it| it["event"] == "tcp" && it["state"] == "established" && sent(it)).collect())
}

fn number(sample: &Value, name: &str) -> f64 {
    sample[name].as_f64().unwrap_or(f64::MAX)
}

/// Rows of RFC 3649's table: up to which window, and what of 256 a loss takes. The gain is the number of the row.
const ROWS: [(f64, f64); 6] =
    [(38.0, 128.0), (118.0, 112.0), (221.0, 104.0), (347.0, 98.0), (495.0, 93.0), (663.0, 89.0)];

/// What a window gains by an acknowledged segment, and what a loss leaves of it; nothing for one that is larger.
fn law(stack: &str, window: f64) -> Option<(f64, f64)> {
    let row = ROWS.iter().position(|(up_to, _)| window <= *up_to)?;
    Some(match stack {
        "highspeed" => ((row + 1) as f64 / window, window * (1.0 - ROWS[row].1 / 256.0)),
        _ => (1.0 / window.min(100.0), window * 0.875),
    })
}

/// Two samples so far apart say nothing: the window moves much in a round trip.
const APART_NS: f64 = 8e6;

/// What a series shows of the law.
#[derive(Debug, Default)]
struct Shown {
    losses: u32,
    /// What windows grew by, and by the law, in segments.
    gained: f64,
    by_law: f64,
}

impl Shown {
    fn take(&mut self, stack: &str, before: &Value, now: &Value) {
        let by = |name: &str| number(now, name) - number(before, name);
        let (window, threshold) = (number(before, "cwnd_segments"), number(now, "ssthresh_segments"));
        let Some((gain, left)) = law(stack, window).filter(|_| by("time_ns") < APART_NS) else { return };
        let has_sent_again = by("retransmitted_segments") > 0.0;
        if by("ssthresh_segments") != 0.0 {
            let row = format!("{stack}: of {window} a loss left {threshold}, not {left}");
            assert!((threshold / left - 1.0).abs() < 0.06, "{row}");
            self.losses += 1;
        } else if !has_sent_again && window > threshold && by("cwnd_segments") >= 0.0 {
            self.gained += by("cwnd_segments");
            self.by_law += by("bytes_acked") / number(now, "mss_bytes") * gain;
        }
    }
}

/// By what was acknowledged, not by time.
#[test]
fn windows_move_as_the_simulator_says() {
    let Some(stacks) = stacks("windows") else { return };
    let holding = stacks.hold(&[]);
    for stack in ["highspeed", "scalable"] {
        let mut shown = Shown::default();
        // Of a busy machine's samples few are close enough: as many copies as show five losses.
        for _ in 0..8 {
            let Some(series) = series(stack) else { return };
            assert!(series.iter().all(|sample| sample["congestion"] == stack), "{:?}", series.last());
            series.windows(2).for_each(|pair| shown.take(stack, &pair[0], &pair[1]));
            println!("{stack}: {shown:?}");
            if shown.losses >= 5 {
                break;
            }
        }
        assert!(shown.losses >= 5 && shown.by_law > 50.0, "{stack}: {shown:?}");
        assert!((shown.gained / shown.by_law - 1.0).abs() < 0.15, "{stack}: {shown:?}");
    }
    assert_eq!(holding.end(Signal::TERM), Some(0));
}

/// The row of a small run of the study, with this program in the place of pump-stacks.
fn row_with(program: &Path) -> Value {
    let home = Home::new();
    let words = ["lab", "run", "tcp-recovery", "--quick", "--set", "stack=scalable", "--out", "rows.jsonl"];
    let mut command = home.command(&words);
    // Studies wait for one another by a file of that folder: what this one takes is of no matter.
    command.env("PUMP_STACKS", program).env("TMPDIR", home.path(""));
    let run = outcome(command, b"");
    assert!([0, 23].contains(&run.status), "{run:?}");
    home.rows("rows.jsonl").swap_remove(0)
}

#[test]
fn a_study_loads_what_the_kernel_lacks() {
    let Some(stacks) = stacks("a study") else { return };
    let row = row_with(&stacks.program);
    assert_eq!(
        (&row["outcome"], &row["achieved"]["congestion"]),
        (&"completed".into(), &"scalable".into()),
        "{row}"
    );
    is_gone("scalable");
    let row = row_with(Path::new("/nonexistent/pump-stacks"));
    assert_eq!(row["outcome"], "unavailable", "{row}");
    let why = row["message"].as_str().unwrap_or_default();
    assert!(why.contains("this kernel has no scalable") && why.contains("pump-stacks"), "{why}");
}
