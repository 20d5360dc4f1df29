//! Mirrors and comparisons.
//!
//! Must not know: how it is counted.

use super::*;

pub(super) const MIRRORS: &[TripRow] = &[
    TripRow {
        command: "pump mirror",
        when: "a tree",
        make: trees::new,
        options: MIRROR,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 5 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump mirror",
        when: "nothing to do",
        make: trees::same,
        options: MIRROR,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump mirror",
        when: "changed files",
        make: trees::changed,
        options: MIRROR,
        done: CHANGED,
        ahead: trips!(|size| 4 + windows(size.changed)),
        requested: trips!(|size| 5 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump mirror",
        when: "names too many",
        make: trees::too_many,
        options: MIRROR,
        done: DELETED,
        ahead: trips!(|size| 5),
        requested: trips!(|size| 6 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump mirror",
        when: "folders too many",
        make: trees::too_many_folders,
        options: MIRROR,
        done: |size| [0, 2 * size.deleted],
        ahead: trips!(|size| 5),
        requested: trips!(|size| 6 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump mirror",
        when: "changed files, names too many",
        make: trees::changed_and_too_many,
        options: MIRROR,
        done: BOTH,
        ahead: trips!(|size| 6 + windows(size.changed)),
        requested: trips!(|size| 7 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump mirror",
        when: "folders in the place of changed files, names too many",
        make: trees::folders_in_the_way,
        options: MIRROR,
        done: |size| [size.changed, 2 * size.changed + size.deleted],
        ahead: trips!(|size| 8 + windows(size.changed)),
        requested: trips!(|size| 9 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump mirror --exclude",
        when: "changed files, names too many",
        make: trees::changed_and_too_many,
        options: EXCLUDING_MIRROR,
        done: BOTH,
        ahead: trips!(|size| 6 + windows(size.changed)),
        requested: trips!(|size| 7 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump mirror --backup",
        when: "changed files, names too many",
        make: trees::changed_and_too_many,
        options: BACKUP_MIRROR,
        done: BOTH,
        ahead: trips!(|size| 6 + windows(size.changed)),
        requested: trips!(|size| 7 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump mirror -n",
        when: "nothing to do",
        make: trees::same,
        options: DRY_MIRROR,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump mirror -n",
        when: "changed files, names too many",
        make: trees::changed_and_too_many,
        options: DRY_MIRROR,
        done: NOTHING,
        ahead: trips!(|size| 5),
        requested: trips!(|size| 6 + 3 * (size.folders + 1)),
        ..COPY
    },
];

pub(super) const COMPARISONS: &[TripRow] = &[
    TripRow {
        command: "pump verify",
        when: "one file, the same",
        make: trees::file_same,
        work: RowWork::Compare(0),
        done: ONE,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 5),
        relayed: Some(trips!(|size| 6)),
        ..COPY
    },
    TripRow {
        command: "pump verify",
        when: "no difference",
        make: trees::same,
        work: RowWork::Compare(0),
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump verify",
        when: "no difference, the other place first",
        make: trees::same,
        options: BACKWARDS,
        work: RowWork::Compare(0),
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump verify",
        when: "changed files, times and sizes the same",
        make: trees::other_content,
        work: RowWork::Compare(1),
        done: UNCHANGED,
        ahead: trips!(|size| 4 + windows(size.changed)),
        requested: trips!(|size| 5 + 3 * (size.folders + 1)),
        relayed: Some(trips!(|size| 4 + 3 * (size.folders + 1))),
        ..COPY
    },
    TripRow {
        command: "pump verify",
        when: "changed files of other size",
        make: trees::changed,
        work: RowWork::Compare(1),
        done: UNCHANGED,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump verify",
        when: "names too many",
        make: trees::too_many,
        work: RowWork::Compare(1),
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump verify",
        when: "names missing",
        make: trees::too_many,
        options: BACKWARDS,
        work: RowWork::Compare(1),
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump verify --attributes",
        when: "no difference",
        make: trees::attributed_files_same,
        options: ATTRIBUTES,
        work: RowWork::Compare(0),
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
];
