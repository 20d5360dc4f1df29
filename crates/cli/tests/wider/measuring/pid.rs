//! Truth tests of `pump explain --pid`: one part of a running cp, rsync, scp, cat or pump is throttled by a real limit,
//! and that part must be named. `DATAPUMP_ROUNDS=20` makes that many rounds, in random order.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::support::{Home, make_fifo};
use crate::wider_parts::network::{INTERFACE, Network, Side};
use crate::wider_parts::peer::Peer;
use crate::wider_parts::random::Random;
use crate::wider_parts::sshd::Sshd;
use crate::wider_parts::throttle::{Busy, Quota, SlowDisk, device_of};
use crate::wider_parts::{Kind, Mount, program, pump, report, with_content};
use rustix::process::{Pid, Signal, kill_process_group};

const MIB: usize = 1 << 20;
/// What a throttled part moves in a second; a file lasts for ten of them.
const SLOW_BYTES_PER_SECOND: u64 = 8 << 20;
const FILE_BYTES: usize = 96 * MIB;
/// Until a program that was started moves bytes.
const STARTS_WITHIN: Duration = Duration::from_millis(800);

/// A program that moves bytes until dropped, with whatever it started.
struct Moving {
    child: Child,
}

impl Moving {
    fn start(mut command: Command) -> Moving {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let child = command.spawn().expect("`cargo xtask wider` installs it");
        std::thread::sleep(STARTS_WITHIN);
        Moving { child }
    }

    fn words(words: &[&str]) -> Moving {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        Moving::start(command)
    }

    /// The verdict: the part and the reason.
    fn named(&self) -> (String, String) {
        let run = pump(&["explain", "--json", "--for", "2s", "--pid", &self.child.id().to_string()]);
        let report = report(&run);
        if run.status != 0 {
            return ("error".into(), run.err.trim().into());
        }
        let word = |value: &serde_json::Value| value.as_str().expect("a word").to_owned();
        (word(&report["limited_by"]), word(&report["limited_detail"]["why"]))
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let _ = kill_process_group(group.expect("a process has a number"), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// What the cases share: a disk that can be throttled, files, an sshd, two hosts.
struct Bench {
    home: Home,
    disk: Mount,
    _sshd: Sshd,
    network: Option<Network>,
    servers: Vec<Moving>,
}

impl Bench {
    fn new() -> Bench {
        let (home, disk) = (Home::new(), Mount::of(Kind::Ext4, 256));
        with_content(&disk.at("big"), FILE_BYTES, 1);
        let sshd = Sshd::new(&home, None);
        with_content(&home.path("big").display().to_string(), FILE_BYTES, 2);
        program(&["sync"]);
        let mut bench = Bench { home, disk, _sshd: sshd, network: Network::new(), servers: Vec::new() };
        bench.serve();
        bench
    }

    /// An rsync server on the other host.
    fn serve(&mut self) {
        let Some(network) = &self.network else { return };
        let folder = self.at("");
        let text = format!("use chroot = no\nuid = 0\ngid = 0\n[all]\npath = {folder}\nread only = no\n");
        std::fs::write(self.home.path("rsyncd.conf"), text).expect("room");
        let config = format!("--config={}", self.at("rsyncd.conf"));
        let words = ["rsync", "--daemon", "--no-detach", &config, "--address=10.77.0.2", "--port=8730"];
        self.servers.push(Moving::start(network.command(Side::Server, &self.home, &words)));
        let (config, address) = (self.at("sshd/sshd_config"), "ListenAddress=10.77.0.2:4422");
        let words = ["/usr/sbin/sshd", "-D", "-e", "-f", &config, "-o", address];
        self.servers.push(Moving::start(network.command(Side::Server, &self.home, &words)));
    }

    fn at(&self, name: &str) -> String {
        self.home.path(name).display().to_string()
    }

    fn device(&self) -> String {
        device_of(&self.disk.point())
    }

    /// The file on the disk, which nothing remembers.
    fn cold(&self) -> String {
        let big = self.disk.at("big");
        program(&["dd", &format!("if={big}"), "iflag=nocache", "count=0", "status=none"]);
        big
    }

    fn scp(&self) -> Vec<String> {
        let config = self.at("sshd/config");
        ["scp", "-O", "-q", "-F", &config].map(str::to_owned).to_vec()
    }
}

type Named = Option<(String, String)>;

/// Each word is one of the program; `SLOW`, `FAST`, `NEW` and `FAR` are files.
fn of_slow_source(bench: &Bench, words: &[&str]) -> Named {
    let (big, target) = (bench.cold(), bench.at("target"));
    let _slow = SlowDisk::new(&bench.device(), "read", SLOW_BYTES_PER_SECOND)?;
    let named = Moving::start(command(bench, words, &big, &target)).named();
    let _ = std::fs::remove_file(target);
    Some(named)
}

fn of_slow_sink(bench: &Bench, words: &[&str]) -> Named {
    let target = bench.disk.at("target");
    let slow = SlowDisk::for_writes(&bench.device(), SLOW_BYTES_PER_SECOND)?;
    let named = Moving::start(command(bench, words, &bench.at("big"), &target)).named();
    drop(slow);
    let names = std::fs::read_dir(bench.disk.point()).expect("the disk").flatten().map(|entry| entry.path());
    let left = names.filter(|path| path.is_file() && !path.ends_with("big"));
    left.for_each(|path| std::fs::remove_file(path).expect("it is there"));
    program(&["sync", "-f", &bench.disk.point()]);
    Some(named)
}

fn command(bench: &Bench, words: &[&str], from: &str, to: &str) -> Command {
    let mut all = Vec::new();
    for word in words {
        match *word {
            "scp" => all.extend(bench.scp()),
            "pump" => all.push(crate::support::PUMP.to_owned()),
            word => all.push(word.replace("FROM", from).replace("TO", to)),
        }
    }
    let mut command = Command::new(&all[0]);
    command.args(&all[1..]);
    command
}

fn of_quota(bench: &Bench, words: &[&str]) -> Named {
    of_limited(bench, &Quota::new(3)?, &["sh", "-c", "exec \"$0\" \"$@\""], words)
}

/// A shell outside of the group waits for what is in it.
const SHELL: [&str; 3] = ["sh", "-c", "\"$0\" \"$@\"; true"];

fn of_quota_of_child(bench: &Bench, words: &[&str]) -> Named {
    of_limited(bench, &Quota::new(3)?, &SHELL, words)
}

fn of_slow_sink_of_child(bench: &Bench, words: &[&str]) -> Named {
    of_limited(bench, &Quota::of_writes(&bench.device(), SLOW_BYTES_PER_SECOND)?, &SHELL, words)
}

/// Started by `by`, in a group.
fn of_limited(bench: &Bench, limit: &Quota, by: &[&str], words: &[&str]) -> Named {
    let target = bench.disk.at("target");
    let inner = command(bench, words, &bench.at("big"), &target);
    let mut outer = Command::new(by[0]);
    outer.args(&by[1..]).args(limit.words()).arg(inner.get_program()).args(inner.get_args());
    let moving = Moving::start(outer);
    let named = moving.named();
    drop(moving);
    let _ = std::fs::remove_file(target);
    Some(named)
}

fn of_busy_cpu(_bench: &Bench, words: &[&str]) -> Named {
    let _busy = Busy::new(3);
    Some(Moving::words(&[&["taskset", "-c", "0"], words].concat()).named())
}

/// `SIDE` sends: there the path is slow.
fn of_slow_path(bench: &Bench, side: Side, words: &[&str]) -> Named {
    let network = bench.network.as_ref()?;
    let tbf = ["root", "tbf", "rate", "40mbit", "burst", "64kb", "latency", "50ms"];
    program_in(network, side, bench, &[&["tc", "qdisc", "replace", "dev", INTERFACE], &tbf[..]].concat());
    let target = bench.at("target");
    let all = command(bench, words, &bench.at("big"), &target);
    let words: Vec<&str> =
        std::iter::once(all.get_program()).chain(all.get_args()).filter_map(|it| it.to_str()).collect();
    let named = Moving::start(network.command(Side::Client, &bench.home, &words)).named();
    program_in(network, side, bench, &["tc", "qdisc", "delete", "dev", INTERFACE, "root"]);
    let _ = std::fs::remove_file(target);
    Some(named)
}

fn program_in(network: &Network, side: Side, bench: &Bench, words: &[&str]) {
    let done = network.command(side, &bench.home, words).output().expect("ip is installed");
    assert!(done.status.success(), "{words:?}: {done:?}");
}

/// cat sends to somebody who reads so many bytes fifty times a second, or none.
fn of_slow_reader(bench: &Bench, bytes: usize) -> Named {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let peer = Peer::start(move |stop| {
        let Ok((mut socket, _)) = listener.accept() else { return };
        while !stop.load(Ordering::Relaxed) {
            if bytes > 0 && socket.read(&mut vec![0; bytes]).unwrap_or(0) == 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let line = format!("exec cat '{}' > /dev/tcp/127.0.0.1/{port}", bench.at("big"));
    let moving = Moving::words(&["bash", "-c", &line]);
    let named = moving.named();
    drop((moving, peer));
    Some(named)
}

fn of_slow_fifo(bench: &Bench, words: &[&str]) -> Named {
    let (path, target) = (bench.home.path("fifo"), bench.at("target"));
    let _ = std::fs::remove_file(&path);
    make_fifo(&path);
    let fifo = path.clone();
    let feeder = Peer::start(move |stop| {
        let Ok(mut fifo) = std::fs::File::options().write(true).open(fifo) else { return };
        while !stop.load(Ordering::Relaxed) && fifo.write_all(&[7; 64 << 10]).is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let moving = Moving::start(command(bench, words, &bench.at("fifo"), &target));
    let named = moving.named();
    drop((moving, feeder));
    let _ = std::fs::remove_file(target);
    Some(named)
}

/// The program itself keeps to a rate, or to what one CPU does.
fn of_rate_limit(bench: &Bench, words: &[&str]) -> Named {
    let target = bench.at("target");
    let named = Moving::start(command(bench, words, &bench.at("big"), &target)).named();
    let _ = std::fs::remove_file(target);
    Some(named)
}

/// A throttled part, what moves, and what must be named: the part, and the reason where only one is right.
struct Case {
    throttled: &'static str,
    mover: &'static str,
    part: &'static str,
    why: &'static str,
    run: fn(&Bench) -> Named,
}

const fn case(
    throttled: &'static str,
    mover: &'static str,
    part: &'static str,
    why: &'static str,
    run: fn(&Bench) -> Named,
) -> Case {
    Case { throttled, mover, part, why, run }
}

/// scp to the other host, whose key nobody has seen at that address.
const AWAY: [&str; 11] = [
    "scp",
    "-P",
    "4422",
    "-o",
    "HostName=10.77.0.2",
    "-o",
    "StrictHostKeyChecking=no",
    "-o",
    "UserKnownHostsFile=/dev/null",
    "FROM",
    "loop:there",
];

const CASES: &[Case] = &[
    case("source disk", "cp", "source", "cgroup limit", |it| of_slow_source(it, &["cp", "FROM", "TO"])),
    case("source disk", "rsync", "source", "cgroup limit", |it| of_slow_source(it, &["rsync", "FROM", "TO"])),
    case("source disk", "scp", "source", "cgroup limit", |it| {
        of_slow_source(it, &["scp", "FROM", "loop:there"])
    }),
    case("source disk", "pump", "source", "cgroup limit", |it| {
        of_slow_source(it, &["pump", "copy", "FROM", "TO"])
    }),
    case("sink disk", "cp", "sink", "cgroup limit", |it| of_slow_sink(it, &["cp", "FROM", "TO"])),
    case("sink disk", "rsync", "sink", "cgroup limit", |it| of_slow_sink(it, &["rsync", "FROM", "TO"])),
    case("sink disk", "scp", "sink", "cgroup limit", |it| of_slow_sink(it, &["scp", "loop:FROM", "TO"])),
    case("sink disk", "pump", "sink", "cgroup limit", |it| of_slow_sink(it, &["pump", "copy", "FROM", "TO"])),
    case("sink that syncs", "dd", "sink", "cgroup limit", |it| {
        of_slow_sink(it, &["dd", "if=FROM", "of=TO", "bs=64k", "oflag=dsync", "status=none"])
    }),
    case("far sink disk", "scp", "network", "", |it| of_slow_sink(it, &["scp", "FROM", "loop:TO"])),
    case("cpu quota", "cp", "cpu", "cpu quota", |it| of_quota(it, &["cp", "/dev/zero", "/dev/null"])),
    case("cpu quota", "rsync", "cpu", "cpu quota", |it| of_quota(it, &["rsync", "FROM", "TO"])),
    case("cpu quota", "scp", "cpu", "cpu quota", |it| of_quota(it, &["scp", "FROM", "loop:there"])),
    case("cpu quota", "cp of a shell", "cpu", "cpu quota", |it| {
        of_quota_of_child(it, &["cp", "/dev/zero", "/dev/null"])
    }),
    case("sink disk", "dd of a shell", "sink", "cgroup limit", |it| {
        of_slow_sink_of_child(it, &["dd", "if=FROM", "of=TO", "bs=1M", "oflag=direct", "status=none"])
    }),
    case("busy cpu", "cp", "cpu", "waiting for a cpu", |it| {
        of_busy_cpu(it, &["cp", "/dev/zero", "/dev/null"])
    }),
    case("path", "rsync out", "network", "", |it| {
        of_slow_path(it, Side::Client, &["rsync", "FROM", "rsync://10.77.0.2:8730/all/there"])
    }),
    case("path", "rsync in", "network", "peer", |it| {
        of_slow_path(it, Side::Server, &["rsync", "rsync://10.77.0.2:8730/all/big", "TO"])
    }),
    case("path", "scp out", "network", "", |it| of_slow_path(it, Side::Client, &AWAY)),
    case("peer that reads slowly", "cat", "network", "receive window", |it| of_slow_reader(it, 64 << 10)),
    case("peer that stopped", "cat", "network", "receive window", |it| of_slow_reader(it, 0)),
    case("rate limit", "rsync", "source", "rate limit", |it| {
        of_rate_limit(it, &["rsync", "--bwlimit=2m", "FROM", "TO"])
    }),
    case("generator", "cat of a shell", "cpu", "", |it| {
        of_rate_limit(it, &["sh", "-c", "gzip -9 -c /dev/urandom | cat > TO"])
    }),
    case("redirected output", "cat", "sink", "cgroup limit", |it| {
        of_slow_sink(it, &["sh", "-c", "exec cat FROM > TO"])
    }),
    case("fifo", "cp", "source", "pipe", |it| of_slow_fifo(it, &["cp", "FROM", "TO"])),
    case("fifo", "dd", "source", "pipe", |it| of_slow_fifo(it, &["dd", "if=FROM", "of=TO", "status=none"])),
    case("fifo", "pump", "source", "pipe", |it| of_slow_fifo(it, &["pump", "copy", "FROM", "TO"])),
];

/// Case by case in an order of its own for each round.
fn order(rounds: u64) -> Vec<usize> {
    let mut random = Random(rounds);
    let mut all = Vec::new();
    for _ in 0..rounds {
        let mut round: Vec<usize> = (0..CASES.len()).collect();
        (1..round.len()).rev().for_each(|at| round.swap(at, random.below(at as u64 + 1) as usize));
        all.extend(round);
    }
    all
}

#[test]
fn the_part_that_is_throttled_is_the_part_that_is_named() {
    let rounds = std::env::var("DATAPUMP_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let only = std::env::var("DATAPUMP_CASE").unwrap_or_default();
    let bench = Bench::new();
    let mut table: BTreeMap<(usize, String, String), u32> = BTreeMap::new();
    let (mut right, mut all) = (0, 0);
    for at in order(rounds) {
        let case = &CASES[at];
        if !format!("{} {}", case.throttled, case.mover).contains(&only) {
            continue;
        }
        let Some((part, why)) = (case.run)(&bench) else { continue };
        all += 1;
        right += u32::from(part == case.part && (case.why.is_empty() || why == case.why));
        *table.entry((at, part, why)).or_default() += 1;
    }
    eprintln!("{:<24} {:<10} {:<24} times", "part throttled", "mover", "part named");
    for ((at, part, why), times) in &table {
        let Case { throttled, mover, .. } = CASES[*at];
        eprintln!("{throttled:<24} {mover:<10} {:<24} {times}", format!("{part} ({why})"));
    }
    assert!(right * 100 >= all * 95, "{right} of {all} are right");
}
