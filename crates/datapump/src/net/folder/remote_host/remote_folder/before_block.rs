//! A file of the other side as a lane reads it, and the messages that precede a block of it, or replace it.
//!
//! Must not know: connections, names.

use std::sync::Arc;

use datapump_core::Block;
use datapump_core::wire::attributes::Attribute;
use datapump_core::wire::peer_request::{Answer, Fault, PeerRequest};
use datapump_core::wire::{WireError, decode};
use datapump_transport::NetFault;

use datapump_files::disk::Meta;
use datapump_files::identity::id;

use super::remote_file::{RemoteFile, SmallFile};
use crate::end::{ArrivedItem, BeforeBlock, RemoteBlocks, RemoteKind, Trouble};
use crate::net::folder::convert::from_wire;
use crate::net::folder::remote_host::{LONG_BYTES, named};
use crate::net::folder::weight;
use crate::problem::Operation;
use crate::setup::budget::Charge;

/// Attributes of a small file that its slot outweighs.
const UNCHARGED_BYTES: usize = 4 << 10;

impl RemoteBlocks for RemoteFile {
    fn kind(&self) -> RemoteKind {
        match self {
            RemoteFile::Open(_) => RemoteKind::Open,
            RemoteFile::Small(_) => RemoteKind::Small,
            RemoteFile::Stream(_) => RemoteKind::Stream,
        }
    }

    fn request(&self, at: u64, len: u32, is_sum: bool) -> PeerRequest {
        RemoteFile::request(self, at, len, is_sum)
    }

    fn request_looked(&self, block: Block, is_sum: bool) -> Option<PeerRequest> {
        RemoteFile::request_looked(self, block, is_sum)
    }

    fn number(&self) -> Option<u64> {
        match self {
            RemoteFile::Open(file) => Some(file.number),
            RemoteFile::Small(_) | RemoteFile::Stream(_) => None,
        }
    }

    fn expect_look(&self, bytes: u64) {
        if let RemoteFile::Open(file) = self {
            file.expect_look(bytes);
        }
    }

    fn doubt_looks(&self) {
        RemoteFile::doubt_looks(self);
    }

    fn read(&self, body: &[u8]) -> Result<Answer, WireError> {
        match self {
            RemoteFile::Small(small) => small.folder.remote_host.decode(body),
            _ if body.len() > LONG_BYTES => Err(WireError::Unexpected("so long a message")),
            RemoteFile::Open(_) | RemoteFile::Stream(_) => decode(body),
        }
    }

    fn before_block(
        &self,
        looked_bytes: u64,
        answer: Answer,
        charge: Option<Charge>,
        len: u32,
    ) -> Result<BeforeBlock, NetFault> {
        match (answer, self) {
            (Answer::Meta { meta, named, is_young, .. }, RemoteFile::Open(open)) if looked_bytes > 0 => {
                let named = named.as_ref().map(from_wire);
                open.handle_look(from_wire(&meta), named, is_young == Some(true), looked_bytes);
                Ok(BeforeBlock::Block(len, None))
            }
            (Answer::Fault(fault), _) => Ok(BeforeBlock::Nothing(fault)),
            (Answer::File { meta, attributes, block_len, .. }, RemoteFile::Small(small)) => {
                let size_bytes = meta.size_bytes.0;
                let len = match block_len {
                    _ if size_bytes == u64::from(len) => len,
                    Some(len) if size_bytes == u64::from(len) && len <= small.len_max => len,
                    // It became longer than a request, or its host is too old to send it.
                    None => {
                        return Ok(BeforeBlock::Nothing(changed("changed its length after it was listed")));
                    }
                    Some(_) => {
                        return Err(WireError::Unexpected("a block that was not requested").into());
                    }
                };
                Ok(BeforeBlock::Block(len, keep(small, from_wire(&meta), attributes, charge).err()))
            }
            _ => Err(WireError::Unexpected("another answer than was asked for").into()),
        }
    }

    fn take_ahead(&self, at: u64, len: u32) -> Result<Option<ArrivedItem>, NetFault> {
        RemoteFile::take_ahead(self, at, len)
    }

    fn once_more(self: Arc<RemoteFile>) -> Arc<dyn RemoteBlocks> {
        RemoteFile::once_more(&self)
    }
}

/// Keeps what a small file is and carries. Errors: it is more than this side may hold; or its block is requested again,
/// and it is another file by now.
fn keep(
    small: &SmallFile,
    meta: Meta,
    attributes: Vec<Attribute>,
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
