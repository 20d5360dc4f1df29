//! Files that change between their listing and the request that reads them: each is copied as it is when it is read.
//!
//! Must not know: how its host makes sure that what it sends is one state.

use super::*;

type ActOnFile = fn(&Path);

const BEFORE: &[u8] = b"as it was listed";
const CHANGES: [(&str, ActOnFile, &[u8]); 5] = [
    ("appended to", append, b"as it was listed, and longer"),
    (
        "replaced by a longer one",
        |file| rename_over(file, b"another file, which is longer"),
        b"another file, which is longer",
    ),
    ("replaced by one of its length", |file| rename_over(file, b"AS IT WAS LISTED"), b"AS IT WAS LISTED"),
    ("rewritten and shorter", |file| fs::write(file, "short").expect("room"), b"short"),
    ("emptied", |file| fs::write(file, "").expect("room"), b""),
];

/// The copy may have ended before, and all of its stage.
fn act_on(file: &Path, act: ActOnFile) {
    if file.exists() {
        act(file);
    }
}

fn append(file: &Path) {
    let open = fs::File::options().append(true).open(file);
    open.and_then(|mut open| open.write_all(b", and longer")).expect("room");
}

/// The new file is made beside the tree: its name is none of the tree's.
fn rename_over(file: &Path, content: &[u8]) {
    let new = file.ancestors().nth(3).expect("the home").join("new");
    write_source(&new, content);
    fs::rename(&new, file).expect("one file system");
}

/// A long path sends it ahead; over the others it is requested.
#[test]
fn a_file_that_changed_behind_its_listing_is_copied_as_it_is_when_it_is_read() {
    for path in [SteppedPath::Long, SteppedPath::WithinSsh, SteppedPath::Short, SteppedPath::Relayed] {
        let mut copied = [0, 0];
        // Names that are sent ahead are listed and read at one moment; each step of a short path costs more trips.
        let moments = if path.is_long() { &[0, 1, 2, 3, 6][..] } else { &[0, 12, 14, 15, 16, 17, 18] };
        for &trips in moments {
            for (change, act, after) in CHANGES {
                for way in [Direction::Pull, Direction::Push] {
                    let stage = TwoHosts::at(path);
                    let file = stage.path("from/b/changes");
                    fs::create_dir_all(stage.path("from/b")).expect("room");
                    write_source(&file, BEFORE);
                    write_source(&stage.path("from/b/stays"), b"stays");
                    let one_way = Duration::from_nanos(path.round_trip_ns() / 2);
                    happens_after(&stage, trips * one_way, move || act_on(&file, act));
                    let outcome = stage.copy(way, ("from", "to"), stage.options());
                    let row = format!("{path:?} {way:?} {trips} {change}: {:?}", outcome.said);
                    assert_eq!((outcome.report.exit_status, &outcome.said[..]), (0, &[][..]), "{row}");
                    let copy = fs::read(stage.path("to/b/changes")).expect(&row);
                    assert!(copy == BEFORE || copy == after, "{row}: {copy:?}");
                    copied[usize::from(copy == after)] += 1;
                    // Its time is that of its content.
                    let modified = |side| {
                        let meta = fs::metadata(stage.path(side).join("b/changes")).expect("it is a file");
                        meta.modified().expect("a time")
                    };
                    assert!(copy == BEFORE || modified("from") == modified("to"), "{row}");
                }
            }
        }
        assert!(copied[0] > 0 && copied[1] > 0, "{path:?}: {copied:?}");
    }
}

/// A file that is compared with one of the target is copied where it changed behind its listing.
#[test]
fn a_file_that_is_compared_and_changed_behind_its_listing_is_copied() {
    for path in [SteppedPath::Long, SteppedPath::Short] {
        for trips in [0, 2, 12, 14, 15, 16, 17, 18] {
            for (change, act, after) in CHANGES {
                let stage = TwoHosts::at(path);
                for side in ["from", "to"] {
                    fs::create_dir_all(stage.path(side).join("b")).expect("room");
                    write_source(&stage.path(side).join("b/changes"), BEFORE);
                }
                let file = stage.path("from/b/changes");
                happens_after(&stage, trips * path.delay(), move || act_on(&file, act));
                let options = stage.options().with(|it| {
                    it.comparison.update = Update::Differs;
                    it.comparison.checksum = true;
                });
                let outcome = stage.copy(Direction::Pull, ("from", "to"), options);
                let row = format!("{path:?} {trips} {change}: {:?}", outcome.said);
                assert_eq!(outcome.report.exit_status, 0, "{row}");
                let copy = fs::read(stage.path("to/b/changes")).expect(&row);
                assert!(copy == BEFORE || copy == after, "{row}: {copy:?}");
            }
        }
    }
}

/// A file that is read back has the length of the file when it was read.
#[test]
fn what_is_copied_as_it_is_when_it_is_read_is_verified() {
    for (trips, path) in [0, 14, 15, 16, 17, 18].map(|trips| (trips, SteppedPath::Short)) {
        for (change, act, after) in CHANGES {
            let stage = TwoHosts::at(path);
            let file = stage.path("from/b/changes");
            fs::create_dir_all(stage.path("from/b")).expect("room");
            write_source(&file, BEFORE);
            happens_after(&stage, trips * path.delay(), move || act_on(&file, act));
            let options = stage.options().with(|it| it.durability.verify = true);
            let outcome = stage.copy(Direction::Pull, ("from", "to"), options);
            assert_eq!(outcome.report.exit_status, 0, "{trips} {change}: {:?}", outcome.said);
            let copy = fs::read(stage.path("to/b/changes")).expect(change);
            assert!(copy == BEFORE || copy == after, "{trips} {change}: {copy:?}");
        }
    }
}
