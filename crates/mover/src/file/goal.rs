//! The goal of a file: which syncs it needs before it counts as done, and whether it is read back.
//!
//! Must not know: how a step is performed, when it comes (`core::file_life`).

use datapump_core::{Ending, FileGoal};

use crate::end::Source;
use crate::file::owned::PlaceInTree;
use crate::file::task::Finish;
use crate::file::verify::gives_again;
use crate::run::MoverRun;
use crate::setup::options::Sync;
use datapump_files::commit::StagedFile;

/// What a file needs that ends in this way.
pub fn file_goal(
    run: &MoverRun<'_>,
    finish: &Finish,
    source: &Source,
    tree: Option<&PlaceInTree>,
) -> FileGoal {
    let options = run.settings.options;
    match finish {
        Finish::Commit(staged) => {
            // Of what an earlier run wrote the system may have lost something since; the file's own sync is told of
            // it, that of the whole file system at a tree's end need not be. Whatever --sync says: the list of a cut copy
            // counts on it (`list/journal.rs`, is_settled).
            let goes_on = staged.goes_on;
            FileGoal {
                ending: Ending::Name,
                // Reading back needs the sync too: what only the cache holds cannot come from the device.
                syncs_data: syncs_data(run, tree, staged) || goes_on || options.durability.verify,
                reads_back: options.durability.verify,
                is_repairable: gives_again(source) && !staged.is_in_order(),
                syncs_folder: syncs_name(run, tree)
                    && options.measuring.rehearsal_bytes.is_none()
                    && run.settings.syncs_names(),
            }
        }
        Finish::Device(_) => {
            let syncs_data = options.durability.sync != Sync::None;
            FileGoal { ending: Ending::Device, syncs_data, ..FileGoal::NOTHING }
        }
        Finish::Stripe(_) => {
            let syncs_data = options.durability.sync != Sync::None;
            let syncs_folder = syncs_data;
            FileGoal { ending: Ending::Members, syncs_data, syncs_folder, ..FileGoal::NOTHING }
        }
        Finish::Checked => FileGoal { ending: Ending::Equal, ..FileGoal::NOTHING },
        Finish::Nothing | Finish::Located | Finish::ReadBack(_) | Finish::Repair(_) => FileGoal::NOTHING,
    }
}

/// Whether the data of a file are synced before it gets its name. In trees that is done once for all at the end: their
/// list says until then which names may not be on the disk. Names without a list, and those that replace an entry, are
/// given to synced data alone: a loss of power leaves a reserved file with its size and time, and nothing in it.
fn syncs_data(run: &MoverRun<'_>, tree: Option<&PlaceInTree>, staged: &StagedFile) -> bool {
    match (run.settings.options.durability.sync, tree) {
        (Sync::None, _) => false,
        (Sync::Each, _) | (Sync::End, None) => true,
        (Sync::End, Some(tree)) => tree.syncs_data || (staged.replaces() && !tree.is_new),
    }
}

/// Whether a new name is made durable at once.
fn syncs_name(run: &MoverRun<'_>, tree: Option<&PlaceInTree>) -> bool {
    match (run.settings.options.durability.sync, tree) {
        (Sync::None, _) => false,
        (Sync::End, Some(tree)) => tree.syncs_name,
        (Sync::Each, _) | (Sync::End, None) => true,
    }
}
