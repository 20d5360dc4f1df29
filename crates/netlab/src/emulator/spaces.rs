//! The two namespaces of a path: those that are missing are made, and removed with it; those of a path that was killed
//! go first.
//!
//! The maker of a namespace holds the lock of a note by its name for as long as it lives (flock(2)): a note that can be
//! locked is of a maker that is gone, whatever its number was. The note says which namespace it made: another that has
//! the name by now is somebody else's, and stays.
//!
//! Must not know: devices, links.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use datapump_engine::os::linux::{make_net_space, remove_net_space};
use rustix::fs::{FlockOperation, FsWord, flock, statfs};

use crate::SettingsError;

/// Where ip-netns(8) has the names of namespaces.
const SPACES: &str = "/run/netns";
/// Notes of the makers of namespaces.
const NOTES: &str = "/run/pump-lab-path";
/// What statfs(2) says of a namespace (linux/magic.h).
const NAMESPACE_MAGIC: FsWord = 0x6e73_6673;
/// Somebody else may be making or removing the same one just now.
const TRIES: u32 = 50;
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// The namespaces of a path.
#[derive(Debug)]
pub struct Spaces {
    /// With the notes that are locked.
    made: Vec<(String, File)>,
}

impl Spaces {
    /// Finds or makes them.
    ///
    /// Errors: not root; somebody else has a name; the system refuses.
    pub fn open(names: [&str; 2]) -> anyhow::Result<Spaces> {
        if !rustix::process::geteuid().is_root() {
            bail!("network namespaces and TUN devices need root; `pump lab simulate path` needs nothing");
        }
        for folder in [SPACES, NOTES] {
            fs::create_dir_all(folder).with_context(|| format!("make the folder {folder}"))?;
        }
        sweep();
        let mut spaces = Spaces { made: Vec::new() };
        for name in names {
            spaces.find_or_make(name).with_context(|| format!("make the network namespace {name}"))?;
        }
        Ok(spaces)
    }

    /// The file of one.
    pub fn file(&self, name: &str) -> PathBuf {
        space(name)
    }

    fn find_or_make(&mut self, name: &str) -> io::Result<()> {
        for _ in 0..TRIES {
            if is_space(&space(name)) {
                return Ok(());
            }
            // The note comes first: a namespace without one would stay for ever. The last path takes the folder along.
            fs::create_dir_all(NOTES)?;
            if let Some(note) = locked(name, true)? {
                return self.make(name, note);
            }
            std::thread::sleep(TRY_AGAIN_AFTER);
        }
        Err(io::Error::new(ErrorKind::ResourceBusy, "another pump is making or removing it; try again"))
    }

    fn make(&mut self, name: &str, mut lock: File) -> io::Result<()> {
        // What was never mounted, or not any more after a power cut, is an empty file.
        let made = absent_is_fine(fs::remove_file(space(name)))
            .and_then(|()| make_net_space(&space(name)))
            .and_then(|()| identity(name))
            .and_then(|made| lock.set_len(0).and_then(|()| lock.write_all(made.as_bytes())));
        match made {
            Ok(()) => self.made.push((name.to_string(), lock)),
            Err(_) => drop(fs::remove_file(note(name))),
        }
        made
    }
}

impl Drop for Spaces {
    fn drop(&mut self) {
        self.made.drain(..).for_each(|(name, lock)| remove(&name, lock));
        // Where other paths have notes it stays.
        let _ = fs::remove_dir(NOTES);
    }
}

/// Whether a name can be that of a namespace.
pub fn check(name: &str) -> Result<(), SettingsError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        let shown = datapump_core::problem::shown(name.as_bytes());
        let words = "is no name of a network namespace; letters, digits, '-', '_' and '.' are";
        return Err(SettingsError::new(format!("'{shown}' {words}")));
    }
    Ok(())
}

fn space(name: &str) -> PathBuf {
    Path::new(SPACES).join(name)
}

fn note(name: &str) -> PathBuf {
    Path::new(NOTES).join(name)
}

fn is_space(file: &Path) -> bool {
    statfs(file).is_ok_and(|state| state.f_type == NAMESPACE_MAGIC)
}

/// The note of a name, locked; none if another holds it, or it went meanwhile.
fn locked(name: &str, make: bool) -> io::Result<Option<File>> {
    let file = match File::options().read(true).append(true).create(make).open(note(name)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        locked => locked?,
    }
    let is_same =
        fs::metadata(note(name)).is_ok_and(|it| file.metadata().is_ok_and(|own| own.ino() == it.ino()));
    Ok(is_same.then_some(file))
}

fn absent_is_fine(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// What the namespace of this name is known by. Its number alone is given to another once it is gone.
fn identity(name: &str) -> io::Result<String> {
    let it = fs::metadata(space(name))?;
    Ok(format!("{} {}.{:09}", it.ino(), it.ctime(), it.ctime_nsec()))
}

/// Whether a note is of the namespace that has its name now.
fn is_noted(name: &str) -> bool {
    let noted = fs::read_to_string(note(name));
    noted.is_ok_and(|noted| identity(name).is_ok_and(|now| now == noted))
}

/// Removes the namespace that a note is of, or what stands there instead of any.
fn clear(name: &str) -> io::Result<()> {
    if !is_space(&space(name)) {
        absent_is_fine(fs::remove_file(space(name)))
    } else if is_noted(name) {
        absent_is_fine(remove_net_space(&space(name)))
    } else {
        Ok(())
    }
}

fn remove(name: &str, lock: File) {
    match clear(name) {
        Ok(()) => drop(fs::remove_file(note(name))),
        Err(error) => {
            let words =
                format!("pump: the network namespace {name} stays: {error}; `ip netns delete {name}`");
            let _ = writeln!(io::stderr(), "{words}");
        }
    }
    drop(lock);
}

/// Removes the namespaces whose maker is gone.
fn sweep() {
    let Ok(notes) = fs::read_dir(NOTES) else { return };
    for name in notes.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        if let Ok(Some(lock)) = locked(&name, false) {
            remove(&name, lock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_none() {
        for name in ["", ".", "..", "a/b", "../x", "a b", "x\n"] {
            assert!(check(name).is_err(), "{name:?}");
        }
        assert!(check("left-1.a_b").is_ok());
    }
}
