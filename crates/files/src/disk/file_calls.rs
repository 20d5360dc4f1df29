//! Calls on an open file besides reading and writing. Real or simulated.
//!
//! Must not know: what the file is for.

use datapump_engine::{Errno, Handle};

use super::{Meta, Outcome, Room, os, sim};

/// Whether a file counts as cached: more than half of it is in the page cache, so that a buffered read takes most of it
/// from memory. `None` where the system does not report it.
pub fn is_cached(fraction: Option<f64>) -> bool {
    fraction.is_some_and(|fraction| fraction > 0.5)
}

/// Calls on an open file besides reading and writing.
pub trait FileCalls {
    /// What the open file is.
    fn meta(&self) -> Outcome<Meta>;
    /// From now on requests go past the page cache (O_DIRECT); `EINVAL` where the file system cannot.
    fn set_direct(&self) -> Outcome<()>;
    /// Forgets the file's pages in the page cache, so that the next read comes from the device.
    fn forget_cached(&self) -> Outcome<()>;
    /// Alignment of direct requests in bytes.
    fn direct_alignment_bytes(&self) -> u32;
    /// Fraction of the file in the page cache.
    fn cached_fraction(&self, size_bytes: u64) -> Option<f64>;
    /// Shares the blocks of `from`, all of them (FICLONE).
    fn reflink_from(&self, from: &Handle) -> Outcome<()>;
    /// Locks against other pumps until closed; false when another has it.
    fn try_lock(&self) -> Outcome<bool>;
    /// The same, but waits a moment for a lock that a killed process is about to lose.
    fn lock(&self) -> Outcome<bool>;
    /// Sets the length.
    fn set_len(&self, bytes: u64) -> Outcome<()>;
    /// Allocates the range, so that later writes to it cannot run out of room. The length grows if need be.
    fn reserve(&self, at: u64, bytes: u64) -> Outcome<()>;
    /// Puts data and attributes on stable storage.
    fn sync(&self) -> Outcome<()>;
    /// The free space where the file lies.
    fn room(&self) -> Room;
    /// The ranges that hold data, as the file system tells; `None` when it cannot.
    fn data_ranges(&self, size_bytes: u64) -> Outcome<Option<Vec<(u64, u64)>>>;
    /// Bytes that are reserved and were never written, as the file system tells: they are holes that take room.
    fn unwritten_bytes(&self) -> u64;
    /// Reads a few bytes; 0 at the end.
    fn peek(&self, at: u64, into: &mut [u8]) -> Outcome<usize>;
    /// Writes a few bytes, all of them.
    fn put(&self, at: u64, bytes: &[u8]) -> Outcome<()>;
    /// Writes what is dirty in a range and waits for it, so that a later store through a mapping changes the times.
    fn write_back(&self, at: u64, bytes: u64);
    /// Whether something in a range waits to be written, as far as the system tells.
    fn has_dirty_pages(&self, at: u64, bytes: u64) -> bool;
    /// Tells what closing it would tell, and keeps it open.
    fn flush(&self) -> Outcome<()>;
    /// Puts what was written, and what is needed to read it, on stable storage.
    fn sync_data(&self) -> Outcome<()>;
    /// When the file was made, in nanoseconds since 1970, and the number of the mount that it was opened by, which no
    /// later mount gets: 0 where the system does not tell.
    fn origin(&self) -> (i128, u64);
    /// Which of the files that had its inode number it is; 0 where the file system does not tell.
    fn generation(&self) -> u32;
    /// A sum of the handle by which its file system tells it from all others; 0 where none is told.
    fn handle_sum(&self) -> u64;
    /// Makes it a file that this user alone may read and write, whatever it was.
    fn take_over(&self) -> Outcome<()>;
}

impl FileCalls for Handle {
    fn meta(&self) -> Outcome<Meta> {
        match self {
            Handle::Os(file) => os::file_metadata(file),
            Handle::Sim(file) => Ok(sim::meta(file.metadata())),
        }
    }

    fn set_direct(&self) -> Outcome<()> {
        match self {
            Handle::Os(file) => os::set_direct(file),
            Handle::Sim(_) => Err(Errno::EINVAL),
        }
    }

    fn forget_cached(&self) -> Outcome<()> {
        match self {
            Handle::Os(file) => os::forget_cached(file),
            Handle::Sim(_) => Ok(()),
        }
    }

    fn direct_alignment_bytes(&self) -> u32 {
        match self {
            Handle::Os(file) => os::direct_alignment_bytes(file),
            Handle::Sim(_) => 1,
        }
    }

    fn cached_fraction(&self, size_bytes: u64) -> Option<f64> {
        match self {
            Handle::Os(file) => datapump_engine::os::linux::cached_estimate(file, size_bytes),
            Handle::Sim(_) => None,
        }
    }

    fn reflink_from(&self, from: &Handle) -> Outcome<()> {
        match (from, self) {
            (Handle::Os(from), Handle::Os(to)) => os::reflink(from, to),
            _ => Err(Errno::EINVAL),
        }
    }

    fn try_lock(&self) -> Outcome<bool> {
        match self {
            Handle::Os(file) => os::try_lock(file),
            Handle::Sim(file) => file.try_lock(),
        }
    }

    fn lock(&self) -> Outcome<bool> {
        match self {
            Handle::Os(file) => os::lock(file),
            Handle::Sim(file) => file.try_lock(),
        }
    }

    fn set_len(&self, bytes: u64) -> Outcome<()> {
        match self {
            Handle::Os(file) => os::set_len(file, bytes),
            Handle::Sim(file) => file.set_len(bytes),
        }
    }

    fn reserve(&self, at: u64, bytes: u64) -> Outcome<()> {
        match self {
            Handle::Os(file) => os::reserve(file, at, bytes),
            Handle::Sim(file) => file.write(Some(at), &vec![0; bytes as usize]).map(|_| ()),
        }
    }

    fn sync(&self) -> Outcome<()> {
        match self {
            Handle::Os(file) => os::sync(file),
            Handle::Sim(file) => file.sync(),
        }
    }

    fn room(&self) -> Room {
        match self {
            Handle::Os(file) => os::room(file),
            Handle::Sim(_) => Room::endless(),
        }
    }

    fn data_ranges(&self, size_bytes: u64) -> Outcome<Option<Vec<(u64, u64)>>> {
        match self {
            Handle::Os(file) => os::data_ranges(file, size_bytes),
            Handle::Sim(_) => Ok(None),
        }
    }

    fn unwritten_bytes(&self) -> u64 {
        match self {
            Handle::Os(file) => os::unwritten_bytes(file),
            Handle::Sim(_) => 0,
        }
    }

    fn peek(&self, at: u64, into: &mut [u8]) -> Outcome<usize> {
        match self {
            Handle::Os(file) => os::peek(file, at, into),
            Handle::Sim(file) => file.read(Some(at), into),
        }
    }

    fn put(&self, at: u64, bytes: &[u8]) -> Outcome<()> {
        match self {
            Handle::Os(file) => os::put(file, at, bytes),
            Handle::Sim(file) => file.write(Some(at), bytes).map(|_| ()),
        }
    }

    fn write_back(&self, at: u64, bytes: u64) {
        match self {
            Handle::Os(file) => datapump_engine::os::linux::write_back(file, at, bytes),
            Handle::Sim(_) => {}
        }
    }

    fn has_dirty_pages(&self, at: u64, bytes: u64) -> bool {
        match self {
            Handle::Os(file) => datapump_engine::os::linux::has_dirty_pages(file, at, bytes),
            Handle::Sim(_) => false,
        }
    }

    fn flush(&self) -> Outcome<()> {
        match self {
            Handle::Os(file) => datapump_engine::os::linux::flush(file),
            Handle::Sim(_) => Ok(()),
        }
    }

    fn sync_data(&self) -> Outcome<()> {
        match self {
            Handle::Os(file) => os::sync_data(file),
            Handle::Sim(file) => file.sync(),
        }
    }

    fn origin(&self) -> (i128, u64) {
        match self {
            Handle::Os(file) => os::origin(file),
            Handle::Sim(_) => (0, 1),
        }
    }

    fn generation(&self) -> u32 {
        match self {
            Handle::Os(file) => datapump_engine::os::linux::generation(file).unwrap_or(0),
            Handle::Sim(_) => 0,
        }
    }

    fn handle_sum(&self) -> u64 {
        match self {
            Handle::Os(file) => datapump_engine::os::linux::handle_sum(file, c"").unwrap_or(0),
            Handle::Sim(_) => 0,
        }
    }

    fn take_over(&self) -> Outcome<()> {
        match self {
            Handle::Os(file) => os::take_over(file),
            Handle::Sim(_) => Ok(()),
        }
    }
}
