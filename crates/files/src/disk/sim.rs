//! The simulated file system in the terms of `disk`.
//!
//! Must not know: what the names mean; all of them lie in one folder, so that a path's last part is its name.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use datapump_engine::sim::SimMeta;

use super::{FileKind, Meta};

/// The name within the simulation's only folder.
pub(super) fn name(path: &OsStr) -> &[u8] {
    Path::new(path).file_name().unwrap_or(path).as_bytes()
}

/// Attributes of a simulated file.
pub(super) fn meta(meta: SimMeta) -> Meta {
    Meta {
        device: 1,
        inode: meta.inode,
        kind: FileKind::Regular,
        size_bytes: meta.size_bytes,
        allocated_bytes: meta.size_bytes,
        links: 1,
        mode: meta.mode,
        uid: 0,
        gid: 0,
        atime_ns: 0,
        mtime_ns: meta.mtime_ns.into(),
        ctime_ns: meta.ctime_ns.into(),
        special_device: 0,
        generation: 0,
        handle: 0,
    }
}
