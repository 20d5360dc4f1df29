//! Which names of a tree are dealt with: patterns, and lists of names.
//!
//! Must not know: how folders are listed, how patterns match (`filter`).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::Selection;
use super::filter::{Effect, Filter, Rule, read_lines, read_rules};
use super::names::{ListedName, parse_names};
use super::unmatched::{PatternRoot, unmatched_message};
use crate::problem::Problem;

/// What was selected.
#[derive(Debug, Default)]
pub struct Select {
    filter: Filter,
    filters: bool,
    /// Only these, if a list was given.
    pub(super) list: Option<NameList>,
    /// The folders that were started.
    roots: Mutex<Vec<PatternRoot>>,
}

/// The rules of one flag, each of which may be wrong.
fn rules_of(part: &Selection) -> Vec<Result<Rule, String>> {
    let (flag, rules) = match part {
        Selection::Exclude(pattern) => ("--exclude", Rule::exclude(pattern).map(|rule| vec![rule])),
        Selection::Include(pattern) => ("--include", Rule::include(pattern).map(|rule| vec![rule])),
        Selection::Filter(rule) => ("--filter", Rule::parse_filter_rule(rule).map(|rule| vec![rule])),
        Selection::ExcludeFrom(content, zero) => {
            ("--exclude-from", read_lines(content, *zero, Effect::Exclude))
        }
        Selection::IncludeFrom(content, zero) => {
            ("--include-from", read_lines(content, *zero, Effect::Include))
        }
        Selection::FiltersFrom(content, zero) => ("--filter", read_rules(content, *zero)),
        Selection::Whole(_) | Selection::Names(..) => return Vec::new(),
    };
    match rules {
        Ok(rules) => rules.into_iter().map(|rule| Ok(rule.of_flag(flag))).collect(),
        Err(error) => vec![Err(error)],
    }
}

/// The names of a list.
#[derive(Debug, Default)]
pub(super) struct NameList {
    /// For each folder its names on the list: those that were written, and folders that they lie in. No pattern hides
    /// a folder that has some.
    pub(super) names: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// Folders that come with what lies in them.
    with_contents: BTreeSet<Vec<u8>>,
    /// Names that come with all that lies in them, however deep.
    whole: BTreeSet<Vec<u8>>,
    /// The folder that the names begin in is on the list itself.
    has_root: bool,
}

/// Where the names of a folder come from.
#[derive(Debug)]
pub enum Listing {
    /// From the folder itself, all of them.
    Folder,
    /// From a list; in order.
    Listed(Vec<Vec<u8>>),
    /// From a list, and then all others from the folder itself.
    Both(Vec<Vec<u8>>),
}

impl Select {
    /// Reads patterns and lists; an error says which one is wrong.
    pub fn new(selection: &[Selection]) -> Result<Select, Problem> {
        let (mut rules, mut names, mut whole) = (Vec::new(), None, BTreeSet::new());
        for part in selection {
            match part {
                Selection::Whole(content) => {
                    let list = parse_names(content, true).map_err(Problem::usage)?;
                    whole.extend(list.iter().map(|name| name.path.clone()));
                    names.get_or_insert_with(Vec::new).extend(list);
                }
                Selection::Names(content, zero) => {
                    let list = parse_names(content, *zero).map_err(Problem::usage)?;
                    // An empty list selects nothing.
                    names.get_or_insert_with(Vec::new).extend(list);
                }
                _ => rules.extend(rules_of(part)),
            }
        }
        let rules: Vec<Rule> = rules.into_iter().collect::<Result<_, _>>().map_err(Problem::usage)?;
        let filters = !rules.is_empty();
        let filter = Filter::new(rules);
        let list = names.map(|names| NameList { whole, ..NameList::new(names, &filter, filters) });
        Ok(Select { filter, filters, list, roots: Mutex::default() })
    }

    /// Whether a name is dealt with. Paths of patterns begin with `above`, those of lists behind it. The folder's path
    /// is made only where there are patterns.
    pub fn includes<P: AsRef<Path>>(
        &self,
        above: &Path,
        folder: impl FnOnce() -> P,
        name: &OsStr,
        is_folder: bool,
    ) -> bool {
        if !self.filters {
            return true;
        }
        let path = folder().as_ref().join(name);
        let listed = path.as_os_str().as_encoded_bytes();
        let is_implied = self.list.as_ref().is_some_and(|list| is_folder && list.names.contains_key(listed));
        is_implied || self.filter.includes(above.join(&path).as_os_str().as_encoded_bytes(), is_folder)
    }

    /// Whether a copy deals with a name of a folder: no list lacks it, and no pattern excludes it.
    pub fn deals_with(&self, (above, folder): (&Path, &Path), (name, is_folder): (&OsStr, bool)) -> bool {
        let is_listed = match self.listing(|| folder) {
            Listing::Folder | Listing::Both(_) => true,
            Listing::Listed(names) => names.iter().any(|listed| **listed == *name.as_encoded_bytes()),
        };
        is_listed && self.includes(above, || folder, name, is_folder)
    }

    /// Whether a name of the target stays, though the source does not have it.
    pub fn protects<P: AsRef<Path>>(
        &self,
        (above, folder): (&Path, impl FnOnce() -> P),
        (name, is_folder): (&OsStr, bool),
        excluded_go: bool,
    ) -> bool {
        self.filters && {
            let path = above.join(folder()).join(name);
            self.filter.protects(path.as_os_str().as_encoded_bytes(), is_folder, excluded_go)
        }
    }

    /// Whether some names of the target stay, though the source does not have them.
    pub fn protects_some(&self) -> bool {
        self.filters && self.filter.protects_some()
    }

    /// Whether a name that the user gave is dealt with, as if it lay in a folder that is copied. A pattern with a slash
    /// at its front is about what lies in a folder that is named, and not about that folder, unless patterns begin
    /// above it.
    pub fn includes_argument(&self, name: &OsStr, (is_folder, begin_above): (bool, bool)) -> bool {
        !self.filters || self.filter.includes_argument(name.as_encoded_bytes(), (is_folder, begin_above))
    }

    /// A pattern that means one name if patterns begin in the folder of this name, and another if they begin above it.
    pub fn dependent_on(&self, name: &OsStr) -> Option<&[u8]> {
        self.filter.dependent_on(name.as_encoded_bytes())
    }

    /// A tree is started: its source, and the name of that in the paths that patterns are matched against.
    pub fn begin(&self, source: &Path, above: &Path) {
        let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        roots.push(PatternRoot { source: source.to_path_buf(), above: above.to_path_buf() });
    }

    /// The words about patterns that begin with a slash and matched nothing, once all was walked. What lies below the
    /// names of a list is not walked.
    pub fn unmatched(&self) -> Option<String> {
        if self.list.as_ref().is_some_and(|list| list.whole.is_empty()) {
            return None;
        }
        unmatched_message(self.filter.unmatched(), &self.roots.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Where the names of a folder come from.
    pub fn listing<P: AsRef<Path>>(&self, folder: impl FnOnce() -> P) -> Listing {
        let Some(list) = &self.list else { return Listing::Folder };
        let path = folder();
        let path = path.as_ref().as_os_str().as_encoded_bytes();
        // Names of the list below a folder that comes with all in it are listed, too: one that is missing is a problem.
        let listed: Vec<Vec<u8>> = list.names.get(path).into_iter().flatten().cloned().collect();
        if !list.with_contents.contains(path) && !list.is_whole(path) {
            Listing::Listed(listed)
        } else if listed.is_empty() {
            Listing::Folder
        } else {
            Listing::Both(listed)
        }
    }

    /// Whether a list has names below this one.
    pub fn has_below<P: AsRef<Path>>(&self, folder: impl FnOnce() -> P, name: &OsStr) -> bool {
        let path = || folder().as_ref().join(name);
        self.list.as_ref().is_some_and(|list| list.names.contains_key(path().as_os_str().as_encoded_bytes()))
    }

    /// Whether the root is copied itself, and not only what lies in it.
    pub fn has_root(&self) -> bool {
        self.list.as_ref().is_none_or(|list| list.has_root)
    }

    /// Whether only names of a list are dealt with.
    pub fn is_list(&self) -> bool {
        self.list.is_some()
    }
}

impl NameList {
    /// Whether a folder is one of those that come with all that is in them, or lies in one.
    pub(super) fn is_whole(&self, path: &[u8]) -> bool {
        let mut ends = (0..path.len()).filter(|&at| path[at] == b'/').chain([0, path.len()]);
        !self.whole.is_empty() && ends.any(|end| self.whole.contains(&path[..end]))
    }

    /// A name that a pattern excludes, whatever it is, brings no folders, as with rsync.
    fn new(names: Vec<ListedName>, filter: &Filter, filters: bool) -> NameList {
        let has_root = names.iter().any(|name| name.path.is_empty());
        let mut list = NameList { has_root, ..NameList::default() };
        let is_included = |name: &ListedName| {
            let may_be_file = !name.with_contents && filter.includes(&name.path, false);
            !filters || name.path.is_empty() || may_be_file || filter.includes(&name.path, true)
        };
        for ListedName { path, with_contents } in names.into_iter().filter(is_included) {
            list.add(&path);
            if with_contents {
                list.with_contents.insert(path);
            }
        }
        list
    }

    /// Adds a path and the folders it lies in.
    fn add(&mut self, path: &[u8]) {
        let mut rest = path;
        while !rest.is_empty() {
            let cut = rest.iter().rposition(|&byte| byte == b'/');
            let (folder, name) = match cut {
                Some(at) => (&rest[..at], &rest[at + 1..]),
                None => (&b""[..], rest),
            };
            self.names.entry(folder.to_vec()).or_default().insert(name.to_vec());
            rest = folder;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_brings_the_folders_that_its_names_lie_in() {
        let select = Select::new(&[Selection::Names(b"a/b/c\nd\n".to_vec(), false)]).unwrap();
        let listed = |folder: &str| -> Vec<String> {
            let Listing::Listed(names) = select.listing(|| folder) else { panic!("a list was given") };
            names.into_iter().map(|name| String::from_utf8(name).unwrap()).collect()
        };
        assert_eq!(listed(""), ["a", "d"]);
        assert_eq!(listed("a"), ["b"]);
        assert_eq!(listed("a/b"), ["c"]);
        assert_eq!(listed("d"), [""; 0]);
        assert!(!select.has_root());
        let named = Select::new(&[Selection::Names(b"a\n./\n".to_vec(), false)]).unwrap();
        assert!(named.has_root() && Select::new(&[]).unwrap().has_root());
    }

    #[test]
    fn a_listed_folder_with_a_slash_comes_with_what_lies_in_it() {
        let select = Select::new(&[Selection::Names(b"a/\nb/c/\nb/c/d\n".to_vec(), false)]).unwrap();
        assert!(matches!(select.listing(|| "a"), Listing::Folder));
        assert!(matches!(select.listing(|| "b/c"), Listing::Both(names) if names.len() == 1));
        assert!(matches!(select.listing(|| "a/below"), Listing::Listed(names) if names.is_empty()));
    }

    #[test]
    fn no_pattern_hides_the_folders_that_a_listed_name_lies_in() {
        let list = Selection::Names(b"a/b/c\na/x\ny/z\n".to_vec(), false);
        let exclude = |pattern: &[u8]| Selection::Exclude(pattern.to_vec());
        let select =
            Select::new(&[exclude(b"a"), exclude(b"/a/b"), exclude(b"x"), exclude(b"z"), list]).unwrap();
        assert!(select.includes(Path::new(""), || "", OsStr::new("a"), true));
        assert!(select.includes(Path::new(""), || "a", OsStr::new("b"), true));
        assert!(select.includes(Path::new(""), || "a/b", OsStr::new("c"), false));
        let Listing::Listed(root) = select.listing(|| "") else { panic!("a list was given") };
        assert_eq!(root.len(), 1, "an excluded name brings no folder");
    }

    #[test]
    fn a_listed_folder_that_is_excluded_holds_the_listed_names_below_it_alone() {
        for written in ["d\nd/f\n", "d/\nd/f\n"] {
            let list = Selection::Names(written.as_bytes().to_vec(), false);
            let select = Select::new(&[Selection::Exclude(b"d/".to_vec()), list]).unwrap();
            assert!(select.includes(Path::new(""), || "", OsStr::new("d"), true), "{written}");
            assert!(
                matches!(select.listing(|| "d"), Listing::Listed(names) if names.len() == 1),
                "{written}"
            );
        }
    }

    #[test]
    fn an_argument_is_excluded_by_its_name() {
        let select =
            Select::new(&[Selection::Exclude(b"*.o".to_vec()), Selection::Exclude(b"/dir".to_vec())]);
        let select = select.unwrap();
        for (name, is_folder, begin_above, included) in [
            ("a.o", false, false, false),
            ("a.o", true, false, false),
            ("a.c", false, false, true),
            ("dir", true, false, true),
            ("dir", true, true, false),
            ("dir", false, false, false),
        ] {
            let included_now = select.includes_argument(OsStr::new(name), (is_folder, begin_above));
            assert_eq!(included_now, included, "{name}");
        }
    }

    #[test]
    fn a_bad_pattern_is_a_usage_error() {
        assert!(Select::new(&[Selection::Exclude(b"[a".to_vec())]).is_err());
    }
}
