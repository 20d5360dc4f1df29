//! Rates beside what memory allows for the times their bytes cross it, from rows of the study `crossings`
//! (statement S58).
//!
//! The memory's bandwidth is that of the rows of `pump lab memory` of the same rounds; a ceiling is that over the
//! crossings that the study counts for a way. Crossings are those that cannot be avoided: a program's slots stay in the
//! processor's cache and count nothing. Every verdict rests on intervals of 95 % that do not overlap.
//!
//! Must not know: why bytes cross memory so often, how a run is made.

mod messages;

pub use messages::crossings_words;

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::{CpuBy, InputError, cpu_ns};
use crate::judge::stats::{IntervalVerdict, MeanInterval};
use crate::probe::memory::CROSSINGS_OF_A_COPY;
use crate::row::{DisturbedRows, Row, undisturbed_rows};
use crate::study::{COMMAND, Level};

/// The level of the command that copies memory.
const MEMORY: &str = "memory";
/// The factor that says what is moved: ways of one use are compared.
const USE: &str = "operation";
const CROSSINGS: &str = "crossings";

/// One way that bytes take, and what memory allows it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CrossingWay {
    /// The level of the command.
    pub way: String,
    /// The level of the operation: what is moved.
    pub moves: String,
    /// How often a byte crosses memory, at least.
    pub crossings: f64,
    /// Runs without the soaker.
    pub n: usize,
    /// Their mean bandwidth.
    pub bytes_per_second: f64,
    /// Its 95 % interval; null below three runs.
    pub bytes_per_second_interval: Option<[f64; 2]>,
    /// The memory's bandwidth over the crossings.
    pub ceiling_bytes_per_second: f64,
    /// Its 95 % interval; null below three runs.
    pub ceiling_interval: Option<[f64; 2]>,
    /// The rate beside the ceiling: `above` is what must not be.
    pub beside_ceiling: IntervalVerdict,
    /// By which measure CPU time was counted, for all ways.
    pub cpu_by: CpuBy,
    /// CPU time for each byte.
    pub cpu_ns_per_byte: f64,
    /// Its 95 % interval; null below three runs.
    pub cpu_ns_per_byte_interval: Option<[f64; 2]>,
    /// That CPU time beside the ways of the same use whose bytes cross memory more often: `above` is what must not be.
    pub cpu_beside_more: BTreeMap<String, IntervalVerdict>,
}

/// The runs of one way.
#[derive(Debug)]
struct CrossingRuns {
    way: String,
    moves: String,
    crossings: f64,
    rates: Vec<f64>,
    cpu_by: CpuBy,
    cpu: MeanInterval,
}

/// The ways of a file of rows, those of one use together; without disturbed runs, unless they are kept.
///
/// Errors: the file cannot be read; no completed row in it has copied memory, or crossings.
pub fn crossing_ways(path: &Path, keep_disturbed: bool) -> anyhow::Result<(Vec<CrossingWay>, DisturbedRows)> {
    let (rows, disturbed) = undisturbed_rows(path, keep_disturbed)?;
    let ways = ways_of(&rows).map_err(|words| InputError::of_file(path, disturbed.appended_to(words)))?;
    Ok((ways, disturbed))
}

fn ways_of(rows: &[Row]) -> Result<Vec<CrossingWay>, &'static str> {
    let mut cells: BTreeMap<(String, String), Vec<&Row>> = BTreeMap::new();
    // Where a file system shared the blocks nothing crossed memory.
    let is_shared = |row: &Row| row.achieved.get("reflink").is_some_and(|reflink| reflink == "always");
    let did_move = |row: &&Row| row.is_completed() && row.elapsed_ns > 0 && row.bytes > 0 && !is_shared(row);
    for row in rows.iter().filter(did_move) {
        let level = |factor: &str| row.asked.get(factor).map(Level::to_string);
        let Some((way, moves)) = level(COMMAND).zip(level(USE)) else { continue };
        cells.entry((moves, way)).or_default().push(row);
    }
    let by = CpuBy::of_rows(cells.values().flatten().copied()).unwrap_or_default();
    let runs: Vec<CrossingRuns> =
        cells.iter().filter_map(|((moves, way), rows)| runs_of(moves, way, rows, by)).collect();
    let memory = runs.iter().find(|runs| runs.way == MEMORY);
    let memory = memory.and_then(|runs| MeanInterval::from_values(&runs.rates));
    let memory = memory.ok_or("no completed run has copied memory; run the study crossings")?;
    let memory = memory.over(CROSSINGS_OF_A_COPY.recip());
    Ok(runs.iter().filter_map(|one| way(one, memory, &runs)).collect())
}

/// Time comes from runs without the soaker, CPU time from those that have the measure of all.
fn runs_of(moves: &str, way: &str, rows: &[&Row], by: CpuBy) -> Option<CrossingRuns> {
    let crossings = rows.iter().find_map(|row| row.asked.get(CROSSINGS)?.value())?;
    let timed = rows.iter().filter(|row| row.soaked_ns.is_none());
    let per_byte = |row: &&Row| Some(cpu_ns(row, by)? / moved_bytes(row));
    Some(CrossingRuns {
        way: way.to_owned(),
        moves: moves.to_owned(),
        crossings,
        rates: timed.map(|row| row.bytes_per_second()).collect(),
        cpu_by: by,
        cpu: MeanInterval::from_values(&rows.iter().filter_map(per_byte).collect::<Vec<_>>())?,
    })
}

/// As the run tells it: a row has the size of the study's file.
fn moved_bytes(row: &Row) -> f64 {
    row.report.as_ref().map_or(row.bytes, |report| report.bytes) as f64
}

fn way(one: &CrossingRuns, memory: MeanInterval, all: &[CrossingRuns]) -> Option<CrossingWay> {
    let (rate, ceiling) = (MeanInterval::from_values(&one.rates)?, memory.over(one.crossings));
    let more = all.iter().filter(|other| other.moves == one.moves && other.crossings > one.crossings);
    Some(CrossingWay {
        way: one.way.clone(),
        moves: one.moves.clone(),
        crossings: one.crossings,
        n: one.rates.len(),
        bytes_per_second: rate.value,
        bytes_per_second_interval: rate.ends(),
        ceiling_bytes_per_second: ceiling.value,
        ceiling_interval: ceiling.ends(),
        beside_ceiling: IntervalVerdict::from_intervals(rate.interval, ceiling.interval),
        cpu_by: one.cpu_by,
        cpu_ns_per_byte: one.cpu.value,
        cpu_ns_per_byte_interval: one.cpu.ends(),
        cpu_beside_more: more
            .map(|other| {
                (other.way.clone(), IntervalVerdict::from_intervals(one.cpu.interval, other.cpu.interval))
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests;
