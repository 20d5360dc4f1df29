//! A file of the other side as a lane reads it, and the messages that precede a block of it, or replace it.
//!
//! Must not know: connections, names.

use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use datapump_core::Block;
use datapump_core::wire::attributes::Attribute;
use datapump_core::wire::bounds::FileSize;
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_core::wire::{WireError, decode};
use datapump_transport::NetFault;

use datapump_files::disk::Meta;
use datapump_files::identity::id;

use super::remote_file::{OpenFile, RemoteFile, SmallFile, StreamFile};
use crate::end::{ArrivedItem, BeforeBlock, RemoteBlocks, RemoteKind, Trouble};
use crate::net::folder::convert::{changed, from_wire};
use crate::net::folder::remote_host::{LONG_BYTES, with_system_names};
use crate::net::folder::weight;
use crate::origin::source_host::SourceHost;
use crate::run::block_host::BlockHost;
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

    /// The request for a block of this file.
    fn request(&self, at: u64, len: u32, is_sum: bool) -> PeerRequest {
        let sum = is_sum.then_some(true);
        match self {
            RemoteFile::Open(OpenFile { number, .. }) | RemoteFile::Stream(StreamFile { number, .. }) => {
                PeerRequest::Read { file: *number, at: FileSize(at), len, sum }
            }
            RemoteFile::Small(file) => PeerRequest::Fetch {
                above: file.folder.number,
                name: file.name.as_bytes().to_vec().into(),
                len,
                sum,
                len_max: Some(file.len_max).filter(|most| *most > 0 && !is_sum),
            },
        }
    }

    /// A request for a block that reports, ahead of the block, what the file is behind it. `None` where the other side cannot,
    /// or that is not needed.
    fn request_looked(&self, block: Block, is_sum: bool) -> Option<PeerRequest> {
        let RemoteFile::Open(open) = self else { return None };
        if !(open.remote_host.reads_on() || open.remote_host.peer.reads_on && open.is_all_in(block)) {
            return None;
        }
        let Block { at, len, .. } = block;
        open.expect_look(len.into());
        let (file, sum) = (open.number, is_sum.then_some(true));
        let (at, block_len, len) = (FileSize(at), len, FileSize(len.into()));
        Some(PeerRequest::ReadOn { file, at, len, block_len, sum })
    }

    /// Null of a known length is requested as a file is: the path alone bounds both.
    fn number(&self) -> Option<u64> {
        match self {
            RemoteFile::Open(file) => Some(file.number),
            RemoteFile::Stream(StreamFile { number, bytes }) => bytes.map(|_| *number),
            RemoteFile::Small(_) => None,
        }
    }

    fn expect_look(&self, bytes: u64) {
        if let RemoteFile::Open(file) = self {
            file.expect_look(bytes);
        }
    }

    fn doubt_looks(&self) {
        if let RemoteFile::Open(file) = self {
            file.looks().is_doubtful = true;
        }
    }

    fn read(&self, body: &[u8]) -> Result<Answer, WireError> {
        match self {
            RemoteFile::Small(small) => small.folder.remote_host.decode(body),
            _ if body.len() > LONG_BYTES => Err(WireError::Unexpected("so long a message")),
            RemoteFile::Open(_) | RemoteFile::Stream(_) => decode(body),
        }
    }

    /// Handles the answer ahead of a block: keeps what it says of the file, and gives the length of the block.
    ///
    /// Errors: it is not an answer to what was requested.
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
                        return Ok(BeforeBlock::Nothing(changed(
                            "changed its length after it was listed",
                            None,
                        )));
                    }
                    Some(_) => {
                        return Err(WireError::Unexpected("a block that was not requested").into());
                    }
                };
                Ok(BeforeBlock::Block(len, keep_small(small, from_wire(&meta), attributes, charge).err()))
            }
            _ => Err(WireError::Unexpected("another answer than was asked for").into()),
        }
    }

    /// Takes the block of a whole file, if it arrives ahead.
    fn take_ahead(&self, at: u64, len: u32) -> Result<Option<ArrivedItem>, NetFault> {
        let (host, follows) = match self {
            RemoteFile::Open(file) if at == 0 && file.meta.size_bytes == u64::from(len) => {
                (&file.remote_host, &file.follows)
            }
            RemoteFile::Small(file) => (&file.folder.remote_host, &file.follows),
            RemoteFile::Open(_) | RemoteFile::Stream(_) => return Ok(None),
        };
        follows.as_ref().map_or(Ok(None), |follows| host.take_ahead(follows.number(), true))
    }

    fn once_more(self: Arc<RemoteFile>) -> Arc<dyn RemoteBlocks> {
        let RemoteFile::Small(file) = &*self else { return self };
        Arc::new(RemoteFile::Small(SmallFile::new(Arc::clone(&file.folder), file.name.clone())))
    }
}

/// Keeps what a small file is and carries. Errors: it is more than this side may hold; or its block is requested again,
/// and it is another file by now.
fn keep_small(
    small: &SmallFile,
    meta: Meta,
    attributes: Vec<Attribute>,
    charge: Option<Charge>,
) -> Result<(), Trouble> {
    let state = |meta: &Meta| (id(meta), meta.size_bytes, meta.mtime_ns);
    if let Some((before, _)) = small.reported.get() {
        return if state(before) == state(&meta) {
            Ok(())
        } else {
            Err(Trouble::Fault(changed("changed while it was read", None)))
        };
    }
    let bytes = weight::attributes_bytes(&attributes);
    if let Some(charge) = charge {
        drop(small.charge.set(charge));
    } else if bytes > UNCHARGED_BYTES {
        let charge = small.folder.remote_host.charge(bytes).map_err(Trouble::Over)?;
        drop(small.charge.set(charge));
    }
    let _ = small.reported.set((meta, with_system_names(attributes)));
    Ok(())
}
