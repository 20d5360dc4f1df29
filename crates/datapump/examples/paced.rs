//! Statements S7, S8, S17, S18, S31 and S33 on the real clock: the real loop on paced ends against the closed forms.
//!
//! Prints a row for each case with the median of 5 interleaved rounds, what is stated, and whether it holds; status 1 if
//! one does not. By hand: `cargo run --release -p datapump --example paced -- --out FILE`.

#[path = "judged/chain.rs"]
mod chain;
#[path = "judged/rows.rs"]
mod rows;

use std::process::ExitCode;

use datapump::simulation::{Device, Faults, SimClock, SimDisk, Simulation, model, timer_slack};
use datapump::{Fill, Job, Options, Place, Platform, Report};
use rows::Judged;

const REQUEST_BYTES: u64 = 65_536;
const REQUESTS: u64 = 150;
const BYTES: u64 = REQUESTS * REQUEST_BYTES;
const ROUNDS: usize = 5;
/// So far from what is stated it may be.
const TOLERANCE: f64 = 0.05;
/// A chain may change by less where another part than the slowest does (statement S33).
const UNCHANGED: f64 = 0.03;
/// From this part of the plateau on a depth is enough (statement S7).
const KNEE_SHARE: f64 = 0.98;

/// One end: latency in microseconds, bandwidth in MB/s, depth, and whether posting to it blocks.
#[derive(Clone, Copy, Debug)]
struct PacedEnd {
    latency_us: u64,
    mb_per_s: u64,
    depth: u32,
    synchronous: bool,
}

const fn end(latency_us: u64, mb_per_s: u64, depth: u32) -> PacedEnd {
    PacedEnd { latency_us, mb_per_s, depth, synchronous: false }
}

impl PacedEnd {
    fn device(self) -> Device {
        Device {
            latency_ps: self.latency_us * 1_000_000,
            bytes_per_s: self.mb_per_s * 1_000_000,
            synchronous: self.synchronous,
        }
    }

    fn model(self) -> model::ModelDevice {
        model::ModelDevice {
            latency_s: self.latency_us as f64 * 1e-6,
            bytes_per_s: self.mb_per_s as f64 * 1e6,
            depth: self.depth,
        }
    }

    /// Time that its channel needs for all bytes, in seconds.
    fn alone_s(self) -> f64 {
        BYTES as f64 / (self.mb_per_s as f64 * 1e6)
    }
}

/// Source and sink.
type Ends = [PacedEnd; 2];

const ENDS: [Ends; 6] = [
    [end(0, 25, 1), end(0, 50, 1)],
    [end(0, 50, 1), end(0, 25, 1)],
    [end(5000, 50, 1), end(500, 50, 1)],
    [end(5000, 50, 4), end(500, 50, 1)],
    [end(500, 50, 2), end(8000, 100, 2)],
    [end(3000, 40, 8), end(3000, 40, 8)],
];

/// Sources whose depth is swept: the latency and bandwidth of each.
const SWEPT: [(u64, u64); 3] = [(2000, 60), (5000, 50), (9000, 40)];

fn main() -> ExitCode {
    // A sleep may otherwise overrun by 50 microseconds: prctl(2), PR_SET_TIMERSLACK.
    let _ = timer_slack(1);
    rows::report(&[closed_form(), knees(), helper(), depths(), slower_end(), chains()].concat())
}

/// A figure that is 1 by the statement, to 5 %.
fn near_one(
    statement: &'static str,
    case: String,
    figure: &'static str,
    measured: f64,
    rounds_s: &[f64],
) -> Judged {
    let (least, most) = (1.0 - TOLERANCE, 1.0 + TOLERANCE);
    Judged { statement, case, figure, measured, least, most, rounds_s: rounds_s.to_vec() }
}

fn run([source, sink]: Ends) -> Report {
    let platform = Platform::simulated(Simulation {
        disk: SimDisk::new(),
        clock: SimClock::real_time(),
        source: source.device(),
        sink: sink.device(),
        faults: Faults::default(),
        seed: 1,
    });
    let options = Options::default().with(|it| {
        it.tuning.request_bytes = Some(REQUEST_BYTES as u32);
        it.tuning.source_depth = Some(source.depth);
        it.tuning.sink_depth = Some(sink.depth);
    });
    let null = |bytes| Place::Null { bytes, fill: Fill::Zero };
    let job = Job::copy(vec![null(Some(BYTES))], null(None));
    job.options(options).platform(platform).run_reported(&|_| {})
}

/// Elapsed time of a run, and the time that its loop lost to the sink, in seconds.
#[derive(Clone, Debug, Default)]
struct Times {
    elapsed_s: Vec<f64>,
    lost_s: Vec<f64>,
}

/// The times of each case in interleaved rounds.
fn times(cases: &[Ends]) -> Vec<Times> {
    let mut all = vec![Times::default(); cases.len()];
    for _ in 0..ROUNDS {
        for (ends, times) in cases.iter().zip(&mut all) {
            let report = run(*ends);
            assert_eq!((report.exit_status, report.requests), (0, REQUESTS), "{report:?}");
            times.elapsed_s.push(report.elapsed_ns as f64 / 1e9);
            times.lost_s.push(report.waits_ns.sink as f64 / 1e9);
        }
    }
    all
}

fn words([source, sink]: Ends) -> String {
    let one = |it: PacedEnd| format!("{} us, {} MB/s, depth {}", it.latency_us, it.mb_per_s, it.depth);
    format!("{}; {}", one(source), one(sink))
}

/// S8: elapsed is the closed form's.
fn closed_form() -> Vec<Judged> {
    let row = |(ends, times): (&Ends, Times)| {
        let stated_s = model::elapsed_s(ends[0].model(), ends[1].model(), BYTES, REQUEST_BYTES);
        let ratio = median(&times.elapsed_s) / stated_s;
        near_one("S8", words(*ends), "elapsed over the closed form", ratio, &times.elapsed_s)
    };
    ENDS.iter().zip(times(&ENDS)).map(row).collect()
}

/// S7: the first depth that reaches 98 % of the plateau is that of the formula, give or take one. Fill and drain are
/// taken out: the latency of the first request is no part of a throughput.
fn knees() -> Vec<Judged> {
    let knee = |(latency_us, mb_per_s): (u64, u64)| {
        let cases: Vec<Ends> =
            (1..=12).map(|depth| [end(latency_us, mb_per_s, depth), end(0, 1_000_000, 1)]).collect();
        let latency_s = latency_us as f64 * 1e-6;
        let middles: Vec<f64> = times(&cases).iter().map(|times| median(&times.elapsed_s)).collect();
        let rates: Vec<f64> = middles.iter().map(|elapsed_s| 1.0 / (elapsed_s - latency_s)).collect();
        let plateau = rates.iter().copied().fold(0.0, f64::max);
        let first = rates.iter().position(|rate| *rate >= KNEE_SHARE * plateau).map_or(0, |at| at + 1);
        let needed = model::depth_needed(mb_per_s as f64 * 1e6, latency_s, REQUEST_BYTES);
        Judged {
            statement: "S7",
            case: format!("source of {latency_us} us, {mb_per_s} MB/s, depths 1 to 12"),
            figure: "first depth of 98 % of the plateau",
            measured: first as f64,
            least: f64::from(needed - 1),
            most: f64::from(needed + 1),
            rounds_s: middles,
        }
    };
    SWEPT.into_iter().map(knee).collect()
}

/// S17: behind a helper the loop loses a fifth of a write at most to a sink that blocks whoever posts, and elapsed goes
/// from the sum of both ends' times to the longer of them.
fn helper() -> Vec<Judged> {
    let case = |(source, sink): (PacedEnd, PacedEnd)| {
        let found = times(&[[source, PacedEnd { synchronous: true, ..sink }], [source, sink]]);
        let [append, queued] = [&found[0], &found[1]];
        let [append_s, queued_s] = [append, queued].map(|times| median(&times.elapsed_s));
        let (sum_s, longer_s) = (source.alone_s() + sink.alone_s(), source.alone_s().max(sink.alone_s()));
        let case = format!("{} and {} MB/s", source.mb_per_s, sink.mb_per_s);
        let lost = Judged {
            statement: "S17",
            case: case.clone(),
            figure: "helper: lost to the sink, of append",
            measured: median(&queued.lost_s) / median(&append.lost_s),
            least: 0.0,
            most: 0.2,
            rounds_s: queued.lost_s.clone(),
        };
        let near = |figure, measured, times: &Times| {
            near_one("S17", case.clone(), figure, measured, &times.elapsed_s)
        };
        [
            near("append: elapsed over the sum", append_s / sum_s, append),
            near("helper: elapsed over the longer", queued_s / longer_s, queued),
            lost,
        ]
    };
    [(end(0, 40, 1), end(0, 50, 1)), (end(0, 30, 1), end(0, 60, 1))].into_iter().flat_map(case).collect()
}

/// S18: depth 4 gains nothing where writes follow one another, and what M6 says where their latencies overlap. The band
/// is that of the same case twice.
fn depths() -> Vec<Judged> {
    let source = end(0, 200, 4);
    let case = |(latency_us, mb_per_s): (u64, u64)| {
        let [one, four] = [1, 4].map(|depth| [source, end(latency_us, mb_per_s, depth)]);
        let found = times(&[one, four, one]);
        let [once_s, four_s, again_s] = [0, 1, 2].map(|at| median(&found[at].elapsed_s));
        let cycle_s =
            |[source, sink]: Ends| model::cycle_time_s(source.model(), sink.model(), REQUEST_BYTES).0;
        let band = (once_s / again_s - 1.0).abs().max(0.01);
        let (stated, tolerance) =
            if latency_us == 0 { (1.0, band) } else { (cycle_s(one) / cycle_s(four), TOLERANCE) };
        Judged {
            statement: "S18",
            case: format!("sink of {latency_us} us, {mb_per_s} MB/s"),
            figure: "depth 4: times as fast as 1",
            measured: once_s / four_s,
            least: stated * (1.0 - tolerance),
            most: stated * (1.0 + tolerance),
            rounds_s: found[1].elapsed_s.clone(),
        }
    };
    // Depth hides the wake-up between two writes, 30 to 70 us: 2 % of a write at 50 MB/s, half of the band at 5.
    [(0, 5), (4000, 50)].into_iter().map(case).collect()
}

/// S31: a copy is as fast as its slower end.
fn slower_end() -> Vec<Judged> {
    let cases: [Ends; 3] = [
        [end(2000, 40, 4), end(2000, 22, 4)],
        [end(1000, 24, 2), end(1000, 60, 2)],
        [end(0, 40, 1), end(0, 40, 1)],
    ];
    let row = |(ends, times): (&Ends, Times)| {
        let ratio = ends[0].alone_s().max(ends[1].alone_s()) / median(&times.elapsed_s);
        near_one("S31", words(*ends), "bandwidth over that of the slower end", ratio, &times.elapsed_s)
    };
    cases.iter().zip(times(&cases)).map(row).collect()
}

/// S33: a chain of two loops is as fast as the slowest of three devices, and the others may lose a fifth.
fn chains() -> Vec<Judged> {
    let case = |(parts_mb, slowest): ([u64; 3], usize)| {
        let slowed = |other: usize| {
            let mut slowed_mb = parts_mb;
            slowed_mb[other] = parts_mb[other] * 4 / 5;
            slowed_mb
        };
        let others: Vec<usize> = (0..3).filter(|part| *part != slowest).collect();
        let cases = [parts_mb, slowed(others[0]), slowed(others[1])];
        let mut found = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            for (parts_mb, rates) in cases.iter().zip(&mut found) {
                rates.push(chain::rate(&SimClock::real_time(), *parts_mb));
            }
        }
        let middles = found.each_ref().map(|rates| median(rates));
        let name =
            format!("source, link and target of {} MB/s", parts_mb.map(|mb| mb.to_string()).join(", "));
        let whole = middles[0] / (parts_mb[slowest] * 1_000_000) as f64;
        let seconds: Vec<f64> = found[0].iter().map(|rate| chain::BYTES as f64 / rate).collect();
        let slower = |other: usize, measured: f64| Judged {
            statement: "S33",
            case: format!("{name}; the part of {} a fifth slower", parts_mb[other]),
            figure: "bandwidth over that before",
            measured,
            least: 1.0 - UNCHANGED,
            most: 1.0 + UNCHANGED,
            rounds_s: seconds.clone(),
        };
        vec![
            near_one("S33", name.clone(), "bandwidth over that of the slowest", whole, &seconds),
            slower(others[0], middles[1] / middles[0]),
            slower(others[1], middles[2] / middles[0]),
        ]
    };
    // Slow, as each block waits for a wake-up in each loop: 70 us, 4 % of a block at 40 MB/s, 1 % at 10.
    [([10, 15, 20], 0), ([16, 10, 15], 1), ([20, 15, 10], 2)].into_iter().flat_map(case).collect()
}

/// The middle one of an odd number of values.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
