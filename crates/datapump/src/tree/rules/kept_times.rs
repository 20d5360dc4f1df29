//! Whether the time of a file that stands at the target can tell that it is not the source's: only where the file system
//! could have kept that time. Where it could not, each run would find another time and copy the file once more: there
//! the content tells.
//!
//! Must not know: how contents are compared, what becomes of a name.

use std::fs::File;

use crate::run::Shared;
use crate::tree::rules::decide::Action;
use datapump_files::attributes::all_tell_time;
use datapump_files::commit::reserved;
use datapump_files::disk::{Meta, kind, magic, names};

/// A file that would be replaced for its time alone is compared, if its time says nothing there.
pub(crate) fn compared(
    shared: &Shared<'_>,
    folder: &File,
    (source, there): (&Meta, &Meta),
    action: Action,
) -> Action {
    let for_time = action == Action::Replace && shared.trees.rules.differs_in_time_alone(source, there);
    if for_time && says_nothing(shared, folder, (source, there)) { Action::Compare } else { action }
}

fn says_nothing(shared: &Shared<'_>, folder: &File, (source, there): (&Meta, &Meta)) -> bool {
    let options = shared.settings.options;
    let is_anothers = there.uid != rustix::process::geteuid().as_raw() && !shared.trees.rules.gives_away();
    !all_tell_time(source.mtime_ns)
        // Only its owner may set its time: utimensat(2).
        || (options.inplace && is_anothers)
        || !keeps(shared, folder, there.device)
}

/// Whether files in a folder keep the times that they are given. Found out once for each device, by a file that goes
/// again; a dry run makes none, and looks at the content where nobody knows.
fn keeps(shared: &Shared<'_>, folder: &File, device: u64) -> bool {
    if let Some(keeps) = shared.trees.keeps_times().get(&device) {
        return *keeps;
    }
    let new_one_does = || {
        reserved::under_new_name(|spare| names::new_one_keeps_times(folder, spare)).map(|(_, keeps)| keeps)
    };
    let keeps = match kind::keeps_times(magic(folder)) {
        true => Ok(true),
        false if shared.settings.writes => new_one_does(),
        false => Ok(false),
    };
    // Another folder may be open where this one is not.
    keeps.map(|keeps| *shared.trees.keeps_times().entry(device).or_insert(keeps)).unwrap_or(false)
}
