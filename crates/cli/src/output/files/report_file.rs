//! `--report`: the last line of JSON, in a file, whatever else is printed.
//!
//! Must not know: what the line says.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use datapump::{Class, Operation, Problem};

use crate::output::files::own_file::{self, OwnFile};

const REPORT: OwnFile =
    OwnFile { flag: "--report", kind: "a report", beginning: br#"{"v":1,"event":"report","# };

/// The file, and what came of it.
#[derive(Debug)]
pub struct ReportFile {
    path: PathBuf,
    file: File,
    failed: Mutex<Option<io::Error>>,
}

impl ReportFile {
    /// Opens it, so that what cannot be written is told before anything is copied.
    pub fn open<'other>(
        path: &Path,
        others: impl Iterator<Item = &'other OsStr>,
    ) -> Result<ReportFile, Problem> {
        let file = own_file::open(path, &REPORT, others)?;
        Ok(ReportFile { path: path.to_path_buf(), file, failed: Mutex::default() })
    }

    /// Writes the one line.
    pub fn write(&self, line: &str) {
        let line = format!("{line}\n");
        let written = own_file::empty(&self.file).and_then(|()| (&self.file).write_all(line.as_bytes()));
        let written = written.and_then(|()| self.is_there());
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = written.err();
    }

    /// Errors: the copy removed it, or put another file in its place.
    fn is_there(&self) -> io::Result<()> {
        let (own, named) = (self.file.metadata()?, std::fs::metadata(&self.path));
        match named {
            Ok(named) if (named.dev(), named.ino()) == (own.dev(), own.ino()) => Ok(()),
            _ => Err(io::Error::other("the copy removed or replaced it; name a file outside its target")),
        }
    }

    /// Why it does not hold the line.
    pub fn failure(&self) -> Option<Problem> {
        let error = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Problem::new(Class::Io, Operation::Write, &self.path, error.to_string()))
    }
}
