//! Jobs that make no sense, refused before anything is opened to be written.
//!
//! Must not know: options by themselves (`options.rs`), what stands at the targets.

use std::path::{Component, Path, PathBuf};

use super::{HostJob, JobKind};
use crate::place::Place;
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::setup::options::Sync;
use crate::targets::{Item, Target, UNSAFE_LINK};
use datapump_engine::os::linux::KernelCall;
use datapump_files::disk::FileKind;
use datapump_files::followed::{leads_out, names_descriptor};

impl HostJob {
    /// Before anything else of a run. Where a sandbox refuses syncfs(2), no call syncs a whole tree and reports what
    /// could not be written: each file and each directory is synced by itself.
    pub(super) fn prepare(&mut self) {
        let is_one_call = self.options.durability.sync == Sync::End && !self.platform.is_simulated();
        if is_one_call && self.work == JobKind::Copy && !KernelCall::Syncfs.is_offered() {
            self.options.durability.sync = Sync::Each;
        }
        self.read_ahead();
    }

    /// Refuses a hook with `--verify`, since it takes the hash's place, and pieces unless they are of one source whose
    /// other bytes at the target stay.
    pub(super) fn check_pieces(&self) -> Result<(), Problem> {
        if self.hook.is_some() && self.options.durability.verify {
            return Err(Problem::usage("a job with a hook hashes nothing: it cannot verify"));
        }
        let is_one = self.sources.len() == 1;
        let keeps_the_rest = match self.target {
            Place::Null { .. } => true,
            Place::Path(_) => self.options.durability.inplace,
            _ => false,
        };
        match self.pieces {
            Some(_) if !is_one || !keeps_the_rest => Err(Problem::usage(
                "pieces are of one source, and go to nothing or into a file that is written in place",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses a folder of `--link-dest` that is missing or no folder.
    pub(super) fn check_link_dest_exists(&self) -> Result<(), Problem> {
        self.options.links.link_dest.iter().try_for_each(|path| {
            let wrong = |words: &str| Problem::new(Class::Usage, Operation::LinkDest, path, words);
            match self.platform.disk.metadata(path) {
                Ok(meta) if meta.kind == FileKind::Folder => Ok(()),
                Ok(_) => Err(wrong("is not a directory")),
                Err(errno) => Err(wrong(&match self.path_in_target(path) {
                    Some(there) => format!(
                        "{}; rsync's path begins in the target, here it begins in the working directory: write '{}'",
                        crate::problem::system_words(errno.0),
                        shown_path(&there)
                    ),
                    None => crate::problem::system_words(errno.0),
                })),
            }
        })
    }

    /// The folder that a relative path names where it begins in the target. That may not be there yet.
    fn path_in_target(&self, path: &Path) -> Option<PathBuf> {
        let target = self.target.local_path().filter(|_| path.is_relative())?;
        let mut there = PathBuf::new();
        for part in target.components().chain(path.components()) {
            let ends_in_name = matches!(there.components().next_back(), Some(Component::Normal(_)));
            match part {
                Component::CurDir => {}
                Component::ParentDir if ends_in_name => drop(there.pop()),
                part => there.push(part),
            }
        }
        let is_folder = self.platform.disk.metadata(&there).is_ok_and(|meta| meta.kind == FileKind::Folder);
        is_folder.then_some(there)
    }

    /// Refuses flags for files that are made, or read on this host, where the item has none.
    pub(super) fn check_flags_heeded(&self, item: &Item) -> Result<(), Problem> {
        let options = &self.options;
        let is_made = matches!(item.target, Target::File(_) | Target::Tree(_) | Target::Entry(_));
        let is_file = matches!(item.source, Place::Path(_)) || self.remote_host.is_some();
        let flags = [
            (options.attributes.permissions.is_some() && !is_made, "--chmod", "makes no file"),
            (options.attributes.ownership.is_some() && !is_made, "--chown", "makes no file"),
            (options.tuning.makes_holes && !is_made, "--sparse=always", "makes no file"),
            (options.deletion.remove_sources && !is_made, "--remove-source-files", "makes no file"),
            (
                options.deletion.remove_sources && !is_file,
                "--remove-source-files",
                "reads no file of this host",
            ),
        ];
        match flags.into_iter().find(|(is_unheeded, ..)| *is_unheeded) {
            Some((_, flag, why)) => {
                let words = format!("'{}' -> '{}' {why}: leave {flag} out", item.source, self.target);
                Err(Problem::usage(words))
            }
            None => Ok(()),
        }
    }

    /// Refuses a named link that leads out of its folder, with `--safe-links`.
    pub(super) fn check_safe_names(&self) -> Result<(), Problem> {
        let paths =
            self.sources.iter().filter_map(Place::local_path).filter(|_| self.options.links.safe_links);
        let is_unsafe = |path: &&Path| {
            let link = std::fs::read_link(path).ok().filter(|_| !names_descriptor(path));
            link.is_some_and(|to| leads_out(0, to.as_os_str()))
        };
        match paths.into_iter().find(is_unsafe) {
            Some(path) => Err(Problem::new(Class::Usage, Operation::Copy, path, UNSAFE_LINK)),
            None => Ok(()),
        }
    }

    /// Refuses `--verify` for a target that cannot be read back: a device, a stripe, a stream.
    pub(super) fn check_verify(&self, item: &Item) -> Result<(), Problem> {
        let words = match item.target {
            Target::File(_) | Target::Tree(_) | Target::Compare(_) | Target::Entry(_) => return Ok(()),
            _ if !self.options.durability.verify => return Ok(()),
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
