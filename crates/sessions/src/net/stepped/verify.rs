//! Trees and files of two hosts that are compared: what that costs in round trips and bytes, and that nothing that
//! differs is missed.
//!
//! Must not know: how requests are made.

use std::os::unix::fs::FileExt;
use std::time::SystemTime;

use super::*;

/// Round trips of a comparison: to begin, for what the walk meets, to end.
const LEAST: u64 = 3;
const LARGE_BYTES: usize = 3_000_003;

/// A session compares from the side that called. `backwards`: the copy is named first.
fn verify(stage: &TwoHosts, backwards: bool, options: Options) -> SessionOutcome {
    let options = options.with(|it| {
        it.comparison.compares_backwards = backwards;
        it.comparison.content_only = true;
    });
    stage.copy(Direction::Pull, ("from", "to"), options)
}

fn comparing() -> TwoHosts {
    TwoHosts { compares: true, ..TwoHosts::new() }
}

/// A file that has a hole at its beginning.
fn write_holed(path: &Path, bytes: usize) {
    let file = fs::File::create(path).expect("room");
    file.set_len(bytes as u64).expect("a hole");
    file.write_all_at(b"end", bytes as u64 - 3).expect("room");
}

/// The same in two folders: what comes ahead, what does not.
fn twins(stage: &TwoHosts, folders: usize, files: usize) {
    for root in ["from", "to"] {
        for folder in 0..folders {
            let folder = stage.path(root).join(format!("folder-{folder}"));
            fs::create_dir_all(&folder).expect("room");
            for number in 0..files {
                write_source(&folder.join(format!("file-{number}")), &noise(100 + number * 13));
            }
            write_holed(&folder.join("holed"), 100_000);
            fs::write(folder.join("empty"), "").expect("room");
            std::os::unix::fs::symlink("file-0", folder.join("link")).expect("room");
        }
    }
}

/// However many there are, unless digests fill the window.
#[test]
fn round_trips_do_not_grow_with_files_and_folders() {
    for (folders, files) in [(1, 10), (1, 700), (40, 10)] {
        let stage = comparing();
        twins(&stage, folders, files);
        let before = stage.net.sent_bytes();
        for backwards in [false, true] {
            let outcome = verify(&stage, backwards, stage.options());
            let row = format!("{folders} {files} {backwards}: {:?}", outcome.said);
            assert_eq!((outcome.report.exit_status, outcome.lost), (0, None), "{row}");
            assert_eq!(outcome.report.files as usize, folders * (files + 2), "{row}");
            assert_eq!(outcome.round_trips, LEAST, "{row}: {:?}", outcome.report.round_trips);
        }
        let names = 2 * folders * (files + 4);
        let sent = stage.net.sent_bytes() - before;
        assert!(sent < names as u64 * 350 + 20_000, "{sent} bytes for {names} names and their digests");
    }
}

/// Those of more than a block are opened together, a batch of names at a time; their digests come together.
#[test]
fn large_files_cost_two_round_trips_a_batch() {
    let stage = comparing();
    for root in ["from", "to"] {
        fs::create_dir(stage.path(root)).expect("room");
        for number in 0..100 {
            write_source(&stage.path(root).join(number.to_string()), &noise(70_000));
        }
    }
    for backwards in [false, true] {
        let options = stage.options().with(|it| it.tuning.request_bytes = Some(64 << 10));
        let outcome = verify(&stage, backwards, options);
        let row = format!("{backwards}: {:?}", outcome.said);
        assert_eq!((outcome.report.exit_status, outcome.report.files), (0, 100), "{row}");
        assert_eq!(outcome.round_trips, LEAST + 2 * 2, "{row}: {:?}", outcome.report.round_trips);
    }
}

/// A byte is changed, with no other trace of it.
fn spoil(path: &Path, at: u64) {
    let file = fs::File::options().read(true).write(true).open(path).expect("it is there");
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).expect("it is there");
    file.write_all_at(&[byte[0] ^ 1], at).expect("room");
    file.set_modified(SystemTime::UNIX_EPOCH).expect("it is ours");
}

/// A file with one byte that differs, where it is, and which tree is changed.
const SPOILED: [(&str, usize, u64); 10] = [
    ("one", 1, 0),
    ("small", 8000, 7999),
    ("group", 262_144, 262_143),
    ("groups", 700_001, 262_144),
    ("block", 1 << 20, 5),
    ("large", LARGE_BYTES, 0),
    ("large", LARGE_BYTES, 2_097_152),
    ("large", LARGE_BYTES, LARGE_BYTES as u64 - 1),
    ("holed", 600_000, 300_000),
    ("holed large", 5_000_000, 4_000_000),
];

/// Wherever a byte differs, in whichever tree, in whatever way it is compared: it is found, at its place.
#[test]
fn a_byte_that_differs_is_found_at_its_place() {
    for (name, bytes, at) in SPOILED {
        let mut stage = comparing();
        for root in ["from", "to"] {
            fs::create_dir(stage.path(root)).expect("room");
            let path = stage.path(root).join(name);
            if name.starts_with("holed") {
                write_holed(&path, bytes);
            } else {
                write_source(&path, &noise(bytes));
            }
            fs::write(stage.path(root).join("another"), "the same").expect("room");
        }
        for root in ["from", "to"] {
            let path = stage.path(root).join(name);
            spoil(&path, at);
            for reads_ahead in [true, false] {
                stage.reads_ahead = reads_ahead;
                for (backwards, unhashed) in [(false, false), (true, false), (false, true)] {
                    let before = stage.net.sent_bytes();
                    let options = stage.options().with(|it| it.network.unhashed = unhashed);
                    let outcome = verify(&stage, backwards, options);
                    let sent = stage.net.sent_bytes() - before;
                    let row = format!(
                        "{name} {at} {root} ahead {reads_ahead} backwards {backwards} unhashed {unhashed}: {:?}",
                        outcome.said
                    );
                    assert_eq!((outcome.report.exit_status, outcome.lost), (1, None), "{row}");
                    assert_eq!(outcome.report.files, 1, "{row}");
                    let said = [format!("at byte {at}: differs from")];
                    let is_found = outcome.said.len() == 1 && outcome.said[0].contains(&said[0]);
                    assert!(is_found, "{row}");
                    // One block of it, and no more: where digests come.
                    let has_sums = reads_ahead && !unhashed;
                    assert!(!has_sums || sent < bytes.min(1 << 20) as u64 + 6000, "{row}: {sent} bytes");
                }
            }
            spoil(&path, at);
        }
    }
}

/// Names and kinds of two trees, and the words for them: nothing depends on what came ahead.
#[test]
fn what_only_one_tree_has_is_found() {
    let mut stage = comparing();
    twins(&stage, 2, 3);
    fs::create_dir(stage.path("from/folder-0/only here")).expect("room");
    fs::write(stage.path("from/folder-0/only here/below"), "x").expect("room");
    fs::write(stage.path("to/folder-1/only there"), "x").expect("room");
    fs::write(stage.path("from/folder-1/kind"), "x").expect("room");
    fs::create_dir(stage.path("to/folder-1/kind")).expect("room");
    fs::write(stage.path("from/folder-1/longer"), "xx").expect("room");
    fs::write(stage.path("to/folder-1/longer"), "x").expect("room");
    let selections = |pattern: &str| vec![Selection::Exclude(pattern.into())];
    for (patterns, found) in [("nothing", 4), ("only*", 2), ("kind/", 4), ("kind", 3), ("folder-1/", 1)] {
        for backwards in [false, true] {
            let mut all = Vec::new();
            for reads_ahead in [true, false] {
                stage.reads_ahead = reads_ahead;
                let options = stage.options().with(|it| it.selection.rules = selections(patterns));
                let mut outcome = verify(&stage, backwards, options);
                let row = format!("{patterns} {backwards} {reads_ahead}: {:?}", outcome.said);
                assert_eq!((outcome.report.exit_status, outcome.said.len()), (1, found), "{row}");
                outcome.said.sort();
                all.push(outcome.said);
                assert!(!reads_ahead || outcome.round_trips == LEAST, "{row}: {}", outcome.round_trips);
            }
            assert_eq!(all[0], all[1], "{patterns} {backwards}");
        }
    }
}

/// One file, whose hash is told.
#[test]
fn a_file_is_compared_by_its_digests() {
    for bytes in [1, 8000, 262_145, 1 << 20, LARGE_BYTES] {
        let stage = comparing();
        for name in ["from", "to"] {
            write_source(&stage.path(name), &noise(bytes));
        }
        let before = stage.net.sent_bytes();
        let outcome = verify(&stage, false, stage.options());
        let (sent, row) = (stage.net.sent_bytes() - before, format!("{bytes}: {:?}", outcome.said));
        assert_eq!((outcome.report.exit_status, outcome.lost), (0, None), "{row}");
        let hash = blake3::hash(&noise(bytes)).to_hex().to_string();
        assert_eq!(outcome.report.blake3.as_deref(), Some(&*hash), "{row}");
        assert!(sent < 3000, "{row}: {sent} bytes");
        spoil(&stage.path("from"), bytes as u64 - 1);
        let outcome = verify(&stage, true, stage.options());
        assert_eq!(outcome.report.exit_status, 1, "{bytes}: {:?}", outcome.said);
        assert!(outcome.said[0].contains(&format!("at byte {}: differs", bytes - 1)), "{:?}", outcome.said);
    }
}

/// At every moment: of a file that changes meanwhile only what was so at one moment is told, and a difference that is
/// there all the time is never missed.
#[test]
fn a_file_that_changes_meanwhile_is_never_called_the_same_for_it() {
    for bytes in [8000, LARGE_BYTES] {
        let mut told = [0; 3];
        for trips in 0..9 {
            for (differs_first, differs_then) in [(true, false), (false, true), (true, true)] {
                let stage = comparing();
                for root in ["from", "to"] {
                    fs::create_dir(stage.path(root)).expect("room");
                    write_source(&stage.path(root).join("file"), &noise(bytes));
                }
                let path = stage.path("from/file");
                if differs_first {
                    spoil(&path, 500);
                }
                let file = fs::File::open(&path).expect("it is there");
                file.set_modified(SystemTime::UNIX_EPOCH).expect("it is ours");
                let changed = path.clone();
                happens(&stage, trips, move || {
                    if changed.exists() {
                        spoil(&changed, if differs_first && differs_then { 501 } else { 500 });
                    }
                });
                let outcome = verify(&stage, false, stage.options());
                let row = format!("{bytes} {trips} {differs_first} {differs_then}: {:?}", outcome.said);
                let status = outcome.report.exit_status;
                assert!((0..3).contains(&status), "{row}: {status}");
                assert!(status != 0 || !(differs_first && differs_then), "{row}");
                told[status as usize] += 1;
            }
        }
        assert!(told.iter().all(|told| *told > 0), "{bytes}: {told:?}");
    }
}
