//! The names that pump takes for itself: of temporary files, of their journals, of the list of a copy.
//!
//! Must not know: what stands under them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use datapump_core::resume::fnv;
use datapump_engine::Errno;

use crate::disk::{Outcome, names};

/// The list of what a copy has done, in its root.
pub const LIST_NAME: &str = ".pump-job";
/// Two names that are made at once are the same once in 2^64.
const ROUNDS_MAX: u32 = 16;
/// Names are passed by only where a source has such names itself, or somebody put something there.
const NAMES_MAX: u64 = 8;

/// The temporary names of a file, the usual one first. FNV-1a needs no start-up as BLAKE3 does (it asks what the CPU
/// can, and in a virtual machine each answer takes tens of microseconds).
pub fn names_of(name: &OsStr) -> impl Iterator<Item = OsString> {
    // A small seed would give one name the temporary names of another that differs in a bit.
    let seed = |number: u64| if number == 0 { 0 } else { fnv(0, &number.to_le_bytes()) };
    (0..NAMES_MAX).map(move |number| named(fnv(seed(number), name.as_bytes())))
}

fn named(number: u64) -> OsString {
    OsString::from(format!(".pump-{number:016x}"))
}

/// Makes something under a temporary name that nothing else has.
pub fn under_new_name<T>(make: impl Fn(&OsStr) -> Outcome<T>) -> Outcome<(OsString, T)> {
    for _ in 0..ROUNDS_MAX {
        let name = new_name();
        match make(&name) {
            Err(Errno::EEXIST) => {}
            made => return made.map(|made| (name, made)),
        }
    }
    Err(Errno::EEXIST)
}

/// Makes something under such a name to find out about a folder; nothing where the name would stay.
pub fn probe_name<T>(folder: &File, make: impl Fn(&OsStr) -> Outcome<T>) -> Outcome<(OsString, T)> {
    names::lets_names_go(folder).and_then(|()| under_new_name(make))
}

fn new_name() -> OsString {
    static RUN: OnceLock<u64> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let run = *RUN.get_or_init(|| RandomState::new().build_hasher().finish());
    named(fnv(run, &NEXT.fetch_add(1, Ordering::Relaxed).to_le_bytes()))
}

/// Whether a name has the form of a temporary one, or of the journal of one.
pub fn is_temporary(name: &OsStr) -> bool {
    let name = temporary_of(name).unwrap_or(name);
    let digits = name.as_bytes().strip_prefix(b".pump-").unwrap_or_default();
    digits.len() == 16 && digits.iter().all(u8::is_ascii_hexdigit)
}

/// Whether what a pump needs to resume may have a name, in any folder.
pub fn may_be_pumps(name: &OsStr) -> bool {
    name == LIST_NAME || is_temporary(name)
}

/// Whether a file system that takes upper and lower case for the same may take a name for a temporary one.
pub fn may_be_temporary(name: &OsStr) -> bool {
    is_temporary(&name.to_ascii_lowercase())
}

/// Whether a name is one of the temporary names of a file, or the name of its journal.
pub fn is_temporary_of(temporary: &OsStr, name: &OsStr) -> bool {
    let temporary = temporary_of(temporary).unwrap_or(temporary);
    names_of(name).any(|name| name == temporary)
}

/// The name of a temporary file's journal.
pub fn journal_name(temporary: &OsStr) -> OsString {
    let mut name = temporary.to_owned();
    name.push(".journal");
    name
}

/// The temporary name that a journal belongs to.
pub fn temporary_of(journal: &OsStr) -> Option<&OsStr> {
    journal.as_bytes().strip_suffix(b".journal").map(OsStr::from_bytes)
}
