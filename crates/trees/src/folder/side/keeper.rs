//! Keeps a bounded number of folders open.
//!
//! Must not know: what they are opened for.

use crate::lock::StateLock;
use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;

/// Keeps the folders open that were used last.
#[derive(Debug, Default)]
pub struct Keeper {
    pub(super) most: usize,
    open: StateLock<VecDeque<Arc<File>>>,
}

impl Keeper {
    /// Keeps at most so many folders open, besides those in use.
    pub fn new(most: usize) -> Arc<Keeper> {
        Arc::new(Keeper { most, open: StateLock::default() })
    }

    pub(super) fn keep(&self, file: &Arc<File>) {
        let mut open = self.open.lock();
        open.push_back(Arc::clone(file));
        if open.len() > self.most {
            open.pop_front();
        }
    }
}
