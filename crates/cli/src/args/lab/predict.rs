//! Flags of `pump lab predict`.
//!
//! Must not know: how anything is predicted.

use std::path::PathBuf;

use clap::builder::{BoolishValueParser, OsStringValueParser, TypedValueParser};
use clap::{ArgAction, ArgGroup, Args};
use datapump_lab::judge::cost::CpuBy;

use super::files::DisturbedArguments;
use crate::args::copy::tuning::parse_request_size;
use crate::args::{HOW, OUTPUT, WHAT};

/// Predict a chain from its parts, or a pipeline in simulated time
///
/// With --parts the CPU time of a chain: the sums of its parts' costs. With --profile also its bandwidth, and the
/// interval that contains nine of ten copies. With --judge predictions are compared with copies. With --pipeline the
/// elapsed time and the bottleneck of copies between two devices. With --golden the published tables are recomputed and
/// compared with what was printed.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("of").args(["parts", "profile", "judge", "pipeline", "golden"]).required(true))]
pub struct LabPredictArguments {
    /// The table of parts
    ///
    /// A CSV file with the columns component,cb_ns_per_byte,cr_us_per_request. Default: none.
    ///
    /// Example: pump lab predict --parts parts.csv --chain disk_source,pump,disk_sink --request-size 64KiB
    #[arg(long, value_name = "FILE", env = "PUMP_PARTS", help_heading = WHAT)]
    #[arg(requires = "chain", requires = "request_size")]
    pub parts: Option<PathBuf>,

    /// A machine's profile instead of a table of parts
    ///
    /// As `pump lab profile` made it; its components are pump, network, disk_source and disk_sink. Bandwidth is
    /// predicted, too. --profile alone means the one of the state folder. Default: none.
    ///
    /// Example: pump lab predict --profile --chain disk_source,pump,disk_sink --request-size 1MiB
    #[arg(long, value_name = "FILE", env = "PUMP_PROFILE", help_heading = WHAT, requires = "chain")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub profile: Option<PathBuf>,

    /// Set the predictions of a profile against rows of whole copies
    ///
    /// Rows of parts-and-whole that are newer than the profile: their copies of the chain are used. Default: none.
    ///
    /// Example: pump lab predict --profile --chain disk_source,pump,disk_sink --against copies.jsonl
    #[arg(long, value_name = "ROWS", env = "PUMP_AGAINST", help_heading = WHAT, requires = "profile")]
    pub against: Option<PathBuf>,

    /// Judge predictions by rows that have parts and copies of the same rounds
    ///
    /// Rows of the study parts-and-whole. Each copy is predicted from the parts, with the interval that should contain
    /// nine of ten copies. The yardstick is the error if each copy is predicted by the one before it. Predictions hold if
    /// their median error is at most 1.25 times that, the worst 1.5 times, and the bias is within 5 %; otherwise the
    /// status is 1. Default: none.
    ///
    /// Example: pump lab predict --judge parts-and-whole.jsonl
    #[arg(long, value_name = "ROWS", env = "PUMP_JUDGE", help_heading = WHAT)]
    pub judge: Option<PathBuf>,

    /// The measure of CPU time
    ///
    /// For --judge: soaker, process or machine. Default: as in `pump lab fit` of the same rows.
    ///
    /// Example: pump lab predict --judge parts-and-whole.jsonl --cpu machine
    #[arg(long, value_name = "MEASURE", env = "PUMP_CPU", help_heading = HOW, requires = "judge")]
    pub cpu: Option<CpuBy>,

    #[command(flatten)]
    pub disturbed: DisturbedArguments,

    /// Take a profile of another machine
    ///
    /// Default: off: it is refused.
    ///
    /// Example: pump lab predict --other-machine --profile=theirs.json --chain pump --request-size 64KiB
    #[arg(long, env = "PUMP_OTHER_MACHINE", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub other_machine: bool,

    /// The components of the chain
    ///
    /// Names of the table of parts, or of the profile. Default: none.
    ///
    /// Example: pump lab predict --parts parts.csv --chain disk_source,pump,network_sink --request-size 1MiB
    #[arg(long, value_name = "NAME,…", env = "PUMP_CHAIN", help_heading = WHAT, value_delimiter = ',')]
    pub chain: Vec<String>,

    /// The size of a request, or several
    ///
    /// Multiples of 1KiB from 1KiB to 64MiB, with their units. Default: none.
    ///
    /// Example: pump lab predict --parts parts.csv --chain pump --request-size 32KiB,64KiB,1MiB
    #[arg(long, value_name = "SIZE,…", env = "PUMP_REQUEST_SIZE", help_heading = HOW)]
    #[arg(value_delimiter = ',', value_parser = parse_size)]
    pub request_size: Vec<u64>,

    /// A table of pipelines
    ///
    /// A CSV file with the columns file_size_bytes, request_size_bytes, and of both ends source_depth,
    /// source_latency_us, source_bandwidth_mb_per_s, sink_depth, … Each row is moved by the real loop in simulated
    /// time. Default: none.
    ///
    /// Example: pump lab predict --pipeline devices.csv
    #[arg(long, value_name = "FILE", env = "PUMP_PIPELINE", help_heading = WHAT)]
    pub pipeline: Option<PathBuf>,

    /// Check the fits and predictions of published tables
    ///
    /// The folder with the tables; status 1 if a statement about them does not hold. Default: none.
    ///
    /// Example: pump lab predict --golden crates/lab/golden
    #[arg(long, value_name = "DIR", env = "PUMP_GOLDEN", help_heading = WHAT)]
    pub golden: Option<PathBuf>,

    /// Print the figures as JSON
    ///
    /// On standard output, an event for each figure and a report. Default: off.
    ///
    /// Example: pump lab predict --pipeline devices.csv --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}

/// The limits are those of requests that the program makes.
fn parse_size(text: &str) -> Result<u64, String> {
    parse_request_size(text).map(u64::from)
}
