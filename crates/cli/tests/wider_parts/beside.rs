//! What `pump` made compared with what rsync made: every difference but those that are meant, each by a narrow rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use super::pair::{Asked, Form, Way};
use crate::support::listing::Entry;

pub type Tree = BTreeMap<PathBuf, Entry>;

const SET_ID_BITS: u32 = 0o6000;
const GROUP_BITS: u32 = 0o070;

/// What both were asked, and what stood there before.
pub struct Known<'a> {
    asked: &'a Asked,
    /// Under the names of the copy.
    source: Tree,
    /// Both of the copy and of what is linked to.
    before: &'a Tree,
}

impl Known<'_> {
    pub fn new<'a>(asked: &'a Asked, source: &Tree, before: &'a Tree) -> Known<'a> {
        let root = root_of(asked);
        let under_copy = |(path, entry): (&PathBuf, &Entry)| {
            let entry = Entry { first_name: root.join(&entry.first_name), ..entry.clone() };
            (root.join(path), entry)
        };
        Known { asked, source: source.iter().map(under_copy).collect(), before }
    }

    /// Both trees, without what is meant to differ.
    pub fn comparable(&self, mut rsync: Tree, mut pump: Tree) -> (Tree, Tree) {
        let lists = self.with_lists(&rsync, &pump);
        for tree in [&mut rsync, &mut pump] {
            // The folder that holds both the copy and what is linked to is made by the test.
            tree.remove(Path::new(""));
            if self.asked.form == Form::Names {
                part_arguments(tree);
            }
        }
        let forget = |path: &Path, entry: &mut Entry| self.forget(path, entry, lists.contains(path));
        pump.iter_mut().for_each(|(path, entry)| forget(path, entry));
        for (path, entry) in &mut rsync {
            self.stays(path, entry);
            forget(path, entry);
            let Some(found) = pump.get(path) else { continue };
            let expected = self.source.get(path).map(|source| {
                let mut source = source.clone();
                self.stays(path, &mut source);
                forget(path, &mut source);
                source
            });
            let before = self.before.get(path).map(|before| {
                let mut before = before.clone();
                forget(path, &mut before);
                before
            });
            self.allow(path, (entry, found), (expected.as_ref(), before.as_ref()));
        }
        // What a pattern for folders excludes in the source or at the target stays, whatever it is on the other side.
        let stays = |path: &PathBuf| {
            path.ancestors().any(|path| {
                let kinds = (self.source.get(path), self.before.get(path));
                let differ = kinds.0.zip(kinds.1).is_some_and(|(one, other)| one.kind != other.kind);
                differ && self.asked.excludes_folders()
            })
        };
        for tree in [&mut rsync, &mut pump] {
            tree.retain(|path, _| !stays(path));
        }
        (rsync, pump)
    }

    /// Allows what is right in another way than rsync's: as it is in the source, or as it was.
    fn allow(
        &self,
        path: &Path,
        (entry, found): (&mut Entry, &Entry),
        (source, before): (Option<&Entry>, Option<&Entry>),
    ) {
        let is_right = source.is_some_and(|source| is_same_file(found, source));
        let is_as_before = before.is_some_and(|before| is_same_file(found, before));
        if self.is_tangled(path) {
            entry.first_name.clone_from(&found.first_name);
        }
        if (is_right && self.may_be_right(path)) || (is_as_before && self.may_stay(path)) {
            *entry = found.clone();
        }
        // rsync takes what stands there, or an older file, for right by size and time, and copies or links that.
        if !self.must_stay(path) && source.is_some_and(|source| source.content == found.content) {
            entry.content.clone_from(&found.content);
        }
        // Its time is that of what was made in it last.
        if self.keeps_own(path) && before.is_some_and(|it| (it.mode, it.owner) == (found.mode, found.owner)) {
            (entry.mode, entry.owner, entry.mtime) = (found.mode, found.owner, found.mtime);
        }
        // To empty a folder rsync opens it up; that it could not be emptied does not close it again.
        if source.is_none() && before.is_some_and(|before| before.mode == found.mode) {
            entry.mode = found.mode;
        }
        // What gets other attributes gets its time, too; rsync leaves one that is within the window.
        if self.asked.way == Way::Window && source.is_some_and(|source| source.mtime == found.mtime) {
            entry.mtime = found.mtime;
        }
        // Of a set of which only some names are right in size and time any of them may be met first, and the others are
        // linked to it.
        if self.has_name_that_seems_right(path, found) {
            entry.content.clone_from(&found.content);
        }
        // The time of a folder in which something was removed is that of the run.
        if source.is_none() && before.is_some_and(|it| it.mtime != entry.mtime && it.mtime != found.mtime) {
            entry.mtime = found.mtime;
        }
    }

    fn may_be_right(&self, path: &Path) -> bool {
        // The file of a set of which a name is missing or differs is copied anew, and all names are linked to it; rsync
        // links them to one whose size and time are right.
        let is_made_anew =
            self.is_set(path) && self.asked.way != Way::IgnoreExisting && !self.must_stay(path);
        // rsync links links, pipes and devices whose extended attributes are not the same, and takes the content of an
        // older file with other attributes for right.
        let is_from_older = self.asked.links_to_older && path.starts_with("copy");
        is_made_anew || is_from_older || self.is_tangled(path) || self.may_stay(path)
    }

    fn may_stay(&self, path: &Path) -> bool {
        let tangled = self.is_tangled(path);
        // Another name of it may not be one that was asked for.
        let is_part = self.asked.leaves_out();
        // rsync gives what stands in the place of a folder the time of that.
        let kinds = (self.source.get(path), self.before.get(path));
        if kinds.0.zip(kinds.1).is_some_and(|(source, before)| source.kind != before.kind) {
            return self.asked.way == Way::IgnoreExisting;
        }
        let (Some(source), Some(before)) = (self.source.get(path), self.before.get(path)) else {
            return tangled;
        };
        // Where nanoseconds count rsync writes over what is newer by a second or less.
        let is_close = (before.mtime.0 - source.mtime.0).abs() <= 1;
        let is_newer = before.mtime > source.mtime;
        // rsync asks it of the first name of a set alone, and links the others to that.
        let may_be_older = is_close || ((tangled || self.is_set(path)) && is_newer);
        ((tangled || self.is_set(path)) && is_part) || (self.looks_for_older() && may_be_older)
    }

    /// A root that all may write to, as /tmp, with another mode or owner than the source.
    fn keeps_own(&self, path: &Path) -> bool {
        const STICKY_AND_OPEN: u32 = 0o1002;
        let is_named = self.asked.form == Form::Names && path.parent() == Some(Path::new("copy"));
        let is_root = is_named || path == root_of(self.asked);
        let (source, before) = (self.source.get(path), self.before.get(path));
        let is_open = |(source, before): (&Entry, &Entry)| {
            before.mode & STICKY_AND_OPEN == STICKY_AND_OPEN
                && (before.mode, before.owner) != (source.mode, source.owner)
        };
        is_root && !self.asked.deletes && source.zip(before).is_some_and(is_open)
    }

    /// Whether what stands there may not be written over.
    fn must_stay(&self, path: &Path) -> bool {
        let is_newer = |source: &Entry, before: &Entry| before.mtime > source.mtime;
        let (source, before) = (self.source.get(path), self.before.get(path));
        let stays = |(source, before)| self.looks_for_older() && is_newer(source, before);
        before.is_some() && self.asked.way == Way::IgnoreExisting || source.zip(before).is_some_and(stays)
    }

    fn looks_for_older(&self) -> bool {
        matches!(self.asked.way, Way::Older | Way::OlderChecksum)
    }

    /// The source's names of this file.
    fn set(&self, path: &Path) -> BTreeSet<PathBuf> {
        let alone = || BTreeSet::from([path.to_path_buf()]);
        self.source.get(path).map_or_else(alone, |source| names_of(&self.source, source).cloned().collect())
    }

    fn is_set(&self, path: &Path) -> bool {
        self.set(path).len() > 1
    }

    /// One of the names of this file is at the target that of another, too. Attributes belong to the file, not to the
    /// name: pump copies such a file anew, where rsync changes it under all of its names.
    fn is_tangled(&self, path: &Path) -> bool {
        let names = self.set(path);
        let before = names.iter().filter_map(|name| self.before.get(name));
        before.flat_map(|entry| names_of(self.before, entry)).any(|path| !names.contains(path))
    }

    /// An action on one name changes what is found of another.
    pub fn has_tangle(&self) -> bool {
        self.source.keys().any(|path| self.is_tangled(path))
    }

    fn has_name_that_seems_right(&self, path: &Path, found: &Entry) -> bool {
        let seems_right = |name: &PathBuf| {
            let (before, source) = (self.before.get(name), self.source.get(name));
            before.zip(source).is_some_and(|(before, source)| {
                before.content == found.content
                    && before.content.0 == source.content.0
                    && (before.mtime == source.mtime || self.asked.way == Way::SizeOnly)
            })
        };
        self.is_set(path) && self.set(path).iter().any(seems_right)
    }

    /// Paths that have an access control list before or after.
    fn with_lists(&self, rsync: &Tree, pump: &Tree) -> BTreeSet<PathBuf> {
        let has_list = |entry: &Entry| entry.xattrs.keys().any(|name| is_list(name));
        let all = [&self.source, self.before, rsync, pump].into_iter().flatten();
        all.filter(|(_, entry)| has_list(entry)).map(|(path, _)| path.clone()).collect()
    }

    /// What stood there, if it was of the same kind.
    fn stood(&self, path: &Path, entry: &Entry) -> Option<&Entry> {
        self.before.get(path).filter(|before| before.kind == entry.kind)
    }

    /// Drops what is not compared.
    fn forget(&self, path: &Path, entry: &mut Entry, has_list: bool) {
        let Asked { kept, form, .. } = *self.asked;
        // A folder that receives others keeps its attributes; its time is that of the run.
        if !kept.times || (matches!(form, Form::Into | Form::Names) && path == Path::new("copy")) {
            entry.mtime = (0, 0);
        }
        // The folder that the names of a list lie in gets its attributes, too; from rsync not the outermost.
        if self.asked.list.is_some() && path == Path::new("copy") {
            (entry.mode, entry.mtime, entry.owner) = (0, (0, 0), None);
            entry.xattrs.clear();
        }
        // pump links regular files alone to older ones, rsync links, pipes and devices, too.
        if self.asked.links_to_older && entry.kind != "file" {
            entry.first_name = PathBuf::new();
        }
        // Empty files of which only the content counts are not linked: there is nothing to save.
        if entry.content.0 == 0 && self.asked.way == Way::Checksum {
            entry.first_name = PathBuf::new();
        }
        // The file of a set of which an older copy has some names alone may be copied.
        if path.starts_with("old") && self.is_set(&below_old(path)) {
            entry.first_name = PathBuf::new();
        }
        // A new name gets what any new file gets; rsync takes the mode of the source, less the umask.
        let is_open = self.stood(path, entry).is_none() || self.was_no_set(path);
        if !kept.mode && is_open {
            entry.mode = 0;
        }
        if !kept.owner && is_open {
            entry.owner = None;
        }
        if !kept.xattrs && is_open {
            entry.xattrs.retain(|name, _| is_list(name));
        }
        // What belongs to somebody else does not run as its owner.
        if !(kept.owner && self.asked.by_root)
            && self.source.get(path).is_some_and(|source| source.owner != entry.owner)
        {
            entry.mode &= !SET_ID_BITS;
        }
        // A list that is not kept does not let in its mask as the group, and one that stands there stays.
        if !kept.acl && has_list {
            entry.mode &= !GROUP_BITS;
            entry.xattrs.retain(|name, _| !is_list(name));
        }
    }

    /// An attribute that is not kept stays as it is where something stands; rsync gives a file that it writes anew what
    /// a new file gets.
    fn stays(&self, path: &Path, entry: &mut Entry) {
        let kept = self.asked.kept;
        let Some(stood) = self.stood(path, entry) else { return };
        if !kept.owner && self.asked.by_root {
            entry.owner = stood.owner;
        }
        // rsync sets it nevertheless with an extended attribute.
        if !kept.mode {
            entry.mode = stood.mode;
        }
        if !kept.xattrs {
            entry.xattrs.retain(|name, _| is_list(name));
            let others = stood.xattrs.iter().filter(|(name, _)| !is_list(name));
            entry.xattrs.extend(others.map(|(name, value)| (name.clone(), value.clone())));
        }
    }

    /// The names of this file were several files, or some were missing: what stays is that of any of them.
    fn was_no_set(&self, path: &Path) -> bool {
        let first_name = |name: &PathBuf| self.before.get(name).map(|before| before.first_name.clone());
        self.set(path).iter().map(first_name).collect::<BTreeSet<_>>().len() > 1
    }
}

/// The copy of the source's root.
fn root_of(asked: &Asked) -> &'static Path {
    Path::new(if asked.form == Form::Into { "copy/source" } else { "copy" })
}

/// The name in the copy that corresponds to one in the older copy.
fn below_old(path: &Path) -> PathBuf {
    path.strip_prefix("old").map_or_else(|_| path.into(), |below| Path::new("copy").join(below))
}

/// The names of an entry's file.
fn names_of<'a>(tree: &'a Tree, entry: &'a Entry) -> impl Iterator<Item = &'a PathBuf> {
    tree.iter().filter(|(_, other)| other.first_name == entry.first_name).map(|(path, _)| path)
}

/// Apart from which other names it has.
fn is_same_file(one: &Entry, other: &Entry) -> bool {
    let other = Entry { first_name: one.first_name.clone(), ..other.clone() };
    *one == other
}

fn is_list(name: &[u8]) -> bool {
    name.starts_with(b"system.posix_acl_")
}

/// Names of one file are one file in the copy within an argument that is a folder, and among those that are files; in
/// one argument and another folder they are two.
fn part_arguments(tree: &mut Tree) {
    let argument = |path: &Path| path.components().take(2).collect::<PathBuf>();
    let is_named = |path: &Path, entry: &Entry| entry.kind == "file" && argument(path) == path;
    let mut first_names = BTreeMap::new();
    for (path, entry) in tree.iter_mut() {
        let key =
            (if is_named(path, entry) { PathBuf::new() } else { argument(path) }, entry.first_name.clone());
        entry.first_name = first_names.entry(key).or_insert_with(|| path.clone()).clone();
    }
}

/// What differs between two entries of one path.
fn told(path: &Path, [one, other]: [Option<&Entry>; 2]) -> Option<String> {
    let (one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (Some(one), None) => return Some(format!("{path:?}: rsync has a {}, pump nothing", one.kind)),
        (None, other) => return Some(format!("{path:?}: rsync has nothing, pump a {}", other?.kind)),
    };
    let mut told = Vec::new();
    let mut tell = |what: &str, one: &dyn Debug, other: &dyn Debug| {
        let texts = [one, other].map(|it| format!("{it:?}").chars().take(300).collect::<String>());
        told.extend((texts[0] != texts[1]).then(|| format!("{what} {} | {}", texts[0], texts[1])));
    };
    tell("kind", &one.kind, &other.kind);
    tell("mode", &format!("{:o}", one.mode), &format!("{:o}", other.mode));
    tell("owner", &one.owner, &other.owner);
    tell("mtime", &one.mtime, &other.mtime);
    tell("device", &one.device, &other.device);
    tell("content", &one.content, &other.content);
    tell("name of", &one.first_name, &other.first_name);
    let names: BTreeSet<_> = one.xattrs.keys().chain(other.xattrs.keys()).collect();
    for name in names {
        tell(&String::from_utf8_lossy(name), &one.xattrs.get(name), &other.xattrs.get(name));
    }
    (!told.is_empty()).then(|| format!("{} {path:?}: {}", one.kind, told.join("; ")))
}

/// A long name of the generator without its end.
fn short(line: String) -> String {
    let mut line = line;
    while let Some(at) = line.find("nnnnnnnnnn") {
        let end = line[at..].find(|letter| letter != 'n').map_or(line.len(), |end| at + end);
        line.replace_range(at..end, "n…n");
    }
    line
}

/// A line for each path that is not the same in both.
pub fn compared(one: &Tree, other: &Tree) -> Vec<String> {
    let paths: BTreeSet<&PathBuf> = one.keys().chain(other.keys()).collect();
    paths.into_iter().filter_map(|path| told(path, [one.get(path), other.get(path)])).map(short).collect()
}
