//! The unit of a transfer: blocks of at most one request size, cut from extents that a plan yields.
//!
//! Must not know: where the file is, what is in it, how it is read.

/// A piece of one file that one request at each end moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// The file's number in the plan.
    pub file: u32,
    /// First byte within the file.
    pub at: u64,
    /// Number of bytes; at least one, at most the request size.
    pub len: u32,
}

/// How far an extent reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Exactly this many bytes: data that end earlier are a fault.
    Bytes(u64),
    /// Until the source has no more data: pipes, and files that do not know their size.
    UntilEnd,
    /// As many bytes, or fewer if the source has no more: what another host asks of a pipe. Only of
    /// sources that are assembled.
    UpTo(u64),
}

/// Which way the bytes take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockRoute {
    /// Read into a slot, then written from it.
    Slots,
    /// Inside the kernel, as one request at both ends at once.
    InKernel,
}

impl BlockRoute {
    /// The way of blocks that are copied inside the kernel, or not.
    pub fn from_in_kernel(in_kernel: bool) -> BlockRoute {
        if in_kernel { BlockRoute::InKernel } else { BlockRoute::Slots }
    }
}

/// A contiguous piece of one file that a lane claims from the plan and cuts into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The file's number in the plan.
    pub file: u32,
    /// First byte within the file.
    pub at: u64,
    /// How far it reaches.
    pub length: Length,
    /// Which way its bytes take.
    pub way: BlockRoute,
}
