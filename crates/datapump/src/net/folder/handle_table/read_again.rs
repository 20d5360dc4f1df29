//! What the reading side looks at or reads once more: an open file behind its blocks, parts of a file that the other
//! side is in doubt about, and a small file behind its block.
//!
//! Must not know: who asks, what becomes of the answer.

use datapump_core::wire::peer_request::{Answer, is_wanted};

use super::{EINVAL, HandleTable, ShelfOutcome, Taken, named, problem};
use crate::file::hash::GROUP_BYTES;
use crate::net::folder::convert::{attributes_of, fault, stored_to, to_wire};
use crate::net::folder::given_file::{GivenFile, Still};
use crate::net::folder::listing::fitting;
use crate::problem::Operation;
use datapump_files::disk::{AttributeHolder, FileCalls};
use datapump_files::holes::mapped;

/// All pages of a file of this size are looked at in 0.2 ms.
const LOOKED_AT_WHOLE: u64 = 16 << 20;
/// The answer before the block of a small file; or it was changed.
type SmallHead = Result<Option<Box<Answer>>, ()>;

impl HandleTable {
    /// What a file is behind blocks of it that were read. Of a large one only these are looked at for stores through a
    /// mapping: all of its pages, for every few blocks, took a third of both processors (a cached GiB over 180 ms).
    pub(crate) fn look_behind(&self, number: u64, blocks: (u64, u64)) -> Option<Answer> {
        self.look_again(number, Some(blocks)).ok()
    }

    pub(super) fn look_again(&self, number: u64, blocks: Option<(u64, u64)>) -> ShelfOutcome<Answer> {
        let Taken::File(given) = self.file(number)? else { return Err(fault(Operation::LookAt, EINVAL)) };
        let meta = given.handle.meta().map_err(|errno| fault(Operation::LookAt, errno))?;
        // What was appended to has pages that were written, and the caller sees that it grew.
        let looked_at = blocks.filter(|_| meta.size_bytes > LOOKED_AT_WHOLE).unwrap_or((0, meta.size_bytes));
        let was_stored_to = || mapped::was_stored_within(&given.handle, &meta, looked_at);
        if meta.size_bytes <= given.meta.size_bytes && was_stored_to() {
            return Err(stored_to());
        }
        let named = match &given.above {
            Some((side, name)) => {
                let folder = side.origin_folder().map_err(problem)?;
                folder.metadata(name).ok()
            }
            None => Some(meta),
        };
        Ok(Answer::Meta {
            meta: to_wire(&meta),
            named: named.as_ref().map(to_wire),
            is_partial: None,
            owners: None,
            is_young: given.look.is_young.then_some(true),
        })
    }

    /// The digest of a part of a file that is read once more, and not sent: the other side has it.
    pub(super) fn sum(&self, number: u64, (at, len): (u64, u32)) -> ShelfOutcome<Answer> {
        let Taken::File(given) = self.file(number)? else { return Err(fault(Operation::Read, EINVAL)) };
        if u64::from(len) > GROUP_BYTES || !is_wanted(at, len, given.meta.size_bytes) {
            return Err(fault(Operation::Read, EINVAL));
        }
        let _charge = self.charge(len as usize, 0)?;
        let sum = given.sum((at, len), &self.stop).map_err(|errno| fault(Operation::Read, errno))?;
        Ok(Answer::Sum(sum))
    }

    /// What a small file is behind its block, with what is sent before that.
    pub(crate) fn check_small(
        &self,
        given: &GivenFile,
        block: &[u8],
        head: Option<Box<Answer>>,
    ) -> SmallHead {
        match given.check(block, &self.stop) {
            Still::Unchanged => Ok(head),
            Still::Changed => Err(()),
            Still::ReadAgain(handle, meta) => {
                let meta = named(&given.above, meta).map_err(drop)?;
                let attributes = fitting(attributes_of(AttributeHolder::Open(handle.os())));
                let meta = to_wire(&meta);
                Ok(Some(Box::new(Answer::file(meta, attributes))))
            }
        }
    }
}
