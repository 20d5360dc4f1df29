//! Sides that may hold little of what the other one sends.
//!
//! Must not know: what memory is for.

use std::os::unix::fs::MetadataExt;

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

/// Names of one file, more than may wait at a time where memory is small.
const NAMES: usize = 2800;
const SMALL: u64 = 1 << 18;
const ENOUGH: u64 = 1 << 30;

/// One file of several blocks with names in several folders, beside a name that is dealt with last in its folder.
fn make_names_of_a_file(stage: &TwoHosts) {
    let root = stage.path("from");
    fs::create_dir(&root).expect("room");
    write_source(&root.join("a"), &noise(200_000));
    write_source(&root.join(".pump-0123456789abcdef"), b"put off");
    for number in 1..NAMES {
        let folder = root.join(format!("folder-{}", number % 3));
        let _ = fs::create_dir(&folder);
        fs::hard_link(root.join("a"), folder.join(format!("name-{number}"))).expect("one file system");
    }
}

fn of_blocks(stage: &TwoHosts) -> Options {
    stage.options().with(|it| {
        it.tuning.request_bytes = Some(64 << 10);
        it.comparison.update = Update::Differs;
    })
}

/// The same command ends well, with all names of one file.
fn ends_well(stage: &TwoHosts, way: Direction, target: &str, options: Options, row: &str) {
    let outcome = stage.copy(way, ("from", target), options);
    assert_eq!((outcome.report.exit_status, &outcome.said[..]), (0, &[][..]), "{row}");
    is_one_file(stage, target, row);
}

/// All is there, with all names of one file.
fn is_one_file(stage: &TwoHosts, target: &str, row: &str) {
    same(&stage.path("from"), &stage.path(target), row);
    let links = fs::metadata(stage.path(target).join("a")).expect("it is there").nlink();
    assert_eq!(links, NAMES as u64, "{row}");
}

/// One lane lists, deals with names and moves blocks. Names that exist and are right wait for a first that is copied, too.
#[test]
fn names_of_a_file_under_way_wait_within_the_budget() {
    for way in [Direction::Pull, Direction::Push] {
        let stage = TwoHosts { memory_bytes: SMALL, ..TwoHosts::new() };
        make_names_of_a_file(&stage);
        ends_well(&stage, way, "to", of_blocks(&stage), &format!("{way:?}"));
        fs::remove_file(stage.path("to/a")).expect("it was copied");
        // In the order of names it is the first.
        let options = of_blocks(&stage).with(|it| it.reporting.changes = true);
        ends_well(&stage, way, "to", options, &format!("{way:?}, again"));
    }
}

/// Whenever it is stopped, or the net is cut, it ends, and the same command completes it.
#[test]
fn names_without_room_are_no_obstacle_to_an_end() {
    let stage = TwoHosts { memory_bytes: SMALL, ..TwoHosts::new() };
    make_names_of_a_file(&stage);
    ends_well(&stage, Direction::Push, "whole", of_blocks(&stage), "whole");
    let bytes = stage.net.sent_bytes();
    let (mut stopped, mut cut) = (0, 0);
    for round in 1..9_u64 {
        let (target, row) = (format!("to-{round}"), format!("round {round}"));
        let way = if round % 2 == 0 { Direction::Pull } else { Direction::Push };
        if round % 4 < 2 {
            let stop = Arc::clone(&stage.stop);
            happens(&stage, 1 << round, move || stop.store(true, Ordering::Relaxed));
        } else {
            stage.net.cut_after(bytes * round / 9);
        }
        let outcome = stage.copy(way, ("from", &target), of_blocks(&stage));
        assert!(outcome.said.iter().all(|problem| !problem.contains("memory")), "{row}: {:?}", outcome.said);
        stopped += usize::from(outcome.report.exit_status == 20);
        cut += usize::from(outcome.lost.is_some());
        stage.net.mend();
        stage.stop.store(false, Ordering::Relaxed);
        ends_well(&stage, way, &target, of_blocks(&stage), &row);
        fs::remove_dir_all(stage.path(&target)).expect("it is there");
    }
    assert!(stopped > 1 && cut > 1, "{stopped} were stopped, {cut} were cut");
}

/// A first name that fails leaves its names to others of them, with room or without.
#[test]
fn names_of_a_file_that_changes_meanwhile_are_dealt_with_again() {
    let mut changed = 0;
    for trips in [4, 8, 100] {
        for way in [Direction::Pull, Direction::Push] {
            let stage = TwoHosts { memory_bytes: SMALL, ..TwoHosts::new() };
            make_names_of_a_file(&stage);
            let file = stage.path("from/a");
            happens(&stage, trips, move || fs::write(file, noise(150_000)).expect("room"));
            let outcome = stage.copy(way, ("from", "to"), of_blocks(&stage));
            let row = format!("{way:?} {trips}: {:?}", outcome.said);
            assert!(outcome.said.iter().all(|problem| !problem.contains("memory")), "{row}");
            changed += usize::from(outcome.report.exit_status != 0);
            ends_well(&stage, way, "to", of_blocks(&stage), &row);
        }
    }
    assert!(changed > 1, "{changed} saw the change");
}

/// A name in whose place a folder is ends behind all others: another one is the first, for which those without room wait.
#[test]
fn names_do_not_wait_for_one_that_a_folder_keeps_out() {
    for way in [Direction::Pull, Direction::Push] {
        // Enough to find out what is to be deleted, and too little for all names besides.
        let stage = TwoHosts { memory_bytes: 23 << 18, ..TwoHosts::new() };
        make_names_of_a_file(&stage);
        fs::create_dir_all(stage.path("to/a/full")).expect("room");
        // In the order of names the first is in the root.
        let options = of_blocks(&stage).with(|it| {
            it.deletion.delete = true;
            it.reporting.changes = true;
        });
        ends_well(&stage, way, "to", options, &format!("{way:?}"));
    }
}

/// A name that is put back is reported once, whether its content was compared or not.
#[test]
fn names_that_exist_and_are_put_back_are_reported_once() {
    use Direction::{Pull, Push};
    for (way, checksum) in [(Pull, false), (Push, false), (Pull, true), (Push, true)] {
        let stage = TwoHosts { memory_bytes: SMALL, ..TwoHosts::new() };
        make_names_of_a_file(&stage);
        let row = format!("{way:?} {checksum}");
        ends_well(&stage, way, "to", of_blocks(&stage), &row);
        fs::remove_file(stage.path("to/a")).expect("it was copied");
        // In the order of names it is the first.
        let options = of_blocks(&stage).with(|it| {
            it.comparison.checksum = checksum;
            it.reporting.changes = true;
            it.reporting.notes = true;
        });
        let mut outcome = stage.copy(way, ("from", "to"), options);
        outcome.said.sort();
        let once = outcome.said.chunk_by(|one, other| one == other).all(|same| same.len() == 1);
        assert!(once && outcome.said.len() >= NAMES - 1, "{row}: {:?}", outcome.said);
        assert_eq!(outcome.report.exit_status, 0, "{row}");
        is_one_file(&stage, "to", &row);
    }
}

/// Files that exist and whose content is compared, while names of another file take the memory.
#[test]
fn files_that_are_found_equal_wait_for_memory_within_the_budget() {
    // The more names wait, the less is free for longer ones; where nothing is, they wait in turn.
    for names in (500..1500).step_by(100) {
        let stage = TwoHosts { memory_bytes: SMALL, ..TwoHosts::new() };
        let (root, long) = (stage.path("from"), "equal".repeat(45));
        for name in ["from/0-equal", "from/1-names", "to/0-equal"] {
            fs::create_dir_all(stage.path(name)).expect("room");
        }
        // Each is two files at the target, and one at the source.
        let equal = |root: &str, at| stage.path(root).join(format!("0-equal/{long}-{at}"));
        write_source(&equal("from", 0), &noise(20_000));
        fs::hard_link(equal("from", 0), equal("from", 1)).expect("one file system");
        [0, 1].iter().for_each(|at| write_source(&equal("to", *at), &noise(20_000)));
        let name = |number: usize| root.join(format!("1-names/name-{number}"));
        write_source(&name(0), &noise(30_000));
        for number in 1..names {
            fs::hard_link(name(0), name(number)).expect("one file system");
        }
        let options = stage.options().with(|it| {
            it.tuning.request_bytes = Some(4096);
            it.comparison.checksum = true;
            it.reporting.changes = true;
        });
        let outcome = stage.copy(Direction::Pull, ("from", "to"), options);
        assert_eq!((outcome.report.exit_status, &outcome.said[..]), (0, &[][..]), "{names}");
        same(&root, &stage.path("to"), &format!("{names}"));
    }
}

/// Where no name waits nothing gives memory back: first names of files that have others elsewhere are refused.
#[test]
fn first_names_are_refused_where_none_can_give_memory_back() {
    const FILES: usize = 4000;
    for way in [Direction::Pull, Direction::Push] {
        let mut stage = TwoHosts { memory_bytes: SMALL, ..TwoHosts::new() };
        ["from", "elsewhere"].iter().for_each(|name| fs::create_dir(stage.path(name)).expect("room"));
        for number in 0..FILES {
            let file = stage.path("from").join(number.to_string());
            fs::write(&file, "").expect("room");
            fs::hard_link(file, stage.path("elsewhere").join(number.to_string())).expect("one file system");
        }
        let outcome = stage.copy(way, ("from", "to"), stage.options());
        let refused =
            outcome.said.iter().filter(|problem| problem.contains("may not hold more memory")).count();
        assert!(refused > 0 && refused < FILES, "{way:?}: {refused} were refused");
        assert_ne!(outcome.report.exit_status, 0, "{way:?}");
        stage.memory_bytes = ENOUGH;
        let outcome = stage.copy(way, ("from", "to"), stage.options());
        assert_eq!((outcome.report.exit_status, &outcome.said[..]), (0, &[][..]), "{way:?}");
    }
}
