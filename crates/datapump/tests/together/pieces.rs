//! A job over pieces of one file: what is named is moved, in that order, and all else stays as it is.

use std::path::Path;
use std::sync::{Arc, Mutex};

use datapump::{
    BlockHook, Choice, DurabilityOptions, EngineChoice, Fill, Job, Options, Place, PlaceOptions, Report,
    TuningOptions,
};

const PAGE: u64 = 4096;
/// The last page is a part of one.
const BYTES: u64 = 5 * PAGE + 1000;
const ENGINES: [EngineChoice; 3] = [EngineChoice::Uring, EngineChoice::Threads, EngineChoice::Inline];

/// Marks what it fills, and notes what it sees.
#[derive(Debug, Default)]
struct Marks(Mutex<Vec<(u64, usize)>>);

impl BlockHook for Marks {
    fn fill(&self, _: u64, bytes: &mut [u8]) {
        bytes.fill(b'N');
    }

    fn inspect(&self, at: u64, bytes: &[u8]) {
        assert!(bytes.iter().all(|byte| *byte == b'o'), "the bytes of the file");
        self.0.lock().expect("no panic").push((at, bytes.len()));
    }
}

fn run(job: Job, engine: EngineChoice, direct: Choice, pieces: &[(u64, u64)]) -> Report {
    let options = Options {
        tuning: TuningOptions {
            engine,
            direct,
            no_reserve: true,
            lanes: Some(1),
            request_bytes: Some(PAGE as u32),
            ..TuningOptions::default()
        },
        durability: DurabilityOptions { inplace: true, ..DurabilityOptions::default() },
        place: PlaceOptions { target_is_name: true, ..PlaceOptions::default() },
        ..Options::default()
    };
    let report = job.options(options).pieces(Arc::from(pieces)).run_reported(&|event| println!("{event:?}"));
    assert_eq!(report.exit_status, 0, "{engine:?} {direct:?} {report:?}");
    report
}

fn file(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("file");
    std::fs::write(&path, vec![b'o'; BYTES as usize]).expect("room");
    path
}

#[test]
fn only_the_pieces_are_written_and_the_length_stays() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("room");
    let whole: Vec<(u64, u64)> = (0..6).map(|page| (page * PAGE, BYTES.min((page + 1) * PAGE))).collect();
    let (words, odd) = ([(4 * PAGE, 4 * PAGE + 8), (0, 8)], [(100, 5000), (5 * PAGE, 5 * PAGE + 1)]);
    for engine in ENGINES {
        for (direct, pieces) in [
            (Choice::Never, &words[..]),
            (Choice::Never, &odd),
            (Choice::Never, &whole),
            (Choice::Always, &whole),
        ] {
            let path = file(folder.path());
            let bytes = pieces.iter().map(|(start, end)| end - start).sum();
            let source = Place::Null { bytes: Some(bytes), fill: Fill::Overwritten };
            let job = Job::copy(vec![source], Place::Path(path.clone())).hook(Arc::new(Marks::default()));
            let report = run(job, engine, direct, pieces);
            assert_eq!((report.bytes, report.bytes_moved), (BYTES, bytes), "{engine:?} {pieces:?}");
            let mut expected = vec![b'o'; BYTES as usize];
            pieces.iter().for_each(|&(start, end)| expected[start as usize..end as usize].fill(b'N'));
            assert!(std::fs::read(&path).expect("there") == expected, "{engine:?} {direct:?} {pieces:?}");
        }
    }
}

#[test]
fn pieces_are_read_in_their_order() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("room");
    let pieces = [(3 * PAGE, 4 * PAGE), (5 * PAGE, BYTES), (0, 2 * PAGE)];
    let blocks = [(3 * PAGE, 4096), (5 * PAGE, 1000), (0, 4096), (PAGE, 4096)];
    for engine in ENGINES {
        let marks = Arc::new(Marks::default());
        let job = Job::hash(Place::Path(file(folder.path()))).hook(Arc::clone(&marks) as _);
        run(job, engine, Choice::Never, &pieces);
        let mut seen = marks.0.lock().expect("no panic").clone();
        if engine != EngineChoice::Inline {
            // Blocks in flight together may end in any order.
            seen.sort_by_key(|seen| blocks.iter().position(|block| block == seen));
        }
        assert_eq!(seen, blocks, "{engine:?}");
    }
}

#[test]
fn pieces_that_would_lose_the_rest_are_refused() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("room");
    let (path, other) = (file(folder.path()), folder.path().join("other"));
    std::fs::write(&other, b"kept").expect("room");
    let null = || Place::Null { bytes: Some(PAGE), fill: Fill::Noise };
    let pieces: Arc<[(u64, u64)]> = Arc::from([(0, PAGE)]);
    let inplace = Options::default().with(|it| it.durability.inplace = true);
    for job in [
        Job::copy(vec![null()], Place::Path(other.clone())),
        Job::copy(vec![Place::Path(path.clone()), null()], Place::Path(other.clone())).options(inplace),
    ] {
        let report = job.pieces(Arc::clone(&pieces)).run_reported(&|_| {});
        assert_eq!(report.exit_status, 2, "{report:?}");
        assert_eq!(std::fs::read(&other).expect("there"), b"kept");
    }
    let options = Options::default().with(|it| it.durability.verify = true);
    let job = Job::copy(vec![Place::Path(path)], Place::Path(folder.path().join("new")));
    let report = job.hook(Arc::new(Marks::default())).options(options).run_reported(&|_| {});
    assert_eq!(report.exit_status, 2, "{report:?}");
}
