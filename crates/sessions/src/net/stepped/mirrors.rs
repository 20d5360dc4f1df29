//! Mirrors of a source on another host: what they ask for, and what becomes of what moves while they run.
//!
//! Must not know: how names are judged.

use super::*;

fn mirror(stage: &TwoHosts) -> Options {
    stage.options().with(|it| {
        it.comparison.update = Update::Differs;
        it.deletion.delete = true;
    })
}

/// A source of which all is old enough that its times tell, and its copy.
fn mirrored(stage: &TwoHosts, folders: &[&str]) {
    for folder in folders {
        for side in ["from", "to"] {
            fs::create_dir_all(stage.path(side).join(folder)).expect("room");
            write_source(&stage.path(side).join(folder).join("stays"), b"stays");
        }
    }
}

/// Whether the source may be seen at the target is judged by the record.
#[test]
fn a_mirror_within_one_host_costs_no_look_at_the_folders_in_which_something_goes() {
    let stage = TwoHosts { is_one_host: true, ..TwoHosts::new() };
    let folders: Vec<String> = (0..20).map(|at| format!("{}/{at}", at % 3)).collect();
    mirrored(&stage, &folders.iter().map(String::as_str).collect::<Vec<_>>());
    for way in [Direction::Pull, Direction::Push] {
        let update = mirror(&stage).with(|it| it.deletion.delete = false);
        let first = stage.copy(way, ("from", "to"), update.clone());
        assert_eq!(first.report.exit_status, 0, "{:?}", first.said);
        let update = stage.copy(way, ("from", "to"), update);
        let nothing = stage.copy(way, ("from", "to"), mirror(&stage));
        assert_eq!((nothing.report.exit_status, nothing.round_trips), (0, update.round_trips), "{way:?}");
        for count in [1, 100] {
            for folder in &folders {
                for name in 0..count {
                    fs::write(stage.path("to").join(folder).join(format!("old {name}")), "old")
                        .expect("room");
                }
            }
            let removes = stage.copy(way, ("from", "to"), mirror(&stage));
            let report = &removes.report;
            assert_eq!((report.exit_status, report.deleted), (0, 20 * count), "{way:?} {:?}", removes.said);
            assert_eq!(removes.round_trips, update.round_trips + 2, "{way:?} {count}");
        }
    }
}

/// At every moment of a mirror a file moves to a folder that was walked before, or comes from one.
#[test]
fn what_moves_while_it_is_mirrored_has_a_copy() {
    let mut ends = [0, 0];
    for trips in 0..16 {
        for (from, to) in
            [("a/moved", "b/moved"), ("b/moved", "a/moved"), ("a/moved", "new/moved"), ("a", "b/a")]
        {
            for way in [Direction::Pull, Direction::Push] {
                let stage = TwoHosts::new();
                mirrored(&stage, &["a", "b", "c"]);
                fs::write(stage.path("to/c/too much"), "too much").expect("room");
                let file = if from == "a" { "a/moved" } else { from };
                for side in ["from", "to"] {
                    write_source(&stage.path(side).join(file), b"precious");
                }
                let (old, new) = (stage.path("from").join(from), stage.path("from").join(to));
                happens(&stage, trips, move || {
                    // The mirror may have ended before, and all of its stage.
                    let above = new.parent().expect("it lies in a folder");
                    let _ = fs::create_dir(above).and_then(|()| fs::rename(&old, &new));
                    let _ = fs::rename(&old, &new);
                });
                let outcome = stage.copy(way, ("from", "to"), mirror(&stage));
                let row = format!("{way:?} {trips} {from} {to}: {:?}", outcome.said);
                let copies =
                    ["a", "b", "new", "b/a"].map(|folder| stage.path("to").join(folder).join("moved"));
                let is_kept =
                    copies.iter().any(|copy| fs::read(copy).is_ok_and(|content| content == b"precious"));
                assert!(is_kept, "{row}");
                match outcome.report.exit_status {
                    0 => ends[0] += 1,
                    24 => ends[1] += 1,
                    status => panic!("{row}: status {status}"),
                }
                assert!(!stage.path("to/c/too much").exists(), "{row}");
                // What was to move after the first may move in the next.
                stage.copy(way, ("from", "to"), mirror(&stage));
                let quiet = stage.copy(way, ("from", "to"), mirror(&stage));
                assert_eq!((quiet.report.exit_status, &quiet.said[..]), (0, &[][..]), "{row}");
                same(&stage.path("from"), &stage.path("to"), &row);
            }
        }
    }
    assert!(ends[0] > 100, "{ends:?}: most see all of it");
}

type FileChange = fn(&Path);

/// At every moment of a mirror a file is rewritten, removed, replaced, appended to or longer than a request: what others
/// have too much is removed all the same, and a file that a further pass copies is no error.
#[test]
fn what_changes_while_it_is_mirrored_keeps_no_other_name() {
    let changes: [(&str, FileChange); 5] = [
        ("rewritten", |file| fs::write(file, "PRECIOUS").expect("room")),
        ("removed", |file| fs::remove_file(file).expect("it was there")),
        ("replaced", |file| {
            let new = file.with_file_name("new");
            fs::write(&new, "another").and_then(|()| fs::rename(&new, file)).expect("room");
        }),
        ("appended to", |file| {
            let open = fs::File::options().append(true).open(file);
            open.and_then(|mut open| open.write_all(b" more")).expect("room");
        }),
        ("longer than a request", |file| fs::write(file, noise(3 << 20)).expect("room")),
    ];
    for trips in 0..16 {
        for (change, act) in changes {
            for (way, has_copy) in [Direction::Pull, Direction::Push].into_iter().zip([trips % 2 == 0, true])
            {
                let stage = TwoHosts::new();
                mirrored(&stage, &["a", "b", "c"]);
                fs::write(stage.path("to/c/too much"), "too much").expect("room");
                let file = stage.path("from/b/changes");
                write_source(&file, b"precious");
                if has_copy {
                    write_source(&stage.path("to/b/changes"), b"old");
                }
                happens(&stage, trips, move || {
                    // The mirror may have ended before, and all of its stage.
                    if file.exists() {
                        act(&file);
                    }
                });
                let outcome = stage.copy(way, ("from", "to"), mirror(&stage));
                let row = format!("{way:?} {trips} {change} {has_copy}: {:?}", outcome.said);
                assert_eq!(outcome.report.exit_status, 0, "{row}");
                assert!(!stage.path("to/c/too much").exists(), "{row}");
                stage.copy(way, ("from", "to"), mirror(&stage));
                let quiet = stage.copy(way, ("from", "to"), mirror(&stage));
                assert_eq!((quiet.report.exit_status, &quiet.said[..]), (0, &[][..]), "{row}");
                same(&stage.path("from"), &stage.path("to"), &row);
            }
        }
    }
}

/// A dry run walks nothing again: it says of a folder that it changed since it was listed, not that it did each time.
#[test]
fn a_dry_run_says_what_changed_since_it_was_listed() {
    let mut found = 0;
    for trips in 0..8 {
        for way in [Direction::Pull, Direction::Push] {
            let stage = TwoHosts::new();
            mirrored(&stage, &["a", "b"]);
            fs::write(stage.path("to/a/too much"), "too much").expect("room");
            let new = stage.path("from/a/new");
            // The mirror may have ended before, and all of its stage.
            happens(&stage, trips, move || drop(fs::write(&new, "new")));
            let dry = mirror(&stage).with(|it| it.dry_run = true);
            let outcome = stage.copy(way, ("from", "to"), dry);
            let row = format!("{way:?} {trips}: {:?}", outcome.said);
            assert!(stage.path("to/a/too much").exists(), "{row}");
            let is_right =
                |line: &String| line.contains("from/a': changed since it was listed: 1 name in it");
            assert!(outcome.said.iter().all(is_right), "{row}");
            assert_eq!(outcome.report.exit_status, if outcome.said.is_empty() { 0 } else { 24 }, "{row}");
            found += outcome.said.len();
        }
    }
    assert!(found > 0, "no look found a change");
}
