//! What stands at the target and stays: told, its attributes put right, its other names linked to it.
//!
//! Must not know: how it was found right, how files are copied.

use datapump_engine::Errno;

use crate::file::goal::syncs_alone;
use crate::open::held::Original;
use crate::problem::{Operation, Problem, shown_path};
use crate::run::Shared;
use crate::target::change::ChangeKind;
use crate::target::listed::{Name, Told};
use crate::tree::links::Spot;
use crate::tree::links::linking::{self, Met};
use crate::tree::rules::decide::Action;
use crate::tree::rules::findings;
use crate::tree::rules::findings::hidden_differ;
use datapump_files::attributes::keep::New;
use datapump_files::commit::taken;
use datapump_files::disk::{Bearer, Meta, names};
use datapump_files::identity::id;

/// What stands at the target stays, whatever it is.
pub(crate) fn tell_kept(shared: &Shared<'_>, spot: &Spot, why: &str) {
    shared.ledger.note(|| {
        let path = spot.branch.target_path().join(&spot.name);
        format!("'{}': left as it is: {why}", shown_path(&path))
    });
}

/// What stands at the target stays although it is not as the source. If that is because it is newer, that holds for all
/// names of the file.
pub(crate) fn kept(
    shared: &Shared<'_>,
    spot: &Spot,
    (meta, there): (&Meta, &Meta),
    why: &str,
) -> Result<(), Problem> {
    tell_kept(shared, spot, why);
    match shared.trees.rules.newer_by_ns() {
        Some(_) => linking::meet_newer(shared, spot, meta, there),
        None => Ok(()),
    }
}

/// A file that is right as it stands: its other names may be linked to it.
pub(crate) fn left(
    shared: &Shared<'_>,
    spot: &Spot,
    (meta, there): (&Meta, &Meta),
    why: &str,
) -> Result<(), Problem> {
    tell_kept(shared, spot, why);
    if let Met::First(links) = linking::meet(shared, spot, meta, None)? {
        linking::stands(shared, spot, links, Some(id(there)));
    }
    Ok(())
}

/// A file that an earlier run of the same command committed, of which it has told.
pub(crate) fn committed(
    shared: &Shared<'_>,
    spot: &Spot,
    (meta, there): (&Meta, &Meta),
) -> Result<(), Problem> {
    tell_kept(shared, spot, "an earlier run committed it");
    if let Met::First(links) = linking::meet(shared, spot, meta, None)? {
        shared.ledger.committed_before(meta.size_bytes);
        linking::stands(shared, spot, links, Some(id(there)));
    }
    Ok(())
}

/// Sets the attributes of a file whose content is right.
pub(crate) fn adjust(shared: &Shared<'_>, spot: &Spot, meta: &Meta, there: &Meta) -> Result<(), Problem> {
    let change = findings::change(shared, &spot.branch, ChangeKind::Adjust, &spot.name, meta, Some(there));
    if shared.settings.options.dry_run {
        // The names of one file at the target have the same attributes: they are set once.
        let is_first = there.links < 2 || shared.trees.adjusted().insert(id(there));
        shared.ledger.tell(change.filter(|_| is_first));
        return left(shared, spot, (meta, there), "its attributes would be set");
    }
    set_attributes(shared, spot, meta, there)?;
    shared.ledger.tell(change);
    left(shared, spot, (meta, there), "its attributes were set")
}

fn set_attributes(shared: &Shared<'_>, spot: &Spot, meta: &Meta, there: &Meta) -> Result<(), Problem> {
    let Some(target) = &spot.branch.target else { return Ok(()) };
    let (origin, path) = (spot.branch.source.origin()?, || target.path_of(&spot.name));
    let folder = target.file()?.0;
    let held = names::hold_the(&folder, &spot.name, there);
    let held = held.map_err(|errno| match errno {
        Errno::ENOENT | Errno::ESTALE => taken(&path()),
        errno => Problem::system(Operation::OpenToSetAttributes, &path(), errno.0),
    })?;
    // Its new mode may let nobody open it. One that cannot be opened yet may be behind it.
    let alone = syncs_alone(shared, &spot.branch);
    let opened = alone.then(|| names::open_source(&folder, &spot.name, true)).and_then(Result::ok);
    let to = Bearer::Held(&held);
    let (name, from_path) = (Name::here(spot.name.clone(), None), spot.branch.source.path_of(&spot.name));
    let keep = shared.settings.options.keep;
    let lost = origin.copy_attributes(&name, (&from_path, meta), to, keep, New::default())?;
    let lost = lost.map_err(|errno| Problem::system(Operation::SetAttributes, &path(), errno.0))?;
    shared.ledger.tell_lost(lost, path);
    spot.branch.root.journal().inspect(|journal| journal.know(there));
    match alone {
        true => names::sync_of(opened, &folder, &spot.name)
            .map_err(|errno| Problem::system(Operation::Sync, &path(), errno.0)),
        false => Ok(()),
    }
}

/// The name of a file that was read, with the attributes that another host told of it.
fn read_name(spot: &Spot, original: &Original) -> Name {
    let told = original.held.told().map(|(meta, attributes)| Told {
        meta: Ok(*meta),
        points_to: None,
        attributes: Some(attributes.clone()),
        is_partial: false,
        _charge: None,
    });
    Name { told: told.map(Box::new), ..Name::here(spot.name.clone(), None) }
}

/// The content was compared and is right; time, owner or mode may not be.
pub(crate) fn right_content(shared: &Shared<'_>, spot: &Spot, original: &Original) -> Result<(), Problem> {
    let meta = &original.meta;
    let Some(target) = &spot.branch.target else { return Ok(()) };
    let folder = target.file()?.0;
    let there = names::metadata(&folder, &spot.name)
        .map_err(|errno| Problem::system(Operation::LookAt, &target.path_of(&spot.name), errno.0))?;
    let in_time = shared.trees.rules.time_is_right(meta, &there);
    let hidden = || {
        let from = spot.branch.source.origin()?;
        Ok::<bool, Problem>(hidden_differ(shared, &from, &read_name(spot, original), &folder))
    };
    match shared.trees.rules.kept(meta, &there) {
        Action::Leave(_) if in_time && !hidden()? => left(shared, spot, (meta, &there), "equal in content"),
        _ => adjust(shared, spot, meta, &there),
    }
}
