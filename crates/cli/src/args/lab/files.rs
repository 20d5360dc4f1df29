//! Flags of commands that run studies: where files and rows go, and what is printed of them.
//!
//! Must not know: how a study is run.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

use crate::args::{HOW, OUTPUT};

/// Which rows count.
#[derive(Debug, Args)]
pub struct DisturbedArguments {
    /// Take disturbed runs into verdicts and fits, too
    ///
    /// A run is disturbed if the processor's pace changed by more than 5 % from before it to after it, if a hypervisor took
    /// more than 5 % of the CPU time, or if the soaker calls its own figures noisy. Default: off: they are left out, and
    /// counted.
    ///
    /// Example: pump lab fit crossings.jsonl --model crossings --keep-disturbed
    #[arg(long, env = "PUMP_KEEP_DISTURBED", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub keep_disturbed: bool,
}

/// Where a study's files and rows go.
#[derive(Debug, Args)]
pub struct FilesArguments {
    /// The folder for the files that are copied
    ///
    /// It must lie on the device that is to be measured and is cleaned up. Default: the current folder.
    ///
    /// Example: pump lab run peers-local-file --folder /mnt/disk
    #[arg(long, value_name = "DIR", env = "PUMP_FOLDER", help_heading = HOW)]
    pub folder: Option<PathBuf>,

    /// The file that rows are appended to
    ///
    /// Default: STUDY.jsonl in the current folder; of pump lab rerun ROWS-again.jsonl, of pump lab compare
    /// STUDY-compare.jsonl.
    ///
    /// Example: pump lab run cpu --out bench/cpu.jsonl
    #[arg(short, long, value_name = "FILE", env = "PUMP_OUT", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,

    /// Print the figures at the end as JSON
    ///
    /// On standard output, an event `summary` and a report. Default: off.
    ///
    /// Example: pump lab run cpu --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}
