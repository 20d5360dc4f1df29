//! Published costs of sequential requests by size (two NT versions), and of a disk beside a network (Hughes-Jones).
//!
//! Must not know: which statements there are.

use std::path::Path;

use anyhow::Context;

use super::{CheckFound, apart};
use crate::judge::cost::fit::{FitPoint, fit_published};
use crate::judge::cost::parts::{CostPart, predict};
use crate::judge::cost::table::CsvTable;

/// A request costs so much, in microseconds, and each KiB of it so much more.
const FIXED_US: f64 = 20.0;
const MARGINAL_US_PER_KIB: f64 = 16.0;
const KIB: f64 = 1024.0;
/// From this size on the cost of a MiB hardly varies, and by less than this, in percent.
const LEVEL_FROM_BYTES: f64 = 8.0 * KIB;
const LEVEL_PERCENT_MAX: f64 = 15.0;
/// The fixed part's share of the smallest request, in percent.
const FIXED_SHARE_PERCENT: f64 = 38.0;

/// How many times as long the slower clock takes.
fn clock_ratio(folder: &Path) -> anyhow::Result<f64> {
    let table = CsvTable::read(&folder.join("nt4_observations.csv"))?;
    let clock =
        |version| table.row_with(&[("version", version), ("quantity", "cpu_clock")])?.above_zero("value");
    Ok(clock("sp6")? / clock("sp3")?)
}

/// All costs by the cost model, at both clocks; and the fit of the costs gives back what they were made of.
pub fn costs(folder: &Path) -> CheckFound {
    let part = CostPart {
        component: "request".into(),
        cb_ns_per_byte: MARGINAL_US_PER_KIB * 1000.0 / KIB,
        cr_us_per_request: FIXED_US,
    };
    let clocks = clock_ratio(folder)?;
    let (mut worst, mut points, mut level) = (apart(clocks, 1.665), Vec::new(), Vec::new());
    for row in CsvTable::read(&folder.join("nt4_costs.csv"))?.rows() {
        let request_size_bytes = row.whole("request_size_bytes", 1, 1 << 40)? as f64;
        let ns_per_byte = predict(&part, request_size_bytes);
        let cost_us = ns_per_byte * request_size_bytes / 1000.0;
        for (got, column) in [
            (FIXED_US, "fixed_us_per_request"),
            (MARGINAL_US_PER_KIB, "marginal_us_per_kib"),
            (cost_us, "cost_us_per_request"),
            (ns_per_byte * KIB * KIB / 1000.0, "cost_us_per_mib"),
            (100.0 * FIXED_US / cost_us, "fixed_share_percent"),
            (cost_us * clocks, "cost_at_200_mhz_us_per_request"),
        ] {
            worst = worst.max(apart(got, row.number(column)?));
        }
        if request_size_bytes >= LEVEL_FROM_BYTES {
            level.push(row.above_zero("cost_us_per_mib")?);
        }
        let ns_per_byte = row.above_zero("cost_us_per_request")? * 1000.0 / request_size_bytes;
        points.push(FitPoint { request_size_bytes, ns_per_byte, run_bytes: None });
    }
    let fit = fit_published(&points)?;
    worst = worst.max(apart(fit.cr_us_per_request.value, FIXED_US));
    worst = worst.max(apart(fit.cb_ns_per_byte.value * KIB / 1000.0, MARGINAL_US_PER_KIB));
    let (varies, share) = (spread_percent(&level)?, 100.0 * FIXED_US / smallest_us(&points)?);
    let passes = varies < LEVEL_PERCENT_MAX && (share - FIXED_SHARE_PERCENT).abs() <= 0.5;
    let detail = format!(
        "a MiB by {varies:.1} % from 8 KiB on (15 allowed); fixed {share:.1} % of 2 KiB; {clocks:.3} at 200 MHz"
    );
    Ok((if passes { worst } else { f64::INFINITY }, detail))
}

/// How much more the dearest costs than the cheapest, in percent.
fn spread_percent(costs: &[f64]) -> anyhow::Result<f64> {
    let least = costs.iter().copied().reduce(f64::min).context("no request of 8 KiB or more")?;
    Ok(100.0 * (costs.iter().copied().fold(least, f64::max) / least - 1.0))
}

fn smallest_us(points: &[FitPoint]) -> anyhow::Result<f64> {
    let point =
        points.iter().min_by(|one, other| one.request_size_bytes.total_cmp(&other.request_size_bytes));
    let point = point.context("no requests")?;
    Ok(point.ns_per_byte * point.request_size_bytes / 1000.0)
}

/// What of a disk's rate is lost beside packets of each size, in percent.
pub fn drops(folder: &Path) -> CheckFound {
    let table = CsvTable::read(&folder.join("disk_network_interaction.csv"))?;
    let rate = |case| table.row_with(&[("case", case)])?.above_zero("disk_write_mbit_per_s");
    let alone = rate("disk_write_alone")?;
    let (mut worst, mut told) = (0.0_f64, Vec::new());
    for (case, stated) in [("with_udp_standard_mtu", 29.8), ("with_udp_jumbo_mtu", 19.3)] {
        let rate = rate(case)?;
        let printed = table.row_with(&[("case", case)])?.number("stated_drop_percent")?;
        let drop = 100.0 * (1.0 - rate / alone);
        // The slide prints whole percent.
        let is_printed = (drop - printed).abs() <= 0.5;
        worst = worst.max(if is_printed { (drop - stated).abs() } else { f64::INFINITY });
        told.push(format!("{rate} of {alone} Mbit/s: -{drop:.1} %"));
    }
    Ok((worst, told.join(", ")))
}
