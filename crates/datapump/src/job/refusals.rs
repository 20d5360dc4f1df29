//! Jobs that make no sense, refused before anything is opened to be written.
//!
//! Must not know: options by themselves (`options.rs`), what stands at the targets.

use super::Job;
use crate::problem::{Class, Operation, Problem};
use crate::target::place::Place;
use crate::target::{Item, Target};
use datapump_files::disk::FileKind;

impl Job {
    /// What a program asks for beside the options: a hook takes the hash's place, and pieces are of one file, whose
    /// other bytes stay.
    pub(super) fn refuse_wrong_pieces(&self) -> Result<(), Problem> {
        if self.hook.is_some() && self.options.verify {
            return Err(Problem::usage("a job with a hook hashes nothing: it cannot verify"));
        }
        let is_one = self.sources.len() == 1;
        let keeps_the_rest = match self.target {
            Place::Null { .. } => true,
            Place::Path(_) => self.options.inplace,
            _ => false,
        };
        match self.pieces {
            Some(_) if !is_one || !keeps_the_rest => Err(Problem::usage(
                "pieces are of one source, and go to nothing or into a file that is written in place",
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn refuse_missing_link_dest(&self) -> Result<(), Problem> {
        let Some(path) = &self.options.link_dest else { return Ok(()) };
        let wrong = |words: &str| Problem::new(Class::Usage, Operation::LinkDest, path, words);
        match self.platform.disk.metadata(path) {
            Ok(meta) if meta.kind == FileKind::Folder => Ok(()),
            Ok(_) => Err(wrong("is no folder")),
            Err(errno) => Err(wrong(&crate::problem::system_words(errno.0))),
        }
    }

    /// Only files are read back. A device has been written where it stands, and what a stream took is gone.
    pub(super) fn refuse_impossible_verify(&self, item: &Item) -> Result<(), Problem> {
        let words = match item.target {
            Target::File(_) | Target::Tree(_) | Target::Compare(_) | Target::Entry(_) => return Ok(()),
            _ if !self.options.verify => return Ok(()),
            Target::Device(_) => "leave it out, and compare afterwards with cmp",
            Target::Stripe(_) => "leave it out, and compare afterwards: pump verify stripe:FILE.toml SOURCE",
            Target::Special(_) | Target::Stream | Target::Null => "leave it out",
        };
        Err(Problem::usage(format!(
            "--verify reads the target back, and '{}' cannot be read; {words}",
            self.target
        )))
    }
}
