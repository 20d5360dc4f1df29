//! Places of a host that ssh reaches may be patterns, which the other side expands. It is not trusted with more: each
//! place that it names must be one that was asked for, and none that was may be missing.
//!
//! Must not know: how the names are found.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use datapump_core::wildcard::{has_wildcards, path_matches};
use datapump_transport::{Host, NetFault};
use minicbor::bytes::ByteVec;

use crate::place::{Place, Remote};

/// Whether there is one.
pub(super) fn are_in(sources: &[Place]) -> bool {
    sources.iter().filter_map(of_ssh).any(|remote| has_wildcards(typed(remote)))
}

fn of_ssh(place: &Place) -> Option<&Remote> {
    match place {
        Place::Remote(remote) if matches!(remote.host, Host::Ssh(_)) => Some(remote),
        _ => None,
    }
}

fn typed(remote: &Remote) -> &[u8] {
    remote.path.as_os_str().as_bytes()
}

/// The sources, all of one host, as the other side says that they stand for; `None` if it said nothing.
///
/// Errors: it names something that no source stands for, or leaves one out.
pub(super) fn expand_sources(
    sources: &[Place],
    places: Option<Vec<ByteVec>>,
) -> Result<Option<Vec<Place>>, NetFault> {
    let sources: Vec<&Remote> = sources.iter().filter_map(of_ssh).collect();
    let (Some(places), Some(first)) = (places, sources.first()) else { return Ok(None) };
    let as_typed: HashSet<&[u8]> = sources.iter().map(|source| typed(source)).collect();
    let patterns: Vec<&[u8]> = as_typed.iter().copied().filter(|source| has_wildcards(source)).collect();
    let mut told = HashSet::new();
    for place in &places {
        // Several sources may stand for one name.
        let matching = patterns.iter().filter(|pattern| stands_for(pattern, place));
        let mut of = matching.chain(as_typed.get(&place[..])).peekable();
        of.peek().ok_or_else(|| not_asked_for(place))?;
        told.extend(of.copied());
    }
    match as_typed.difference(&told).next() {
        Some(left_out) => Err(NetFault::Protocol(format!(
            "the other side says nothing of '{}', which was asked for",
            crate::shown(left_out)
        ))),
        None => Ok(Some(places.iter().map(|place| remote_place(first, place)).collect())),
    }
}

fn remote_place(of: &Remote, path: &[u8]) -> Place {
    Place::Remote(Remote { path: Path::new(OsStr::from_bytes(path)).to_owned(), host: of.host.clone() })
}

fn not_asked_for(place: &[u8]) -> NetFault {
    NetFault::Protocol(format!("the other side names '{}', which was not asked for", crate::shown(place)))
}

/// A name that a shell would take for somebody's home folder is told behind `./`.
fn stands_for(pattern: &[u8], place: &[u8]) -> bool {
    let name = match place.strip_prefix(b"./") {
        Some(name) if name.starts_with(b"~") && !pattern.starts_with(b"./") => name,
        _ => place,
    };
    path_matches(pattern, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(typed: &[&str], told: &[&str]) -> Result<Option<Vec<Place>>, NetFault> {
        let sources: Vec<Place> =
            typed.iter().map(|place| Place::parse(OsStr::new(place)).expect("a place")).collect();
        expand_sources(&sources, Some(told.iter().map(|it| it.as_bytes().to_vec().into()).collect()))
    }

    #[test]
    fn names_that_no_pattern_matches_are_refused() {
        for (typed, told) in [
            ("a:*.log", "x.log"),
            ("a:*/x?", "b/x1"),
            ("a:.*", ".x"),
            ("a:x[1]", "x[1]"),
            ("a:*", "./~x"),
            ("a:*/", "x/"),
        ] {
            let expected = Place::parse(OsStr::new(&format!("a:{told}"))).expect("a place");
            assert_eq!(taken(&[typed], &[told]).expect(told), Some(vec![expected]), "{typed} {told}");
        }
        for (typed, told) in [
            ("a:*.log", "x.txt"),
            ("a:*.log", "y/x.log"),
            ("a:*", ".bashrc"),
            ("a:*/x", "../x"),
            ("a:**", "../.bashrc"),
            ("a:x[12]", "x3"),
            ("a:*", ""),
            ("a:x/*", "x/"),
            ("a:.*", "."),
            ("a:.*", ".."),
            ("a:*", "./x"),
            ("a:plain", "other"),
        ] {
            taken(&[typed], &[told]).expect_err(told);
        }
    }

    #[test]
    fn nothing_that_was_asked_for_is_left_out() {
        assert!(taken(&["a:x", "a:*.log"], &["x", "1.log", "2.log"]).is_ok());
        assert!(taken(&["a:*.log", "a:a*"], &["a.log", "a.log"]).is_ok());
        for told in [&["1.log"][..], &["x"], &[]] {
            taken(&["a:x", "a:*.log"], told).expect_err("one is missing");
        }
    }
}
