//! Transfers at offsets, nops, and the care for slots and files.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datapump_engine::{Completion, Op, Slot, TransferFlags, TransferPlace};

use super::support::*;
use crate::Maker;

pub fn every_request_completes_once_with_its_token(make: Maker) {
    // 300 requests, in an engine that was made for 8.
    let Some(mut engine) = make(8, 4096, 8, Arc::default()) else { return };
    let nops = (0..300).map(|number| Op::Nop { len: number + 1, write: number % 2 == 0 });
    let results = all(&mut engine, nops.collect());
    assert!(results.into_iter().eq((0..300).map(|token| (token, Ok(token + 1)))));
}

pub fn nops_complete_with_their_length(make: Maker) {
    let Some(mut engine) = small(make) else { return };
    for len in [0, 1, 4096, u32::MAX] {
        let nop = || Op::Nop { len, write: true };
        assert_eq!(one(&mut engine, nop()), Ok(len));
        assert_eq!(engine.post_inline(3, nop()), Completion { token: 3, result: Ok(len) });
    }
}

pub fn reads_return_the_bytes_at_their_offset(make: Maker) {
    let Some(mut engine) = small(make) else { return };
    let bytes = noise(&mut seeded(), 100_000);
    let file = file_for(&engine, &bytes);
    for (at, len) in [(0, 1), (0, 65_536), (1, 4095), (34_464, 65_536), (99_999, 1)] {
        let result = one(&mut engine, read(&file, TransferPlace::At(at), span(2, 0, len)));
        assert_eq!(result, Ok(len), "{len} bytes at {at}");
        let expected = &bytes[at as usize..][..len as usize];
        assert_eq!(&engine.bytes(Slot(2))[..len as usize], expected, "{len} bytes at {at}");
    }
}

pub fn a_read_at_the_end_returns_nothing(make: Maker) {
    let Some(mut engine) = small(make) else { return };
    let file = file_for(&engine, &[1; 5000]);
    for at in [5000, 5001, 1 << 40] {
        assert_eq!(one(&mut engine, read(&file, TransferPlace::At(at), span(0, 0, 4096))), Ok(0), "at {at}");
    }
}

pub fn a_read_across_the_end_is_short(make: Maker) {
    let Some(mut engine) = small(make) else { return };
    let file = file_for(&engine, &[1; 5000]);
    for (at, expected) in [(4096, 904), (4999, 1), (0, 5000)] {
        let result = one(&mut engine, read(&file, TransferPlace::At(at), span(0, 0, 8192)));
        assert_eq!(result, Ok(expected), "at {at}");
    }
}

pub fn writes_land_at_their_offset_and_nowhere_else(make: Maker) {
    let Some(mut engine) = small(make) else { return };
    let file = file_for(&engine, &[b'.'; 20]);
    for (slot, (at, text)) in (0..).zip([(3, "abc"), (10, "de"), (24, "end")]) {
        engine.bytes_mut(Slot(slot))[..text.len()].copy_from_slice(text.as_bytes());
        let op = write(&file, TransferPlace::At(at), span(slot, 0, text.len() as u32));
        assert_eq!(one(&mut engine, op), Ok(text.len() as u32), "{text} at {at}");
    }
    assert_eq!(content(&file), b"...abc....de........\0\0\0\0end");
}

pub fn a_span_leaves_the_rest_of_its_slot_alone(make: Maker) {
    let Some(mut engine) = small(make) else { return };
    engine.bytes_mut(Slot(1)).fill(b'-');
    let file = file_for(&engine, b"0123456789");
    assert_eq!(one(&mut engine, read(&file, TransferPlace::At(4), span(1, 5, 3))), Ok(3));
    assert_eq!(&engine.bytes(Slot(1))[..10], b"-----456--");
    assert_eq!(one(&mut engine, write(&file, TransferPlace::At(0), span(1, 5, 2))), Ok(2));
    assert_eq!(content(&file), b"4523456789");
}

/// The same requests give the same file on every engine: this one.
pub fn a_copy_by_random_requests_is_exact(make: Maker) {
    const PIECE: u32 = 3000; // not a multiple of anything
    const PIECES: u32 = 256;
    let Some(mut engine) = make(PIECES, PIECE, 16, Arc::default()) else { return };
    let mut random = seeded();
    let bytes = noise(&mut random, (PIECE * PIECES) as usize - 1234);
    let (source, sink) = (file_for(&engine, &bytes), file_for(&engine, b""));
    let mut order: Vec<u32> = (0..PIECES).collect();
    (1..order.len()).for_each(|last| order.swap(last, random.below(last as u64 + 1) as usize));

    let at = |piece: u32| TransferPlace::At(u64::from(piece) * u64::from(PIECE));
    let reads = order.iter().map(|&piece| read(&source, at(piece), span(piece, 0, PIECE)));
    let moved = all(&mut engine, reads.collect());
    order.reverse();
    let len = |piece: u32| if piece == PIECES - 1 { PIECE - 1234 } else { PIECE };
    let writes = order.iter().map(|&piece| write(&sink, at(piece), span(piece, 0, len(piece))));
    let written = all(&mut engine, writes.collect());

    let total = |results: std::collections::BTreeMap<u32, Result<u32, _>>| {
        results.into_values().map(|result| u64::from(result.expect("nothing fails"))).sum::<u64>()
    };
    assert_eq!((total(moved), total(written)), (bytes.len() as u64, bytes.len() as u64));
    assert!(content(&sink) == bytes, "the copy differs");
}

pub fn writing_to_a_file_open_for_reading_fails(make: Maker) {
    let Some(mut engine) = small_real(make) else { return };
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let file = handle(std::fs::File::open(file.path()).expect("it exists"));
    for place in [TransferPlace::At(0), TransferPlace::Stream] {
        let result = one(&mut engine, write(&file, place, span(0, 0, 10)));
        #[cfg(unix)]
        assert_eq!(result, Err(datapump_engine::Errno(libc::EBADF)), "{place:?}");
        #[cfg(windows)]
        assert!(result.is_err(), "{place:?}");
    }
}

pub fn a_slot_in_flight_cannot_be_lent_again(make: Maker) {
    let Some(mut engine) = small(make) else { return };
    let file = file_for(&engine, b"0123456789");
    if engine.post(0, read(&file, TransferPlace::At(0), span(0, 0, 10))).is_some() {
        return; // never in flight
    }
    let seen = catch_unwind(AssertUnwindSafe(|| engine.bytes(Slot(0))[0]));
    let lent =
        catch_unwind(AssertUnwindSafe(|| engine.post(1, read(&file, TransferPlace::At(0), span(0, 0, 1)))));
    let reused =
        catch_unwind(AssertUnwindSafe(|| engine.post(0, read(&file, TransferPlace::At(0), span(1, 0, 1)))));
    let outside = catch_unwind(AssertUnwindSafe(|| {
        engine.post(2, read(&file, TransferPlace::At(0), span(2, 1, 65_536)))
    }));
    assert!(seen.is_err() && lent.is_err() && reused.is_err() && outside.is_err());
    assert_eq!(next(&mut engine), Completion { token: 0, result: Ok(10) });
    assert_eq!(&engine.bytes(Slot(0))[..10], b"0123456789");
}

pub fn the_files_of_a_taken_request_are_let_go(make: Maker) {
    let Some(mut engine) = small(make) else { return };
    let mut file = file_for(&engine, b"0123456789");
    for round in 0..100 {
        assert_eq!(one(&mut engine, read(&file, TransferPlace::At(0), span(0, 0, 10))), Ok(10));
        file = Arc::new(Arc::try_unwrap(file).unwrap_or_else(|_| panic!("still held, round {round}")));
    }
}

pub fn dropping_with_requests_in_flight_is_safe(make: Maker) {
    let bytes = noise(&mut seeded(), 1 << 20);
    for _ in 0..20 {
        let Some(mut engine) = make(32, 32_768, 8, Arc::default()) else { return };
        let file = file_for(&engine, &bytes);
        for slot in 0..32 {
            engine
                .post(slot, read(&file, TransferPlace::At(u64::from(slot) * 32_768), span(slot, 0, 32_768)));
        }
        drop(engine);
        assert_eq!(Arc::strong_count(&file), 1);
    }
}

pub fn waiting_with_nothing_in_flight_returns(make: Maker) {
    let Some(mut engine) = small(make) else { return };
    assert_eq!(engine.wait(LONG), Ok(()));
    assert_eq!(engine.take(), None);
}

/// What a durable write is worth only a loss of power shows: here, that it is taken and lands.
#[cfg(target_os = "linux")]
pub fn uncached_and_durable_requests_move_the_same_bytes(make: Maker) {
    let Some(mut engine) = small(make) else { return };
    let is_real = engine.kind() != datapump_engine::EngineKind::Sim;
    let file = if is_real {
        handle(tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary file"))
    } else {
        file_for(&engine, b"")
    };
    let bytes = noise(&mut seeded(), 65_536);
    for (uncached, durable) in [(false, true), (true, false), (true, true)] {
        let flags = TransferFlags { uncached, durable };
        engine.bytes_mut(Slot(0)).copy_from_slice(&bytes);
        match one(&mut engine, with(write(&file, TransferPlace::At(0), span(0, 0, 65_536)), flags)) {
            Err(datapump_engine::Errno(libc::EOPNOTSUPP)) if uncached && is_real => {
                eprintln!("SKIPPED: this file system or kernel has no uncached I/O");
                continue;
            }
            written => assert_eq!(written, Ok(65_536), "{flags:?}"),
        }
        assert_eq!(
            one(&mut engine, with(read(&file, TransferPlace::At(0), span(1, 0, 65_536)), flags)),
            Ok(65_536)
        );
        assert!(engine.bytes(Slot(1)) == bytes, "{flags:?}");
    }
}

/// A request that the file system does not have fails; it is not done in another way without a word.
#[cfg(target_os = "linux")]
pub fn uncached_requests_are_refused_where_there_are_none(make: Maker) {
    let Some(mut engine) = small_real(make) else { return };
    let Ok(file) = tempfile::tempfile_in("/dev/shm") else {
        return eprintln!("SKIPPED: no tmpfs at /dev/shm");
    };
    let flags = TransferFlags { uncached: true, durable: false };
    let result = one(&mut engine, with(write(&handle(file), TransferPlace::At(0), span(0, 0, 4096)), flags));
    // Kernels before 6.14 know no such flag, by the same number.
    assert_eq!(result, Err(datapump_engine::Errno(libc::EOPNOTSUPP)));
}

#[cfg(target_os = "linux")]
pub fn a_range_is_copied_inside_the_kernel(make: Maker) {
    let Some(mut engine) = small(make) else { return };
    let bytes = noise(&mut seeded(), 10_000);
    let (from, to) = (file_for(&engine, &bytes), file_for(&engine, b""));
    let copy = |from_at, len| Op::CopyRange {
        from: Arc::clone(&from),
        from_at,
        to: Arc::clone(&to),
        to_at: from_at + 7,
        len,
    };
    let results = all(&mut engine, vec![copy(5000, 5000), copy(0, 5000), copy(10_000, 5)]);
    assert_eq!(results.into_values().collect::<Vec<_>>(), [Ok(5000), Ok(5000), Ok(0)]);
    assert!(content(&to)[7..] == bytes);
}

#[cfg(target_os = "linux")]
pub fn unaligned_direct_io_is_refused(make: Maker) {
    use std::os::unix::fs::OpenOptionsExt;

    let Some(mut engine) = small_real(make) else { return };
    let named = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary file");
    write_all(named.as_file(), &[5; 65_536]);
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_DIRECT).open(named.path());
    let Ok(file) = file else { return eprintln!("SKIPPED: no direct I/O here: {file:?}") };
    // Some file systems fall back to buffered reads; then there is nothing to refuse.
    let Some((_, offset_bytes)) = datapump_engine::os::linux::direct_alignment(&file) else {
        return eprintln!("SKIPPED: the kernel does not tell what direct I/O needs here");
    };
    let file = handle(file);
    assert_eq!(one(&mut engine, read(&file, TransferPlace::At(0), span(0, 0, 4096))), Ok(4096));
    if offset_bytes > 1 {
        let unaligned = read(&file, TransferPlace::At(1), span(0, 0, 4096));
        assert_eq!(one(&mut engine, unaligned), Err(datapump_engine::Errno(libc::EINVAL)));
    }
}

#[cfg(target_os = "linux")]
pub fn a_full_device_says_so(make: Maker) {
    let Some(mut engine) = small_real(make) else { return };
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let full = handle(full);
    for place in [TransferPlace::At(0), TransferPlace::Stream] {
        let result = one(&mut engine, write(&full, place, span(0, 0, 4096)));
        assert_eq!(result, Err(datapump_engine::Errno(libc::ENOSPC)), "{place:?}");
    }
}
