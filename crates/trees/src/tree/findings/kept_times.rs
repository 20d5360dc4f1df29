//! Whether the time of a file that exists at the target tells what it seems to.
//!
//! That it is not the source's: only where the file system could have kept that time. Where it could not, each run would
//! find another time and copy the file once more: there the content tells.
//!
//! That it is the source's: where the file system tells it more coarsely than the source's does, only if the copy was made
//! later than the source could get that time again. Else the content tells. What was made cannot always be told; reading
//! all files of such a target in each run is no answer, and rsync compares whole seconds: these are believed then.
//!
//! Must not know: how contents are compared, what becomes of a name.

use std::ffi::OsStr;
use std::fs::File;

use crate::tree::Shared;
use datapump_files::attributes::all_tell_time;
use datapump_files::commit::reserved;
use datapump_files::disk::kind::{TimeRule, time_rule};
use datapump_files::disk::{self, Meta, kind, magic, names};
use datapump_files::identity::tick;

const SECOND_NS: i128 = 1_000_000_000;

/// Whether the source may have changed since its copy was made, and have a time that the copy's file system tells as the
/// one before.
pub(crate) fn may_hide(
    shared: &Shared<'_>,
    folder: &File,
    name: &OsStr,
    source: &Meta,
    existing: &Meta,
    source_magic: impl FnOnce() -> u64,
) -> bool {
    let Some(grain_ns) = shared.trees.flags.equal_by_grain_ns(source, existing) else { return false };
    let rule = time_rule(magic(folder));
    let is_soon = made_ns(folder, name, existing, rule).and_then(|made_ns| {
        let clocks_differ = [rule, time_rule(source_magic())].contains(&TimeRule::Unknown);
        tick::is_made_soon(existing.mtime_ns, grain_ns, made_ns, clocks_differ)
    });
    let second = |meta: &Meta| meta.mtime_ns.div_euclid(SECOND_NS);
    is_soon.unwrap_or(second(source) != second(existing))
}

/// When a file was made, or changed last. FAT, servers and daemons may give the time of content for that of the
/// attributes.
fn made_ns(folder: &File, name: &OsStr, existing: &Meta, rule: TimeRule) -> Option<i128> {
    let born_ns = names::hold(folder, name).map_or(0, |held| disk::origin(&held).0);
    let tells_changes = existing.ctime_ns != existing.mtime_ns || rule == TimeRule::KernelClock;
    if born_ns != 0 { Some(born_ns) } else { tells_changes.then_some(existing.ctime_ns) }
}

/// Whether equal times of source and target say nothing: they could not be kept, or could not be set.
pub(crate) fn says_nothing(shared: &Shared<'_>, folder: &File, source: &Meta, existing: &Meta) -> bool {
    let options = shared.settings.options;
    let is_anothers =
        || existing.uid != rustix::process::geteuid().as_raw() && !shared.trees.flags.gives_away;
    !all_tell_time(source.mtime_ns)
        // Only its owner may set its time: utimensat(2).
        || (options.durability.inplace && is_anothers())
        || !keeps_times(shared, folder, existing.device)
}

/// Whether files in a folder keep the times that they are given. Found out once for each device, by a file that goes
/// again; a dry run makes none, and looks at the content where nobody knows.
fn keeps_times(shared: &Shared<'_>, folder: &File, device: u64) -> bool {
    if let Some(keeps) = shared.trees.keeps_times.lock().get(&device) {
        return *keeps;
    }
    let new_one_does = || {
        reserved::under_new_name(|spare| names::new_one_keeps_times(folder, spare)).map(|(_, keeps)| keeps)
    };
    if shared.settings.in_order_on(|| Some(device)).is_some() {
        // A file that is made to find out may not be removable, and times of objects are those of their uploads.
        return false;
    }
    let keeps = if kind::keeps_times(magic(folder)) {
        Ok(true)
    } else if shared.settings.writes {
        new_one_does()
    } else {
        Ok(false)
    };
    // Another folder may be open where this one is not.
    keeps.map(|keeps| *shared.trees.keeps_times.lock().entry(device).or_insert(keeps)).unwrap_or(false)
}
