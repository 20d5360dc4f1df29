//! Facts about files, as the wire has them and as this program has them.
//!
//! Must not know: who says it.

use std::ffi::CString;

use datapump_core::wire::attributes::{self as wire, Attribute, TimeNs};
use datapump_core::wire::bounds::{ErrorNumber, FileSize, OwnerId};
use datapump_core::wire::peer_request::{Answer, Fault};
use datapump_engine::{Errno, Handle};
use datapump_transport::NetFault;

use crate::problem::{Class, Operation};
use crate::run::cause::cause_words;
use datapump_files::disk::{AttributeHolder, Meta};

/// Attributes as they are sent.
pub(crate) fn to_wire(meta: &Meta) -> wire::WireMeta {
    wire::WireMeta {
        kind: meta.kind,
        mode: meta.mode,
        uid: OwnerId(meta.uid),
        gid: OwnerId(meta.gid),
        size_bytes: FileSize::of(meta.size_bytes),
        allocated_bytes: FileSize::of(meta.allocated_bytes),
        device: meta.device,
        inode: meta.inode,
        links: meta.links,
        atime: TimeNs(meta.atime_ns),
        mtime: TimeNs(meta.mtime_ns),
        ctime: TimeNs(meta.ctime_ns),
        special_device: meta.special_device,
        generation: (meta.generation != 0).then_some(meta.generation),
        handle: (meta.links > 1 || meta.handle != 0).then_some(meta.handle),
    }
}

/// Attributes as they were received.
pub(crate) fn from_wire(meta: &wire::WireMeta) -> Meta {
    Meta {
        kind: meta.kind,
        // Bits beyond the permissions would be somebody's mistake.
        mode: meta.mode & 0o7777,
        uid: meta.uid.0,
        gid: meta.gid.0,
        size_bytes: meta.size_bytes.0,
        allocated_bytes: meta.allocated_bytes.0,
        device: meta.device,
        inode: meta.inode,
        links: meta.links,
        atime_ns: meta.atime.0,
        mtime_ns: meta.mtime.0,
        ctime_ns: meta.ctime.0,
        special_device: meta.special_device,
        generation: meta.generation.unwrap_or(0),
        // Older versions tell the generation alone, which few file systems have that give one number to several files.
        handle: meta.handle.unwrap_or_else(|| meta.generation.map_or(0, u64::from)),
    }
}

/// All extended attributes; of those that cannot be read the name alone. They cost nobody the content.
pub(crate) fn attributes_of(bearer: AttributeHolder<'_>) -> Vec<Attribute> {
    bearer.xattr_names().map_or_else(|_| not_listed(), |names| attributes_named(bearer, names))
}

/// The answer for attributes that cannot be listed, or do not fit: one without a name that cannot be read.
pub(crate) fn not_listed() -> Vec<Attribute> {
    vec![Attribute { name: Vec::new().into(), value: Vec::new().into(), is_unreadable: Some(true) }]
}

/// The extended attributes of these names.
pub(crate) fn attributes_named(bearer: AttributeHolder<'_>, names: Vec<CString>) -> Vec<Attribute> {
    let read = |name: CString| {
        let (value, is_unreadable) = match bearer.xattr_value(&name) {
            Ok(value) => (value?, None),
            Err(_) => (Vec::new(), Some(true)),
        };
        Some(Attribute { name: name.into_bytes().into(), value: value.into(), is_unreadable })
    };
    names.into_iter().filter_map(read).collect()
}

/// The fault of an operation that failed here, as it is sent.
pub(crate) fn fault(operation: Operation, errno: Errno) -> Fault {
    Fault {
        operation: operation.words().into(),
        errno: Some(ErrorNumber::of(errno.0)),
        words: cause_words(operation, errno),
        class: None,
    }
}

/// The fault of an operation that failed here without an error number, as it is sent.
pub(crate) fn fault_in_words(operation: Operation, words: String, class: Option<Class>) -> Fault {
    let class = class.map(|class| class.name().into());
    Fault { operation: operation.words().into(), errno: None, words: Some(words), class }
}

/// A source was changed while it was read.
pub(crate) fn changed(what: &str, class: Option<Class>) -> Fault {
    fault_in_words(Operation::Read, format!("{what}; copy again when the source is quiet"), class)
}

/// Errors: the file holds bytes behind the size that its file system reports, which would be cut off.
pub(crate) fn refuse_more(handle: &Handle, meta: &Meta, magic: u64) -> Result<(), Fault> {
    if !datapump_files::holes::sizes::goes_on(handle, meta, magic)
        .map_err(|errno| fault(Operation::Read, errno))?
    {
        return Ok(());
    }
    let bytes = meta.size_bytes;
    let words = format!(
        "holds more than the {bytes} bytes that its file system tells; copy it on its own host first"
    );
    Err(fault_in_words(Operation::Read, words, Some(Class::Io)))
}

/// Takes one answer after the other; an error is one of the connection.
pub(crate) type Tell<'tell> = &'tell mut dyn FnMut(Answer) -> Result<(), NetFault>;
