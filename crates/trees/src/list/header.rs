//! What the list of a tree belongs to: which source, which folder, during which life of the system, with which options.
//!
//! Must not know: where the list is kept, what is marked in it.

use std::fs::File;
use std::path::Path;

use datapump_core::journal::{Header, Life, PathSum, RootId};
use datapump_core::resume::fnv;

use crate::origin::Origin;
use crate::origin::source_host::SourceHost;
use crate::setup::options::{FollowLinks, Keep, Options, Selection, Sync};
use datapump_files::attributes::given::Given;
use datapump_files::disk::{Meta, boot, names, origin};

/// The root of a source, and its life.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceRoot {
    root: RootId,
    host: u64,
    life: u64,
}

impl SourceRoot {
    /// The root of a source, on this host or another one; zeros for what lies in no folder.
    pub(crate) fn from_origin(origin: &Origin, meta: &Meta) -> SourceRoot {
        match origin {
            Origin::Here(folder) => SourceRoot::here(&folder.file),
            Origin::There(folder) => match folder.host() {
                Some(host) => SourceRoot::from_remote(host, meta),
                // What lies in no folder has no list.
                None => {
                    SourceRoot { root: RootId { inode: 0, born_ns: 0, file_system: 0 }, host: 0, life: 0 }
                }
            },
        }
    }

    /// That of a path of this host; `None` if it cannot be opened.
    pub(crate) fn at(path: &Path) -> Option<SourceRoot> {
        names::open_path(path).ok().map(|folder| SourceRoot::here(&folder))
    }

    fn here(folder: &File) -> SourceRoot {
        let (root, mount) = root_of(folder);
        SourceRoot { root, host: 0, life: mount }
    }

    /// Where its names begin on the list of another source: no name has a slash.
    pub(crate) fn path_sum(&self) -> PathSum {
        let RootId { inode, born_ns, file_system } = self.root;
        let numbers = [inode, file_system, self.host, self.life].map(u64::to_le_bytes).concat();
        PathSum::ROOT.folder(b"").folder(&[&numbers[..], &born_ns.to_le_bytes()].concat())
    }

    /// Another host tells device and inode, and which run of its system it is.
    pub(crate) fn from_remote(remote_host: &dyn SourceHost, meta: &Meta) -> SourceRoot {
        let root = RootId { inode: meta.inode, born_ns: 0, file_system: meta.device };
        SourceRoot {
            root,
            host: fnv(0, without_port(remote_host.place()).as_bytes()),
            life: fnv(0, remote_host.boot()),
        }
    }
}

/// A server that was started again may listen on another port: the host is the same.
fn without_port(place: &str) -> &str {
    match place.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => place,
    }
}

/// The header of a list that is started now for this open folder.
pub(crate) fn new_header(folder: &File, source: &SourceRoot, options: &Options, is_new: bool) -> Header {
    let (target, mount) = root_of(folder);
    let life = Life { boot: boot(), mount, source: source.life, options: attribute_options_sum(options) };
    let (loses_times, selection) = (!options.attributes.keep.times, selection_sum(options));
    let (source, source_host) = (source.root, source.host);
    Header {
        source,
        source_host,
        target,
        life,
        is_new,
        loses_times,
        is_settled: false,
        selection,
        begun_ns: 0,
    }
}

/// Whether a list was begun in this folder, and not copied or moved there.
pub(crate) fn is_of_folder(list: &Header, folder: &File) -> bool {
    list.is_of_target(&Header { target: root_of(folder).0, ..*list })
}

fn root_of(folder: &File) -> (RootId, u64) {
    let (born_ns, mount) = origin(folder);
    let inode = datapump_files::disk::file_meta(folder).map_or(0, |meta| meta.inode);
    (RootId { inode, born_ns, file_system: datapump_files::disk::file_system(folder) }, mount)
}

/// A number that differs where options would give a copied file other attributes, or promise something else of it.
fn attribute_options_sum(options: &Options) -> u64 {
    let Keep { mode, acl, owner, times, xattrs, links, numeric_ids, given } = options.attributes.keep;
    let kept = [
        mode,
        acl,
        owner,
        times,
        xattrs,
        links,
        options.durability.verify,
        options.durability.sync == Sync::None,
    ];
    let kept = kept.iter().fold(1 + u64::from(numeric_ids), |sum, &kept| sum << 1 | u64::from(kept));
    match given {
        Given::NOTHING => kept,
        Given { permissions, user, group } => {
            fnv(kept, &serde_json::to_vec(&(permissions, user, group)).unwrap_or_default())
        }
    }
}

/// A digest of the names that a copy deals with; 0 for all.
pub(crate) fn selection_sum(options: &Options) -> u64 {
    let tagged = |sum: u64, (tag, bytes): (u64, &[u8])| {
        fnv(fnv(sum, &[tag, bytes.len() as u64].map(u64::to_le_bytes).concat()), bytes)
    };
    let parts = options.selection.rules.iter().map(|part| match part {
        Selection::Exclude(pattern) => (2, &pattern[..]),
        Selection::Include(pattern) => (3, &pattern[..]),
        Selection::ExcludeFrom(content, zero) => (4 + u64::from(*zero), &content[..]),
        Selection::Names(content, zero) => (6 + u64::from(*zero), &content[..]),
        Selection::IncludeFrom(content, zero) => (8 + u64::from(*zero), &content[..]),
        Selection::Filter(rule) => (18, &rule[..]),
        Selection::FiltersFrom(content, zero) => (19 + u64::from(*zero), &content[..]),
        Selection::Whole(content) => (13, &content[..]),
    });
    let file_systems = options.selection.one_file_system.then_some((1, &b""[..]));
    let existing = options.comparison.existing.then_some((10, &b""[..]));
    let bounds: Vec<_> = options.selection.bounds.numbered().collect();
    let bounds = bounds.iter().map(|(tag, bound)| (*tag, &bound[..]));
    let follow =
        (options.links.follow != FollowLinks::Never).then_some((14 + options.links.follow as u64, &b""[..]));
    let begin_above = options.selection.patterns_begin_above && !options.selection.rules.is_empty();
    let begin_above = begin_above.then_some((21, &b""[..]));
    let safe_links = options.links.safe_links.then_some((17, &b""[..]));
    let others = file_systems
        .into_iter()
        .chain(existing)
        .chain(bounds)
        .chain(follow)
        .chain(safe_links)
        .chain(begin_above);
    match others.chain(parts).fold(None, |sum, part| Some(tagged(sum.unwrap_or(1), part))) {
        Some(sum) => sum.max(1),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::options::Update;
    use datapump_files::attributes::permissions::Permissions;

    #[test]
    fn a_host_is_the_same_on_another_port() {
        for (place, host) in [
            ("host:4000", "host"),
            ("[::1]:4000", "[::1]"),
            ("user@host", "user@host"),
            ("user@[::1]", "user@[::1]"),
            ("the sender", "the sender"),
        ] {
            assert_eq!(without_port(place), host);
        }
    }

    fn given(words: &str) -> Given {
        Given { permissions: Permissions::parse(words, 0).ok(), ..Given::NOTHING }
    }

    #[test]
    fn options_that_decide_what_is_kept_have_another_digest() {
        let usual = Options::default();
        let keep = |keep| Options::default().with(|it| it.attributes.keep = keep);
        let others = [
            keep(Keep { mode: false, ..Keep::default() }),
            keep(Keep { acl: false, ..Keep::default() }),
            keep(Keep { owner: false, ..Keep::default() }),
            keep(Keep { times: false, ..Keep::default() }),
            keep(Keep { xattrs: false, ..Keep::default() }),
            keep(Keep { links: false, ..Keep::default() }),
            keep(Keep { numeric_ids: true, ..Keep::default() }),
            keep(Keep { given: given("go-w"), ..Keep::default() }),
            keep(Keep { given: Given { user: Some(1), ..Given::NOTHING }, ..Keep::default() }),
            Options::default().with(|it| it.durability.verify = true),
            Options::default().with(|it| it.durability.sync = Sync::None),
        ];
        assert!(others.iter().all(|other| attribute_options_sum(other) != attribute_options_sum(&usual)));
        let same = Options::default().with(|it| {
            it.tuning.lanes = Some(3);
            it.durability.sync = Sync::Each;
            it.deletion.delete = true;
        });
        assert_eq!(attribute_options_sum(&same), attribute_options_sum(&usual));
        // A mark tells of a copy of the very source: whatever is left alone elsewhere, that is right.
        let other_files = Options::default().with(|it| {
            it.comparison.update = Update::Differs;
            it.comparison.size_only = true;
        });
        assert_eq!(attribute_options_sum(&other_files), attribute_options_sum(&usual));
    }

    #[test]
    fn other_names_have_another_digest() {
        let of = |selection: &[Selection], one_file_system| {
            selection_sum(&Options::default().with(|it| {
                it.selection.rules = selection.to_vec();
                it.selection.one_file_system = one_file_system;
            }))
        };
        let (a, b) = (b"a".to_vec(), b"b".to_vec());
        let digests = [
            of(&[], false),
            of(&[], true),
            of(&[Selection::Exclude(a.clone())], false),
            of(&[Selection::Exclude(a.clone())], true),
            of(&[Selection::Include(a.clone())], false),
            of(&[Selection::ExcludeFrom(a.clone(), false)], false),
            of(&[Selection::ExcludeFrom(a.clone(), true)], false),
            of(&[Selection::Names(a.clone(), false)], false),
            of(&[Selection::Exclude(a.clone()), Selection::Exclude(b)], false),
            of(&[Selection::Exclude(b"ab".to_vec())], false),
        ];
        let distinct: std::collections::BTreeSet<u64> = digests.into_iter().collect();
        assert_eq!((distinct.len(), digests[0]), (digests.len(), 0));
        assert_eq!(of(&[Selection::Exclude(a)], false), digests[2]);
    }
}
