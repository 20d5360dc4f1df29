//! Sides that may hold little of what the other one sends.
//!
//! Must not know: what memory is for.

use super::*;

/// However small the window, and whatever order the names are dealt with in, all arrives.
#[test]
fn a_window_that_is_too_small_is_no_end() {
    let mut stage = TwoHosts::new();
    make_tree(&stage.path("from"), 0);
    for number in 0..3000 {
        fs::write(stage.path("from/sub").join(format!("{number}")), noise(1000)).expect("room");
    }
    for memory_bytes in [1 << 20, 4 << 20, 8 << 20] {
        stage.memory_bytes = memory_bytes;
        for changes in [false, true] {
            let options = stage.options().with(|it| it.reporting.changes = changes);
            let target = format!("to {memory_bytes} {changes}");
            let outcome = stage.copy(Direction::Pull, ("from", &target), options);
            assert_eq!((outcome.report.exit_status, &outcome.said[..]), (0, &[][..]), "{target}");
            same(&stage.path("from"), &stage.path(&target), &target);
        }
    }
}

/// Names that were sent ahead give their memory to those that are requested.
#[test]
fn names_that_were_sent_ahead_keep_no_memory_from_what_is_requested() {
    let mut stage = TwoHosts::new();
    for folder in 0..60 {
        let folder = stage.path("from").join(folder.to_string());
        fs::create_dir_all(&folder).expect("room");
        (0..300).for_each(|name| fs::write(folder.join(name.to_string()), "").expect("room"));
    }
    for memory_bytes in [2 << 20, 4 << 20] {
        stage.memory_bytes = memory_bytes;
        for way in [Direction::Pull, Direction::Push] {
            let options = stage.options().with(|it| it.dry_run = true);
            let outcome = stage.copy(way, ("from", "to"), options);
            let row = format!("{memory_bytes} {way:?}");
            assert_eq!((outcome.report.exit_status, &outcome.said[..]), (0, &[][..]), "{row}");
        }
    }
}
