//! What failed, summed up in one line at the end: an hour's tree has scrolled the problems away.
//!
//! Must not know: where it is printed.

use std::path::Path;

use datapump::units::with_commas;
use datapump::{Class, Problem};

use crate::output::path_words::path_words;

/// So many are named.
const NAMED: usize = 3;

/// Problems with files.
#[derive(Debug, Default)]
pub struct Failures {
    count: u64,
    first: Vec<String>,
}

impl Failures {
    /// Counts a problem, if it is one of a file.
    pub fn add(&mut self, problem: &Problem) {
        let Some(path) = problem.path.as_deref().filter(|_| problem.class != Class::Usage) else { return };
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(format!("'{}' ({})", path_words(path), problem.class.name()));
        }
    }

    /// `3 of 2,348 files failed: 'a' (denied), 'b' (denied), 'c' (missing)`; nothing of one file that was copied alone.
    pub fn words(&self, others: u64, log: Option<&Path>) -> Option<String> {
        if self.count == 0 || self.count + others < 2 {
            return None;
        }
        let named = self.first.join(", ");
        let rest = self.count - self.first.len() as u64;
        let place = match (rest, log) {
            (_, Some(log)) => format!("; all are above, and in {}", path_words(log)),
            (0, None) => String::new(),
            (rest, None) => {
                format!(" and {} more; all are above (--log-file FILE keeps them)", with_commas(rest))
            }
        };
        let (count, all) = (with_commas(self.count), with_commas(self.count + others));
        Some(format!("{count} of {all} files failed: {named}{place}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump::Operation;

    #[test]
    fn failures_are_one_line_with_the_first_ones() {
        let mut failures = Failures::default();
        assert_eq!(failures.words(9, None), None);
        failures.add(&Problem::usage("no file"));
        assert_eq!(failures.words(9, None), None);
        let problem = |path: &str| Problem::new(Class::Denied, Operation::Open, Path::new(path), "denied");
        failures.add(&problem("a"));
        assert_eq!(failures.words(0, None), None, "the one file: its problem says all");
        assert_eq!(failures.words(2344, None).as_deref(), Some("1 of 2,345 files failed: 'a' (denied)"));
        ["b", "c", "d"].iter().for_each(|path| failures.add(&problem(path)));
        let words = failures.words(1, None).expect("words");
        assert!(
            words.starts_with("4 of 5 files failed: 'a' (denied), 'b' (denied), 'c' (denied) and 1 more; "),
            "{words}"
        );
        let words = failures.words(1, Some(Path::new("log"))).expect("words");
        assert!(words.ends_with("; all are above, and in log"), "{words}");
    }
}
