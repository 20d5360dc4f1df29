//! What a tree holds, entry by entry, as the tests of trees compare it: kind, mode, owner, time, content, links.
//!
//! Sockets are left out: nobody copies them.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What one name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: &'static str,
    pub mode: u32,
    pub owner: Option<(u32, u32)>,
    pub mtime: (i64, i64),
    pub device: u64,
    /// Length and hash of a file, target of a symbolic link.
    pub content: (u64, u64, PathBuf),
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The first name of the same inode within the tree.
    pub first_name: PathBuf,
}

/// All names below a folder, relative to it, each folder before what it holds; the folder itself is the empty name.
/// What somebody removes meanwhile (a session that outlives its client) is not there.
pub fn paths(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    collect(folder, Path::new(""), &mut found);
    found
}

fn collect(folder: &Path, below: &Path, found: &mut Vec<PathBuf>) {
    let full = folder.join(below);
    let entries = match (still_there(&full, std::fs::read_dir(&full)), below.as_os_str().is_empty()) {
        (Some(entries), _) => entries,
        (None, false) => return,
        (None, true) => panic!("{full:?} is not there"),
    };
    let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    for name in names {
        let path = below.join(name);
        let full = folder.join(&path);
        let Some(meta) = still_there(&full, full.symlink_metadata()) else { continue };
        let kind = meta.file_type();
        if !kind.is_socket() {
            found.push(path.clone());
        }
        if kind.is_dir() {
            collect(folder, &path, found);
        }
    }
}

/// What was found; none if it has gone. Any other error is the test's end.
pub fn still_there<T>(path: &Path, found: std::io::Result<T>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("{path:?}: {error}"),
    }
}

/// The whole tree.
pub fn listing(folder: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut seen = HashMap::new();
    let mut entry = |path: PathBuf| {
        let entry = look(&folder.join(&path), &path, &mut seen);
        (path, entry)
    };
    paths(folder).into_iter().map(&mut entry).collect()
}

/// By device and inode: a file's first name, and the hash of its content, which all of its names share.
type SeenFiles = HashMap<(u64, u64), (PathBuf, u64)>;

fn look(full: &Path, path: &Path, seen: &mut SeenFiles) -> Entry {
    let meta = full.symlink_metadata().unwrap_or_else(|error| panic!("{full:?}: {error}"));
    let kind = kind(&meta);
    let first = || (path.into(), if kind == "file" { hash(full) } else { 0 });
    let (first_name, hash) = seen.entry((meta.dev(), meta.ino())).or_insert_with(first).clone();
    let content = match kind {
        "file" => (meta.len(), hash, PathBuf::new()),
        "symlink" => (0, 0, std::fs::read_link(full).expect("a symbolic link")),
        _ => (0, 0, PathBuf::new()),
    };
    Entry {
        kind,
        mode: meta.mode() & 0o7777,
        owner: Some((meta.uid(), meta.gid())),
        mtime: (meta.mtime(), meta.mtime_nsec()),
        device: if kind.ends_with("device") { meta.rdev() } else { 0 },
        content,
        xattrs: xattrs(full),
        first_name,
    }
}

fn kind(meta: &std::fs::Metadata) -> &'static str {
    let kind = meta.file_type();
    if kind.is_file() {
        "file"
    } else if kind.is_dir() {
        "folder"
    } else if kind.is_symlink() {
        "symlink"
    } else if kind.is_fifo() {
        "pipe"
    } else if kind.is_char_device() {
        "char device"
    } else if kind.is_block_device() {
        "block device"
    } else {
        "socket"
    }
}

/// A hash of the content; 0 for a file that may not be read. The standard library's, not optimised, was what the wider
/// tests spent most CPU time on.
fn hash(path: &Path) -> u64 {
    let Ok(mut file) = std::fs::File::open(path) else { return 0 };
    let (mut hasher, mut part) = (blake3::Hasher::new(), vec![0; 1 << 16]);
    while let Ok(count @ 1..) = file.read(&mut part) {
        hasher.update(&part[..count]);
    }
    u64::from_le_bytes(*hasher.finalize().as_bytes().first_chunk().expect("32 bytes"))
}

fn xattrs(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut names = vec![0; 1 << 16];
    let count = rustix::fs::llistxattr(path, &mut names[..]).unwrap_or(0);
    let value = |name: &[u8]| {
        let mut value = vec![0; 1 << 16];
        let count = rustix::fs::lgetxattr(path, OsStr::from_bytes(name), &mut value[..]).unwrap_or(0);
        value[..count].to_vec()
    };
    let names = names[..count].split(|&byte| byte == 0).filter(|name| !name.is_empty());
    // How XFS shows root what it shows as a list too.
    let names = names.filter(|name| !name.starts_with(b"trusted.SGI_"));
    names.map(|name| (name.to_vec(), value(name))).collect()
}

/// A line for each name that is not the same in both.
pub fn differences(one: &BTreeMap<PathBuf, Entry>, other: &BTreeMap<PathBuf, Entry>) -> Vec<String> {
    let missing = one.keys().filter(|path| !other.contains_key(*path));
    let missing = missing.map(|path| format!("missing: {path:?}"));
    let extra = other.keys().filter(|path| !one.contains_key(*path)).map(|path| format!("extra: {path:?}"));
    let both = one.iter().filter_map(|(path, entry)| Some((path, entry, other.get(path)?)));
    let differ = both.filter(|(_, entry, found)| entry != found);
    let differ = differ.map(|(path, entry, found)| format!("{path:?}: {entry:?}, found {found:?}"));
    missing.chain(extra).chain(differ).collect()
}

/// Without owners: for copies by an ordinary user.
pub fn without_owners(mut listing: BTreeMap<PathBuf, Entry>) -> BTreeMap<PathBuf, Entry> {
    listing.values_mut().for_each(|entry| entry.owner = None);
    listing
}

/// A listing with each name as a file of its own.
pub fn without_links(mut listing: BTreeMap<PathBuf, Entry>) -> BTreeMap<PathBuf, Entry> {
    for (path, entry) in &mut listing {
        entry.first_name.clone_from(path);
    }
    listing
}

/// The copy is the same as the source, and nothing of the copying is left in it.
pub fn same(source: &Path, copy: &Path, row: &str) {
    let found = differences(&listing(source), &listing(copy));
    assert_eq!(found, [""; 0], "{row}");
}

/// The same, apart from owners.
pub fn same_apart_from_owners(source: &Path, copy: &Path, row: &str) {
    let found = differences(&without_owners(listing(source)), &without_owners(listing(copy)));
    assert_eq!(found, [""; 0], "{row}");
}

/// Temporary names, journals and job files anywhere below a folder.
pub fn leftovers_below(folder: &Path) -> Vec<String> {
    let is_ours =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_bytes().starts_with(b".pump-"));
    paths(folder).into_iter().filter(is_ours).map(|path| path.display().to_string()).collect()
}

/// Inode and time of the last change of any kind, of everything below a folder.
pub fn stamps(folder: &Path) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    let stamp = |path: PathBuf| {
        let full = folder.join(&path);
        let meta = still_there(&full, full.symlink_metadata())?;
        Some((path, (meta.ino(), meta.ctime(), meta.ctime_nsec())))
    };
    paths(folder).into_iter().filter_map(stamp).collect()
}
