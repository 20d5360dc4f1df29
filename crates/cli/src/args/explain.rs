//! Flags of `pump explain`.
//!
//! Must not know: how a copy is explained.

use std::ffi::OsString;

use clap::Args;
use datapump::Options;

use super::WHAT;
use super::net::HostArguments;
use super::sync::SyncArguments;
use super::trace::TraceArguments;
use super::tuning::{OutputArguments, TuningArguments};
use super::watch::WatchArguments;

/// Copy, and say why it is as fast as it is and what would help
///
/// Measures each part alone for a few seconds (the source to nothing, nothing to the target, nothing over the network
/// to nothing, nothing to nothing), writes down what they allow together, copies as `pump copy` does, and compares. Of
/// the part that limits it measures what might help. That adds half a minute at most, and writes 2 GiB or one in twenty
/// of the free bytes at most besides the copy, into files without a name in the target's folder.
///
/// With --pid it copies nothing, and says what limits a program that runs already.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct ExplainArguments {
    /// What is copied, and last where to: places as `pump copy` takes them
    #[arg(required_unless_present = "pid", conflicts_with = "pid", num_args = 2.., value_names = ["SRC", "DST"])]
    #[arg(help_heading = WHAT, display_order = 0)]
    pub places: Vec<OsString>,

    #[command(flatten)]
    pub sync: SyncArguments,

    #[command(flatten)]
    pub watch: WatchArguments,

    #[command(flatten)]
    pub host: HostArguments,

    #[command(flatten)]
    pub tuning: TuningArguments,

    #[command(flatten)]
    pub trace: TraceArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}

const EXAMPLES: &str = "\
Examples:
  pump explain big.bin /mnt/disk/                why is this copy slow?
  pump explain big.bin user@host:backup/         is it a disk, a CPU or the network?
  pump explain --pid 1234                        what limits this running rsync?
  pump explain --json big.bin null: | tail -n 1  figures, for a program";

impl ExplainArguments {
    /// What the library is asked for.
    pub fn options(&self) -> Options {
        Options {
            sync: self.sync.choice(),
            sockets: self.host.sockets.options(),
            notes: self.output.verbose,
            ..self.tuning.options()
        }
    }
}
