//! Links of a source that are followed and lead to what the same copy replaces or removes: what is copied for them
//! would depend on the order, and a later run would find nothing there. Each is refused, and only there.
//!
//! A link leads to a place by names. Where a source of this copy has a name for that place, it is replaced; with
//! `--delete` it goes where none has, unless a rule spares it.
//!
//! Must not know: how links are followed, how names are copied and removed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::problem::{Class, Operation, Problem, shown_path};
use crate::run::Shared;
use crate::target::listed::Name;
use crate::tree::folder::directory::Directory;
use crate::tree::folder::origin::Origin;
use crate::tree::links::written_places::WrittenBy;
use crate::tree::rules::source_folder::{Descent, RuledFolder};
use datapump_files::disk::{FileKind, WayStep, names, way_up};
use datapump_files::followed::behind::PlaceBehind;
use datapump_files::identity::{FileId, id};

const REPLACED: &str = "replaces: its content depends on the order";
const REMOVED: &str = "removes (--delete): the next run would not find it";

/// A place below the target of a tree: its steps from there, the last one its own.
struct BelowTarget<'place> {
    steps: Vec<&'place WayStep>,
    device: u64,
    is_folder: bool,
}

/// The words for what this copy does to a place; nothing, as a rule. `root` is the target of the tree that the link
/// lies in: a walk refuses to go into that.
fn harm_of(shared: &Shared<'_>, place: &PlaceBehind, root: Option<FileId>) -> Option<&'static str> {
    let is_folder = place.meta.kind == FileKind::Folder;
    if is_folder && root == Some(id(&place.meta)) {
        return None;
    }
    let own = |name: &OsString| WayStep { name: name.clone(), device: place.meta.device };
    let mut steps: Vec<WayStep> = place.name.iter().map(own).collect();
    let mut has_names = true;
    for up in way_up(&place.folder) {
        if let Some(folder) = shared.trees.written_places.folders.get(&up.id) {
            if !has_names {
                return Some(REPLACED);
            }
            let below = |count: usize, device| {
                let steps = steps[..count].iter().rev().collect();
                BelowTarget { steps, device, is_folder }
            };
            let harm = |all: &[WrittenBy], place| all.iter().find_map(|by| harm_by(shared, by, &place));
            let found = harm(&folder.itself, below(steps.len(), up.id.0)).or_else(|| {
                let last = steps.last()?;
                harm(folder.names.get(&last.name)?, below(steps.len() - 1, last.device))
            });
            if found.is_some() {
                return found;
            }
        }
        match up.name {
            Some(name) => steps.push(WayStep { name, device: up.id.0 }),
            None => has_names = false,
        }
    }
    None
}

/// What the copy of one source does to it.
fn harm_by(shared: &Shared<'_>, by: &WrittenBy, place: &BelowTarget<'_>) -> Option<&'static str> {
    match by {
        _ if place.steps.is_empty() => Some(REPLACED),
        WrittenBy::One => None,
        WrittenBy::Tree { source, patterns_above } => {
            let job = (shared.settings.options, &shared.trees.select);
            let root =
                names::find_folder(source).and_then(|file| RuledFolder::root(file, patterns_above, job));
            match root.map(|root| root.descend(place.steps.iter().map(|step| &*step.name))) {
                Ok(Descent::Missing(from)) => {
                    place.is_removed(shared, patterns_above, from).then_some(REMOVED)
                }
                Ok(Descent::LeftAlone) => None,
                // A source that cannot be looked at may have a name for it.
                Ok(Descent::Found(..) | Descent::Unknown) | Err(_) => Some(REPLACED),
            }
        }
    }
}

impl BelowTarget<'_> {
    /// Whether it goes, since the source has no such name from one of its steps on.
    fn is_removed(&self, shared: &Shared<'_>, above: &Path, missing_from: usize) -> bool {
        let options = shared.settings.options;
        let (mut folder, mut device) = (PathBuf::new(), self.device);
        let mut is_spared = false;
        for (index, step) in self.steps.iter().enumerate() {
            let is_folder = self.is_folder || index + 1 < self.steps.len();
            // A mounted folder stays, if the source has nothing in its place.
            let is_mounted = step.device != device && (index >= missing_from || options.one_file_system);
            let select = &shared.trees.select;
            let named = (&*step.name, is_folder);
            is_spared |= is_mounted || select.protects((above, || &folder), named, options.delete_excluded);
            folder.push(&step.name);
            device = step.device;
        }
        options.delete && !is_spared
    }
}

/// Refuses a name of a source on this host that is a link to what this copy replaces or removes, or that was reached by
/// such links.
pub(crate) fn refuse_written(
    shared: &Shared<'_>,
    (directory, origin): (&Directory, &Origin),
    name: &Name,
) -> Result<(), Problem> {
    const INSTEAD: &str = "copy without -L and --copy-unsafe-links, or copy it in a run of its own";
    let places = &shared.trees.written_places;
    let Origin::Here(folder) = origin else { return Ok(()) };
    if places.folders.is_empty() || shared.settings.compares {
        return Ok(());
    }
    let refused = |words: &str| {
        let path = directory.source.path_of(&name.name);
        Problem::new(Class::Io, Operation::Copy, &path, format!("{words}; {INSTEAD}"))
    };
    if places.has(id(&directory.source.meta), &name.name) {
        return Err(refused("is what this copy replaces, and was reached by a link that is followed"));
    }
    // A link that is followed has no kind in a listing.
    if name.kind.is_some() {
        return Ok(());
    }
    for place in folder.places_behind(&name.name) {
        if let Some(harm) = harm_of(shared, &place, directory.root.target_id) {
            let there = place.path();
            let there = shown_path(&there);
            let words = format!("leads to '{there}', which this copy {harm}");
            return Err(refused(&words));
        }
    }
    Ok(())
}
