//! Problems as a client sees them that may learn nothing of the target: one sentence, whatever is in the way.
//!
//! Must not know: which servers have such clients, what was tried.

use std::path::Path;

use crate::problem::{Class, Operation, Problem};

const WORDS: &str = "not written; this server may only be written to, and does not tell why";

/// EIO: the disk is at fault, not a name.
const DISK_ERROR: i32 = 5;

/// This problem without what tells of names at the target: operation, error number, class and words. A problem of the
/// client itself, of a change there, a full or broken disk or lost attributes stays as it is.
pub fn without_cause(problem: Problem) -> Problem {
    let is_of_client = problem.host.is_some() || problem.path.is_none() || problem.lost.is_some();
    let is_of_names = match problem.class {
        Class::Missing | Class::Denied | Class::Refused | Class::Usage => true,
        Class::Io => problem.cause != Some(DISK_ERROR),
        Class::Changed | Class::NoSpace | Class::Lost | Class::Mismatch => false,
    };
    match &problem.path {
        Some(path) if is_of_names && !is_of_client => of_target(path),
        _ => problem,
    }
}

/// The sentence.
pub fn of_target(path: &Path) -> Problem {
    Problem::new(Class::Refused, Operation::Write, path, WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_may_stand_in_the_way_has_one_sentence() {
        let path = Path::new("a/b");
        let expected = Some(of_target(path));
        // ENOENT, EACCES, EEXIST, EXDEV, ENOTDIR, EISDIR, EINVAL, ETXTBSY, EROFS, ENAMETOOLONG, ENOTEMPTY, ELOOP.
        let system = [2, 13, 17, 18, 20, 21, 22, 26, 30, 36, 39, 40].map(|errno| (Operation::Open, errno));
        for (operation, errno) in system {
            assert_eq!(Some(without_cause(Problem::system(operation, path, errno))), expected, "{errno}");
        }
        for class in [Class::Usage, Class::Refused, Class::Io] {
            let problem = Problem::new(class, Operation::Follow, path, "is a symbolic link");
            assert_eq!(Some(without_cause(problem)), expected, "{class:?}");
        }
    }

    #[test]
    fn what_is_no_name_of_the_target_is_told() {
        let path = Path::new("a/b");
        for problem in [
            // ENOSPC, EDQUOT, EIO.
            Problem::system(Operation::Write, path, 28),
            Problem::system(Operation::Write, path, 122),
            Problem::system(Operation::Write, path, 5),
            Problem::system(Operation::Open, path, 13).on("the sender"),
            Problem::new(Class::Changed, Operation::Read, path, "it changed"),
            Problem::usage("no path"),
        ] {
            assert_eq!(without_cause(problem.clone()), problem);
        }
    }
}
