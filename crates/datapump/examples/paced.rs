//! Statement S8: the real loop on paced ends against the closed form M8, in real time.
//!
//! Prints the median ratio of 5 interleaved rounds for each row; within 5 % of 1 is what S8 asks on a quiet machine.
//! Run by hand and by the wider suite: `cargo run --release -p datapump --example paced`.

use datapump::simulation::{Device, Faults, Peaks, SimClock, SimDisk, Simulation, model, timer_slack};
use datapump::{Fill, Job, Options, Place, Platform};

const REQUEST_BYTES: u64 = 65_536;
const REQUESTS: u64 = 150;

/// Latency in microseconds, bandwidth in MB/s, depth: of the source and of the sink.
const ROWS: [[u64; 6]; 6] = [
    [0, 25, 1, 0, 50, 1],
    [0, 50, 1, 0, 25, 1],
    [5000, 50, 1, 500, 50, 1],
    [5000, 50, 4, 500, 50, 1],
    [500, 50, 2, 8000, 100, 2],
    [3000, 40, 8, 3000, 40, 8],
];

fn main() {
    // A sleep may otherwise overrun by 50 microseconds: prctl(2), PR_SET_TIMERSLACK.
    let _ = timer_slack(1);
    let mut ratios = vec![Vec::new(); ROWS.len()];
    for _ in 0..5 {
        for (row, ratios) in ROWS.iter().zip(&mut ratios) {
            ratios.push(observed_s(row) / predicted_s(row));
        }
    }
    println!("source us MB/s depth   sink us MB/s depth   observed/predicted");
    for (row, mut ratios) in ROWS.iter().zip(ratios) {
        ratios.sort_by(f64::total_cmp);
        let [a, b, c, d, e, f] = row;
        println!(
            "{a:>9} {b:>4} {c:>5} {d:>9} {e:>4} {f:>5}   {:>10.3} [{:.3}..{:.3}]",
            ratios[2], ratios[0], ratios[4]
        );
    }
}

fn predicted_s(row: &[u64; 6]) -> f64 {
    let device = |of: &[u64]| model::ModelDevice {
        latency_s: of[0] as f64 * 1e-6,
        bytes_per_s: of[1] as f64 * 1e6,
        depth: of[2] as u32,
    };
    model::elapsed_s(device(&row[..3]), device(&row[3..]), REQUESTS * REQUEST_BYTES, REQUEST_BYTES)
}

fn observed_s(row: &[u64; 6]) -> f64 {
    let device = |of: &[u64]| Device {
        latency_ps: of[0] * 1_000_000,
        bytes_per_s: of[1] * 1_000_000,
        synchronous: false,
    };
    let platform = Platform::simulated(Simulation {
        disk: SimDisk::new(),
        clock: SimClock::real_time(),
        source: device(&row[..3]),
        sink: device(&row[3..]),
        faults: Faults::default(),
        seed: 1,
        peaks: Peaks::default(),
    });
    let options = Options::default().with(|it| {
        it.tuning.request_bytes = Some(REQUEST_BYTES as u32);
        it.tuning.source_depth = Some(row[2] as u32);
        it.tuning.sink_depth = Some(row[5] as u32);
    });
    let null = |bytes| Place::Null { bytes, fill: Fill::Zero };
    let job = Job::copy(vec![null(Some(REQUESTS * REQUEST_BYTES))], null(None));
    job.options(options).platform(platform).run_reported(&|_| {}).elapsed_ns as f64 / 1e9
}
