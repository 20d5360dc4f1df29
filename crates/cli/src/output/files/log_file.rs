//! `--log-file`: a line for each thing that was done or failed, with its time, behind those of earlier runs.
//!
//! Must not know: what else is printed.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump::Problem;
use rustix::fs::{OFlags, fcntl_setfl};

use crate::output::files::own_file::{OwnFile, WrittenFile};
use crate::output::json;

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
    written: WrittenFile,
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
        Ok(LogFile { written, json, started: AtomicBool::new(false) })
    }

    /// As the user named it.
    pub fn path(&self) -> &Path {
        &self.written.path
    }

    /// The first line of a run: from now on there are more.
    pub fn start(&self, words: impl FnOnce() -> String, event: impl FnOnce() -> String) {
        self.started.store(true, Ordering::Relaxed);
        self.write(words, event);
    }

    /// A line: words, or the event of `--json`. One call for each, so that two runs do not mix theirs.
    pub fn write(&self, words: impl FnOnce() -> String, event: impl FnOnce() -> String) {
        if self.started.load(Ordering::Relaxed) {
            let line = match self.json {
                true => json::with_time(&event()),
                false => format!("{} {}", json::now(), words()),
            };
            let line = format!("{line}\n");
            self.written.write(|mut file| file.write_all(line.as_bytes()));
        }
    }

    /// Why it does not hold all lines.
    pub fn failure(&self) -> Option<Problem> {
        self.written.failure()
    }
}
