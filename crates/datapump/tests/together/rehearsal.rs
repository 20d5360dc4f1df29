//! A rehearsal writes as a copy does, and leaves nothing.

use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::net_parts::Served;
use datapump::{Fill, Job, Options, Place, Report, ServeOptions};

fn rehearse(bytes: u64, target: &Path, options: Options) -> Report {
    let source = Place::Null { bytes: Some(bytes), fill: Fill::Noise };
    let options = options.with(|it| it.measuring.rehearsal_bytes = Some(bytes));
    Job::copy(vec![source], Place::Path(target.into())).options(options).run_reported(&|_| {})
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    std::fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.file_name()).collect()
}

#[test]
fn a_rehearsal_leaves_the_target_as_it_was() {
    let folder = tempfile::tempdir().expect("room");
    let stood = folder.path().join("stood");
    std::fs::write(&stood, b"old").expect("room");
    for (what, target) in [
        ("a new name", folder.path().join("new")),
        ("a name that stood", stood.clone()),
        ("a folder", folder.path().into()),
    ] {
        let report = rehearse(3 << 20, &target, Options::default());
        assert_eq!((report.exit_status, report.bytes, report.requests), (0, 3 << 20, 3), "{what}");
        assert!(report.synced_ns.is_some(), "{what}");
        assert_eq!(names(folder.path()), ["stood"], "{what}");
        assert_eq!(std::fs::read(&stood).expect("it is there"), b"old", "{what}");
    }
}

#[test]
fn some_bytes_of_a_source_are_rehearsed() {
    let folder = tempfile::tempdir().expect("room");
    let source = folder.path().join("source");
    std::fs::write(&source, vec![7; 5 << 20]).expect("room");
    for (bytes, begin, moved) in [
        (1 << 20, 0, 1 << 20),
        (3_000_000, 0, 3_000_000),
        (9 << 20, 0, 5 << 20),
        (1 << 20, 2 << 20, 1 << 20),
        // From further in front: as many bytes as were requested.
        (4 << 20, 2 << 20, 4 << 20),
    ] {
        let options = Options::default().with(|it| {
            it.measuring.rehearsal_bytes = Some(bytes);
            it.measuring.rehearsal_begin = begin;
        });
        let job = Job::copy(vec![Place::Path(source.clone())], Place::Path(folder.path().join("new")));
        let report = job.options(options).run_reported(&|_| {});
        assert_eq!((report.exit_status, report.bytes_moved), (0, moved), "{bytes} from {begin}: {report:?}");
        assert_eq!(names(folder.path()), ["source"], "{bytes} from {begin}");
    }
}

/// A copy to a file leaves holes out. A rehearsal of its source alone, to null, reads as much, unless holes are to be read.
#[test]
fn a_rehearsal_reads_no_holes() {
    let (home, size, held) = (tempfile::tempdir().expect("room"), 64 << 20, 4 << 20);
    let source = std::fs::File::create(home.path().join("source")).expect("room");
    source.set_len(size).expect("a hole");
    source.write_all_at(&vec![7; held as usize], 32 << 20).expect("room");
    let served = Served::new(ServeOptions::for_place(Place::Path(home.path().into())));
    for (asked, begin, ignore_holes, moved) in [
        (size, 0, false, held),
        (1 << 20, 48 << 20, false, 1 << 20),
        (size, 0, true, size),
        (9 << 20, 48 << 20, true, 9 << 20),
    ] {
        let options = Options::default().with(|it| {
            (it.measuring.rehearsal_bytes, it.measuring.rehearsal_begin) = (Some(asked), begin);
            it.tuning.ignore_holes = ignore_holes;
        });
        let null = || Place::Null { bytes: None, fill: Fill::Noise };
        let sources = || vec![Place::Path(home.path().join("source"))];
        let rehearsed = |target| Job::copy(sources(), target).options(options.clone()).run_reported(&|_| {});
        let pull = served.copy(vec![served.place("source")], null(), options.clone()).0;
        let to_file = rehearsed(Place::Path(home.path().join("new")));
        for (what, report) in [("to null", rehearsed(null())), ("to a file", to_file), ("pull", pull)] {
            let what = format!("{what}, {asked} from {begin}, {ignore_holes}");
            assert_eq!((report.exit_status, report.bytes_moved), (0, moved), "{what}: {report:?}");
        }
    }
}

/// The network alone, whichever side reads: neither the served folder nor the place named in it is touched.
#[test]
fn the_other_end_may_be_null() {
    let home = tempfile::tempdir().expect("room");
    let served = Served::new(ServeOptions::for_place(Place::Path(home.path().into())));
    let bytes = 3 << 20;
    let null = Place::Null { bytes: Some(bytes), fill: Fill::Noise };
    let options = Options::default().with(|it| it.measuring.far_null_bytes = Some(bytes));
    for (what, source, target) in
        [("push", null.clone(), served.place("not/there")), ("pull", served.place("not/there"), null)]
    {
        let (report, said) = served.copy(vec![source], target, options.clone());
        assert_eq!((report.exit_status, report.bytes_moved), (0, bytes), "{what}: {said:?}");
    }
    assert_eq!(names(home.path()).len(), 0);
}

#[test]
fn what_a_rehearsal_could_not_take_back_is_refused() {
    let folder = tempfile::tempdir().expect("room");
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("room");
    let device = Path::new("/dev/null");
    for (what, bytes, target, options, status, class) in [
        ("too much", Options::REHEARSAL_BYTES_MAX + 1, folder.path(), Options::default(), 1, "no_space"),
        (
            "in place",
            1 << 20,
            folder.path(),
            Options::default().with(|it| it.durability.inplace = true),
            2,
            "usage",
        ),
        ("a pipe", 1 << 20, &pipe, Options::default(), 2, "usage"),
        ("a device", 1 << 20, device, Options::default(), 2, "usage"),
    ] {
        let report = rehearse(bytes, target, options);
        assert_eq!(report.exit_status, status, "{what}: {report:?}");
        assert!(report.problems.contains_key(class), "{what}: {report:?}");
    }
}

/// How much is asked, how much there is, and how much of that may be used.
#[test]
fn too_much_is_refused_with_what_may_be_used() {
    let folder = tempfile::tempdir().expect("room");
    let bytes = Options::REHEARSAL_BYTES_MAX + 1;
    let options = Options::default().with(|it| it.measuring.rehearsal_bytes = Some(bytes));
    let source = Place::Null { bytes: Some(bytes), fill: Fill::Noise };
    let said = std::sync::Mutex::new(String::new());
    let job = Job::copy(vec![source], Place::Path(folder.path().join("new"))).options(options);
    job.run_reported(&|event| said.lock().expect("no panic").push_str(&format!("{event:?}")));
    let said = said.into_inner().expect("no panic");
    for words in ["a rehearsal of 2.0 GiB may use one in twenty of the ", "iB that are free: "] {
        assert!(said.contains(words), "{said}");
    }
}

/// A caller on another host learns by the report how much is free there; a copy does not report it.
#[test]
fn a_rehearsal_says_how_much_is_free() {
    let (here, there) = (tempfile::tempdir().expect("room"), tempfile::tempdir().expect("room"));
    let served = Served::new(ServeOptions::for_place(Place::Path(there.path().into())));
    let source = || vec![Place::Null { bytes: Some(4096), fill: Fill::Noise }];
    for (bytes, is_known) in [(Some(4096), true), (None, false)] {
        let options = Options::default().with(|it| it.measuring.rehearsal_bytes = bytes);
        let target = Place::Path(here.path().join("target"));
        let on_one_host = Job::copy(source(), target).options(options.clone()).run_reported(&|_| {});
        // Nothing is written there: it has room for all.
        let nowhere = Place::Null { bytes: None, fill: Fill::Noise };
        let to_nothing = Job::copy(source(), nowhere).options(options.clone()).run_reported(&|_| {});
        let (push, _) = served.copy(source(), served.place("target"), options);
        for (what, report) in [("here", on_one_host), ("nothing", to_nothing), ("push", push)] {
            assert_eq!(report.rehearsal_free_bytes.is_some(), is_known, "{what}: {report:?}");
        }
    }
}

/// Here or there: not a name is made of it.
#[test]
fn a_folder_is_not_rehearsed() {
    let home = tempfile::tempdir().expect("room");
    let folder = home.path().join("folder");
    std::fs::create_dir(&folder).expect("room");
    std::fs::write(folder.join("file"), vec![7; 1 << 20]).expect("room");
    let (there, target) = (tempfile::tempdir().expect("room"), home.path().join("target"));
    let served = Served::new(ServeOptions::for_place(Place::Path(there.path().into())));
    let from = Served::new(ServeOptions::for_place(Place::Path(home.path().into())));
    let options = Options::default().with(|it| it.measuring.rehearsal_bytes = Some(1 << 20));
    let sources = vec![Place::Path(folder)];
    let job = Job::copy(sources.clone(), Place::Path(target.clone())).options(options.clone());
    let here = job.run_reported(&|_| {});
    let (push, _) = served.copy(sources, served.place("target"), options.clone());
    let (pull, _) = from.copy(vec![from.place("folder")], Place::Path(target), options);
    for (what, report) in [("here", here), ("push", push), ("pull", pull)] {
        assert!(report.exit_status != 0 && report.bytes_moved == 0, "{what}: {report:?}");
        assert!(report.problems.contains_key("usage"), "{what}: {report:?}");
    }
    assert_eq!((names(home.path()).len(), names(there.path()).len()), (1, 0));
}
