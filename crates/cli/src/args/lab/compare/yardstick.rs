//! Flags that say how rows are compared, of `pump lab compare` and `pump lab trend`.
//!
//! Must not know: which rows.

use clap::Args;
use datapump_lab::{Metric, Normalise, Yardstick};

use super::super::files::DisturbedArguments;
use crate::args::HOW;

/// How rows are compared.
#[derive(Debug, Args)]
pub struct YardstickArguments {
    /// The metric to compare
    ///
    /// elapsed, elapsed-per-byte, cpu, cpu-per-byte, cpu-per-request, machine-cpu or memory. Of all of them less is
    /// better, and called faster. Default: elapsed.
    ///
    /// Example: pump lab compare before.jsonl after.jsonl --metric cpu-per-byte
    #[arg(long, value_name = "METRIC", env = "PUMP_METRIC", default_value_t, hide_default_value = true)]
    #[arg(help_heading = HOW)]
    metric: Metric,

    /// Put times into proportion: rows of several machines
    ///
    /// disk: to the speed of each session's disk, the largest median of its cells, for elapsed. clock: to the clock of
    /// each run's processor. Without it rows of several machines have no verdict. Default: none.
    ///
    /// Example: pump lab compare old.jsonl new.jsonl --metric cpu-per-request --normalise clock
    #[arg(long, value_name = "TO", env = "PUMP_NORMALISE", help_heading = HOW)]
    normalise: Option<Normalise>,

    #[command(flatten)]
    disturbed: DisturbedArguments,
}

impl YardstickArguments {
    /// The yardstick that the flags ask for.
    pub fn yardstick(&self) -> Yardstick {
        let DisturbedArguments { keep_disturbed } = self.disturbed;
        Yardstick { metric: self.metric, normalise: self.normalise, keep_disturbed, cpu: None }
    }
}
