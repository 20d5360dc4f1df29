//! A program that makes the bytes of a source, or looks at them, block by block, inside the copy loop.
//!
//! Must not know: what the bytes mean, how blocks are read and written.

use std::fmt::Debug;

/// Makes or inspects the bytes of blocks. Called from every lane, for blocks in any order; its CPU time is billed as
/// hashing.
pub trait BlockHook: Debug + Send + Sync {
    /// Makes the bytes of the source from this offset on.
    fn fill(&self, offset: u64, bytes: &mut [u8]);

    /// Looks at the bytes of the source from this offset on.
    fn inspect(&self, offset: u64, bytes: &[u8]);
}
