//! The folder of the files: what stands in it, which generation, how much room there is; takes the files out of the
//! page cache.
//!
//! Must not know: how files are written and judged.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use datapump::units::bytes_words;
use datapump::{Class, Operation, Problem};
use rustix::fs::Advice;

use super::layout::{ScrubLayout, file_name};
use super::sector::{SECTOR_BYTES, SectorForm, has_form, is_zero};

/// A new file system has this one.
const LOST_AND_FOUND: &str = "lost+found";
/// So temporary files of this program begin.
const TEMPORARY: &[u8] = b".pump-";

/// So many sectors of each file tell its generation: one that is seen in none of them is found when all are read.
const SAMPLES: u64 = 64;

/// The bytes of a `stat` block.
const STAT_BLOCK_BYTES: u64 = 512;

/// The folder.
#[derive(Clone, Debug)]
pub struct ScrubFolder {
    path: PathBuf,
    layout: ScrubLayout,
}

/// What the first look at the files says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstLook {
    /// Files that are there.
    pub files: u32,
    /// The newest generation that was seen; 0 if there is none.
    pub newest: u64,
}

impl ScrubFolder {
    /// The folder at this path, if it is one.
    pub fn open(path: &Path, layout: ScrubLayout) -> Result<ScrubFolder, Problem> {
        let metadata = fs::metadata(path).map_err(|error| failed(Operation::Open, path, &error))?;
        if !metadata.is_dir() {
            return Err(Problem::new(
                Class::Usage,
                Operation::Open,
                path,
                "is not a directory; name one for the files",
            ));
        }
        Ok(ScrubFolder { path: path.to_path_buf(), layout })
    }

    /// The path of a file.
    pub fn file(&self, file: u32) -> PathBuf {
        self.path.join(file_name(file))
    }

    /// The length of a file; nothing if it is not there.
    pub fn length(&self, file: u32) -> Result<Option<u64>, Problem> {
        let path = self.file(file);
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_file() => Ok(Some(meta.len())),
            Ok(_) => {
                let words = "is no regular file; remove it, or give a folder of its own";
                Err(Problem::new(Class::Usage, Operation::Open, &path, words))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(Operation::Stat, &path, &error)),
        }
    }

    /// Looks at samples of each file. What cannot be read is found when all of it is.
    pub fn look(&self, form: &SectorForm) -> Result<FirstLook, Problem> {
        let mut look = FirstLook::default();
        for file in self.layout.files() {
            let Some(length) = self.length(file)? else { continue };
            let samples = self.samples(file, length).unwrap_or_default();
            let generations =
                samples.iter().filter_map(|sector| form.name(sector)).map(|name| name.generation);
            look.files += 1;
            look.newest = look.newest.max(generations.max().unwrap_or(0));
        }
        Ok(look)
    }

    fn samples(&self, file: u32, length: u64) -> Result<Vec<[u8; SECTOR_BYTES]>, Problem> {
        let path = self.file(file);
        let opened = File::open(&path).map_err(|error| failed(Operation::Open, &path, &error))?;
        let sectors = length / SECTOR_BYTES as u64;
        let step = sectors.div_ceil(SAMPLES).max(1) as usize;
        let read = |sector: u64| {
            let mut bytes = [0; SECTOR_BYTES];
            opened.read_exact_at(&mut bytes, sector * SECTOR_BYTES as u64).ok().map(|()| bytes)
        };
        Ok((0..sectors).step_by(step).filter_map(read).collect())
    }

    /// Names in the folder that are none of a scrub's, nor what a new file system or a copy that was killed has.
    pub fn others(&self) -> Result<Vec<PathBuf>, Problem> {
        let list = |error| failed(Operation::List, &self.path, &error);
        let ours: Vec<OsString> = self.layout.files().map(|file| file_name(file).into()).collect();
        let mut others = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(list)? {
            let name = entry.map_err(list)?.file_name();
            let is_expected = name == LOST_AND_FOUND || name.as_encoded_bytes().starts_with(TEMPORARY);
            if !ours.contains(&name) && !is_expected {
                others.push(self.path.join(name));
            }
        }
        others.sort();
        Ok(others)
    }

    /// Refuses to write where something else stands that would be in the way, or be lost.
    pub fn refuse_others(&self) -> Result<(), Problem> {
        if let Some(other) = self.others()?.first() {
            let words =
                "stands in the folder and is not of a scrub; give an empty folder. Nothing was written";
            return Err(Problem::new(Class::Usage, Operation::Scrub, other, words));
        }
        self.layout.files().try_for_each(|file| self.refuse_other_content(file))
    }

    /// A file of our name is ours if any sample says so, or if there is nothing in it.
    fn refuse_other_content(&self, file: u32) -> Result<(), Problem> {
        let Some(length) = self.length(file)? else { return Ok(()) };
        let samples = self.samples(file, length)?;
        let is_empty = length == 0 || (!samples.is_empty() && samples.iter().all(|sector| is_zero(sector)));
        if is_empty || samples.iter().any(has_form) {
            return Ok(());
        }
        let words = "was not written by a scrub; remove it, or give another folder. Nothing was written";
        Err(Problem::new(Class::Usage, Operation::Scrub, &self.file(file), words))
    }

    /// Refuses what does not fit, beside what the files take already.
    pub fn check_room(&self) -> Result<(), Problem> {
        let state = rustix::fs::statvfs(&self.path)
            .map_err(|error| failed(Operation::Stat, &self.path, &error.into()))?;
        let free = state.f_bavail.saturating_mul(state.f_frsize);
        let taken = |file| {
            fs::metadata(self.file(file)).map_or(0, |meta| meta.blocks().saturating_mul(STAT_BLOCK_BYTES))
        };
        let taken: u64 = self.layout.files().map(taken).sum();
        let needed = self.layout.bytes().saturating_sub(taken);
        if needed <= free {
            return Ok(());
        }
        let (needed, free) = (bytes_words(needed), bytes_words(free));
        let words = format!("{needed} are needed and {free} are free; make room, or give a smaller --size");
        Err(Problem::new(Class::NoSpace, Operation::Reserve, &self.path, words))
    }

    /// Writes out what is not on the disk yet, and takes the file out of the page cache as far as it goes. Gives the
    /// bytes that stay in it, if the system tells: pages that others have mapped or locked do not go, and no memory
    /// file system lets any go.
    pub fn cool(&self, file: u32, length: u64) -> Result<Option<u64>, Problem> {
        let path = self.file(file);
        let opened = File::open(&path).map_err(|error| failed(Operation::Open, &path, &error))?;
        opened.sync_all().map_err(|error| failed(Operation::Sync, &path, &error))?;
        // Advice that is not taken shows in what stays.
        let _ = rustix::fs::fadvise(&opened, 0, None, Advice::DontNeed);
        let stays = datapump_engine::os::linux::cached_fraction(&opened, length).filter(|_| length > 0);
        Ok(stays.map(|fraction| (fraction * length as f64) as u64))
    }
}

fn failed(operation: Operation, path: &Path, error: &std::io::Error) -> Problem {
    match error.raw_os_error() {
        Some(errno) => Problem::system(operation, path, errno),
        None => Problem::new(Class::Io, operation, path, error.to_string()),
    }
}
