//! The bill: CPU time of a copy by stage and host, per GiB and per request.
//!
//! What threads of the copy spend is metered by their own clocks ([`datapump_engine::meter`]). The rest of the process
//! is its other threads'; the system's own threads, which write back and serve interrupts, are in no process, and are
//! looked at before and after.
//!
//! Must not know: how blocks are moved, how a bill is printed.

use std::fmt;

use datapump_engine::{CpuStage, METERED, Spent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most words of another host that are kept: how it measured.
const WORDS_MAX: usize = 200;

/// Less than this is rounding: seconds.
const UNTOLD_MIN_S: f64 = 1e-6;

/// Which host spent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BillHost {
    /// The side that reads.
    Sender,
    /// The side that writes.
    Receiver,
    /// The only one.
    #[default]
    #[serde(other)]
    Local,
}

impl fmt::Display for BillHost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            BillHost::Local => "local",
            BillHost::Sender => "sender",
            BillHost::Receiver => "receiver",
        })
    }
}

/// What a bill is divided by: all that the copy moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    pub bytes: u64,
    pub requests: u64,
}

/// One line of a bill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Billed {
    /// The host that spent it.
    pub host: BillHost,
    /// On what.
    pub stage: CpuStage,
    /// How much.
    pub cpu_seconds: f64,
    /// For each GiB that was moved; none if nothing was.
    pub seconds_per_gib: Option<f64>,
    /// For each request at the sink, in microseconds; none if there was none.
    pub us_per_request: Option<f64>,
}

/// CPU time of a copy, by stage and host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Bill {
    /// One for each stage that took any.
    pub stages: Vec<Billed>,
    /// Their sum.
    pub cpu_seconds_total: f64,
    /// How it was measured, and what was not to be had.
    pub measured_by: String,
}

/// What one host measured.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredHost {
    pub spent: Spent,
    /// CPU time of the process.
    pub process_ns: u64,
    /// CPU time of the system's own threads.
    pub kernel: KernelThreads,
}

/// CPU time of the system's own threads, or why it is not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelThreads {
    Ns(u64),
    /// They cannot be seen, as in a container.
    Unseen,
    /// Both sides of a session run on one host, and the other one counts them.
    OfTheOtherSide,
}

impl KernelThreads {
    /// As a meter tells it.
    pub fn seen(spent_ns: Option<u64>) -> KernelThreads {
        spent_ns.map_or(KernelThreads::Unseen, KernelThreads::Ns)
    }
}

impl Bill {
    /// The bill of one host.
    pub fn from_measured(host: BillHost, measured: &MeasuredHost, moved: Moved) -> Bill {
        let MeasuredHost { spent, process_ns, kernel } = measured;
        let metered = METERED.iter().map(|&stage| (stage, spent.0[stage as usize]));
        let rest_ns = process_ns.saturating_sub(spent.total_ns());
        let taken = metered.chain([(CpuStage::OtherThreads, rest_ns)]).filter(|(_, ns)| *ns > 0);
        let kernel_ns = match kernel {
            KernelThreads::Ns(ns) => Some((CpuStage::KernelThreads, *ns)),
            KernelThreads::Unseen | KernelThreads::OfTheOtherSide => None,
        };
        let line = |(stage, ns)| Billed { host, stage, cpu_seconds: ns as f64 / 1e9, ..Billed::default() };
        let stages = taken.chain(kernel_ns).map(line).collect();
        Bill { stages, cpu_seconds_total: 0.0, measured_by: measured_by_words(measured) }.with_ratios(moved)
    }

    /// The sum of two bills: of two sessions, or of two hosts.
    pub fn plus(&self, other: &Bill, moved: Moved) -> Bill {
        let mut stages = self.stages.clone();
        for billed in &other.stages {
            let is_it = |it: &&mut Billed| (it.host, it.stage) == (billed.host, billed.stage);
            match stages.iter_mut().find(is_it) {
                Some(it) => it.cpu_seconds += billed.cpu_seconds,
                None => stages.push(*billed),
            }
        }
        stages.sort_by_key(|billed| (billed.host, billed.stage));
        Bill { stages, ..self.clone() }.with_ratios(moved)
    }

    /// This bill with all its lines assigned to this host. Figures and words are made harmless: another host may send anything.
    pub fn assigned_to(&self, host: BillHost, moved: Moved) -> Bill {
        let nothing = Bill::default();
        let sane = |seconds: f64| if seconds.is_finite() { seconds.max(0.0) } else { 0.0 };
        let all = self.stages.iter().fold(nothing, |sum, billed| {
            let one = Billed { host, cpu_seconds: sane(billed.cpu_seconds), ..*billed };
            sum.plus(&Bill { stages: vec![one], ..Bill::default() }, moved)
        });
        let words = self.measured_by.chars().take(WORDS_MAX).filter(|letter| !letter.is_control());
        Bill { measured_by: words.collect(), ..all }
    }

    /// The bill of both hosts, of which one may not have sent its own.
    pub fn of_two_hosts(sender: Option<&Bill>, receiver: Option<&Bill>, moved: Moved) -> Option<Bill> {
        let words =
            |bill: Option<&Bill>| bill.map_or("not told", |bill| bill.measured_by.as_str()).to_owned();
        let measured_by = format!("sender: {}; receiver: {}", words(sender), words(receiver));
        let sum = match (sender, receiver) {
            (Some(sender), Some(receiver)) => sender.plus(receiver, moved),
            (one, other) => one.or(other)?.clone(),
        };
        Some(Bill { measured_by, ..sum })
    }

    /// Adds the CPU time of this host's process that no session reported: of lost sessions, and between them.
    pub fn with_lost_sessions(self, host: BillHost, process_ns: u64, moved: Moved) -> Bill {
        let is_own = |it: &&Billed| it.host == host && it.stage != CpuStage::KernelThreads;
        let told: f64 = self.stages.iter().filter(is_own).map(|it| it.cpu_seconds).sum();
        let rest = process_ns as f64 / 1e9 - told;
        if rest <= UNTOLD_MIN_S {
            return self;
        }
        let rest = Billed { host, stage: CpuStage::OtherThreads, cpu_seconds: rest, ..Billed::default() };
        let sum = self.plus(&Bill { stages: vec![rest], ..Bill::default() }, moved);
        let measured_by = format!(
            "{}; other threads with what was not told between and by lost sessions",
            self.measured_by
        );
        Bill { measured_by, ..sum }
    }

    /// This bill with its sum, and its figures for each GiB and each request that was moved.
    fn with_ratios(mut self, moved: Moved) -> Bill {
        let each = |seconds: f64, parts: f64| (parts > 0.0).then(|| seconds / parts);
        let gib = moved.bytes as f64 / (1_u64 << 30) as f64;
        for billed in &mut self.stages {
            billed.seconds_per_gib = each(billed.cpu_seconds, gib);
            billed.us_per_request = each(billed.cpu_seconds * 1e6, moved.requests as f64);
        }
        self.cpu_seconds_total = self.stages.iter().map(|billed| billed.cpu_seconds).sum();
        self
    }
}

/// How the CPU time was measured, in words.
fn measured_by_words(measured: &MeasuredHost) -> String {
    let MeasuredHost { spent, process_ns, kernel } = measured;
    let kernel = match kernel {
        KernelThreads::Ns(_) => "kernel threads",
        KernelThreads::Unseen => "no kernel threads (they cannot be seen here)",
        KernelThreads::OfTheOtherSide => "kernel threads with the other side's, on the same host",
    };
    // Rounded to microseconds, and up to a tick late with a thread that is just ending.
    let over_us = spent.total_ns().saturating_sub(*process_ns).div_ceil(1000);
    let over = match over_us {
        0 => String::new(),
        us => format!(" (which lags {us} us behind its threads' clocks)"),
    };
    format!("thread clocks (of later stays a sample), process{over}, {kernel}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn measured(spent: &[(CpuStage, u64)], process_ms: u64, kernel: KernelThreads) -> MeasuredHost {
        let mut sum = Spent::default();
        spent.iter().for_each(|&(stage, ms)| sum.add(stage, ms * MS));
        MeasuredHost { spent: sum, process_ns: process_ms * MS, kernel }
    }

    fn told(bill: &Bill) -> Vec<(String, f64)> {
        let line = |it: &Billed| (format!("{} {}", it.host, it.stage.name()), (it.cpu_seconds * 1e3).round());
        bill.stages.iter().map(line).collect()
    }

    #[test]
    fn a_stage_is_named_alike_in_words_and_in_json() {
        for stage in
            METERED.iter().chain(&[CpuStage::OtherThreads, CpuStage::KernelThreads, CpuStage::Unknown])
        {
            assert_eq!(serde_json::to_value(stage).expect("a name"), stage.name());
        }
        assert_eq!(serde_json::from_str::<CpuStage>("\"of later\"").expect("a stage"), CpuStage::Unknown);
    }

    #[test]
    fn what_is_left_of_the_process_is_its_other_threads() {
        use KernelThreads::{Ns, OfTheOtherSide, Unseen};
        let stages = [(CpuStage::Read, 30), (CpuStage::Hash, 50)];
        for (what, process_ms, kernel, others, total_ms, words) in [
            (
                "all there is",
                100,
                Ns(7 * MS),
                Some(20.0),
                107.0,
                "thread clocks (of later stays a sample), process, kernel threads",
            ),
            (
                "nothing left",
                80,
                Ns(0),
                None,
                80.0,
                "thread clocks (of later stays a sample), process, kernel threads",
            ),
            (
                "less than that",
                79,
                Unseen,
                None,
                80.0,
                "process (which lags 1000 us behind its threads' clocks)",
            ),
            ("a container", 100, Unseen, Some(20.0), 100.0, "no kernel threads (they cannot be seen"),
            ("one host", 100, OfTheOtherSide, Some(20.0), 100.0, "with the other side's"),
        ] {
            let bill = Bill::from_measured(
                BillHost::Local,
                &measured(&stages, process_ms, kernel),
                Moved::default(),
            );
            let told = told(&bill);
            let found = told.iter().find(|(name, _)| name == "local other threads").map(|(_, ms)| *ms);
            assert_eq!(found, others, "{what}");
            assert_eq!((bill.cpu_seconds_total * 1e3).round(), total_ms, "{what}");
            assert!(bill.measured_by.contains(words), "{what}: {}", bill.measured_by);
            let has_kernel = told.iter().any(|(name, _)| name == "local kernel threads");
            assert_eq!(has_kernel, matches!(kernel, Ns(_)), "{what}");
        }
    }

    #[test]
    fn figures_are_of_all_that_was_moved() {
        let stages = measured(&[(CpuStage::Read, 500)], 500, KernelThreads::Unseen);
        for (gib, requests, per_gib, per_request) in
            [(2.0, 1000, Some(0.25), Some(500.0)), (0.5, 0, Some(1.0), None), (0.0, 0, None, None)]
        {
            let moved = Moved { bytes: (gib * 1_073_741_824.0) as u64, requests };
            let line = Bill::from_measured(BillHost::Local, &stages, moved).stages[0];
            assert_eq!((line.seconds_per_gib, line.us_per_request), (per_gib, per_request), "{gib} GiB");
        }
    }

    #[test]
    fn bills_add_up_by_host_and_stage() {
        let one = |stages: &[(CpuStage, u64)], process_ms| {
            Bill::from_measured(
                BillHost::Local,
                &measured(stages, process_ms, KernelThreads::Ns(MS)),
                Moved { bytes: 1 << 30, requests: 10 },
            )
        };
        let (first, second) =
            (one(&[(CpuStage::Hash, 5)], 8), one(&[(CpuStage::Read, 2), (CpuStage::Hash, 4)], 6));
        let both = first.plus(&second, Moved { bytes: 2 << 30, requests: 20 });
        let expected = [("read", 2.0), ("hash", 9.0), ("other threads", 3.0), ("kernel threads", 2.0)];
        assert_eq!(told(&both), expected.map(|(stage, ms)| (format!("local {stage}"), ms)));
        assert_eq!(both.stages[1].seconds_per_gib.map(|seconds| (seconds * 1e4).round()), Some(45.0));
        assert_eq!((both.cpu_seconds_total * 1e3).round(), 16.0);
    }

    #[test]
    fn what_lost_sessions_did_not_tell_is_not_left_out() {
        let moved = Moved { bytes: 1 << 30, requests: 1 };
        let stages = measured(&[(CpuStage::Hash, 5)], 7, KernelThreads::Ns(100 * MS));
        for (what, process_ms, others, total_ms, is_said) in [
            ("all was told", 7, 2.0, 107.0, false),
            ("not all", 10, 5.0, 110.0, true),
            ("less", 6, 2.0, 107.0, false),
        ] {
            let bill = Bill::from_measured(BillHost::Sender, &stages, moved);
            let all = bill.with_lost_sessions(BillHost::Sender, process_ms * MS, moved);
            assert_eq!(told(&all)[1], ("sender other threads".into(), others), "{what}");
            assert_eq!((all.cpu_seconds_total * 1e3).round(), total_ms, "{what}");
            assert_eq!(all.measured_by.contains("lost sessions"), is_said, "{what}: {}", all.measured_by);
        }
    }

    #[test]
    fn two_hosts_keep_theirs_apart() {
        let moved = Moved { bytes: 1 << 30, requests: 1 };
        let bill = |host| {
            let stages = [(CpuStage::Hash, 5)];
            Bill::from_measured(host, &measured(&stages, 5, KernelThreads::Unseen), moved)
        };
        let (sender, receiver) =
            (bill(BillHost::Sender), bill(BillHost::Local).assigned_to(BillHost::Receiver, moved));
        let both = Bill::of_two_hosts(Some(&sender), Some(&receiver), moved).expect("two bills");
        assert_eq!(told(&both), [("sender hash".into(), 5.0), ("receiver hash".into(), 5.0)]);
        assert!(both.measured_by.starts_with("sender: thread clocks (of later"), "{}", both.measured_by);
        let alone = Bill::of_two_hosts(None, Some(&receiver), moved).expect("one bill");
        assert!(alone.measured_by.starts_with("sender: not told; receiver: thread"), "{}", alone.measured_by);
        assert_eq!(Bill::of_two_hosts(None, None, moved), None);
    }

    #[test]
    fn what_another_host_says_is_kept_in_bounds() {
        let line = |cpu_seconds| Billed { stage: CpuStage::Read, cpu_seconds, ..Billed::default() };
        let stages = [-5.0, f64::NAN, f64::INFINITY, 1.0].map(line).repeat(100);
        let measured_by = "\u{1b}[2Jx".repeat(1000);
        let moved = Moved { bytes: 1, requests: 1 };
        let bill =
            Bill { stages, cpu_seconds_total: -1.0, measured_by }.assigned_to(BillHost::Receiver, moved);
        assert_eq!(told(&bill), [("receiver read".into(), 100_000.0)]);
        assert_eq!(bill.cpu_seconds_total, 100.0);
        assert!(bill.measured_by.len() <= WORDS_MAX && !bill.measured_by.contains('\u{1b}'));
    }
}
