//! Flags of `pump lab compare`, and below of `pump lab trend`.
//!
//! Must not know: how rows are compared, how a study is run.

mod trend;
mod yardstick;

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

pub use trend::LabTrendArguments;
use yardstick::YardstickArguments;

use super::super::WHAT;
use super::{ChangesArguments, FilesArguments};

/// Say whether B is faster than A, cell by cell and overall
///
/// With --a and --b two builds of pump run a study now, side by side: A B in one round, B A in the next. The rows of
/// both go into one file, and given alone that file is judged again. Ten rounds are good, and forty show 5 per cent of
/// CPU time or of a copy in memory. Or A and B are files of rows of one study: one session (a call of the program)
/// differs from the next by several per cent, so that each file needs rows of three sessions or more. The ratio is A's
/// time over B's: above 1 B is faster. Status 1 if nothing could be judged.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct LabCompareArguments {
    /// First, because each field takes its values away.
    #[command(flatten)]
    typed: CompareTyped,

    /// Two files of rows, one file of a comparison, or the study that --a and --b run
    #[arg(value_name = "A.jsonl B.jsonl | ROWS.jsonl | STUDY", required = true, num_args = 1..=2)]
    #[arg(help_heading = WHAT, display_order = 0)]
    pub what: Vec<PathBuf>,

    /// The program of before: a build of pump
    ///
    /// Default: none; rows of files are compared.
    ///
    /// Example: pump lab compare --a before/pump --b after/pump cpu
    #[arg(long, value_name = "BINARY", env = "PUMP_A", requires = "b", help_heading = WHAT)]
    pub a: Option<PathBuf>,

    /// The program of after
    ///
    /// Default: none; rows of files are compared.
    ///
    /// Example: pump lab compare --a before/pump --b after/pump cpu
    #[arg(long, value_name = "BINARY", env = "PUMP_B", requires = "a", help_heading = WHAT)]
    pub b: Option<PathBuf>,

    #[command(flatten)]
    pub changes: ChangesArguments,

    #[command(flatten)]
    pub by: YardstickArguments,

    #[command(flatten)]
    pub files: FilesArguments,
}

const EXAMPLES: &str = "\
Examples:
  pump lab compare before.jsonl after.jsonl                      rows of two builds, three sessions of each
  pump lab compare --a old/pump --b new/pump cpu --repeats 20    two builds, side by side, into cpu-compare.jsonl
  pump lab compare cpu-compare.jsonl --metric cpu                the same rows, judged by CPU time";

/// What was asked, once it fits together.
pub enum CompareAsked<'arguments> {
    /// Two files of rows.
    Files(&'arguments PathBuf, &'arguments PathBuf),
    /// The rows of two programs in one file.
    Sides(&'arguments PathBuf),
    /// A study, run by two programs.
    Binaries([PathBuf; 2], String),
}

impl LabCompareArguments {
    /// The comparison to make; the error says what does not fit together.
    pub fn compared(&self) -> Result<CompareAsked<'_>, String> {
        match (&self.what[..], self.a.as_ref().zip(self.b.as_ref())) {
            ([study], Some((a, b))) => {
                Ok(CompareAsked::Binaries([a.clone(), b.clone()], study.to_string_lossy().into_owned()))
            }
            (_, Some(_)) => Err("--a and --b run one study; name one".into()),
            (_, None) if !self.typed.0.is_empty() => {
                let flags = self.typed.0.join(" and ");
                Err(format!("{flags} is for a study that --a and --b run; rows of files are there already"))
            }
            ([a, b], None) => Ok(CompareAsked::Files(a, b)),
            (what, None) => Ok(CompareAsked::Sides(&what[0])),
        }
    }
}

/// The flags of a run that were typed. A variable of the environment is for whatever it is of use to.
#[derive(Clone, Debug, Default)]
struct CompareTyped(Vec<String>);

impl Args for CompareTyped {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for CompareTyped {
    fn from_arg_matches(matches: &ArgMatches) -> Result<CompareTyped, Error> {
        let flags = ["set", "repeats", "quick", "full", "seed", "folder", "out"];
        let is_typed = |flag: &&str| matches.value_source(flag) == Some(ValueSource::CommandLine);
        Ok(CompareTyped(flags.into_iter().filter(is_typed).map(|flag| format!("--{flag}")).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = CompareTyped::from_arg_matches(matches)?;
        Ok(())
    }
}
