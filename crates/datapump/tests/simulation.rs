//! Whole jobs in a simulated world, under seeded faults: the public library from end to end, on a virtual clock.
//!
//! `DATAPUMP_SEEDS=1000000` runs that many; `DATAPUMP_SEED=7041` replays one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use datapump::simulation::{Device, Errno, Faults, Peaks, Random, SimClock, SimDisk, Simulation};
use datapump::{
    Class, DurabilityOptions, Event, Job, Options, Place, Platform, Problem, Report, TuningOptions,
};

/// A device gives an error, or a file system answers by itself what a request that was called back answers.
const ERRORS: [Errno; 2] = [Errno::EIO, Errno::ECANCELED];

/// What a seed decides.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    content: Vec<u8>,
    old: Option<Vec<u8>>,
    options: Options,
    source: Device,
    sink: Device,
    faults: Faults,
    /// The process dies, or the power fails, at the n-th change of the disk.
    dies_at: Option<u64>,
}

impl Case {
    fn random(seed: u64) -> Case {
        let mut random = Random::new(seed);
        let request = 1024 * (1 + random.below(4));
        let mut size =
            [0, 1, 511, 512, request - 1, request, request + 1, 7 * request + 13][random.below(8) as usize];
        if random.chance(3) {
            size = random.below(12 * request);
        }
        let mut content = vec![0; size as usize];
        random.fill(&mut content);
        let options = Options {
            tuning: TuningOptions {
                request_bytes: Some(request as u32),
                source_depth: Some(1 + random.below(8) as u32),
                sink_depth: Some(1 + random.below(8) as u32),
                ..TuningOptions::default()
            },
            durability: DurabilityOptions { verify: random.chance(3), ..DurabilityOptions::default() },
            ..Options::default()
        };
        // Swarm: each seed switches whole kinds of fault off.
        let faults = Faults {
            reorder_ps: if random.chance(2) { 1 + random.below(50_000_000) } else { 0 },
            partial_one_in: if random.chance(2) { 2 + random.below(5) as u32 } else { 0 },
            error_at: random.chance(4).then(|| (1 + random.below(40), ERRORS[(seed % 2) as usize])),
            flip_at: None,
            flips_on: false,
        };
        let device = |random: &mut Random| Device {
            latency_ps: random.below(3) * 1_000_000 * random.below(100),
            bytes_per_s: random.below(4) * 100_000_000,
            synchronous: random.chance(8),
        };
        Case {
            seed,
            content,
            old: random.chance(2).then(|| b"what stood there before".to_vec()),
            options,
            source: device(&mut random),
            sink: device(&mut random),
            faults,
            dies_at: random.chance(3).then(|| 1 + random.below(100)),
        }
    }

    fn disk(&self) -> Arc<SimDisk> {
        let disk = SimDisk::new();
        disk.put(b"source", &self.content);
        if let Some(old) = &self.old {
            disk.put(b"target", old);
        }
        disk
    }

    /// Runs the copy on `disk`.
    fn run(&self, disk: &Arc<SimDisk>, faults: Faults) -> (Report, Vec<Problem>, Peaks) {
        let peaks = Peaks::default();
        let platform = Platform::simulated(Simulation {
            disk: Arc::clone(disk),
            clock: SimClock::virtual_time(),
            source: self.source,
            sink: self.sink,
            faults,
            seed: self.seed,
        })
        .watched_by(peaks.clone());
        let problems = Mutex::new(Vec::new());
        let job = Job::copy(vec![Place::Path("source".into())], Place::Path("target".into()));
        let report = job.options(self.options.clone()).platform(platform).run_reported(&|event| {
            if let Event::Problem(problem) = event {
                problems.lock().unwrap().push(problem);
            }
        });
        (report, problems.into_inner().unwrap(), peaks)
    }

    /// The case without its content, which nobody wants to read.
    fn words(&self) -> String {
        let Case { seed, content, old, options, faults, dies_at, .. } = self;
        let old = old.is_some();
        format!(
            "seed {seed}: {} bytes, old {old}, {options:?}, {faults:?}, dies at {dies_at:?}",
            content.len()
        )
    }
}

fn for_each_seed(usual: u64, test: &str, check: impl Fn(u64) + std::panic::RefUnwindSafe) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("DATAPUMP_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("DATAPUMP_SEEDS").unwrap_or(usual),
    };
    for seed in seeds {
        if let Err(panic) = std::panic::catch_unwind(|| check(seed)) {
            eprintln!("replay: DATAPUMP_SEED={seed} cargo test -p datapump --test simulation {test}");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn a_copy_is_whole_or_the_target_is_untouched() {
    for_each_seed(3_000, "a_copy_is_whole", |seed| {
        let case = Case::random(seed);
        let (disk, words) = (case.disk(), case.words());
        let (report, problems, peaks) = case.run(&disk, case.faults);
        match report.exit_status {
            0 => {
                assert!(problems.is_empty(), "{words}: {problems:?}");
                assert!(disk.content(b"target").as_ref() == Some(&case.content), "{words}: content");
                assert_eq!(report.bytes, case.content.len() as u64, "{words}");
            }
            1 => {
                // S5: offset and cause, an old target untouched, nothing left behind.
                assert_eq!(problems.len(), 1, "{words}: {problems:?}");
                assert_eq!(
                    (problems[0].class, problems[0].offset.is_some()),
                    (Class::Io, true),
                    "{problems:?}"
                );
                assert!(disk.content(b"target") == case.old, "{words}: the old target");
            }
            status => panic!("{words}: status {status}, {problems:?}"),
        }
        let strays: Vec<_> = disk.names().into_iter().filter(|name| name.starts_with(b".pump-")).collect();
        assert!(strays.is_empty(), "{words}: {strays:?}");
        check_bounds(&case, &report, &peaks);
    });
}

/// S4: depths are kept, and on a virtual clock all time is waiting.
fn check_bounds(case: &Case, report: &Report, peaks: &Peaks) {
    let words = case.words();
    assert_eq!(peaks.in_flight(), 0, "{words}");
    assert!(peaks.reads() <= case.options.tuning.source_depth.unwrap(), "{words}: {peaks:?}");
    assert!(peaks.writes() <= case.options.tuning.sink_depth.unwrap(), "{words}: {peaks:?}");
    let waits = report.waits_ns;
    let charged = waits.total() + waits.idle + waits.not_scheduled;
    assert_eq!(report.elapsed_ns * u64::from(report.lanes), charged, "{words}: {waits:?}");
}

/// A process that dies leaves the old target or the whole new one; the same command then goes on.
#[test]
fn after_a_kill_or_a_power_loss_the_target_is_old_or_whole() {
    let (resumed, most) = (AtomicU64::new(0), 3_000);
    for_each_seed(most, "after_a_kill", |seed| {
        let case = Case::random(seed);
        let Some(dies_at) = case.dies_at else { return };
        let (disk, words) = (case.disk(), case.words());
        disk.stop_at(dies_at);
        let (report, ..) = case.run(&disk, Faults { error_at: None, ..case.faults });
        let (first, mut random) = (report.clone(), Random::new(!seed));
        let is_kill = random.chance(2);
        let after = if is_kill { disk.after_kill() } else { disk.after_power_loss(&mut random) };
        let found = after.content(b"target");
        let whole = found.as_ref() == Some(&case.content);
        assert!(whole || found == case.old, "{words}: half a file under the final name");
        assert!(report.exit_status != 0 || whole, "{words}: status 0 and the copy is gone");
        let (report, problems, _) = case.run(&after, Faults::default());
        assert_eq!(report.exit_status, 0, "{words}: {problems:?}");
        assert!(after.content(b"target").as_ref() == Some(&case.content), "{words}: the second run");
        // What lost a part of its content with the power, but not its attributes, nobody can tell from a user's file.
        let mut names = after.names();
        names.retain(|name| is_kill || !name.starts_with(b".pump-"));
        assert_eq!(names, vec![b"source".to_vec(), b"target".to_vec()], "{words}");
        resumed.fetch_add(u64::from(report.bytes_resumed > 0), Ordering::Relaxed);
        // What landed before a kill does not come again, but for what was under way.
        if is_kill && !whole && !case.options.durability.verify && first.request_bytes.is_multiple_of(4096) {
            let bound = u64::from((first.source_depth + first.sink_depth) * first.request_bytes);
            let rest = case.content.len() as u64 - first.bytes_moved;
            assert!(report.bytes_moved <= rest + bound, "{words}: {} of {rest}", report.bytes_moved);
            assert!(report.bytes_moved_twice <= bound, "{words}: {}", report.bytes_moved_twice);
        }
    });
    let usual = ["DATAPUMP_SEED", "DATAPUMP_SEEDS"].iter().all(|name| std::env::var(name).is_err());
    assert!(!usual || resumed.into_inner() > most / 50, "hardly any run went on with a file");
}

/// How many requests copy the blocks of a case, if nothing is partial.
fn copying(case: &Case) -> u64 {
    2 * case.content.len().div_ceil(case.options.tuning.request_bytes.unwrap() as usize) as u64
}

/// A bit that flips on its way to the disk or back is found by --verify, and the part is written again.
#[test]
fn verify_repairs_a_flipped_bit() {
    let repaired = AtomicU64::new(0);
    for_each_seed(1_000, "verify_repairs", |seed| {
        let mut case = Case::random(seed);
        case.options.durability.verify = true;
        case.faults.partial_one_in = 0;
        // A bit that flips in the padding of a direct request is nobody's.
        case.options.tuning.request_bytes = Some(4096);
        case.content.truncate(case.content.len() / 4096 * 4096);
        let requests = copying(&case);
        if requests == 0 {
            return;
        }
        // Half of the requests that copy read the source: what they flip is what the source says.
        let flip_at = 1 + Random::new(!seed).below(requests + requests / 2);
        let (disk, words) = (case.disk(), case.words());
        let faults = Faults { flip_at: Some(flip_at), error_at: None, ..case.faults };
        let (report, problems, _) = case.run(&disk, faults);
        assert_eq!(report.exit_status, 0, "{words}: {problems:?}");
        let found = disk.content(b"target").expect("a target");
        let flipped: u32 =
            found.iter().zip(&case.content).map(|(one, other)| (one ^ other).count_ones()).sum();
        let was_found = report.bytes_moved_twice > 0;
        // Of what reads back every second request is the null sink's, which has no data.
        let of_source = flip_at <= requests && !was_found;
        assert_eq!((found.len(), flipped), (case.content.len(), u32::from(of_source)), "{words}: {flip_at}");
        repaired.fetch_add(u64::from(was_found), Ordering::Relaxed);
    });
    assert!(std::env::var("DATAPUMP_SEED").is_ok() || repaired.into_inner() > 100, "hardly any was repaired");
}

/// A device that damages all it is given back is not believed in the end, and the old target stays.
#[test]
fn verify_gives_up_on_a_bad_device() {
    for_each_seed(1_000, "verify_gives_up", |seed| {
        let mut case = Case::random(seed);
        case.options.durability.verify = true;
        if case.content.is_empty() {
            return;
        }
        let flip_at = Some(copying(&case) + 1);
        let (disk, words) = (case.disk(), case.words());
        let (report, problems, _) = case.run(&disk, Faults { flip_at, flips_on: true, ..Faults::default() });
        assert_eq!(report.exit_status, 26, "{words}: {problems:?}");
        assert_eq!(problems[0].class, Class::Mismatch);
        assert!(disk.content(b"target") == case.old, "{words}");
    });
}

/// No room: the old target is whole, nothing is left behind.
#[test]
fn a_full_disk_leaves_the_old_target() {
    for_each_seed(500, "a_full_disk", |seed| {
        let case = Case::random(seed);
        if case.content.is_empty() {
            return;
        }
        let (disk, words) = (case.disk(), case.words());
        let used = (case.content.len() + case.old.as_ref().map_or(0, Vec::len)) as u64;
        disk.set_capacity(used + Random::new(seed).below(case.content.len() as u64));
        let (report, problems, _) = case.run(&disk, Faults::default());
        assert_eq!((report.exit_status, problems[0].class), (1, Class::NoSpace), "{words}: {problems:?}");
        assert!(disk.content(b"target") == case.old, "{words}");
        assert!(disk.names().iter().all(|name| !name.starts_with(b".pump-")), "{words}");
    });
}

/// No room for the journal: none is left, whatever becomes of the copy.
#[test]
fn a_journal_that_finds_no_room_is_not_left() {
    for_each_seed(500, "a_journal_that_finds_no_room", |seed| {
        let mut case = Case::random(seed);
        case.options.durability.verify = false;
        let (disk, words) = (case.disk(), case.words());
        let used = (2 * case.content.len() + case.old.as_ref().map_or(0, Vec::len)) as u64;
        disk.set_capacity(used + Random::new(seed).below(600));
        let (report, problems, _) = case.run(&disk, Faults { error_at: None, ..case.faults });
        let expected = if report.exit_status == 0 { Some(case.content.clone()) } else { case.old.clone() };
        assert!(disk.content(b"target") == expected, "{words}: {problems:?}");
        assert!(problems.iter().all(|problem| problem.class == Class::NoSpace), "{words}: {problems:?}");
        assert!(disk.names().iter().all(|name| !name.starts_with(b".pump-")), "{words}");
    });
}

/// Which end is waited for follows the devices: the slower one, clearly.
#[test]
fn the_slower_device_is_waited_for() {
    for (source_mb, sink_mb) in [(10, 100), (100, 10)] {
        let mut case = Case::random(1);
        case.content = vec![7; 400 * 1024];
        case.options = Options::default().with(|it| it.tuning.request_bytes = Some(4096));
        case.source = Device { latency_ps: 0, bytes_per_s: source_mb * 1_000_000, synchronous: false };
        case.sink = Device { latency_ps: 0, bytes_per_s: sink_mb * 1_000_000, synchronous: false };
        let (report, ..) = case.run(&case.disk(), Faults::default());
        let waits = report.waits_ns;
        let (more, less) =
            if source_mb < sink_mb { (waits.source, waits.sink) } else { (waits.sink, waits.source) };
        assert!(more > 5 * less, "source {source_mb} MB/s, sink {sink_mb} MB/s: {waits:?}");
    }
}

/// S4: both depths are reached where the device is slower than the loop.
#[test]
fn a_slower_device_has_as_many_requests_as_its_depth() {
    for (source_mb, sink_mb) in [(10, 1000), (1000, 10)] {
        let mut case = Case::random(1);
        case.content = vec![7; 400 * 1024];
        let (source_depth, sink_depth) = (3, 5);
        case.options = Options::default().with(|it| {
            it.tuning.request_bytes = Some(4096);
            it.tuning.source_depth = Some(source_depth);
            it.tuning.sink_depth = Some(sink_depth);
        });
        case.source = Device { latency_ps: 0, bytes_per_s: source_mb * 1_000_000, synchronous: false };
        case.sink = Device { latency_ps: 0, bytes_per_s: sink_mb * 1_000_000, synchronous: false };
        let (.., peaks) = case.run(&case.disk(), Faults::default());
        let (got, depth) =
            if source_mb < sink_mb { (peaks.reads(), source_depth) } else { (peaks.writes(), sink_depth) };
        assert_eq!(got, depth, "source {source_mb} MB/s, sink {sink_mb} MB/s: {peaks:?}");
    }
}
