//! Finds the ranges of a file that hold data. Holes stay holes, but are never believed blindly.
//!
//! Copies have come out with zeroed pieces because a file system told of holes where there were fresh data
//! (openzfs/zfs#15526). So a map of holes is used as it is told only on the file systems of a closed list
//! ([`kind::holes_are_honest`]), and there only if three witnesses agree:
//! 1. the source was synced first, so that nothing is still on its way to the map;
//! 2. the number of allocated bytes is no larger than the data that the map admits (a hole takes no blocks), and the
//!    space that is reserved and was never written (`fallocate`), which the file system tells apart (FIEMAP);
//! 3. samples read from the claimed holes (both edges and places between) are zeros.
//!
//! On every other file system, and where the second witness disagrees, every byte of the claimed holes is read: what is
//! not zero there counts as data. Where a sample is not zero, every byte of the file is read and written.
//!
//! Must not know: the target.

pub mod mapped;
pub mod sizes;

use std::sync::atomic::{AtomicBool, Ordering};

use datapump_engine::Handle;
use datapump_engine::sim::Random;

use crate::disk::{FileCalls, Meta, Outcome, kind};

/// Byte ranges, start and end.
pub type ByteRanges = Vec<(u64, u64)>;

/// Ranges are widened to this: requests of direct I/O start and end at multiples of it.
const GRAIN_BYTES: u64 = 4096;
/// File systems allocate some metadata blocks to a file besides its data.
const ALLOCATION_SLACK_BYTES: u64 = 1 << 20;
/// Bytes read at a time where every byte of a hole is looked at.
const PIECE_BYTES: u64 = 1 << 20;
/// A map that reading cuts into more ranges is no map: all of the file is copied.
const RANGES_MAX: usize = 1 << 16;
const SAMPLES_EACH_HOLE: u64 = 6;
/// Enough to notice a systematic lie; a file with a million holes is not read a million times.
const SAMPLES_MAX: u64 = 4096;

/// The ranges `start..end` to copy of a file of this size, in order. A stop ends the looking.
pub fn ranges(
    handle: &Handle,
    meta: &Meta,
    ignore_holes: bool,
    stop: &AtomicBool,
) -> Outcome<Vec<(u64, u64)>> {
    let whole = vec![(0, meta.size_bytes)];
    // Files whose blocks cover their length have no holes worth a look: no call is made for them.
    if ignore_holes || meta.allocated_bytes >= meta.size_bytes {
        return Ok(whole);
    }
    let Some(told) = handle.data_ranges(meta.size_bytes)? else { return Ok(whole) };
    let told = widened(&told, meta.size_bytes);
    if told == whole {
        return Ok(whole);
    }
    if !kind::holes_are_honest(handle.room().magic) {
        return Ok(with_what_is_read(handle, told, meta, stop).unwrap_or(whole));
    }
    // 1. A sync that fails (read-only file system) leaves the other two witnesses.
    let _ = handle.sync();
    let Some(told) = handle.data_ranges(meta.size_bytes)? else { return Ok(whole) };
    let told = widened(&told, meta.size_bytes);
    let data_bytes: u64 = told.iter().map(|(start, end)| end - start).sum();
    let agreed = if has_more_blocks(handle, data_bytes)? {
        with_what_is_read(handle, told, meta, stop)
    } else {
        holes_are_zero(handle, &told, meta)?.then_some(told)
    };
    Ok(agreed.unwrap_or(whole))
}

/// Whether more is allocated than data and reserved space take. Reserved space is asked for only if data do not explain
/// it: a file system that hides fresh data in a hole counts them as allocated, and not as reserved.
fn has_more_blocks(handle: &Handle, data_bytes: u64) -> Outcome<bool> {
    let allocated = handle.meta()?.allocated_bytes;
    let is_explained = |bytes: u64| allocated <= bytes.saturating_add(ALLOCATION_SLACK_BYTES);
    Ok(!is_explained(data_bytes) && !is_explained(data_bytes.saturating_add(handle.unwritten_bytes())))
}

/// The ranges that are in one of the two lists or in both, within `size_bytes`.
pub fn union(one: Vec<(u64, u64)>, other: Vec<(u64, u64)>, size_bytes: u64) -> Vec<(u64, u64)> {
    let mut all: Vec<(u64, u64)> =
        one.into_iter().chain(other).filter(|&(start, end)| start < end && start < size_bytes).collect();
    all.sort_unstable();
    widened(&all, size_bytes)
}

/// Widens ranges to whole grains and joins those that touch.
fn widened(ranges: &[(u64, u64)], size_bytes: u64) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for &(start, end) in ranges {
        let start = start / GRAIN_BYTES * GRAIN_BYTES;
        let end = end.next_multiple_of(GRAIN_BYTES).min(size_bytes);
        match out.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => out.push((start, end)),
        }
    }
    out
}

/// Whether samples of the claimed holes are zero, in at most so many holes. A true answer is likely, not certain.
fn holes_are_zero(handle: &Handle, data: &[(u64, u64)], meta: &Meta) -> Outcome<bool> {
    let mut random = Random::new(meta.inode ^ meta.size_bytes);
    let mut sampled = 0;
    let mut hole_start = 0;
    for &(start, end) in data.iter().chain([&(meta.size_bytes, meta.size_bytes)]) {
        if start > hole_start && sampled < SAMPLES_MAX {
            sampled += SAMPLES_EACH_HOLE;
            if !hole_is_zero(handle, hole_start, start, &mut random)? {
                return Ok(false);
            }
        }
        hole_start = end;
    }
    Ok(true)
}

/// Reads every byte of the claimed holes, and adds what is not zero there to the data. `None` if all of the file is to
/// be copied: after a stop, at an end that comes too early, where something cannot be read (the copy will say so).
fn with_what_is_read(
    handle: &Handle,
    told: ByteRanges,
    meta: &Meta,
    stop: &AtomicBool,
) -> Option<ByteRanges> {
    let mut found = ByteRanges::new();
    let mut piece = vec![0; PIECE_BYTES as usize];
    let mut at = 0;
    for &(start, end) in told.iter().chain([&(meta.size_bytes, meta.size_bytes)]) {
        while at < start {
            let most = PIECE_BYTES.min(start - at) as usize;
            let count = handle.peek(at, &mut piece[..most]).ok().filter(|&count| count > 0)?;
            for (index, grain) in piece[..count].chunks(GRAIN_BYTES as usize).enumerate() {
                if !is_zero(grain) {
                    let from = at + index as u64 * GRAIN_BYTES;
                    extend(&mut found, from, from + grain.len() as u64);
                }
            }
            if found.len() > RANGES_MAX || stop.load(Ordering::Relaxed) {
                return None;
            }
            at += count as u64;
        }
        at = end;
    }
    Some(if found.is_empty() { told } else { union(told, found, meta.size_bytes) })
}

fn extend(ranges: &mut ByteRanges, start: u64, end: u64) {
    match ranges.last_mut() {
        Some(last) if last.1 == start => last.1 = end,
        _ => ranges.push((start, end)),
    }
}

/// All bytes are looked at: without an early end the compiler takes many at a time.
fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |all, byte| all | byte) == 0
}

/// Whether samples of a hole are zero: its first and last grain, and some between.
fn hole_is_zero(handle: &Handle, start: u64, end: u64, random: &mut Random) -> Outcome<bool> {
    let last = end.saturating_sub(GRAIN_BYTES).max(start);
    let between = std::iter::repeat_with(|| start + random.below(end - start) / GRAIN_BYTES * GRAIN_BYTES);
    for at in [start, last].into_iter().chain(between.take(SAMPLES_EACH_HOLE as usize - 2)) {
        let mut sample = [0; GRAIN_BYTES as usize];
        let count = handle.peek(at, &mut sample)?;
        let within = count.min((end - at) as usize);
        if !is_zero(&sample[..within]) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a stop already given, a look into the claimed holes comes to nothing and the whole file counts: the test
    /// shows that nobody looks there.
    #[test]
    fn reserved_space_that_was_never_written_is_a_hole() {
        use std::os::unix::fs::FileExt;
        const TIB: u64 = 1 << 40;
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("room");
        file.set_len(TIB).expect("a length can be set");
        file.write_all_at(&[7; 8192], 1 << 30).expect("room");
        for at in [1 << 31, TIB + (1 << 31)] {
            rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::KEEP_SIZE, at, 4 << 20).expect("room");
        }
        let handle = Handle::Os(file);
        if handle.unwritten_bytes() == 0 {
            return eprintln!("skipped: this file system does not tell what is reserved");
        }
        let told = ranges(&handle, &handle.meta().expect("open"), false, &AtomicBool::new(true));
        assert_eq!(told, Ok(vec![(1 << 30, (1 << 30) + 8192)]));
    }

    #[test]
    fn two_lists_are_joined() {
        for (one, other, size, expected) in [
            (vec![], vec![(0, 0)], 10_000, vec![]),
            (vec![(0, 4096)], vec![], 10_000, vec![(0, 4096)]),
            (vec![(8192, 10_000)], vec![(0, 4096)], 10_000, vec![(0, 4096), (8192, 10_000)]),
            (vec![(0, 4096), (8192, 12_288)], vec![(4096, 8192)], 20_000, vec![(0, 12_288)]),
            (vec![(0, 4096)], vec![(0, 20_000), (24_576, 28_672)], 10_000, vec![(0, 10_000)]),
        ] {
            assert_eq!(union(one.clone(), other.clone(), size), expected, "{one:?} and {other:?}");
        }
    }

    #[test]
    fn ranges_are_widened_and_joined() {
        for (ranges, size, expected) in [
            (vec![], 10_000, vec![]),
            (vec![(0, 10)], 10_000, vec![(0, 4096)]),
            (vec![(5000, 6000)], 5500, vec![(4096, 5500)]),
            (vec![(0, 4096), (4100, 5000)], 1 << 20, vec![(0, 8192)]),
            (vec![(0, 4096), (9000, 9001)], 1 << 20, vec![(0, 4096), (8192, 12_288)]),
        ] {
            assert_eq!(widened(&ranges, size), expected, "{ranges:?} of {size}");
        }
    }
}
