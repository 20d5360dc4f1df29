//! A server and its clients in one process, over TLS on loopback: what is copied arrives as on one host.

use std::path::Path;

use crate::net_parts::{Served, make_tree, noise};
use datapump::{Event, Job, Options, Place, ServeOptions};

fn same(one: &Path, other: &Path) {
    let report = Job::compare(Place::Path(one.into()), Place::Path(other.into())).run_reported(&|event| {
        if let Event::Problem(problem) = event {
            eprintln!("{problem}");
        }
    });
    assert_eq!(report.exit_status, 0, "{} and {}", one.display(), other.display());
}

#[test]
fn files_and_trees_are_sent_and_fetched() {
    let home = tempfile::tempdir().expect("room");
    let path = |name: &str| home.path().join(name);
    std::fs::create_dir(path("served")).expect("room");
    make_tree(&path("tree"));
    let served = Served::new(ServeOptions::for_place(Place::Path(path("served"))));
    let here = |name: &str| Place::Path(path(name));

    let (report, said) = served.copy(vec![here("tree/large")], served.place("file"), Options::default());
    assert_eq!((report.exit_status, &said[..]), (0, &[][..]));
    assert_eq!(report.bytes, 5_000_003);
    assert_eq!(report.blake3, Some(blake3::hash(&noise(5_000_003)).to_hex().to_string()));
    assert!(std::fs::read(path("served/file")).expect("it is there") == noise(5_000_003));

    let (report, said) = served.copy(vec![here("tree")], served.place("copy"), Options::default());
    assert_eq!((report.exit_status, &said[..]), (0, &[][..]));
    same(&path("tree"), &path("served/copy"));

    let (report, said) = served.copy(vec![served.place("copy")], here("back"), Options::default());
    assert_eq!((report.exit_status, &said[..]), (0, &[][..]));
    same(&path("tree"), &path("back"));

    let (report, said) =
        served.copy(vec![served.place("file"), served.place("copy/one")], here("back"), Options::default());
    assert_eq!((report.exit_status, &said[..]), (0, &[][..]));
    assert!(std::fs::read(path("back/file")).expect("it is there") == noise(5_000_003));
}

#[test]
fn what_is_read_back_over_there_is_all_there() {
    let home = tempfile::tempdir().expect("room");
    let path = |name: &str| home.path().join(name);
    for folder in ["served", "tree"] {
        std::fs::create_dir(path(folder)).expect("room");
    }
    for number in 0..10 {
        std::fs::write(path("tree").join(format!("f{number}")), noise(number * 100)).expect("room");
    }
    let served = Served::new(ServeOptions::for_place(Place::Path(path("served"))));
    let options = Options::default().with(|it| it.durability.verify = true);
    for round in 0..20 {
        let target = format!("copy-{round}");
        let (report, said) =
            served.copy(vec![Place::Path(path("tree"))], served.place(&target), options.clone());
        assert_eq!((report.exit_status, &said[..]), (0, &[][..]), "{round}");
        same(&path("tree"), &path("served").join(&target));
    }
    for (name, bytes) in [("empty", 0), ("short", 1)] {
        std::fs::write(path(name), noise(bytes)).expect("room");
        let (report, said) = served.copy(vec![Place::Path(path(name))], served.place(name), options.clone());
        assert_eq!((report.exit_status, &said[..]), (0, &[][..]), "{name}");
        assert_eq!(std::fs::read(path("served").join(name)).expect("it is there"), noise(bytes));
    }
}
