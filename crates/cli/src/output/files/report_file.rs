//! `--report`: the last line of JSON, in a file, whatever else is printed.
//!
//! Must not know: what the line says.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use datapump::Problem;

use crate::output::files::own_file::{OwnFile, WrittenFile};
use crate::output::printer::OutputStream;

const REPORT: OwnFile = OwnFile {
    flag: "--report",
    kind: "a report",
    beginning: br#"{"v":1,"event":"report","#,
    has_times: false,
};

/// The file.
#[derive(Debug)]
pub struct ReportFile(Arc<WrittenFile>);

impl ReportFile {
    /// Opens it.
    pub fn open<'other>(
        path: &Path,
        others: impl Iterator<Item = &'other OsStr>,
    ) -> Result<ReportFile, Problem> {
        WrittenFile::open(path, &REPORT, others).map(|file| ReportFile(Arc::new(file)))
    }

    /// The one line, and where it goes.
    pub fn line(&self, line: &str) -> (OutputStream, Vec<u8>) {
        (OutputStream::Whole(Arc::clone(&self.0)), format!("{line}\n").into())
    }

    /// Why it does not hold the line.
    pub fn failure(&self) -> Option<Problem> {
        self.0.failure()
    }
}
