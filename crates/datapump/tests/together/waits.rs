//! Statements S15 and S18: whatever performs the requests, however it waits for them and however the file grows, the
//! same job does the same.

use std::path::Path;

use datapump::simulation::Peaks;
use datapump::{EngineChoice, Job, Options, Place, Platform, Report, TuningOptions, WaitChoice};

const ENGINES: [EngineChoice; 3] = [EngineChoice::Inline, EngineChoice::Uring, EngineChoice::Threads];
const WAITS: [WaitChoice; 3] = [WaitChoice::Kernel, WaitChoice::Spin, WaitChoice::Eventfd];
const REQUEST_BYTES: u32 = 4096;

/// One of the ways: the choice is one option of the engine and one of the wait.
#[derive(Clone, Copy, Debug, Default)]
struct Mechanism {
    engine: EngineChoice,
    wait: WaitChoice,
    /// Every write extends the file.
    appends: bool,
}

fn copy(source: &Path, target: &Path, depths: [u32; 2], how: Mechanism) -> (Report, Peaks) {
    let peaks = Peaks::default();
    let options = Options {
        tuning: TuningOptions {
            request_bytes: Some(REQUEST_BYTES),
            source_depth: Some(depths[0]),
            sink_depth: Some(depths[1]),
            engine: how.engine,
            wait: how.wait,
            no_reserve: how.appends,
            direct: datapump::Choice::Never,
            reflink: datapump::Choice::Never,
            ..TuningOptions::default()
        },
        ..Options::default()
    };
    let job = Job::copy(vec![Place::Path(source.into())], Place::Path(target.into()));
    let job = job.options(options).platform(Platform::real().watched_by(peaks.clone()));
    (job.run_reported(&|_| {}), peaks)
}

#[test]
fn s15_every_way_to_wait_gives_the_same_bytes_and_counts() {
    let folder = tempfile::tempdir().expect("room");
    let (source, target) = (folder.path().join("source"), folder.path().join("target"));
    for blocks in [0, 1, 7, 40] {
        let bytes = (0..blocks * REQUEST_BYTES + 13).map(|at| (at % 251) as u8).collect::<Vec<u8>>();
        std::fs::write(&source, &bytes).expect("room");
        for how in ENGINES
            .into_iter()
            .flat_map(|engine| WAITS.map(|wait| Mechanism { engine, wait, appends: false }))
        {
            for depths in [[1, 1], [1, 8], [2, 2], [8, 1], [8, 8]] {
                let what = format!("{blocks} blocks, depths {depths:?}, {how:?}");
                let (report, peaks) = copy(&source, &target, depths, how);
                assert_eq!(std::fs::read(&target).expect(&what), bytes, "{what}");
                let counts = (report.exit_status, report.requests, report.partial_returns, report.files);
                assert_eq!(counts, (0, u64::from(blocks) + 1, 0, 1), "{what}: {report:?}");
                check_peaks(&report, &peaks, depths, &what);
            }
        }
    }
}

/// Neither depth is exceeded, and nothing stays in flight. A queue has all reads that the depth allows before the first
/// wait; who performs each request where it is posted has one.
fn check_peaks(report: &Report, peaks: &Peaks, depths: [u32; 2], what: &str) {
    assert_eq!(peaks.in_flight(), 0, "{what}");
    assert_eq!([report.source_depth, report.sink_depth], depths, "{what}");
    let most = if report.engine.got == "inline" { [1, 1] } else { depths };
    assert!((1..=most[1]).contains(&peaks.writes()), "{what}: {peaks:?}");
    assert_eq!(peaks.reads(), most[0].min(report.requests as u32), "{what}: {peaks:?}");
}

/// The file is the same whether its room is reserved or every write extends it, by the loop itself (`inline`), by helper
/// threads or by the kernel's (`uring`), with one write under way or four.
#[test]
fn s18_the_file_is_the_same_however_it_grows() {
    let folder = tempfile::tempdir().expect("room");
    let (source, target) = (folder.path().join("source"), folder.path().join("target"));
    let bytes = (0..50 * REQUEST_BYTES + 13).map(|at| (at % 241) as u8).collect::<Vec<u8>>();
    std::fs::write(&source, &bytes).expect("room");
    for engine in ENGINES {
        for appends in [false, true] {
            for sink_depth in [1, 4] {
                let how = Mechanism { engine, appends, ..Mechanism::default() };
                let (report, peaks) = copy(&source, &target, [4, sink_depth], how);
                let what = format!("{how:?}, depth {sink_depth}: {report:?}");
                assert_eq!((report.exit_status, report.requests), (0, 51), "{what}");
                assert!(std::fs::read(&target).expect(&what) == bytes, "{what}");
                check_peaks(&report, &peaks, [4, sink_depth], &what);
                std::fs::remove_file(&target).expect(&what);
            }
        }
    }
}
