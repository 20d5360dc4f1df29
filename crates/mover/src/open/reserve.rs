//! Decides whether room for a target is reserved before its first byte is written.
//!
//! Must not know: how room is reserved (`commit`).

use crate::open::copy_method::How;
use crate::open::held::Original;
use crate::open::opened::Opened;
use crate::open::sizes::sized_ranges;
use crate::open::stripe::target::OpenStripe;
use crate::problem::{Class, Operation, Problem};
use crate::run::MoverRun;
use crate::setup::options::{Choice, Sync};
use datapump_core::resume::GRAIN_BYTES;
use datapump_files::commit::StagedFile;
use datapump_files::commit::compressed::Compression;
use datapump_files::commit::shortage::{Rooms, room_words};
use datapump_files::disk::{FileCalls, FileKind, Meta};
use datapump_files::holes::ByteRanges;

/// Without a sync, blocks are allocated when the cache is written back; reserving a small file only costs time.
const RESERVE_UNSYNCED_MIN_BYTES: u64 = 64 << 20;

/// The ranges to move, of a rehearsal so many bytes of them from its beginning on. Null takes holes as well as data, but
/// a rehearsal is in the place of a copy to a file, which has them, too.
///
/// Errors: the source's holes cannot be found.
pub fn rehearsed(
    run: &MoverRun<'_>,
    original: Option<&Original>,
    ranges: Option<ByteRanges>,
    is_to_null: bool,
) -> Result<Option<ByteRanges>, Problem> {
    let measuring = &run.settings.options.measuring;
    let Some(most) = measuring.rehearsal_bytes else { return Ok(ranges) };
    let file = original.filter(|original| is_to_null && original.meta.kind == FileKind::Regular);
    let ranges = match file.filter(|_| ranges.is_some()) {
        Some(file) => Some(sized_ranges(run, &file.held, &file.meta, &file.path)?),
        None => ranges,
    };
    Ok(ranges.map(|ranges| bytes_from(&ranges, measuring.rehearsal_begin, most)))
}

/// At most `most` bytes of these ranges, from byte `begin` of what they hold on; from further in front where fewer would
/// be left behind it.
fn bytes_from(ranges: &[(u64, u64)], begin: u64, most: u64) -> ByteRanges {
    let last = total_bytes(ranges).saturating_sub(most);
    // Direct requests begin at whole grains.
    let begin = if begin > last { begin % (last + 1) / GRAIN_BYTES * GRAIN_BYTES } else { begin };
    let (mut before, mut left) = (begin, most);
    let mut part = |&(start, end): &(u64, u64)| {
        let skipped = before.min(end - start);
        let len = left.min(end - start - skipped);
        (before, left) = (before - skipped, left - len);
        (start + skipped, start + skipped + len)
    };
    ranges.iter().map(&mut part).filter(|(start, end)| end > start).collect()
}

/// Whether a new file is compressed as it is written. Where neither a reservation nor direct I/O concerns it that is
/// not asked.
pub fn target_compression(run: &MoverRun<'_>, staged: &StagedFile, opened: &Opened, how: How) -> Compression {
    let request_bytes = u64::from(run.settings.shape.request_bytes);
    let total = opened.ranges.as_deref().map(total_bytes);
    let is_sparse = || opened.original.as_ref().is_some_and(|it| Some(it.meta.size_bytes) != total);
    let is_small = total.is_some_and(|bytes| bytes <= request_bytes) && !is_sparse();
    if staged.is_in_order() || is_small && !how.sink_direct {
        Compression::Never
    } else {
        run.compressions.of(&staged.handle)
    }
}

/// Direct writes are not compressed, unless the user asks for direct I/O.
pub fn compressible(run: &MoverRun<'_>, how: How, compression: Compression) -> How {
    let is_direct = how.sink_direct && run.settings.options.tuning.direct != Choice::Always;
    if is_direct && compression == Compression::Cached {
        How { sink_direct: false, why: "the file system compresses: written through the page cache", ..how }
    } else {
        how
    }
}

/// Reserves the target's room where that tells more than the first write would, and defeats no compression; gives a file with
/// holes its length. The time is the sink's.
///
/// Errors: too little room is left.
pub fn reserve(
    run: &MoverRun<'_>,
    staged: &StagedFile,
    ranges: &[(u64, u64)],
    meta: Option<&Meta>,
    skips_zeros: bool,
    compression: Compression,
) -> Result<(), Problem> {
    if staged.is_in_order() {
        return Ok(());
    }
    if skips_zeros {
        // No room for what may be holes. A later run goes on in a file that is as long as it is told to be.
        return meta.map_or(Ok(()), |meta| staged.reserve(&[], meta.size_bytes).map(drop));
    }
    let total = total_bytes(ranges);
    let length = meta.map_or(total, |meta| meta.size_bytes);
    let (is_sparse, is_compressed) = (total != length, compression != Compression::Never);
    let options = run.settings.options;
    if options.measuring.rehearsal_bytes.is_some() {
        staged.has_room_to_rehearse(total)?;
    } else if total <= u64::from(run.settings.shape.request_bytes) && !is_sparse {
        return Ok(());
    }
    let is_small = options.durability.sync == Sync::None && total <= RESERVE_UNSYNCED_MIN_BYTES;
    let reserve = |ranges: &[(u64, u64)], length| {
        run.aside(|waits| &mut waits.reserving, || staged.reserve(ranges, length)).map(drop)
    };
    match options.measuring.rehearsal_bytes {
        Some(_) if !is_compressed => reserve(ranges, ranges.last().map_or(0, |range| range.1)),
        None if !is_compressed && !options.tuning.no_reserve && (is_sparse || !is_small) => {
            reserve(ranges, length)
        }
        // A file with holes gets its length this way.
        None if is_sparse => reserve(&[], length),
        _ => {
            let rooms = staged.rooms_of_folder();
            rooms.check_length(staged.path(), length)?;
            if is_compressed { check_scarce_room(run, staged, &rooms, total) } else { Ok(()) }
        }
    }
}

fn total_bytes(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().map(|(start, end)| end - start).sum()
}

/// Reports that a compressed file may not fit, since nobody knows what it takes before it is written.
///
/// Errors: it is written in place, and what it holds would be lost.
fn check_scarce_room(
    run: &MoverRun<'_>,
    staged: &StagedFile,
    rooms: &Rooms,
    bytes: u64,
) -> Result<(), Problem> {
    let Some(free_bytes) = rooms.free_bytes().filter(|free| bytes > *free) else { return Ok(()) };
    let words = room_words(Some(bytes), free_bytes);
    let held_bytes = staged.handle.meta().map_or(0, |held| held.size_bytes);
    if staged.is_in_place() && held_bytes > 0 && bytes > free_bytes + held_bytes {
        let words =
            format!("{words}, and what it holds would be lost: copy it without --inplace, or make room");
        return Err(Problem::new(Class::NoSpace, Operation::Reserve, staged.path(), words));
    }
    let words = format!("{words}; it is copied all the same, since the file system may compress it");
    run.ledger.report_scarce(staged.path(), &words);
    Ok(())
}

/// Reserves the room of a stripe's members, where that is wanted, and marks them as unfinished.
pub fn reserve_stripe(
    run: &MoverRun<'_>,
    stripe: &OpenStripe,
    ranges: Option<&[(u64, u64)]>,
) -> Result<(), Problem> {
    let options = run.settings.options;
    let Some(&(_, end)) = ranges.and_then(|ranges| ranges.last()) else { return Ok(()) };
    let is_reserved = !options.tuning.no_reserve
        && (options.durability.sync != Sync::None || end > RESERVE_UNSYNCED_MIN_BYTES);
    run.aside(
        |waits| &mut waits.reserving,
        || {
            if is_reserved {
                stripe.reserve(end, &run.compressions)?;
            }
            stripe.mark_unfinished(end)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const G: u64 = GRAIN_BYTES;

    #[test]
    fn a_rehearsal_moves_so_many_bytes_of_what_the_source_holds() {
        let holed = [(0, 2 * G), (10 * G, 12 * G), (90 * G, 91 * G + 7)];
        for (ranges, begin, most, expected) in [
            (&[(0, 100 * G)][..], 0, 8 * G, vec![(0, 8 * G)]),
            (&[(0, 100 * G)], 8 * G, 8 * G, vec![(8 * G, 16 * G)]),
            (&holed, 0, 3 * G, vec![(0, 2 * G), (10 * G, 11 * G)]),
            (&holed, 3 * G, 2 * G, vec![(11 * G, 12 * G), (90 * G, 91 * G)]),
            // Behind the last byte from which there are as many: from another place before it.
            (&holed, 6 * G, 2 * G, vec![(10 * G, 12 * G)]),
            (&holed, 64 * G, 100 * G, holed.to_vec()),
            (&[], 64 * G, 100 * G, vec![]),
        ] {
            assert_eq!(bytes_from(ranges, begin, most), expected, "{ranges:?} {begin} {most}");
        }
    }
}
