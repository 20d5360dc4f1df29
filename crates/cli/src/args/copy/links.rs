//! Flags that say what symbolic links of a tree are copied as.
//!
//! Must not know: how a copy is made.

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use datapump::{FollowLinks, Options};

use crate::args::TREES;

/// What becomes of symbolic links.
#[derive(Debug, Args)]
pub struct LinkArguments {
    /// Copy what symbolic links point to, not the links
    ///
    /// As cp's and rsync's, also with -a. A link to nothing is an error, and one to what the same copy replaces or
    /// removes. Names that lead to one file become several files. Not of folders that `pump serve` serves. Default:
    /// links in folders stay links, links that are named are followed, or stay links, too, with -a and -d.
    ///
    /// Example: pump copy -L site/ /mnt/stick/site
    #[arg(short = 'L', long, alias = "dereference", env = "PUMP_COPY_LINKS", help_heading = TREES)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub copy_links: bool,

    /// Copy what symbolic links point to where they lead out of the tree
    ///
    /// As rsync's: absolute links, and those with more `..` than folders above them, or `..` behind a name. Not of
    /// folders that `pump serve` serves. Default: off.
    ///
    /// Example: pump copy --copy-unsafe-links project/ /mnt/stick/project
    #[arg(long, env = "PUMP_COPY_UNSAFE_LINKS", help_heading = TREES)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub copy_unsafe_links: bool,

    /// Skip symbolic links that lead out of the tree
    ///
    /// As rsync's: absolute links, and those with more `..` than folders above them, or `..` behind a name. What stands
    /// at the target under their names stays. Such a link is refused as SRC on this host, and on another
    /// host if it stays a link (-a, -d). Default: off.
    ///
    /// Example: pump copy --safe-links upload/ /srv/upload
    #[arg(long, env = "PUMP_SAFE_LINKS", help_heading = TREES)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub safe_links: bool,
}

impl LinkArguments {
    /// What the library is asked for.
    pub fn apply(&self, options: Options) -> Options {
        let follow = match (self.copy_links, self.copy_unsafe_links) {
            (true, _) => FollowLinks::Always,
            (false, true) => FollowLinks::Outwards,
            (false, false) => FollowLinks::Never,
        };
        options.with(|it| {
            it.links.follow = follow;
            it.links.safe_links = self.safe_links;
        })
    }
}
