//! What a message means that comes before a block, or instead of it.
//!
//! Must not know: requests, connections.

use datapump_core::wire::peer_request::{Answer, Fault};
use datapump_core::wire::{WireError, decode};
use datapump_transport::NetFault;

use crate::job::budget::{Charge, OverBudget};
use crate::net::folder::convert::from_wire;
use crate::net::folder::remote_host::{LONG_BYTES, RemoteFile, named};
use crate::net::folder::weight;
use crate::problem::Operation;

/// Attributes of a small file that its slot outweighs.
const UNCHARGED_BYTES: usize = 4 << 10;

pub(super) fn read(file: &RemoteFile, body: &[u8]) -> Result<Answer, WireError> {
    match file {
        RemoteFile::Small(small) => small.folder.remote_host.decode(body),
        _ if body.len() > LONG_BYTES => Err(WireError::Unexpected("so long a message")),
        RemoteFile::Open(_) | RemoteFile::Stream(_) => decode(body),
    }
}

/// What a message before a block means.
pub(super) enum BeforeBlock {
    /// No block comes.
    Nothing(Fault),
    Block,
    /// A block comes, of a file whose attributes are more than this side may hold.
    Over(OverBudget),
}

/// The charge is that of the answer, where it came ahead.
pub(super) fn before_block(
    (file, looked_bytes): (&RemoteFile, u64),
    (answer, charge): (Answer, Option<Charge>),
    len: u32,
) -> Result<BeforeBlock, NetFault> {
    match (answer, file) {
        (Answer::Meta { meta, named, is_young, .. }, RemoteFile::Open(open)) if looked_bytes > 0 => {
            open.handle_look((&meta, named.as_ref(), is_young), looked_bytes);
            Ok(BeforeBlock::Block)
        }
        (Answer::Fault(fault), _) => Ok(BeforeBlock::Nothing(fault)),
        (Answer::File { meta, .. }, RemoteFile::Small(_)) if meta.size_bytes.0 != u64::from(len) => {
            let words =
                Some("changed its length after it was listed; copy again when the source is quiet".into());
            Ok(BeforeBlock::Nothing(Fault {
                operation: Operation::Read.words().into(),
                errno: None,
                words,
                class: None,
            }))
        }
        (Answer::File { meta, attributes, .. }, RemoteFile::Small(small)) => {
            let bytes = weight::of_attributes(&attributes);
            if let Some(charge) = charge {
                drop(small.charge.set(charge));
            } else if bytes > UNCHARGED_BYTES {
                match small.folder.remote_host.charge(bytes) {
                    Ok(charge) => drop(small.charge.set(charge)),
                    Err(over) => return Ok(BeforeBlock::Over(over)),
                }
            }
            let _ = small.told.set((from_wire(&meta), named(attributes)));
            Ok(BeforeBlock::Block)
        }
        _ => Err(WireError::Unexpected("another answer than was asked for").into()),
    }
}
