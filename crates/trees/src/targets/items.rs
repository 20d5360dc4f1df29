//! The items of a copy: one for each source that can be copied.
//!
//! Must not know: cp's rules for targets (`target`), how files are copied.

pub(crate) mod foreign_link;
pub(super) mod named_groups;
pub(crate) mod neighbours;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use datapump_engine::Errno;

use crate::place::Place;
use crate::problem::{Class, Operation, Problem};
use crate::report::event::Event;
use crate::setup::options::{Options, Selection};
use crate::targets::guard::start::{CoveredSource, Start};
use crate::targets::guard::{GuardRules, backups};
use crate::targets::stripe_refusals;
use crate::targets::target_names::TargetNames;
use datapump_core::selection::Select;
use datapump_files::commit::final_name;
use datapump_files::disk::{FileKind, Folder, Meta, PathAt, folder_of};
use datapump_files::followed::leads_out;

use super::hosts::Hosts;
use super::item::{Item, Target, UNSAFE_LINK, own_name};
use super::resolve::{
    is_copied, is_resumed_in, refuse_leading_out, refuse_trees, resolve, resolve_tree, source_meta,
    target_folder,
};
use super::{argument, nesting};

/// The items of a copy, and the sources that cannot be copied. An error means that nothing may be written at all.
pub(crate) fn resolve_items(
    hosts: &Hosts<'_>,
    sources: &[Place],
    target: &Place,
    found: Option<&PathAt>,
    options: &Options,
    select: &Select,
) -> Result<(Vec<Item>, Vec<Problem>), Problem> {
    let folder = target_folder(hosts, sources, target, found, options)?;
    let several = sources.len() > 1;
    let goal = Goal { hosts, target, found, folder, options, select, several };
    let (mut items, mut problems, mut excluded) = (Vec::new(), Vec::new(), Vec::new());
    let mut names = TargetNames::new(options.durability.inplace);
    for (number, source) in (0..).zip(sources) {
        match goal.resolve_item(&mut names, number, source) {
            Ok(Some(item)) => items.push(item),
            Ok(None) => excluded.push(source),
            Err(Unfit::Alone(problem)) => problems.push(problem),
            Err(Unfit::All(problem)) => return Err(problem),
            Err(Unfit::Twice(path)) => {
                if let Some(first) = items.iter_mut().find(|item| item.target.path() == Some(&path)) {
                    first.notices.push(Event::Notice(format!("'{source}' is given twice: copied once")));
                }
            }
        }
    }
    let rules = GuardRules { options, select };
    let start = Start { hosts, items: &items, excluded: &excluded, target: found, folder, rules };
    start.check()?;
    let covered = start.covered_sources();
    remove_covered(&mut items, covered);
    if problems.is_empty() {
        refuse_flags_of_folders(&items, options)?;
    }
    refuse_trees(&items, options)?;
    foreign_link::refuse(&items, options)?;
    backups::check_backup_folder(&items, options, hosts.is_confined)?;
    Ok((items, problems))
}

/// Refuses flags that remove or list what only folders have, where no source is a folder.
fn refuse_flags_of_folders(items: &[Item], options: &Options) -> Result<(), Problem> {
    if items.is_empty() || items.iter().any(Item::is_tree) {
        return Ok(());
    }
    let lists =
        options.selection.rules.iter().any(|part| matches!(part, Selection::Names(..) | Selection::Whole(_)));
    let flag = match (options.deletion.delete, lists && !options.selection.list_is_default) {
        (true, _) => "--delete",
        (_, true) => "--files-from",
        _ => return Ok(()),
    };
    Err(Problem::usage(format!("{flag} needs a folder as source; name one, or leave {flag} out")))
}

/// Removes the items that a tree copies as well.
fn remove_covered(items: &mut Vec<Item>, covered: Vec<CoveredSource>) {
    for CoveredSource { source, tree } in covered {
        let Some(at) = items.iter().position(|item| item.number == source) else { continue };
        let source = items.remove(at).source;
        if let Some(tree) = items.iter_mut().find(|item| item.number == tree) {
            tree.notices.push(Event::Notice(format!(
                "'{source}' is in '{}', too: it is copied with that",
                tree.source
            )));
        }
    }
}

/// The targets for a report, as far as it has room: of names without end it is the first ones.
pub(crate) fn reported_targets(items: &[Item]) -> Vec<String> {
    const NAMES: usize = 1000;
    const BYTES: usize = 64 << 10;
    let mut bytes = 0;
    let names = items.iter().filter(|item| !item.is_left_out).filter_map(|item| item.target.path());
    let shown = names.map(|path| path.to_string_lossy().into_owned()).take(NAMES);
    shown
        .take_while(|name| {
            bytes += name.len();
            bytes <= BYTES
        })
        .collect()
}

/// The names of targets that a backup beside another target could have, too.
pub(crate) fn called_as_backups(items: &[Item], options: &Options) -> HashSet<OsString> {
    let Some(backup) = &options.backup else { return HashSet::new() };
    let names = items.iter().filter_map(|item| item.target.path()?.file_name());
    names.filter(|name| backup.is_beside(name)).map(OsStr::to_owned).collect()
}

/// Why a source gives no item.
enum Unfit {
    /// It is left out and told.
    Alone(Problem),
    /// Nothing may be written at all.
    All(Problem),
    /// An earlier source is the same and goes to this target.
    Twice(PathBuf),
}

/// Where a source goes, what is told of that, and what paths of patterns begin with.
struct Resolved {
    target: Target,
    notice: Option<Event>,
    patterns_above: PathBuf,
}

/// Where all sources of a job go, and which.
#[derive(Clone, Copy)]
struct Goal<'job> {
    hosts: &'job Hosts<'job>,
    target: &'job Place,
    found: Option<&'job PathAt>,
    folder: Option<&'job PathAt>,
    options: &'job Options,
    select: &'job Select,
    several: bool,
}

impl Goal<'_> {
    /// The item of a source; none if that is excluded.
    fn resolve_item(
        self,
        names: &mut TargetNames,
        number: u32,
        source: &Place,
    ) -> Result<Option<Item>, Unfit> {
        let Goal { hosts, options, several, .. } = self;
        let meta =
            source_meta(hosts, number, source, several, options).map_err(|problem| match problem.class {
                // One of several is left out and told; the only one refuses the job.
                Class::Usage if !several => Unfit::All(problem),
                _ => Unfit::Alone(problem),
            })?;
        let Some(Resolved { target, notice, patterns_above }) = self.resolve_target(source, meta.as_ref())?
        else {
            return Ok(None);
        };
        refuse_unsafe_link(hosts, number, source, &target, options).map_err(Unfit::All)?;
        stripe_refusals::check_members_apart(hosts, source, meta.as_ref(), &target).map_err(Unfit::All)?;
        if hosts.is_confined {
            refuse_leading_out(&target).map_err(Unfit::All)?;
        }
        let is_first = names.assign(&target, source, meta.as_ref()).map_err(Unfit::All)?;
        if let Some(path) = target.path().filter(|_| !is_first) {
            return Err(Unfit::Twice(path.to_path_buf()));
        }
        let is_partial = || neighbours::is_partial(hosts, number, source).map_err(Unfit::All);
        let is_left_out = is_copied(&target) && is_partial()?;
        let source = source.clone();
        Ok(Some(Item {
            source,
            meta,
            target,
            number,
            notices: notice.into_iter().collect(),
            is_left_out,
            patterns_above,
        }))
    }

    /// Where a source goes, and what is told of that; nothing if it is excluded.
    fn resolve_target(self, source: &Place, meta: Option<&Meta>) -> Result<Option<Resolved>, Unfit> {
        let Goal { hosts, target, found, folder, options, select, several } = self;
        let is_folder = meta.is_some_and(|meta| meta.kind == FileKind::Folder);
        // What stands for its content goes nowhere else whatever a list says.
        let into = folder.filter(|_| is_folder && !source.stands_for_content());
        let (goes_on, warning) = is_resumed_in(hosts, into, source, meta, options);
        let nests = into.filter(|_| !goes_on).zip(own_name(source));
        let notice = || {
            nests
                .and_then(|(folder, name)| nesting::nesting_notice(source, folder, name, options))
                .map(Event::Notice)
        };
        let notice = warning.map(Event::Warning).or_else(notice);
        // A folder whose content goes to the target itself is the root of the copy and has no name in it.
        let has_name = !is_folder || (into.is_some() && !goes_on);
        // Names of a list begin in the folder that is named, and so do patterns beside them.
        let begin_above = has_name && options.selection.patterns_begin_above && !select.is_list();
        if has_name && argument::is_excluded(select, source, is_folder, begin_above) {
            return Ok(None);
        }
        let name = own_name(source).filter(|_| is_folder && begin_above);
        let patterns_above = name.map(PathBuf::from).unwrap_or_default();
        let resolved = if is_folder {
            resolve_tree(source, goes_on, target, found, folder)
        } else if meta.is_some_and(|meta| argument::is_entry(hosts, several, source, meta, options)) {
            argument::resolve_entry(source, meta, found, folder)
        } else {
            resolve(hosts, source, meta, target, found, folder, options)
        };
        let resolved = resolved.map(|target| Some(Resolved { target, notice, patterns_above }));
        resolved.map_err(|problem| match problem.class {
            Class::Usage => Unfit::All(problem),
            _ => Unfit::Alone(problem),
        })
    }
}

/// Refuses a link of another host that stays one where `--safe-links` leaves it out.
fn refuse_unsafe_link(
    hosts: &Hosts<'_>,
    number: u32,
    source: &Place,
    target: &Target,
    options: &Options,
) -> Result<(), Problem> {
    let (Place::Remote(remote), Some(remote_host)) = (source, hosts.remote_host) else { return Ok(()) };
    if !options.links.safe_links || !matches!(target, Target::Entry(_)) {
        return Ok(());
    }
    match Arc::clone(remote_host).link_target(number, &remote.path)? {
        Some(to) if leads_out(0, &to) => {
            Err(Problem::new(Class::Usage, Operation::Copy, &remote.path, UNSAFE_LINK))
        }
        _ => Ok(()),
    }
}

/// Refuses an item as a run would when it opens the folder of its target. A folder that the run would make may be
/// missing.
pub(crate) fn check_target_folder(item: &Item, options: &Options) -> Result<(), Problem> {
    let (operation, at, path) = match &item.target {
        _ if item.is_left_out => return Ok(()),
        Target::File(at) => (Operation::OpenFolder, at, &*at.path),
        Target::Entry(at) => (Operation::Open, at, folder_of(&at.path)),
        _ => return Ok(()),
    };
    let is_made = options.place.make_path && at.folder().err() == Some(Errno::ENOENT);
    match at.folder_to_sync() {
        Err(errno) if !is_made => Err(Problem::system(operation, path, errno.0).of_folder_above()),
        Ok(folder) => check_final_name(item, &folder, options),
        Err(_) => Ok(()),
    }
}

/// Refuses a file that cannot get its name, as far as nothing has to be tried.
fn check_final_name(item: &Item, folder: &Folder, options: &Options) -> Result<(), Problem> {
    let Target::File(at) = &item.target else { return Ok(()) };
    let stays = options.durability.inplace && at.metadata_of_name().is_ok();
    match at.name().filter(|_| !stays) {
        Some(name) => final_name::check(folder, name, &at.path, false).map(drop),
        None => Ok(()),
    }
}
