//! Flags of the commands that write no copy: verify, hash, doctor, demo, completions, man.
//!
//! Must not know: what the commands do.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use clap_complete::Shell;

use crate::args::copy::tree::patterns::PatternArguments;
use crate::args::copy::tuning::{OutputArguments, TuningArguments};
use crate::args::net::{HostArguments, ReachArguments};
use crate::args::{OUTPUT, WHAT};

/// Compare two places and print each difference
///
/// Compares two files, or two folders with all that is in them: names, kinds, content, mode, time of change and which
/// names are one file; with --attributes also owners, access control lists and extended attributes (`user.`,
/// `trusted.` and file capabilities). Other times and labels of the system are not compared. Writes
/// nothing; each difference is a line. One of the two may lie on another host: its content comes here to be compared.
/// Exit status as with cmp: 0 same, 1 different, 2 trouble.
///
/// With the patterns and the list of names of a copy, A is what was copied and B the copy. What they leave out is not
/// compared: a name of A that is excluded or hidden, and a name of B alone that is excluded or protected. Patterns that
/// begin with a slash begin in A. Where A has no slash at its end and B has the name of A, `pump copy src/data p/` has
/// them begin in `src`, and `pump mirror src/data p/data` in `src/data`: patterns that would mean other names are
/// refused there. Write `pump verify src/data/ p/data`, and patterns that begin in `src/data`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// One place; standard input (`-`), a pipe, null:SIZE, a URL or a stripe is named here
    #[arg(value_name = "A", help_heading = WHAT, display_order = 0)]
    pub one: OsString,

    /// The other place: a file or a folder
    #[arg(value_name = "B", help_heading = WHAT, display_order = 0)]
    pub other: OsString,

    /// Compare names, kinds and bytes, not mode, times and links
    ///
    /// Default: off.
    ///
    /// Example: pump verify --content-only a.bin b.bin
    #[arg(long, env = "PUMP_CONTENT_ONLY", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub content_only: bool,

    /// Compare owners, access control lists and extended attributes, too
    ///
    /// Between hosts owners are compared by their names, on one host by their numbers. Default: off, which a line tells
    /// unless --quiet is given.
    ///
    /// Example: pump verify --attributes photos /backup/photos
    #[arg(long, env = "PUMP_ATTRIBUTES", conflicts_with = "content_only", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub attributes: bool,

    /// Compare owners by their numbers between hosts, too
    ///
    /// As after `pump copy --numeric-ids`. Default: off.
    ///
    /// Example: pump verify --attributes --numeric-ids host:/backup/root /
    #[arg(long, env = "PUMP_NUMERIC_IDS", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub numeric_ids: bool,

    #[command(flatten)]
    pub patterns: PatternArguments,

    #[command(flatten)]
    pub host: HostArguments,

    #[command(flatten)]
    pub tuning: TuningArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Print BLAKE3 hashes exactly as b3sum does
///
/// A folder stands for all files in it, in the order of their names; no link is followed. `b3sum --check` reads the output.
/// A name with a backslash or a newline is escaped, and its line begins with a backslash; all other bytes stand as they
/// are, except on a terminal. Files of this host alone are hashed: one with a colon in its name is taken for that file.
///
/// With --check the files are such lists, of this program or of b3sum: each file that they name is hashed and compared.
/// Files that are on no list are not looked at.
#[derive(Debug, Args)]
pub struct HashArguments {
    /// Files to hash; `-` or nothing for standard input
    #[arg(value_name = "FILE", default_value = "-", hide_default_value = true, help_heading = WHAT, display_order = 0)]
    pub files: Vec<OsString>,

    /// Read lists of hashes, and check the files that they name
    ///
    /// A line for each, OK or FAILED; with --quiet those that failed alone. Status 1 if one does not match or cannot be
    /// read, or if a list names no file. Default: off.
    ///
    /// Example: pump hash --check hashes.b3
    #[arg(short = 'c', long, env = "PUMP_CHECK", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub check: bool,

    /// Take names, also those of lists, as lying in this folder
    ///
    /// So a copy is checked against hashes that were made elsewhere. Default: the current folder.
    ///
    /// Example: pump hash --check hashes.b3 --directory /backup/photos
    #[arg(long, value_name = "DIR", env = "PUMP_DIRECTORY", help_heading = WHAT)]
    pub directory: Option<PathBuf>,

    #[command(flatten)]
    pub tuning: TuningArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Say what this host, or the path to another one, offers and what to change, with the command to do so
///
/// A folder: looks at the engines, limits and the CPU, and at its file system and device. Changes nothing; makes two
/// small files in it for a moment to see whether blocks can be shared.
///
/// Another host (HOST: or pump://HOST:PORT/): connects as pump copy does and looks at the path and at both hosts:
/// round trip, losses, segment size, socket buffers beside what 1 and 10 Gbit/s need, congestion control, queue,
/// offloads, CPU governor, SMT, NUMA node and interrupts of the network device. Each finding says which side it is
/// about. For the losses at most 64 MiB of null data come from the other host, requested for at most 1 s. Nothing is
/// written there, and its folder is not looked at; a server with --once has had its session then. Needs no root. A
/// pump of an older version on the other host does not tell its settings: what this side sees is told.
///
/// Exit status: 0 all was looked at, whatever was found; 1 the folder cannot be looked at; 2 usage; 5 the other host
/// refuses; 10 it was not reached, or was lost meanwhile: what was found until then is printed.
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES, after_long_help = DOCTOR_EXAMPLES)]
pub struct DoctorArguments {
    /// The folder, or the other host, to look at [default: the current folder]
    #[arg(value_name = "PLACE", help_heading = WHAT, display_order = 0)]
    pub place: Option<OsString>,

    #[command(flatten)]
    pub reach: ReachArguments,

    /// Print findings as JSON, one object a line, the last one a report
    ///
    /// On standard output, in the form of schema/events.schema.json. Default: off.
    ///
    /// Example: pump doctor --json /mnt/disk
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  pump doctor /mnt/disk                               a folder of this host
  pump doctor user@host:                              the path to a host over ssh
  pump doctor --ticket-file ticket pump://host:4000/  the path to a server";

/// Copy a sample, verify it, say what limited it, and remove it all
///
/// Without PATH a sample of 256 MiB of noise is made in a temporary folder in $TMPDIR, or else in the current folder.
/// With PATH that file is copied to a temporary target beside it. Either goes over TLS on loopback to a receiver in
/// this program. Nothing is left behind.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// The file to copy [default: a sample of its own]
    #[arg(value_name = "PATH", help_heading = WHAT, display_order = 0)]
    pub path: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Print the completions for a shell
///
/// For example: pump completions bash > /etc/bash_completion.d/pump
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL", help_heading = WHAT, display_order = 0)]
    pub shell: Shell,
}

/// Print a manual page
///
/// For example: pump man copy | man -l -
#[derive(Debug, Args)]
pub struct ManArguments {
    /// The command, such as copy or lab run [default: pump itself]
    #[arg(value_name = "COMMAND", help_heading = WHAT, display_order = 0)]
    pub path: Vec<String>,
}
