//! A FUSE file system that is mounted in a folder of its own, and unmounted before that folder is removed.
//!
//! Must not know: what the file system does.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fuser::{BackgroundSession, Config, Filesystem};

use super::support::Home;

/// The mount; dropping it unmounts.
pub struct Mounted {
    pub home: Home,
    session: Option<BackgroundSession>,
}

impl Mounted {
    /// On the folder `mnt`.
    pub fn new(file_system: impl Filesystem + 'static, config: &Config) -> Mounted {
        let home = Home::new();
        std::fs::create_dir(home.path("mnt")).expect("a folder to mount on");
        let session = fuser::spawn_mount(file_system, home.path("mnt"), config);
        Mounted { home, session: Some(session.expect("FUSE: /dev/fuse, and root or fusermount3")) }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.session.take().map(BackgroundSession::umount_and_join) {
            eprintln!("the FUSE file system is still mounted: {error}");
        }
    }
}

/// A test that fails holds no lock that matters.
pub fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
