//! Flags of `pump lab simulate`.
//!
//! Must not know: models.

mod tcp;

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, Subcommand};

pub(in crate::args) use self::tcp::parse_count;
pub use self::tcp::{PathArguments, RecoveryArguments, ResponseArguments, SharingArguments};
use crate::args::{OUTPUT, WHAT};

/// Compute in simulated time what would take a laboratory
#[derive(Debug, Args)]
pub struct SimulateArguments {
    /// What to simulate.
    #[command(subcommand)]
    pub command: SimulateCommand,
}

/// What can be simulated.
#[derive(Debug, Subcommand)]
pub enum SimulateCommand {
    Depths(DepthsArguments),
    Response(ResponseArguments),
    Recovery(RecoveryArguments),
    Path(PathArguments),
    Sharing(SharingArguments),
}

/// Compare fixed depths with a rule that moves buffers between source and sink
///
/// Two ends share a pool of buffers. The end that was waited for longer gains some, every so many writes. Printed are
/// the time of each row beside that of an even, fixed split, and whether the depths swing between their ends.
#[derive(Debug, Args)]
pub struct DepthsArguments {
    /// A table of cases
    ///
    /// Lines of comma-separated values under a header with pool_buffers, source_latency_us, source_transfer_us,
    /// sink_latency_us, sink_transfer_us, requests, decision_period_requests (0: fixed) and step_buffers.
    /// Default: the reference cases.
    ///
    /// Example: pump lab simulate depths --table cases.csv
    #[arg(long, value_name = "TABLE.csv", env = "PUMP_TABLE", help_heading = WHAT)]
    pub table: Option<PathBuf>,

    /// Print the figures as JSON
    ///
    /// On standard output, an event `depths` for each row and a report. Default: off.
    ///
    /// Example: pump lab simulate depths --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}

impl SimulateCommand {
    /// Whether standard output carries JSON.
    pub fn json(&self) -> bool {
        match self {
            SimulateCommand::Depths(depths) => depths.json,
            SimulateCommand::Response(response) => response.json.json,
            SimulateCommand::Recovery(recovery) => recovery.json.json,
            SimulateCommand::Path(path) => path.json.json,
            SimulateCommand::Sharing(sharing) => sharing.json.json,
        }
    }
}
