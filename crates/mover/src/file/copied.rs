//! What was copied of a source, to be compared with the source when it is read again: the target itself, or the hash
//! that was taken of it on the way.
//!
//! Must not know: why the source is read again, what follows.

use std::sync::atomic::{AtomicBool, Ordering};

use datapump_core::{Block, Subtree, subtrees};
use datapump_engine::Handle;
use datapump_files::disk::{FileCalls, Outcome};
use datapump_files::holes::{self, ByteRanges};
use datapump_files::identity::prefix;
use datapump_transport::Digest;

use crate::end::hash::{BlockHash, FileHash, GROUP_BYTES};

/// What was copied.
pub enum CopiedContent<'task> {
    /// The target, open to be read, and how long the source is.
    Target(Handle, u64),
    /// The members of a stripe, open to be read, and how long the source is.
    Stripe(OwnPeek<'task>, u64),
    /// The hash of these ranges.
    Hash(&'task FileHash, ByteRanges),
    /// Nothing was kept of it.
    Nothing,
}

/// Reads a few bytes of a source; 0 at its end.
pub type Peek<'source> = &'source dyn Fn(u64, &mut [u8]) -> Outcome<usize>;

/// Reads a few bytes of what was written; 0 at its end.
pub type OwnPeek<'task> = Box<dyn Fn(u64, &mut [u8]) -> Outcome<usize> + 'task>;

/// Digests of parts of a source, in their order; `None` where they cannot be had.
pub type Sums<'source, E> = &'source mut dyn FnMut(&[Subtree]) -> Result<Option<Vec<Digest>>, E>;

/// Digests that are requested together.
const SUMS_TOGETHER: usize = 64;

impl CopiedContent<'_> {
    /// Compares a file of this host.
    pub fn is_same_as(&self, source: &Handle, stop: &AtomicBool) -> Outcome<bool> {
        match self {
            CopiedContent::Target(copy, bytes) => prefix::is_shared(source, copy, *bytes, stop),
            _ => self.is_same_by(&|at, into| source.peek(at, into), stop),
        }
    }

    /// Compares a source by its bytes.
    pub fn is_same_by(&self, peek: Peek<'_>, stop: &AtomicBool) -> Outcome<bool> {
        match self {
            CopiedContent::Nothing => Ok(true),
            CopiedContent::Target(_, bytes) | CopiedContent::Stripe(_, bytes) => {
                for part in subtrees(0, *bytes, GROUP_BYTES) {
                    let source = read_part(peek, part)?.filter(|_| !stop.load(Ordering::Relaxed));
                    if source.is_none() || source != self.own(part)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            CopiedContent::Hash(hash, ranges) => {
                let again = hash.another();
                for &(start, end) in ranges {
                    for part in subtrees(start, end - start, GROUP_BYTES) {
                        let Some(bytes) = read_part(peek, part)?.filter(|_| !stop.load(Ordering::Relaxed))
                        else {
                            return Ok(false);
                        };
                        again.add(block(part), &bytes);
                    }
                }
                Ok(hash.has_parts_of(&again))
            }
        }
    }

    /// Compares a source by digests of its parts, which holds data in these ranges. `None`: it gives no digests.
    pub fn is_same_by_sums<E>(
        &self,
        source: ByteRanges,
        sums: Sums<'_, E>,
        stop: &AtomicBool,
        failed: impl Fn(datapump_engine::Errno) -> E,
    ) -> Result<Option<bool>, E> {
        let ranges = match self {
            CopiedContent::Nothing => return Ok(Some(true)),
            CopiedContent::Hash(_, ranges) => ranges.clone(),
            CopiedContent::Target(copy, bytes) => {
                let there =
                    copy.meta().and_then(|meta| holes::ranges(copy, &meta, false, stop)).map_err(&failed)?;
                holes::union(source, there, *bytes)
            }
            CopiedContent::Stripe(_, bytes) => vec![(0, *bytes)],
        };
        let again =
            if let CopiedContent::Hash(hash, _) = self { hash.another() } else { FileHash::default() };
        let parts: Vec<Subtree> =
            ranges.iter().flat_map(|&(start, end)| subtrees(start, end - start, GROUP_BYTES)).collect();
        for parts in parts.chunks(SUMS_TOGETHER) {
            let Some(digests) = sums(parts)?.filter(|digests| digests.len() == parts.len()) else {
                return Ok(None);
            };
            for (&part, digest) in parts.iter().zip(digests) {
                if let CopiedContent::Hash(..) = self {
                    again.insert(BlockHash::of_part(part, digest));
                    continue;
                }
                let own = self.own(part).map_err(&failed)?;
                if own.is_none_or(|own| BlockHash::from_bytes(block(part), &own).digest() != digest) {
                    return Ok(Some(false));
                }
            }
            if stop.load(Ordering::Relaxed) {
                return Ok(Some(false));
            }
        }
        let CopiedContent::Hash(hash, _) = self else { return Ok(Some(true)) };
        Ok(Some(hash.has_parts_of(&again)))
    }

    /// A part of what was written; `None` where it ends before.
    fn own(&self, part: Subtree) -> Outcome<Option<Vec<u8>>> {
        match self {
            CopiedContent::Target(copy, _) => read_part(&|at, into| copy.peek(at, into), part),
            CopiedContent::Stripe(peek, _) => read_part(peek, part),
            CopiedContent::Hash(..) | CopiedContent::Nothing => Ok(None),
        }
    }
}

fn block(part: Subtree) -> Block {
    Block { file: 0, at: part.at, len: part.bytes as u32 }
}

/// All bytes of a part; `None` where the file ends in it.
pub fn read_part(peek: Peek<'_>, part: Subtree) -> Outcome<Option<Vec<u8>>> {
    let (mut bytes, mut done) = (vec![0; part.bytes as usize], 0);
    while done < bytes.len() {
        match peek(part.at + done as u64, &mut bytes[done..])? {
            0 => return Ok(None),
            count => done += count,
        }
    }
    Ok(Some(bytes))
}
