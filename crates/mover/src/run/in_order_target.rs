//! Whether a job writes to a file system that takes each file in order and once, and what is reported of that.
//!
//! Must not know: how that is found out, how files are written there (`datapump_files::commit::in_order`).

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::problem::{AttributeKind, Class, Operation, Problem};
use crate::report::not_kept::NotKept;
use crate::setup::options::{Choice, Options, Update};
use datapump_files::attributes::given::Given;
use datapump_files::commit::in_order::{InOrder, probe};
use datapump_files::disk::{PathAt, file_meta, kind, magic};

/// The file systems that files go to.
#[derive(Clone, Copy, Debug, Default)]
pub struct TargetDisk {
    /// The first one that takes files in order, if some do.
    pub in_order: Option<InOrder>,
    /// The `statfs(2)` type of the one folder in which all names are made.
    pub magic: Option<u64>,
}

impl TargetDisk {
    /// How the file systems of these places take files, and the type of the only one. Each is asked once, and only what
    /// its type leaves open.
    pub fn from_places<'at>(places: impl Iterator<Item = &'at PathAt>) -> TargetDisk {
        let (mut disk, mut devices) = (TargetDisk::default(), BTreeSet::new());
        let mut last: Option<&Arc<File>> = None;
        for (folder, _) in places.filter_map(PathAt::known_folder) {
            let before = last.replace(folder);
            if before.is_some_and(|before| Arc::ptr_eq(before, folder)) {
                continue;
            }
            let magic = magic(folder);
            disk.magic = before.is_none().then_some(magic);
            if disk.in_order.is_none() && file_meta(folder).is_ok_and(|meta| devices.insert(meta.device)) {
                disk.in_order = in_order(folder, magic);
            }
        }
        disk
    }
}

/// How a folder's file system takes files, where that is in order: asked where its type leaves that open.
fn in_order(folder: &File, magic: u64) -> Option<InOrder> {
    kind::may_take_in_order(magic).then(|| probe(folder)).flatten()
}

/// Refuses a folder of a target on another device than the one above it, where files would have to be written in order:
/// that is decided for a whole job, by the file systems that its targets are on.
pub fn refuse_below(folder: &File, path: &Path) -> Result<(), Problem> {
    if in_order(folder, magic(folder)).is_none() {
        return Ok(());
    }
    let words = "takes each file in order and once, as object stores do, and the target that it is mounted in does not; \
                 copy to it by itself, and leave it out here (--exclude)";
    Err(Problem::new(Class::Refused, Operation::Enter, path, words))
}

/// Refuses what such a file system cannot do at all.
pub fn check(takes: InOrder, options: &Options, has_pieces: bool, target: &str) -> Result<(), Problem> {
    let refused = |words: &str| Err(Problem::usage(format!("'{target}' {words}")));
    if has_pieces {
        refused("takes each file in order and once: no pieces of a file are written there")
    } else if options.tuning.direct == Choice::Always || options.measuring.dsync {
        refused("takes each file in order and once: no direct or synchronous writes there; leave them out")
    } else if options.backup.is_some() && !takes.renames {
        refused("renames nothing, so that nothing can be kept as a backup there; leave out --backup")
    } else {
        Ok(())
    }
}

/// The promises that do not hold there.
pub fn not_kept(takes: InOrder) -> Vec<NotKept> {
    let names = (!takes.renames).then_some(NotKept::WholeNames);
    names.into_iter().chain([NotKept::Resume, NotKept::Sync, NotKept::Attributes]).collect()
}

/// A line of what is not kept.
pub fn message(takes: InOrder, options: &Options, target: &str) -> String {
    let names = if takes.renames { "" } else { "get no temporary name, " };
    let modes = if takes.keeps_modes { "" } else { ": others may be able to read what is private" };
    let parts = match options.comparison.update {
        Update::Older if !takes.renames => {
            "; --update replaces newer files that are smaller: a run that was killed \
                                            leaves such"
        }
        _ => "",
    };
    format!(
        "'{target}': this file system takes each file in order and once, as object stores do; files there {names}cannot \
         be resumed, are complete when they are closed (no fsync), and lose attributes that it refuses{modes}{parts}"
    )
}

/// Whether the loss of an attribute is covered by the line about the whole target ([`message`]): all but those that
/// were asked for by value.
pub fn is_reported(kind: AttributeKind, given: &Given) -> bool {
    match kind {
        AttributeKind::Mode => given.permissions.is_none(),
        AttributeKind::Owner => given.user.is_none() && given.group.is_none(),
        AttributeKind::Times | AttributeKind::AccessList | AttributeKind::Extended => true,
        AttributeKind::Symlinks | AttributeKind::Pipes | AttributeKind::Devices => false,
    }
}
