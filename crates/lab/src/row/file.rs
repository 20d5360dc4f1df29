//! A file of rows: opened, mended at its end, appended to, read.
//!
//! Must not know: what rows say.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Row;
use super::read::{self, RowsEnd};
use crate::rig::files::refuse_pipe;
use crate::session::notice::tell;

/// A file of rows that are appended.
#[derive(Debug)]
pub struct RowFile {
    file: File,
    path: PathBuf,
}

impl RowFile {
    /// Opens or makes the file and gives the rows that are there. A last line without its end (the program was killed
    /// while it wrote) is cut off, or ended if it is a whole row. Bytes in no row are told.
    ///
    /// Errors: what the system says, or the first line that is no row; then nothing is changed.
    pub fn open(path: &Path) -> anyhow::Result<(RowFile, Vec<Row>)> {
        refuse_pipe(path)?;
        let open = || -> std::io::Result<(File, Vec<u8>)> {
            let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
            let mut bytes = Vec::new();
            // A device has no rows, and /dev/full gives zeros without end.
            if file.metadata()?.is_file() {
                file.read_to_end(&mut bytes)?;
            }
            Ok((file, bytes))
        };
        let (mut file, bytes) = open().with_context(|| format!("open {}", path.display()))?;
        let found = read::rows(path, &bytes)?;
        found.losses(path).iter().for_each(|loss| tell(loss));
        let mended = match found.end {
            RowsEnd::OfLine => Ok(()),
            RowsEnd::OfRow => file.write_all(b"\n"),
            RowsEnd::Torn(at) => file.set_len(at as u64),
        };
        mended.with_context(|| format!("mend the end of {}", path.display()))?;
        Ok((RowFile { file, path: path.into() }, found.rows))
    }

    /// Appends a row; *written* when it returns, in one piece.
    pub fn append(&mut self, row: &Row) -> anyhow::Result<()> {
        let mut line = serde_json::to_string(row)?;
        line.push('\n');
        self.file.write_all(line.as_bytes()).with_context(|| format!("append to {}", self.path.display()))
    }
}

/// Reads a file of rows: all whole ones. Bytes in no row are told on standard error.
///
/// Errors: a file that cannot be read, a line that is no row of its version.
pub fn read_rows(path: &Path) -> anyhow::Result<Vec<Row>> {
    rows_of(path, &std::fs::read(path).with_context(|| format!("read {}", path.display()))?)
}

/// The rows of what was read of a file, as [`read_rows`] does; a pipe can be read only once.
pub(crate) fn rows_of(path: &Path, bytes: &[u8]) -> anyhow::Result<Vec<Row>> {
    let found = read::rows(path, bytes)?;
    found.losses(path).iter().for_each(|loss| tell(loss));
    Ok(found.rows)
}

/// The whole rows of a file, the number of its torn lines, and what was lost, in words.
///
/// Errors: as [`read_rows`].
pub(crate) fn with_losses(path: &Path, bytes: &[u8]) -> anyhow::Result<(Vec<Row>, usize, Vec<String>)> {
    let found = read::rows(path, bytes)?;
    let losses = found.losses(path);
    Ok((found.rows, found.torn.len(), losses))
}
