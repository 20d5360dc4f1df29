//! Symbolic links and what they lead to: a link that stays one must not replace that, and a link that is followed must
//! not lead to what the same command replaces or removes, since its content would depend on the order.
//!
//! Must not know: how links are made and followed, how an entry is replaced.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::claims::TargetClaims;
use super::targets::place_of;
use super::{Guard, GuardRules};
use crate::problem::{Class, Operation, Problem, shown_path};
use crate::setup::options::{FollowLinks, Options};
use crate::target::Item;
use crate::tree::rules::source_folder::Descent;
use datapump_files::disk::{FileKind, Folder, Meta, WayStep, file_meta, names, way_up};
use datapump_files::followed::behind::{PlaceBehind, places_on};
use datapump_files::identity::{FileId, id};

const REPLACED: &str = "replaces: its content depends on the order";
const REMOVED: &str = "removes (--delete): the next run would not find it";
const INSTEAD: &str = "copy without -L and --copy-unsafe-links, or copy it in a run of its own";

/// Where a link goes: the open folder, and the name with its existing entry.
pub(crate) struct LinkTarget<'run> {
    pub(crate) folder: &'run Arc<File>,
    pub(crate) name: &'run OsStr,
    pub(crate) existing: &'run Meta,
}

/// Refuses to make a link with these words, which lies in this folder of the source, in the place of what it leads to:
/// of that only a link to itself would remain.
pub(crate) fn check_kept(
    source: &Arc<File>,
    words: &OsStr,
    to: &LinkTarget<'_>,
    from: &Path,
    path: &Path,
) -> Result<(), Problem> {
    let is_symlink = to.existing.kind == FileKind::Symlink;
    let is_equal = is_symlink && names::read_symlink(to.folder, to.name).as_deref() == Ok(words);
    if is_equal || !leads_to(source, words, to) {
        return Ok(());
    }
    let words = format!(
        "is what the symbolic link '{}' leads to; it would be lost, and stays; copy with -L to have what the link leads \
         to, or move it away",
        shown_path(from)
    );
    Err(Problem::new(Class::Io, Operation::Replace, path, words))
}

/// Whether a link leads to an entry, or into it. A file that has other names stays under those.
pub(crate) fn leads_to(source: &Arc<File>, words: &OsStr, to: &LinkTarget<'_>) -> bool {
    let own = id(to.existing);
    let is_name = |place: &PlaceBehind| {
        let folders = [&place.folder, to.folder].map(|folder| file_meta(folder).ok().map(|meta| id(&meta)));
        folders[0] == folders[1] && place.name.as_deref() == Some(to.name)
    };
    let is_lost = |place: &PlaceBehind| match to.existing.kind {
        FileKind::Folder => id(&place.meta) == own || way_up(&place.folder).iter().any(|up| up.id == own),
        _ => id(&place.meta) == own && (to.existing.links < 2 || is_name(place)),
    };
    places_on(source, words).iter().any(is_lost)
}

/// Where the sources of a command go, by the folder that holds the name. Empty where no link is followed.
#[derive(Debug, Default)]
pub(crate) struct WrittenPlaces {
    folders: HashMap<FileId, WrittenFolder>,
}

/// A folder that is a target, or holds some, with the numbers of their sources.
#[derive(Debug, Default)]
struct WrittenFolder {
    itself: Vec<u32>,
    names: HashMap<OsString, Vec<u32>>,
}

impl WrittenPlaces {
    pub(super) fn new(items: &[Item], options: &Options) -> WrittenPlaces {
        let mut places = WrittenPlaces::default();
        let follows = options.links.follow != FollowLinks::Never;
        for item in items.iter().filter(|item| follows && !item.is_left_out) {
            let Some(at) = place_of(&item.target) else { continue };
            let Ok(Folder::Os(folder)) = at.folder() else { continue };
            let Ok(meta) = file_meta(folder) else { continue };
            let folder = places.folders.entry(id(&meta)).or_default();
            match at.name() {
                Some(name) => folder.names.entry(name.to_owned()).or_default().push(item.number),
                None => folder.itself.push(item.number),
            }
        }
        places
    }
}

/// A name of a source that may be a link which is followed.
pub(crate) struct FollowedName<'run> {
    pub(crate) folder: FileId,
    pub(crate) name: &'run OsStr,
    /// The target of its tree: a walk refuses to go into that.
    pub(crate) root: Option<FileId>,
    /// Where it leads.
    pub(crate) places: Vec<PlaceBehind>,
}

impl Guard {
    /// Whether links that are followed may lead to what is written.
    pub(crate) fn has_written_places(&self) -> bool {
        !self.written.folders.is_empty()
    }

    /// Refuses a name that leads to what this command replaces or removes, or was reached by such links.
    pub(crate) fn check_followed(
        &self,
        followed: &FollowedName<'_>,
        rules: GuardRules<'_>,
        path: impl Fn() -> PathBuf,
    ) -> Result<(), Problem> {
        let problem = |words: String| {
            Err(Problem::new(Class::Io, Operation::Copy, &path(), format!("{words}; {INSTEAD}")))
        };
        let own = self.written.folders.get(&followed.folder);
        if own.is_some_and(|folder| folder.names.contains_key(followed.name)) {
            return problem("is what this copy replaces, and was reached by a link that is followed".into());
        }
        for place in &followed.places {
            let is_root = followed.root == Some(id(&place.meta)) && place.meta.kind == FileKind::Folder;
            if let Some(harm) = self.harm_of(place, rules).filter(|_| !is_root) {
                return problem(format!("leads to '{}', which this copy {harm}", shown_path(&place.path())));
            }
        }
        Ok(())
    }

    /// The words for what this command does to a place; nothing, as a rule.
    fn harm_of(&self, place: &PlaceBehind, rules: GuardRules<'_>) -> Option<&'static str> {
        let own = |name: &OsString| WayStep { name: name.clone(), device: place.meta.device };
        let mut steps: Vec<WayStep> = place.name.iter().map(own).collect();
        let mut has_names = true;
        for up in way_up(&place.folder) {
            if let Some(folder) = self.written.folders.get(&up.id) {
                if !has_names {
                    return Some(REPLACED);
                }
                let last = steps.last();
                let named = last.and_then(|last| Some((folder.names.get(&last.name)?, last.device)));
                let itself = (&folder.itself, steps.len(), up.id.0);
                let named = named.map(|(numbers, device)| (numbers, steps.len() - 1, device));
                let goals = [itself].into_iter().chain(named);
                for (numbers, count, device) in goals {
                    let steps: Vec<&WayStep> = steps[..count].iter().rev().collect();
                    let below = BelowTarget { steps, device, is_folder: place.meta.kind == FileKind::Folder };
                    let harm = numbers.iter().find_map(|number| below.harm_by(&self.claims, *number, rules));
                    if harm.is_some() {
                        return harm;
                    }
                }
            }
            match up.name {
                Some(name) => steps.push(WayStep { name, device: up.id.0 }),
                None => has_names = false,
            }
        }
        None
    }
}

/// A place below the target of a source: its steps from there, the last one its own.
struct BelowTarget<'place> {
    steps: Vec<&'place WayStep>,
    device: u64,
    is_folder: bool,
}

impl BelowTarget<'_> {
    /// What the copy of one source does to it.
    fn harm_by(&self, claims: &TargetClaims, number: u32, rules: GuardRules<'_>) -> Option<&'static str> {
        if self.steps.is_empty() {
            return Some(REPLACED);
        }
        let below: PathBuf = self.steps.iter().map(|step| &step.name).collect();
        let above = claims.patterns_above(number)?;
        match claims.descend(number, &below, rules) {
            Descent::Missing(from) => self.is_removed(above, from, rules).then_some(REMOVED),
            Descent::LeftAlone => None,
            // A source that cannot be looked at may have a name for it.
            Descent::Found(..) | Descent::Unknown => Some(REPLACED),
        }
    }

    /// Whether it is removed, since the source has no such name from one of its steps on.
    fn is_removed(&self, above: &Path, missing_from: usize, rules: GuardRules<'_>) -> bool {
        let GuardRules { options, select } = rules;
        let (mut folder, mut device) = (PathBuf::new(), self.device);
        let mut is_spared = false;
        for (index, step) in self.steps.iter().enumerate() {
            let is_folder = self.is_folder || index + 1 < self.steps.len();
            // A mounted folder stays, if the source has nothing in its place.
            let is_mounted =
                step.device != device && (index >= missing_from || options.selection.one_file_system);
            let named = (&*step.name, is_folder);
            is_spared |=
                is_mounted || select.protects((above, || &folder), named, options.deletion.delete_excluded);
            folder.push(&step.name);
            device = step.device;
        }
        options.deletion.delete && !is_spared
    }
}
