//! `--report`: the last line of JSON, in a file, whatever else is printed.
//!
//! Must not know: what the line says.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use datapump::Problem;

use crate::output::files::own_file::{self, OwnFile, WrittenFile};

const REPORT: OwnFile = OwnFile {
    flag: "--report",
    kind: "a report",
    beginning: br#"{"v":1,"event":"report","#,
    has_times: false,
};

/// The file.
#[derive(Debug)]
pub struct ReportFile(WrittenFile);

impl ReportFile {
    /// Opens it.
    pub fn open<'other>(
        path: &Path,
        others: impl Iterator<Item = &'other OsStr>,
    ) -> Result<ReportFile, Problem> {
        WrittenFile::open(path, &REPORT, others).map(ReportFile)
    }

    /// Writes the one line.
    pub fn write(&self, line: &str) {
        let line = format!("{line}\n");
        self.0.write(|mut file| own_file::empty(file).and_then(|()| file.write_all(line.as_bytes())));
    }

    /// Why it does not hold the line.
    pub fn failure(&self) -> Option<Problem> {
        self.0.failure()
    }
}
