//! Whether symbolic links at the target have attributes of their own. Servers behind some file systems (sshfs) follow a
//! link that is given owner or times, and the file gets them that it leads to, wherever that lies.
//!
//! Must not know: which attributes are kept, how links are made.

use std::fs::File;

use crate::problem::AttributeKind;
use crate::tree::Shared;
use datapump_files::attributes::loss::{Loss, Lost};
use datapump_files::commit::reserved;
use datapump_files::disk::kind::{TimeRule, time_rule};
use datapump_files::disk::{FileKind, Meta, file_meta, magic, names};

/// What a link loses that may be given nothing; `None` for what has attributes of its own.
pub(crate) fn lost_of_link(shared: &Shared<'_>, folder: &File, meta: &Meta) -> Option<Lost> {
    let keep = shared.settings.options.attributes.keep;
    if meta.kind != FileKind::Symlink || !shared.settings.writes || links_have_own(shared, folder) {
        return None;
    }
    let words =
        "owner and times of symbolic links: this file system gives them to what a link leads to; not set";
    let loss = Loss::changed(if keep.times { AttributeKind::Times } else { AttributeKind::Owner }, words);
    Some(vec![loss.if_asked(keep.times || keep.owner)])
}

/// Whether symbolic links in a folder have attributes of their own. Tried once for each device by making one, where the
/// type of the file system does not tell.
fn links_have_own(shared: &Shared<'_>, folder: &File) -> bool {
    if time_rule(magic(folder)) != TimeRule::Unknown {
        return true;
    }
    let Ok(meta) = file_meta(folder) else { return false };
    if let Some(have) = shared.trees.links_have_attributes.lock().get(&meta.device) {
        return *have;
    }
    let probe = || {
        let names = |spare: &_, link: &_| {
            let ask = |renamed: &_| names::links_have_attributes(folder, spare, link, renamed);
            reserved::under_new_name(ask).map(|(_, have)| have)
        };
        let file = |spare: &_| reserved::under_new_name(|link| names(spare, link)).map(|(_, have)| have);
        reserved::probe_name(folder, file).map(|(_, have)| have)
    };
    // Where none can be made another folder may tell.
    probe()
        .map(|have| *shared.trees.links_have_attributes.lock().entry(meta.device).or_insert(have))
        .unwrap_or(false)
}
