//! Judges of copied trees: rsync's dry run, and our own listing, which sees links that are too many as well.

use std::path::Path;

use super::{long_path, program};
use crate::support::listing::{self, differences, listing, without_owners};

/// For copies by an ordinary user.
pub const NO_OWNERS: [&str; 2] = ["--no-owner", "--no-group"];

/// What rsync would change to make the copy like the source; nothing if they are the same. Sockets are not copied by
/// anybody, and paths longer than PATH_MAX are too much for rsync.
pub fn rsync_difference(source: &Path, copy: &Path, more: &[&str]) -> String {
    let long = format!("--exclude=/{}", long_path::NAME);
    // Nanoseconds count: --modify-window=-1.
    let words = ["rsync", "-aHAXSn", "--itemize-changes", "--checksum", "--delete", "--modify-window=-1"];
    let places = [source, copy].map(|path| format!("{}/", path.display()));
    // XFS shows root its own form of the lists, which rsync compares as lists already.
    let attributes = ["--filter=-x system.*", "--filter=-x trusted.SGI_*"];
    let excluded = ["--exclude=*.socket", &long, attributes[0], attributes[1]];
    shortened(program(&[&words[..], &excluded, more, &[&places[0], &places[1]]].concat()))
}

/// The first lines tell; a tree that is nested in another makes a million more.
fn shortened(text: String) -> String {
    const LINES_MAX: usize = 20;
    let more = text.lines().count().saturating_sub(LINES_MAX);
    match more {
        0 => text,
        _ => format!("{}… and {more} more", text.split_inclusive('\n').take(LINES_MAX).collect::<String>()),
    }
}

/// The copy is the same as the source, and nothing else is in it.
pub fn same_tree(source: &Path, copy: &Path, row: &str) {
    assert_eq!(rsync_difference(source, copy, &[]), "", "{row}: rsync");
    let found = differences(&listing(source), &listing(copy));
    assert!(found.is_empty(), "{row}: {} differences: {:#?}", found.len(), &found[..found.len().min(20)]);
    no_leftovers(copy, row);
}

/// The same, apart from owners.
pub fn same_tree_apart_from_owners(source: &Path, copy: &Path, row: &str) {
    assert_eq!(rsync_difference(source, copy, &NO_OWNERS), "", "{row}: rsync");
    let found = differences(&without_owners(listing(source)), &without_owners(listing(copy)));
    assert!(found.is_empty(), "{row}: {} differences: {:#?}", found.len(), &found[..found.len().min(20)]);
    no_leftovers(copy, row);
}

pub fn no_leftovers(copy: &Path, row: &str) {
    assert_eq!(listing::leftovers_below(copy), [""; 0], "{row}: left behind");
}

/// Every regular file that is there under a final name is the source's, with its attributes. Gives how many there are.
pub fn whatever_is_there_is_whole(source: &Path, copy: &Path, row: &str) -> usize {
    let mut whole = 0;
    for path in listing::paths(copy).into_iter().filter(|path| !is_ours(path)) {
        let found = copy.join(&path);
        if !found.symlink_metadata().expect("nobody removes it").is_file() {
            continue;
        }
        same_file(&source.join(&path), &found, row);
        whole += 1;
    }
    whole
}

/// A temporary name, a journal, or a job file.
pub fn is_ours(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".pump-"))
}

fn same_file(source: &Path, copy: &Path, row: &str) {
    use std::os::unix::fs::MetadataExt;
    let facts = |path: &Path| {
        let meta = path.symlink_metadata().unwrap_or_else(|error| panic!("{row}: {path:?}: {error}"));
        (meta.len(), meta.mode(), meta.mtime(), meta.mtime_nsec())
    };
    assert_eq!(facts(copy), facts(source), "{row}: length, mode, mtime of {copy:?}");
    let content =
        |path: &Path| std::fs::read(path).unwrap_or_else(|error| panic!("{row}: {path:?}: {error}"));
    assert!(content(copy) == content(source), "{row}: content of {copy:?}");
}
