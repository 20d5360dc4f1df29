//! Letters that users of cp, rsync and scp type: whether a link or a pipe that is named stays one, and what a copy does
//! anyway.
//!
//! Must not know: how a copy is made.

use clap::builder::BoolishValueParser;
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

/// Flags that keep links, one whose letters all say what is always done, and -r, which a list refuses.
#[derive(Debug, Args)]
pub struct HabitArguments {
    /// Copy a symbolic link or a pipe that is named as SRC as what it is; the rest of -a is always on
    ///
    /// Folders are copied with all that is in them, attributes and hard links anyway. A link of another host (host:latest)
    /// stays one, too. A name with a slash at its end (latest/) is what the link leads to, and so is every link with
    /// -L, --copy-unsafe-links or --files-from, as the source of a mirror, and where it goes to standard output. A pipe
    /// (FIFO) of this host is made at the target instead of being read; <(...) of a shell is read. Default: off, links
    /// that are named are followed, and a pipe that is named alone is read.
    ///
    /// Example: pump copy -a photos latest /backup/ makes /backup/latest a link, as does --archive.
    #[arg(short = 'a', long, help_heading = WHAT, action = ArgAction::SetTrue)]
    pub archive: bool,

    /// Copy a symbolic link that is named as SRC as a link
    ///
    /// As cp's -d and -P, and rsync's --links; -a does the same, and says which links are followed nevertheless. Links
    /// in folders are copied as links anyway. Default: off, links that are named are followed.
    ///
    /// Example: pump copy --links current previous /backup/
    #[arg(short = 'd', long, alias = "no-dereference", env = "PUMP_LINKS", help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub links: bool,

    /// Accepted, and always on: copy with all attributes, replace an existing target
    ///
    /// -H, -A, -X, -W and -f are accepted; they are always on: hard links, access control lists, extended attributes,
    /// files that differ copied whole, an existing target replaced. So are rsync's long names for times, perms,
    /// executability, owner, group, acls, xattrs, hard-links, specials, whole-file and partial (a copy that was cut
    /// resumes). Any of them changes nothing, as -v says. -l, -t, -g, -o, -D, -E and -P of rsync are accepted in bundles
    /// that neither cp nor scp can read (-rlptgoD, -rltv, -avP): -l is -d there, -P is --progress=always. Default: on.
    ///
    /// Example: pump copy -pH photos/ /backup/photos is the same without -p and -H.
    #[arg(short = 'p', visible_short_aliases = ['H', 'A', 'X', 'W', 'f'], aliases = TRUE_ANYWAY)]
    #[arg(help_heading = WHAT)]
    #[arg(action = ArgAction::SetTrue)]
    pub always: bool,

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
    /// Whether a link that is named stays one.
    pub fn keeps_links(&self) -> bool {
        self.archive || self.links
    }

    /// The note about what changes nothing.
    pub fn words(&self) -> Option<String> {
        (self.archive || self.always || self.recursive).then(|| {
            "-r, -p, -H, -A, -X, -W, -f and their like are always on (-t, -g, -o, -D, -E among letters of rsync, too), \
             and so is the rest of -a (it decides about links and pipes that are named); -l of rsync is -d, its -P is \
             --progress=always; --no-preserve switches attributes off"
                .into()
        })
    }
}
