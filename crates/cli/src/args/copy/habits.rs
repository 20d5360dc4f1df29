//! Letters that users of cp, rsync and scp type and that say what a copy does anyway.
//!
//! Must not know: how a copy is made.

use clap::{ArgAction, Args};

use crate::args::WHAT;

/// What rsync calls things that every copy does.
const TRUE_ANYWAY: [&str; 11] = [
    "times",
    "perms",
    "executability",
    "owner",
    "group",
    "acls",
    "xattrs",
    "hard-links",
    "specials",
    "whole-file",
    "partial",
];

/// One flag, whose letters are those of all that mean the same, and -r, which a list refuses.
#[derive(Debug, Args)]
pub struct HabitArguments {
    /// Copy folders with all that is in them and with all attributes, which is always done
    ///
    /// So are -p, -H, -A, -X, -W and -f taken: attributes, hard links, access control lists, extended attributes, files
    /// that differ copied whole, an existing target replaced; and rsync's --times, --perms, --executability, --owner,
    /// --group, --acls, --xattrs, --hard-links, --specials, --whole-file and --partial (a copy that was cut goes on).
    /// Any of them changes nothing, as -v says. Default: on.
    ///
    /// Example: pump copy -avH photos/ /backup/photos is the same without -a and -H, and with --archive.
    #[arg(short = 'a', visible_short_aliases = ['p', 'H', 'A', 'X', 'W', 'f'], long, aliases = TRUE_ANYWAY)]
    #[arg(help_heading = WHAT, action = ArgAction::SetTrue)]
    pub archive: bool,

    /// Copy folders with all that is in them, which is always done
    ///
    /// With --files-from it is refused. There a folder comes with its content if its name ends with a slash. Default:
    /// on.
    ///
    /// Example: pump copy -r photos/ /backup/photos is the same without -r.
    #[arg(short = 'r', long, help_heading = WHAT, action = ArgAction::SetTrue)]
    pub recursive: bool,
}

impl HabitArguments {
    /// The note about them.
    pub fn words(&self) -> Option<String> {
        (self.archive || self.recursive).then(|| {
            "-a, -r, -p, -H, -A, -X, -W, -f and their like are always on, see --no-preserve for what to leave out"
                .into()
        })
    }
}
