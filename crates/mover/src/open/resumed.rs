//! Decides which files a later run can resume, and what an earlier run has written of one.
//!
//! Must not know: what a journal holds (`resume`).

use std::ffi::OsStr;
use std::path::Path;

use crate::open::copy_method::How;
use crate::open::held::{Held, Original};
use crate::problem::shown_path;
use crate::report::Unrecorded;
use crate::run::MoverRun;
use crate::setup::options::Sync;
use datapump_files::commit::StagedFile;
use datapump_files::commit::temporary::remove_partial_of;
use datapump_files::disk::Folder;
use datapump_files::resume::{self, ResumeRequest, Syncing};

/// Files below this start over: 64 MiB are moved again in less than a second by most disks and in six by 100 Mbit/s,
/// and a journal costs a name made and removed. What a tree has of them is gone on with file by file (`.pump-job`).
const MIN_BYTES: u64 = 64 << 20;

/// The request for a journal, if a file is large enough, and written in such a way, that a later run could resume it.
pub fn resume_request(run: &MoverRun<'_>, original: Option<&Original>, how: How) -> Option<ResumeRequest> {
    let options = run.settings.options;
    let (min_bytes, at_once) =
        if run.settings.platform.is_simulated() { (1, true) } else { (MIN_BYTES, false) };
    let original = original.filter(|original| original.watched && original.meta.size_bytes >= min_bytes)?;
    // To verify is to compare with what the source gave, and of what an earlier run wrote that is not known any more.
    let is_wanted = run.settings.writes
        && !options.durability.no_resume
        && !options.durability.inplace
        && !options.durability.verify;
    // A later run that hashes would take over what this one got without.
    let is_wanted = is_wanted && !options.network.unhashed && run.settings.in_order.is_none();
    if !is_wanted || how.in_kernel {
        return None;
    }
    let lanes = options.tuning.lanes.unwrap_or(run.settings.usual_lanes).max(run.gate.most());
    let depths = u64::from(run.settings.shape.source_depth_max + run.settings.shape.sink_depth);
    let is_unsynced = options.durability.sync == Sync::None;
    let waits_for_sync = !how.sink_direct && !is_unsynced && !at_once;
    Some(ResumeRequest {
        source: resume::source_id(&original.meta),
        is_settled: original.was_settled(),
        is_comparable: original.is_readable_again(),
        under_way_bytes: u64::from(lanes) * depths * u64::from(run.settings.shape.request_bytes),
        syncing: match &original.held {
            _ if is_unsynced => Syncing::Never,
            _ if at_once => Syncing::AtOnce,
            Held::There(_) => Syncing::Aside(resume::SOON),
            // Past the cache, on a fast local disk, syncs would cost more than what a power failure costs.
            Held::Here(_) if how.sink_direct => Syncing::Never,
            Held::Here(_) => Syncing::Aside(resume::EVERY),
        },
        waits_for_sync,
        is_unsynced,
    })
}

/// Removes what an earlier run left of the file if `--no-resume` is set, also where this one takes no name beside it.
pub fn forget(run: &MoverRun<'_>, folder: impl FnOnce() -> Option<Folder>, name: &OsStr, path: &Path) {
    if !run.settings.options.durability.no_resume || !run.settings.writes {
        return;
    }
    if let Some(folder) = folder() {
        remove_partial_of(&folder, name, path);
    }
}

/// Takes out the ranges that an earlier run wrote, counts them as resumed, and reports it. A source that was young for that run
/// is so for this one: the copy is compared with it before it counts.
pub fn resume_earlier(
    run: &MoverRun<'_>,
    staged: &StagedFile,
    name: &Path,
    original: Option<&mut Original>,
    ranges: &mut Vec<(u64, u64)>,
) {
    if let Some(words) = &staged.starts_over {
        run.ledger.warn(format!("'{}': {words}; it starts over", shown_path(name)));
    }
    let Some(earlier) = staged.earlier() else { return };
    original.into_iter().for_each(|original| original.look.is_young |= !earlier.is_settled());
    let total = |ranges: &[(u64, u64)]| ranges.iter().map(|(start, end)| end - start).sum::<u64>();
    let all_bytes = total(ranges);
    *ranges = earlier.missing(ranges);
    let resumed_bytes = all_bytes - total(ranges);
    let mut tally = run.ledger.tally();
    tally.done.bytes_resumed += resumed_bytes;
    let arrived_bytes = earlier.doubt_bytes();
    let again_bytes = arrived_bytes.min(total(ranges));
    tally.doubt_bytes += again_bytes;
    tally.done.unrecorded.insert(earlier.target_inode(), Unrecorded { arrived_bytes, again_bytes });
    drop(tally);
    if run.settings.has_trees {
        // What a tree has to move is added up as it is found, without this.
        run.ledger.watch.add_present(0, resumed_bytes);
    } else {
        run.ledger.watch.skipped(resumed_bytes);
    }
    run.ledger.note(|| format!("'{}': resumes at byte {resumed_bytes} of an earlier copy", shown_path(name)));
}
