//! Flags of `pump lab access`.
//!
//! Must not know: how a pass is made.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, value_parser};
use datapump::units::parse_bytes;
use datapump::{Options, Sync};
use datapump_lab::access::{AccessInterface, AccessPart, AccessPattern, AccessUse, Touch};

use crate::args::copy::tuning::choice;
use crate::args::{HOW, OUTPUT, TUNING, WHAT};

/// Read or overwrite a file once, page by page, by calls, a mapping or io_uring
///
/// For the study `access`: how fast is each interface, and what CPU time does it take? The same words are read or
/// overwritten by the same instructions whichever it is. --operation=write changes the file where it stands: its
/// content is lost.
#[derive(Debug, Args)]
pub struct LabAccessArguments {
    /// The file; no device
    #[arg(value_name = "FILE", help_heading = WHAT, display_order = 0)]
    pub file: PathBuf,

    /// How it is read or written
    ///
    /// Default: stream.
    ///
    /// Example: pump lab access big.bin --interface mmap
    #[arg(long, value_name = "INTERFACE", env = "PUMP_INTERFACE", help_heading = WHAT)]
    #[arg(value_parser = choice::<AccessInterface>(), default_value = "stream", hide_default_value = true)]
    pub interface: AccessInterface,

    /// The order of the pages
    ///
    /// Each comes once. Default: sequential.
    ///
    /// Example: pump lab access big.bin --pattern random --seed 7
    #[arg(long, value_name = "PATTERN", env = "PUMP_PATTERN", help_heading = WHAT)]
    #[arg(value_parser = choice::<AccessPattern>(), default_value = "sequential", hide_default_value = true)]
    pub pattern: AccessPattern,

    /// How much of each page is used
    ///
    /// word (8 bytes), or a part: 1/8, 0.5, 1. It begins where the page does. Default: 1.
    ///
    /// Example: pump lab access big.bin --touch 1/8
    #[arg(long, value_name = "PART", env = "PUMP_TOUCH", help_heading = WHAT)]
    #[arg(value_parser = value_parser!(Touch), default_value = "1", hide_default_value = true)]
    pub touch: Touch,

    /// Whether words are read or overwritten
    ///
    /// Default: read.
    ///
    /// Example: pump lab access scratch.bin --operation write
    #[arg(long, value_name = "OPERATION", env = "PUMP_OPERATION", help_heading = WHAT)]
    #[arg(value_parser = choice::<AccessUse>(), default_value = "read", hide_default_value = true)]
    pub operation: AccessUse,

    /// Bytes of a page, and of a call or request
    ///
    /// A power of two from 4KiB to 1MiB. Default: 8KiB.
    ///
    /// Example: pump lab access big.bin --page 64KiB
    #[arg(long, value_name = "SIZE", env = "PUMP_PAGE", help_heading = TUNING, value_parser = parse_bytes)]
    #[arg(default_value = "8KiB", hide_default_value = true)]
    pub page: u64,

    /// Which part of the file is passed through
    ///
    /// Its number and how many there are. Default: 1/1, all of it.
    ///
    /// Example: pump lab access big.bin --part 2/4
    #[arg(long, value_name = "NUMBER/PARTS", env = "PUMP_PART", help_heading = WHAT)]
    #[arg(value_parser = value_parser!(AccessPart), default_value = "1/1", hide_default_value = true)]
    pub part: AccessPart,

    /// End after so many pages
    ///
    /// With --pattern random they lie everywhere in the file. A count above 0. Default: all.
    ///
    /// Example: pump lab access big.bin --pattern random --pages 4096
    #[arg(long, value_name = "COUNT", env = "PUMP_PAGES", help_heading = WHAT)]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    pub pages: Option<u64>,

    /// Requests under way in a ring
    ///
    /// A count from 1 to 4096. Default: 16.
    ///
    /// Example: pump lab access big.bin --interface ring --depth 32
    #[arg(long, value_name = "COUNT", env = "PUMP_DEPTH", help_heading = TUNING)]
    #[arg(value_parser = value_parser!(u32).range(1..=i64::from(Options::DEPTH_MAX)))]
    #[arg(default_value_t = 16, hide_default_value = true)]
    pub depth: u32,

    /// Whether what was written is on stable storage before the pass is over
    ///
    /// Default: end.
    ///
    /// Example: pump lab access scratch.bin --operation write --sync=none
    #[arg(long, value_name = "WHEN", env = "PUMP_SYNC", help_heading = HOW)]
    #[arg(value_parser = choice::<Sync>(), default_value = "end", hide_default_value = true)]
    pub sync: Sync,

    /// Decides the random order, and what is written
    ///
    /// A whole number. Default: 1.
    ///
    /// Example: pump lab access big.bin --pattern random --seed 7
    #[arg(long, value_name = "NUMBER", env = "PUMP_SEED", help_heading = HOW)]
    #[arg(default_value_t = 1, hide_default_value = true)]
    pub seed: u64,

    /// Tell how long requests took
    ///
    /// Percentiles, from posting to completion; the clock is read twice for each. A mapping has none. Default: off.
    ///
    /// Example: pump lab access big.bin --interface ring --pattern random --depth 1 --latencies
    #[arg(long, env = "PUMP_LATENCIES", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub latencies: bool,

    /// Print the figures as JSON
    ///
    /// On standard output, an event `access` and the report of the pass. Default: off.
    ///
    /// Example: pump lab access big.bin --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}
