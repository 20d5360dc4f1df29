//! Whether room for a target is reserved before its first byte is written.
//!
//! Must not know: how room is reserved (`commit`).

use crate::job::options::Sync;
use crate::open::stripe::target::OpenStripe;
use crate::problem::Problem;
use crate::run::Shared;
use datapump_files::commit::StagedFile;
use datapump_files::disk::Meta;
use datapump_files::holes::ByteRanges;

/// Without a sync, blocks are allocated when the cache is written back; reserving a small file only costs time.
const RESERVE_UNSYNCED_MIN_BYTES: u64 = 64 << 20;

/// The ranges, of a rehearsal as far as so many bytes of them.
pub(crate) fn rehearsed(shared: &Shared<'_>, ranges: Option<ByteRanges>) -> Option<ByteRanges> {
    match shared.settings.options.rehearsal_bytes {
        Some(most) => ranges.map(|ranges| first_bytes(&ranges, most)),
        None => ranges,
    }
}

fn first_bytes(ranges: &[(u64, u64)], most: u64) -> ByteRanges {
    let mut left = most;
    let mut first = |&(start, end): &(u64, u64)| {
        let len = left.min(end - start);
        left -= len;
        (start, start + len)
    };
    ranges.iter().map(&mut first).filter(|(start, end)| end > start).collect()
}

/// Reserves the target's room where a reservation tells more than the first write would. The time is the sink's.
pub(crate) fn reserve(
    shared: &Shared<'_>,
    staged: &StagedFile,
    ranges: &[(u64, u64)],
    (meta, skips_zeros): (Option<&Meta>, bool),
) -> Result<(), Problem> {
    if skips_zeros {
        // No room for what may be holes. A later run goes on in a file that is as long as it is told to be.
        return meta.map_or(Ok(()), |meta| staged.reserve(&[], meta.size_bytes).map(drop));
    }
    let Some(length) = wanted(shared, staged, ranges, meta)? else { return Ok(()) };
    shared.aside(|waits| &mut waits.reserving, || staged.reserve(ranges, length)).map(|_| ())
}

/// The same of the members of a stripe, whose lengths say from here on that it is not whole.
pub(crate) fn of_stripe(
    shared: &Shared<'_>,
    stripe: &OpenStripe,
    ranges: Option<&[(u64, u64)]>,
) -> Result<(), Problem> {
    let options = shared.settings.options;
    let Some(&(_, end)) = ranges.and_then(|ranges| ranges.last()) else { return Ok(()) };
    let is_reserved = !options.no_reserve && (options.sync != Sync::None || end > RESERVE_UNSYNCED_MIN_BYTES);
    shared.aside(
        |waits| &mut waits.reserving,
        || {
            if is_reserved {
                stripe.reserve(end)?;
            }
            stripe.mark_unfinished(end)
        },
    )
}

/// The length of the file for which room is to be reserved, if it is.
fn wanted(
    shared: &Shared<'_>,
    staged: &StagedFile,
    ranges: &[(u64, u64)],
    meta: Option<&Meta>,
) -> Result<Option<u64>, Problem> {
    let total: u64 = ranges.iter().map(|(start, end)| end - start).sum();
    let length = meta.map_or(total, |meta| meta.size_bytes);
    let sparse = total != length;
    if shared.settings.options.rehearsal_bytes.is_some() {
        staged.has_room_to_rehearse(total)?;
        return Ok(Some(ranges.last().map_or(0, |range| range.1)));
    }
    // A file with holes gets its length this way.
    if shared.settings.options.no_reserve && !sparse {
        return Ok(None);
    }
    if total <= u64::from(shared.settings.shape.request_bytes) && !sparse {
        return Ok(None);
    }
    if shared.settings.options.sync == Sync::None && !sparse && total <= RESERVE_UNSYNCED_MIN_BYTES {
        return Ok(None);
    }
    Ok(Some(length))
}
