//! Flags of `pump explain`.
//!
//! Must not know: how a copy is explained.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use datapump::Options;

use crate::args::WHAT;
use crate::args::copy::sync::SyncArguments;
use crate::args::copy::tuning::{OutputArguments, TuningArguments};
use crate::args::net::HostArguments;
use crate::args::trace::TraceArguments;
use crate::args::watch::WatchArguments;

/// Copy, and say why it is as fast as it is and what would help
///
/// Measures each part in short slices, in turns, for some seconds in all: the source to nothing, nothing to the target,
/// nothing over the network to nothing, nothing to nothing, and on one machine also both ends at once. Writes down what
/// they allow together, with the interval that contains 9 of 10 copies. Then copies as `pump copy` does, and compares.
/// For the part that limits the copy it measures what might help. A copy that is too short to explain is repeated. All
/// this adds half a minute at most, unless a single call to a disk or to another host takes longer; a part for which
/// there is no time is named. It writes at most 4 GiB or one twentieth of the free bytes (in memory, one twentieth at a
/// time) into unnamed temporary files in the target's folder. Nothing is measured if the copy would be refused.
///
/// With --pid it copies nothing, and says what limits a program that runs already.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES, override_usage = USAGE)]
pub struct ExplainArguments {
    // First: what is read leaves the matches.
    #[command(flatten)]
    typed: ExplainTyped,

    /// The sources, and last the target: places as `pump copy` takes them
    #[arg(conflicts_with = "pid", num_args = 1.., value_names = ["SRC", "DST"])]
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

const USAGE: &str = "pump explain [OPTIONS] SRC… DST\n       pump explain [OPTIONS] --pid PID";

const EXAMPLES: &str = "\
Examples:
  pump explain big.bin /mnt/disk/                why is this copy slow?
  pump explain big.bin user@host:backup/         is it a disk, a CPU or the network?
  pump explain --pid 1234                        what limits this running rsync?
  pump explain --json big.bin null: | tail -n 1  figures, for a program";

/// No flags, but which were typed: those of a copy mean nothing for a process, and the other way round. A variable of
/// the environment is for whatever it is of use to.
#[derive(Clone, Debug, Default)]
struct ExplainTyped {
    of_a_copy: Vec<String>,
    of_a_process: Vec<String>,
}

impl Args for ExplainTyped {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for ExplainTyped {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ExplainTyped, Error> {
        let is_typed =
            |flag: &&Arg| matches.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine);
        let words = |flag: &Arg| flag.get_long().map(|name| format!("--{name}"));
        let typed = |flags: Command| flags.get_arguments().filter(is_typed).filter_map(words).collect();
        let of_a_copy = TuningArguments::augment_args(SyncArguments::augment_args(Command::new("")));
        let of_a_copy = TraceArguments::augment_args(of_a_copy);
        let of_a_process = WatchArguments::augment_args(Command::new(""));
        Ok(ExplainTyped {
            of_a_copy: typed(HostArguments::augment_args(of_a_copy)),
            of_a_process: typed(of_a_process),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = ExplainTyped::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ExplainArguments {
    /// What was typed and would not be heeded, in words.
    pub fn contradiction(&self) -> Option<String> {
        let ExplainTyped { of_a_copy, of_a_process } = &self.typed;
        match self.watch.pid {
            Some(pid) if of_a_copy.iter().any(|flag| flag == "--tcp-trace") => Some(format!(
                "--tcp-trace is for a copy; for a process: pump lab tcp-watch pid:{pid} --out FILE"
            )),
            Some(_) if !of_a_copy.is_empty() => Some(format!(
                "--pid watches a process and copies nothing; leave {} out",
                of_a_copy.join(" and ")
            )),
            Some(_) if self.watch.time.is_some_and(|time| time.is_zero()) => {
                Some("--for 0s: nothing is seen in no time; write 10s, or leave it out".into())
            }
            None if self.places.len() < 2 => {
                Some("a source (SRC) and a target (DST) are required; or watch a process with --pid".into())
            }
            None if !of_a_process.is_empty() => Some(format!(
                "{} is for a process that runs (--pid); leave it out, or name no places",
                of_a_process.join(" and ")
            )),
            _ => None,
        }
    }

    /// What the library is asked for.
    pub fn options(&self) -> Options {
        self.tuning.options().with(|it| {
            it.durability.sync = self.sync.choice();
            it.network.sockets = self.host.sockets.options();
            it.reporting.notes = self.output.verbose;
        })
    }
}
