//! Events of a job as they are told to the other side of a session, and as they were told.
//!
//! Must not know: sessions, who listens.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use datapump_core::wire::session as wire;
use minicbor::bytes::ByteVec;

use crate::change::{Change, ChangeKind};
use crate::problem::{Class, Problem};
use crate::run::Event;
use crate::watch::Watch;

/// What problems are about; others are told as `copy`.
const OPERATIONS: [&str; 30] = [
    "arguments",
    "open",
    "read",
    "write",
    "sync",
    "rename",
    "create",
    "reserve",
    "look at",
    "list",
    "make",
    "link",
    "verify",
    "compare",
    "lock",
    "remove",
    "delete",
    "finish",
    "receive",
    "connect",
    "enter",
    "allocate",
    "stat",
    "set the attributes of",
    "read the map of",
    "read the attributes of",
    "read the link",
    "make the link",
    "make the pipe",
    "make the device",
];
const CLASSES: [Class; 9] = [
    Class::Missing,
    Class::Changed,
    Class::Denied,
    Class::NoSpace,
    Class::Io,
    Class::Refused,
    Class::Lost,
    Class::Mismatch,
    Class::Usage,
];
const KINDS: [(ChangeKind, &str); 4] = [
    (ChangeKind::Copy, "copy"),
    (ChangeKind::Link, "link"),
    (ChangeKind::Adjust, "adjust"),
    (ChangeKind::Delete, "delete"),
];
const THINGS: [&str; 6] = ["file", "folder", "symlink", "device", "pipe", "socket"];

/// The class that has this name.
pub(super) fn class_named(name: &str) -> Option<Class> {
    CLASSES.into_iter().find(|known| known.name() == name)
}

fn bytes(path: &Path) -> ByteVec {
    path.as_os_str().as_bytes().to_vec().into()
}

fn path(bytes: ByteVec) -> PathBuf {
    OsString::from_vec(bytes.into()).into()
}

/// As it is told.
pub(crate) fn tell(event: Event) -> wire::Event {
    match event {
        Event::File { path, bytes: length, blake3 } => {
            wire::Event::File { path: bytes(&path), bytes: length, blake3 }
        }
        Event::Problem(problem) => wire::Event::Problem {
            class: problem.class.name().into(),
            path: problem.path.as_deref().map(bytes),
            operation: problem.operation.into(),
            offset: problem.offset,
            message: problem.message,
        },
        Event::Warning(words) => wire::Event::Warning(words),
        Event::Notice(words) | Event::Note(words) => wire::Event::Note(words),
        Event::Change(change) => {
            let kind = KINDS.iter().find(|(kind, _)| *kind == change.kind).map_or("copy", |(_, name)| name);
            wire::Event::Change {
                kind: kind.into(),
                source: bytes(&change.source),
                target: bytes(&change.target),
                relative: bytes(&change.relative),
                bytes: change.bytes,
                what: change.what.into(),
                itemized: change.itemized,
            }
        }
    }
}

/// As it was told.
pub(crate) fn hear(event: wire::Event) -> Event {
    match event {
        wire::Event::File { path: name, bytes, blake3 } => Event::File { path: path(name), bytes, blake3 },
        wire::Event::Problem { class, path: name, operation, offset, message } => Event::Problem(Problem {
            class: class_named(&class).unwrap_or(Class::Io),
            path: name.map(path),
            operation: OPERATIONS.into_iter().find(|known| *known == operation).unwrap_or("copy"),
            offset,
            message: crate::shown(message.as_bytes()),
        }),
        wire::Event::Warning(words) => Event::Warning(crate::shown(words.as_bytes())),
        wire::Event::Note(words) => Event::Note(crate::shown(words.as_bytes())),
        wire::Event::Change { kind, source, target, relative, bytes, what, itemized } => {
            Event::Change(Box::new(Change {
                kind: KINDS
                    .iter()
                    .find(|(_, name)| *name == kind)
                    .map_or(ChangeKind::Copy, |(kind, _)| *kind),
                source: path(source),
                target: path(target),
                relative: path(relative),
                bytes,
                what: THINGS.into_iter().find(|known| *known == what).unwrap_or("file"),
                itemized: crate::shown(itemized.as_bytes()),
            }))
        }
    }
}

/// How far this side is.
pub(crate) fn progress(watch: &Watch) -> wire::Progress {
    let now = watch.snapshot();
    wire::Progress {
        bytes: now.bytes,
        bytes_total: now.bytes_total,
        files: now.files,
        bytes_found: now.bytes_found,
        files_found: now.files_found,
    }
}
