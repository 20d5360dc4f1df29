//! Places of a caller with wildcards: the names that they match below the home folder of this side's user, as his shell
//! would have it.
//!
//! A name that stands as it is written is no pattern, and neither is one that matches nothing: what follows says that
//! it is not there. Names come sorted by their bytes.
//!
//! Must not know: what is read of the places.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use datapump_core::wildcard::{has_wildcards, name_matches};
use datapump_core::wire::SOURCES_MAX;
use datapump_core::wire::session::{Begin, Direction};
use minicbor::bytes::ByteVec;

use super::places::resolve_for_user;
use crate::count_ahead::served_root::ServedRoot;
use crate::problem::{Class, Operation, Problem};
use datapump_files::disk::names;

/// They are told in one message of 1 MiB.
const BYTES_MAX: usize = 900 << 10;

/// What the places stand for, where the caller wants to know and may.
///
/// Errors: more than a message holds.
pub(super) fn expand_patterns(root: &ServedRoot, begin: &Begin) -> Result<Option<Vec<ByteVec>>, Problem> {
    let ServedRoot::User(home) = root else { return Ok(None) };
    if begin.expands != Some(true) || begin.way != Direction::Pull {
        return Ok(None);
    }
    let mut all: Vec<ByteVec> = Vec::new();
    for typed in &begin.sources {
        all.extend(match_pattern(home, typed)?);
        check_fits(&all, typed)?;
    }
    Ok(Some(all))
}

/// Errors: these names are more than a message holds.
fn check_fits(all: &[ByteVec], typed: &[u8]) -> Result<(), Problem> {
    // So much is a name of its own in a message.
    const EACH: usize = 9;
    let bytes: usize = all.iter().map(|place| place.len() + EACH).sum();
    if all.len() <= SOURCES_MAX && bytes <= BYTES_MAX {
        return Ok(());
    }
    let words = "matches more names than one copy takes from another host; copy its folder with --include";
    Err(Problem::new(Class::Usage, Operation::List, Path::new(OsStr::from_bytes(typed)), words))
}

/// The places that a pattern matches; the pattern itself if none do, or if it exists by that name.
fn match_pattern(home: &Path, typed: &[u8]) -> Result<Vec<ByteVec>, Problem> {
    if !has_wildcards(typed) || stands(home, typed) {
        return Ok(vec![typed.to_vec().into()]);
    }
    let mut found = vec![ByteVec::from(Vec::new())];
    for component in typed.split_inclusive(|byte| *byte == b'/') {
        let mut next = Vec::new();
        for above in &found {
            next.extend(match_component(home, above, component));
            check_fits(&next, typed)?;
        }
        found = next;
    }
    // Names that were just listed stand; a folder, or what lies below one, may not.
    if !typed.rsplit(|byte| *byte == b'/').next().is_some_and(has_wildcards) {
        found.retain(|place| stands(home, place));
    }
    Ok(if found.is_empty() { vec![typed.to_vec().into()] } else { found })
}

/// A link without an end stands, too. With a slash behind it a name is that of a folder.
fn stands(home: &Path, place: &[u8]) -> bool {
    let path = resolve_for_user(home, Path::new(OsStr::from_bytes(place)));
    path.is_ok_and(|path| path.symlink_metadata().is_ok())
}

/// The places one component further on, which may end in a slash.
fn match_component(home: &Path, above: &[u8], component: &[u8]) -> Vec<ByteVec> {
    let (name, slash) = match component.strip_suffix(b"/") {
        Some(name) => (name, &b"/"[..]),
        None => (component, &b""[..]),
    };
    let is_pattern = has_wildcards(name);
    let names = if is_pattern { list_matching(home, above, name) } else { vec![name.to_vec()] };
    // What begins so would be taken for somebody's home folder.
    let is_home = |name: &[u8]| is_pattern && above.is_empty() && name.starts_with(b"~");
    let first = |name: &[u8]| if is_home(name) { &b"./"[..] } else { &b""[..] };
    names.iter().map(|name| [first(name), above, name, slash].concat().into()).collect()
}

/// The names of a folder that match. One that cannot be read has none.
fn list_matching(home: &Path, folder: &[u8], pattern: &[u8]) -> Vec<Vec<u8>> {
    let path = resolve_for_user(home, Path::new(OsStr::from_bytes(folder)));
    // To open a device may have effects.
    let folder = path.ok().filter(|path| path.is_dir());
    let Some(open) = folder.and_then(|path| names::open_path(&path).ok()) else { return Vec::new() };
    let (mut found, mut cookie) = (Vec::new(), 0);
    // Behind one more than may be told nothing is looked for.
    while found.len() <= SOURCES_MAX
        && let Ok((entries, next)) = names::list(&open, cookie)
        && !entries.is_empty()
    {
        let all = entries.iter().map(|entry| entry.name.as_bytes());
        found.extend(all.filter(|name| name_matches(pattern, name)).map(<[u8]>::to_vec));
        cookie = next;
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_stands_for_the_names_that_it_matches() {
        let home = tempfile::tempdir().expect("room");
        for folder in ["logs", "logs/old", "b*d"] {
            std::fs::create_dir(home.path().join(folder)).expect("room");
        }
        for file in ["b.log", "a.log", ".c.log", "x[1]", "logs/1", "logs/old/2", "x1", "b*d/3", "~y"] {
            std::fs::write(home.path().join(file), "x").expect("room");
        }
        let absolute = format!("{}/?.log", home.path().display());
        for (typed, expected) in [
            ("*.log", &["a.log", "b.log"][..]),
            (".*.log", &[".c.log"]),
            ("~/*.log", &["~/a.log", "~/b.log"]),
            ("l*/old/*", &["logs/old/2"]),
            ("*/", &["b*d/", "logs/"]),
            ("logs/*", &["logs/1", "logs/old"]),
            ("x[1]", &["x[1]"]),
            ("b*d/3", &["b*d/3"]),
            ("x[12", &["x[12"]),
            ("none*", &["none*"]),
            ("a.log", &["a.log"]),
            ("~nobody/*", &["~nobody/*"]),
            ("?y", &["./~y"]),
        ] {
            let found = match_pattern(home.path(), typed.as_bytes()).expect("few names");
            let found: Vec<String> = found.iter().map(|it| String::from_utf8_lossy(it).into()).collect();
            assert_eq!(found, expected, "{typed}");
        }
        assert_eq!(match_pattern(home.path(), absolute.as_bytes()).expect("few names").len(), 2);
    }
}
