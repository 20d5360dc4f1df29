//! Whether room for a target is reserved before its first byte is written.
//!
//! Must not know: how room is reserved (`commit`).

use crate::commit::Staged;
use crate::disk::Meta;
use crate::options::Sync;
use crate::problem::Problem;
use crate::run::Shared;

/// Without a sync, blocks are allocated when the cache is written back; reserving a small file only costs time.
const RESERVE_UNSYNCED_MIN_BYTES: u64 = 64 << 20;

/// Reserves the target's room where a reservation tells more than the first write would.
pub(crate) fn reserve(
    shared: &Shared<'_>,
    staged: &Staged,
    ranges: &[(u64, u64)],
    meta: Option<&Meta>,
) -> Result<(), Problem> {
    let total: u64 = ranges.iter().map(|(start, end)| end - start).sum();
    let length = meta.map_or(total, |meta| meta.size_bytes);
    let sparse = total != length;
    if shared.options.rehearsal {
        staged.has_room_to_rehearse(total)?;
    }
    // A file with holes gets its length this way.
    if shared.options.no_reserve && !sparse {
        return Ok(());
    }
    if total <= u64::from(shared.shape.request_bytes) && !sparse {
        return Ok(());
    }
    if shared.options.sync == Sync::None && !sparse && total <= RESERVE_UNSYNCED_MIN_BYTES {
        return Ok(());
    }
    staged.reserve(ranges, length).map(|_| ())
}
