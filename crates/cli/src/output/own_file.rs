//! Files that a flag names beside what is copied: written over is only what an earlier run left there.
//!
//! Must not know: what is written.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use datapump::{Class, Operation, Problem, shown};

/// A kind of such files.
#[derive(Clone, Copy, Debug)]
pub struct OwnFile {
    /// Names the file.
    pub flag: &'static str,
    /// In words, with its article.
    pub kind: &'static str,
    /// Every one begins like this.
    pub beginning: &'static [u8],
}

/// Opens one to be written, and empties it.
///
/// Errors: it holds something else (usage), or what the system says.
pub fn open(path: &Path, meant: &OwnFile) -> Result<File, Problem> {
    let problem = |error: io::Error| Problem::new(Class::Io, Operation::Create, path, error.to_string());
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => existing(path).map_err(problem)?,
        made => return made.map_err(problem),
    };
    if !file.metadata().map_err(problem)?.is_file() {
        return Ok(file);
    }
    let mut begins = Vec::new();
    (&mut file).take(meant.beginning.len() as u64).read_to_end(&mut begins).map_err(problem)?;
    if !begins.is_empty() && begins != meant.beginning {
        return Err(holds_another(path, meant));
    }
    file.set_len(0).map_err(problem)?;
    OpenOptions::new().write(true).open(path).map_err(problem)
}

fn holds_another(path: &Path, OwnFile { flag, kind, .. }: &OwnFile) -> Problem {
    let path = shown(path.as_os_str().as_encoded_bytes());
    Problem::usage(format!("{flag} '{path}': it holds something else than {kind}; name a new file"))
}

/// What is no file, as a pipe, is written only.
fn existing(path: &Path) -> io::Result<File> {
    let is_file = std::fs::metadata(path)?.is_file();
    OpenOptions::new().read(is_file).write(true).open(path)
}
