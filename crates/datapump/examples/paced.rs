//! Statements S7, S8, S17, S18 and S31 on the real clock: the real loop on paced ends against the closed forms.
//!
//! Prints a row for each case with the median of 5 interleaved rounds, what is stated, and whether it holds; status 1 if
//! one does not. By hand, on a quiet machine: `cargo run --release -p datapump --example paced`.

use std::process::ExitCode;

use datapump::simulation::{Device, Faults, Peaks, SimClock, SimDisk, Simulation, model, timer_slack};
use datapump::{Fill, Job, Options, Place, Platform, Report};

const REQUEST_BYTES: u64 = 65_536;
const REQUESTS: u64 = 150;
const BYTES: u64 = REQUESTS * REQUEST_BYTES;
const ROUNDS: usize = 5;
/// So far from what is stated it may be.
const TOLERANCE: f64 = 0.05;
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
    println!(
        "statement  case                                                  measured      stated  verdict"
    );
    let holds = [closed_form(), knees(), helper(), depths(), slower_end()];
    if holds.iter().all(|it| *it) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A row; gives whether it holds.
fn told(statement: &str, case: &str, measured: f64, stated: &str, holds: bool) -> bool {
    let verdict = if holds { "holds" } else { "DOES NOT HOLD" };
    println!("{statement:<9}  {case:<50}  {measured:>10.3}  {stated:>10}  {verdict}");
    holds
}

fn is_near(ratio: f64) -> bool {
    (ratio - 1.0).abs() <= TOLERANCE
}

fn run([source, sink]: Ends) -> Report {
    let platform = Platform::simulated(Simulation {
        disk: SimDisk::new(),
        clock: SimClock::real_time(),
        source: source.device(),
        sink: sink.device(),
        faults: Faults::default(),
        seed: 1,
        peaks: Peaks::default(),
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

/// Medians of a figure in interleaved rounds.
fn medians(cases: &[Ends], figure: impl Fn(&Report) -> f64) -> Vec<f64> {
    let mut all = vec![Vec::new(); cases.len()];
    for _ in 0..ROUNDS {
        for (ends, values) in cases.iter().zip(&mut all) {
            values.push(figure(&run(*ends)));
        }
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[ROUNDS / 2]
    };
    all.into_iter().map(median).collect()
}

fn elapsed_s(report: &Report) -> f64 {
    report.elapsed_ns as f64 / 1e9
}

fn words([source, sink]: Ends) -> String {
    let one = |it: PacedEnd| format!("{} us, {} MB/s, depth {}", it.latency_us, it.mb_per_s, it.depth);
    format!("{}; {}", one(source), one(sink))
}

/// S8: elapsed is the closed form's.
fn closed_form() -> bool {
    let rows = ENDS.iter().zip(medians(&ENDS, elapsed_s)).map(|(ends, elapsed_s)| {
        let ratio = elapsed_s / model::elapsed_s(ends[0].model(), ends[1].model(), BYTES, REQUEST_BYTES);
        told("S8", &words(*ends), ratio, "1 +- 5 %", is_near(ratio))
    });
    rows.fold(true, |all, holds| all & holds)
}

/// S7: the first depth that reaches 98 % of the plateau is that of the formula, give or take one. Fill and drain are
/// taken out: the latency of the first request is no part of a throughput.
fn knees() -> bool {
    let knee = |(latency_us, mb_per_s): (u64, u64)| {
        let cases: Vec<Ends> =
            (1..=12).map(|depth| [end(latency_us, mb_per_s, depth), end(0, 1_000_000, 1)]).collect();
        let latency_s = latency_us as f64 * 1e-6;
        let rates: Vec<f64> =
            medians(&cases, elapsed_s).iter().map(|elapsed_s| 1.0 / (elapsed_s - latency_s)).collect();
        let plateau = rates.iter().copied().fold(0.0, f64::max);
        let first = rates.iter().position(|rate| *rate >= KNEE_SHARE * plateau).map_or(0, |at| at + 1);
        let needed = model::depth_needed(mb_per_s as f64 * 1e6, latency_s, REQUEST_BYTES);
        let case = format!("source of {latency_us} us, {mb_per_s} MB/s: first depth of 98 %");
        told("S7", &case, first as f64, &format!("{needed} +- 1"), (first as u32).abs_diff(needed) <= 1)
    };
    SWEPT.into_iter().map(knee).fold(true, |all, holds| all & holds)
}

/// S17: behind a helper the loop loses a fifth of a write at most to a sink that blocks whoever posts, and elapsed goes
/// from the sum of both ends' times to the longer of them.
fn helper() -> bool {
    let case = |(source, sink): (PacedEnd, PacedEnd)| {
        let cases = [[source, PacedEnd { synchronous: true, ..sink }], [source, sink]];
        let elapsed = medians(&cases, elapsed_s);
        let lost = medians(&cases, |report| report.waits_ns.sink as f64);
        let (sum_s, longer_s) = (source.alone_s() + sink.alone_s(), source.alone_s().max(sink.alone_s()));
        let case = |what: &str| format!("{} and {} MB/s, {what}", source.mb_per_s, sink.mb_per_s);
        let [append, queued] = [elapsed[0] / sum_s, elapsed[1] / longer_s];
        let share = lost[1] / lost[0];
        told("S17", &case("append: of the sum"), append, "1 +- 5 %", is_near(append))
            & told("S17", &case("helper: of the longer"), queued, "1 +- 5 %", is_near(queued))
            & told("S17", &case("lost to the sink, of append's"), share, "<= 0.2", share <= 0.2)
    };
    [(end(0, 40, 1), end(0, 50, 1)), (end(0, 30, 1), end(0, 60, 1))]
        .into_iter()
        .map(case)
        .fold(true, |all, holds| all & holds)
}

/// S18: depth 4 gains nothing where writes follow one another, and what M6 says where their latencies overlap. The band
/// is that of the same case twice.
fn depths() -> bool {
    let source = end(0, 200, 4);
    let case = |latency_us: u64| {
        let [one, four] = [1, 4].map(|depth| [source, end(latency_us, 50, depth)]);
        let elapsed = medians(&[one, four, one], elapsed_s);
        let cycle_s =
            |[source, sink]: Ends| model::cycle_time_s(source.model(), sink.model(), REQUEST_BYTES).0;
        let stated = cycle_s(one) / cycle_s(four);
        let (gain, band) = (elapsed[0] / elapsed[1], (elapsed[0] / elapsed[2] - 1.0).abs().max(0.01));
        let case = format!("sink of {latency_us} us: depth 4 beside 1");
        let holds = if latency_us == 0 { (gain - 1.0).abs() <= band } else { is_near(gain / stated) };
        told("S18", &case, gain, &format!("{stated:.3}"), holds)
    };
    [0, 4000].into_iter().map(case).fold(true, |all, holds| all & holds)
}

/// S31: a copy is as fast as its slower end.
fn slower_end() -> bool {
    let cases: [Ends; 3] = [
        [end(2000, 40, 4), end(2000, 22, 4)],
        [end(1000, 24, 2), end(1000, 60, 2)],
        [end(0, 40, 1), end(0, 40, 1)],
    ];
    let rows = cases.iter().zip(medians(&cases, elapsed_s)).map(|(ends, elapsed_s)| {
        let ratio = ends[0].alone_s().max(ends[1].alone_s()) / elapsed_s;
        told("S31", &words(*ends), ratio, "1 +- 5 %", is_near(ratio))
    });
    rows.fold(true, |all, holds| all & holds)
}
