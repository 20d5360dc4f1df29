//! Pipes and null between two hosts, and what the lab leaves out to measure its cost.

use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use crate::net_parts::{Served, noise};
use datapump::{Fill, Options, Place, Report, ServeOptions, WayIn};

fn null(bytes: Option<u64>) -> Place {
    Place::Null { bytes, fill: Fill::Noise }
}

/// A pipe under a name, and a thread that writes these bytes into it.
fn pipe(path: &Path, bytes: Vec<u8>) -> std::thread::JoinHandle<()> {
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("room");
    let path = path.to_path_buf();
    std::thread::spawn(move || {
        let mut pipe = std::fs::File::options().write(true).open(path).expect("the pipe is there");
        // In pieces of odd lengths, as programs write.
        for piece in bytes.chunks(99_991) {
            pipe.write_all(piece).expect("somebody reads");
        }
    })
}

#[test]
fn pipes_of_any_length_are_sent_whole() {
    let home = tempfile::tempdir().expect("room");
    let path = |name: &str| home.path().join(name);
    std::fs::create_dir(path("served")).expect("room");
    let served = Served::new(ServeOptions::for_place(Place::Path(path("served"))));
    for bytes in [0, 1, 1023, 1 << 20, (1 << 20) + 1, 5 << 20, 7_654_321] {
        let (name, content) = (format!("pipe-{bytes}"), noise(bytes));
        let writer = pipe(&path(&name), content.clone());
        let (report, said) =
            served.copy(vec![Place::Path(path(&name))], served.place("got"), Options::default());
        writer.join().expect("no panic");
        assert_eq!((report.exit_status, &said[..], report.bytes), (0, &[][..], bytes as u64), "{bytes}");
        assert_eq!(report.blake3, Some(blake3::hash(&content).to_hex().to_string()), "{bytes}");
        assert!(std::fs::read(path("served/got")).expect("it is there") == content, "{bytes}");
    }
}

#[test]
fn null_takes_and_gives_over_the_network() {
    let bytes = 50_000_001;
    let served = Served::new(ServeOptions::for_place(null(Some(bytes))));
    let ways = [(null(Some(bytes)), served.place("")), (served.place(""), null(None))];
    for (source, target) in ways {
        let (report, said) = served.copy(vec![source], target, Options::default());
        assert_eq!((report.exit_status, &said[..], report.bytes), (0, &[][..], bytes));
    }
}

#[test]
fn null_has_to_say_its_length() {
    let served = Served::new(ServeOptions::for_place(null(None)));
    let (report, said) = served.copy(vec![null(None)], served.place(""), Options::default());
    assert_eq!(report.exit_status, 2);
    assert!(said[0].contains("needs a size"), "{said:?}");
}

fn open(served: &Served, source: Place, target: Place, unhashed: bool) -> (Report, Vec<String>) {
    let said = Mutex::new(Vec::new());
    let options = Options::default().with(|it| it.network.unhashed = unhashed);
    let copy = served.remote(vec![source], target).options(options);
    let copy = if served.is_insecure { copy.way_in(WayIn::Open) } else { copy };
    let report = copy.run_reported(&|event| {
        if let datapump::Event::Problem(problem) = event {
            said.lock().expect("no panic").push(problem.to_string());
        }
    });
    (report, said.into_inner().expect("no panic"))
}

#[test]
fn the_lab_may_leave_out_encryption_and_hashes_at_both_ends() {
    let home = tempfile::tempdir().expect("room");
    let path = |name: &str| home.path().join(name);
    std::fs::create_dir(path("served")).expect("room");
    std::fs::write(path("file"), noise(5_000_003)).expect("room");
    for (insecure, unhashed) in [(true, false), (false, true), (true, true)] {
        let options =
            ServeOptions { insecure, unhashed, ..ServeOptions::for_place(Place::Path(path("served"))) };
        let served = Served::new(options);
        let name = format!("file-{insecure}-{unhashed}");
        let (report, said) = open(&served, Place::Path(path("file")), served.place(&name), unhashed);
        assert_eq!((report.exit_status, &said[..]), (0, &[][..]));
        assert_eq!(report.blake3.is_some(), !unhashed);
        assert!(std::fs::read(path("served").join(name)).expect("it is there") == noise(5_000_003));
    }
}

#[test]
fn one_end_alone_leaves_out_nothing() {
    let home = tempfile::tempdir().expect("room");
    let path = |name: &str| home.path().join(name);
    std::fs::create_dir(path("served")).expect("room");
    std::fs::write(path("file"), noise(100_000)).expect("room");
    let mut served = Served::new(ServeOptions::for_place(Place::Path(path("served"))));
    let (report, said) = open(&served, Place::Path(path("file")), served.place("x"), true);
    assert_eq!(report.exit_status, 5, "{said:?}");
    served.is_insecure = true;
    let (report, _) = open(&served, Place::Path(path("file")), served.place("x"), false);
    assert_ne!(report.exit_status, 0);
    let insecure = ServeOptions { insecure: true, ..ServeOptions::for_place(Place::Path(path("served"))) };
    let mut insecure = Served::new(insecure);
    insecure.is_insecure = false;
    let (report, _) = open(&insecure, Place::Path(path("file")), insecure.place("x"), false);
    assert_ne!(report.exit_status, 0);
    assert!(!path("served/x").exists());
}
