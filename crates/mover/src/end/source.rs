//! Sources: the ends that blocks come from.
//!
//! Must not know: where they go.

mod web;

use std::sync::Arc;

use datapump_core::{Extent, Request, Settled};
use datapump_engine::{Errno, Handle, Op};
use datapump_transport::{NetFault, WebFault, WebFile};

use super::performer::{Performer, Posted};
use super::{FileEnd, RemoteBlocks, RemoteKind, StripeEnd, settle_completion, stream};

/// A source.
#[derive(Clone, Debug)]
pub enum Source {
    File(FileEnd),
    Stripe(Arc<StripeEnd>),
    Stream(Arc<Handle>),
    /// Requested of another host, over the lane's own connection.
    RemoteHost(Arc<dyn RemoteBlocks>),
    /// The same, of which digests are requested instead of blocks, for a sink that compares.
    RemoteSums(Arc<dyn RemoteBlocks>),
    /// Requested of a server on the web.
    Web(Arc<WebFile>),
    /// Slots were filled when the lane began; requests do nothing.
    Null,
}

impl Source {
    /// Posts the request for a block. Null sources complete where they stand, unless the engine itself is studied.
    #[inline(always)]
    pub fn post(&self, by: &mut Performer<'_>, request: Request, is_inline: impl FnOnce() -> bool) -> Posted {
        // First and by itself: of a null request a branch too many can be measured.
        if matches!(self, Source::Null) && !by.queued.source {
            return Posted::Done(Settled::Moved(request.block.len - request.done));
        }
        match self {
            Source::RemoteHost(file) => by.request_block(request, file, false),
            Source::RemoteSums(file) => by.request_block(request, file, true),
            Source::Web(file) => web::post(by, request, file),
            Source::Null | Source::File(_) | Source::Stripe(_) | Source::Stream(_) => {
                let performed = by.perform(request, self.make_op(request), is_inline());
                performed.settled(|result| self.settle(by, request, result))
            }
        }
    }

    /// Requests the blocks of an extent before they are posted, where that fills the path to another host. Whether it
    /// did.
    pub fn announce(
        &self,
        by: &mut Performer<'_>,
        extent: Extent,
        request_bytes: u32,
    ) -> Result<bool, NetFault> {
        match self {
            Source::RemoteHost(file) => by.announce(extent, file, request_bytes, false),
            Source::RemoteSums(file) => by.announce(extent, file, request_bytes, true),
            Source::Null | Source::File(_) | Source::Stripe(_) | Source::Stream(_) | Source::Web(_) => {
                Ok(false)
            }
        }
    }

    /// What a completion of the engine means for the block.
    #[inline]
    pub fn settle(&self, by: &mut Performer<'_>, request: Request, result: Result<u32, Errno>) -> Settled {
        let result = by.completed(request, result, || self.make_op(request));
        match self {
            Source::File(file) => file.settle(request.block, request.done, result),
            Source::Stripe(stripe) => stripe.settle(request.block, request.done, result),
            Source::Null
            | Source::Stream(_)
            | Source::RemoteHost(_)
            | Source::RemoteSums(_)
            | Source::Web(_) => settle_completion(result, request.block.len - request.done),
        }
    }

    /// The operation that reads what is still missing of a block; a null one where the engine does not read the source.
    #[inline]
    fn make_op(&self, request: Request) -> Op {
        let Request { slot, block, done, .. } = request;
        match self {
            Source::File(file) => file.read(slot, block, done),
            Source::Stripe(stripe) => stripe.read(slot, block, done),
            Source::Stream(handle) => stream::read(handle, slot, block, done),
            Source::Null | Source::RemoteHost(_) | Source::RemoteSums(_) | Source::Web(_) => {
                Op::Nop { len: block.len - done, write: false }
            }
        }
    }

    /// It lies on another host.
    pub fn is_remote(&self) -> bool {
        matches!(self, Source::RemoteHost(_) | Source::RemoteSums(_))
    }

    /// It is given whole, as it is when it is opened, or not at all.
    pub fn is_read_whole(&self) -> bool {
        matches!(self, Source::RemoteHost(file) if file.kind() == RemoteKind::Small)
    }

    /// A pipe of another host, which is read once.
    pub fn is_remote_stream(&self) -> bool {
        matches!(self, Source::RemoteHost(file) if file.kind() == RemoteKind::Stream)
    }

    /// The same file of another host, of which digests come instead of blocks.
    pub fn in_sums(self) -> Source {
        match self {
            Source::RemoteHost(file) => Source::RemoteSums(file),
            other => other,
        }
    }

    /// Digests come of it instead of blocks.
    pub fn gives_sums(&self) -> bool {
        matches!(self, Source::RemoteSums(_))
    }

    /// What the end itself says of a read that failed.
    pub fn fault(&self) -> Option<WebFault> {
        match self {
            Source::Web(file) => file.fault(),
            _ => None,
        }
    }

    /// A file of only its end tells the length must be read in the lane's thread: FUSE cuts what the queue reads, and
    /// nothing else, at the size.
    pub fn is_real_file(&self) -> bool {
        matches!(self, Source::File(end) if matches!(*end.handle, Handle::Os(_)))
    }
}
