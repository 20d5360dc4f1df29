//! Mirrors that are killed between copying and removing, or while they remove: the same command ends what they began, and
//! one with other filters removes what its own filters let it.

use std::fs;
use std::path::Path;

use crate::support::running::{Running, eventually};
use crate::support::serving::Serving;
use crate::support::{Home, expect};
use crate::wider_parts::judge::no_leftovers;
use crate::wider_parts::{program, pump_command};
use rustix::process::Signal;

const FOLDERS: usize = 40;
const OLD: usize = 500;
/// So many kills; of each way at least one falls behind the last file and before the last removal.
const ROUNDS: usize = 6;

fn write_source(source: &Path) {
    for folder in 0..FOLDERS {
        let folder = source.join(format!("folder-{folder}"));
        fs::create_dir_all(&folder).expect("room");
        (0..10).for_each(|name| fs::write(folder.join(format!("new-{name}")), "new").expect("room"));
        fs::write(folder.join("kept-by-source"), "new").expect("room");
    }
}

/// The target of an earlier mirror: names that are too much, some of which a filter protects.
fn write_target(target: &Path) {
    let _ = fs::remove_dir_all(target);
    for folder in 0..FOLDERS {
        let folder = target.join(format!("folder-{folder}"));
        fs::create_dir_all(&folder).expect("room");
        (0..OLD).for_each(|name| fs::write(folder.join(format!("old-{name}")), "old").expect("room"));
        fs::write(folder.join("kept-here"), "kept").expect("room");
    }
}

fn count(target: &Path, begins: &str) -> usize {
    let names =
        |folder: usize| fs::read_dir(target.join(format!("folder-{folder}"))).into_iter().flatten().flatten();
    let is_one = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(begins);
    (0..FOLDERS).map(|folder| names(folder).filter(is_one).count()).sum()
}

fn is_copied(target: &Path) -> bool {
    count(target, "new-") == FOLDERS * 10 && count(target, "kept-by-source") == FOLDERS
}

/// Kills the side that removes once all is copied, or once something is removed. True where something stayed to be
/// removed.
fn cut(home: &Home, (way, words): (&str, &[&str]), after_removal: bool) -> bool {
    let target = home.path("served/copy");
    let mut serving = (way == "pushed").then(|| Serving::new(home, &[]));
    let words = mirror_words(home, serving.as_ref(), words);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let running = Running::start(pump_command(&words));
    eventually("all is copied", || {
        let is_over = count(&target, "old-") == 0 || running.has_ended();
        is_over || (is_copied(&target) && (!after_removal || count(&target, "old-") < FOLDERS * OLD))
    });
    match &mut serving {
        Some(serving) => serving.kill(),
        None if running.has_ended() => {}
        None => running.signal(Signal::KILL),
    }
    let ended = running.end();
    assert!(is_copied(&target), "{way}: what was copied stays: {ended:?}");
    ended.status != 0 && count(&target, "old-") > 0
}

fn mirror_words(home: &Home, serving: Option<&Serving>, more: &[&str]) -> Vec<String> {
    let from = format!("{}/", home.path("source").display());
    let mut words = vec!["mirror".to_owned(), from];
    match serving {
        Some(serving) => words.extend([
            serving.at("copy"),
            format!("--ticket-file={}", home.path("ticket").display()),
            "--retry-for=0s".to_owned(),
        ]),
        None => words.push(home.path("served/copy").display().to_string()),
    }
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words
}

fn mirror(home: &Home, way: &str, more: &[&str], row: &str) {
    let serving = (way == "pushed").then(|| Serving::new(home, &[]));
    let words = mirror_words(home, serving.as_ref(), more);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    expect(&Running::start(pump_command(&words)).end(), 0, &[], row);
}

#[test]
fn a_mirror_that_is_killed_before_it_has_removed_all_is_ended_by_the_next_one() {
    const KEEPS: &[&str] = &["--exclude=kept-here"];
    for way in ["local", "pushed"] {
        let (home, mut cuts) = (Home::new(), 0);
        let target = home.path("served/copy");
        write_source(&home.path("source"));
        for round in 0..ROUNDS {
            write_target(&target);
            let is_cut = cut(&home, (way, &[]), round % 2 == 1);
            cuts += usize::from(is_cut);
            let row = format!("{way}, round {round}, cut {is_cut}");
            let kept = count(&target, "kept-here");
            match round / 2 {
                0 => mirror(&home, way, &[], &row),
                1 => {
                    mirror(&home, way, KEEPS, &row);
                    assert_eq!(count(&target, "old-"), 0, "{row}: no filter protects them");
                    assert_eq!(count(&target, "kept-here"), kept, "{row}: a filter protects them");
                    mirror(&home, way, &[KEEPS, &["--delete-excluded"]].concat(), &row);
                }
                _ => {
                    // What the source has, too, is excluded: it stays, and is removed then.
                    mirror(&home, way, &["--exclude=kept-*"], &row);
                    assert_eq!([count(&target, "old-"), count(&target, "kept-here")], [0, kept], "{row}");
                    assert_eq!(count(&target, "kept-by-source"), FOLDERS, "{row}");
                    mirror(&home, way, &["--exclude=kept-*", "--delete-excluded"], &row);
                    assert_eq!(count(&target, "kept-"), 0, "{row}: excluded names are removed");
                }
            }
            // The list of the killed one is removed by one of as many names alone.
            mirror(&home, way, &[], &row);
            let paths = [home.path("source"), target.clone()].map(|path| path.display().to_string());
            assert_eq!(
                program(&["sh", "-c", "diff -r \"$0\" \"$1\" || true", &paths[0], &paths[1]]),
                "",
                "{row}"
            );
            no_leftovers(&target, &row);
        }
        eprintln!("{way}: {cuts} of {ROUNDS} were cut before all was removed");
        assert!(cuts > 0, "{way}: no kill fell between copying and the end of removal");
    }
}

/// A filter that is new behind the kill protects what the killed mirror would have removed.
#[test]
fn names_that_a_killed_mirror_protected_stay_protected() {
    for way in ["local", "pushed"] {
        let home = Home::new();
        let target = home.path("served/copy");
        write_source(&home.path("source"));
        write_target(&target);
        cut(&home, (way, &["--exclude=kept-here"]), false);
        assert_eq!(count(&target, "kept-here"), FOLDERS, "{way}");
        mirror(&home, way, &["--exclude=kept-here"], way);
        assert_eq!([count(&target, "old-"), count(&target, "kept-here")], [0, FOLDERS], "{way}");
        mirror(&home, way, &[], way);
        assert_eq!(count(&target, "kept-here"), 0, "{way}: no filter any more");
    }
}
