//! `pump lab simulate`: models in simulated time.
//!
//! Must not know: the models.

mod tcp;

use datapump::Operation;
use datapump_lab::judge::depths::{self, DepthOutcome};

use crate::args::{DepthsArguments, SimulateCommand};
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::json;

/// Runs a simulation. Gives the exit status.
pub fn simulate(command: &SimulateCommand, output: &Output) -> i32 {
    match command {
        SimulateCommand::Depths(arguments) => compare_depths(arguments, output)
            .unwrap_or_else(|error| super::refuse_input(&error, Operation::Simulate, output)),
        SimulateCommand::Response(arguments) => tcp::response(arguments, output),
        SimulateCommand::Recovery(arguments) => tcp::recovery(arguments, output),
        SimulateCommand::Path(arguments) => tcp::path(arguments, output),
        SimulateCommand::Sharing(arguments) => tcp::sharing(arguments, output),
    }
}

fn compare_depths(arguments: &DepthsArguments, output: &Output) -> anyhow::Result<i32> {
    let outcomes = depths::simulate(arguments.table.as_deref())?;
    if output.json {
        outcomes.iter().for_each(|outcome| output.result(&json::line(&EventLine::Depths(outcome))));
        output.ended(0, None);
    } else {
        output.bytes(table(&outcomes).as_bytes());
        depths::conclusions(&outcomes).iter().for_each(|line| output.result(line));
    }
    Ok(0)
}

/// A line for each case, below what the columns are.
fn table(outcomes: &[DepthOutcome]) -> String {
    let mut text = format!(
        "{:>5} {:>13} {:>13} {:>7} {:>6} {:>5} {:>9} {:>14} {:>9} {:>6} {:>7} {:>7}  depth of the source\n",
        "pool",
        "source us",
        "sink us",
        "blocks",
        "period",
        "step",
        "fixed s",
        "best fixed s",
        "rule s",
        "ratio",
        "swings",
        "range"
    );
    outcomes.iter().for_each(|outcome| text.push_str(&line(outcome)));
    text.push('\n');
    text
}

fn line(it: &DepthOutcome) -> String {
    let device = |latency_us, transfer_us| format!("{latency_us}+{transfer_us}");
    let best = format!("{:.3} ({}+{})", it.best_elapsed_s, it.best_source_depth, it.best_sink_depth);
    let range = format!("{}-{}", it.source_depth_min, it.source_depth_max);
    format!(
        "{:>5} {:>13} {:>13} {:>7} {:>6} {:>5} {:>9.3} {best:>14} {:>9.3} {:>6.2} {:>7} {range:>7}  {}\n",
        it.pool_buffers,
        device(it.source_latency_us, it.source_transfer_us),
        device(it.sink_latency_us, it.sink_transfer_us),
        it.requests,
        it.decision_period_requests,
        it.step_buffers,
        it.fixed_elapsed_s,
        it.elapsed_s,
        it.elapsed_relative_to_fixed,
        it.full_swings,
        trace(it),
    )
}

fn trace(it: &DepthOutcome) -> String {
    let depths: Vec<String> = it.source_depth_trace.iter().map(u32::to_string).collect();
    let shown = it.source_depth_trace.len() as u64 - 1;
    match it.changes - shown {
        0 => depths.join(" "),
        more => format!("{} and {more} changes more", depths.join(" ")),
    }
}
