//! Facts about a folder of another host, and what that host is to send of it before it is requested.
//!
//! Must not know: how a host is asked.

use crate::open::held::Attributes;
use datapump_files::disk::Meta;

/// The request to the side that sends ahead.
#[derive(Clone, Copy, Debug)]
pub struct AheadRequest {
    /// Files up to this length come with their content; 0 for none.
    pub file_bytes_max: u32,
    /// Names of files come with their attributes.
    pub with_attributes: bool,
    /// Instead of the content come digests of it.
    pub sums: bool,
    /// The places alone are opened: names come from a list.
    pub places_alone: bool,
}

impl AheadRequest {
    /// Of a side that knows no digests: names alone.
    pub fn of_names(self) -> AheadRequest {
        AheadRequest { file_bytes_max: 0, sums: false, ..self }
    }
}

/// A folder of another host: its facts when it was opened.
#[derive(Debug)]
pub struct RemoteFacts {
    pub meta: Meta,
    pub attributes: Attributes,
    pub made_up: bool,
    /// Its times could hide a name that came right after it was opened.
    pub is_young: bool,
}

impl RemoteFacts {
    /// Those of a folder of which names alone are known.
    pub fn unknown() -> RemoteFacts {
        RemoteFacts { meta: Meta::nothing(), attributes: Vec::new(), made_up: false, is_young: false }
    }
}
