//! The one list of commands and flags. Parser, help, man page, completions and environment variables come from it.
//!
//! Must not know: what the commands do with their arguments.

mod copy;
mod explain;
pub(crate) mod help;
mod hints;
mod lab;
mod look;
mod net;
mod trace;
mod tune;
mod watch;

use std::ffi::OsString;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::output::version::LONG_VERSION;

pub use copy::CopyArguments;
pub use copy::mirror::MirrorArguments;
pub use copy::read::behind_words::variables_behind;
pub use copy::read::read;
pub use copy::relative::relative;
pub use copy::tuning::OutputArguments;
pub use explain::ExplainArguments;
pub use lab::network::path::LabPathArguments;
pub use lab::network::request_response::LabRequestResponseArguments;
pub use lab::network::tcp_read::TcpReadArguments;
pub use lab::network::tcp_watch::TcpWatchArguments;
pub use lab::network::udp::{UdpCommand, UdpLatencyArguments, UdpServerArguments, UdpThroughputArguments};
pub use lab::{
    ChangesArguments, CompareAsked, FilesArguments, LabAccessArguments, LabArguments, LabCommand,
    LabCompareArguments, LabFitArguments, LabMemoryArguments, LabModel, LabPredictArguments,
    LabProfileArguments, LabReportArguments, LabReproduceArguments, LabRerunArguments, LabRunArguments,
    LabScrubArguments, LabTrendArguments,
};
pub use lab::{
    DepthsArguments, PathArguments, RecoveryArguments, ResponseArguments, SharingArguments, SimulateCommand,
};
pub use look::{
    CompletionsArguments, DemoArguments, DoctorArguments, HashArguments, ManArguments, VerifyArguments,
};
pub use net::{HostArguments, Insecure, ReachArguments, ServeArguments};
pub use trace::TraceArguments;
pub use tune::TuneArguments;
pub use watch::WatchArguments;

/// Heading of flags that say what is moved and where it ends.
const WHAT: &str = "What";
/// Heading of flags that say how it is moved and what is promised.
const HOW: &str = "How";
/// Heading of flags that concern folders.
const TREES: &str = "Folders";
/// Heading of flags that say what is printed.
const OUTPUT: &str = "Output";
/// Heading of flags that change speed and nothing else.
const TUNING: &str = "Tuning";

/// What the statuses of the program mean.
pub const STATUSES: &str = "\
Exit status:
  0   everything asked is done, whole, with attributes, on stable storage (unless --sync=none)
  1   failed as a whole
  2   usage error; nothing was written
  5   refused by the other host (ticket, scope, version, full for longer than --retry-for), or by ssh
  10  connection lost, or the other host silent for longer than --peer-timeout; can be resumed
  20  interrupted; no partial file is visible, and the same command resumes; a second signal ends a run whose disk hangs
  23  some of several files failed, each named
  24  a source vanished or changed while it was copied
  26  content did not match and could not be mended

Flags --some-flag can be set by the environment variable PUMP_SOME_FLAG, except flags that give up a safety and
--ticket-file of serve (PUMP_TICKET_FILE names the ticket of a client); the command line wins. Of a flag that is
typed several times the last one counts, except flags that take a list.";

/// Moves data between disks as fast as the slowest part allows, and says which part that is
///
/// Places are paths, `-` (standard input or output), `null:` (an endless sink; as a source with a size, as in
/// null:10GiB), HOST:PATH or USER@HOST:PATH (over ssh; without a slash in front the path begins in the home folder
/// there), pump://HOST:PORT/PATH (below a folder that `pump serve` serves there), stripe:FILE.toml (files or devices
/// that it names as one) and, as a source, http://… and https://…. A local path with a colon is written ./a:b. Sizes
/// need a unit: 64KiB (65536), 64kB (64000), 65536B.
#[derive(Debug, Parser)]
#[command(name = "pump", version, long_version = LONG_VERSION, after_long_help = STATUSES)]
#[command(max_term_width = 110, color = clap::ColorChoice::Never, infer_long_args = false, args_override_self = true)]
#[command(subcommand_required = true, arg_required_else_help = true)]
struct RootArguments {}

macro_rules! commands {
    ($($name:literal $variant:ident($arguments:ty)),+) => {
        // No doc comment: clap would take it for what the program says of itself.
        #[derive(Debug, Subcommand)]
        pub enum Command {
            $(#[command(name = $name)] $variant($arguments)),+
        }

        /// The flags of the command that has this name.
        fn single_command(name: &str) -> Option<clap::Command> {
            match name {
                $($name => Some(<$arguments>::augment_args(clap::Command::new($name))),)+
                _ => None,
            }
        }
    };
}

commands! {
    "copy" Copy(Box<CopyArguments>),
    "mirror" Mirror(Box<MirrorArguments>),
    "serve" Serve(ServeArguments),
    "verify" Verify(Box<VerifyArguments>),
    "hash" Hash(HashArguments),
    "explain" Explain(Box<ExplainArguments>),
    "doctor" Doctor(DoctorArguments),
    "demo" Demo(DemoArguments),
    "lab" Lab(LabArguments),
    "completions" Completions(CompletionsArguments),
    "man" Man(ManArguments)
}

impl Command {
    /// Whether standard output carries JSON events, the last of which must be a report.
    pub fn json(&self) -> bool {
        match self {
            Command::Copy(copy) => copy.output.json,
            Command::Mirror(mirror) => mirror.0.output.json,
            Command::Verify(verify) => verify.output.json,
            Command::Hash(hash) => hash.output.json,
            Command::Explain(explain) => explain.output.json,
            Command::Doctor(doctor) => doctor.json,
            Command::Demo(demo) => demo.output.json,
            Command::Lab(lab) => lab.command.json(),
            Command::Serve(_) | Command::Completions(_) | Command::Man(_) => false,
        }
    }
}

/// The whole list as clap has it.
pub fn command() -> clap::Command {
    with_hidden_values(Command::augment_subcommands(RootArguments::command()))
}

/// The list without the commands that the first word does not name: making them all costs as much as copying a small file.
pub fn command_of_words(words: &[OsString]) -> clap::Command {
    let first = words.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    if ["-V", "--version"].contains(&first) {
        return RootArguments::command();
    }
    match single_command(first) {
        Some(named) => with_hidden_values(RootArguments::command().subcommand(named)),
        None => command(),
    }
}

/// Help must not change with the environment it is read in.
fn with_hidden_values(command: clap::Command) -> clap::Command {
    command.mut_args(|argument| argument.hide_env_values(true)).mut_subcommands(with_hidden_values)
}

#[cfg(test)]
mod tests;
