//! Files that a flag names beside what is copied: written over is only what an earlier run left there.
//!
//! Must not know: what is written.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use datapump::{Class, Operation, Problem, foreign_link_on, shown};

/// A kind of such files.
#[derive(Clone, Copy, Debug)]
pub struct OwnFile {
    /// Names the file.
    pub flag: &'static str,
    /// In words, with its article.
    pub kind: &'static str,
    /// Every one begins like this.
    pub beginning: &'static [u8],
    /// Before that there may be a time: earlier versions wrote none.
    pub has_times: bool,
}

/// `2026-11-27T19:07:24.123Z `.
const TIME_BYTES: usize = 25;

impl OwnFile {
    /// Whether a file that begins with these bytes is one.
    fn is_one(&self, begins: &[u8]) -> bool {
        let is_time = |time: &[u8]| time[10] == b'T' && time.ends_with(b"Z ");
        let behind = begins.split_at_checked(TIME_BYTES).filter(|(time, _)| self.has_times && is_time(time));
        begins.starts_with(self.beginning) || behind.is_some_and(|(_, rest)| rest.starts_with(self.beginning))
    }
}

/// Opens one to be written from its start. What it holds stays until then.
///
/// Errors: it is one of `others`, is named through the link of another user, or holds something else (usage), or what
/// the system says.
pub fn open<'other>(
    path: &Path,
    meant: &OwnFile,
    mut others: impl Iterator<Item = &'other OsStr>,
) -> Result<File, Problem> {
    if others.any(|other| is_same(path, Path::new(other))) {
        return Err(is_another(path, meant));
    }
    refuse_foreign_link(path, meant)?;
    let problem = |error: io::Error| Problem::new(Class::Io, Operation::Create, path, error.to_string());
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            existing(path).map_err(|error| match error.kind() {
                ErrorKind::NotFound => leads_nowhere(path, meant),
                _ => problem(error),
            })?
        }
        made => return made.map_err(problem),
    };
    // One may have been put there meanwhile.
    refuse_foreign_link(path, meant)?;
    let kind = file.metadata().map_err(problem)?.file_type();
    if kind.is_block_device() {
        return Err(holds_another(path, meant));
    }
    if !kind.is_file() {
        return Ok(file);
    }
    let mut begins = Vec::new();
    let looked_at = (meant.beginning.len() + TIME_BYTES) as u64;
    (&mut file).take(looked_at).read_to_end(&mut begins).map_err(problem)?;
    if !begins.is_empty() && !meant.is_one(&begins) {
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

/// The user of such a link could have anything written to, and root may write to everything.
fn refuse_foreign_link(path: &Path, OwnFile { flag, .. }: &OwnFile) -> Result<(), Problem> {
    let Some((link, uid)) = foreign_link_on(path) else { return Ok(()) };
    let [path, link] = [path, link.as_path()].map(|path| shown(path.as_os_str().as_encoded_bytes()));
    Err(Problem::usage(format!(
        "{flag} '{path}': it goes through '{link}', a symbolic link of another user (uid {uid}), who could lead it \
         elsewhere; name the file that it leads to, or another one"
    )))
}

/// The file that it would make may be one of the copy.
fn leads_nowhere(path: &Path, OwnFile { flag, .. }: &OwnFile) -> Problem {
    let path = shown(path.as_os_str().as_encoded_bytes());
    Problem::usage(format!(
        "{flag} '{path}': it is a symbolic link to a file that is not there; make an empty one, or name another file"
    ))
}

/// A path that is no file, as a pipe, is written only; a disk is nothing that a report is written to.
fn existing(path: &Path) -> io::Result<File> {
    let is_file = std::fs::metadata(path)?.is_file();
    OpenOptions::new().read(is_file).write(true).open(path)
}

/// One of them that is written: its path, and what came of it.
#[derive(Debug)]
pub struct WrittenFile {
    /// As the user named it.
    pub path: PathBuf,
    file: File,
    failed: Mutex<Option<io::Error>>,
}

impl WrittenFile {
    /// Opens it, so that what cannot be written is told before anything is copied.
    pub fn open<'other>(
        path: &Path,
        meant: &OwnFile,
        others: impl Iterator<Item = &'other OsStr>,
    ) -> Result<WrittenFile, Problem> {
        let file = open(path, meant, others)?;
        Ok(WrittenFile { path: path.to_path_buf(), file, failed: Mutex::default() })
    }

    #[cfg(test)]
    pub fn from_file(file: File) -> WrittenFile {
        WrittenFile { path: PathBuf::new(), file, failed: Mutex::default() }
    }

    /// Writes, unless something failed before.
    pub fn write(&self, write: impl FnOnce(&File) -> io::Result<()>) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_none() {
            *failed = write(&self.file).err();
        }
    }

    /// Errors: the copy removed it, or put another file in its place.
    fn is_there(&self) -> io::Result<()> {
        let (own, named) = (self.file.metadata()?, std::fs::metadata(&self.path));
        match named {
            Ok(named) if (named.dev(), named.ino()) == (own.dev(), own.ino()) => Ok(()),
            _ => Err(io::Error::other("the copy removed or replaced it; name a file outside its target")),
        }
    }

    /// Why it does not hold all that was written.
    pub fn failure(&self) -> Option<Problem> {
        self.write(|_| self.is_there());
        let error = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Problem::new(Class::Io, Operation::Write, &self.path, error.to_string()))
    }
}
