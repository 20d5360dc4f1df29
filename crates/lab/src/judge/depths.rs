//! Fixed against dynamic depth, in simulated time: two ends that share a pool of buffers, and a rule that
//! gives more of them to the end that was waited for longer. The pump has fixed depths; this shows why.
//!
//! Must not know: the pump's own loop, how results are shown.

pub mod knees;
mod rule;
mod table;

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::{CsvTable, InputError};

/// The cases of the reference: equal and unequal ends, small and large pools, four rules.
const REFERENCE: &str = include_str!("../../golden/ref_dynamic_depth.csv");

/// As many depths of a trace are kept.
pub const TRACE_DEPTHS: usize = 12;

/// What a device takes for a request: first the latency, which overlaps with that of others, then its one channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DepthDevice {
    /// From posting until the request may use the channel.
    pub latency_us: u64,
    /// How long it occupies the channel.
    pub transfer_us: u64,
}

/// A pool, two devices and a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepthCase {
    /// Buffers that both ends share; each begins with half of them.
    pub pool_buffers: u32,
    /// The device that is read.
    pub source: DepthDevice,
    /// The device that is written.
    pub sink: DepthDevice,
    /// Blocks to move.
    pub requests: u64,
    /// The rule decides every so many writes; 0 means never: the depths are fixed.
    pub decision_period_requests: u64,
    /// What an end gains by a decision.
    pub step_buffers: u32,
}

/// What a case leads to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DepthOutcome {
    /// Buffers that both ends share.
    pub pool_buffers: u32,
    /// Latency of the source.
    pub source_latency_us: u64,
    /// Time that a block occupies the source.
    pub source_transfer_us: u64,
    /// Latency of the sink.
    pub sink_latency_us: u64,
    /// Time that a block occupies the sink.
    pub sink_transfer_us: u64,
    /// Blocks moved.
    pub requests: u64,
    /// Writes between two decisions; 0 is the fixed split.
    pub decision_period_requests: u64,
    /// What an end gains by a decision.
    pub step_buffers: u32,
    /// Time of the whole move under this rule.
    pub elapsed_s: f64,
    /// Time of the same move with both depths fixed at half of the pool.
    pub fixed_elapsed_s: f64,
    /// Depth of the source in the best fixed split by the cycle time, even or not.
    pub best_source_depth: u32,
    /// Depth of the sink in that split.
    pub best_sink_depth: u32,
    /// Time of the same move under that split.
    pub best_elapsed_s: f64,
    /// Ratio of the two.
    pub elapsed_relative_to_fixed: f64,
    /// Decisions that were made.
    pub decisions: u64,
    /// How often the source's depth became another.
    pub changes: u64,
    /// How often the source's depth went to the other end of its range, the first time included.
    pub full_swings: u64,
    /// Least depth of the source.
    pub source_depth_min: u32,
    /// Greatest depth of the source.
    pub source_depth_max: u32,
    /// The depth that the source began with and what it became, [`TRACE_DEPTHS`] of them at most.
    pub source_depth_trace: Vec<u32>,
    /// It went from one end of its range to the other and back, if not oftener.
    pub oscillates: bool,
}

/// Simulates each case of a table, or of the reference.
///
/// # Errors
/// What the system says; an [`InputError`] for what is not in order.
pub fn simulate(table: Option<&Path>) -> anyhow::Result<Vec<DepthOutcome>> {
    let table = match table {
        Some(path) => CsvTable::read(path)?,
        None => CsvTable::parse(Path::new("reference"), REFERENCE.as_bytes())?,
    };
    Ok(outcomes(&table)?)
}

fn outcomes(table: &CsvTable) -> Result<Vec<DepthOutcome>, InputError> {
    Ok(table::cases(table)?.iter().map(outcome).collect())
}

/// Simulates one case, and the fixed split beside it.
pub fn outcome(case: &DepthCase) -> DepthOutcome {
    let half = [case.pool_buffers / 2; 2];
    let split = rule::best_split(case);
    let fixed = DepthCase { decision_period_requests: 0, ..*case };
    let (ran, even, best) = (rule::run(case, half), rule::run(&fixed, half), rule::run(&fixed, split));
    let seconds = |us: u64| us as f64 / 1e6;
    DepthOutcome {
        pool_buffers: case.pool_buffers,
        source_latency_us: case.source.latency_us,
        source_transfer_us: case.source.transfer_us,
        sink_latency_us: case.sink.latency_us,
        sink_transfer_us: case.sink.transfer_us,
        requests: case.requests,
        decision_period_requests: case.decision_period_requests,
        step_buffers: case.step_buffers,
        elapsed_s: seconds(ran.elapsed_us),
        fixed_elapsed_s: seconds(even.elapsed_us),
        best_source_depth: split[0],
        best_sink_depth: split[1],
        best_elapsed_s: seconds(best.elapsed_us),
        elapsed_relative_to_fixed: ran.elapsed_us as f64 / even.elapsed_us.max(1) as f64,
        decisions: ran.decisions,
        changes: ran.trace.changes,
        full_swings: ran.trace.full_swings,
        source_depth_min: ran.trace.min,
        source_depth_max: ran.trace.max,
        source_depth_trace: ran.trace.first,
        oscillates: ran.trace.full_swings > 2,
    }
}

/// What the outcomes say, for people.
pub fn conclusions(outcomes: &[DepthOutcome]) -> Vec<String> {
    let dynamic = || outcomes.iter().filter(|it| it.decision_period_requests > 0);
    let ratios = |oscillates: bool| -> Vec<f64> {
        let some = dynamic().filter(|it| it.oscillates == oscillates);
        some.map(|it| it.elapsed_relative_to_fixed).collect()
    };
    let group = |oscillates: bool, one: &str, several: &str| {
        let ratios = ratios(oscillates);
        let low = ratios.iter().copied().reduce(f64::min)?;
        let high = ratios.iter().copied().fold(low, f64::max);
        let times = format!("{low:.2} to {high:.2} times the time of the fixed split");
        let rules = if ratios.len() == 1 {
            format!("1 dynamic rule {one}")
        } else {
            format!("{} dynamic rules {several}", ratios.len())
        };
        Some(format!("{rules}: {times}"))
    };
    let gain = dynamic()
        .min_by(|one, other| one.elapsed_relative_to_fixed.total_cmp(&other.elapsed_relative_to_fixed));
    let gain = gain.filter(|it| it.elapsed_relative_to_fixed < 0.995).map(speaks_for);
    let ends = "from one end of the range to the other";
    [
        group(true, &format!("swings {ends}"), &format!("swing {ends}")),
        group(false, "does not", "do not"),
        gain,
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn speaks_for(best: &DepthOutcome) -> String {
    format!(
        "dynamic depth gains most with latencies of {} and {} us, a step of {} and a decision every {} writes: {:.2} \
         of the time of the fixed split; {} buffers for the source and {} for the sink, fixed, need {:.2}",
        best.source_latency_us,
        best.sink_latency_us,
        best.step_buffers,
        best.decision_period_requests,
        best.elapsed_relative_to_fixed,
        best.best_source_depth,
        best.best_sink_depth,
        best.best_elapsed_s / best.fixed_elapsed_s,
    )
}

#[cfg(test)]
mod tests;
