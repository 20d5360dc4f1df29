//! Many readers of one server (Walker and White): bandwidths, the level-off of each stage, what a window changes, and
//! which stages the spread tells apart.
//!
//! Must not know: which statements there are.

use std::path::Path;

use anyhow::Context;

use super::{CheckFound, apart};
use crate::judge::cost::fit::level_off::{LevelOff, MeasuredLatency, fit_level_off};
use crate::judge::cost::table::{CsvRow, CsvTable};

/// The rows of the readers' table: stage and latency, with both bandwidths.
fn latencies(folder: &Path) -> anyhow::Result<(CsvTable, Vec<(String, MeasuredLatency)>)> {
    let table = CsvTable::read(&folder.join("legion_1file_latency.csv"))?;
    let latency = |row: CsvRow<'_>| -> anyhow::Result<(String, MeasuredLatency)> {
        let rate = row.number("aggregate_bandwidth_mb_per_s")?;
        let latency = MeasuredLatency {
            readers: row.whole("readers", 1, 1 << 20)? as u32,
            latency_s: row.above_zero("latency_s")?,
            aggregate_bytes_per_s: Some(rate * 1e6),
        };
        Ok((row.text("stage")?.to_string(), latency))
    };
    let rows = table.rows().map(latency).collect::<anyhow::Result<_>>()?;
    Ok((table, rows))
}

pub fn rates(folder: &Path) -> CheckFound {
    let (table, rows) = latencies(folder)?;
    let mut worst = 0.0_f64;
    for (row, (_, latency)) in table.rows().zip(&rows) {
        let single = 10.0 / latency.latency_s;
        worst = worst.max(apart(single, row.number("single_reader_bandwidth_mb_per_s")?));
        let all = single * f64::from(latency.readers);
        worst = worst.max(apart(all, row.number("aggregate_bandwidth_mb_per_s")?));
    }
    Ok((worst, format!("{} rows", rows.len())))
}

pub fn fits(folder: &Path) -> CheckFound {
    let (_, rows) = latencies(folder)?;
    let (mut worst, mut best, mut off) = (0.0_f64, 0.0_f64, 0.0_f64);
    for row in CsvTable::read(&folder.join("ref_legion_fit.csv"))?.rows() {
        let stage = row.text("stage")?;
        let of_stage = rows.iter().filter(|row| row.0 == stage).map(|row| row.1);
        let fit = fit_level_off(stage, &of_stage.collect::<Vec<_>>())?;
        worst = worst.max(fit.worst_error_percent);
        best = best.max(fit.best_worst_error_percent);
        off = off.max(apart_from(&fit, &row)?);
    }
    let passes = best <= 2.2 && off <= 1e-6;
    let detail =
        format!("the best D to {best:.2} % (2.2 allowed); {off:.0e} from the reference fits (1e-6 allowed)");
    Ok((if passes { worst } else { f64::INFINITY }, detail))
}

fn apart_from(fit: &LevelOff, row: &CsvRow<'_>) -> anyhow::Result<f64> {
    let mut worst = 0.0_f64;
    for (got, column) in [
        (fit.r1_s, "r1_s"),
        (fit.d_s, "server_cost_d_s"),
        (fit.plateau_bytes_per_s.unwrap_or(f64::NAN) / 1e6, "plateau_mb_per_s"),
        (fit.knee_readers, "knee_readers"),
        (fit.worst_error_percent, "worst_error_percent"),
    ] {
        worst = worst.max(apart(got, row.number(column)?));
    }
    Ok(worst)
}

fn fit_of(rows: &[(String, MeasuredLatency)], stage: &str) -> anyhow::Result<LevelOff> {
    let of_stage = rows.iter().filter(|row| row.0 == stage).map(|row| row.1);
    Ok(fit_level_off(stage, &of_stage.collect::<Vec<_>>())?)
}

/// What requests in flight change, against the stage before: a single reader's latency by -31 %, the server's cost by
/// -4.5 %, the knee from 2.9 to 2.1 readers.
pub fn window(folder: &Path) -> CheckFound {
    let (_, rows) = latencies(folder)?;
    let (before, after) = (fit_of(&rows, "io_additions")?, fit_of(&rows, "sliding_window")?);
    let change = |before: f64, after: f64| 100.0 * (after / before - 1.0);
    let (r1, d) = (change(before.r1_s, after.r1_s), change(before.d_s, after.d_s));
    let figures = [
        (r1, -31.0, 0.5),
        (d, -4.5, 0.05),
        (before.knee_readers, 2.9, 0.05),
        (after.knee_readers, 2.1, 0.05),
    ];
    let worst = figures.iter().map(|(got, stated, half)| (got - stated).abs() / half).fold(0.0, f64::max);
    let detail = format!(
        "R1 {r1:+.1} %, D {d:+.2} %, the knee from {:.2} to {:.2} readers",
        before.knee_readers, after.knee_readers
    );
    Ok((worst, detail))
}

/// By how many standard deviations the optimised build is slower than the plain one, at most over all readers. It is
/// never faster.
pub fn optimised_build(folder: &Path) -> CheckFound {
    let (_, rows) = latencies(folder)?;
    let of = |stage: &str, readers: u64| {
        let found = rows.iter().find(|(its, row)| its == stage && u64::from(row.readers) == readers);
        found.map(|(_, row)| row.latency_s).with_context(|| format!("no row of {stage}, {readers} readers"))
    };
    let (mut worst, mut is_slower) = (0.0_f64, true);
    for row in CsvTable::read(&folder.join("legion_stddev.csv"))?.rows() {
        if row.text("case")? == "1_file" {
            let readers = row.whole("readers", 1, 1 << 20)?;
            let slower_s = of("optimized", readers)? - of("unoptimized", readers)?;
            is_slower &= slower_s >= 0.0;
            worst = worst.max(slower_s / row.above_zero("latency_standard_deviation_s")?);
        }
    }
    let detail = "below two, so that the stages are not separable".to_string();
    Ok((if is_slower { worst } else { f64::INFINITY }, detail))
}
