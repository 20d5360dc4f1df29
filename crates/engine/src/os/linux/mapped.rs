//! A file that is read and written by touching its mapped pages: the end without calls, which the lab compares with
//! those that have them.
//!
//! A page that cannot be brought in (the file was cut, the device failed, no room for a hole) is no error of a call
//! but SIGBUS, which ends a process. Asking first (`MADV_POPULATE_READ`, `MADV_POPULATE_WRITE`) would turn it into
//! `EFAULT`, yet the file may be cut between the question and the touch, and the question brings the pages in, which
//! is what is measured. So the signal is handled (`bus`): a page of zeros takes the place of the one that is gone, the
//! touch ends, and the mapping remembers where it was. Each touch looks, and answers with a [`MappedFault`].
//!
//! Words are read and written one by one and volatile: other processes may change them meanwhile.
//!
//! Must not know: names of files, in which order pages are touched, why.

mod bus;
mod words;

use std::fs::File;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags};

use super::super::unix::errno;
use crate::Errno;
use bus::WatchedMapping;
pub use words::{WORD_BYTES, fill_words, sum_words};

/// What a mapping is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappedFor {
    /// Its words are read.
    Reading,
    /// Its words are changed; the file must be open for reading, too.
    Writing,
}

/// What the kernel is told about a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappedAdvice {
    /// Nothing: pages come when they are touched, with some around them.
    None,
    /// All pages are brought in before the first touch (`MAP_POPULATE`).
    Populate,
    /// They are touched from start to end (`MADV_SEQUENTIAL`).
    Sequential,
    /// They are touched in no order (`MADV_RANDOM`): nothing is read besides.
    Random,
}

/// Why a page could not be touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappedCause {
    /// The file is shorter now than it was mapped: so many bytes.
    Cut(u64),
    /// The file is long enough, and its page did not come: the device failed, or there was no room for a hole.
    NotBroughtIn,
    /// The system said why.
    System(Errno),
}

/// A touch that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedFault {
    /// The first byte of the file that could not be had.
    pub at: u64,
    /// Why.
    pub cause: MappedCause,
}

/// A file, mapped shared from its first byte on. Used by the thread that made it.
#[derive(Debug)]
pub struct MappedFile {
    file: File,
    start: NonNull<u8>,
    len: usize,
    purpose: MappedFor,
    watched: WatchedMapping,
}

impl MappedFile {
    /// Maps the first `bytes` bytes.
    ///
    /// Errors: `EINVAL` for none; `EACCES` if the file is not open for that; `ENODEV` for what cannot be mapped;
    /// `EMFILE` if there are too many mappings already.
    pub fn new(
        file: File,
        bytes: u64,
        purpose: MappedFor,
        advice: MappedAdvice,
    ) -> Result<MappedFile, Errno> {
        let len = usize::try_from(bytes).map_err(|_| Errno(libc::EOVERFLOW))?;
        let protection = match purpose {
            MappedFor::Reading => ProtFlags::READ,
            MappedFor::Writing => ProtFlags::READ | ProtFlags::WRITE,
        };
        let populate = if advice == MappedAdvice::Populate { MapFlags::POPULATE } else { MapFlags::empty() };
        // SAFETY: the kernel chooses a free place, so nothing of this process is replaced. Nobody makes a reference
        // into it: its words are touched through raw pointers.
        let start = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED | populate, &file, 0)
        };
        let start: NonNull<u8> = NonNull::new(start.map_err(errno)?.cast()).ok_or(Errno(libc::EINVAL))?;
        let Some(watched) = WatchedMapping::new(start.as_ptr() as usize, len) else {
            // SAFETY: it was made above, and nobody else knows it.
            let _ = unsafe { rustix::mm::munmap(start.as_ptr().cast(), len) };
            return Err(Errno(libc::EMFILE));
        };
        let mapped = MappedFile { file, start, len, purpose, watched };
        mapped.advise(advice)?;
        Ok(mapped)
    }

    fn advise(&self, advice: MappedAdvice) -> Result<(), Errno> {
        let advice = match advice {
            MappedAdvice::None | MappedAdvice::Populate => return Ok(()),
            MappedAdvice::Sequential => Advice::Sequential,
            MappedAdvice::Random => Advice::Random,
        };
        // SAFETY: the range is this mapping's own, and neither advice changes what is in it.
        unsafe { rustix::mm::madvise(self.start.as_ptr().cast(), self.len, advice) }.map_err(errno)
    }

    /// Reads the words of these bytes, and gives their sum.
    ///
    /// # Panics
    /// When they lie outside of the mapping.
    #[inline]
    pub fn sum(&self, at: u64, bytes: u64) -> Result<u64, MappedFault> {
        let place = self.place(at, bytes);
        // SAFETY: `place` lies in the mapping with all of its bytes, which stays for as long as `self`; a page of it
        // that does not come is replaced by one of zeros before the read goes on.
        let sum = unsafe { words::sum(place, bytes as usize) };
        self.whole().map(|()| sum)
    }

    /// Writes a value into the words of these bytes.
    ///
    /// # Panics
    /// When they lie outside of the mapping, or it is for reading.
    #[inline]
    pub fn fill(&mut self, at: u64, bytes: u64, value: u64) -> Result<(), MappedFault> {
        assert_eq!(self.purpose, MappedFor::Writing);
        let place = self.place(at, bytes);
        // SAFETY: as in `sum`, and the mapping is for writing.
        unsafe { words::fill(place, bytes as usize, value) };
        self.whole()
    }

    /// Writes the changed pages out and waits: msync(2). They are on stable storage then.
    pub fn sync(&self) -> Result<(), MappedFault> {
        // SAFETY: the range is this mapping's own.
        let synced = unsafe { rustix::mm::msync(self.start.as_ptr().cast(), self.len, MsyncFlags::SYNC) };
        synced.map_err(|error| MappedFault { at: 0, cause: MappedCause::System(errno(error)) })?;
        self.whole()
    }

    /// Whether the file is as long as when it was mapped: what is behind a cut in the last page that is left reads as
    /// zeros, without a signal.
    pub fn check_length(&self) -> Result<(), MappedFault> {
        match self.file.metadata() {
            Ok(meta) if meta.len() < self.len as u64 => {
                Err(MappedFault { at: meta.len(), cause: MappedCause::Cut(meta.len()) })
            }
            Ok(_) => Ok(()),
            Err(error) => {
                Err(MappedFault { at: 0, cause: MappedCause::System(Errno::from_io_error(&error)) })
            }
        }
    }

    #[inline]
    fn place(&self, at: u64, bytes: u64) -> *mut u8 {
        let end = at.checked_add(bytes);
        assert!(end.is_some_and(|end| end <= self.len as u64), "bytes {at}+{bytes} of {}", self.len);
        // SAFETY: the offset lies in the mapping, which is one allocation.
        unsafe { self.start.as_ptr().add(at as usize) }
    }

    #[inline]
    fn whole(&self) -> Result<(), MappedFault> {
        match self.watched.fault() {
            None => Ok(()),
            Some(at) => Err(self.fault(at as u64)),
        }
    }

    #[cold]
    fn fault(&self, at: u64) -> MappedFault {
        let length = self.file.metadata().map_or(u64::MAX, |meta| meta.len());
        let cause = if length <= at { MappedCause::Cut(length) } else { MappedCause::NotBroughtIn };
        MappedFault { at, cause }
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        // Before its place is free: what comes there next is not ours.
        self.watched.end();
        // SAFETY: nobody has a pointer into it any more: they live for one call each. Pages that took the place of
        // others lie in the same range and go with it.
        let _ = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests;
