//! The parts of a selection as the user gave them, and as they are sent to another host: bytes as numbers, which every
//! version reads, or as text where those would be too long for a message.
//!
//! Must not know: what a pattern matches.

use std::fmt;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// Which names of a tree are copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Selection {
    /// A pattern of names that are left out, as rsync has it.
    Exclude(#[serde(deserialize_with = "read")] Vec<u8>),
    /// A pattern of names that are copied, whatever comes later.
    Include(#[serde(deserialize_with = "read")] Vec<u8>),
    /// Content of a file of patterns; true if each ends with a zero byte instead of a line's end.
    ExcludeFrom(#[serde(deserialize_with = "read")] Vec<u8>, bool),
    /// As `ExcludeFrom`, with patterns of names that are copied.
    IncludeFrom(#[serde(deserialize_with = "read")] Vec<u8>, bool),
    /// A rule that says itself what it does, as rsync's `--filter` has it.
    Filter(#[serde(deserialize_with = "read")] Vec<u8>),
    /// Content of a file of such rules.
    FiltersFrom(#[serde(deserialize_with = "read")] Vec<u8>, bool),
    /// Names, each behind a zero byte but the first: only they, with all that is in them, and the folders they lie in,
    /// are copied.
    Whole(#[serde(deserialize_with = "read")] Vec<u8>),
    /// Content of a file of names: only they, and the folders they lie in, are copied.
    Names(#[serde(deserialize_with = "read")] Vec<u8>, bool),
}

/// Reads either form.
fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    from.deserialize_any(ToldBytes)
}

struct ToldBytes;

impl<'de> Visitor<'de> for ToldBytes {
    type Value = Vec<u8>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("bytes, or text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        Ok(text.as_bytes().to_vec())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<Vec<u8>, A::Error> {
        let mut all = Vec::new();
        while let Some(byte) = bytes.next_element()? {
            all.push(byte);
        }
        Ok(all)
    }
}
