//! Tests of the rig: sources and targets are made, compared and cleared up.

use super::*;
use crate::study::Changes;

/// No step runs a command.
const NOTHING: RunStep<'_> = &|_, _| Ok(());

const STUDY: &str = r#"
name = "rig"
title = "t"
prepare = [
  { step = "make_source", size = "{size}" }, { step = "new_target" }, { step = "cold_source" },
  { step = "warm_source" },
]
check = ["same_content"]
[factors]
size = ["1500000B"]
[command.levels]
cp = "cp {source} {target}"
"#;

fn rig(folder: &Path) -> (Rig, Study, Cell) {
    let study = Study::parse("rig.toml", STUDY, &Changes::default()).expect("in order");
    let cell = study.cells().remove(0);
    (Rig::new(folder, 7, Arc::default()).expect("a folder"), study, cell)
}

fn names(folder: &Path) -> usize {
    std::fs::read_dir(folder).expect("a folder").count()
}

#[test]
fn a_source_is_made_once_and_all_is_cleared_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut rig, study, cell) = rig(folder.path());
    assert!(rig.check_room(&study, std::slice::from_ref(&cell)).expect("room").contains("needs 3.0 MiB"));
    let first = rig.prepare(&study, &cell, NOTHING).expect("prepared");
    assert_eq!((first.source_bytes, first.cache_state.name(), first.quiet), (1_500_000, "warm", None));
    let source = first.source.clone().expect("a source");
    let content = std::fs::read(&source).expect("readable");
    assert_eq!(content.len(), 1_500_000);
    std::fs::write(first.target.as_ref().expect("a name"), b"x").expect("writable");
    rig.delete_target();
    let second = rig.prepare(&study, &cell, NOTHING).expect("prepared");
    assert_eq!(
        (second.source.as_ref(), names(folder.path())),
        (Some(&source), 2),
        "and the folder of targets"
    );
    assert_ne!(first.target, second.target, "every run has a new name");
    drop(rig);
    assert_eq!(names(folder.path()), 0);
}

#[test]
fn the_seed_decides_the_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = |name: &str, seed| {
        let rig = Rig::new(folder.path(), seed, Arc::default()).expect("a folder");
        let path = folder.path().join(name);
        rig.write_source(&path, 3_000_001).expect("room");
        std::fs::read(path).expect("readable")
    };
    let bytes = made("a", 1);
    assert_eq!(bytes.len(), 3_000_001);
    assert!(bytes == made("b", 1) && bytes != made("c", 2));
}

#[test]
fn targets_are_compared_to_the_last_byte() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut rig, study, cell) = rig(folder.path());
    let prepared = rig.prepare(&study, &cell, NOTHING).expect("prepared");
    let content = std::fs::read(prepared.source.as_ref().expect("a source")).expect("readable");
    let mut changed = content.clone();
    changed[1_200_000] ^= 1;
    for (written, expected) in [
        (Some(content.clone()), Ok(())),
        (Some(changed), Err(("mismatch", "at byte 1200000"))),
        (Some(content[..1_499_999].to_vec()), Err(("mismatch", "at byte 1499999"))),
        (Some([&content[..], b"x"].concat()), Err(("mismatch", "at byte 1500000"))),
        (Some(Vec::new()), Err(("mismatch", "at byte 0"))),
        (None, Err(("missing", "there is no target"))),
    ] {
        let target = prepared.target.as_ref().expect("a name");
        match &written {
            Some(bytes) => std::fs::write(target, bytes).expect("writable"),
            None => std::fs::remove_file(target).expect("it was there"),
        }
        let (got, len) = (rig.compare(&prepared, false), written.map(|bytes| bytes.len()));
        match (&got, expected) {
            (Ok(()), Ok(())) => {}
            (Err((class, words)), Err((expected, hint))) => {
                assert!(*class == expected && words.contains(hint), "{len:?}: {class}: {words}");
            }
            _ => panic!("{len:?}: {got:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn a_study_that_does_not_fit_is_refused_with_the_figures() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut rig, study, mut cell) = rig(folder.path());
    cell.levels.insert("size".into(), "4000PiB".into());
    let error = rig.check_room(&study, &[cell]).expect_err("no such disk").to_string();
    assert!(error.contains("free, the study needs") && error.contains("make room"), "{error}");
}

#[test]
fn a_stop_ends_the_preparation_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut rig, study, cell) = rig(folder.path());
    rig.stop.store(true, Ordering::Relaxed);
    let error = format!("{:#}", rig.prepare(&study, &cell, NOTHING).expect_err("stopped"));
    assert!(error.contains("interrupted; the same command goes on"), "{error}");
    drop(rig);
    assert_eq!(names(folder.path()), 0);
}
