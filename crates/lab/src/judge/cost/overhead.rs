//! What applications get of a path: of each the least and the most rate by size, and, of two sizes
//! or more, the time that it takes besides and the rate without that: time = o + bytes / rate. Beside them stands the
//! probe, which moves bytes from memory to memory and does nothing else.
//!
//! Must not know: how applications are run, command lines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::judge::cost::{FittedLine, InputError};
use crate::judge::stats::{IntervalVerdict, MeanInterval};
use crate::row::{DisturbedRows, Row, undisturbed_rows};
use crate::study::{COMMAND, Level};

mod messages;

pub use messages::applications_words;

/// Commands that are probes begin with it.
const PROBE: &str = "iperf3";
/// A line through two points fits whatever the noise is.
const POINTS_MIN: usize = 3;
/// What a command says of itself, else its whole time is taken.
const RATE: &str = "bytes_per_s";
const SIZE: &str = "size";
/// Where source and target lie: the probe knows neither.
const FILE: &str = "file";

/// An application with one stack on one path.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ApplicationCell {
    /// Its name among the commands.
    pub command: String,
    /// The level of every other factor but the size.
    pub asked: BTreeMap<String, Level>,
    /// Rates by size, the smallest first.
    pub sizes: Vec<ApplicationRates>,
    /// The rate without the time that it takes besides; null with one size.
    pub rate_bytes_per_s: Option<f64>,
    /// The time that it takes besides (o); null with one size.
    pub overhead_s: Option<f64>,
    /// Its 95 % interval; null below three runs.
    pub overhead_s_interval: Option<[f64; 2]>,
    /// Its mean rate over that of the fastest probe, at the largest size that both have.
    pub share_of_probe: Option<f64>,
    /// Where it lies beside that probe: `above` is what must not be.
    pub beside_probe: Option<IntervalVerdict>,
    /// Why runs have no rate.
    pub reasons: BTreeSet<String>,
}

/// Rates at one size.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ApplicationRates {
    /// Bytes that were moved.
    pub size_bytes: f64,
    /// Runs.
    pub n: usize,
    /// The least rate.
    pub min_bytes_per_s: f64,
    /// The most.
    pub max_bytes_per_s: f64,
    /// Their mean, with its 95 % interval.
    #[serde(skip)]
    mean: Option<MeanInterval>,
}

/// Runs of one application: size and rate of each, and why others have none.
#[derive(Default)]
struct Runs {
    moved: Vec<(f64, f64)>,
    reasons: BTreeSet<String>,
}

type OtherLevels = BTreeMap<String, Level>;

/// The cells of a file of rows; without disturbed runs, unless they are kept.
///
/// Errors: the file cannot be read, or no row in it has a command and a size.
pub fn application_cells(
    path: &Path,
    keep_disturbed: bool,
) -> anyhow::Result<(Vec<ApplicationCell>, DisturbedRows)> {
    let (rows, disturbed) = undisturbed_rows(path, keep_disturbed)?;
    let cells = cells_of(&rows);
    if cells.is_empty() {
        let words = "nothing to fit: no run has the factors command and size; run the study applications";
        return Err(InputError::of_file(path, disturbed.appended_to(words)).into());
    }
    Ok((cells, disturbed))
}

fn cells_of(rows: &[Row]) -> Vec<ApplicationCell> {
    let mut runs: BTreeMap<(OtherLevels, String), Runs> = BTreeMap::new();
    for row in rows {
        let Some((others, command, size)) = case(row) else { continue };
        let runs = runs.entry((others, command)).or_default();
        if row.is_completed() {
            runs.moved.extend(rate(row, size).map(|rate| (size, rate)));
        } else {
            runs.reasons.insert(reason(row));
        }
    }
    let mut cells: Vec<ApplicationCell> =
        runs.into_iter().map(|((asked, command), runs)| runs.cell(asked, command)).collect();
    set_beside_probes(&mut cells);
    cells
}

/// Other factors, the command and the size.
fn case(row: &Row) -> Option<(OtherLevels, String, f64)> {
    let mut others = row.asked.clone();
    let command = others.remove(COMMAND)?.to_string();
    let size = others.remove(SIZE)?.value()?;
    Some((others, command, size))
}

fn rate(row: &Row, size: f64) -> Option<f64> {
    let told = row.achieved.get(RATE).and_then(Value::as_f64);
    let rate = told.unwrap_or(size / (row.elapsed_ns as f64 / 1e9));
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

fn reason(row: &Row) -> String {
    format!("{}: {}", row.outcome, row.message.as_deref().unwrap_or("no message"))
}

impl Runs {
    fn cell(self, asked: OtherLevels, command: String) -> ApplicationCell {
        // A probe ends with its time, not with its bytes.
        let line = self.line().filter(|_| !command.starts_with(PROBE));
        let interval = line.as_ref().filter(|_| self.moved.len() >= POINTS_MIN);
        let interval = interval.map(|line| MeanInterval::from(line.intercept_estimate()));
        ApplicationCell {
            command,
            asked,
            sizes: self.sizes(),
            rate_bytes_per_s: line.as_ref().map(|line| 1.0 / line.slope),
            overhead_s: line.as_ref().map(|line| line.intercept),
            overhead_s_interval: interval.and_then(MeanInterval::ends),
            share_of_probe: None,
            beside_probe: None,
            reasons: self.reasons,
        }
    }

    /// Time over bytes. Larger files that are not slower have no such line.
    fn line(&self) -> Option<FittedLine> {
        let (sizes, times): (Vec<f64>, Vec<f64>) =
            self.moved.iter().map(|(size, rate)| (size, size / rate)).unzip();
        let has_two = sizes.iter().any(|size| *size != sizes[0]);
        let line = has_two.then(|| FittedLine::through(sizes, times));
        line.filter(|line| line.slope > 0.0)
    }

    fn sizes(&self) -> Vec<ApplicationRates> {
        let mut sizes: Vec<f64> = self.moved.iter().map(|(size, _)| *size).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        let rates = |of: f64| self.moved.iter().filter(move |(size, _)| *size == of).map(|(_, rate)| *rate);
        let of_size = |size_bytes: f64| ApplicationRates {
            size_bytes,
            n: rates(size_bytes).count(),
            min_bytes_per_s: rates(size_bytes).fold(f64::INFINITY, f64::min),
            max_bytes_per_s: rates(size_bytes).fold(0.0, f64::max),
            mean: MeanInterval::from_values(&rates(size_bytes).collect::<Vec<_>>()),
        };
        sizes.into_iter().map(of_size).collect()
    }
}

fn set_beside_probes(cells: &mut [ApplicationCell]) {
    let probes: Vec<ApplicationCell> = cells.iter().filter(|cell| cell.is_probe()).cloned().collect();
    let by_probe = |one: &BesideProbe, other: &BesideProbe| one.1.value.total_cmp(&other.1.value);
    for cell in cells.iter_mut().filter(|cell| !cell.is_probe()) {
        let of_path = probes.iter().filter(|probe| probe.path() == cell.path());
        let Some((own, probe)) = of_path.filter_map(|probe| means(cell, probe)).max_by(by_probe) else {
            continue;
        };
        cell.share_of_probe = Some(own.value / probe.value);
        cell.beside_probe = Some(IntervalVerdict::from_intervals(own.interval, probe.interval));
    }
}

/// An application's mean rate, and a probe's.
type BesideProbe = (MeanInterval, MeanInterval);

/// The means at the largest size that both have.
fn means(cell: &ApplicationCell, probe: &ApplicationCell) -> Option<BesideProbe> {
    let both = |own: &ApplicationRates| {
        let same = probe.sizes.iter().find(|other| other.size_bytes == own.size_bytes)?;
        own.mean.zip(same.mean)
    };
    cell.sizes.iter().rev().find_map(both)
}

impl ApplicationCell {
    fn is_probe(&self) -> bool {
        self.command.starts_with(PROBE)
    }

    /// What a probe has in common with it.
    fn path(&self) -> OtherLevels {
        let mut path = self.asked.clone();
        path.remove(FILE);
        path
    }
}

#[cfg(test)]
mod tests;
