//! Flags of `pump lab profile`.
//!
//! Must not know: how a profile is made.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use datapump_lab::judge::cost::CpuBy;

use super::files::DisturbedArguments;
use crate::args::{HOW, OUTPUT, WHAT};

/// Measure this machine's parts, to predict copies from
///
/// Runs the parts of the study parts-and-whole in turns, at the request sizes from 32 KiB to 4 MiB, fits what each part
/// costs per byte and per request, and saves that with the bandwidths and the spread between runs. Takes half an
/// hour, less with fewer --repeats. Run the same command again to resume. `pump lab predict --profile` uses it.
#[derive(Debug, Args)]
pub struct LabProfileArguments {
    /// The folder on the disk that is measured
    ///
    /// Files are made there and removed. Default: the current folder.
    ///
    /// Example: pump lab profile --folder /mnt/disk
    #[arg(long, value_name = "DIR", env = "PUMP_FOLDER", help_heading = WHAT)]
    pub folder: Option<PathBuf>,

    /// How often each size is run
    ///
    /// A count. Default: 10.
    ///
    /// Example: pump lab profile --repeats 5
    #[arg(long, value_name = "COUNT", env = "PUMP_REPEATS", help_heading = HOW)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,

    /// Three sizes only: to see that all works
    ///
    /// Default: off.
    ///
    /// Example: pump lab profile --quick
    #[arg(long, env = "PUMP_QUICK", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub quick: bool,

    /// The measure of CPU time
    ///
    /// process, machine or soaker. Default: as in `pump lab fit` of the profile's rows: the process.
    ///
    /// Example: pump lab profile --cpu machine
    #[arg(long, value_name = "MEASURE", env = "PUMP_CPU", help_heading = HOW)]
    pub cpu: Option<CpuBy>,

    #[command(flatten)]
    pub disturbed: DisturbedArguments,

    /// The file
    ///
    /// Its rows stand beside it, as .rows.jsonl. Default: profile.json under $PUMP_STATE_DIR, else
    /// $XDG_STATE_HOME/datapump.
    ///
    /// Example: pump lab profile --out fast-disk.json --folder /mnt/fast
    #[arg(long, value_name = "FILE", env = "PUMP_OUT", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,

    /// Print the profile as JSON
    ///
    /// On standard output, an event `profile` and a report. Default: off.
    ///
    /// Example: pump lab profile --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}
