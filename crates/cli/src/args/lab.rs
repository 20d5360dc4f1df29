//! Flags of `pump lab`.
//!
//! Must not know: what a study is made of.

mod access;
mod compare;
mod files;
mod fit;
mod memory;
pub mod network;
mod predict;
mod profile;
mod report;
mod rerun;
mod scrub;
mod simulate;

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, Subcommand};

use crate::args::{HOW, OUTPUT, WHAT};

pub use access::LabAccessArguments;
pub use files::FilesArguments;
pub use fit::{LabFitArguments, LabModel};
pub use memory::LabMemoryArguments;
pub use predict::LabPredictArguments;
pub use profile::LabProfileArguments;
pub use report::{LabReportArguments, LabReproduceArguments};
pub use rerun::LabRerunArguments;
pub use scrub::LabScrubArguments;
pub use simulate::{
    DepthsArguments, PathArguments, RecoveryArguments, ResponseArguments, SharingArguments, SimulateCommand,
};

pub use compare::{CompareAsked, LabCompareArguments, LabTrendArguments};

use files::DisturbedArguments;
use network::path::LabPathArguments;
use network::request_response::LabRequestResponseArguments;
use network::tcp_read::TcpReadArguments;
use network::tcp_watch::TcpWatchArguments;
use network::udp::LabUdpArguments;
use simulate::SimulateArguments;

/// Measure: run studies and look at their rows
///
/// A study is a file that names what is varied. The built-in ones can be listed, printed, edited and run; each run is
/// a row, appended to a file at once.
#[derive(Debug, Args)]
pub struct LabArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// The commands of the lab.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// List the built-in studies
    List,
    /// Print a built-in study, to edit and run
    Show {
        /// Its name
        #[arg(value_name = "NAME", help_heading = WHAT, display_order = 0)]
        name: String,
    },
    Run(LabRunArguments),
    Rerun(LabRerunArguments),
    Fit(LabFitArguments),
    Predict(LabPredictArguments),
    Profile(LabProfileArguments),
    TcpWatch(TcpWatchArguments),
    TcpRead(TcpReadArguments),
    Path(LabPathArguments),
    Udp(LabUdpArguments),
    RequestResponse(LabRequestResponseArguments),
    Compare(LabCompareArguments),
    Trend(LabTrendArguments),
    Simulate(SimulateArguments),
    Access(LabAccessArguments),
    Memory(LabMemoryArguments),
    Scrub(LabScrubArguments),
    Report(LabReportArguments),
    Reproduce(LabReproduceArguments),
    /// Print medians, intervals and ratios of rows
    View {
        /// Files of rows
        #[arg(value_name = "ROWS", required = true, help_heading = WHAT, display_order = 0)]
        rows: Vec<PathBuf>,

        #[command(flatten)]
        disturbed: DisturbedArguments,

        /// Print the figures as JSON
        ///
        /// On standard output, an event `summary` and a report. Default: off.
        ///
        /// Example: pump lab view --json cpu.jsonl
        #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
        #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
        json: bool,
    },
}

/// Run a study
///
/// Repeated, the command goes on where it stopped: rows that are already there are not measured again.
#[derive(Debug, Args)]
pub struct LabRunArguments {
    /// Name of a built-in study, or a file
    #[arg(value_name = "NAME-or-FILE", help_heading = WHAT, display_order = 0)]
    pub study: String,

    #[command(flatten)]
    pub changes: ChangesArguments,

    #[command(flatten)]
    pub files: FilesArguments,
}

/// Changes to a study.
#[derive(Debug, Args)]
pub struct ChangesArguments {
    /// Replace the levels of a factor
    ///
    /// May be given several times; in the environment once. Default: the study's own levels.
    ///
    /// Example: pump lab run cpu --set request_size=64KiB,1MiB
    #[arg(long, value_name = "FACTOR=LEVEL,…", env = "PUMP_SET", help_heading = WHAT)]
    #[arg(value_parser = parse_set)]
    pub set: Vec<(String, Vec<String>)>,

    /// How often each combination is run
    ///
    /// A count. Default: the study's own.
    ///
    /// Example: pump lab run cpu --repeats 20
    #[arg(long, value_name = "COUNT", env = "PUMP_REPEATS", help_heading = WHAT)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeats: Option<u32>,

    /// Run small: to see that all works, not to measure
    ///
    /// Default: off.
    ///
    /// Example: pump lab run peers-local-file --quick
    #[arg(long, env = "PUMP_QUICK", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub quick: bool,

    /// Run all combinations, not only those that the study has chosen
    ///
    /// Those whose rows are there are not measured again. Default: off.
    ///
    /// Example: pump lab run seqio --full
    #[arg(long, env = "PUMP_FULL", conflicts_with = "quick", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub full: bool,

    /// Decides the order of the runs and the bytes of the files
    ///
    /// A whole number. Default: the study's own.
    ///
    /// Example: pump lab run cpu --seed 7
    #[arg(long, value_name = "NUMBER", env = "PUMP_SEED", help_heading = HOW)]
    pub seed: Option<u64>,
}

impl LabCommand {
    /// Whether standard output carries JSON.
    pub fn json(&self) -> bool {
        match self {
            LabCommand::List | LabCommand::Show { .. } | LabCommand::Report(_) => false,
            LabCommand::Run(run) => run.files.json,
            LabCommand::Rerun(rerun) => rerun.files.json,
            LabCommand::Fit(fit) => fit.json,
            LabCommand::Predict(predict) => predict.json,
            LabCommand::Profile(profile) => profile.json,
            LabCommand::TcpWatch(watch) => watch.json,
            LabCommand::TcpRead(read) => read.json,
            LabCommand::Path(path) => path.json,
            LabCommand::Udp(udp) => udp.command.json(),
            LabCommand::RequestResponse(requests) => requests.json,
            LabCommand::Compare(compare) => compare.files.json,
            LabCommand::Trend(trend) => trend.json,
            LabCommand::Simulate(simulate) => simulate.command.json(),
            LabCommand::Access(access) => access.json,
            LabCommand::Memory(memory) => memory.json,
            LabCommand::Scrub(scrub) => scrub.json,
            LabCommand::Reproduce(reproduce) => reproduce.json,
            LabCommand::View { json, .. } => *json,
        }
    }
}

/// Reads `factor=level,level`.
fn parse_set(text: &str) -> Result<(String, Vec<String>), String> {
    let wrong = || format!("'{text}' does not set a factor; write for example depth=1,2,4");
    let (factor, levels) = text.split_once('=').ok_or_else(wrong)?;
    let levels: Vec<String> = levels.split(',').map(str::to_owned).collect();
    if factor.is_empty() || levels.iter().any(String::is_empty) {
        return Err(wrong());
    }
    Ok((factor.to_owned(), levels))
}
