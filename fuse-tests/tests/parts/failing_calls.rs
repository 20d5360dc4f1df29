//! Calls on names that a file system answers with an error: each time, or the first time for each name.
//!
//! Must not know: what the calls do.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use fuser::Errno;

use super::mounted::lock;

/// A kind of call that fails.
#[derive(Clone, Copy, Debug)]
pub struct CallFault {
    pub call: &'static str,
    /// On paths that end so.
    pub ends: &'static str,
    pub errno: i32,
    /// A call on the same path works the second time.
    pub is_once: bool,
}

/// Calls that were made, by their paths.
type MadeCalls = BTreeSet<(&'static str, PathBuf)>;

#[derive(Default)]
pub struct FailingCalls(Mutex<(Vec<CallFault>, MadeCalls)>);

impl FailingCalls {
    /// From now on these fail, and no others.
    pub fn fail(&self, faults: &[CallFault]) {
        *lock(&self.0) = (faults.to_vec(), BTreeSet::new());
    }

    /// The error of this call, if one is due.
    pub fn error(&self, call: &'static str, path: &Path) -> Option<Errno> {
        let mut state = lock(&self.0);
        let is_meant =
            |fault: &&CallFault| fault.call == call && path.to_string_lossy().ends_with(fault.ends);
        let fault = *state.0.iter().find(is_meant)?;
        let is_first = state.1.insert((call, path.to_path_buf()));
        (is_first || !fault.is_once).then(|| Errno::from_i32(fault.errno))
    }
}
