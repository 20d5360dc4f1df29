//! Copies of files and of trees of plain files.
//!
//! Must not know: how it is counted.

use super::*;

pub(super) const FILES: &[TripRow] = &[
    TripRow {
        command: "pump copy",
        when: "one file",
        make: trees::file,
        done: ONE,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 5),
        relayed: Some(trips!(|size| 6)),
        ..COPY
    },
    TripRow {
        command: "pump copy",
        when: "one file of as many blocks as files",
        make: trees::large_file,
        done: ONE,
        ahead: trips!(|size| 5),
        requested: trips!(|size| 5 + rounds(size.files, 4)),
        relayed: Some(trips!(|size| 6)),
        within_ssh: Some(trips!(|size| 4 + rounds(size.files, 31))),
        ..COPY
    },
    TripRow {
        command: "pump copy",
        when: "one file that is there",
        make: trees::file_same,
        done: ONE,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 5),
        relayed: Some(trips!(|size| 6)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "one file, the same",
        make: trees::file_same,
        options: UPDATE,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "one file, changed",
        make: trees::file_changed,
        options: UPDATE,
        done: ONE,
        ahead: trips!(|size| 4),
        requested: trips!(|size| 5),
        relayed: Some(trips!(|size| 6)),
        ..COPY
    },
    TripRow {
        command: "pump copy --checksum",
        when: "one file, the same",
        make: trees::file_same,
        options: CHECKSUM,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 5),
        relayed: Some(trips!(|size| 6)),
        ..COPY
    },
    TripRow {
        command: "pump copy",
        when: "files that are named one by one",
        make: trees::named_files,
        options: INTO,
        work: RowWork::CopyNamed,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + rounds(size.files, 32) + rounds(size.files, 16)),
        relayed: Some(trips!(|size| 4 + size.files + rounds(size.files, 32))),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "files that are named one by one, nothing to do",
        make: trees::named_files_same,
        options: UPDATE_INTO,
        work: RowWork::CopyNamed,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + rounds(size.files, 32)),
        ..COPY
    },
];

pub(super) const TREES: &[TripRow] = &[
    TripRow {
        command: "pump copy",
        when: "a tree",
        make: trees::new,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy",
        when: "a tree that is there",
        make: trees::same,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "nothing to do",
        make: trees::same,
        options: UPDATE,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "changed files",
        make: trees::changed,
        options: UPDATE,
        done: CHANGED,
        ahead: trips!(|size| 4 + windows(size.changed)),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "many changed files in one folder",
        make: trees::changed,
        options: UPDATE,
        done: CHANGED,
        sizes: MANY,
        ahead: trips!(|size| 4 + windows(size.changed)),
        requested: trips!(|size| 5 + rounds(size.changed, 16)),
        relayed: Some(trips!(|size| most(7, 5 + windows(size.changed)))),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs -i",
        when: "changed files",
        make: trees::changed,
        options: ITEMIZED_UPDATE,
        done: CHANGED,
        ahead: trips!(|size| 4 + windows(size.changed)),
        requested: trips!(|size| 3 + rounds(size.changed, 16) + 3 * (size.folders + 1)),
        relayed: Some(trips!(|size| 4 + 3 * (size.folders + 1))),
        ..COPY
    },
    TripRow {
        command: "pump copy --checksum",
        when: "a tree",
        make: trees::new,
        options: CHECKSUM,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --checksum",
        when: "nothing to do",
        make: trees::same,
        options: CHECKSUM,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --checksum",
        when: "changed files of other size",
        make: trees::changed,
        options: CHECKSUM,
        done: CHANGED,
        ahead: trips!(|size| 4 + windows(size.changed)),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --checksum",
        when: "changed files, times and sizes the same",
        make: trees::other_content,
        options: CHECKSUM,
        done: CHANGED,
        ahead: trips!(|size| 4 + windows(size.changed)),
        requested: trips!(|size| 5 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy -n",
        when: "a tree",
        make: trees::new,
        options: DRY,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy -n",
        when: "a tree that is there",
        make: trees::same,
        options: DRY,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy -n --update=differs",
        when: "changed files",
        make: trees::changed,
        options: DRY_UPDATE,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs --backup",
        when: "changed files",
        make: trees::changed,
        options: BACKUP_UPDATE,
        done: CHANGED,
        ahead: trips!(|size| 4 + windows(size.changed)),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs --backup-dir=old",
        when: "changed files",
        make: trees::changed,
        options: BACKUP_DIR,
        done: CHANGED,
        ahead: trips!(|size| 4 + windows(size.changed)),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --backup",
        when: "a tree that is there",
        make: trees::same,
        options: BACKUP,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --backup=numbered",
        when: "an existing tree",
        make: trees::same,
        options: NUMBERED_BACKUP,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --link-dest",
        when: "nothing changed",
        make: trees::snapshot,
        options: LINK_DEST,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --link-dest",
        when: "changed files",
        make: trees::changed_since_snapshot,
        options: LINK_DEST,
        done: CHANGED,
        ahead: trips!(|size| 4 + windows(size.changed)),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy",
        when: "changed files of four requests each",
        make: trees::long_files,
        ahead: trips!(|size| 4 + size.changed + windows(size.changed)),
        requested: trips!(|size| 4 + 2 * size.changed + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --checksum",
        when: "changed files of four requests each, nothing to do",
        make: trees::long_files_same,
        options: CHECKSUM,
        done: NOTHING,
        ahead: trips!(|size| 4 + least(size.changed, size.folders + 1) + windows(size.changed)),
        requested: trips!(|size| 4
            + size.changed
            + least(size.changed, size.folders + 1)
            + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --files-from",
        when: "names of changed files",
        make: trees::new,
        options: FILES_FROM,
        done: CHANGED,
        ahead: trips!(|size| 5 + windows(size.changed)),
        requested: trips!(|size| 5 + rounds(size.changed, 16)),
        relayed: Some(trips!(|size| 6)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs --files-from",
        when: "names of changed files, nothing to do",
        make: trees::same,
        options: UPDATE_FILES_FROM,
        done: NOTHING,
        ahead: trips!(|size| 4),
        requested: trips!(|size| 5),
        ..COPY
    },
    TripRow {
        command: "pump copy --backup --files-from",
        when: "names of changed files",
        make: trees::changed,
        options: BACKUP_FILES_FROM,
        done: CHANGED,
        ahead: trips!(|size| 5 + windows(size.changed)),
        requested: trips!(|size| 5 + rounds(size.changed, 16)),
        relayed: Some(trips!(|size| 6)),
        ..COPY
    },
];
