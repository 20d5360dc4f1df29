//! Options that decide about names, as the name machine takes them.
//!
//! Must not know: what they decide.

use datapump_core::name::{NameOptions, NamePurpose};

use crate::setup::options::Options;

/// How far apart two times may lie that are taken for one.
pub(crate) fn window_ns(options: &Options) -> i128 {
    i128::try_from(options.comparison.modify_window.as_nanos()).unwrap_or(i128::MAX)
}

/// The flags of a run that copies, for a user who is in these groups.
pub(crate) fn from_options(
    options: &Options,
    user: rustix::process::Uid,
    groups: &'static [u32],
) -> NameOptions {
    NameOptions {
        purpose: NamePurpose::Copy,
        update: options.comparison.update,
        size_only: options.comparison.size_only,
        window_ns: window_ns(options),
        checksum: options.comparison.checksum,
        ignore_existing: options.comparison.ignore_existing,
        existing: options.comparison.existing,
        bounds: options.selection.bounds,
        safe_links: options.links.safe_links,
        delete: options.deletion.delete,
        link_dest: !options.links.link_dest.is_empty(),
        times: options.attributes.keep.times,
        mode: options.attributes.keep.mode,
        owner: options.attributes.keep.owner,
        gives_away: user.is_root(),
        user: user.as_raw(),
        groups,
        parts_remain: false,
    }
}
