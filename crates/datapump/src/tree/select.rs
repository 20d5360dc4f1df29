//! Which names of a tree are dealt with: patterns, and lists of names.
//!
//! Must not know: how folders are listed, how patterns match (`filter`).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::disk::Name;
use crate::options::Selection;
use crate::problem::Problem;
use crate::tree::filter::{Effect, Filter, Rule, parse_names, read_lines};

/// What was selected.
#[derive(Debug, Default)]
pub(crate) struct Select {
    filter: Filter,
    filters: bool,
    /// For each folder its names, if only some were listed.
    names: Option<BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>>,
}

impl Select {
    /// Reads patterns and lists; an error says which one is wrong.
    pub(crate) fn new(selection: &[Selection]) -> Result<Select, Problem> {
        let (mut rules, mut names) = (Vec::new(), None);
        for part in selection {
            match part {
                Selection::Exclude(pattern) => rules.push(Rule::exclude(pattern)),
                Selection::Include(pattern) => rules.push(Rule::include(pattern)),
                Selection::ExcludeFrom(content, zero) => match read_lines(content, *zero, Effect::Exclude) {
                    Ok(more) => rules.extend(more.into_iter().map(Ok)),
                    Err(error) => rules.push(Err(error)),
                },
                Selection::Names(content, zero) => {
                    let list = parse_names(content, *zero).map_err(Problem::usage)?;
                    // An empty list selects nothing.
                    let names = names.get_or_insert_default();
                    list.iter().for_each(|name| add(names, name));
                }
            }
        }
        let rules: Vec<Rule> = rules.into_iter().collect::<Result<_, _>>().map_err(Problem::usage)?;
        let filters = !rules.is_empty();
        Ok(Select { filter: Filter::new(rules), filters, names })
    }

    /// Whether a name is dealt with. The folder's path is made only where there are patterns.
    pub(crate) fn includes<P: AsRef<Path>>(
        &self,
        folder: impl FnOnce() -> P,
        name: &OsStr,
        is_folder: bool,
    ) -> bool {
        !self.filters || self.filter.includes(folder().as_ref().join(name).as_os_str().as_bytes(), is_folder)
    }

    /// The names of a folder from the one with this number on, if only some were listed; in order.
    pub(crate) fn listed<P: AsRef<Path>>(&self, folder: impl FnOnce() -> P, from: u64) -> Option<Vec<Name>> {
        let names = self.names.as_ref()?.get(folder().as_ref().as_os_str().as_bytes());
        let name = |name: &Vec<u8>| Name::here(OsStr::from_bytes(name).to_owned(), None);
        Some(names.into_iter().flatten().skip(from as usize).map(name).collect())
    }

    /// Whether a list has names below this one.
    pub(crate) fn has_below<P: AsRef<Path>>(&self, folder: impl FnOnce() -> P, name: &OsStr) -> bool {
        let path = || folder().as_ref().join(name);
        self.names.as_ref().is_some_and(|names| names.contains_key(path().as_os_str().as_bytes()))
    }

    /// Whether only names of a list are dealt with.
    pub(crate) fn is_list(&self) -> bool {
        self.names.is_some()
    }
}

/// Adds a path and the folders it lies in.
fn add(names: &mut BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>, path: &[u8]) {
    let mut rest = path;
    while !rest.is_empty() {
        let cut = rest.iter().rposition(|&byte| byte == b'/');
        let (folder, name) = match cut {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => (&b""[..], rest),
        };
        names.entry(folder.to_vec()).or_default().insert(name.to_vec());
        rest = folder;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_brings_the_folders_that_its_names_lie_in() {
        let select = Select::new(&[Selection::Names(b"a/b/c\nd\n".to_vec(), false)]).unwrap();
        let listed = |folder: &str| -> Vec<String> {
            let names = select.listed(|| folder, 0).unwrap();
            names.into_iter().map(|name| name.name.into_string().unwrap()).collect()
        };
        assert_eq!(listed(""), ["a", "d"]);
        assert_eq!(listed("a"), ["b"]);
        assert_eq!(listed("a/b"), ["c"]);
        assert_eq!(listed("d"), [""; 0]);
    }

    #[test]
    fn a_bad_pattern_is_a_usage_error() {
        assert!(Select::new(&[Selection::Exclude(b"[a".to_vec())]).is_err());
    }
}
