//! Block devices as targets, and how long they are.
//!
//! Must not know: what is copied to them, and how.

pub mod control_groups;

use std::path::Path;

use datapump_engine::{Errno, Handle};

use crate::commit::shortage::room_words;
use crate::disk::{Access, PathAt};
use crate::problem::{Class, Operation, Problem};

/// Opens a device that nothing else uses, and on which so many bytes have room.
pub fn open_device(at: &PathAt, needed_bytes: u64) -> Result<Handle, Problem> {
    let handle = at.open(Access::WriteAlone).map_err(|errno| {
        let mut problem = Problem::system(Operation::Open, &at.path, errno.0);
        if errno == Errno::EBUSY {
            problem.message += ": it is mounted, or used otherwise; unmount it first";
        }
        problem
    })?;
    let room_bytes = device_bytes(&handle, &at.path)?;
    if needed_bytes > room_bytes {
        let words = room_words(Some(needed_bytes), room_bytes);
        return Err(Problem::new(Class::NoSpace, Operation::Reserve, &at.path, words).at(0));
    }
    Ok(handle)
}

/// Size of an open block device.
pub fn device_bytes(handle: &Handle, path: &Path) -> Result<u64, Problem> {
    datapump_engine::os::linux::block_device_bytes(handle.os())
        .map_err(|error| Problem::system(Operation::Measure, path, error.raw_os_error().unwrap_or(5)))
}
