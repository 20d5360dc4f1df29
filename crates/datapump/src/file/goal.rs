//! The goal of a file: which syncs it needs before it counts as done, and whether it is read back.
//!
//! Must not know: how a step is performed, when it comes (`core::file_life`).

use datapump_core::{Ending, FileGoal};

use crate::end::Source;
use crate::file::task::{Finish, TreeFile};
use crate::file::verify::gives_again;
use crate::run::Shared;
use crate::setup::options::Sync;
use crate::tree::folder::directory::Directory;
use datapump_files::commit::StagedFile;

/// What a file needs that ends in this way.
pub(crate) fn goal(
    shared: &Shared<'_>,
    finish: &Finish,
    source: &Source,
    tree_file: Option<&TreeFile>,
) -> FileGoal {
    let options = shared.settings.options;
    match finish {
        Finish::Commit(staged) => {
            // Of what an earlier run wrote the system may have lost something since; the file's own sync is told of
            // it, that of the whole file system at a tree's end need not be.
            let goes_on = staged.goes_on && options.durability.sync != Sync::None;
            FileGoal {
                ending: Ending::Name,
                // Reading back needs the sync too: what only the cache holds cannot come from the device.
                syncs_data: syncs_data(shared, tree_file, staged) || goes_on || options.durability.verify,
                reads_back: options.durability.verify,
                is_repairable: gives_again(source) && !staged.is_in_order(),
                syncs_folder: syncs_name(shared, tree_file)
                    && options.measuring.rehearsal_bytes.is_none()
                    && shared.settings.syncs_names(),
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
        Finish::Checked(_) => FileGoal { ending: Ending::Equal, ..FileGoal::NOTHING },
        Finish::Nothing | Finish::Located | Finish::ReadBack(_) | Finish::Repair(_) => FileGoal::NOTHING,
    }
}

/// Whether the data of a file are synced before it gets its name. In trees that is done once for all at the end: their
/// list says until then which names may not be on the disk. Names without a list, and those that replace an entry, are
/// given to synced data alone: a loss of power leaves a reserved file with its size and time, and nothing in it.
fn syncs_data(shared: &Shared<'_>, tree_file: Option<&TreeFile>, staged: &StagedFile) -> bool {
    match (shared.settings.options.durability.sync, tree_file) {
        (Sync::None, _) => false,
        (Sync::Each, _) | (Sync::End, None) => true,
        (Sync::End, Some(tree_file)) => {
            let replaces = staged.replaces() && !tree_file.is_new;
            let has_no_list = tree_file.entry.directory.root.is_named();
            replaces || has_no_list || syncs_alone(shared, &tree_file.entry.directory)
        }
    }
}

/// Whether each file and each folder is synced: no sync of the whole file system does for them, or no list would
/// tell that it failed.
pub(crate) fn syncs_alone(shared: &Shared<'_>, directory: &Directory) -> bool {
    shared.settings.options.durability.sync == Sync::End
        && (!directory.traits.syncs_whole || directory.root.syncs_each())
}

/// Whether a new name is made durable at once.
fn syncs_name(shared: &Shared<'_>, tree_file: Option<&TreeFile>) -> bool {
    match (shared.settings.options.durability.sync, tree_file) {
        (Sync::None, _) => false,
        (Sync::End, Some(tree_file)) => {
            tree_file.entry.directory.root.named.is_some_and(|named| named.is_alone)
        }
        (Sync::Each, _) | (Sync::End, None) => true,
    }
}
