//! No step of a command destroys what the same command reads, or copies a folder into itself without end.
//!
//! The guard knows by identity what a command *reads* (sources and the links on the way to them, folders of
//! `--link-dest`, what a link leads to) and what it *keeps* (its targets, the folder of backups, its own logs). It is
//! asked three things: at the start whether two places of the command exclude each other ([`start`]: status 2, nothing
//! is written); before an existing entry is replaced, written into or removed whether that may be ([`Guard::destroy`]);
//! before a folder is gone into whether that ends ([`Guard::enter`]). What is met on the way is refused there, in the
//! same words: that name, status 23. Whose a name of a target is that several sources go to is told by [`claims`].
//!
//! Must not know: how trees are walked, how names are copied and removed.

pub(crate) mod backups;
pub(crate) mod claims;
pub(crate) mod links;
mod rules;
mod shown;
pub(crate) mod start;
mod targets;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::lock::StateLock;
use crate::origin::source_host::SourceHost;
use crate::place::Place;
use crate::problem::{Class, Operation, Problem};
use crate::targets::item::{Item, Target};
use crate::targets::name_claims::Claims as NameOwners;
use claims::TargetClaims;
use datapump_files::disk::{
    FileKind, Meta, file_meta, folder_of, may_fold_names, metadata_of_name, names, origin,
};
use datapump_files::followed::behind::{PlaceBehind, places_on};
use datapump_files::identity::{FileId, id};
use links::FollowedLinks;
pub(crate) use rules::GuardRules;

const INSTEAD: &str = "choose another name for the copy, or copy the sources one by one to other names";

/// What a command reads and keeps.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    sources: Vec<ReadSource>,
    by_identity: HashMap<ReadIdentity, Vec<usize>>,
    /// Links on the way to a source: found out when the first link is about to go.
    links: OnceLock<HashMap<FileId, usize>>,
    /// Folders below the sources that a mount shows in a target.
    shown: Vec<FileId>,
    /// Files that are written beside the copy.
    own_files: HashMap<FileId, PathBuf>,
    claims: TargetClaims,
    pub(crate) followed: FollowedLinks,
    /// Whose the names of folders are that named sources go to, where two may be one to the file system.
    owners: StateLock<HashMap<FileId, NameOwners>>,
}

/// A source of this host.
#[derive(Debug)]
struct ReadSource {
    source: Place,
    is_folder: bool,
    /// A link that is named stays one: what it leads to is not read.
    is_entry: bool,
}

/// What tells an entry from all others. A block device is one whatever node it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ReadIdentity {
    Inode(FileId),
    Device(u64),
}

/// An existing entry in a folder; without a folder it is told by its numbers alone.
#[derive(Clone, Copy)]
pub(crate) struct ExistingEntry<'run> {
    pub(crate) folder: Option<&'run File>,
    pub(crate) name: &'run OsStr,
    pub(crate) meta: &'run Meta,
}

/// A step that an entry would not outlast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destruction {
    /// The name gets other content, or goes: an inode with other names stays under those.
    OfName,
    /// It is written where it is.
    OfContent,
}

impl ReadIdentity {
    fn new(meta: &Meta, is_entry: bool) -> ReadIdentity {
        match meta.kind {
            FileKind::BlockDevice if !is_entry => ReadIdentity::Device(meta.special_device),
            _ => ReadIdentity::Inode(id(meta)),
        }
    }
}

impl Guard {
    /// The guard of a command. Numbers of another host count where it is this one.
    pub(crate) fn new(items: &[Item], rules: GuardRules<'_>, other: Option<&dyn SourceHost>) -> Guard {
        let is_here = other.is_some_and(|host| host.is_here());
        let mut guard = Guard::default();
        for item in items {
            let Some(meta) = item.meta.filter(|_| is_here || item.source.local_path().is_some()) else {
                continue;
            };
            let source = ReadSource {
                source: item.source.clone(),
                is_folder: meta.kind == FileKind::Folder,
                is_entry: item.is_entry(),
            };
            let of_identity = guard.by_identity.entry(ReadIdentity::new(&meta, item.is_entry())).or_default();
            of_identity.push(guard.sources.len());
            guard.sources.push(source);
        }
        let own = rules.options.deletion.own_files.iter();
        let own = own.filter_map(|path| Some((id(&metadata_of_name(path).ok()?), path.clone())));
        guard.own_files = own.collect();
        guard
    }

    /// The guard of a run, which also knows what the targets show and to which source their names belong.
    pub(crate) fn for_run(items: &[Item], rules: GuardRules<'_>, other: Option<&dyn SourceHost>) -> Guard {
        let mut guard = Guard {
            shown: shown::folders_shown_in_targets(items, rules),
            claims: TargetClaims::new(items, rules.options),
            followed: FollowedLinks::new(items, rules.options),
            ..Guard::new(items, rules, other)
        };
        guard.own_files.extend(ways_to_targets(items));
        guard
    }

    pub(crate) fn claims(&self) -> &TargetClaims {
        &self.claims
    }

    /// Refuses to replace, write into or remove an entry that this command reads or keeps.
    pub(crate) fn check_destroy(
        &self,
        entry: ExistingEntry<'_>,
        how: Destruction,
        path: impl FnOnce() -> PathBuf,
    ) -> Result<(), Problem> {
        match self.why_kept(entry, how) {
            Some(words) => {
                Err(Problem::new(Class::Refused, Operation::Replace, &path(), format!("{words}; {INSTEAD}")))
            }
            None => Ok(()),
        }
    }

    /// Why an entry must stay.
    pub(crate) fn why_kept(&self, entry: ExistingEntry<'_>, how: Destruction) -> Option<String> {
        if let Some(source) = self.source_of_entry(entry, how) {
            return Some(source.words(how));
        }
        if self.followed.read(id(entry.meta)) {
            return Some("is what a link leads to that is followed".into());
        }
        let own = self.own_files.get(&id(entry.meta))?;
        Some(format!("is '{}', which is written beside the copy", crate::problem::shown_path(own)))
    }

    /// The source that an entry is, or that is reached by it.
    fn source_of_entry(&self, entry: ExistingEntry<'_>, how: Destruction) -> Option<&ReadSource> {
        let meta = entry.meta;
        let known = [true, false].map(|is_entry| self.by_identity.get(&ReadIdentity::new(meta, is_entry)));
        let is_lost = |source: &ReadSource| {
            let may_stay = how == Destruction::OfName && meta.links > 1 && !source.is_folder;
            !(may_stay && meta.kind != FileKind::BlockDevice) || source.is_read_by(entry)
        };
        let mut sources = known.into_iter().flatten().flatten().map(|index| &self.sources[*index]);
        sources
            .find(|source| source.is_the(entry) && is_lost(source))
            .or_else(|| self.source_behind_link(meta))
    }

    /// The source whose path leads through a link.
    fn source_behind_link(&self, meta: &Meta) -> Option<&ReadSource> {
        if meta.kind != FileKind::Symlink {
            return None;
        }
        let links = self.links.get_or_init(|| {
            let of_source = |(index, source): (usize, &ReadSource)| {
                let places = source.places().into_iter();
                let links = places.filter(|place| place.meta.kind == FileKind::Symlink);
                links.map(|place| (id(&place.meta), index)).collect::<Vec<_>>()
            };
            self.sources.iter().enumerate().flat_map(of_source).collect()
        });
        links.get(&id(meta)).map(|index| &self.sources[*index])
    }

    /// Whether it is a source, or a link on the way to one: no backup takes its name.
    pub(crate) fn reads(&self, existing: &Meta) -> bool {
        self.by_identity.contains_key(&ReadIdentity::new(existing, true))
            || self.source_behind_link(existing).is_some()
    }

    /// Whether it is a file that is written beside the copy.
    pub(crate) fn is_own_file(&self, existing: &Meta) -> bool {
        self.own_files.contains_key(&id(existing))
    }

    /// Whether anything but folders is read: else no entry that is no folder can be destroyed wrongly.
    pub(crate) fn reads_files(&self) -> bool {
        !self.own_files.is_empty()
            || self.followed.read_some()
            || self.sources.iter().any(|source| !source.is_folder)
    }

    /// Whether it is a folder that is copied from: one that the user named, or one below it that a mount shows in a
    /// target.
    pub(crate) fn is_source_folder(&self, folder: &Meta) -> bool {
        let own = id(folder);
        let is_named = self.by_identity.contains_key(&ReadIdentity::Inode(own));
        is_named || self.shown.contains(&own) || self.followed.read(own)
    }

    /// Gives a name of a target to the copy of a named source, unless that name finds the copy of another one: some file
    /// systems take two names for one. `None`: it does, and nothing was done.
    pub(crate) fn give_name<T>(&self, folder: &File, name: &OsStr, give: impl FnOnce() -> T) -> Option<T> {
        let Ok(own) = file_meta(folder).map(|meta| id(&meta)) else { return Some(give()) };
        if self.sources.len() < 2 || !may_fold_names(folder) {
            return Some(give());
        }
        let mut owners = self.owners.lock();
        let owners = owners.entry(own).or_default();
        match names::metadata(folder, name) {
            Ok(existing) if !owners.claim(folder, &existing, name) => return None,
            Ok(_) => {}
            Err(_) => owners.note_made(name),
        }
        let given = give();
        if let Ok(made) = names::metadata(folder, name) {
            owners.claim(folder, &made, name);
        }
        Some(given)
    }

    /// Refuses to go into a folder of the target that is copied from.
    pub(crate) fn enter(&self, target: &Meta, path: impl FnOnce() -> PathBuf) -> Result<(), Problem> {
        if !self.is_source_folder(target) {
            return Ok(());
        }
        let words = "is a folder that is copied from (a mount may show it here); it was not changed: choose another \
                     target, exclude it, or unmount it";
        Err(Problem::new(Class::Refused, Operation::Enter, &path(), words))
    }
}

/// What named sources are written through beside trees, where it would be a name too much: the symbolic links that lead
/// to their targets, pipes and devices.
fn ways_to_targets(items: &[Item]) -> Vec<(FileId, PathBuf)> {
    if !items.iter().any(Item::is_tree) {
        return Vec::new();
    }
    let ways = items.iter().filter_map(|item| {
        let at = item.target.place_written()?;
        let is_way = matches!(item.target, Target::Special(_) | Target::Device(_));
        let end = at.metadata_of_name().ok().filter(|_| is_way).map(|meta| id(&meta));
        let kept = at.links_followed().iter().copied().chain(end);
        Some(kept.map(|way| (way, at.path.clone())).collect::<Vec<_>>())
    });
    ways.flatten().collect()
}

impl ReadSource {
    fn role(&self) -> String {
        if !self.is_entry && self.source.local_path().is_some_and(Path::is_symlink) {
            format!("what the source '{}' leads to", self.source)
        } else {
            format!("the source '{}'", self.source)
        }
    }

    /// The words why an entry is not replaced or written into.
    fn words(&self, how: Destruction) -> String {
        let role = self.role();
        let is = if role.starts_with("what") || self.is_folder { "is" } else { "is the same file as" };
        match how {
            Destruction::OfContent => format!("{is} {role}, and would be written into while it is read"),
            Destruction::OfName => format!("{is} {role}"),
        }
    }

    /// The links on its way, and the entry at its end.
    fn places(&self) -> Vec<PlaceBehind> {
        let Some(path) = self.source.local_path() else { return Vec::new() };
        let path = if self.is_entry { folder_of(path) } else { path };
        let start = names::find_folder(Path::new(if path.is_absolute() { "/" } else { "." }));
        start.map_or_else(|_| Vec::new(), |start| places_on(&Arc::new(start), path.as_os_str()))
    }

    /// Whether it is read by this very name.
    fn is_read_by(&self, entry: ExistingEntry<'_>) -> bool {
        let Some(Ok(folder)) =
            entry.folder.map(file_meta).filter(|_| !self.is_entry && self.source.local_path().is_some())
        else {
            return true;
        };
        self.places().iter().any(|place| {
            place.name.as_deref() == Some(entry.name)
                && file_meta(&place.folder).is_ok_and(|own| id(&own) == id(&folder))
        })
    }

    /// Whether equal numbers mean the same file: some file systems give one number to several. The time of birth never
    /// changes.
    fn is_the(&self, entry: ExistingEntry<'_>) -> bool {
        let (Some(path), Some(folder)) = (self.source.local_path(), entry.folder) else { return true };
        let (Ok(one), Ok(other)) = (names::hold_path(path), names::hold(folder, entry.name)) else {
            return true;
        };
        let has_numbers = |held: &File| file_meta(held).is_ok_and(|meta| id(&meta) == id(entry.meta));
        let births = [origin(&one).0, origin(&other).0];
        !(has_numbers(&one) && has_numbers(&other)) || births.contains(&0) || births[0] == births[1]
    }
}
