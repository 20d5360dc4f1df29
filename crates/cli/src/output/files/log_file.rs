//! `--log-file`: a line for each file that was copied, removed or failed, behind those of earlier runs.
//!
//! Must not know: what else is printed.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use datapump::{Class, Operation, Problem};
use rustix::fs::{OFlags, fcntl_setfl};

use crate::output::files::own_file::{self, OwnFile};

const WORDS: OwnFile = OwnFile { flag: "--log-file", kind: "a log", beginning: b"pump-log: " };
const EVENTS: OwnFile =
    OwnFile { flag: "--log-file", kind: "a log of JSON", beginning: br#"{"v":1,"event":"start""# };

/// The file, its form, and what came of it.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: File,
    json: bool,
    /// A run that is refused before it begins leaves no line: the first one says what the file is.
    started: AtomicBool,
    failed: Mutex<Option<io::Error>>,
}

impl LogFile {
    /// Opens it, so that what cannot be written is told before anything is copied.
    pub fn open<'other>(
        path: &Path,
        json: bool,
        others: impl Iterator<Item = &'other OsStr>,
    ) -> Result<LogFile, Problem> {
        let file = own_file::open(path, if json { &EVENTS } else { &WORDS }, others)?;
        // Lines of two runs do not overwrite each other.
        let at_end = fcntl_setfl(&file, OFlags::APPEND);
        at_end.map_err(|errno| Problem::new(Class::Io, Operation::Create, path, errno.to_string()))?;
        let (path, started) = (path.to_path_buf(), AtomicBool::new(false));
        Ok(LogFile { path, file, json, started, failed: Mutex::default() })
    }

    /// As the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The first line of a run: from now on there are more.
    pub fn start(&self, words: impl FnOnce() -> String, event: impl FnOnce() -> String) {
        self.started.store(true, Ordering::Relaxed);
        self.write(words, event);
    }

    /// A line: words, or the event of `--json`.
    pub fn write(&self, words: impl FnOnce() -> String, event: impl FnOnce() -> String) {
        if self.started.load(Ordering::Relaxed) {
            self.line(&if self.json { event() } else { words() });
        }
    }

    /// One call for a line, so that two runs that write to one log do not mix theirs.
    fn line(&self, line: &str) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_none() {
            *failed = (&self.file).write_all(format!("{line}\n").as_bytes()).err();
        }
    }

    /// Why it does not hold all lines.
    pub fn failure(&self) -> Option<Problem> {
        let error = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Problem::new(Class::Io, Operation::Write, &self.path, error.to_string()))
    }
}
