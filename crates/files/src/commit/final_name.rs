//! Finds out before the bytes are moved whether a file can get its final name.
//!
//! A temporary name is taken whatever the final one is. A name that is too long for the file system, has a character
//! that it refuses, or may not be replaced, would be refused when all is written: EPERM where it is append-only or
//! immutable or of another user in a sticky folder, EBUSY where a file is mounted on it, as containers have
//! /etc/resolv.conf. And a folder that lets no name go (`chattr +a`) would keep the temporary one.
//!
//! Must not know: what is written, how names are given.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use datapump_engine::Errno;

use crate::commit::reserved::probe_name;
use crate::disk::names::{self, NameAt, NameFlags};
use crate::disk::{self, Folder, kind, magic};
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

/// What keeps a name from being replaced or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameObstacle {
    AppendOnlyFolder,
    AppendOnlyFile,
    ImmutableFile,
    MountPoint,
    StickyFolder,
}

impl NameObstacle {
    /// Says the entry in the way, and what the user can do.
    fn message(self) -> &'static str {
        match self {
            NameObstacle::AppendOnlyFolder => {
                "its folder is append-only: nothing in it can be replaced or removed (chattr -a FOLDER allows it)"
            }
            NameObstacle::AppendOnlyFile => "what exists is append-only (chattr -a allows to replace it)",
            NameObstacle::ImmutableFile => "what exists is immutable (chattr -i allows to replace it)",
            NameObstacle::MountPoint => {
                "what exists is a mount point, which can be neither replaced nor removed; unmount it, or copy the \
                 file by itself with --inplace, which writes into it"
            }
            NameObstacle::StickyFolder => {
                "what exists belongs to another user, and its folder is sticky: that user, or root, can replace it"
            }
        }
    }

    /// What the system says.
    fn errno(self) -> Errno {
        match self {
            NameObstacle::MountPoint => Errno::EBUSY,
            _ => Errno::EPERM,
        }
    }

    /// What the system would say when all is written.
    fn problem(self, path: &Path) -> Problem {
        with_words(Problem::system(Operation::Create, path, self.errno().0), self.message())
    }
}

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
        Ok(existing) => check_existing(&above, &existing, path)?,
        Err(errno @ (Errno::ENAMETOOLONG | Errno::EINVAL | Errno::EILSEQ)) => {
            return Err(not_taken(path, errno));
        }
        Err(Errno::ENOENT) if tries => try_name(folder, name, path)?,
        Err(_) => {}
    }
    Ok(if above.is_append_only { NamingRule::Linked } else { NamingRule::Renamed })
}

/// Refuses what exists under a name, if it cannot be replaced, in a folder whose flags are known: one call for each name.
pub fn check_name(folder: &File, above: &NameFlags, name: &OsStr, path: &Path) -> Result<(), Problem> {
    names::flags_of(folder, name).map_or(Ok(()), |existing| check_existing(above, &existing, path))
}

/// Whether a folder takes new names and lets none go.
pub fn is_append_only(folder: &File) -> bool {
    names::flags(folder).is_ok_and(|flags| flags.is_append_only)
}

/// Adds to the problem of a name that could not be replaced or removed what keeps it, where that is known.
pub fn of_kept(problem: Problem, folder: &File, name: &OsStr) -> Problem {
    let kept_by = match problem.cause.map(Errno) {
        // Linux before 5.8 and some sandboxes do not report it with the flags.
        Some(Errno::EBUSY) => is_mounted(folder, name).then_some(NameObstacle::MountPoint),
        Some(Errno::EPERM) => {
            let above = names::flags(folder).unwrap_or_default();
            let existing = names::flags_of(folder, name).unwrap_or_default();
            obstacle(&above, &existing)
        }
        _ => None,
    };
    match kept_by {
        Some(obstacle) => with_words(problem, obstacle.message()),
        None => problem,
    }
}

/// The problem of a name that is a mount point. A link to what is mounted on it meets EXDEV.
pub fn mounted(operation: Operation, path: &Path, at: NameAt<'_>) -> Option<Problem> {
    let problem = || Problem::system(operation, path, Errno::EBUSY.0);
    is_mounted(at.folder, at.name).then(|| with_words(problem(), NameObstacle::MountPoint.message()))
}

fn is_mounted(folder: &File, name: &OsStr) -> bool {
    names::hold(folder, name).is_ok_and(|held| disk::is_mount_root(&held) == Some(true))
}

/// The folder is append-only, and what is to be done there replaces a name.
pub fn append_only(path: &Path) -> Problem {
    NameObstacle::AppendOnlyFolder.problem(path)
}

/// Refuses what exists and cannot be replaced. The system is not asked by a call that would: what has the name by then
/// may be something else.
fn check_existing(above: &NameFlags, existing: &NameFlags, path: &Path) -> Result<(), Problem> {
    match obstacle(above, existing) {
        Some(NameObstacle::StickyFolder) if disk::acts_as_owner(existing.owners.0, existing.owners.1) => {
            Ok(())
        }
        Some(obstacle) => Err(obstacle.problem(path)),
        None => Ok(()),
    }
}

/// Why what exists cannot be replaced, by a user without privileges.
fn obstacle(above: &NameFlags, existing: &NameFlags) -> Option<NameObstacle> {
    let me = rustix::process::geteuid().as_raw();
    let is_others = above.mode & STICKY != 0 && ![above.owners.0, existing.owners.0].contains(&me);
    if above.is_append_only {
        Some(NameObstacle::AppendOnlyFolder)
    } else if existing.is_append_only {
        Some(NameObstacle::AppendOnlyFile)
    } else if existing.is_immutable {
        Some(NameObstacle::ImmutableFile)
    } else if existing.is_mount_point {
        Some(NameObstacle::MountPoint)
    } else if is_others {
        Some(NameObstacle::StickyFolder)
    } else {
        None
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
