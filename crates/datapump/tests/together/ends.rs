//! Every kind of end does the same thing behind one interface: whatever a source gives, whatever takes it, on each
//! engine, all bytes arrive, in their places, and what goes wrong is told in the same way.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use crate::net_parts::{Served, noise};
use datapump::{
    Choice, ComparisonOptions, DurabilityOptions, EngineChoice, Event, Fill, Job, Options, Place, Report,
    ServeOptions, Sync, TuningOptions,
};

const REQUEST: usize = 64 << 10;
const SIZES: [usize; 7] = [0, 1, 4097, REQUEST - 1, REQUEST, REQUEST + 1, 5 * REQUEST + 4099];
const ENGINES: [EngineChoice; 3] = [EngineChoice::Uring, EngineChoice::Threads, EngineChoice::Inline];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    File,
    Direct,
    Pipe,
    Null,
    Remote,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    File,
    Direct,
    Pipe,
    Null,
    Compare,
    Remote,
}

const SOURCES: [From; 5] = [From::File, From::Direct, From::Pipe, From::Null, From::Remote];
const SINKS: [To; 6] = [To::File, To::Direct, To::Pipe, To::Null, To::Compare, To::Remote];

/// A folder, and a served one in it.
struct Home {
    folder: tempfile::TempDir,
    served: Served,
}

impl Home {
    fn new() -> Home {
        let folder = tempfile::tempdir().expect("room");
        std::fs::create_dir(folder.path().join("served")).expect("room");
        let served = Served::new(ServeOptions::for_place(Place::Path(folder.path().join("served"))));
        Home { folder, served }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A source that gives these bytes.
    fn source(&self, from: From, content: &[u8]) -> (Place, Option<JoinHandle<()>>) {
        match from {
            From::File | From::Direct => {
                std::fs::write(self.path("from"), content).expect("room");
                (Place::Path(self.path("from")), None)
            }
            From::Remote => {
                std::fs::write(self.path("served/from"), content).expect("room");
                (self.served.place("from"), None)
            }
            From::Null => (Place::Null { bytes: Some(content.len() as u64), fill: Fill::Zero }, None),
            From::Pipe => {
                let (path, content) = (pipe(&self.path("from-pipe")), content.to_vec());
                let written = path.clone();
                let writer = std::thread::spawn(move || {
                    let mut pipe = std::fs::File::options().write(true).open(written).expect("there");
                    // In odd pieces; a reader that gave up is the reader's matter.
                    let _ = content.chunks(9_973).try_for_each(|piece| pipe.write_all(piece));
                });
                (Place::Path(path), Some(writer))
            }
        }
    }

    /// A sink; what it took is asked of [`Home::taken`].
    fn sink(&self, to: To, content: &[u8]) -> (Place, Option<JoinHandle<Vec<u8>>>) {
        match to {
            To::File | To::Direct => (Place::Path(self.path("to")), None),
            To::Remote => (self.served.place("to"), None),
            To::Null => (Place::Null { bytes: None, fill: Fill::Zero }, None),
            To::Compare => {
                std::fs::write(self.path("to"), content).expect("room");
                (Place::Path(self.path("to")), None)
            }
            To::Pipe => {
                let path = pipe(&self.path("to-pipe"));
                let read = path.clone();
                let reader = std::thread::spawn(move || {
                    let mut taken = Vec::new();
                    let mut pipe = std::fs::File::open(read).expect("there");
                    pipe.read_to_end(&mut taken).expect("bytes");
                    taken
                });
                (Place::Path(path), Some(reader))
            }
        }
    }

    fn taken(&self, to: To, reader: Option<JoinHandle<Vec<u8>>>) -> Option<Vec<u8>> {
        match to {
            To::File | To::Direct => Some(std::fs::read(self.path("to")).expect("it is there")),
            To::Remote => Some(std::fs::read(self.path("served/to")).expect("it is there")),
            To::Pipe => reader.map(|reader| reader.join().expect("no panic")),
            To::Null | To::Compare => None,
        }
    }

    fn run(&self, (from, to): (From, To), places: (Place, Place), engine: EngineChoice) -> (Report, String) {
        let is_direct = from == From::Direct || to == To::Direct;
        let options = Options {
            tuning: TuningOptions {
                engine,
                request_bytes: Some(REQUEST as u32),
                direct: if is_direct { Choice::Auto } else { Choice::Never },
                ..TuningOptions::default()
            },
            durability: DurabilityOptions { sync: Sync::None, ..DurabilityOptions::default() },
            comparison: ComparisonOptions { content_only: to == To::Compare, ..ComparisonOptions::default() },
            ..Options::default()
        };
        let job = match to {
            To::Compare => Job::compare(places.0, places.1),
            _ => Job::copy(vec![places.0], places.1),
        };
        let is_remote = from == From::Remote || to == To::Remote;
        let job = if is_remote { self.served.let_in(job) } else { job };
        told(|events| job.options(options).run_reported(events))
    }
}

fn told(run: impl FnOnce(&(dyn Fn(Event) + std::marker::Sync)) -> Report) -> (Report, String) {
    let said = std::sync::Mutex::new(String::new());
    let report = run(&|event| {
        if let Event::Problem(problem) = event {
            said.lock().expect("no panic").push_str(&problem.to_string());
        }
    });
    (report, said.into_inner().expect("no panic"))
}

fn pipe(path: &Path) -> PathBuf {
    let _ = std::fs::remove_file(path);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("room");
    path.to_path_buf()
}

/// Two ends that a job may have: one of them lies here, and null is compared with nothing.
fn pairs() -> impl Iterator<Item = (From, To)> {
    let may_meet = |(from, to): &(From, To)| {
        let are_both_there = *from == From::Remote && *to == To::Remote;
        let is_compared = *to != To::Compare || matches!(from, From::File | From::Direct | From::Remote);
        !are_both_there && is_compared
    };
    SOURCES.into_iter().flat_map(|from| SINKS.map(|to| (from, to))).filter(may_meet)
}

fn content(from: From, bytes: usize) -> Vec<u8> {
    if from == From::Null { vec![0; bytes] } else { noise(bytes) }
}

#[test]
fn all_bytes_arrive_from_every_source_at_every_sink_on_every_engine() {
    let home = Home::new();
    for engine in ENGINES {
        for (pair, bytes) in pairs().flat_map(|pair| SIZES.map(|bytes| (pair, bytes))) {
            let cell = format!("{pair:?} {engine:?} {bytes}");
            let content = content(pair.0, bytes);
            let (source, writer) = home.source(pair.0, &content);
            let (sink, reader) = home.sink(pair.1, &content);
            let (report, said) = home.run(pair, (source, sink), engine);
            assert_eq!((report.exit_status, said.as_str()), (0, ""), "{cell}");
            assert_eq!(report.bytes, bytes as u64, "{cell}");
            writer.into_iter().for_each(|writer| writer.join().expect("no panic"));
            assert!(home.taken(pair.1, reader).is_none_or(|taken| taken == content), "{cell}");
        }
    }
}

#[test]
fn a_difference_is_found_at_its_byte_whatever_the_source_is() {
    let home = Home::new();
    for (engine, from) in
        ENGINES.into_iter().flat_map(|engine| [(engine, From::File), (engine, From::Remote)])
    {
        for at in [0, REQUEST - 1, REQUEST, 3 * REQUEST + 17] {
            let content = noise(5 * REQUEST + 4099);
            let (source, _) = home.source(from, &content);
            let mut other = content.clone();
            other[at] ^= 1;
            let (sink, _) = home.sink(To::Compare, &other);
            let (report, said) = home.run((from, To::Compare), (source, sink), engine);
            assert_eq!(report.exit_status, 1, "{from:?} {engine:?} {at}: {said}");
            assert!(said.contains(&format!("byte {at}")), "{from:?} {engine:?} {at}: {said}");
        }
    }
}

#[test]
fn a_sink_that_takes_no_more_ends_the_copy_whatever_the_source_is() {
    let home = Home::new();
    for (engine, from) in ENGINES.into_iter().flat_map(|engine| SOURCES.map(|from| (engine, from))) {
        let content = content(from, 40 * REQUEST);
        let (source, writer) = home.source(from, &content);
        let full = Place::Path("/dev/full".into());
        let (report, said) = home.run((from, To::Pipe), (source, full), engine);
        assert_eq!(report.exit_status, 1, "{from:?} {engine:?}: {said}");
        assert!(said.contains("/dev/full") && said.contains("No space"), "{from:?} {engine:?}: {said}");
        writer.into_iter().for_each(|writer| writer.join().expect("no panic"));
    }
}
