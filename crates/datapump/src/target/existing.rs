//! A file that the user named, and what stands at its target: the rules that decide about names of trees decide about
//! it, too. What stays is told and its attributes are put right; everything else is handed on to be copied.
//!
//! Must not know: how the rules decide, how files are opened and copied.

pub(crate) mod early_places;

use std::path::Path;
use std::sync::Arc;

use datapump_engine::Errno;

use crate::open::held::Elsewhere;
use crate::place::Place;
use crate::problem::{Operation, Problem, shown_path};
use crate::report::change::{Change, ChangeKind};
use crate::setup::options::{Options, Selection};
use crate::target::other_names;
use crate::target::{Item, Target};
use crate::tree::Shared;
use crate::tree::links::linking;
use crate::tree::rules::decide::{Action, adjusted};
use crate::tree::rules::findings;
use crate::tree::rules::kept_times;
use datapump_files::attributes;
use datapump_files::attributes::keep::New;
use datapump_files::commit::taken;
use datapump_files::disk::names::HeldName;
use datapump_files::disk::{AttributeHolder, FileKind, Folder, Meta, PathAt, file_meta, names};

/// The file system of a source that is not asked which it is: its clock may be another host's.
const UNKNOWN: u64 = 0;

impl Target {
    /// Where something is written that stands there or will, but for trees.
    pub(crate) fn at(&self) -> Option<&PathAt> {
        match self {
            Target::File(at) | Target::Special(at) | Target::Device(at) => Some(at),
            Target::Stripe(_)
            | Target::Stream
            | Target::Null
            | Target::Tree(_)
            | Target::Entry(_)
            | Target::Compare(_) => None,
        }
    }
}

/// What only folders have cannot be removed or listed of files.
pub(crate) fn refuse_flags_of_folders(items: &[Item], options: &Options) -> Result<(), Problem> {
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

/// The work that is left for a file.
pub(crate) enum FileNext {
    /// It is copied; what is told when that is done.
    Copy(Option<Box<Change>>),
    /// Its content tells whether it is copied: the item that comes back then.
    Compare(Box<Item>),
    /// Nothing: this stands at its target.
    Stands(Meta),
    /// Nothing, whatever stands there: it is none of those that are asked for.
    PassedBy,
}

/// It is counted, and its other names are linked to it.
pub(crate) fn stays(shared: &Shared<'_>, item: &Item, there: &Meta) {
    if let Some((Ok(Folder::Os(folder)), Some(name))) = item.target.at().map(|at| (at.folder(), at.name())) {
        shared.trees.memory.note_right(folder, name);
    }
    shared.ledger.tally().files_unchanged += 1;
    pass_by(shared, item);
    other_names::link_others(shared, item, Some(there));
}

/// It is counted as dealt with.
pub(crate) fn pass_by(shared: &Shared<'_>, item: &Item) {
    shared.ledger.tally().files_left += 1;
    shared.ledger.watch.add_present(1, 0);
    shared.ledger.watch.skipped(item.bytes().unwrap_or(0));
}

/// The work that is left for a file.
pub(crate) fn next(shared: &Shared<'_>, item: &Item) -> Result<FileNext, Problem> {
    let rules = &shared.trees.rules;
    let decides =
        rules.leaves_some() || rules.passes_some() || !shared.settings.options.links.link_dest.is_empty();
    let at =
        item.target.at().filter(|_| !shared.settings.compares && (decides || shared.settings.itemizes()));
    let Some(at) = at else { return Ok(FileNext::Copy(None)) };
    let there = match at.metadata() {
        Ok(there) => Some(there),
        Err(Errno::ENOENT) => None,
        Err(errno) => return Err(Problem::system(Operation::LookAt, &at.path, errno.0)),
    };
    if let Some(why) = rules.passed_by(item.meta.as_ref(), there.is_some()) {
        tell_left(shared, at, why);
        return Ok(FileNext::PassedBy);
    }
    match (action(shared, item, at, there.as_ref()), there) {
        (Action::Keep(why), Some(there)) => {
            tell_left(shared, at, why);
            shared.ledger.count_kept(rules.newer_by_ns().is_some());
            return Ok(FileNext::Stands(there));
        }
        (Action::Leave(why), Some(there)) => {
            tell_left(shared, at, why);
            return Ok(FileNext::Stands(there));
        }
        (Action::Adjust, Some(there)) => return adjust(shared, item, at).map(|()| FileNext::Stands(there)),
        (Action::Compare, _) => return Ok(FileNext::Compare(Box::new(item.clone()))),
        _ => {}
    }
    if let Some(older) = link_unchanged(shared, item, at)? {
        return Ok(FileNext::Stands(older));
    }
    Ok(FileNext::Copy(findings::change_of_item(shared, item, ChangeKind::Copy, there.as_ref())))
}

/// What becomes of it. A stream has neither size nor time: it is no file, as a pipe is none.
fn action(shared: &Shared<'_>, item: &Item, at: &PathAt, there: Option<&Meta>) -> Action {
    let Some(there) = there.filter(|_| !item.differs) else { return Action::Create };
    let meta = item.meta.unwrap_or(Meta { kind: FileKind::Fifo, ..*there });
    let action = match shared.trees.rules.decide(&meta, Some(there)) {
        action if shared.trees.memory.redoes_file(&shared.ledger, at, (action, &meta, there)) => {
            Action::Replace
        }
        Action::Leave(_) if hidden_differ(shared, item, at) => adjusted(&meta, there),
        action => match (at.folder(), at.name()) {
            (Ok(Folder::Os(folder)), Some(name)) => {
                kept_times::compared(shared, (folder, name), (&meta, there), || UNKNOWN, action)
            }
            _ => action,
        },
    };
    match (&item.source, action) {
        (Place::Web(web), Action::Compare) if web.is_read_once() => Action::Replace,
        (_, action) => action,
    }
}

fn tell_left(shared: &Shared<'_>, at: &PathAt, why: &str) {
    shared.ledger.note(|| format!("'{}': not changed: {why}", shown_path(&at.path)));
}

/// A source that is held for what it carries besides its bytes.
enum AttributeCarrier {
    Here(HeldName),
    There(Arc<dyn Elsewhere>),
    /// It carries nothing.
    Nothing,
}

impl AttributeCarrier {
    fn of(shared: &Shared<'_>, item: &Item) -> Result<AttributeCarrier, Problem> {
        match (&item.source, &shared.remote_host) {
            (Place::Path(path), _) => {
                let held = names::hold_path(path);
                held.map(AttributeCarrier::Here)
                    .map_err(|errno| Problem::system(Operation::Open, path, errno.0))
            }
            (Place::Remote(remote), Some(remote_host)) => {
                let file = shared.places_early.take_or_open(remote_host, item.number, &remote.path);
                file.map(AttributeCarrier::There)
            }
            _ => Ok(AttributeCarrier::Nothing),
        }
    }

    fn bearer(&self) -> Option<AttributeHolder<'_>> {
        match self {
            AttributeCarrier::Here(file) => Some(AttributeHolder::Held(file)),
            AttributeCarrier::There(file) => {
                file.told().map(|(_, attributes)| AttributeHolder::Told(attributes))
            }
            AttributeCarrier::Nothing => Some(AttributeHolder::Told(&[])),
        }
    }
}

/// Whether extended attributes or access control lists are not those of what stands there. What cannot be told is not
/// taken for equal.
fn hidden_differ(shared: &Shared<'_>, item: &Item, at: &PathAt) -> bool {
    let (keep, Ok(Folder::Os(folder)), Some(name)) =
        (shared.settings.options.attributes.keep, at.folder(), at.name())
    else {
        return false;
    };
    if !keep.acl && !keep.xattrs {
        return false;
    }
    let (Ok(from), Ok(to)) = (AttributeCarrier::of(shared, item), names::hold(folder, name)) else {
        return true;
    };
    let differ = from.bearer().map(|from| attributes::hidden_differ(from, AttributeHolder::Held(&to), keep));
    !matches!(differ, Some(Ok(false)))
}

/// The content was compared and is right; time, owner, mode or what is hidden may not be.
pub(crate) fn right_content(shared: &Shared<'_>, item: &Item) -> Result<(), Problem> {
    let (Some(meta), Some(at)) = (&item.meta, item.target.at()) else { return Ok(()) };
    let there = at.metadata().map_err(|errno| Problem::system(Operation::LookAt, &at.path, errno.0))?;
    let in_time = shared.trees.rules.time_is_right(meta, &there);
    match shared.trees.rules.kept(meta, &there) {
        Action::Leave(_) if in_time && !hidden_differ(shared, item, at) => {
            tell_left(shared, at, "equal in content");
        }
        _ => adjust(shared, item, at)?,
    }
    stays(shared, item, &there);
    Ok(())
}

/// Sets the attributes of a file whose content is right.
fn adjust(shared: &Shared<'_>, item: &Item, at: &PathAt) -> Result<(), Problem> {
    let system = |operation: Operation| move |errno: Errno| Problem::system(operation, &at.path, errno.0);
    let there = at.metadata().map_err(system(Operation::LookAt))?;
    if !shared.settings.options.dry_run {
        // What was not kept whole is told as that.
        if !set_attributes(shared, item, (at, &there))? {
            return Ok(());
        }
        shared.ledger.tally().adjusted += 1;
    }
    // The names of one file have the same attributes: the run sets them once.
    let is_first = !shared.settings.options.dry_run || shared.trees.memory.is_first_report(&there);
    shared
        .ledger
        .tell(findings::change_of_item(shared, item, ChangeKind::Adjust, Some(&there)).filter(|_| is_first));
    Ok(())
}

/// Whether it has all of them now.
fn set_attributes(shared: &Shared<'_>, item: &Item, (at, there): (&PathAt, &Meta)) -> Result<bool, Problem> {
    let (Some(meta), from) = (&item.meta, AttributeCarrier::of(shared, item)?) else { return Ok(false) };
    let (Ok(Folder::Os(folder)), Some(name), Some(from)) = (at.folder(), at.name(), from.bearer()) else {
        return Ok(false);
    };
    let held = names::hold_the(folder, name, there).and_then(|held| held.ok_or(Errno::ENOENT));
    let held = held.map_err(|errno| match errno {
        Errno::ENOENT => taken(&at.path),
        errno => Problem::system(Operation::OpenToSetAttributes, &at.path, errno.0),
    })?;
    let syncs = shared.settings.syncs_names();
    let opened = syncs.then(|| names::open_source(folder, name, true)).and_then(Result::ok);
    let lost = attributes::copy(
        from,
        meta,
        AttributeHolder::Held(&held),
        shared.settings.options.attributes.keep,
        New::default(),
    );
    let lost = lost.map_err(|errno| Problem::system(Operation::SetAttributes, &at.path, errno.0))?;
    let is_whole = shared.ledger.tell_lost(lost, || at.path.clone()).is_empty();
    if syncs {
        names::sync_of(opened, folder, name)
            .map_err(|errno| Problem::system(Operation::Sync, &at.path, errno.0))?;
    }
    Ok(is_whole)
}

/// Links a file that is unchanged in another folder (`--link-dest`), or would, and gives that.
fn link_unchanged(shared: &Shared<'_>, item: &Item, at: &PathAt) -> Result<Option<Meta>, Problem> {
    // Its content would have to be read first: the file is copied.
    let Some(meta) = item.meta.as_ref().filter(|_| !shared.trees.rules.reads_content()) else {
        return Ok(None);
    };
    for folder in &shared.settings.options.links.link_dest {
        if let Some(there) = link_to_one_in(shared, folder, (item, meta), at)? {
            return Ok(Some(there));
        }
    }
    Ok(None)
}

fn link_to_one_in(
    shared: &Shared<'_>,
    folder: &Path,
    (item, meta): (&Item, &Meta),
    at: &PathAt,
) -> Result<Option<Meta>, Problem> {
    let (Ok(Folder::Os(to)), Some(name)) = (at.folder(), at.name()) else { return Ok(None) };
    let below = Some(shared.settings.below_target(&at.path));
    // What was named as the target itself is looked for under its own name.
    let below = below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(Path::new(name));
    let other = PathAt::find(&shared.settings.platform.disk, &folder.join(below));
    let (Ok(Folder::Os(other_folder)), Some(other_name)) = (other.folder(), other.name()) else {
        return Ok(None);
    };
    let Ok(held) = names::hold(other_folder, other_name) else { return Ok(None) };
    let Ok(there) = file_meta(&held) else { return Ok(None) };
    let is_right = matches!(shared.trees.rules.unchanged(meta, &there), Action::Leave(_))
        && !kept_times::may_hide(shared, (other_folder, other_name), (meta, &there), || UNKNOWN);
    if !is_right
        || shared.trees.memory.of_file(&shared.ledger, &other).reaches(&there)
        || hidden_differ(shared, item, &other)
    {
        return Ok(None);
    }
    if !shared.settings.options.dry_run && !linking::link_file(shared, &held, (to, name), &at.path)? {
        return Ok(None);
    }
    if !shared.settings.options.dry_run && shared.settings.syncs_names() {
        let sync = || at.folder_to_sync().and_then(|folder| folder.sync());
        let synced = shared.aside(|waits| &mut waits.sync, sync);
        synced.map_err(|errno| Problem::system(Operation::SyncFolderOf, &at.path, errno.0))?;
    }
    shared.ledger.tally().hard_links += u64::from(shared.settings.writes);
    shared.ledger.tell(findings::change_of_item(shared, item, ChangeKind::Link, None));
    Ok(Some(there))
}
