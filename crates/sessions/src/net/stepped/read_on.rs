//! Blocks that are requested before they have slots: their file is looked at behind them, and that look counts.
//!
//! Must not know: how requests are made.

use super::*;

/// 8 MiB in blocks of 64 KiB, of which the pump has no more than four.
fn of_blocks(stage: &TwoHosts) -> Options {
    let depths = stage.options().with(|it| {
        it.tuning.source_depth = Some(4);
        it.tuning.request_bytes = Some(64 << 10);
    });
    depths.with(|it| it.limits.source_depth_max = Some(4))
}

#[test]
fn what_is_under_way_is_more_than_there_are_slots() {
    let stage = TwoHosts::new();
    write_source(&stage.path("large"), &noise(8 << 20));
    for way in [Direction::Pull, Direction::Push] {
        let target = format!("{way:?}");
        let outcome = stage.copy(way, ("large", &target), of_blocks(&stage));
        assert_eq!((outcome.report.exit_status, outcome.lost), (0, None), "{target}");
        same(&stage.path("large"), &stage.path(&target), &target);
        // To begin, names, all blocks with a look at their file, to end.
        assert_eq!((outcome.round_trips, outcome.report.source_depth), (4, 128), "{target}");
    }
}

/// As a part of a copy that is measured it is bounded by what bounds a file. Only places with files are opened ahead.
#[test]
fn null_of_a_known_length_is_requested_as_a_file_is() {
    let stage = TwoHosts { null_bytes: Some(8 << 20), ..TwoHosts::new() };
    for way in [Direction::Pull, Direction::Push] {
        let target = format!("{way:?}");
        let outcome = stage.copy(way, ("null", &target), of_blocks(&stage));
        assert_eq!((outcome.report.exit_status, outcome.lost), (0, None), "{target}");
        assert_eq!(fs::metadata(stage.path(&target)).expect("it was copied").len(), 8 << 20, "{target}");
        assert_eq!((outcome.round_trips, outcome.report.source_depth), (5, 128), "{target}");
    }
}

/// At every moment of a copy: a file that was written over meanwhile gets no name, one that only grew is as it was.
#[test]
fn a_source_that_changes_under_way_is_found() {
    let mut found = [0, 0];
    for trips in 0..10 {
        for (index, grows) in [true, false].into_iter().enumerate() {
            let stage = TwoHosts::new();
            let (source, bytes) = (stage.path("large"), 8 << 20);
            fs::write(&source, noise(bytes)).expect("room");
            // All of this takes no tick of the clock: the times of a young file would not tell, but its content.
            let old =
                fs::File::open(&source).and_then(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH));
            old.expect("it is ours");
            let path = source.clone();
            happens(&stage, trips, move || {
                // The copy may have ended before, and all of its stage.
                let Ok(file) = fs::OpenOptions::new().write(true).open(path) else { return };
                let at = if grows { bytes as u64 } else { 5 << 20 };
                std::os::unix::fs::FileExt::write_all_at(&file, b"something else", at).expect("room");
            });
            let outcome = stage.copy(Direction::Pull, ("large", "target"), of_blocks(&stage));
            let (row, target) = (format!("{trips} {grows}: {:?}", outcome.said), stage.path("target"));
            match outcome.report.exit_status {
                0 => {
                    let target = fs::read(target).expect("it was copied");
                    let (was, is) = (noise(bytes), fs::read(&source).expect("it is there"));
                    assert!(target == was || target == is, "{row}: neither what was nor what is");
                }
                24 => {
                    let copy = fs::read(target).ok();
                    assert_eq!(copy.is_some(), grows, "{row}");
                    assert!(copy.is_none_or(|copy| copy == noise(bytes)), "{row}: another state");
                    found[index] += 1;
                }
                status => panic!("{row}: status {status}"),
            }
        }
    }
    assert!(found.iter().all(|found| *found > 0), "{found:?}");
}

/// What stands is compared by the digests that come instead of its bytes; what differs, though nothing else tells so,
/// is copied, and nothing else is.
#[test]
fn a_checksum_costs_digests() {
    let stage = TwoHosts::new();
    make_tree(&stage.path("from"), 300);
    let options = stage.options().with(|it| it.comparison.checksum = true);
    for way in [Direction::Pull, Direction::Push] {
        let target = format!("{way:?}");
        let first = stage.copy(way, ("from", &target), options.clone());
        assert_eq!((first.report.exit_status, &first.said[..]), (0, &[][..]), "{target}");
        for (name, at) in [("sub/file-100", 50), ("sub/deeper/d", 300_000), ("large", 2_500_000)] {
            let path = stage.path(&target).join(name);
            let (mut bytes, meta) =
                (fs::read(&path).expect("it is there"), fs::metadata(&path).expect("it is"));
            bytes[at] ^= 1;
            fs::write(&path, bytes).expect("room");
            let file = fs::File::options().write(true).open(&path).expect("it is there");
            file.set_modified(meta.modified().expect("a time")).expect("it is ours");
        }
        let before = stage.net.sent_bytes();
        let again = stage.copy(way, ("from", &target), options.clone());
        let (report, sent) = (&again.report, stage.net.sent_bytes() - before);
        assert_eq!((report.exit_status, &again.said[..], report.files), (0, &[][..], 3), "{target}");
        let changed = 1300 + 300_001 + 3_000_003;
        assert!(sent < changed + 200_000, "{target}: {sent} bytes for names, digests and {changed} bytes");
        same(&stage.path("from"), &stage.path(&target), &target);
        let before = stage.net.sent_bytes();
        let third = stage.copy(way, ("from", &target), options.clone());
        let sent = stage.net.sent_bytes() - before;
        assert_eq!((third.report.exit_status, third.report.files), (0, 0), "{target}");
        // Files of more than a block, and empty ones, are opened one by one.
        assert!(sent < 150_000 && third.round_trips <= 12, "{target}: {sent} bytes, {}", third.round_trips);
    }
}

/// The same of a file that is named, which stands or not.
#[test]
fn a_checksum_of_one_file_costs_its_digest() {
    let stage = TwoHosts::new();
    fs::write(stage.path("small"), noise(8000)).expect("room");
    let options = stage.options().with(|it| it.comparison.checksum = true);
    for way in [Direction::Pull, Direction::Push] {
        let target = stage.path(&format!("{way:?}"));
        for (stands, files) in
            [(None, 1), (Some(noise(8000)), 0), (Some(vec![1; 8000]), 1), (Some(vec![]), 1)]
        {
            let row = format!("{way:?}, {:?} bytes stand", stands.as_ref().map(Vec::len));
            stands.into_iter().for_each(|bytes| fs::write(&target, bytes).expect("room"));
            let outcome = stage.copy(way, ("small", &format!("{way:?}")), options.clone());
            assert_eq!((outcome.report.exit_status, &outcome.said[..]), (0, &[][..]), "{row}");
            assert_eq!(
                (outcome.report.files, fs::read(&target).expect("there")),
                (files, noise(8000)),
                "{row}"
            );
        }
    }
}
