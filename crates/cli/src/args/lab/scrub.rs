//! Flags of `pump lab scrub`.
//!
//! Must not know: what is in a sector.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use datapump::units::parse_bytes;

use crate::args::{HOW, OUTPUT, WHAT};

/// Look for silent corruption: write sectors that say where they belong, and check them later
///
/// With --write eight files are written into the folder and synced. Each of their sectors (512 bytes) holds its file,
/// offset, generation and a seal. Without it they are read back from the disk and checked; a wrong block is named with
/// what happened to it: bit, sector (other content), swapped (it belongs elsewhere), stale (a lost write), zeroed,
/// truncated, missing, trailing or unread. Status 0: no fault; 1: faults. Writing again makes a new generation over the
/// old one. The page cache is told to let the files go before they are read; the output says what stayed in it.
#[derive(Debug, Args)]
pub struct LabScrubArguments {
    /// The folder of the files; nothing else may stand in it
    #[arg(value_name = "DIR", help_heading = WHAT, display_order = 0)]
    pub folder: PathBuf,

    /// Bytes of all files together
    ///
    /// A multiple of 512 bytes, at least 4KiB; the same for writing and checking. More than the disk's own cache says
    /// more. Default: 1GiB.
    ///
    /// Example: pump lab scrub /mnt/disk/scrub --size 48MiB --write
    #[arg(long, value_name = "SIZE", env = "PUMP_SIZE", help_heading = WHAT, value_parser = parse_bytes)]
    #[arg(default_value = "1GiB", hide_default_value = true)]
    pub size: u64,

    /// Decides the bytes of the files and their seals
    ///
    /// A whole number; the same for writing and checking, and another for each disk, so that a block of another disk
    /// shows. Default: 1.
    ///
    /// Example: pump lab scrub /mnt/disk/scrub --seed 77
    #[arg(long, value_name = "NUMBER", env = "PUMP_SEED", help_heading = WHAT)]
    #[arg(default_value_t = 1, hide_default_value = true)]
    pub seed: u64,

    /// Write the files instead of checking them
    ///
    /// What a scrub wrote there before is written over in place, with the next generation. Default: off.
    ///
    /// Example: pump lab scrub /mnt/disk/scrub --write
    #[arg(long, env = "PUMP_WRITE", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub write: bool,

    /// Print the faults as JSON
    ///
    /// On standard output, an event `scrub` with all faults and a report. Default: off.
    ///
    /// Example: pump lab scrub /mnt/disk/scrub --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}
