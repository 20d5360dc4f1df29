//! Memory that an answer of the other side takes here, which is charged to the session.
//!
//! Must not know: what is done with answers.

use std::mem::size_of;

use datapump_core::wire::attributes::{Attribute, Entry, OwnerName};
use datapump_core::wire::peer_request::{Answer, Fault, Range};
use minicbor::bytes::ByteVec;

use crate::listed::{ListedEntry, Name};
use crate::setup::budget::charged::{ALLOCATED_BYTES, allocated};

/// What stands for an open folder besides its attributes: its two sides in the tree, and what is counted of it.
const FOLDER_BYTES: usize = 1 << 10;
/// What stands for any answer, and for an open file.
const ANSWER_BYTES: usize = size_of::<Answer>() + 4 * ALLOCATED_BYTES;

/// Memory of an answer, and of what is made of it.
pub(crate) fn answer_bytes(answer: &Answer) -> usize {
    let content = match answer {
        Answer::Folder { attributes, owners, .. } => {
            FOLDER_BYTES + attributes_bytes(attributes) + owners_bytes(owners.as_ref())
        }
        Answer::File { attributes, ranges, owners, .. } => {
            let ranges = ranges.as_ref().map_or(0, |ranges| ranges.capacity() * size_of::<Range>());
            allocated(ranges) + attributes_bytes(attributes) + owners_bytes(owners.as_ref())
        }
        Answer::Names { entries, owners, .. } => {
            let spare = entries.capacity() - entries.len();
            let entries: usize = entries.iter().map(entry_bytes).sum();
            // A list of such answers may have twice the room that it needs.
            ANSWER_BYTES + entries + spare * size_of::<Entry>() + owners_bytes(owners.as_ref())
        }
        Answer::Meta { owners, .. } => owners_bytes(owners.as_ref()),
        Answer::Fault(fault) => fault_bytes(fault),
        Answer::Done | Answer::Stream { .. } | Answer::End | Answer::Sum(_) => 0,
    };
    ANSWER_BYTES + content
}

/// Memory of a name with all that was told of it: as it came, or as it is worked on, whichever is more.
pub(crate) fn entry_bytes(entry: &Entry) -> usize {
    const LISTED: usize = size_of::<Name>() + size_of::<ListedEntry>() + 2 * ALLOCATED_BYTES;
    const FIXED: usize = if LISTED > size_of::<Entry>() { LISTED } else { size_of::<Entry>() };
    let points_to = entry.points_to.as_ref().map_or(0, buffer_bytes);
    let attributes = entry.attributes.as_ref().map_or(0, attributes_bytes);
    FIXED + buffer_bytes(&entry.name) + points_to + attributes
}

/// Memory of extended attributes.
pub(crate) fn attributes_bytes(attributes: &Vec<Attribute>) -> usize {
    let of = |attribute: &Attribute| buffer_bytes(&attribute.name) + buffer_bytes(&attribute.value);
    let content: usize = attributes.iter().map(of).sum();
    allocated(attributes.capacity() * size_of::<Attribute>()) + content
}

/// Memory of the names of owners.
fn owners_bytes(owners: Option<&Vec<OwnerName>>) -> usize {
    owners.map_or(0, |owners| {
        let names: usize = owners.iter().map(|owner| buffer_bytes(&owner.name)).sum();
        allocated(owners.capacity() * size_of::<OwnerName>()) + names
    })
}

/// Memory of a fault, and of its words as they are shown.
fn fault_bytes(fault: &Fault) -> usize {
    let optional = |words: &Option<String>| words.as_ref().map_or(0, String::capacity);
    // The words are shown once more, in letters that a terminal takes.
    2 * (fault.operation.capacity() + optional(&fault.words) + optional(&fault.class))
}

/// Memory of bytes that were received.
fn buffer_bytes(bytes: &ByteVec) -> usize {
    allocated(bytes.capacity())
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
            is_withheld: None,
        };
        assert!(entry_bytes(&entry(0)) > size_of::<ListedEntry>());
        assert!(entry_bytes(&entry(1000)) > 80_000);
        let names = |entries| Answer::Names { entries, cookie: 0, more: false, owners: None };
        let two = names(vec![entry(0), entry(0)]);
        assert_eq!(answer_bytes(&two), 2 * ANSWER_BYTES + 2 * entry_bytes(&entry(0)));
        let roomy = names(Vec::with_capacity(1000));
        assert!(answer_bytes(&roomy) > 1000 * size_of::<Entry>(), "room counts, not length");
        let fault = |words: String| {
            Answer::Fault(Fault { operation: String::new(), errno: None, words: Some(words), class: None })
        };
        assert!(answer_bytes(&fault("w".repeat(100_000))) > 100_000);
    }
}
