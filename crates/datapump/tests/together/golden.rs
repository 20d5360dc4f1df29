//! The loop in simulated time against the reference tables: statements S6 and S7; and on paced ends: S8.

use datapump::simulation::model::{self, Bottleneck};
use datapump::simulation::{Device, Faults, SimClock, SimDisk, Simulation};
use datapump::{Fill, Job, Options, Place, Platform, Report};

/// A table with a header, as maps from column to value.
pub fn table(name: &str) -> Vec<Row> {
    let path = format!("{}/../lab/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut lines = text.lines();
    let header: Vec<String> = lines.next().unwrap().split(',').map(String::from).collect();
    lines
        .map(|line| Row { header: header.clone(), cells: line.split(',').map(String::from).collect() })
        .collect()
}

pub struct Row {
    header: Vec<String>,
    cells: Vec<String>,
}

impl Row {
    pub fn text(&self, column: &str) -> &str {
        let index = self
            .header
            .iter()
            .position(|name| name == column)
            .unwrap_or_else(|| panic!("no column {column}"));
        &self.cells[index]
    }

    pub fn number(&self, column: &str) -> f64 {
        self.text(column).parse().unwrap_or_else(|_| panic!("{column}: {}", self.text(column)))
    }

    fn device(&self, end: &str) -> model::ModelDevice {
        model::ModelDevice {
            latency_s: self.number(&format!("{end}_latency_us")) * 1e-6,
            bytes_per_s: self.number(&format!("{end}_bandwidth_mb_per_s")) * 1e6,
            depth: self.number(&format!("{end}_depth")) as u32,
        }
    }
}

fn simulated(device: model::ModelDevice) -> Device {
    let latency_ps = (device.latency_s * 1e12).round() as u64;
    Device { latency_ps, bytes_per_s: device.bytes_per_s.round() as u64, synchronous: false }
}

/// Moves `bytes` from nowhere to nowhere through two devices.
fn run(
    clock: SimClock,
    source: model::ModelDevice,
    sink: model::ModelDevice,
    bytes: u64,
    request_bytes: u32,
) -> Report {
    run_devices(clock, (simulated(source), source.depth), (simulated(sink), sink.depth), bytes, request_bytes)
}

/// The same for devices and depths.
fn run_devices(
    clock: SimClock,
    source: (Device, u32),
    sink: (Device, u32),
    bytes: u64,
    request_bytes: u32,
) -> Report {
    let platform = Platform::simulated(Simulation {
        disk: SimDisk::new(),
        clock,
        source: source.0,
        sink: sink.0,
        faults: Faults::default(),
        seed: 1,
    });
    let options = Options::default().with(|it| {
        it.tuning.request_bytes = Some(request_bytes);
        it.tuning.source_depth = Some(source.1);
        it.tuning.sink_depth = Some(sink.1);
    });
    let null = |bytes| Place::Null { bytes, fill: Fill::Zero };
    Job::copy(vec![null(Some(bytes))], null(None)).options(options).platform(platform).run_reported(&|_| {})
}

fn bottleneck_name(bottleneck: Bottleneck) -> &'static str {
    match bottleneck {
        Bottleneck::SourceBandwidth => "source_bandwidth",
        Bottleneck::SourceLatency => "source_latency",
        Bottleneck::SinkBandwidth => "sink_bandwidth",
        Bottleneck::SinkLatency => "sink_latency",
    }
}

pub fn relative(one: f64, other: f64) -> f64 {
    (one / other - 1.0).abs()
}

#[test]
fn s6_the_loop_takes_the_time_of_the_reference_table() {
    let rows = table("ref_pipeline.csv");
    assert_eq!(rows.len(), 225);
    for (index, row) in rows.iter().enumerate() {
        let (source, sink) = (row.device("source"), row.device("sink"));
        let (bytes, request) =
            (row.number("file_size_bytes") as u64, row.number("request_size_bytes") as u64);
        let expected_s = row.number("elapsed_exact_s");
        let clock = SimClock::virtual_time();
        let report = run(clock.clone(), source, sink, bytes, request as u32);
        let elapsed_s = clock.now_ps() as f64 / 1e12;
        assert!(relative(elapsed_s, expected_s) < 1e-6, "row {index}: {elapsed_s} s, table {expected_s} s");
        assert_eq!(report.requests as f64, row.number("requests"), "row {index}");
        let closed_s = model::elapsed_s(source, sink, bytes, request);
        assert!(relative(closed_s, expected_s) < 1e-6, "row {index}: closed form {closed_s} s");
        let (cycle_s, bottleneck) = model::cycle_time_s(source, sink, request);
        assert!(relative(cycle_s * 1e6, row.number("cycle_time_us")) < 1e-6, "row {index}");
        assert_eq!(bottleneck_name(bottleneck), row.text("bottleneck"), "row {index}");
        let bounds = [
            (row.number("elapsed_lower_bound_s"), model::elapsed_lower_bound_s(source, sink, bytes, request)),
            (
                row.number("elapsed_fill_steady_drain_s"),
                model::elapsed_upper_bound_s(source, sink, bytes, request),
            ),
        ];
        for (stated_s, bound_s) in bounds {
            assert!(relative(bound_s, stated_s) < 1e-6, "row {index}: bound {bound_s} s, table {stated_s} s");
        }
        let [(low_s, _), (high_s, _)] = bounds;
        assert!(low_s * (1.0 - 1e-6) <= elapsed_s, "row {index}: {elapsed_s} s is below {low_s} s");
        assert!(elapsed_s <= high_s * (1.0 + 1e-6), "row {index}: {elapsed_s} s is above {high_s} s");
        assert!(report.requests < 100 || high_s / low_s < 1.003, "row {index}: {low_s} to {high_s} s");
    }
}

/// The bottleneck that is named has the largest of the four terms of a cycle, each computed here by itself.
#[test]
fn s6_the_named_bottleneck_has_the_largest_term() {
    for (index, row) in table("ref_pipeline.csv").iter().enumerate() {
        let request = row.number("request_size_bytes");
        let terms: Vec<(&str, f64)> =
            [("source", "source_bandwidth", "source_latency"), ("sink", "sink_bandwidth", "sink_latency")]
                .into_iter()
                .flat_map(|(end, bandwidth, latency)| {
                    let channel_us = request / row.number(&format!("{end}_bandwidth_mb_per_s"));
                    let slot_us = (row.number(&format!("{end}_latency_us")) + channel_us)
                        / row.number(&format!("{end}_depth"));
                    [(bandwidth, channel_us), (latency, slot_us)]
                })
                .collect();
        let largest_us = terms.iter().map(|(_, term_us)| *term_us).fold(0.0, f64::max);
        assert!(relative(largest_us, row.number("cycle_time_us")) < 1e-6, "row {index}: {terms:?}");
        let (_, named) = model::cycle_time_s(row.device("source"), row.device("sink"), request as u64);
        let term = terms.iter().find(|(name, _)| *name == bottleneck_name(named)).expect("one of four");
        assert!(relative(term.1, largest_us) < 1e-9, "row {index}: {named:?} of {terms:?}");
    }
}

#[test]
fn s7_the_depth_needed_is_that_of_the_reference_table() {
    for (index, row) in table("ref_depth.csv").iter().enumerate() {
        let (rate, latency_s) = (row.number("bandwidth_mb_per_s") * 1e6, row.number("latency_us") * 1e-6);
        let request = row.number("request_size_bytes") as u64;
        let needed = row.number("depth_needed") as u32;
        assert_eq!(model::depth_needed(rate, latency_s, request), needed, "row {index}");
        let throughput = |depth: u32| {
            let source = model::ModelDevice { latency_s, bytes_per_s: rate, depth };
            let sink = model::ModelDevice { latency_s: 0.0, bytes_per_s: 1e15, depth: 1 };
            let report = run(SimClock::virtual_time(), source, sink, 400 * request, request as u32);
            400.0 * request as f64 / (report.elapsed_ns as f64 / 1e9 - latency_s)
        };
        if needed > 64 {
            continue; // a pool of thousands of slots shows nothing new
        }
        assert!(throughput(needed) > 0.98 * rate, "row {index}: depth {needed} is enough");
        if needed > 1 {
            assert!(
                throughput(needed - 1) < 0.9999 * rate,
                "row {index}: depth {} is too little",
                needed - 1
            );
        }
        // Of more than 50 slots two are less than 2 %.
        if needed <= 32 {
            let enough = |depth: &u32| throughput(*depth) >= 0.98 * throughput(needed + 2);
            let first = (1..=needed + 1).find(enough);
            assert!(first.is_some_and(|it| it.abs_diff(needed) <= 1), "row {index}: {first:?} of {needed}");
        }
    }
}

/// A sink that blocks whoever posts to it, as a write that extends a file may: the times of the ends add up, and the
/// time inside posting is the sink's. Posted by a helper (a queue), the slower end alone counts, and the thread that
/// posts is not blocked at all.
#[test]
fn s17_a_queue_overlaps_what_a_synchronous_sink_would_add_up() {
    let device = |synchronous| Device { latency_ps: 0, bytes_per_s: 100_000_000, synchronous };
    let (bytes, request) = (200 * 65_536, 65_536);
    let one_end_ns = bytes * 10; // 100 MB/s
    let append = run_devices(SimClock::virtual_time(), (device(false), 1), (device(true), 1), bytes, request);
    let queued =
        run_devices(SimClock::virtual_time(), (device(false), 1), (device(false), 1), bytes, request);
    // With one slot at the source it cannot read while the loop is blocked in posting.
    assert!(relative(append.elapsed_ns as f64, 2.0 * one_end_ns as f64) < 0.05, "{append:?}");
    assert!(append.waits_ns.sink as f64 > 0.95 * one_end_ns as f64, "{append:?}");
    assert!(relative(queued.elapsed_ns as f64, one_end_ns as f64) < 0.05, "{queued:?}");
}

/// The same where the source is the slower end: elapsed goes from the sum of both ends' times to the longer of them, to
/// 5 %, and of each write the loop loses a fifth to the sink at most.
#[test]
fn s17_behind_a_queue_the_loop_loses_a_fifth_of_a_write_at_most() {
    let (requests, request) = (200, 65_536);
    for (source_mb, sink_mb) in [(100, 105), (100, 150), (100, 400), (25, 50)] {
        let source = Device { latency_ps: 0, bytes_per_s: source_mb * 1_000_000, synchronous: false };
        let run = |synchronous| {
            let sink = Device { bytes_per_s: sink_mb * 1_000_000, synchronous, ..source };
            run_devices(
                SimClock::virtual_time(),
                (source, 1),
                (sink, 1),
                requests * u64::from(request),
                request,
            )
        };
        let (append, queued) = (run(true), run(false));
        let end_ns = |mb: u64| (requests * u64::from(request) * 1000 / mb) as f64;
        let (source_ns, sink_ns) = (end_ns(source_mb), end_ns(sink_mb));
        let what = format!("source {source_mb} MB/s, sink {sink_mb} MB/s: {append:?} {queued:?}");
        assert!(relative(append.elapsed_ns as f64, source_ns + sink_ns) < 0.05, "{what}");
        assert!(relative(queued.elapsed_ns as f64, source_ns.max(sink_ns)) < 0.05, "{what}");
        assert!(relative(append.waits_ns.sink as f64, sink_ns) < 0.05, "{what}");
        assert!(queued.waits_ns.sink as f64 <= 0.2 * append.waits_ns.sink as f64, "{what}");
    }
}

/// Depth gains nothing at a sink whose writes follow one another, and what M6 says at one whose latencies overlap.
#[test]
fn s18_depth_gains_only_where_writes_overlap() {
    let source = (Device { latency_ps: 0, bytes_per_s: 1_000_000_000, synchronous: false }, 4);
    let (bytes, request) = (400 * 65_536, 65_536);
    let elapsed = |latency_ps, depth| {
        let sink = Device { latency_ps, bytes_per_s: 200_000_000, synchronous: false };
        run_devices(SimClock::virtual_time(), source, (sink, depth), bytes, request).elapsed_ns as f64
    };
    assert!(relative(elapsed(0, 1), elapsed(0, 4)) < 0.01, "serial writes");
    let latency_ps = 2_000_000_000; // 2 ms, six times the transfer
    let gain = elapsed(latency_ps, 1) / elapsed(latency_ps, 4);
    assert!((3.9..4.1).contains(&gain), "M6: the latency is divided by the depth, not by {gain}");
}
