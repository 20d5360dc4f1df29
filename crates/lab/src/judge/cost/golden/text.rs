//! Figures in the running text of "Performance of the 1-1 Data Pump" (Mayr and Gray, 2000), and how often each of its
//! experiments was repeated, beside the studies that come with the program.
//!
//! Must not know: which statements there are.

use std::path::Path;

use anyhow::Context;

use super::{COMPONENTS, CheckFound, GoldenCheck, TABLES};
use crate::judge::cost::chain::PartsFile;
use crate::judge::cost::table::CsvTable;
use crate::study::builtin;
use crate::study::{Changes, Level, Study};

/// Checks of the text.
pub const CHECKS: [GoldenCheck; 3] = [
    (
        "M4",
        "a CPU's bandwidth is 1 / (Cb + Cr/RS): 3 GB/s of 64 KiB, 25 MB/s",
        10.0,
        "percent",
        cpu_bandwidths,
    ),
    ("E2", "larger requests gain less and less", 0.0, "steps out of order", steps),
    (
        "E11",
        "our studies repeat as often, with requests as small",
        0.0,
        "studies that fall short",
        experiments,
    ),
];

fn scalar(table: &CsvTable, quantity: &str) -> anyhow::Result<f64> {
    Ok(table.row_with(&[("quantity", quantity)])?.above_zero("value")?)
}

/// The null pump's is stated with one figure; a receiver's exactly. A sink's request costs 100 to 300 us, says the text; that
/// of 256 KiB, of its own table 2, takes 341.
fn cpu_bandwidths(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("datapump_scalars.csv"))?;
    let of = |quantity| scalar(&table, quantity);
    let null_gb_per_s = of("null_pump_request_size")? / of("null_pump_cost")? / 1e3;
    let receiver = PartsFile::read(&folder.join(COMPONENTS))?.part("network_source")?.cb_ns_per_byte;
    let is_exact = (1e3 / receiver - of("network_receiver_cpu_bandwidth_limit")?).abs() < 1e-9;
    let sink = CsvTable::read(&folder.join(TABLES[1]))?;
    let request_us = |size| -> anyhow::Result<f64> {
        let row = sink.row_with(&[("request_size_bytes", size)])?;
        Ok(row.above_zero("observed_ns_per_byte")? * row.above_zero("request_size_bytes")? / 1e3)
    };
    let expected = of("disk_sink_cost_expected_min")?..=of("disk_sink_cost_expected_max")?;
    let (medium_us, large_us) = (request_us("131072")?, request_us("262144")?);
    let is_known_to_depart = expected.contains(&medium_us) && !expected.contains(&large_us);
    let off = 100.0 * (null_gb_per_s / of("null_pump_throughput")? - 1.0).abs();
    let detail = format!("{null_gb_per_s:.2} GB/s of null ends; a sink's 256 KiB cost {large_us:.0} us");
    Ok((if is_exact && is_known_to_depart { off } else { f64::INFINITY }, detail))
}

fn steps(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("datapump_bandwidth_steps.csv"))?;
    let mut gains = Vec::new();
    for row in table.rows().filter(|row| row.text("endpoint") == Ok("disk_sink")) {
        gains.push(row.number("bandwidth_gain_percent")?);
    }
    // The last row is a bound on all that lies beyond 64 KiB.
    let bound = gains.pop().context("no steps of a sink")?;
    let out_of_order = gains.windows(2).filter(|two| two[0] <= two[1]).count();
    let beyond = gains.last().is_some_and(|last| *last >= bound);
    Ok((
        (out_of_order + usize::from(beyond)) as f64,
        format!("{} steps, {bound} % at most beyond", gains.len()),
    ))
}

fn experiments(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("datapump_experiments.csv"))?;
    let (mut short, mut repeats) = (0, Vec::new());
    for (experiment, name) in [
        ("null_to_null", "cpu"),
        ("disk_source", "disk-source"),
        ("disk_sink", "disk-sink"),
        ("network", "network"),
    ] {
        let row = table.row_with(&[("experiment", experiment)])?;
        let built_in = builtin::find(name).context("no such study")?;
        let study = Study::parse(name, built_in.text, &Changes::default())?;
        let sizes = study.levels("request_size").iter().filter_map(Level::value);
        let is_as_small = row
            .optional("request_size_min_bytes")?
            .is_none_or(|least| sizes.fold(f64::MAX, f64::min) <= least);
        let is_as_often = f64::from(study.repeats) >= row.above_zero("repeats")?;
        short += u32::from(!(is_as_small && is_as_often));
        repeats.push(format!("{name} {}", study.repeats));
    }
    Ok((f64::from(short), repeats.join(", ")))
}
