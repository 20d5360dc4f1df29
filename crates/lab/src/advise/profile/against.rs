//! Forecasts beside what whole copies did.
//!
//! Must not know: how either was measured.

use anyhow::{Context, bail};
use schemars::JsonSchema;
use serde::Serialize;

use super::Profile;
use super::components::{by_size, bytes_per_second, ns_per_byte};
use super::judged::copies_of;
use crate::judge::cost::{CpuBy, relative_error_percent};
use crate::judge::stats::median;
use crate::row::Row;

/// All request sizes of a study.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProfileCheck {
    /// The chain that was forecast.
    pub chain: Vec<String>,
    /// By which measure CPU time is counted on both sides.
    pub cpu_by: CpuBy,
    /// When the profile was complete: before the first of the rows.
    pub forecast_time: String,
    /// The first of the rows.
    pub first_row_time: String,
    /// The sizes, the smallest first.
    pub sizes: Vec<AgainstSize>,
    /// Median size of the bandwidth's errors, in percent.
    pub bandwidth_error_median_percent: f64,
    /// The largest.
    pub bandwidth_error_worst_percent: f64,
    /// Median size of the errors of CPU time for a byte, in percent.
    pub cpu_error_median_percent: f64,
    /// The largest.
    pub cpu_error_worst_percent: f64,
}

/// One of them: medians beside the forecast. Errors are above 0 where more was observed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AgainstSize {
    /// Bytes of a request.
    pub request_size_bytes: u64,
    /// Number of runs.
    pub n: usize,
    /// Bandwidth.
    pub observed_bytes_per_second: f64,
    /// As forecast.
    pub predicted_bytes_per_second: f64,
    /// Relative error.
    pub bandwidth_error_percent: Option<f64>,
    /// How far half of the runs lie from their median, in percent of it.
    pub bandwidth_spread_percent: f64,
    /// CPU time for a byte.
    pub observed_ns_per_byte: f64,
    /// As forecast.
    pub predicted_ns_per_byte: f64,
    /// Relative error.
    pub cpu_error_percent: Option<f64>,
    /// How far half of the runs lie from their median, in percent of it.
    pub cpu_spread_percent: f64,
    /// What was to limit it.
    pub bottleneck: String,
}

impl Profile {
    /// Sets forecasts of a chain against rows of whole copies. A profile that is not older than they is refused.
    pub fn against(&self, chain: &[String], rows: &[Row]) -> anyhow::Result<ProfileCheck> {
        let copies = copies_of(chain, rows);
        let rows: Vec<&Row> = copies.into_iter().filter(|row| row.is_completed()).collect();
        let first =
            rows.iter().map(|row| row.time.as_str()).min().context("no run of these rows was completed")?;
        let moment =
            |text: &str| text.parse::<jiff::Timestamp>().with_context(|| format!("the time '{text}'"));
        if moment(&self.time)? > moment(first)? {
            bail!(
                "the profile is of {}, and the first of the rows of {first}: a forecast comes before what it \
                 forecasts; run the copies again, or name an older profile",
                self.time
            );
        }
        let by_size = by_size(rows.iter().copied())?;
        let sizes = by_size.iter().map(|(&size, rows)| self.at_size(chain, size, rows));
        let sizes = sizes.collect::<anyhow::Result<Vec<_>>>()?;
        let bandwidth = errors(&sizes, |size| size.bandwidth_error_percent);
        let cpu = errors(&sizes, |size| size.cpu_error_percent);
        let worst = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
        Ok(ProfileCheck {
            chain: chain.to_vec(),
            cpu_by: self.cpu_by,
            forecast_time: self.time.clone(),
            first_row_time: first.into(),
            bandwidth_error_median_percent: median(&bandwidth).unwrap_or(0.0),
            bandwidth_error_worst_percent: worst(&bandwidth),
            cpu_error_median_percent: median(&cpu).unwrap_or(0.0),
            cpu_error_worst_percent: worst(&cpu),
            sizes,
        })
    }

    fn at_size(&self, chain: &[String], size: u64, rows: &[&Row]) -> anyhow::Result<AgainstSize> {
        let forecast = self.forecast(chain, size)?;
        let speeds: Vec<f64> = rows.iter().map(|row| bytes_per_second(row)).collect();
        let costs: Vec<f64> = rows.iter().filter_map(|row| ns_per_byte(row, self.cpu_by)).collect();
        if costs.is_empty() {
            let words = self.cpu_by.words();
            bail!(
                "the profile has CPU time {words}, and the rows of {size} bytes have none: make one by another"
            );
        }
        let (speed, cost) = (median(&speeds).unwrap_or(0.0), median(&costs).unwrap_or(0.0));
        Ok(AgainstSize {
            request_size_bytes: size,
            n: rows.len(),
            observed_bytes_per_second: speed,
            predicted_bytes_per_second: forecast.bytes_per_second,
            bandwidth_error_percent: relative_error_percent(speed, forecast.bytes_per_second),
            bandwidth_spread_percent: spread(&speeds, speed),
            observed_ns_per_byte: cost,
            predicted_ns_per_byte: forecast.ns_per_byte,
            cpu_error_percent: relative_error_percent(cost, forecast.ns_per_byte),
            cpu_spread_percent: spread(&costs, cost),
            bottleneck: forecast.bottleneck,
        })
    }
}

fn errors(sizes: &[AgainstSize], of: fn(&AgainstSize) -> Option<f64>) -> Vec<f64> {
    sizes.iter().filter_map(of).map(f64::abs).collect()
}

fn spread(values: &[f64], middle: f64) -> f64 {
    let away: Vec<f64> = values.iter().map(|value| 100.0 * (value - middle).abs() / middle).collect();
    median(&away).unwrap_or(0.0)
}
