//! Flags that select names of a tree: patterns, and a list of names.
//!
//! Must not know: how patterns match, how trees are walked.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args};
use datapump::Selection;

use crate::args::TREES;
use crate::args::copy::choose;

/// Which names of a tree are dealt with.
#[derive(Debug, Args)]
pub struct PatternArguments {
    /// Leave out names that match, as rsync does
    ///
    /// The first of all --exclude, --include and --exclude-from that matches decides, in the order in which they are
    /// typed. `*` stops at a slash, `**` does not; a slash at the end means only folders. A slash at the front means
    /// where the copy begins, as with rsync: the content of `src/data/` begins in it, and `/keep` is meant there; where
    /// `src/data` becomes DST/data it begins in `src`, and `/data/keep` is meant. In `pump mirror`, beside --files-from
    /// and where SRC becomes DST itself patterns begin in SRC, with --relative where the paths do. If a pattern with a
    /// slash at the front matched nothing, a line says where it begins. A name that is given as SRC is left out, too,
    /// unless its content goes to DST itself. Three surprises: order matters; an excluded folder hides everything below
    /// it, even what an --include names; an --include alone leaves nothing out. May be given several times. Default:
    /// nothing.
    ///
    /// Example: pump copy --exclude '*.o' --exclude /target/ project/ /backup/project
    #[arg(long, value_name = "PATTERN", env = "PUMP_EXCLUDE", help_heading = TREES)]
    #[arg(action = ArgAction::Append, allow_hyphen_values = true)]
    pub exclude: Vec<OsString>,

    /// Keep names that match, whatever a later --exclude says
    ///
    /// May be given several times; see --exclude. Default: nothing.
    ///
    /// Example: pump copy --include '*/' --include '*.c' --exclude '*' project/ /backup/project
    #[arg(long, value_name = "PATTERN", env = "PUMP_INCLUDE", help_heading = TREES)]
    #[arg(action = ArgAction::Append, allow_hyphen_values = true)]
    pub include: Vec<OsString>,

    /// Read patterns from a file, one a line
    ///
    /// Lines that begin with '+ ' include, others exclude; empty lines are passed over, and those that begin with # or
    /// ;, which are patterns with -0. Default: none.
    ///
    /// Example: pump copy --exclude-from .pumpignore project/ /backup/project
    #[arg(long, value_name = "FILE", env = "PUMP_EXCLUDE_FROM", help_heading = TREES)]
    #[arg(action = ArgAction::Append)]
    pub exclude_from: Vec<PathBuf>,

    /// Read patterns of names that are copied from a file, one a line
    ///
    /// As --exclude-from, and lines that begin with '- ' exclude. Default: none.
    ///
    /// Example: pump copy --include-from wanted --exclude '*' project/ /backup/project
    #[arg(long, value_name = "FILE", env = "PUMP_INCLUDE_FROM", help_heading = TREES)]
    #[arg(action = ArgAction::Append)]
    pub include_from: Vec<PathBuf>,

    /// Add a filter rule, as rsync does
    ///
    /// `- PATTERN` excludes, `+ PATTERN` includes; `H` and `S` hide and show names of the source alone; `P` protects
    /// names of the target from --delete (folders with all that is in them), `R` gives them up; `. FILE` reads rules
    /// from a file, one a line; `!` forgets all rules before it. Long names (exclude, include, hide, show, protect,
    /// risk, merge, clear) mean the same. The first of all rules and patterns that matches decides. Default: none.
    ///
    /// Example: pump mirror --filter 'P *.keep' --filter '- *.tmp' work/ /backup/work
    #[arg(long, value_name = "RULE", env = "PUMP_FILTER", help_heading = TREES)]
    #[arg(action = ArgAction::Append, allow_hyphen_values = true)]
    pub filter: Vec<OsString>,

    /// Copy only the names in a file, and the folders they lie in
    ///
    /// One a line, relative to the folder that is copied; `-` is standard input. As with rsync, a folder that is named
    /// is made without what lies in it. With a slash at its end what lies in it comes with it, folders in it again
    /// without content. Patterns leave out names of the list, but not the folders that they lie in. A folder as source
    /// is needed. Lines that begin with `#` or `;` are passed over, but not with -0. Default: everything.
    ///
    /// Example: pump copy --files-from names.txt project/ /backup/project
    #[arg(long, value_name = "FILE", env = "PUMP_FILES_FROM", help_heading = TREES)]
    pub files_from: Option<PathBuf>,

    /// Names and patterns in files end with a zero byte instead of a line's end
    ///
    /// As `find -print0` writes them: one that begins with `#` or `;` counts, too. Default: off.
    ///
    /// Example: pump copy --from0 --files-from names.bin project/ /backup/project
    #[arg(short = '0', long, env = "PUMP_FROM0", help_heading = TREES)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub from0: bool,

    /// The list of names comes from the environment.
    #[arg(skip)]
    pub list_is_default: bool,

    /// Which of --exclude, --include and the files of patterns came when; clap keeps them apart.
    #[arg(skip)]
    pub order: Vec<FlagGiven>,
}

/// One of the flags whose order matters.
#[derive(Clone, Debug)]
pub enum FlagGiven {
    /// `--exclude`
    Exclude(OsString),
    /// `--include`
    Include(OsString),
    /// `--exclude-from`
    ExcludeFrom(PathBuf),
    /// `--include-from`
    IncludeFrom(PathBuf),
    /// `--filter`
    Filter(OsString),
}

impl PatternArguments {
    /// Takes the order of the flags from what clap found.
    pub fn take_order(&mut self, matches: &ArgMatches) {
        // What came from the environment has no place among the words: it is taken first.
        let places = |name: &str, count: usize| {
            let typed = matches.indices_of(name).into_iter().flatten();
            typed.chain(std::iter::repeat(0)).take(count).collect::<Vec<usize>>()
        };
        let exclude = self.exclude.iter().cloned().map(FlagGiven::Exclude);
        let include = self.include.iter().cloned().map(FlagGiven::Include);
        let from = self.exclude_from.iter().cloned().map(FlagGiven::ExcludeFrom);
        let mut placed: Vec<(usize, FlagGiven)> =
            places("exclude", self.exclude.len()).into_iter().zip(exclude).collect();
        placed.extend(places("include", self.include.len()).into_iter().zip(include));
        placed.extend(places("exclude_from", self.exclude_from.len()).into_iter().zip(from));
        let from = self.include_from.iter().cloned().map(FlagGiven::IncludeFrom);
        placed.extend(places("include_from", self.include_from.len()).into_iter().zip(from));
        let rules = self.filter.iter().cloned().map(FlagGiven::Filter);
        placed.extend(places("filter", self.filter.len()).into_iter().zip(rules));
        placed.sort_by_key(|(place, _)| *place);
        self.order = placed.into_iter().map(|(_, given)| given).collect();
        self.list_is_default = matches.value_source("files_from") == Some(ValueSource::EnvVariable);
    }

    /// Whether there are patterns.
    pub fn has_rules(&self) -> bool {
        !self.order.is_empty()
    }

    /// The rules and the list in their order; reads the files that are named.
    pub fn selection(&self, takes_list: bool) -> Result<Vec<Selection>, String> {
        let mut selection = Vec::new();
        for given in &self.order {
            selection.push(match given {
                FlagGiven::Exclude(pattern) => Selection::Exclude(pattern.as_bytes().to_vec()),
                FlagGiven::Include(pattern) => Selection::Include(pattern.as_bytes().to_vec()),
                FlagGiven::ExcludeFrom(file) => {
                    Selection::ExcludeFrom(content("--exclude-from", file)?, self.from0)
                }
                FlagGiven::IncludeFrom(file) => {
                    Selection::IncludeFrom(content("--include-from", file)?, self.from0)
                }
                FlagGiven::Filter(rule) => match choose::rules_file(rule) {
                    Some(file) => Selection::FiltersFrom(content("--filter", &file)?, self.from0),
                    None => Selection::Filter(rule.as_bytes().to_vec()),
                },
            });
        }
        if let Some(file) = self.files_from.as_ref().filter(|_| takes_list) {
            selection.push(Selection::Names(content("--files-from", file)?, self.from0));
        }
        Ok(selection)
    }
}

fn content(flag: &str, file: &Path) -> Result<Vec<u8>, String> {
    let read = match file.as_os_str().as_bytes() {
        b"-" => std::io::Read::bytes(std::io::stdin()).collect(),
        _ => std::fs::read(file),
    };
    read.map_err(|error| format!("{flag}: read '{}': {error}", datapump::shown(file.as_os_str().as_bytes())))
}
