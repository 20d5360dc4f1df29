//! Bounds of the files that are copied. A bound is here whole: its field, which is its name on the wire, its question, its
//! words, and its number in lists of copies.
//!
//! Must not know: names, what exists at the target, which rule asks.

use serde::{Deserialize, Serialize};

use crate::{FileKind, Meta};

/// Bounds of the files that are copied: a file outside of one is skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileBounds {
    /// `--min-size`
    pub min_size_bytes: Option<u64>,
    /// `--max-size`
    pub max_size_bytes: Option<u64>,
}

impl FileBounds {
    /// Whether one is set.
    pub fn is_some(&self) -> bool {
        *self != FileBounds::default()
    }

    /// Why a source is skipped, in words. A stream is no file.
    pub fn why_outside(&self, source: &Meta) -> Option<&'static str> {
        if source.kind != FileKind::Regular {
            return None;
        }
        let FileBounds { min_size_bytes, max_size_bytes } = *self;
        let bounds = [
            (max_size_bytes.is_some_and(|most| source.size_bytes > most), "it is larger than --max-size"),
            (min_size_bytes.is_some_and(|least| source.size_bytes < least), "it is smaller than --min-size"),
        ];
        bounds.into_iter().find_map(|(is_outside, why)| is_outside.then_some(why))
    }

    /// Bounds that are set, each under the number that lists of copies know it by.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, [u8; 8])> {
        let FileBounds { min_size_bytes, max_size_bytes } = *self;
        let bounds = [(11, min_size_bytes), (12, max_size_bytes)];
        bounds.into_iter().filter_map(|(number, bound)| Some((number, bound?.to_le_bytes())))
    }
}
