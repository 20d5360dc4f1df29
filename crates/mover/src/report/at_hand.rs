//! The name of the file at hand, for whoever shows progress: one of those that were opened since it was last read.
//!
//! A tree of small files has a hundred thousand names a second, of which five are shown: a name is kept only when it
//! was asked for, or when its file is so large that nothing else may be opened for a while.
//!
//! Must not know: how it is shown.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// A file that takes longer than it takes to ask again, also on a fast device.
const LARGE_BYTES: u64 = 256 << 20;

/// A name, and whether another is wanted.
#[derive(Debug)]
pub struct AtHand {
    is_wanted: AtomicBool,
    name: Mutex<Option<PathBuf>>,
}

impl Default for AtHand {
    /// The first one is wanted.
    fn default() -> AtHand {
        AtHand { is_wanted: AtomicBool::new(true), name: Mutex::default() }
    }
}

impl AtHand {
    /// A file was opened.
    pub fn opened(&self, name: &Path, bytes: u64) {
        let is_wanted = self.is_wanted.load(Ordering::Relaxed);
        if is_wanted || (LARGE_BYTES..u64::MAX).contains(&bytes) {
            self.is_wanted.store(false, Ordering::Relaxed);
            self.set(Some(name.to_path_buf()));
        }
    }

    /// The name that was kept last; the next one is wanted.
    pub fn name(&self) -> Option<PathBuf> {
        self.is_wanted.store(true, Ordering::Relaxed);
        self.name.lock().expect("no panic while it is set").clone()
    }

    /// What another host tells of its own.
    pub fn set(&self, name: Option<PathBuf>) {
        *self.name.lock().expect("no panic while it is set") = name;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_when_it_is_wanted_or_its_file_is_large() {
        let at_hand = AtHand::default();
        let is = |name: &str| assert_eq!(at_hand.name(), Some(PathBuf::from(name)));
        at_hand.opened(Path::new("first"), 1);
        at_hand.opened(Path::new("second"), 1);
        is("first");
        at_hand.opened(Path::new("third"), 1);
        at_hand.opened(Path::new("large"), LARGE_BYTES);
        at_hand.opened(Path::new("fourth"), 1);
        is("large");
        is("large");
    }
}
