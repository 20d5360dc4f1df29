//! Linux. Lacks nothing that the engines use; below kernel 6.4 pipes refuse `RWF_NOWAIT` and are polled instead.
//!
//! The functions after the engines' own are for the crate `datapump` and the lab: what a file, a device and this
//! process may do here. They exist on no other system.
//!
//! Must not know: requests, slots, names of files, why a call is made.

use std::fs::File;
use std::io::{IoSlice, IoSliceMut};

use rustix::event::PollFlags;
use rustix::io::{Errno as Error, ReadWriteFlags};

pub use super::again::{Interrupted, again, again_named, stop_flag};
use super::unix::{self, call_stream, errno, may_block_for_ever, wait_for};
use crate::{Errno, TransferFlags};

mod cache;
mod calls;
mod extents;
mod handle;
mod host;
mod idle;
mod link_device;
mod mapped;
mod net_space;
mod owners;
mod socket;
mod standard;
pub use cache::{flush, has_dirty_pages, write_back};
pub use calls::{KernelCall, XattrName, answer_calls_with, help_libraries, list_xattrs_at, set_mode_of_held};
pub use extents::unwritten_bytes;
pub use handle::handle_sum;
pub use host::{
    ChildUsage, ContextSwitches, IdleCpus, TICK_NS, block_device_bytes, cached_estimate, cached_fraction,
    cpus, direct_alignment, file_size_limit, generation, is_ignored, logical_block_bytes,
    memlock_limit_bytes, open_files_limit, process_cpu_ns, project, storage_read_bytes, thread_cpu_ns,
    thread_delayed_ns, thread_ns, timer_slack, wait_with_usage,
};
pub use idle::{Lowest, allowed_cpus, lowest_priority, pin_to};
pub use link_device::{LinkOffload, device_with_address, has_offload};
pub use mapped::{
    MappedAdvice, MappedCause, MappedFault, MappedFile, MappedFor, WORD_BYTES, fill_words, sum_words,
};
pub use net_space::{in_net_space, make_net_space, remove_net_space};
pub use owners::{group_id, group_name, user_home, user_id, user_name};
pub use socket::{TcpInfo, set_busy_poll, set_pacing, tcp_info};
pub use standard::was_closed;

/// A request was ended before it moved anything.
pub const ECANCELED: Errno = Errno(libc::ECANCELED);
/// The system has no such call.
pub const ENOSYS: Errno = Errno(libc::ENOSYS);

/// An offset of -1 makes preadv2(2) and pwritev2(2) use, and move, the file's own position.
const CURRENT_POSITION: u64 = u64::MAX;

/// The flags as preadv2(2), pwritev2(2) and io_uring(7) take them.
pub fn rw_flags(flags: TransferFlags) -> libc::c_int {
    let bit = |is_set: bool, bit| if is_set { bit } else { 0 };
    bit(flags.uncached, libc::RWF_DONTCACHE) | bit(flags.durable, libc::RWF_DSYNC)
}

fn known(flags: TransferFlags) -> ReadWriteFlags {
    ReadWriteFlags::from_bits_retain(rw_flags(flags) as libc::c_uint)
}

/// Reads at an offset in bytes: pread(2) or preadv2(2).
pub fn read_at(file: &File, at: u64, into: &mut [u8], flags: TransferFlags) -> Result<usize, Errno> {
    if flags.is_plain() {
        return unix::read_at(file, at, into);
    }
    again(|| rustix::io::preadv2(file, &mut [IoSliceMut::new(into)], at, known(flags))).map_err(errno)
}

/// Writes at an offset in bytes: pwrite(2) or pwritev2(2). May write a part.
pub fn write_at(file: &File, at: u64, from: &[u8], flags: TransferFlags) -> Result<usize, Errno> {
    if flags.is_plain() {
        return unix::write_at(file, at, from);
    }
    match again(|| rustix::io::pwritev2(file, &[IoSlice::new(from)], at, known(flags))).map_err(errno) {
        // What a durable write promises, in two calls.
        Err(refused) if !flags.uncached && KernelCall::Pwritev2.is_refused_by(refused) => {
            let count = unix::write_at(file, at, from)?;
            rustix::fs::fdatasync(file).map_err(errno).map(|()| count)
        }
        written => written,
    }
}

/// Reads where the stream stands: preadv2(2) with `RWF_NOWAIT`, and poll(2) while there is nothing. 0 is its end;
/// `ECANCELED` if `stopped` while there was nothing to read.
pub fn read_stream(file: &File, into: &mut [u8], stopped: &dyn Fn() -> bool) -> Result<usize, Errno> {
    let now = |into: &mut [u8]| {
        let parts = &mut [IoSliceMut::new(into)];
        rustix::io::preadv2(file, parts, CURRENT_POSITION, ReadWriteFlags::NOWAIT)
    };
    loop {
        match call_stream(stopped, || now(into)) {
            Err(Error::AGAIN) => {
                wait_for(file, PollFlags::IN, stopped).map_err(errno)?;
                // A file that is always readable yet not at once has its data on the device: wait for that.
                if !may_block_for_ever(file) {
                    return unix::read_polled(file, into, stopped).map_err(errno);
                }
            }
            Err(error) if lacks_nowait(error, KernelCall::Preadv2) => {
                return unix::read_polled(file, into, stopped).map_err(errno);
            }
            result => return result.map_err(errno),
        }
    }
}

/// Writes where the stream stands: pwritev2(2) with `RWF_NOWAIT`, which fills the room there is, and poll(2) while
/// there is none. May write a part; `ECANCELED` if `stopped` while there was no room at all.
pub fn write_stream(file: &File, from: &[u8], stopped: &dyn Fn() -> bool) -> Result<usize, Errno> {
    loop {
        let parts = &[IoSlice::new(from)];
        let now = || rustix::io::pwritev2(file, parts, CURRENT_POSITION, ReadWriteFlags::NOWAIT);
        match call_stream(stopped, now) {
            Err(Error::AGAIN) => {
                wait_for(file, PollFlags::OUT, stopped).map_err(errno)?;
                if !may_block_for_ever(file) {
                    return unix::write_polled(file, from, stopped).map_err(errno);
                }
            }
            Err(error) if lacks_nowait(error, KernelCall::Pwritev2) => {
                return unix::write_polled(file, from, stopped).map_err(errno);
            }
            result => return result.map_err(errno),
        }
    }
}

/// The kind of file, or the kernel (before 4.14), knows no `RWF_NOWAIT`, or a sandbox refuses the call.
fn lacks_nowait(error: Error, call: KernelCall) -> bool {
    matches!(error, Error::OPNOTSUPP | Error::NOSYS) || call.is_refused_by(errno(error))
}

/// Copies up to `len` bytes inside the kernel: copy_file_range(2). 0 is the end of
/// the data in `from`. Between some file systems it answers `EXDEV`, `EINVAL`, `EOPNOTSUPP`, or 0 too early.
pub fn copy_file_range(from: &File, from_at: u64, to: &File, to_at: u64, len: usize) -> Result<usize, Errno> {
    again(|| {
        let (mut from_at, mut to_at) = (from_at, to_at);
        rustix::fs::copy_file_range(from, Some(&mut from_at), to, Some(&mut to_at), len)
    })
    .map_err(errno)
}
