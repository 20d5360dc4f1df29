//! A target that has no room left while a tree is copied. Behind a file whose room could not be reserved, which took
//! none, the copy begins no file of its size or more; behind anything else it begins nothing more. What it would have
//! copied is counted, and all of it is reported in one line.
//!
//! Must not know: how trees are walked, how files are written.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::problem::{Class, Operation, Problem, is_quota};
use crate::units::{bytes_words, counted};
use datapump_engine::Errno;

/// What needs room. An attribute that does not fit costs no more than itself.
const OPERATIONS: [Operation; 8] = [
    Operation::Write,
    Operation::Reserve,
    Operation::Create,
    Operation::Make,
    Operation::Link,
    Operation::MakeLink,
    Operation::MakePipe,
    Operation::MakeDevice,
];

/// What room is left, and what was not copied since there is none.
#[derive(Debug)]
pub struct Full {
    /// A file of so many bytes or more has no room.
    lacking_bytes: AtomicU64,
    first: Mutex<Option<Problem>>,
    names: AtomicU64,
    bytes: AtomicU64,
    /// A tree was not started: nobody knows what of it is missing.
    is_uncounted: AtomicBool,
    /// What the lack of room led to besides, for people.
    put_off: Mutex<Vec<String>>,
}

impl Default for Full {
    fn default() -> Full {
        Full {
            lacking_bytes: AtomicU64::new(u64::MAX),
            first: Mutex::default(),
            names: AtomicU64::default(),
            bytes: AtomicU64::default(),
            is_uncounted: AtomicBool::default(),
            put_off: Mutex::default(),
        }
    }
}

impl Full {
    pub fn is_full(&self) -> bool {
        self.lacking_bytes.load(Ordering::Relaxed) == 0
    }

    /// Whether a file may have room. Its size is asked for only where something had none.
    pub fn may_take<E>(&self, size_bytes: impl FnOnce() -> Result<u64, E>) -> Result<bool, E> {
        let lacking_bytes = self.lacking_bytes.load(Ordering::Relaxed);
        Ok(lacking_bytes == u64::MAX || (lacking_bytes > 0 && size_bytes()? < lacking_bytes))
    }

    /// Counts a problem that is lack of room, and keeps the first, to be reported at the end. False for any other problem.
    pub fn keep_lack(&self, problem: &Problem) -> bool {
        // EFBIG is of one file alone, and a quota of a user, a group or a project: others may have room.
        let is_of_one = problem.cause.is_some_and(|errno| errno == Errno::EFBIG.0 || is_quota(errno));
        if problem.class != Class::NoSpace || is_of_one || !OPERATIONS.contains(&problem.operation) {
            return false;
        }
        if problem.operation != Operation::Reserve {
            self.lacking_bytes.store(0, Ordering::Relaxed);
        }
        self.names.fetch_add(1, Ordering::Relaxed);
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| problem.clone());
        true
    }

    /// A tree could not be started, for want of room or otherwise: its names are not counted.
    pub fn leave_uncounted(&self) {
        self.is_uncounted.store(true, Ordering::Relaxed);
    }

    /// One more name is not copied.
    pub fn leave_out(&self, bytes: u64) {
        self.names.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds the bytes of a file that is missing for this problem, if it is lack of room; only then its size is asked for. A
    /// file without a known size bounds no other.
    pub fn count_missing(&self, problem: &Problem, size_bytes: impl FnOnce() -> Option<u64>) {
        if problem.class != Class::NoSpace {
            return;
        }
        let Some(bytes) = size_bytes() else { return };
        if problem.operation == Operation::Reserve {
            self.lacking_bytes.fetch_min(bytes, Ordering::Relaxed);
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A warning that room is lacking, for something that the copy can do without. The one line says enough, if it
    /// comes to that.
    pub fn put_off(&self, warning: String) {
        self.put_off.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
    }

    /// The warnings that were put off.
    pub fn take_put_off(&self) -> Vec<String> {
        std::mem::take(&mut *self.put_off.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the one problem that reports all that is missing for lack of room. `None` if nothing is, or it was taken.
    pub fn take_problem(&self) -> Option<Problem> {
        let problem = self.first.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let (names, bytes) = (self.names.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        let missing = if self.is_uncounted.load(Ordering::Relaxed) {
            String::new()
        } else {
            let (are, names) = (if names == 1 { "is" } else { "are" }, counted(names, "name"));
            format!(": {names} with {bytes} bytes ({}) {are} missing", bytes_words(bytes))
        };
        let started = if self.is_full() { "nothing more was" } else { "other files as large were not" };
        let message = format!(
            "{}; {started} started{missing}; make room, and give the same command again",
            problem.message
        );
        Some(Problem { message, ..problem })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_one_file_has_no_room_for_others_may_have() {
        const EDQUOT: i32 = 122;
        for (errno, is_full) in [(Errno::ENOSPC.0, true), (Errno::EFBIG.0, false), (EDQUOT, false)] {
            let full = Full::default();
            let problem = Problem::system(Operation::Write, Path::new("to/a"), errno);
            assert_eq!((full.keep_lack(&problem), full.is_full()), (is_full, is_full), "{errno}");
        }
    }

    #[test]
    fn behind_a_reservation_that_was_refused_smaller_files_may_have_room() {
        let full = Full::default();
        let may_take = |bytes: u64| full.may_take(|| Ok::<u64, ()>(bytes)) == Ok(true);
        assert!(may_take(u64::MAX));
        let refuse = |operation, bytes| {
            let problem = Problem::system(operation, Path::new("to/a"), Errno::ENOSPC.0);
            full.count_missing(&problem, || Some(bytes));
            assert!(full.keep_lack(&problem));
        };
        for (bytes, fits, not) in [(9, 8, 9), (20, 8, 9), (5, 4, 5)] {
            refuse(Operation::Reserve, bytes);
            assert_eq!((may_take(fits), may_take(not), full.is_full()), (true, false, false), "{bytes}");
        }
        refuse(Operation::Write, 1);
        assert_eq!((may_take(0), full.is_full()), (false, true));
        assert_eq!(full.bytes.load(Ordering::Relaxed), 35);
    }

    #[test]
    fn what_is_missing_is_counted_where_that_is_known() {
        let problem = || Problem::system(Operation::Write, Path::new("to/a"), Errno::ENOSPC.0);
        let started = "No space left on device (os error 28); nothing more was started";
        let again = "; make room, and give the same command again";
        for (more, is_started, missing) in [
            (0, true, ": 1 name with 7 bytes (7 B) is missing"),
            (1, true, ": 2 names with 12 bytes (12 B) are missing"),
            (0, false, ""),
        ] {
            let full = Full::default();
            assert!(full.keep_lack(&problem()));
            full.count_missing(&problem(), || Some(7));
            (0..more).for_each(|_| full.leave_out(5));
            if !is_started {
                full.leave_uncounted();
            }
            let told = full.take_problem().expect("one is missing");
            assert_eq!(told.message, format!("{started}{missing}{again}"));
        }
    }
}
