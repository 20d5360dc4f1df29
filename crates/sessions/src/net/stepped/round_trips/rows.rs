//! The rows: commands, and formulas of what they cost.
//!
//! Must not know: how a session is stepped, how it is counted.

mod copies;
mod kinds_of_names;
mod mirrors;

use super::trees::{self, BEFORE, TreeSize};
use super::{RowWork, SIZES, TripRow, TwoHosts, trips};
use crate::setup::options::{Backup, Keep, Numbering, Options, Selection, Update};

type RowOptions = fn(&TwoHosts, &TreeSize, Options) -> Options;

const PLAIN: RowOptions = |_, _, options| options;
const UPDATE: RowOptions = |_, _, options| options.with(|it| it.comparison.update = Update::Differs);
const CHECKSUM: RowOptions = |_, _, options| options.with(|it| it.comparison.checksum = true);
const DRY: RowOptions = |_, _, options| options.with(|it| it.dry_run = true);
const DRY_UPDATE: RowOptions = |stage, size, options| DRY(stage, size, UPDATE(stage, size, options));
const ITEMIZED_UPDATE: RowOptions =
    |stage, size, options| UPDATE(stage, size, options).with(|it| it.reporting.changes = true);
const UPDATE_WITHOUT_ATTRIBUTES: RowOptions = |stage, size, options| {
    let keep = Keep { acl: false, xattrs: false, ..options.attributes.keep };
    UPDATE(stage, size, options).with(|it| it.attributes.keep = keep)
};
const MIRROR: RowOptions = |stage, size, options| {
    UPDATE(stage, size, options).with(|it| {
        it.deletion.delete = true;
        it.deletion.mirror = true;
    })
};
const DRY_MIRROR: RowOptions = |stage, size, options| DRY(stage, size, MIRROR(stage, size, options));
const BACKUP_MIRROR: RowOptions = |stage, size, options| BACKUP(stage, size, MIRROR(stage, size, options));
const EXCLUDING_MIRROR: RowOptions = |stage, size, options| {
    let selection = vec![Selection::Exclude(b"*.tmp".into())];
    MIRROR(stage, size, options).with(|it| it.selection.rules = selection)
};
const BACKUP: RowOptions = |_, _, options| {
    let backup = Backup { suffix: b"~".into(), folder: None, numbering: Numbering::Simple };
    options.with(|it| it.backup = Some(backup))
};
const NUMBERED_BACKUP: RowOptions = |stage, size, options| {
    let options = BACKUP(stage, size, options);
    let numbered = |backup| Backup { numbering: Numbering::Numbered, ..backup };
    Options { backup: options.backup.map(numbered), ..options }
};
const BACKUP_DIR: RowOptions = |stage, size, options| {
    let backup = Backup { suffix: Vec::new(), folder: Some("old".into()), numbering: Numbering::Simple };
    UPDATE(stage, size, options).with(|it| it.backup = Some(backup))
};
const BACKUP_UPDATE: RowOptions = |stage, size, options| BACKUP(stage, size, UPDATE(stage, size, options));
const LINK_DEST: RowOptions =
    |stage, _, options| options.with(|it| it.links.link_dest = vec![stage.path(BEFORE)]);
const FILES_FROM: RowOptions = |_, size, options| {
    let names = trees::changed_of(size).join("\n");
    options.with(|it| it.selection.rules = vec![Selection::Names(names.into(), false)])
};
const BACKUP_FILES_FROM: RowOptions =
    |stage, size, options| FILES_FROM(stage, size, BACKUP(stage, size, options));
const UPDATE_FILES_FROM: RowOptions =
    |stage, size, options| FILES_FROM(stage, size, UPDATE(stage, size, options));
const BACKWARDS: RowOptions = |_, _, options| options.with(|it| it.comparison.compares_backwards = true);
const ATTRIBUTES: RowOptions = |_, _, options| options.with(|it| it.comparison.compare_attributes = true);
const INTO: RowOptions = |_, _, options| {
    options.with(|it| {
        it.place.target_is_name = false;
        it.place.target_is_folder = true;
    })
};
const UPDATE_INTO: RowOptions = |stage, size, options| INTO(stage, size, UPDATE(stage, size, options));

const NOTHING: fn(&TreeSize) -> [u64; 2] = |_| [0, 0];
const ONE: fn(&TreeSize) -> [u64; 2] = |_| [1, 0];
const ALL: fn(&TreeSize) -> [u64; 2] = |size| [size.files, 0];
const CHANGED: fn(&TreeSize) -> [u64; 2] = |size| [size.changed, 0];
const UNCHANGED: fn(&TreeSize) -> [u64; 2] = |size| [size.files - size.changed, 0];
const DELETED: fn(&TreeSize) -> [u64; 2] = |size| [0, size.deleted];
const BOTH: fn(&TreeSize) -> [u64; 2] = |size| [size.changed, size.deleted];

const COPY: TripRow = TripRow {
    command: "pump copy",
    when: "",
    make: trees::new,
    options: PLAIN,
    work: RowWork::Copy,
    done: ALL,
    sizes: SIZES,
    ahead: trips!(|size| 3),
    requested: trips!(|size| 4 + 3 * (size.folders + 1)),
    relayed: None,
    within_ssh: None,
};

const MANY: [TreeSize; 2] = [
    TreeSize { depth: 0, folders: 0, files: 90, changed: 90, deleted: 0 },
    TreeSize { depth: 0, folders: 0, files: 350, changed: 350, deleted: 0 },
];

/// Files that are requested one by one over a long path: sixteen at first, then 128 with each round trip.
fn windows(files: u64) -> u64 {
    files.saturating_sub(16).div_ceil(128)
}

/// Round trips if so many are under way together.
fn rounds(count: u64, together: u64) -> u64 {
    count.div_ceil(together)
}

fn least(one: u64, other: u64) -> u64 {
    one.min(other)
}

fn most(one: u64, other: u64) -> u64 {
    one.max(other)
}

pub(super) fn rows() -> impl Iterator<Item = &'static TripRow> {
    let rooms = [copies::FILES, copies::TREES, mirrors::MIRRORS, mirrors::COMPARISONS, kinds_of_names::ROWS];
    rooms.into_iter().flatten()
}
