//! Whose a name of a target is, where several sources of a command go to one folder: that of the first source, in the
//! order of the command line, that has it. Folders of several sources are merged.
//!
//! Nothing is remembered: the other sources are asked for the name. What another host has is not asked for.
//!
//! Must not know: how names are copied and removed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datapump_engine::Errno;

use super::rules::GuardRules;
use super::targets::TreeTargets;
use crate::place::Place;
use crate::problem::{Class, Operation, Problem};
use crate::setup::options::Options;
use crate::targets::item::Item;
use datapump_files::disk::{FileKind, Meta, Outcome, file_meta, names};
use datapump_files::followed::OriginFolder;

/// The sources of a command that go to a folder of another one.
#[derive(Debug, Default)]
pub(crate) struct TargetClaims {
    sources: HashMap<u32, ClaimingSource>,
    rivals: HashMap<u32, Rivals>,
}

#[derive(Debug)]
struct ClaimingSource {
    source: Place,
    is_folder: bool,
    patterns_above: PathBuf,
}

/// Sources that have names in the target of one.
#[derive(Debug, Default)]
struct Rivals {
    /// Trees in whose target it lies, and the way down from there.
    around: Vec<RivalTree>,
    /// Sources whose target lies in its own, by the way down to it.
    inside: HashMap<PathBuf, Vec<u32>>,
}

#[derive(Debug)]
struct RivalTree {
    number: u32,
    below: PathBuf,
}

/// Which sources are asked for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    Earlier,
    Any,
}

/// A name of a source, so far below the target of that.
pub(crate) struct ClaimedName<'run> {
    pub(crate) number: u32,
    pub(crate) below: &'run Path,
    pub(crate) is_folder: bool,
}

/// A source that has a name.
#[derive(Debug)]
pub(crate) struct NameClaim<'claims> {
    source: &'claims Place,
    is_folder: bool,
}

impl ClaimingSource {
    /// What the copy deals with so far below the root, if that can be looked at: no file has anything.
    fn find(&self, below: &Path, rules: GuardRules<'_>) -> Outcome<Option<Meta>> {
        let root = self.source.local_path().filter(|_| self.is_folder).ok_or(Errno::ENOENT)?;
        let root = OriginFolder::from_file(Arc::new(names::find_folder(root)?));
        let (mut folder, mut path) =
            (OriginFolder { follow: rules.options.links.follow, ..root }, PathBuf::new());
        let device = file_meta(&folder.file)?.device;
        let mut names = below.iter().peekable();
        while let Some(name) = names.next() {
            let deals = |is_folder| rules.select.deals_with((&self.patterns_above, &path), (name, is_folder));
            let meta = match folder.metadata(name) {
                Ok(meta) if deals(meta.kind == FileKind::Folder) => meta,
                Err(errno) if errno != Errno::ENOENT || folder.leads_nowhere(name) => {
                    return if deals(true) || deals(false) { Err(errno) } else { Ok(None) };
                }
                _ => return Ok(None),
            };
            let is_left_alone = rules.options.selection.one_file_system && meta.device != device;
            if names.peek().is_none() {
                return Ok(Some(meta));
            }
            if meta.kind != FileKind::Folder || is_left_alone {
                return Ok(None);
            }
            let file = Arc::new(folder.open_folder(name)?);
            folder = OriginFolder { file, depth: folder.depth + 1, ..folder };
            path.push(name);
        }
        Ok(None)
    }
}

impl TargetClaims {
    /// Claims of the sources whose targets lie in each other.
    pub(crate) fn new(items: &[Item], options: &Options) -> TargetClaims {
        let mut claims = TargetClaims::default();
        if options.measuring.rehearsal_bytes.is_some() || !items.iter().any(Item::is_tree) {
            return claims;
        }
        if items.len() < 2 {
            return claims;
        }
        let trees = TreeTargets::new(items);
        for item in items.iter().filter(|item| !item.is_left_out) {
            let Some(at) = item.target.place() else { continue };
            for inside in trees.trees_holding(at) {
                let (Some(below), tree) = (inside.below, inside.tree) else { continue };
                if tree.number == item.number {
                    continue;
                }
                claims.add(item);
                claims.add(tree);
                let inner = claims.rivals.entry(item.number).or_default();
                inner.around.push(RivalTree { number: tree.number, below: below.clone() });
                let outer = claims.rivals.entry(tree.number).or_default();
                outer.inside.entry(below).or_default().push(item.number);
            }
        }
        claims
    }

    /// Whether each source has its target for itself.
    pub(crate) fn are_apart(&self) -> bool {
        self.rivals.is_empty()
    }

    /// Whether an earlier source goes to the same folder: that one's attributes stay, and its list is that of both.
    pub(crate) fn is_merged(&self, number: u32) -> bool {
        self.merged_with(number).next().is_some()
    }

    /// The earlier sources that go to the same folder.
    pub(crate) fn merged_with(&self, number: u32) -> impl Iterator<Item = u32> {
        self.in_same_folder(number).filter(move |&other| other < number)
    }

    /// The later trees that go to the same folder, by number and path.
    pub(crate) fn merged_behind(&self, number: u32) -> impl Iterator<Item = (u32, &Path)> {
        let later = self.in_same_folder(number).filter(move |&other| other > number);
        later.filter_map(|other| Some((other, self.sources.get(&other)?.source.path()?)))
    }

    fn in_same_folder(&self, number: u32) -> impl Iterator<Item = u32> {
        let around = self.rivals.get(&number).map(|rivals| &rivals.around).into_iter().flatten();
        around.filter(|rival| rival.below.as_os_str().is_empty()).map(|rival| rival.number)
    }

    /// Other sources that go to this place, so far below the target of one.
    pub(crate) fn sources_to(&self, number: u32, below: &Path) -> &[u32] {
        let inside = self.rivals.get(&number).and_then(|rivals| rivals.inside.get(below));
        inside.map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, item: &Item) {
        self.sources.entry(item.number).or_insert_with(|| ClaimingSource {
            source: item.source.clone(),
            is_folder: item.is_tree(),
            patterns_above: item.patterns_above.clone(),
        });
    }

    /// The first source but this one that has a name of its target, which lies so far below that. Where any counts, one
    /// that cannot be looked at may have it.
    pub(crate) fn find<'claims>(
        &'claims self,
        name: &ClaimedName<'_>,
        rank: Rank,
        rules: GuardRules<'claims>,
    ) -> Option<NameClaim<'claims>> {
        let rivals = self.rivals.get(&name.number)?;
        let around = rivals.around.iter().map(|rival| (rival.number, rival.below.join(name.below)));
        let inside = name.below.ancestors().flat_map(|above| {
            let rest = name.below.strip_prefix(above).unwrap_or(name.below);
            let others = rivals.inside.get(above).into_iter().flatten();
            others.map(move |other| (*other, rest.to_path_buf()))
        });
        let counts = |(other, _): &(u32, PathBuf)| rank == Rank::Any || *other < name.number;
        let mut places: Vec<(u32, PathBuf)> = around.chain(inside).filter(counts).collect();
        places.sort_unstable();
        places.iter().find_map(|(other, below)| {
            let claiming @ ClaimingSource { source, is_folder, .. } = self.sources.get(other)?;
            if below.as_os_str().is_empty() {
                return Some(NameClaim { source, is_folder: *is_folder });
            }
            match claiming.find(below, rules) {
                Ok(meta) => meta.map(|meta| NameClaim { source, is_folder: meta.kind == FileKind::Folder }),
                Err(_) => (rank == Rank::Any && *is_folder).then_some(NameClaim { source, is_folder: true }),
            }
        })
    }

    /// Refuses a name that an earlier source has as well, unless it is a folder of both.
    pub(crate) fn check(
        &self,
        name: &ClaimedName<'_>,
        rules: GuardRules<'_>,
        path: impl FnOnce() -> PathBuf,
    ) -> Result<(), Problem> {
        let found = self.find(name, Rank::Earlier, rules);
        let Some(first) = found.filter(|first| !(first.is_folder && name.is_folder)) else { return Ok(()) };
        let second = self.sources.get(&name.number).map_or_else(String::new, |own| own.source.to_string());
        let words = format!(
            "two of the sources would get this name, '{}' and '{second}': it is that of the first; copy them one by one",
            first.source
        );
        Err(Problem::new(Class::Refused, Operation::Copy, &path(), words))
    }
}
