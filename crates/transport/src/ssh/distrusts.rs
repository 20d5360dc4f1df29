//! Hosts that are reached through ssh alone, although they listen: no session came about when they were called.
//!
//! Must not know: how they are called.

use std::sync::{Arc, Mutex, PoisonError};

use crate::ssh::SshHost;

/// Hosts whose far end answered a call, and then said nothing there. All sessions of a command know them.
#[derive(Clone, Debug, Default)]
pub struct Distrusts(Arc<Mutex<Vec<SshHost>>>);

/// They are found while a command runs, and are no part of what it is.
impl PartialEq for Distrusts {
    fn eq(&self, _: &Distrusts) -> bool {
        true
    }
}

impl Eq for Distrusts {}

impl Distrusts {
    pub(super) fn of(&self, host: &SshHost) -> Distrusted {
        Distrusted { all: self.clone(), host: host.clone() }
    }
}

/// One host's place among them.
#[derive(Clone, Debug)]
pub(crate) struct Distrusted {
    all: Distrusts,
    host: SshHost,
}

impl Distrusted {
    pub(crate) fn add(&self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.host.clone());
    }

    pub(super) fn is_in(&self) -> bool {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&self.host)
    }
}
