//! Flags that choose files by what they are, and what becomes of what is left out.
//!
//! Must not know: how a copy is made.

use std::ffi::OsStr;
use std::mem::take;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args};
use datapump::units::parse_bytes;
use datapump::{ComparisonOptions, DeletionOptions, FileBounds, Options, SelectionOptions};

use crate::args::TREES;

/// Which files, by size and by what stands at the target.
#[derive(Debug, Args)]
pub struct ChooseArguments {
    /// Skip what does not exist at the target; create nothing new
    ///
    /// As rsync's: a folder that does not exist there is skipped with all that is in it. Default: off.
    ///
    /// Example: pump copy --existing --update photos/ /backup/photos
    #[arg(long, env = "PUMP_EXISTING", help_heading = TREES)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub existing: bool,

    /// Skip files larger than SIZE
    ///
    /// What stands at the target stays, also with --delete. Default: no limit.
    ///
    /// Example: pump copy --max-size 100MiB home/ /backup/home
    #[arg(long, value_name = "SIZE", env = "PUMP_MAX_SIZE", help_heading = TREES, value_parser = parse_bytes)]
    pub max_size: Option<u64>,

    /// Skip files smaller than SIZE
    ///
    /// What stands at the target stays, also with --delete. Default: no limit.
    ///
    /// Example: pump copy --min-size 1B spool/ /backup/spool
    #[arg(long, value_name = "SIZE", env = "PUMP_MIN_SIZE", help_heading = TREES, value_parser = parse_bytes)]
    pub min_size: Option<u64>,

    /// Remove the source's files, once all of them are copied and on stable storage
    ///
    /// As rsync's: files, symbolic links, pipes and devices go, folders stay. A file goes if the target has one of its
    /// kind, size and time. A link that is named goes if it is copied as a link (-a, -d); one that is followed stays,
    /// and so does what it leads to. A pipe or device that is named goes beside other sources alone. Where anything
    /// failed, nothing is removed: the same command goes on. A source that shows the target on another mount (bindfs,
    /// an overlay over one of its layers) is refused: names and a time that are set for a moment tell. Of copies on this
    /// host. Has no environment variable, because it removes files. Default: off.
    ///
    /// Example: pump copy --remove-source-files spool/ /archive/spool
    #[arg(long, help_heading = TREES)]
    pub remove_source_files: bool,

    /// Remove from the target what patterns leave out, too
    ///
    /// Implies --delete. Has no environment variable, because it removes files. Default: off, what is left out
    /// stays.
    ///
    /// Example: pump copy -n --delete-excluded --exclude '*.tmp' work/ /backup/work
    #[arg(long, help_heading = TREES)]
    pub delete_excluded: bool,

    /// Variables that were left out.
    #[arg(skip)]
    pub unheeded: Vec<&'static str>,
}

/// The file that a rule of `--filter` names, where it is one that reads a file.
pub fn rules_file(rule: &OsStr) -> Option<PathBuf> {
    let rule = rule.as_bytes();
    let file = [&b". "[..], b"._", b"merge ", b"merge_"].iter().find_map(|word| rule.strip_prefix(*word))?;
    Some(PathBuf::from(OsStr::from_bytes(file)))
}

impl ChooseArguments {
    /// Whether what becomes of a file depends on its size, or on what stands at the target.
    pub fn decides_by_name(&self) -> bool {
        self.existing || self.max_size.is_some() || self.min_size.is_some()
    }

    /// A mirror is whole, unless something else is typed.
    pub fn leave_out_variables(&mut self, matches: &ArgMatches) {
        let is_variable = |name| matches.value_source(name) == Some(ValueSource::EnvVariable);
        if is_variable("existing") && take(&mut self.existing) {
            self.unheeded.push("PUMP_EXISTING");
        }
        if is_variable("max_size") && self.max_size.take().is_some() {
            self.unheeded.push("PUMP_MAX_SIZE");
        }
        if is_variable("min_size") && self.min_size.take().is_some() {
            self.unheeded.push("PUMP_MIN_SIZE");
        }
    }

    /// What the library is asked for.
    pub fn apply(&self, options: Options) -> Options {
        Options {
            comparison: ComparisonOptions { existing: self.existing, ..options.comparison },
            selection: SelectionOptions {
                bounds: FileBounds { max_size_bytes: self.max_size, min_size_bytes: self.min_size },
                ..options.selection
            },
            deletion: DeletionOptions {
                delete: options.deletion.delete || self.delete_excluded,
                delete_excluded: self.delete_excluded,
                remove_sources: self.remove_source_files,
                ..options.deletion
            },
            ..options
        }
    }
}
