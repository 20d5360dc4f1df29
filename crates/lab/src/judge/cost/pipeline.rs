//! The pipeline of two devices: each row of a table is moved by the real copy loop in simulated time, and
//! stands beside the closed form.
//!
//! Must not know: how a block is moved, how the result is shown.

use std::path::Path;
use std::sync::Mutex;

use datapump::simulation::model::{self, Bottleneck};
use datapump::simulation::{self, Faults, SimClock, SimDisk, Simulation};
use datapump::{Event, Fill, Job, Options, Place, Platform};
use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::input::InputError;
use crate::judge::cost::table::{CsvRow, CsvTable};

/// A row with more would take minutes to simulate.
const REQUESTS_MAX: u64 = 10_000_000;

/// The rows of a table of pipelines, each read and in order.
#[derive(Debug)]
pub struct PipelineTable {
    table: CsvTable,
    pipelines: Vec<Pipeline>,
}

/// Two devices and what goes through them.
#[derive(Clone, Copy, Debug)]
struct Pipeline {
    line: u64,
    source: model::ModelDevice,
    sink: model::ModelDevice,
    bytes: u64,
    request_bytes: u64,
}

/// What a row gives.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PipelineRow {
    /// Its line in the file, from 1.
    pub line: u64,
    /// Bytes of a request.
    pub request_size_bytes: u64,
    /// Blocks moved.
    pub requests: u64,
    /// Simulated time of the real loop, in seconds.
    pub elapsed_s: f64,
    /// The closed form, in seconds.
    pub elapsed_closed_form_s: f64,
    /// Time between two blocks in the steady state, in microseconds.
    pub cycle_time_us: f64,
    /// What sets it.
    pub bottleneck: &'static str,
    /// Bytes for each second of simulated time.
    pub bytes_per_s: f64,
}

impl PipelineTable {
    /// Reads a table with the columns of `ref_pipeline.csv` that say what is moved through what; others are left alone.
    ///
    /// Errors: what the system says; an [`InputError`] for what is not in order.
    pub fn read(path: &Path) -> anyhow::Result<PipelineTable> {
        let table = CsvTable::read(path)?;
        let device = ["depth", "latency_us", "bandwidth_mb_per_s"];
        table.require(&["file_size_bytes", "request_size_bytes"])?;
        for column in ["source", "sink"].iter().flat_map(|end| device.map(|part| format!("{end}_{part}"))) {
            if !table.has(&column) {
                return Err(InputError::of_line(path, 1, format!("no column `{column}`")).into());
            }
        }
        let pipelines = table.rows().map(|row| pipeline(&row)).collect::<Result<_, _>>()?;
        Ok(PipelineTable { table, pipelines })
    }

    /// Simulates each row.
    ///
    /// Errors: a row that the loop refuses.
    pub fn run(&self) -> Result<Vec<PipelineRow>, InputError> {
        self.pipelines.iter().map(|pipeline| self.row(pipeline)).collect()
    }

    /// Times in seconds that no run of a row is below, and above.
    pub(super) fn bounds_s(&self) -> impl Iterator<Item = [f64; 2]> {
        self.pipelines.iter().map(|&Pipeline { source, sink, bytes, request_bytes, .. }| {
            [model::elapsed_lower_bound_s, model::elapsed_upper_bound_s]
                .map(|bound_s| bound_s(source, sink, bytes, request_bytes))
        })
    }

    /// The table that was read, for what else it holds.
    pub(super) fn table(&self) -> &CsvTable {
        &self.table
    }

    fn row(&self, pipeline: &Pipeline) -> Result<PipelineRow, InputError> {
        let Pipeline { line, source, sink, bytes, request_bytes } = *pipeline;
        let elapsed_s =
            simulated_s(pipeline).map_err(|why| InputError::of_line(&self.table.path, line, why))?;
        let (cycle_s, bottleneck) = model::cycle_time_s(source, sink, request_bytes);
        Ok(PipelineRow {
            line,
            request_size_bytes: request_bytes,
            requests: bytes.div_ceil(request_bytes),
            elapsed_s,
            elapsed_closed_form_s: model::elapsed_s(source, sink, bytes, request_bytes),
            cycle_time_us: cycle_s * 1e6,
            bottleneck: name(bottleneck),
            bytes_per_s: bytes as f64 / elapsed_s,
        })
    }
}

fn pipeline(row: &CsvRow<'_>) -> Result<Pipeline, InputError> {
    let bytes = row.whole("file_size_bytes", 1, 1 << 53)?;
    let request_bytes = row.whole(
        "request_size_bytes",
        Options::REQUEST_BYTES_MIN.into(),
        Options::REQUEST_BYTES_MAX.into(),
    )?;
    let requests = bytes.div_ceil(request_bytes);
    if requests > REQUESTS_MAX {
        return Err(
            row.wrong(format!("{requests} requests are too many to simulate; at most {REQUESTS_MAX}"))
        );
    }
    let (source, sink) = (device(row, "source")?, device(row, "sink")?);
    Ok(Pipeline { line: row.line, source, sink, bytes, request_bytes })
}

fn device(row: &CsvRow<'_>, end: &str) -> Result<model::ModelDevice, InputError> {
    let latency_us = row.not_negative(&format!("{end}_latency_us"))?;
    let rate = format!("{end}_bandwidth_mb_per_s");
    let bytes_per_s = row.above_zero(&rate)? * 1e6;
    if !(1.0..=1e15).contains(&bytes_per_s) || latency_us > 1e12 {
        return Err(row.wrong(format!("`{rate}` or the latency of the {end} is beyond any device")));
    }
    let depth = row.whole(&format!("{end}_depth"), 1, Options::DEPTH_MAX.into())? as u32;
    Ok(model::ModelDevice { latency_s: latency_us * 1e-6, bytes_per_s, depth })
}

fn name(bottleneck: Bottleneck) -> &'static str {
    match bottleneck {
        Bottleneck::SourceBandwidth => "source_bandwidth",
        Bottleneck::SourceLatency => "source_latency",
        Bottleneck::SinkBandwidth => "sink_bandwidth",
        Bottleneck::SinkLatency => "sink_latency",
    }
}

/// Moves the bytes from nowhere to nowhere through the two devices, and gives the virtual clock's time.
fn simulated_s(pipeline: &Pipeline) -> Result<f64, String> {
    let clock = SimClock::virtual_time();
    let platform = Platform::simulated(Simulation {
        disk: SimDisk::new(),
        clock: clock.clone(),
        source: simulated(pipeline.source),
        sink: simulated(pipeline.sink),
        faults: Faults::default(),
        seed: 1,
    });
    let options = Options::default().with(|it| {
        it.tuning.request_bytes = Some(pipeline.request_bytes as u32);
        it.tuning.source_depth = Some(pipeline.source.depth);
        it.tuning.sink_depth = Some(pipeline.sink.depth);
    });
    let null = |bytes| Place::Null { bytes, fill: Fill::Zero };
    let refusal = Mutex::new(None);
    let note = |event| {
        if let Event::Problem(problem) = event {
            refusal.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(problem.message);
        }
    };
    let job = Job::copy(vec![null(Some(pipeline.bytes))], null(None)).options(options).platform(platform);
    let status = job.run_reported(&note).exit_status;
    match (status, refusal.into_inner().unwrap_or_default()) {
        (0, _) => Ok(clock.now_ps() as f64 / 1e12),
        (_, message) => {
            Err(message.unwrap_or_else(|| format!("the simulated copy ended with status {status}")))
        }
    }
}

fn simulated(device: model::ModelDevice) -> simulation::Device {
    let latency_ps = (device.latency_s * 1e12).round() as u64;
    simulation::Device { latency_ps, bytes_per_s: device.bytes_per_s.round() as u64, synchronous: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "file_size_bytes,request_size_bytes,source_depth,sink_depth,source_latency_us,\
                          source_bandwidth_mb_per_s,sink_latency_us,sink_bandwidth_mb_per_s";

    fn read(text: &str) -> anyhow::Result<Vec<PipelineRow>> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).expect("writable");
        Ok(PipelineTable::read(&path)?.run()?)
    }

    #[test]
    fn the_slower_end_bounds_the_pipeline() {
        for (ends, bottleneck) in [
            ("4,4,0,24,0,22.5", "sink_bandwidth"),
            ("4,4,0,20,0,22.5", "source_bandwidth"),
            ("1,4,80000,24,0,22.5", "source_latency"),
            ("4,2,0,24,80000,22.5", "sink_latency"),
        ] {
            let rows = read(&format!("{HEADER}\n1000000,65536,{ends}\n")).expect(ends);
            let row = &rows[0];
            assert_eq!((row.bottleneck, row.requests, row.line), (bottleneck, 16, 2), "{ends}");
            assert!((row.elapsed_s / row.elapsed_closed_form_s - 1.0).abs() < 1e-6, "{ends}: {row:?}");
        }
    }

    /// Statement S31 and, for two parts, S33: with 100 requests or more a copy is within 5 % of its slower end, and to
    /// slow the other by 20 % above that changes less than 3 %.
    #[test]
    fn the_slower_end_alone_sets_the_bandwidth() {
        let speed = |ends: &str| {
            let rows = read(&format!("{HEADER}\n{},65536,{ends}\n", 65_536 * 120)).expect(ends);
            assert_eq!(rows[0].requests, 120, "{ends}");
            rows[0].bytes_per_s / 1e6
        };
        for (slower, other, slowed) in [
            (22.5, "2,2,2000,40,2000,22.5", "2,2,2000,32,2000,22.5"),
            (24.0, "2,2,1000,24,1000,60", "2,2,1000,24,1000,48"),
            (1000.0, "4,2,80,3000,30,1000", "4,2,80,2400,30,1000"),
        ] {
            let (got, slowed) = (speed(other), speed(slowed));
            assert!((got / slower - 1.0).abs() < 0.05, "{other}: {got}");
            assert!((got / slowed - 1.0).abs() < 0.03, "{other}: {got}, {slowed}");
        }
    }

    #[test]
    fn tables_that_are_not_in_order_are_refused() {
        for (text, complaint) in [
            ("file_size_bytes,request_size_bytes\n1,1024\n".into(), "line 1: no column `source_depth`"),
            (format!("{HEADER}\n0,65536,1,1,0,1,0,1\n"), "line 2: `file_size_bytes` must be a whole number"),
            (
                format!("{HEADER}\n9,512,1,1,0,1,0,1\n"),
                "`request_size_bytes` must be a whole number from 1024",
            ),
            (
                format!("{HEADER}\n9,1025,1,1,0,1,0,1\n"),
                "line 2: the request size must be a multiple of 1 KiB",
            ),
            (format!("{HEADER}\n9,1024,0,1,0,1,0,1\n"), "`source_depth` must be a whole number from 1"),
            (format!("{HEADER}\n9,1024,1,1,-1,1,0,1\n"), "`source_latency_us` must not be below 0"),
            (format!("{HEADER}\n9,1024,1,1,0,1,0,0\n"), "`sink_bandwidth_mb_per_s` must be above 0"),
            (format!("{HEADER}\n9,1024,1,1,0,1e-9,0,1\n"), "beyond any device"),
            (format!("{HEADER}\n99999999999,1024,1,1,0,1,0,1\n"), "too many to simulate"),
        ] {
            let error = read(&text).expect_err(complaint);
            assert!(
                error.is::<InputError>() && error.to_string().contains(complaint),
                "{complaint}: {error:#}"
            );
        }
    }
}
