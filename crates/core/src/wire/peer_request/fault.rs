//! A fault of the other side, as a problem of this one.
//!
//! Must not know: what was requested.

use std::path::Path;

use super::Fault;
use crate::problem::{Class, Operation, Problem, shown};
use crate::wire::bounds::ErrorNumber;

impl Fault {
    /// The problem of a path, as if it had been tried here.
    pub fn problem(&self, path: &Path) -> Problem {
        let operation = Operation::named(&self.operation).unwrap_or(Operation::Read);
        /// EXDEV: openat2(2) was to stay beneath a folder.
        const LEADS_OUT: i32 = 18;
        match (&self.errno, &self.words) {
            (Some(ErrorNumber(LEADS_OUT)), _) => {
                Problem::new(Class::Refused, operation, path, "leads out of the served folder")
            }
            (Some(errno), words) => {
                let mut problem = Problem::system(operation, path, errno.0);
                if let Some(words) = words {
                    problem.message = format!("{}; {}", problem.message, shown(words.as_bytes()));
                }
                problem
            }
            (None, words) => {
                let words = words.as_deref().unwrap_or("the other side could not do it");
                let class =
                    self.class.as_deref().and_then(Class::named).filter(|class| *class != Class::Lost);
                Problem::new(class.unwrap_or(Class::Changed), operation, path, shown(words.as_bytes()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_other_side_could_not_do_keeps_its_class() {
        for (errno, class, expected) in [
            (Some(2), None, Class::Missing),
            (Some(13), None, Class::Denied),
            (None, Some("denied"), Class::Denied),
            (None, None, Class::Changed),
            (None, Some("no such class"), Class::Changed),
            // A session is lost where it is noticed, not where somebody says so.
            (None, Some("lost"), Class::Changed),
        ] {
            let class = class.map(String::from);
            let fault = Fault {
                operation: Operation::Open.words().into(),
                errno: errno.map(ErrorNumber),
                words: Some("words".into()),
                class,
            };
            assert_eq!(fault.problem(Path::new("x")).class, expected, "{fault:?}");
        }
    }
}
