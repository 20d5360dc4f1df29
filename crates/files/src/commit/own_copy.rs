//! Recognises an existing entry that is this command's own copy of the same file. A lost session, or a run of the same
//! command that was interrupted or failed, put it there. Then it is no older state, of which a backup is kept.
//!
//! The size says what may be the copy, the content says what is. The time says nothing of that where a note says that
//! the name was put: the first attempt may have lost it. Without a note a file is read only if it has the time of the
//! copy, or one that nobody gave it since it was made (a copy that lost its time has that). An older state with the
//! content of the copy needs no backup either.
//!
//! Must not know: what is done about it, how backups are called, where notes are.

use std::ffi::OsStr;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump_engine::Handle;

use crate::disk::names::NameAt;
use crate::disk::{Access, FileKind, Meta, Outcome, file_meta, names, origin};
use crate::identity::{id, prefix};

/// File systems tell times to this: a time that was set may be another one when it is looked at later (FAT).
const COARSEST_NS: i128 = 2_000_000_000;

/// The file, link, pipe or device that is about to get a name, finished but for that.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'open> {
    /// Open, if only by `O_PATH`.
    pub made: &'open File,
    /// The time of its source, where times are kept.
    pub source_mtime_ns: Option<i128>,
}

/// How what stands under a name compares with what is about to get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resemblance {
    /// The same content: an earlier attempt at this copy, or not to be told from one.
    Copy,
    /// It has the size and time of the copy and another content, or its size and a content that cannot be read.
    Unverified,
    /// Something else.
    Other,
}

impl Incoming<'_> {
    /// Compares the existing entry of a name, which an earlier run of the command put there for all that notes say, if
    /// `may_be_noted`. A stop ends the reading, and then nothing is known.
    pub fn beside(
        &self,
        at: NameAt<'_>,
        stood: &Meta,
        may_be_noted: bool,
        stop: &AtomicBool,
    ) -> Outcome<Resemblance> {
        let made = file_meta(self.made)?;
        let keeps_time = self.source_mtime_ns == Some(made.mtime_ns);
        let may_be = made.kind == stood.kind
            && made.special_device == stood.special_device
            && made.size_bytes == stood.size_bytes;
        let has_time = !keeps_time || (made.mtime_ns - stood.mtime_ns).abs() < COARSEST_NS;
        let costs_little = made.kind != FileKind::Regular;
        let is_compared = || costs_little || may_be_noted || has_time || may_have_lost_time(at, stood);
        if !may_be || !is_compared() {
            return Ok(Resemblance::Other);
        }
        match self.has_content_of(at, &made, stood, stop) {
            Ok(true) => Ok(Resemblance::Copy),
            Ok(false) if stop.load(Ordering::Relaxed) => Ok(Resemblance::Unverified),
            Ok(false) if !keeps_time || made.mtime_ns != stood.mtime_ns => Ok(Resemblance::Other),
            Ok(false) | Err(_) => Ok(Resemblance::Unverified),
        }
    }

    /// Whether the existing entry has the content that was just written, as far as that is known of its kind: pipes and devices
    /// have none.
    ///
    /// Errors: also of a read.
    fn has_content_of(&self, at: NameAt<'_>, made: &Meta, stood: &Meta, stop: &AtomicBool) -> Outcome<bool> {
        match made.kind {
            FileKind::Regular if id(made) == id(stood) => Ok(true),
            FileKind::Regular => {
                let old = names::open_source(at.folder, at.name, true)?;
                if id(&file_meta(&old)?) != id(stood) {
                    return Ok(false);
                }
                let new = names::open_again(self.made, Access::Read)?;
                prefix::is_shared(&Handle::Os(new), &Handle::Os(old), made.size_bytes, stop)
            }
            FileKind::Symlink => {
                Ok(names::read_symlink(self.made, OsStr::new(""))?
                    == names::read_symlink(at.folder, at.name)?)
            }
            _ => Ok(true),
        }
    }
}

/// Whether the time of a file may be the one of its writing. It is none that was set if it is not before its birth.
fn may_have_lost_time(at: NameAt<'_>, stood: &Meta) -> bool {
    let Ok(held) = names::hold(at.folder, at.name) else { return true };
    let is_same = file_meta(&held).is_ok_and(|held| id(&held) == id(stood));
    let (born_ns, _) = origin(&held);
    !is_same || born_ns == 0 || stood.mtime_ns + COARSEST_NS >= born_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::AttributeHolder;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, UNIX_EPOCH};

    fn set_time(path: &std::path::Path, seconds: u64) {
        let file = fs::OpenOptions::new().write(true).open(path).expect("a file");
        file.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).expect("its own time");
    }

    #[test]
    fn size_says_what_may_be_the_copy_and_content_what_is() {
        const KEPT: Option<i128> = Some(1_000_000_000_000);
        /// The time of its writing, which nobody set.
        const OWN: u64 = 0;
        for (old, seconds, source_mtime_ns, may_be_noted, expected) in [
            ("new", 1000, KEPT, false, Resemblance::Copy),
            ("old", 1000, KEPT, false, Resemblance::Unverified),
            ("new", 1001, KEPT, false, Resemblance::Copy),
            ("old", 1001, KEPT, false, Resemblance::Other),
            // Nothing says that the command put it: it is not read.
            ("new", 1002, KEPT, false, Resemblance::Other),
            ("new", 1002, KEPT, true, Resemblance::Copy),
            ("old", 1002, KEPT, true, Resemblance::Other),
            // The time was lost then, and is kept now.
            ("new", OWN, KEPT, false, Resemblance::Copy),
            ("old", OWN, KEPT, false, Resemblance::Other),
            ("newer", 1000, KEPT, true, Resemblance::Other),
            // The time of the source is not kept here, or was not asked for.
            ("new", 2001, Some(7), false, Resemblance::Copy),
            ("new", 2001, None, false, Resemblance::Copy),
            ("old", 1000, None, false, Resemblance::Other),
            ("newer", 1000, None, false, Resemblance::Other),
        ] {
            let row = format!("{old} {seconds} {source_mtime_ns:?} {may_be_noted}");
            let home = tempfile::tempdir().expect("room");
            let folder = File::open(home.path()).expect("a folder");
            for (name, text, seconds) in [("new", "new", 1000), ("old", old, seconds)] {
                fs::write(home.path().join(name), text).expect("room");
                if seconds != OWN {
                    set_time(&home.path().join(name), seconds);
                }
            }
            let made = names::hold(&folder, OsStr::new("new")).expect("it is there");
            if origin(&made).0 == 0 && row == "new 1002 Some(1000000000000) false" {
                eprintln!("not tested: {row}: no file here has a birth");
                continue;
            }
            let stood = names::metadata(&folder, OsStr::new("old")).expect("it is there");
            let incoming = Incoming { made: &made, source_mtime_ns };
            let at = NameAt { folder: &folder, name: OsStr::new("old") };
            let beside = |stop| incoming.beside(at, &stood, may_be_noted, &AtomicBool::new(stop));
            assert_eq!(beside(false), Ok(expected), "{row}");
            if expected == Resemblance::Copy {
                assert_eq!(beside(true), Ok(Resemblance::Unverified), "{row}: stop");
            }
        }
    }

    #[test]
    fn links_are_compared_by_where_they_lead() {
        let home = tempfile::tempdir().expect("room");
        let folder = File::open(home.path()).expect("a folder");
        for (name, to) in [("new", "here"), ("same", "here"), ("other", "away")] {
            symlink(to, home.path().join(name)).expect("room");
        }
        fs::write(home.path().join("file"), "here").expect("room");
        let made = names::hold(&folder, OsStr::new("new")).expect("it is there");
        let mtime_ns = AttributeHolder::Held(&made).meta().expect("it is there").mtime_ns;
        for (name, source_mtime_ns, expected) in [
            ("same", None, Resemblance::Copy),
            ("other", None, Resemblance::Other),
            ("file", None, Resemblance::Other),
            ("new", Some(mtime_ns), Resemblance::Copy),
        ] {
            let stood = names::metadata(&folder, OsStr::new(name)).expect("it is there");
            let incoming = Incoming { made: &made, source_mtime_ns };
            let found = incoming.beside(
                NameAt { folder: &folder, name: OsStr::new(name) },
                &stood,
                false,
                &AtomicBool::new(false),
            );
            assert_eq!(found, Ok(expected), "{name}");
        }
    }
}
