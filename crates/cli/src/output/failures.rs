//! The summary of failures at the end, in one line: the problems themselves have scrolled away.
//!
//! Must not know: where it is printed.

use std::io::{self, ErrorKind};
use std::path::Path;

use datapump::units::{counted, with_commas};
use datapump::{Class, Problem, Report};

use crate::output::path_words::path_words;

/// So many are named.
const NAMED: usize = 3;

/// Problems with files.
#[derive(Debug, Default)]
pub struct Failures {
    count: u64,
    first: Vec<String>,
    /// Sources that the user named and that were not copied.
    sources: Vec<String>,
}

impl Failures {
    /// Counts a problem, if it is one of a file.
    pub fn add(&mut self, problem: &Problem) {
        let Some(path) = problem.path.as_deref().filter(|_| problem.class != Class::Usage) else { return };
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(format!("'{}' ({})", path_words(path), reason(problem)));
        }
    }

    /// Keeps in mind that one of the sources failed itself, if it did.
    pub fn add_source(&mut self, problem: &Problem, sources: &[String]) {
        let Some(path) = problem.path.as_ref().filter(|_| !problem.is_copied) else { return };
        let failed = path_words(path);
        let failed = failed.trim_end_matches('/');
        let is_failed = |source: &&String| match source.trim_end_matches('/').strip_suffix(failed) {
            Some("") => true,
            Some(host) => problem.host.is_some() && host.ends_with([':', '/']),
            None => false,
        };
        self.sources.extend(sources.iter().filter(is_failed).cloned());
    }

    /// Whether a source failed itself.
    pub fn has_source(&self, source: &str) -> bool {
        self.sources.iter().any(|failed| failed == source)
    }

    /// `3 errors (2,345 files copied, 7 unchanged): 'a' (permission denied), 'c' (not found); see above`;
    /// nothing of one file that was copied alone.
    pub fn words(&self, report: &Report, log: Option<&Path>) -> Option<String> {
        if self.count == 0 || self.count + report.names_done() < 2 {
            return None;
        }
        let more = match self.count - self.first.len() as u64 {
            0 => String::new(),
            more => format!(" and {} more", with_commas(more)),
        };
        let log = log.map_or(String::new(), |log| format!(" and in {}", path_words(log)));
        let (errors, done) = (counted(self.count, "error"), report.done_words());
        Some(format!("{errors} ({done}): {}{more}; see above{log}", self.first.join(", ")))
    }
}

/// Why, in short. No permission helps on a file system that is read-only, and no room where a quota is used up.
fn reason(problem: &Problem) -> &'static str {
    let kind = problem.cause.map(|errno| io::Error::from_raw_os_error(errno).kind());
    match kind {
        Some(ErrorKind::ReadOnlyFilesystem) => "read-only file system",
        Some(ErrorKind::QuotaExceeded) => "quota used up",
        _ => problem.class.words(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump::Operation;

    #[test]
    fn a_file_system_that_is_read_only_is_no_matter_of_permission_and_a_quota_none_of_room() {
        const EROFS: i32 = 30;
        const EACCES: i32 = 13;
        const EDQUOT: i32 = 122;
        for (errno, words) in
            [(EROFS, "read-only file system"), (EACCES, "permission denied"), (EDQUOT, "quota used up")]
        {
            assert_eq!(reason(&Problem::system(Operation::Create, Path::new("a"), errno)), words);
        }
    }

    #[test]
    fn sources_that_failed_themselves_are_kept_in_mind() {
        let sources = ["photos/", "host:photos", "old/photos", "other"].map(str::to_owned);
        let problem = Problem::system(Operation::Open, Path::new("photos"), 2);
        for (problem, failed) in [
            (problem.clone(), &sources[..1]),
            (problem.clone().on("host"), &[0, 1, 2].map(|at| sources[at].clone())),
        ] {
            let mut failures = Failures::default();
            failures.add_source(&problem, &sources);
            let found: Vec<_> = sources.iter().filter(|source| failures.has_source(source)).collect();
            assert_eq!(found, failed.iter().collect::<Vec<_>>());
        }
        let mut failures = Failures::default();
        failures.add_source(&Problem { is_copied: true, ..problem }, &sources);
        assert!(!sources.iter().any(|source| failures.has_source(source)), "it only grew");
    }

    #[test]
    fn failures_are_one_line_with_the_first_ones() {
        let mut failures = Failures::default();
        let of = |files| Report { files, ..Report::default() };
        assert_eq!(failures.words(&of(9), None), None);
        failures.add(&Problem::usage("no file"));
        assert_eq!(failures.words(&of(9), None), None);
        let problem = |path: &str| Problem::new(Class::Denied, Operation::Open, Path::new(path), "denied");
        failures.add(&problem("a"));
        assert_eq!(failures.words(&of(0), None), None, "the one file: its problem says all");
        assert_eq!(
            failures.words(&of(2344), None).as_deref(),
            Some("1 error (2,344 files copied): 'a' (permission denied); see above")
        );
        for (report, done) in [
            (Report { files_unchanged: 2, links_unchanged: 1, ..of(0) }, "0 files copied, 3 unchanged"),
            (Report { links: 1, ..of(0) }, "0 files copied, 1 link made"),
            (Report { hard_links: 2, ..of(1) }, "1 file copied, 2 hard links made"),
            (
                Report { specials: 1, files_before: 1, ..of(0) },
                "0 files copied, 1 special file made, 1 unchanged",
            ),
        ] {
            let words = format!("1 error ({done}): 'a' (permission denied); see above");
            assert_eq!(failures.words(&report, None), Some(words));
        }
        ["b", "c", "d"].iter().for_each(|path| failures.add(&problem(path)));
        let named = ["a", "b", "c"].map(|path| format!("'{path}' (permission denied)")).join(", ");
        let named = format!("{named} and 1 more; see above");
        assert_eq!(failures.words(&of(1), None), Some(format!("4 errors (1 file copied): {named}")));
        let log = Some(Path::new("log"));
        assert_eq!(
            failures.words(&of(1), log),
            Some(format!("4 errors (1 file copied): {named} and in log"))
        );
    }
}
