//! Messages that precede a block, or replace it.
//!
//! Must not know: requests, connections.

use datapump_core::wire::attributes::Attribute;
use datapump_core::wire::peer_request::{Answer, Fault};
use datapump_core::wire::{WireError, decode};
use datapump_transport::NetFault;

use datapump_files::disk::Meta;
use datapump_files::identity::id;

use super::Trouble;
use crate::net::folder::convert::from_wire;
use crate::net::folder::remote_host::{LONG_BYTES, RemoteFile, SmallFile, named};
use crate::net::folder::weight;
use crate::problem::Operation;
use crate::setup::budget::Charge;

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
    /// A block of so many bytes comes; 0: none does, and the file is empty by now. With why it cannot be taken.
    Block(u32, Option<Trouble>),
}

/// A message about a file, and what its attributes are charged to, where it came ahead.
type ChargedAnswer = (Answer, Option<Charge>);

pub(super) fn before_block(
    (file, looked_bytes): (&RemoteFile, u64),
    (answer, charge): ChargedAnswer,
    len: u32,
) -> Result<BeforeBlock, NetFault> {
    match (answer, file) {
        (Answer::Meta { meta, named, is_young, .. }, RemoteFile::Open(open)) if looked_bytes > 0 => {
            open.handle_look((&meta, named.as_ref(), is_young), looked_bytes);
            Ok(BeforeBlock::Block(len, None))
        }
        (Answer::Fault(fault), _) => Ok(BeforeBlock::Nothing(fault)),
        (Answer::File { meta, attributes, block_len, .. }, RemoteFile::Small(small)) => {
            let size_bytes = meta.size_bytes.0;
            let len = match block_len {
                _ if size_bytes == u64::from(len) => len,
                Some(len) if size_bytes == u64::from(len) && len <= small.len_max => len,
                // It became longer than a request, or its host is too old to send it.
                None => return Ok(BeforeBlock::Nothing(changed("changed its length after it was listed"))),
                Some(_) => return Err(WireError::Unexpected("a block that was not requested").into()),
            };
            Ok(BeforeBlock::Block(len, keep(small, (from_wire(&meta), attributes), charge).err()))
        }
        _ => Err(WireError::Unexpected("another answer than was asked for").into()),
    }
}

/// Keeps what a small file is and carries. Errors: it is more than this side may hold; or its block is requested again,
/// and it is another file by now.
fn keep(
    small: &SmallFile,
    (meta, attributes): (Meta, Vec<Attribute>),
    charge: Option<Charge>,
) -> Result<(), Trouble> {
    let state = |meta: &Meta| (id(meta), meta.size_bytes, meta.mtime_ns);
    if let Some((before, _)) = small.told.get() {
        return if state(before) == state(&meta) {
            Ok(())
        } else {
            Err(Trouble::Fault(changed("changed while it was read")))
        };
    }
    let bytes = weight::of_attributes(&attributes);
    if let Some(charge) = charge {
        drop(small.charge.set(charge));
    } else if bytes > UNCHARGED_BYTES {
        let charge = small.folder.remote_host.charge(bytes).map_err(Trouble::Over)?;
        drop(small.charge.set(charge));
    }
    let _ = small.told.set((meta, named(attributes)));
    Ok(())
}

fn changed(what: &str) -> Fault {
    let words = Some(format!("{what}; copy again when the source is quiet"));
    Fault { operation: Operation::Read.words().into(), errno: None, words, class: None }
}
