//! A large file between two hosts: a connection that is cut is ridden out, a session that ends leaves what the next one
//! goes on with, and what is told as synced was synced.

mod net_parts;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use datapump::simulation::Random;
use datapump::{BillHost, CpuStage, Event, Options, Place, Report, ServeOptions, TuningOptions, Watch};
use datapump_core::resume::{JournalMachine, ResumeLife};
use net_parts::{Served, noise};

const MIB: u64 = 1 << 20;
const BYTES: usize = 72 << 20 | 777;
/// Two lanes, four requests at the source and two at the sink.
const BOUND_BYTES: u64 = 12 * MIB;

/// Passes connections on, and cuts them all each time that so many bytes have passed.
struct Cutter {
    address: SocketAddr,
}

struct Passed {
    left: AtomicI64,
    streams: Mutex<Vec<TcpStream>>,
    stays_away: bool,
    is_away: AtomicBool,
}

impl Cutter {
    /// Cuts once after each of these counts.
    fn new(to: String, cuts: Vec<u64>) -> Cutter {
        Cutter::with(to, cuts, false)
    }

    /// The same; and one that `stays_away` hangs up on every caller after its first cut.
    fn with(to: String, cuts: Vec<u64>, stays_away: bool) -> Cutter {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (left, is_away) = (AtomicI64::new(0), AtomicBool::new(false));
        let passed = Arc::new(Passed { left, streams: Mutex::default(), stays_away, is_away });
        let cuts = Arc::new(Mutex::new(cuts));
        next(&passed, &cuts);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if passed.is_away.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(server) = TcpStream::connect(&to) else { continue };
                for (from, into) in [(&client, &server), (&server, &client)] {
                    let (from, into) =
                        (from.try_clone().expect("a handle"), into.try_clone().expect("a handle"));
                    let (passed, cuts) = (Arc::clone(&passed), Arc::clone(&cuts));
                    passed.streams.lock().expect("no panic").push(from.try_clone().expect("a handle"));
                    std::thread::spawn(move || pass(from, into, &passed, &cuts));
                }
            }
        });
        Cutter { address }
    }
}

fn next(passed: &Passed, cuts: &Mutex<Vec<u64>>) {
    let next = cuts.lock().expect("no panic").pop().map_or(i64::MAX / 2, |bytes| bytes as i64);
    passed.left.store(next, Ordering::SeqCst);
}

fn pass(mut from: TcpStream, mut into: TcpStream, passed: &Passed, cuts: &Mutex<Vec<u64>>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let before = passed.left.fetch_sub(count as i64, Ordering::SeqCst);
        if before > 0 && before <= count as i64 {
            next(passed, cuts);
            passed.is_away.store(passed.stays_away, Ordering::SeqCst);
            let both = std::net::Shutdown::Both;
            passed.streams.lock().expect("no panic").drain(..).for_each(|stream| drop(stream.shutdown(both)));
        }
        if into.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = into.shutdown(std::net::Shutdown::Both);
}

struct Ground {
    home: tempfile::TempDir,
    served: Served,
    content: Vec<u8>,
}

impl Ground {
    fn new() -> Ground {
        let home = tempfile::tempdir().expect("room");
        let content = noise(BYTES);
        for folder in ["served", "here"] {
            std::fs::create_dir(home.path().join(folder)).expect("room");
            std::fs::write(home.path().join(folder).join("source"), &content).expect("room");
        }
        let options = ServeOptions::for_place(Place::Path(home.path().join("served")));
        let served = Served::new(ServeOptions { unhashed: true, ..options });
        Ground { home, served, content }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The source here, the target there, or the other way round; and the folder of the target.
    fn places(&self, push: bool, address: &str) -> (Place, Place, PathBuf) {
        let there = |name: &str| {
            let host = datapump::Host::Served(address.into());
            Place::Remote(datapump::Remote { host, path: name.into() })
        };
        let here = |name: &str| Place::Path(self.path("here").join(name));
        if push {
            (here("source"), there("target"), self.path("served"))
        } else {
            (there("source"), here("target"), self.path("here"))
        }
    }

    fn copy(&self, push: bool, address: &str, options: Options, stop: &Arc<AtomicBool>) -> (Report, String) {
        let (source, target, _) = self.places(push, address);
        // As over a short path, however long a handshake takes here.
        let source_depth = options.tuning.source_depth.or(Some(4));
        let options = Options { tuning: TuningOptions { source_depth, ..options.tuning }, ..options };
        let (said, watch) = (Mutex::new(String::new()), Arc::new(Watch::default()));
        let copy = self.served.remote(vec![source], target).options(options).stop(Arc::clone(stop));
        let copy = copy.watch(Arc::clone(&watch)).retry_for(Duration::from_secs(30));
        let report = copy.run_reported(&|event| {
            if let Event::Problem(problem) = &event {
                said.lock().expect("no panic").push_str(&format!("{problem}\n"));
            }
            if let Event::Warning(words) = event {
                said.lock().expect("no panic").push_str(&format!("{words}\n"));
            }
        });
        // What an earlier session moved is there already, and counted once.
        let shown = watch.snapshot();
        assert!(shown.bytes + shown.bytes_present <= BYTES as u64, "push {push}: {shown:?}");
        (report, said.into_inner().expect("no panic"))
    }

    /// Stops a slow copy once it `has_come` so far; gives its exit status.
    fn cut(&self, push: bool, options: Options, has_come: &dyn Fn() -> bool) -> i32 {
        let stop = Arc::new(AtomicBool::new(false));
        let options = options.with(|it| it.tuning.bytes_per_second = Some(20_000_000));
        std::thread::scope(|scope| {
            let copy = scope.spawn(|| self.copy(push, &self.served.address, options, &stop).0.exit_status);
            while !has_come() && !copy.is_finished() {
                std::thread::sleep(Duration::from_millis(5));
            }
            stop.store(true, Ordering::SeqCst);
            copy.join().expect("no panic")
        })
    }

    fn is_whole(&self, folder: &Path, row: &str) {
        assert!(std::fs::read(folder.join("target")).expect("it is there") == self.content, "{row}");
        let entries = std::fs::read_dir(folder).expect("it is there").flatten();
        let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        assert_eq!(names.len(), 2, "{row}: {names:?}");
    }
}

#[test]
fn a_connection_that_is_cut_is_ridden_out() {
    let ground = Ground::new();
    for push in [true, false] {
        let cutter = Cutter::new(ground.served.address.clone(), vec![20 * MIB, 30 * MIB]);
        let (_, _, folder) = ground.places(push, "");
        let (report, said) =
            ground.copy(push, &cutter.address.to_string(), Options::default(), &Arc::default());
        let row = format!("push {push}: {said}");
        assert_eq!(report.exit_status, 0, "{row}");
        assert_eq!(said.matches("trying again").count(), 2, "{row}");
        ground.is_whole(&folder, &row);
        assert!(report.bytes_moved <= BYTES as u64 + 2 * BOUND_BYTES, "{row}: {} moved", report.bytes_moved);
        assert!(report.bytes_moved_twice <= 2 * BOUND_BYTES, "{row}: {} twice", report.bytes_moved_twice);
    }
}

/// What came once is counted once, however often its host was called again in vain.
#[test]
fn a_host_that_stays_away_ends_the_command() {
    let ground = Ground::new();
    for push in [true, false] {
        let cutter = Cutter::with(ground.served.address.clone(), vec![20 * MIB], true);
        let (source, target, folder) = ground.places(push, &cutter.address.to_string());
        // Slow enough to be told of its progress.
        let options = Options::default().with(|it| it.tuning.bytes_per_second = Some(20_000_000));
        let copy = ground.served.remote(vec![source], target).options(options);
        let copy = copy.retry_for(Duration::from_secs(2));
        let report = copy.run_reported(&|_| ());
        assert_eq!(report.exit_status, 10, "push {push}");
        assert!(report.bytes_moved <= 20 * MIB + BOUND_BYTES, "push {push}: {} moved", report.bytes_moved);
        assert!(!folder.join("target").exists(), "push {push}");
    }
}

/// Cuts at any moment: in a greeting, among blocks, in the last words. `DATAPUMP_KILLS=200` runs that many rounds;
/// `DATAPUMP_SEED=7` replays one.
#[test]
fn cuts_at_any_moment_are_ridden_out() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("DATAPUMP_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("DATAPUMP_KILLS").unwrap_or(6),
    };
    let ground = Ground::new();
    let (rounds, mut cuts, mut twice, mut most) = (seeds.end - seeds.start, 0, 0, 0);
    for seed in seeds {
        let mut random = Random::new(seed);
        let push = random.chance(2);
        let at = |random: &mut Random| {
            if random.chance(3) { 1 + random.below(10_000) } else { 1 + random.below(40 * MIB) }
        };
        let moments: Vec<u64> = (0..=random.below(3)).map(|_| at(&mut random)).collect();
        let row = format!("DATAPUMP_SEED={seed} push {push}, cut after {moments:?}");
        let cutter = Cutter::new(ground.served.address.clone(), moments.clone());
        let (_, _, folder) = ground.places(push, "");
        let (report, said) =
            ground.copy(push, &cutter.address.to_string(), Options::default(), &Arc::default());
        assert_eq!(report.exit_status, 0, "{row}: {said}");
        ground.is_whole(&folder, &row);
        let bound = moments.len() as u64 * BOUND_BYTES;
        assert!(report.bytes_moved <= BYTES as u64 + bound, "{row}: {} moved", report.bytes_moved);
        assert!(report.bytes_moved_twice <= bound, "{row}: {} twice", report.bytes_moved_twice);
        (cuts, twice) = (cuts + moments.len(), twice + report.bytes_moved_twice);
        most = most.max(report.bytes_moved_twice);
        std::fs::remove_file(folder.join("target")).expect("it is ours");
    }
    eprintln!("cuts: {rounds} rounds, {cuts} cuts, {twice} bytes moved twice, at most {most} in a round");
}

/// The files of the tree that is cut, and how long each is.
const TREE_FILES: usize = 3000;
const TREE_FILE_BYTES: usize = 8 << 10;

impl Ground {
    /// A tree here or there; its name.
    fn make_tree(&self, push: bool) -> String {
        let name = format!("tree {push}");
        let root = self.path(if push { "here" } else { "served" }).join(&name);
        std::fs::create_dir(&root).expect("room");
        for number in 0..TREE_FILES {
            let content = &self.content[number..number + TREE_FILE_BYTES];
            std::fs::write(root.join(format!("{number}")), content).expect("room");
        }
        name
    }

    /// Copies a tree over an address; the report, and how often the copy had to try again.
    fn copy_tree(&self, push: bool, address: &str, name: &str, target: &str) -> (Report, i64) {
        let here = |name: &str| Place::Path(self.path("here").join(name));
        let there = |path: &str| {
            let host = datapump::Host::Served(address.into());
            Place::Remote(datapump::Remote { host, path: path.into() })
        };
        let (source, target) = if push { (here(name), there(target)) } else { (there(name), here(target)) };
        let options = Options::default().with(|it| {
            it.place.target_is_name = true;
            it.reporting.bill = true;
        });
        let copy = self.served.remote(vec![source], target).options(options);
        let copy = copy.retry_for(Duration::from_secs(30));
        let tried = AtomicI64::new(0);
        let report = copy.run_reported(&|event| {
            // The other host may not have given up the session that was lost: that is another try, of no other loss.
            let is_lost =
                |words: &str| words.contains("trying again") && !words.contains("may still have it");
            let again = matches!(&event, Event::Warning(words) if is_lost(words));
            tried.fetch_add(i64::from(again), Ordering::Relaxed);
        });
        (report, tried.into_inner())
    }
}

/// Each file is counted once, whichever session completed it; what was done and paid for is summed.
#[test]
fn a_report_is_of_all_sessions() {
    let (ground, whole) = (Ground::new(), (TREE_FILES * TREE_FILE_BYTES) as u64);
    for push in [true, false] {
        let name = ground.make_tree(push);
        for (target, stands) in [("new", false), ("stood", true)] {
            let target = format!("{target} {push}");
            let folder = ground.path(if push { "served" } else { "here" }).join(&target);
            if stands {
                std::fs::create_dir(&folder).expect("room");
            }
            let cutter = Cutter::new(ground.served.address.clone(), vec![5 * MIB, 10 * MIB]);
            let (report, tried) = ground.copy_tree(push, &cutter.address.to_string(), &name, &target);
            let row = format!("push {push}, stands {stands}: {report:?}");
            assert_eq!((report.exit_status, tried), (0, 2), "{row}");
            assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), TREE_FILES, "{row}");
            assert_eq!((report.files, report.bytes), (TREE_FILES as u64, whole), "{row}");
            assert_eq!((report.files_before, report.bytes_before), (0, 0), "{row}");
            let done = [report.first_done_ns, report.last_done_ns, report.synced_ns.expect("it syncs")];
            assert!(done.iter().all(|&ns| ns <= report.elapsed_ns), "{row}");
            // What another side moved that cannot tell any more is known by its progress, its requests are not.
            assert!(push || (report.bytes_moved >= whole && report.requests >= TREE_FILES as u64), "{row}");
            assert!(
                report.cpu.user_ns > 0
                    && report.cpu_remote.is_some_and(|remote_host| remote_host.user_ns > 0),
                "{row}"
            );
            is_billed(&report, &row);
        }
    }
}

/// What each session meets anew is told once, and counted once.
#[test]
fn a_problem_is_told_once_by_all_sessions() {
    let ground = Ground::new();
    for push in [true, false] {
        let (name, target) = (ground.make_tree(push), format!("stood {push}"));
        let (from, to) = if push { ("here", "served") } else { ("served", "here") };
        std::fs::write(ground.path(from).join(&name).join("blocked"), "a file").expect("room");
        let folder = ground.path(to).join(&target);
        std::fs::create_dir_all(folder.join("blocked/by a folder")).expect("room");
        let cutter = Cutter::new(ground.served.address.clone(), vec![5 * MIB, 10 * MIB]);
        let host = datapump::Host::Served(cutter.address.to_string());
        let there = |path: &str| Place::Remote(datapump::Remote { host: host.clone(), path: path.into() });
        let here = |path: &str| Place::Path(ground.path("here").join(path));
        let (source, target) =
            if push { (here(&name), there(&target)) } else { (there(&name), here(&target)) };
        let options = Options::default().with(|it| it.place.target_is_name = true);
        let copy = ground.served.remote(vec![source], target).options(options);
        let copy = copy.retry_for(Duration::from_secs(30));
        let told = Mutex::new(Vec::new());
        let report = copy.run_reported(&|event| {
            if let Event::Problem(problem) = event {
                told.lock().expect("no panic").push(problem.to_string());
            }
        });
        let (told, row) = (told.into_inner().expect("no panic"), format!("push {push}: {report:?}"));
        assert!(told.len() == 1 && told[0].contains("blocked"), "{row}: {told:?}");
        assert_eq!(report.problems.values().sum::<u64>(), 1, "{row}");
        assert!(![0, 10].contains(&report.exit_status), "{row}");
        assert_eq!(report.files + report.files_before, TREE_FILES as u64, "{row}");
    }
}

/// Both hosts are billed, for all that the report says they took.
fn is_billed(report: &Report, row: &str) {
    let bill = report.bill.as_ref().expect("it was asked for");
    let hosts = [BillHost::Sender, BillHost::Receiver];
    assert!(hosts.iter().all(|host| bill.stages.iter().any(|it| it.host == *host)), "{row}");
    assert!(bill.stages.iter().all(|it| it.host != BillHost::Local), "{row}");
    let kernel = bill.stages.iter().filter(|it| it.stage == CpuStage::KernelThreads);
    let processes_s = bill.cpu_seconds_total - kernel.map(|it| it.cpu_seconds).sum::<f64>();
    let remote_host = report.cpu_remote.unwrap_or_default();
    let reported_ns = [report.cpu, remote_host].map(|cpu| cpu.total_ns()).iter().sum::<u64>();
    let apart_s = processes_s - reported_ns as f64 / 1e9;
    assert!(
        apart_s.abs() < 20e-6 || (apart_s > 0.0 && bill.measured_by.contains("lags")),
        "{apart_s}: {row}"
    );
}

/// What a pipe took stays there: a second session would put the same bytes behind them.
#[test]
fn a_pipe_is_written_to_once() {
    let ground = Ground::new();
    let pipe = ground.path("here").join("target");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("room");
    let cutter = Cutter::new(ground.served.address.clone(), vec![20 * MIB]);
    let reader = std::thread::spawn(move || std::fs::read(pipe).expect("somebody writes"));
    let (report, said) = ground.copy(false, &cutter.address.to_string(), Options::default(), &Arc::default());
    let came = reader.join().expect("no panic");
    assert_eq!(report.exit_status, 10, "{said}");
    assert!(!said.contains("trying again"), "{said}");
    assert!(came.len() < BYTES && ground.content.starts_with(&came), "{} bytes", came.len());
}

/// The journal that stands in a folder, as bytes.
fn journal(folder: &Path) -> Option<Vec<u8>> {
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let path = entries.into_iter().find(|path| path.extension().is_some_and(|it| it == "journal"))?;
    std::fs::read(path).ok()
}

/// What was synced is all that counts in another life.
fn synced(bytes: &[u8]) -> u64 {
    let other = ResumeLife { boot: [1; 16], mount: 1, is_unsynced: false };
    JournalMachine::read(bytes, other).map_or(0, |journal| journal.written().total())
}

#[test]
fn what_a_session_leaves_the_next_one_goes_on_with() {
    let ground = Ground::new();
    for push in [true, false] {
        let (_, _, folder) = ground.places(push, "");
        let so_far = || journal(&folder).map_or(0, |bytes| synced(&bytes));
        assert_eq!(ground.cut(push, Options::default(), &|| so_far() > 0), 20, "push {push}");
        let synced = so_far();
        assert!(synced >= MIB && synced < BYTES as u64, "push {push}: {synced} synced");
        let (report, said) = ground.copy(push, &ground.served.address, Options::default(), &Arc::default());
        assert_eq!((report.exit_status, &said[..]), (0, ""), "push {push}");
        ground.is_whole(&folder, "the second");
        assert!(report.bytes_resumed >= synced, "push {push}: {} of {synced}", report.bytes_resumed);
        assert_eq!(report.bytes_moved + report.bytes_resumed, BYTES as u64, "push {push}");
        assert!(report.bytes_moved_twice <= BOUND_BYTES, "push {push}");
    }
}

/// A later run that hashes must not take over what came unhashed, nor the other way round.
#[test]
fn what_comes_unhashed_is_not_gone_on_with() {
    let ground = Ground::new();
    for push in [true, false] {
        let (_, _, folder) = ground.places(push, "");
        let is_told = || journal(&folder).is_some_and(|bytes| synced(&bytes) > 0);
        assert_eq!(ground.cut(push, Options::default(), &is_told), 20, "push {push}");
        assert!(is_told(), "push {push}");
        let unhashed = Options::default().with(|it| it.network.unhashed = true);
        let is_another = || journal(&folder).is_none() && has_begun(&ground, &folder);
        assert_eq!(ground.cut(push, unhashed, &is_another), 20, "push {push}, unhashed");
        // A stopped copy does not wait for a slow host.
        let names = || std::fs::read_dir(&folder).expect("it is there").flatten().collect::<Vec<_>>();
        let start = Instant::now();
        while names().len() > 1 {
            assert!(start.elapsed().as_secs() < 60, "push {push}: {:?}", names());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The first block is in the temporary file.
fn has_begun(ground: &Ground, folder: &Path) -> bool {
    let names = std::fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path());
    let is_temporary = |path: &PathBuf| path.file_name().is_some_and(is_temporary_name);
    let Some(path) = names.into_iter().find(is_temporary) else { return false };
    let mut first = [0; 4096];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == ground.content[..4096]
}

fn is_temporary_name(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with(".pump-") && !name.ends_with(".journal")
}
