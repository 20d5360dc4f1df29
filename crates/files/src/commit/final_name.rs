//! Whether a file can get its final name, found out before its bytes are moved.
//!
//! A temporary name is taken whatever the final one is. A name that is too long for the file system, has a character
//! that it refuses, or may not be replaced, would be refused when all is written. And a folder that lets no name go
//! (`chattr +a`) would keep the temporary one.
//!
//! Must not know: what is written, how names are given.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use datapump_engine::Errno;

use crate::attributes::loss;
use crate::commit::reserved::probe_name;
use crate::disk::names::{self, NameFlags};
use crate::disk::{Folder, kind, magic};
use crate::problem::{Operation, Problem};

/// A name of no more bytes is too long for no file system that has long names: encrypting ones take 143 and more.
const SHORT_BYTES: usize = 64;
/// Names of devices under Windows, with whatever extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
const STICKY: u32 = 0o1000;
/// How a file system refuses a name. In a folder that was just made for it nothing else is in the way.
const REFUSED: [Errno; 7] = [
    Errno::EINVAL,
    Errno::EILSEQ,
    Errno::ENAMETOOLONG,
    Errno::EPERM,
    Errno::EACCES,
    Errno::ENOENT,
    Errno::EOPNOTSUPP,
];

const APPEND_ONLY: &str =
    "its folder is append-only: nothing in it can be replaced or removed (chattr -a FOLDER allows it)";
const APPEND_ONLY_FILE: &str = "what exists is append-only (chattr -a allows to replace it)";
const IMMUTABLE_FILE: &str = "what exists is immutable (chattr -i allows to replace it)";
const STICKY_FOLDER: &str =
    "what exists belongs to another user, and its folder is sticky: that user, or root, can replace it";

/// How a file in a folder gets its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamingRule {
    /// Under a temporary name first.
    Renamed,
    /// The folder is append-only, and the name is free: a file without a name is linked in.
    Linked,
}

/// Refuses a name that a file cannot get. `tries`: what nothing tells is tried, which leaves nothing.
pub fn check(folder: &Folder, name: &OsStr, path: &Path, tries: bool) -> Result<NamingRule, Problem> {
    let Folder::Os(folder) = folder else { return Ok(NamingRule::Renamed) };
    let above = names::flags(folder).unwrap_or_default();
    match names::flags_of(folder, name) {
        Ok(existing) => check_existing(folder, name, (&above, &existing), tries)
            .map_or(Ok(()), |why| Err(denied(path, why)))?,
        Err(errno @ (Errno::ENAMETOOLONG | Errno::EINVAL | Errno::EILSEQ)) => {
            return Err(not_taken(path, errno));
        }
        Err(Errno::ENOENT) if tries => try_name(folder, name, path)?,
        Err(_) => {}
    }
    Ok(if above.is_append_only { NamingRule::Linked } else { NamingRule::Renamed })
}

/// Whether a folder takes new names and lets none go.
pub fn is_append_only(folder: &File) -> bool {
    names::flags(folder).is_ok_and(|flags| flags.is_append_only)
}

/// A name could not be removed: with what keeps it, where that is known.
pub fn of_kept(problem: Problem, folder: &File, name: &OsStr) -> Problem {
    if problem.cause != Some(Errno::EPERM.0) {
        return problem;
    }
    let above = names::flags(folder).unwrap_or_default();
    let existing = names::flags_of(folder, name).unwrap_or_default();
    match check_existing(folder, name, (&above, &existing), false) {
        Some(why) => with_words(problem, why),
        None => problem,
    }
}

/// The folder is append-only, and what is to be done there replaces a name.
pub fn append_only(path: &Path) -> Problem {
    denied(path, APPEND_ONLY)
}

/// Why what exists cannot be replaced.
fn check_existing(
    folder: &File,
    name: &OsStr,
    (above, existing): (&NameFlags, &NameFlags),
    tries: bool,
) -> Option<&'static str> {
    let is_others = || {
        above.mode & STICKY != 0 && ![above.uid, existing.uid].contains(&rustix::process::geteuid().as_raw())
    };
    // A privileged user may all the same, which the system alone knows.
    let is_kept = || match tries {
        true => !existing.is_folder && names::may_not_remove(folder, name),
        false => !loss::is_root(),
    };
    match () {
        () if above.is_append_only => Some(APPEND_ONLY),
        () if existing.is_append_only => Some(APPEND_ONLY_FILE),
        () if existing.is_immutable => Some(IMMUTABLE_FILE),
        () if is_others() && is_kept() => Some(STICKY_FOLDER),
        () => None,
    }
}

/// Gives the name to a folder in a folder that is made for it, where the file system may refuse it and does not say so.
fn try_name(folder: &File, name: &OsStr, path: &Path) -> Result<(), Problem> {
    if is_plain(name) || kind::takes_all_names(magic(folder)) {
        return Ok(());
    }
    let Ok((trial, ())) = probe_name(folder, |trial| names::make_folder(folder, trial)) else {
        return Ok(());
    };
    let made = names::open_folder(folder, &trial).and_then(|inside| {
        let made = names::make_folder(&inside, name);
        // Best effort, as below: an empty folder is left.
        let _ = names::remove(&inside, name, true);
        made
    });
    let _ = names::remove(folder, &trial, true);
    match made {
        Err(errno) if REFUSED.contains(&errno) => Err(not_taken(path, errno)),
        _ => Ok(()),
    }
}

/// Whether a name is one that every file system takes.
fn is_plain(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_usual = |letter: u8| letter.is_ascii_alphanumeric() || b"._- ".contains(&letter);
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_port = stem.len() == 4 && (stem.starts_with("com") || stem.starts_with("lpt"));
    let is_device = is_port || DEVICES.contains(&stem.as_str());
    let is_short = name.len() <= SHORT_BYTES && name.bytes().all(is_usual);
    is_short && !is_device && !name.ends_with(['.', ' ']) && !name.starts_with(' ')
}

fn denied(path: &Path, why: &str) -> Problem {
    with_words(Problem::system(Operation::Create, path, Errno::EPERM.0), why)
}

fn not_taken(path: &Path, errno: Errno) -> Problem {
    let why = match errno {
        Errno::ENAMETOOLONG => {
            "the name is too long for the file system of its folder; give it a shorter one"
        }
        _ => "the file system of its folder refuses this name; give it another one",
    };
    with_words(Problem::system(Operation::Create, path, errno.0), why)
}

fn with_words(problem: Problem, why: &str) -> Problem {
    Problem { message: format!("{}; {why}", problem.message), ..problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_every_file_system_takes_are_not_tried() {
        let long = "n".repeat(SHORT_BYTES + 1);
        for (name, is) in [
            ("report-2024_1.tar.gz", true),
            ("with space.txt", true),
            ("console.txt", true),
            ("a:b", false),
            ("what?", false),
            ("ends.", false),
            ("ends ", false),
            (" begins", false),
            ("Aux.txt", false),
            ("com1", false),
            ("\u{e4}", false),
            (&*long, false),
        ] {
            assert_eq!(is_plain(OsStr::new(name)), is, "{name:?}");
        }
    }
}
