//! Errors in a file or in what was asked of it, in words that say where.
//!
//! Must not know: what files hold.

use std::fmt;
use std::path::{Path, PathBuf};

/// Something in a file, or asked of it, that cannot be meant so. The one who asked can mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// The file, if it is one.
    pub file: Option<PathBuf>,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The error and what to write instead.
    pub message: String,
}

impl InputError {
    /// About a whole file.
    pub fn of_file(file: &Path, message: impl Into<String>) -> InputError {
        InputError { file: Some(file.into()), line: None, message: message.into() }
    }

    /// About a line of a file.
    pub fn of_line(file: &Path, line: u64, message: impl Into<String>) -> InputError {
        InputError { line: Some(line), ..InputError::of_file(file, message) }
    }

    /// About what was asked.
    pub fn asked(message: impl Into<String>) -> InputError {
        InputError { file: None, line: None, message: message.into() }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(out, "{}, line {line}: {}", file.display(), self.message),
            (Some(file), None) => write!(out, "{}: {}", file.display(), self.message),
            (None, _) => out.write_str(&self.message),
        }
    }
}

impl std::error::Error for InputError {}
