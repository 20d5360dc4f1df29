//! Problems: for the person who reads them and for the script that counts them.
//!
//! An error number becomes a class and the system's own words by the standard library, which knows the numbers of each
//! system. Must not know: where problems are printed.

use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

mod lost;
mod operation;

pub use lost::{AttributeKind, LostAttribute};
pub use operation::Operation;

/// The exit statuses of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Status {
    /// All done.
    Done = 0,
    /// Failed as a whole.
    Failed = 1,
    /// Asked wrongly.
    Usage = 2,
    /// Refused by the other side.
    Refused = 5,
    /// Connection lost; can be resumed.
    Lost = 10,
    /// Interrupted; can be resumed.
    Interrupted = 20,
    /// Some of several files failed.
    Partial = 23,
    /// A source vanished or changed.
    Changed = 24,
    /// Content did not match.
    Mismatch = 26,
}

/// The closed list of classes of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It is not there.
    Missing,
    /// It changed while it was copied.
    Changed,
    /// Not permitted.
    Denied,
    /// No room, or a quota reached.
    NoSpace,
    /// The system reported an error.
    Io,
    /// The other side, or a lock, refuses.
    Refused,
    /// Connection lost.
    Lost,
    /// Content differs.
    Mismatch,
    /// Asked wrongly.
    Usage,
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 9] = [
        Status::Done,
        Status::Failed,
        Status::Usage,
        Status::Refused,
        Status::Lost,
        Status::Interrupted,
        Status::Partial,
        Status::Changed,
        Status::Mismatch,
    ];
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 9] = [
        Class::Missing,
        Class::Changed,
        Class::Denied,
        Class::NoSpace,
        Class::Io,
        Class::Refused,
        Class::Lost,
        Class::Mismatch,
        Class::Usage,
    ];

    /// The class of this name in `--json`.
    pub fn named(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|known| known.name() == name)
    }

    /// The status of a command that ends with it.
    pub fn status(self) -> Status {
        match self {
            Class::Usage => Status::Usage,
            Class::Refused => Status::Refused,
            Class::Lost => Status::Lost,
            _ => Status::Failed,
        }
    }

    /// The name in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            Class::Missing => "missing",
            Class::Changed => "changed",
            Class::Denied => "denied",
            Class::NoSpace => "no_space",
            Class::Io => "io",
            Class::Refused => "refused",
            Class::Lost => "lost",
            Class::Mismatch => "mismatch",
            Class::Usage => "usage",
        }
    }

    /// In words for people.
    pub fn words(self) -> &'static str {
        match self {
            Class::Missing => "not found",
            Class::Changed => "changed",
            Class::Denied => "permission denied",
            Class::NoSpace => "no space left",
            Class::Io => "failed",
            Class::Refused => "refused",
            Class::Lost => "connection lost",
            Class::Mismatch => "content differs",
            Class::Usage => "usage error",
        }
    }
}

/// One thing that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its class.
    pub class: Class,
    /// The file, if one is concerned, as the user named it.
    pub path: Option<PathBuf>,
    /// The other host that the file lies on, as the user named it.
    pub host: Option<String>,
    /// What was being done: `open`, `read`, `write`, `sync`, `rename`, …
    pub operation: Operation,
    /// Offset in bytes, where it matters.
    pub offset: Option<u64>,
    /// What the system said and what to do next, without path and offset.
    pub message: String,
    /// The system's error number that it comes from, if it does: errno(3) of the host that it happened on.
    pub cause: Option<i32>,
    /// It cost an attribute, or a name without content, alone: all content is there.
    pub lost: Option<LostAttribute>,
    /// What the file held when it was opened is copied: it only grew.
    pub is_copied: bool,
}

/// No such file or directory: the same number on all systems.
const ENOENT: i32 = 2;

impl Problem {
    /// A problem with a file, without an offset. An empty path is the folder that a relative one begins in.
    pub fn new(class: Class, operation: Operation, path: &Path, message: impl Into<String>) -> Problem {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Problem { path: Some(path.to_path_buf()), ..Problem::of(class, operation, message) }
    }

    /// A problem with no file.
    pub fn of(class: Class, operation: Operation, message: impl Into<String>) -> Problem {
        let (path, host, offset, cause, lost) = (None, None, None, None, None);
        let (message, is_copied) = (message.into(), false);
        Problem { class, path, host, operation, offset, message, cause, lost, is_copied }
    }

    /// A problem with what was asked.
    pub fn usage(message: impl Into<String>) -> Problem {
        Problem::of(Class::Usage, Operation::Arguments, message)
    }

    /// A problem that the system reported.
    pub fn system(operation: Operation, path: &Path, errno: i32) -> Problem {
        let cause = Some(errno);
        let advice = advice(errno).map(|advice| format!("; {advice}")).unwrap_or_default();
        let words = system_words(errno) + &advice;
        Problem { cause, ..Problem::new(class_of(errno), operation, path, words) }
    }

    /// The same of the folder that a target is to lie in.
    pub fn of_folder_above(mut self) -> Problem {
        if self.class == Class::Missing {
            self.message.push_str("; create the folder, or add --mkpath");
        }
        self
    }

    /// The same of a name that was listed: what is gone, or is no folder any more, changed while it was walked.
    pub fn vanished(mut self) -> Problem {
        if self.class == Class::Missing {
            self.class = Class::Changed;
            // Another host may tell the class alone.
            self.cause.get_or_insert(ENOENT);
            self.message = format!("it vanished while the tree was copied: {}", self.message);
        }
        self
    }

    /// Whether its error number alone leaves open if the file or what it lies on is gone: a second look at the name says.
    pub fn may_be_gone(&self) -> bool {
        self.class == Class::Io && self.cause.is_some_and(|cause| advice(cause).is_some())
    }

    /// That look found no such name.
    pub fn gone_by_now(self) -> Problem {
        Problem { class: Class::Missing, cause: Some(ENOENT), ..self }.vanished()
    }

    /// That look found another file under the name.
    pub fn replaced_by_now(self) -> Problem {
        let message = format!("it was replaced while the tree was copied: {}", self.message);
        Problem { class: Class::Changed, message, ..self }
    }

    /// Whether that is all: a name that was listed is gone.
    pub fn is_vanished(&self) -> bool {
        self.class == Class::Changed && self.cause.is_some_and(|cause| class_of(cause) == Class::Missing)
    }

    /// The same on another host.
    pub fn on(self, host: &str) -> Problem {
        Problem { host: Some(host.to_owned()), ..self }
    }

    /// The same with an offset.
    pub fn at(mut self, offset: u64) -> Problem {
        self.offset = Some(offset);
        self
    }
}

/// The class of an error number (errno(3)).
pub fn class_of(errno: i32) -> Class {
    use std::io::ErrorKind;
    match std::io::Error::from_raw_os_error(errno).kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Class::Missing,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Class::Denied,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Class::NoSpace,
        _ => Class::Io,
    }
}

/// What to do where a handle or a device is gone, which says nothing of the files on it.
fn advice(errno: i32) -> Option<&'static str> {
    use std::io::ErrorKind;
    /// No such device: the same numbers on Linux and the BSDs, without a kind of their own.
    const ENXIO: i32 = 6;
    const ENODEV: i32 = 19;
    match errno {
        ENXIO | ENODEV => Some("the device, or the server behind the mount, is gone or does not answer"),
        _ if std::io::Error::from_raw_os_error(errno).kind() == ErrorKind::StaleNetworkFileHandle => {
            Some("its server, or the mount, no longer knows the open file; run the same command again")
        }
        _ => None,
    }
}

/// A quota is used up: that of a user, a group or a project, and others may have room.
pub fn is_quota(errno: i32) -> bool {
    std::io::Error::from_raw_os_error(errno).kind() == std::io::ErrorKind::QuotaExceeded
}

/// What the system says of an error number: `No space left on device (os error 28)`.
pub fn system_words(errno: i32) -> String {
    std::io::Error::from_raw_os_error(errno).to_string()
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(path) = &self.path else { return out.write_str(&self.message) };
        write!(out, "{} '{}'", self.operation, shown_path(path))?;
        if let Some(host) = &self.host {
            write!(out, " on {}", shown(host.as_bytes()))?;
        }
        if let Some(at) = self.offset {
            write!(out, " at byte {at}")?;
        }
        write!(out, ": {}", self.message)
    }
}

/// `host:file: words`. A place that ends with a colon of its own (`host:`) gets no second one.
pub fn words_about(place: &str, words: &str) -> String {
    let colon = if place.ends_with(':') { "" } else { ":" };
    format!("{place}{colon} {words}")
}

/// A name for a terminal: control characters and bytes that are not UTF-8 are escaped, so that a hostile name can
/// neither move the cursor nor hide what stands before it.
pub fn shown(name: &[u8]) -> String {
    let mut out = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                _ if letter.is_control() || is_invisible(letter) => out.extend(letter.escape_default()),
                _ => out.push(letter),
            }
        }
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
    }
    out
}

/// A word of a command that can be typed: in quotes where a shell would part or change it.
pub fn shell_word(word: &[u8]) -> String {
    let is_plain = |letter: &u8| letter.is_ascii_alphanumeric() || b"-_./@:=%+,".contains(letter);
    if !word.is_empty() && word.iter().all(is_plain) {
        shown(word)
    } else {
        format!("'{}'", shown(word).replace('\'', "'\\''"))
    }
}

/// The same as `shown`, of a path.
pub fn shown_path(path: &Path) -> String {
    shown(path.as_os_str().as_encoded_bytes())
}

/// Letters that reorder or hide text: bidirectional controls and line separators (Unicode Standard Annex 9).
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_escaped() {
        for (name, text) in [
            (&b"plain name"[..], "plain name"),
            ("größe".as_bytes(), "größe"),
            (b"new\nline", "new\\nline"),
            (b"esc\x1b[2J", "esc\\u{1b}[2J"),
            (b"bad\xff\xfe", "bad\\xff\\xfe"),
            ("rtl\u{202e}txt".as_bytes(), "rtl\\u{202e}txt"),
        ] {
            assert_eq!(shown(name), text);
        }
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (word, text) in
            [("a/b-1.bin", "a/b-1.bin"), ("", "''"), ("my file", "'my file'"), ("it's", r"'it'\''s'")]
        {
            assert_eq!(shell_word(word.as_bytes()), text);
        }
    }

    #[test]
    fn no_two_colons_stand_behind_a_place() {
        assert_eq!(words_about("host:", "gone"), "host: gone");
        assert_eq!(words_about("host:a", "gone"), "host:a: gone");
    }

    #[test]
    fn a_problem_names_operation_path_offset_and_cause() {
        let problem = Problem::system(Operation::Write, Path::new("out.bin"), 28).at(4096);
        assert_eq!(
            problem.to_string(),
            "write 'out.bin' at byte 4096: No space left on device (os error 28)"
        );
        assert_eq!(problem.class, Class::NoSpace);
        assert!(!problem.clone().vanished().is_vanished(), "it is there");
        assert_eq!(problem.vanished().cause, Some(28), "whatever else is said of it");
        let gone = Problem::system(Operation::Open, Path::new("gone"), 2);
        assert_eq!([gone.is_vanished(), gone.vanished().is_vanished()], [false, true]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_stale_handle_is_no_change_until_a_look_says_so() {
        for errno in [6, 19, 116] {
            let problem = Problem::system(Operation::Read, Path::new("m/a"), errno);
            assert!(problem.may_be_gone() && !problem.is_vanished(), "{problem}");
            assert_eq!(problem.clone().vanished(), problem, "no name was looked at");
            assert!(problem.clone().gone_by_now().is_vanished());
            let replaced = problem.clone().replaced_by_now();
            assert!(replaced.class == Class::Changed && !replaced.is_vanished(), "{replaced}");
            assert!(problem.message.contains("; "), "{problem}");
        }
        assert!(!Problem::system(Operation::Read, Path::new("m/a"), 5).may_be_gone());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn error_numbers_have_their_class() {
        for (errnos, class) in [
            (&[2, 20][..], Class::Missing),
            (&[13, 1, 30], Class::Denied),
            (&[28, 122, 27], Class::NoSpace),
            (&[5, 22, 0, 6, 19, 116], Class::Io),
        ] {
            errnos.iter().for_each(|&errno| assert_eq!(class_of(errno), class, "{errno}"));
        }
    }
}
