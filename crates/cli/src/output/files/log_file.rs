//! `--log-file`: a line for each thing that was done or failed, with its time, behind those of earlier runs.
//!
//! Must not know: what else is printed.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump::Problem;
use rustix::fs::{OFlags, fcntl_setfl};

use crate::output::files::own_file::{OwnFile, WrittenFile};
use crate::output::json;
use crate::output::printer::OutputStream;

const WORDS: OwnFile =
    OwnFile { flag: "--log-file", kind: "a log", beginning: b"pump-log: ", has_times: true };
const EVENTS: OwnFile = OwnFile {
    flag: "--log-file",
    kind: "a log of JSON",
    beginning: br#"{"v":1,"event":"start""#,
    has_times: false,
};

/// The file, and its form.
#[derive(Debug)]
pub struct LogFile {
    written: Arc<WrittenFile>,
    json: bool,
    /// A run that is refused before it begins leaves no line: the first one says what the file is.
    started: AtomicBool,
}

impl LogFile {
    /// Opens it.
    pub fn open<'other>(
        path: &Path,
        json: bool,
        others: impl Iterator<Item = &'other OsStr>,
    ) -> Result<LogFile, Problem> {
        let written = WrittenFile::open(path, if json { &EVENTS } else { &WORDS }, others)?;
        // Lines of two runs do not overwrite each other.
        written.write(|file| Ok(fcntl_setfl(file, OFlags::APPEND)?));
        let written = Arc::new(written);
        Ok(LogFile { written, json, started: AtomicBool::new(false) })
    }

    /// As the user named it.
    pub fn path(&self) -> &Path {
        &self.written.path
    }

    /// From now on there are lines: the first one says what the file is.
    pub fn start(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    /// A line, and where it goes: words, or the event of `--json`.
    pub fn line(
        &self,
        words: impl FnOnce() -> String,
        event: impl FnOnce() -> String,
    ) -> Option<(OutputStream, Vec<u8>)> {
        if !self.started.load(Ordering::Relaxed) {
            return None;
        }
        let line = if self.json { json::with_time(&event()) } else { format!("{} {}", json::now(), words()) };
        Some((OutputStream::Log(Arc::clone(&self.written)), format!("{line}\n").into()))
    }

    /// Why it does not hold all lines.
    pub fn failure(&self) -> Option<Problem> {
        self.written.failure()
    }
}
