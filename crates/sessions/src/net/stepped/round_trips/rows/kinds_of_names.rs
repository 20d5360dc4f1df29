//! Names that are more than a plain file: empty, with holes, links, with attributes.
//!
//! Must not know: how it is counted.

use super::*;

pub(super) const ROWS: &[TripRow] = &[
    TripRow {
        command: "pump copy",
        when: "empty files",
        make: trees::empty_files,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 4 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "empty files, into existing folders",
        make: trees::empty_files_into_folders,
        options: UPDATE,
        ahead: trips!(|size| 4 + size.folders),
        requested: trips!(|size| 3 + 4 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "empty files, nothing to do",
        make: trees::empty_files_same,
        options: UPDATE,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --checksum",
        when: "empty files, nothing to do",
        make: trees::empty_files_same,
        options: CHECKSUM,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 4 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy",
        when: "two names of each changed file",
        make: trees::hard_links,
        ahead: trips!(|size| 4 + windows(size.changed)),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "two names of each changed file, nothing to do",
        make: trees::hard_links_same,
        options: UPDATE,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy",
        when: "holes in changed files",
        make: trees::holes,
        ahead: trips!(|size| 4 + least(size.changed, size.folders + 1) + windows(size.changed)),
        requested: trips!(|size| 4 + least(size.changed, size.folders + 1) + 3 * (size.folders + 1)),
        relayed: Some(trips!(|size| 4
            + size.changed
            + least(size.changed, size.folders + 1)
            + 3 * (size.folders + 1))),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "holes in changed files, nothing to do",
        make: trees::holes_same,
        options: UPDATE,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy",
        when: "a link and a pipe beside each changed file",
        make: trees::specials,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "a link and a pipe beside each changed file, nothing to do",
        make: trees::specials_same,
        options: UPDATE,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy",
        when: "attributes (xattrs, ACL) of changed files",
        make: trees::attributed_files,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "attributes (xattrs, ACL) of changed files, nothing to do",
        make: trees::attributed_files_same,
        options: UPDATE,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy -n --update=differs",
        when: "attributes (xattrs, ACL) of changed files, nothing to do",
        make: trees::attributed_files_same,
        options: DRY_UPDATE,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs --no-preserve=acl,xattr",
        when: "other modes of changed files",
        make: trees::other_modes,
        options: UPDATE_WITHOUT_ATTRIBUTES,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy",
        when: "attributes of all folders",
        make: trees::attributed_folders,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 4 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy --update=differs",
        when: "attributes of all folders, nothing to do",
        make: trees::attributed_folders_same,
        options: UPDATE,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 3 + 3 * (size.folders + 1)),
        ..COPY
    },
    TripRow {
        command: "pump copy",
        when: "folders without files",
        make: trees::folders,
        done: NOTHING,
        ahead: trips!(|size| 3),
        requested: trips!(|size| 5 + 2 * size.folders + size.depth),
        ..COPY
    },
];
