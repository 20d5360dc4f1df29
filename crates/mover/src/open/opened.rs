//! A source that was opened: its end, what is held of it, what of it is to be copied.
//!
//! Must not know: tasks, where the copy goes.

use std::sync::Arc;

use datapump_engine::Handle;

use super::held::{BytesFrom, Held, OpenMembers, Original};
use crate::end::Source;
use datapump_files::holes::ByteRanges;

/// A source that was opened.
#[derive(Default)]
pub struct Opened {
    pub handle: Option<Arc<Handle>>,
    /// The end of what this host's system has not opened; without that and a handle, null.
    pub elsewhere: Option<Source>,
    /// Of several files that are one source.
    pub stripe: Option<OpenMembers>,
    pub original: Option<Original>,
    /// Ranges to copy; `None` until the end of data.
    pub ranges: Option<ByteRanges>,
    pub is_file: bool,
    /// A regular file of a real file system.
    pub ordinary: bool,
}

impl Opened {
    /// A file of a tree, or another that is held here or at another host.
    pub fn from_original(original: Original, ranges: Option<ByteRanges>) -> Opened {
        let (handle, elsewhere, stripe) = match &original.held {
            Held::Here(handle) => (Some(Arc::clone(handle)), None, None),
            Held::There(file) => match Arc::clone(file).bytes_from() {
                BytesFrom::RemoteHost(file) => (None, Some(Source::RemoteHost(file)), None),
                BytesFrom::Web(file) => (None, Some(Source::Web(file)), None),
                BytesFrom::Stripe(members) => (None, None, Some(members)),
            },
        };
        let original = Some(original);
        Opened { handle, elsewhere, stripe, original, ranges, is_file: true, ordinary: true }
    }

    /// Its bytes come through this process: the system has not opened it as one file.
    pub fn is_elsewhere(&self) -> bool {
        self.elsewhere.is_some() || self.stripe.is_some()
    }

    /// Where what is copied ends, if that is known.
    pub fn length_bytes(&self) -> Option<u64> {
        self.ranges.as_ref().map(|ranges| ranges.last().map_or(0, |&(_, end)| end))
    }
}
