//! Links of a session: where it looks for unchanged files that become links, and which it follows.
//!
//! Must not know: how they are compared and linked.

use datapump_core::wire::session::Direction;

use super::places::{ServedTo, resolve_for_user};
use super::refused;
use crate::count_ahead::served_root::ServedRoot;
use crate::problem::Problem;
use crate::setup::options::{FollowLinks, Options};

/// Each stays open for each tree. rsync takes 20.
const LINK_DEST_MAX: usize = 64;

/// The options with the folders of `--link-dest`, in which unchanged files are looked for, below the home folder of this side's
/// user, where this side writes.
///
/// Errors: links would be made or followed below a folder that is served.
pub(super) fn resolve_link_dest(to: ServedTo<'_>, options: Options) -> Result<Options, Problem> {
    let ServedTo { root, way, shown } = to;
    refuse_to_follow(to, &options)?;
    let paths = options.links.link_dest.iter();
    let link_dest = match (root, way) {
        _ if options.links.link_dest.is_empty() => Vec::new(),
        (_, Direction::Pull) => Vec::new(),
        (ServedRoot::User(_), Direction::Push) if options.links.link_dest.len() > LINK_DEST_MAX => {
            return Err(refused(shown, "--link-dest names more folders than the other host takes (64)"));
        }
        (ServedRoot::User(home), Direction::Push) => {
            paths.map(|path| resolve_for_user(home, path)).collect::<Result<_, _>>()?
        }
        (ServedRoot::Folder(_) | ServedRoot::Null { .. }, Direction::Push) => {
            return Err(refused(shown, "--link-dest is for hosts that are reached over ssh"));
        }
    };
    // Where the caller writes, its places tell which links are kept.
    let keep_links = options.place.keep_links && way == Direction::Push;
    Ok(options.with(|it| {
        it.links.link_dest = link_dest;
        it.place.keep_links = keep_links;
    }))
}

/// Refuses to follow links when a served folder is read: no link leads out of it.
fn refuse_to_follow(to: ServedTo<'_>, options: &Options) -> Result<(), Problem> {
    match (to.way, to.root, options.links.follow) {
        (_, _, FollowLinks::Never) | (_, ServedRoot::User(_), _) | (Direction::Push, ..) => Ok(()),
        (Direction::Pull, ..) => Err(refused(
            to.shown,
            "links of a folder that is served are not followed: leave out -L and --copy-unsafe-links",
        )),
    }
}
