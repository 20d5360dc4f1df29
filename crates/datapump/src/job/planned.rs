//! What a job would do with files, told without doing it.
//!
//! Must not know: how it is done.

use super::Job;
use crate::open::copy_method::{Facts, decide};
use crate::problem::Problem;
use crate::target::place::{Fill, Place};
use crate::target::{Item, Target, change, refuse_no_folder};
use crate::tree::names::make_way;
use datapump_files::disk::FileKind;

/// One line of what a job would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Where the bytes come from.
    pub source: Place,
    /// Where they go.
    pub target: Place,
    /// How many, if that is known.
    pub bytes: Option<u64>,
    /// Name of what is made and has no bytes: `symlink`, `device`, `pipe`.
    pub made: Option<&'static str>,
    /// Which way, and why; of what has no bytes the same as `made`.
    pub how: String,
}

impl Job {
    /// What [`Job::run`] would do with files, in order, without doing it. (With folders, a run with
    /// [`crate::Options::dry_run`] tells its changes as it finds them.)
    ///
    /// Beside it stand the problems of single sources where there are several: the others would be copied.
    ///
    /// Errors: what would be refused before anything is written, and the problem of the only source: it is missing, or
    /// the folder of its target is, or it is a link, pipe or device in the place of a folder that is not empty.
    pub fn plan(&self) -> Result<(Vec<Planned>, Vec<Problem>), Problem> {
        let (items, mut problems) = self.items()?;
        let mut planned = Vec::new();
        for item in &items {
            match refuse_no_folder(item, &self.options).and_then(|()| refuse_folder(item)) {
                Ok(()) => planned.push(self.planned(item)),
                Err(problem) => problems.push(problem),
            }
        }
        match problems.is_empty() || self.sources.len() > 1 {
            true => Ok((planned, problems)),
            false => Err(problems.remove(0)),
        }
    }

    fn planned(&self, item: &Item) -> Planned {
        let facts = Facts {
            size_bytes: item.bytes().unwrap_or(0),
            cached: None,
            source_is_file: matches!(item.source, Place::Path(_) | Place::Stripe(_))
                && !item.source_is_stream(),
            sink_is_file: matches!(item.target, Target::File(_) | Target::Device(_) | Target::Stripe(_)),
            bytes_are_looked_at: self.hashes(),
            same_file_system: false,
            whole_file: true,
            synced_alone: true,
        };
        let target = match (&item.target, item.target.path()) {
            (_, Some(path)) => Place::Path(path.to_path_buf()),
            (Target::Stream, _) => Place::Stream,
            _ => Place::Null { bytes: None, fill: Fill::Noise },
        };
        let made = made(item);
        let how = made.unwrap_or_else(|| decide(&facts, &self.options).why).to_string();
        let bytes = item.bytes().filter(|_| made.is_none());
        Planned { source: item.source.clone(), target, bytes, made, how }
    }
}

/// A socket is left out, whatever stands in its place.
fn refuse_folder(item: &Item) -> Result<(), Problem> {
    match &item.target {
        Target::Entry(at) if item.meta.is_some_and(|meta| meta.kind != FileKind::Socket) => {
            make_way::refuse_folder(at)
        }
        _ => Ok(()),
    }
}

/// What becomes of a source that is never read.
fn made(item: &Item) -> Option<&'static str> {
    match item.meta.filter(|_| item.is_entry())?.kind {
        FileKind::Socket => Some("socket: left out"),
        kind => Some(change::what(kind)),
    }
}
