//! Tests of the notes of names that a run has put.

use super::*;

#[test]
fn what_a_run_put_that_did_not_end_well_is_known_to_the_next() {
    let home = tempfile::tempdir().expect("room");
    let folder = File::open(home.path()).expect("a folder");
    let put = |run: &PutNames, name: &str| run.put(&folder, OsStr::new(name));
    let count = || std::fs::read_dir(home.path()).expect("a folder").count();
    let first = PutNames::default();
    assert_eq!([put(&first, "a"), put(&first, "b"), put(&first, "a")], [false; 3]);
    // Another that runs beside it.
    let beside = PutNames::default();
    assert_eq!((put(&beside, "c"), put(&beside, "a")), (false, true));
    beside.finish();
    drop(first);
    let second = PutNames::for_command(2);
    assert_eq!((put(&second, "a"), put(&second, "d")), (true, false));
    second.finish();
    assert_eq!(count(), 1, "b is still to be dealt with");
    let third = PutNames::default();
    assert_eq!((put(&third, "a"), put(&third, "b")), (false, true));
    third.finish();
    assert_eq!(count(), 0);
    let cut = PutNames::default();
    put(&cut, "e");
    drop(cut);
    let well = PutNames::for_command(2);
    well.stays(&folder, OsStr::new("e"));
    well.finish();
    assert_eq!(count(), 0, "e is right");
    let fourth = PutNames::default();
    put(&fourth, "in/a");
    drop(fourth);
    let other = PutNames::for_command(2);
    other.look_in(&folder);
    other.finish();
    assert_eq!(count(), 1, "another command says nothing of it");
    let same = PutNames::default();
    same.look_in(&folder);
    same.finish();
    assert_eq!(count(), 0, "the command deals with all names");
}

#[test]
fn each_command_has_its_own_note() {
    let home = tempfile::tempdir().expect("room");
    let folder = File::open(home.path()).expect("a folder");
    let put = |run: &PutNames, name: &str| run.put(&folder, OsStr::new(name));
    let count = || std::fs::read_dir(home.path()).expect("a folder").count();
    for (command, name) in [(1, "a"), (2, "b"), (2, "c")] {
        assert!(!put(&PutNames::for_command(command), name));
    }
    assert_eq!(count(), 2);
    let first = PutNames::for_command(1);
    assert!(put(&first, "b"));
    first.finish();
    assert_eq!(count(), 1);
    let second = PutNames::for_command(2);
    let has = ["a", "b", "c"].map(|name| second.has_earlier(&folder, OsStr::new(name)));
    assert_eq!(has, [false, false, true]);
    second.finish();
    assert_eq!(count(), 0);
}

#[test]
fn what_is_no_note_stays() {
    let home = tempfile::tempdir().expect("room");
    let folder = File::open(home.path()).expect("a folder");
    for name in reserved::names_of(OsStr::new(NAME)) {
        std::fs::write(home.path().join(name), "mine").expect("room");
    }
    let run = PutNames::default();
    assert!(run.put(&folder, OsStr::new("a")), "nobody can tell");
    run.finish();
    assert_eq!(std::fs::read_dir(home.path()).expect("a folder").count(), 8);
    assert!(reserved::names_of(OsStr::new(NAME)).all(|name| !is_note_in(&folder, &name)));
}

#[test]
fn what_a_kill_tore_is_a_note() {
    for (bytes, is_known) in
        [(0, false), (5, false), (HEAD.len() + 3, false), (HEAD.len() + 16, true), (HEAD.len() + 21, true)]
    {
        let home = tempfile::tempdir().expect("room");
        let folder = File::open(home.path()).expect("a folder");
        let [a, b] = ["a", "b"].map(OsStr::new);
        let cut = PutNames::default();
        assert_eq!([a, b].map(|name| cut.put(&folder, name)), [false; 2]);
        drop(cut);
        let name = reserved::names_of(OsStr::new(NAME)).next().expect("one");
        let note = File::options().write(true).open(home.path().join(&name)).expect("it is there");
        note.set_len(bytes as u64).expect("room");
        assert!(is_note_in(&folder, &name), "{bytes}");
        let second = PutNames::default();
        assert_eq!([a, b].map(|name| second.has_earlier(&folder, name)), [is_known, false], "{bytes}");
        assert_eq!([a, b].map(|name| second.put(&folder, name)), [is_known, false], "{bytes}");
        drop(second);
        let third = PutNames::default();
        assert_eq!([a, b].map(|name| third.put(&folder, name)), [true; 2], "{bytes}");
        third.finish();
        assert_eq!(std::fs::read_dir(home.path()).expect("a folder").count(), 0, "{bytes}");
    }
}

#[test]
fn of_too_many_names_all_count_as_put() {
    let home = tempfile::tempdir().expect("room");
    let folder = File::open(home.path()).expect("a folder");
    let cut = PutNames::default();
    for number in 0..SUMS_MAX + 10 {
        assert!(!cut.put(&folder, OsStr::new(&number.to_string())));
    }
    drop(cut);
    let name = reserved::names_of(OsStr::new(NAME)).next().expect("one");
    let length = std::fs::metadata(home.path().join(name)).expect("it is there").len();
    assert_eq!(length, NAMES_AT + ((SUMS_MAX + 1) * SUM_BYTES) as u64, "more are not written");
    let second = PutNames::default();
    assert!(second.put(&folder, OsStr::new("another")));
    assert!(second.known().folders.values().flatten().all(|notes| notes.earlier.len() <= SUMS_MAX));
    second.finish();
    assert_eq!(std::fs::read_dir(home.path()).expect("a folder").count(), 0);
}

#[test]
fn what_this_run_put_is_told_from_what_others_put_in_its_place() {
    let home = tempfile::tempdir().expect("room");
    let folder = File::open(home.path()).expect("a folder");
    let run = PutNames::default();
    let is_own = |name: &str, file| run.is_own(&folder, OsStr::new(name), file);
    run.keep_own(&folder, OsStr::new("a"), (1, 5));
    assert_eq!(is_own("a", (1, 5)), Some(true));
    assert_eq!([is_own("a", (1, 6)), is_own("b", (1, 5))], [Some(false); 2]);
    for number in 0..OWN_MAX {
        run.keep_own(&folder, OsStr::new(&format!("n{number}")), (1, 7));
    }
    assert_eq!(is_own("a", (1, 5)), Some(true));
    assert_eq!(is_own("b", (1, 5)), None, "nobody knows");
}
