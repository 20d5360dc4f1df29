//! How much memory an answer of the other side takes here: that is charged to the session's part.
//!
//! Must not know: what is done with answers.

use std::mem::size_of;

use datapump_core::wire::attributes::{Attribute, Entry};
use datapump_core::wire::peer_request::Answer;
use minicbor::bytes::ByteVec;

use crate::target::listed::{ListedEntry, Name};

/// What the allocator adds to a piece of memory, at most.
const ALLOCATED_BYTES: usize = 32;
/// What stands for an open folder besides its attributes: its two sides in the tree, and what is counted of it.
const FOLDER_BYTES: usize = 1 << 10;
/// A range of a file's map.
const RANGE_BYTES: usize = size_of::<(u64, u64)>();

/// Memory of an answer, and of what is made of it.
pub(crate) fn of_answer(answer: &Answer) -> usize {
    match answer {
        Answer::Folder { attributes, .. } => FOLDER_BYTES + of_attributes(attributes),
        Answer::File { attributes, ranges, .. } => {
            of_attributes(attributes) + ranges.as_ref().map_or(0, |ranges| ranges.len() * RANGE_BYTES)
        }
        Answer::Names { entries, .. } => entries.iter().map(of_entry).sum(),
        _ => 0,
    }
}

/// Memory of a name with all that was told of it.
pub(crate) fn of_entry(entry: &Entry) -> usize {
    const FIXED: usize = size_of::<Name>() + size_of::<ListedEntry>() + 2 * ALLOCATED_BYTES;
    let points_to = entry.points_to.as_ref().map_or(0, of_bytes);
    let attributes = entry.attributes.as_ref().map_or(0, |attributes| of_attributes(attributes));
    FIXED + entry.name.len() + points_to + attributes
}

/// Memory of extended attributes.
pub(crate) fn of_attributes(attributes: &[Attribute]) -> usize {
    let of = |attribute: &Attribute| of_bytes(&attribute.name) + of_bytes(&attribute.value);
    attributes.iter().map(of).sum()
}

fn of_bytes(bytes: &ByteVec) -> usize {
    size_of::<ByteVec>() + ALLOCATED_BYTES + bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_on_the_wire_is_charged_as_what_it_takes() {
        let attribute =
            Attribute { name: b"x".to_vec().into(), value: Vec::new().into(), is_unreadable: None };
        let entry = |count| Entry {
            name: b"name".to_vec().into(),
            meta: None,
            points_to: None,
            attributes: Some(vec![attribute.clone(); count]),
            errno: None,
            is_partial: None,
            follows: None,
        };
        assert!(of_entry(&entry(0)) > size_of::<ListedEntry>());
        assert!(of_entry(&entry(1000)) > 100_000);
        let names = Answer::Names { entries: vec![entry(0), entry(0)], cookie: 0, more: false, owners: None };
        assert_eq!(of_answer(&names), 2 * of_entry(&entry(0)));
    }
}
