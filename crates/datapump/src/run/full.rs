//! A target that has no room left while a tree is copied. The copy begins nothing more; what it would have copied is
//! counted, and all of it is told in one line.
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

/// Whether room is left, and what was not copied since there is none.
#[derive(Debug, Default)]
pub(crate) struct Full {
    is_full: AtomicBool,
    first: Mutex<Option<Problem>>,
    names: AtomicU64,
    bytes: AtomicU64,
    /// A tree was not started: nobody knows what of it is missing.
    is_uncounted: AtomicBool,
    /// What the lack of room led to besides, for people.
    put_off: Mutex<Vec<String>>,
}

impl Full {
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Takes a problem that is one of room. The first is kept to be told.
    pub(crate) fn takes(&self, problem: &Problem) -> bool {
        // EFBIG is of one file alone, and a quota of a user, a group or a project: others may have room.
        let is_of_one = problem.cause.is_some_and(|errno| errno == Errno::EFBIG.0 || is_quota(errno));
        if problem.class != Class::NoSpace || is_of_one || !OPERATIONS.contains(&problem.operation) {
            return false;
        }
        self.is_full.store(true, Ordering::Relaxed);
        self.names.fetch_add(1, Ordering::Relaxed);
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| problem.clone());
        true
    }

    /// A tree could not be started, for want of room or otherwise: its names are not counted.
    pub(crate) fn leave_uncounted(&self) {
        self.is_uncounted.store(true, Ordering::Relaxed);
    }

    /// One more name is not copied.
    pub(crate) fn leave_out(&self, bytes: u64) {
        self.names.fetch_add(1, Ordering::Relaxed);
        self.add_bytes(bytes);
    }

    /// So many bytes of what was taken, or left out, are missing.
    pub(crate) fn add_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A warning that room is lacking, for something that the copy can do without. The one line says enough, if it
    /// comes to that.
    pub(crate) fn put_off(&self, warning: String) {
        self.put_off.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
    }

    /// The warnings that were put off.
    pub(crate) fn take_put_off(&self) -> Vec<String> {
        std::mem::take(&mut *self.put_off.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The problem to report for all of it.
    pub(crate) fn told(&self) -> Option<Problem> {
        let problem = self.first.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let (names, bytes) = (self.names.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        let missing = match self.is_uncounted.load(Ordering::Relaxed) {
            true => String::new(),
            false => {
                let (are, names) = (if names == 1 { "is" } else { "are" }, counted(names, "name"));
                format!(": {names} with {bytes} bytes ({}) {are} missing", bytes_words(bytes))
            }
        };
        let message = format!(
            "{}; nothing more was started{missing}; make room, and give the same command again",
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
            assert_eq!((full.takes(&problem), full.is_full()), (is_full, is_full), "{errno}");
        }
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
            assert!(full.takes(&problem()));
            full.add_bytes(7);
            (0..more).for_each(|_| full.leave_out(5));
            if !is_started {
                full.leave_uncounted();
            }
            let told = full.told().expect("one is missing");
            assert_eq!(told.message, format!("{started}{missing}{again}"));
        }
    }
}
