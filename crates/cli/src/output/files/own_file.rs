//! Files that a flag names beside what is copied: written over is only what an earlier run left there.
//!
//! Must not know: what is written.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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

/// Opens one to be written from its start. What it holds stays until then.
///
/// Errors: it is one of `others`, or holds something else (usage), or what the system says.
pub fn open<'other>(
    path: &Path,
    meant: &OwnFile,
    mut others: impl Iterator<Item = &'other OsStr>,
) -> Result<File, Problem> {
    if others.any(|other| is_same(path, Path::new(other))) {
        return Err(is_another(path, meant));
    }
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
    file.rewind().map_err(problem)?;
    Ok(file)
}

/// Removes what an earlier run left. A pipe, or a device, has nothing.
pub fn empty(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { file.set_len(0) } else { Ok(()) }
}

/// Whether both names lead to one file, or would once it is made.
fn is_same(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    match (file(one), file(other)) {
        (None, None) => place_of(one).is_some_and(|place| Some(place) == place_of(other)),
        (one, other) => one == other,
    }
}

/// The real folder, and the name in it.
fn place_of(path: &Path) -> Option<(PathBuf, &OsStr)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some((folder.canonicalize().ok()?, path.file_name()?))
}

fn is_another(path: &Path, OwnFile { flag, kind, .. }: &OwnFile) -> Problem {
    let path = shown(path.as_os_str().as_encoded_bytes());
    Problem::usage(format!(
        "{flag} '{path}': {kind} cannot be what is copied, its copy or that of another flag; name a file beside them"
    ))
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
