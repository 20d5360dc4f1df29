//! `pump mirror`: the flags of `pump copy`, without those that would make something else of it.
//!
//! Must not know: how a copy is made.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use crate::args::CopyArguments;

/// Flags that say what a mirror is anyway, or are for what is none.
const HIDDEN: [&str; 12] = [
    "relative",
    "update",
    "delete",
    "no_target_directory",
    "target_directory",
    "ignore_existing",
    "files_from",
    "from0",
    "inplace",
    "devices",
    "tune",
    "links",
];

/// A copy of one folder that is to be the same as it.
#[derive(Debug)]
pub struct MirrorArguments(pub CopyArguments);

const ABOUT: &str =
    "Make a folder the same as another: copy what differs, remove what the source does not have";

const LONG_ABOUT: &str = "\
Make a folder the same as another: copy what differs, remove what the source does not have

That is `pump copy -T --update=differs --delete` of one folder. DST is the copy itself, never a folder to copy into, \
with or without a slash at the end, and is made if it is not there. Files of equal size and time are left alone; what \
differs is written over, also where DST has the newer file; what SRC does not have is removed in the end, and only if \
all else went well. A file that grows meanwhile, as logs do, is copied as far as it was (status 24). A folder whose \
names or files still change after three further walks keeps its own names (status 24); all else is removed. A second run does \
nothing. Excluded names are neither copied nor removed.

A SRC that is missing is status 1, and nothing is removed. So is an empty one, if DST is not: a disk may not be \
mounted. And nothing is removed from a DST that is a home folder or the root folder (status 2): `host:` alone is the \
home folder there. Give --max-delete with the number of names that may go to remove them.

The variables PUMP_UPDATE, PUMP_IGNORE_EXISTING and PUMP_FILES_FROM are not for mirrors, which -v tells. For all else \
see `pump copy --help`.";

const EXAMPLES: &str = "\
Examples:
  pump mirror photos/ /backup/photos              a backup, which a second run brings up to date
  pump mirror -n -i photos/ /backup/photos        what would be done, itemized as rsync does
  pump mirror photos/ user@host:backup/photos     to another host over ssh, where pump is installed, too
  pump mirror user@host:photos/ photos            and back
  pump mirror --exclude '*.tmp' work /backup/work without some names, which stay as they are in /backup/work
  pump mirror --max-delete 100 a b                only if no more than 100 names would be removed

Exit status: 0 done, 1 failed, 2 usage, 5 refused, 10 connection lost, 20 interrupted, 23 some files failed,
24 a source changed, 26 mismatch.";

fn as_mirror(command: Command) -> Command {
    let hidden =
        HIDDEN.into_iter().fold(command, |command, name| command.mut_arg(name, |flag| flag.hide(true)));
    hidden
        .mut_arg("places", |places| {
            places.help(
                "The folder that is copied, and the folder that becomes the same: a path, HOST:PATH over ssh, \
                 pump://HOST:PORT/PATH",
            )
        })
        .override_usage("pump mirror [OPTIONS] SRC DST")
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .after_help(EXAMPLES)
        .after_long_help(EXAMPLES)
}

impl Args for MirrorArguments {
    fn augment_args(command: Command) -> Command {
        as_mirror(CopyArguments::augment_args(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        as_mirror(CopyArguments::augment_args_for_update(command))
    }
}

impl FromArgMatches for MirrorArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<MirrorArguments, Error> {
        let mut copy = CopyArguments::from_arg_matches(matches)?;
        copy.operands.no_target_directory = true;
        // Its variable is not for mirrors; typed it is refused.
        copy.operands.relative = matches.value_source("relative") == Some(ValueSource::CommandLine);
        copy.tree.delete = true;
        copy.tree.is_mirror = true;
        Ok(MirrorArguments(copy))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = MirrorArguments::from_arg_matches(matches)?;
        Ok(())
    }
}
