//! The items of a job, refused as a whole or settled before anything is made; and what it would do with them, told
//! without doing it.
//!
//! Must not know: how it is done.

use datapump_core::name::NamePurpose;
use std::path::Path;

use datapump_core::Shape;
use datapump_engine::Errno;

use super::{HostJob, JobKind, comparison, request_plan};
use crate::open::copy_method::{Facts, decide};
use crate::place::{Fill, Place};
use crate::problem::{Operation, Problem};
use crate::report::change;
use crate::run::in_order_target::{self, TargetDisk};
use crate::run::ledger::Ledger;
use crate::setup::defaults::Reads;
use crate::targets::items::neighbours;
use crate::targets::{self, Item, Target, check_target_folder};
use crate::tree::Trees;
use crate::tree::moved::view;
use crate::tree::names::make_way;
use crate::tree::walk::mirror;
use datapump_core::selection::Select;
use datapump_files::disk::{FileKind, PathAbove, PathAt, folder_is_made_up, names};

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

/// Which source is copied where, and the sources that cannot be copied.
type JobItems = (Vec<Item>, Vec<Problem>);

impl HostJob {
    /// The items; an error refuses the job as a whole. Patterns that match a source are noted in `select`.
    pub(super) fn items(&self, select: &Select) -> Result<JobItems, Problem> {
        self.options.check().map_err(Problem::usage)?;
        if self.sources.is_empty() {
            return Err(Problem::usage("there is nothing to copy: name a source and a target"));
        }
        if self.work == JobKind::Compare {
            return comparison::compared_items(
                &self.hosts(),
                &self.sources,
                &self.target,
                &self.options,
                select,
            );
        }
        self.check_link_dest_exists()?;
        self.check_safe_names()?;
        self.check_pieces()?;
        mirror::refuse_non_folders(&self.hosts(), &self.sources, &self.options)?;
        let items = match self.missing_above()? {
            Some((above, promised)) => self.items_in_new_folder(&above, &promised, select)?,
            None => self.items_at(self.found_again()?.as_ref(), select)?,
        };
        view::check_views(&items.0, &self.options)?;
        Ok(items)
    }

    /// The items, once it is known how their target takes files.
    pub(super) fn with_items(&mut self, mut trees: Trees) -> Result<(JobItems, Trees), Problem> {
        let items = self.items(&trees.select)?;
        self.find_in_order(&items.0)?;
        let parts_remain = self.target_disk.in_order.is_some_and(|takes| !takes.renames);
        trees.flags.parts_remain = parts_remain;
        trees.flags.purpose = match self.work {
            JobKind::Compare if self.options.comparison.compares_backwards => NamePurpose::VerifyBackwards,
            JobKind::Compare => NamePurpose::Verify,
            _ => NamePurpose::Copy,
        };
        Ok((items, trees))
    }

    /// Finds out how the target's file system takes files. Where that is in order, holes are written as zeros.
    ///
    /// Errors: options that such a file system cannot do.
    fn find_in_order(&mut self, items: &[Item]) -> Result<(), Problem> {
        let makes_files = self.work == JobKind::Copy && !self.options.dry_run;
        if !makes_files || self.options.measuring.rehearsal_bytes.is_some() {
            return Ok(());
        }
        self.target_disk = TargetDisk::from_places(items.iter().filter_map(|item| item.target.place()));
        let Some(takes) = self.target_disk.in_order else { return Ok(()) };
        self.options.tuning.ignore_holes = true;
        in_order_target::check(takes, &self.options, self.pieces.is_some(), &self.target.to_string())
    }

    /// Reports once what cannot be kept there.
    pub(super) fn report_not_kept(&self, ledger: &Ledger<'_>) {
        if let Some(takes) = self.target_disk.in_order {
            ledger.warn(in_order_target::message(takes, &self.options, &self.target.to_string()));
        }
    }

    /// How large requests are and how many are under way: one write where files are taken in order.
    pub(super) fn shape(&self, items: &[Item], reads: Reads) -> Shape {
        let shape = request_plan::for_job(items, &self.options, reads, self.hashes());
        match self.target_disk.in_order {
            Some(_) => Shape { in_order: true, sink_depth: 1, ..shape },
            None => shape,
        }
    }

    /// The target as it was found before; found once more where folders above it were missing, which somebody may have
    /// made meanwhile.
    fn found_again(&self) -> Result<Option<PathAt>, Problem> {
        let Some(path) = self.target.local_path() else { return Ok(None) };
        match (&self.found, &self.above) {
            (Some(found), Some(above)) if found.is_promised() => above.find().map(Some),
            (Some(found), _) => Ok(Some(found.clone())),
            (None, _) => Ok(Some(PathAt::find(&self.platform.disk, path))),
        }
        .map_err(|errno| self.cannot_make(errno))
    }

    /// The folders above the target, and the target in them, where some are missing and are to be made.
    fn missing_above(&self) -> Result<Option<(PathAbove, PathAt)>, Problem> {
        let here = self.target.local_path().filter(|_| self.options.place.make_path && self.found.is_none());
        let here = here.map(|path| PathAbove::of(path.to_path_buf(), path));
        let Some(above) = self.above.clone().or(here) else { return Ok(None) };
        let above = above.of_folder(self.sources.len() > 1 && !self.options.place.target_is_name);
        let promised = above.promised().map_err(|errno| self.cannot_make(errno))?;
        Ok(promised.map(|promised| (above, promised)))
    }

    /// The items of a job whose target is in a folder that is missing. The missing folders are made, unless the copy is
    /// refused, or nothing is copied, or it is a dry run.
    fn items_in_new_folder(
        &self,
        above: &PathAbove,
        promised: &PathAt,
        select: &Select,
    ) -> Result<JobItems, Problem> {
        let planned = self.items_at(Some(promised), select)?;
        if self.options.dry_run || planned.0.is_empty() {
            return Ok(planned);
        }
        let found = above.make().and_then(|()| above.find()).map_err(|errno| self.cannot_make(errno))?;
        self.items_at(Some(&found), select)
    }

    fn cannot_make(&self, errno: Errno) -> Problem {
        Problem::system(Operation::Make, self.target.local_path().unwrap_or(Path::new("")), errno.0)
    }

    /// The items of a job whose target was found there.
    ///
    /// Errors: options that they do not allow.
    fn items_at(&self, found: Option<&PathAt>, select: &Select) -> Result<JobItems, Problem> {
        let items =
            targets::resolve_items(&self.hosts(), &self.sources, &self.target, found, &self.options, select)?;
        items.0.iter().try_for_each(|item| self.check_verify(item))?;
        items.0.iter().try_for_each(|item| self.check_flags_heeded(item))?;
        neighbours::check_temporary_names(&items.0)?;
        mirror::refuse_home(&items.0, &self.options)?;
        Ok(items)
    }

    /// What [`HostJob::run`] would do with files, in order, without doing it. (With folders, a run with
    /// [`Options::dry_run`](crate::setup::options::Options::dry_run) tells its changes as it finds them.)
    ///
    /// Beside it stand the problems of single sources where there are several: the others would be copied.
    ///
    /// Errors: what would be refused before anything is written, and the problem of the only source: it is missing, or
    /// the folder of its target is, or it is a link, pipe or device in the place of a folder that is not empty.
    pub fn plan(&self) -> Result<(Vec<Planned>, Vec<Problem>), Problem> {
        let (items, mut problems) = self.items(&Select::new(&self.options.selection.rules)?)?;
        let mut planned = Vec::new();
        for item in &items {
            match check_target_folder(item, &self.options).and_then(|()| check_entry_place(item)) {
                Ok(()) => planned.push(self.plan_item(item)),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() || self.sources.len() > 1 {
            Ok((planned, problems))
        } else {
            Err(problems.remove(0))
        }
    }

    /// The plan of one item: where it goes and how, from facts that are known without opening it.
    fn plan_item(&self, item: &Item) -> Planned {
        let facts = Facts {
            size_bytes: item.bytes().unwrap_or(0),
            cached: None,
            source_is_file: matches!(item.source, Place::Path(_) | Place::Stripe(_))
                && !item.source_is_stream(),
            sink_is_file: matches!(item.target, Target::File(_) | Target::Device(_) | Target::Stripe(_)),
            bytes_are_looked_at: self.hashes(),
            same_file_system: false,
            whole_file: true,
            in_order: false,
            synced_alone: true,
        };
        let target = match (&item.target, item.target.path()) {
            (_, Some(path)) => Place::Path(path.to_path_buf()),
            (Target::Stream, _) => Place::Stream,
            _ => Place::Null { bytes: None, fill: Fill::Noise },
        };
        let made = made(item);
        let how = made.unwrap_or_else(|| decide(&facts, &self.options).why).to_string();
        let bytes = item.bytes().or_else(|| is_known_empty(item).then_some(0)).filter(|_| made.is_none());
        Planned { source: item.source.clone(), target, bytes, made, how }
    }
}

/// Refuses a folder in the place of an entry that was named. A socket is left out, whatever exists in its place.
fn check_entry_place(item: &Item) -> Result<(), Problem> {
    match &item.target {
        Target::Entry(at) | Target::File(at)
            if item.meta.is_some_and(|meta| meta.kind != FileKind::Socket) =>
        {
            make_way::check_no_folder(at)
        }
        _ => Ok(()),
    }
}

/// Whether a file is known to be empty. One that the kernel makes up says so whatever is in it; of another host none
/// such is copied.
fn is_known_empty(item: &Item) -> bool {
    if !item.meta.is_some_and(|meta| meta.kind == FileKind::Regular && meta.size_bytes == 0) {
        return false;
    }
    let folder = |path: &Path| names::open_path(std::fs::canonicalize(path).ok()?.parent()?).ok();
    match &item.source {
        Place::Path(path) => folder(path).is_some_and(|folder| !folder_is_made_up(&folder)),
        Place::Remote(_) => true,
        _ => false,
    }
}

/// What becomes of a source that is never read.
fn made(item: &Item) -> Option<&'static str> {
    match item.meta.filter(|_| item.is_entry())?.kind {
        FileKind::Socket => Some("socket: left out"),
        kind => Some(change::kind_words(kind)),
    }
}
