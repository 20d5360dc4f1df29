//! Statement S15: whatever performs the requests and however it waits for them, the same job does the same.

use std::path::Path;

use datapump::{EngineChoice, Job, Options, Place, Report, TuningOptions, WaitChoice};

const ENGINES: [EngineChoice; 3] = [EngineChoice::Inline, EngineChoice::Uring, EngineChoice::Threads];
const WAITS: [WaitChoice; 3] = [WaitChoice::Kernel, WaitChoice::Spin, WaitChoice::Eventfd];
const REQUEST_BYTES: u32 = 4096;

fn copy(source: &Path, target: &Path, depth: u32, engine: EngineChoice, wait: WaitChoice) -> Report {
    let options = Options {
        tuning: TuningOptions {
            request_bytes: Some(REQUEST_BYTES),
            source_depth: Some(depth),
            sink_depth: Some(depth),
            engine,
            wait,
            direct: datapump::Choice::Never,
            reflink: datapump::Choice::Never,
            ..TuningOptions::default()
        },
        ..Options::default()
    };
    let job = Job::copy(vec![Place::Path(source.into())], Place::Path(target.into()));
    job.options(options).run_reported(&|_| {})
}

#[test]
fn s15_every_way_to_wait_gives_the_same_bytes_and_counts() {
    let folder = tempfile::tempdir().expect("room");
    let (source, target) = (folder.path().join("source"), folder.path().join("target"));
    for blocks in [0, 1, 7, 40] {
        let bytes = (0..blocks * REQUEST_BYTES + 13).map(|at| (at % 251) as u8).collect::<Vec<u8>>();
        std::fs::write(&source, &bytes).expect("room");
        for (engine, wait) in ENGINES.into_iter().flat_map(|engine| WAITS.map(|wait| (engine, wait))) {
            for depth in [1, 2, 8] {
                let what = format!("{blocks} blocks, depth {depth}, {engine:?}, {wait:?}");
                let report = copy(&source, &target, depth, engine, wait);
                assert_eq!(std::fs::read(&target).expect(&what), bytes, "{what}");
                let counts = (report.exit_status, report.requests, report.partial_returns, report.files);
                assert_eq!(counts, (0, u64::from(blocks) + 1, 0, 1), "{what}: {report:?}");
            }
        }
    }
}
