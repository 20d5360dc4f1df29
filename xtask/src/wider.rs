//! The suites that need more than Rust and a C compiler, or more than seconds.
//!
//! Must not know: what the tests test; it knows their names and the variables that say how long.

use std::fs::{self, File};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::before;
use crate::install;
use crate::package::target_folder;
use crate::steps::{Step, Steps, succeeds};

/// What the wider tests use.
const PACKAGES: &[&str] = &[
    "rsync",
    "fio",
    "mbuffer",
    "b3sum",
    "fuse3",
    "bindfs",
    "sshfs",
    "ntfs-3g",
    "btrfs-progs",
    "xfsprogs",
    "e2fsprogs",
    "acl",
    "libcap2-bin",
    "attr",
    "strace",
    "openssh-client",
    "openssh-server",
    "python3",
    "python3-jsonschema",
    "iproute2",
    "tshark",
    "netcat-openbsd",
    "chromium",
];

/// Tests that run at once on two cores: most of them wait. Of those that measure what the machine does, fewer.
const THREADS: u32 = 4;
const MEASURING_THREADS: u32 = 2;

/// A quarter of a minute to a whole one each: they measure, wait until somebody loses patience, or go through many ways
/// that the ordinary tests have in part.
const LONG: &[&str] = &[
    "measuring::pid::",
    "measuring::soaker::",
    "hosts::network::a_cable_that_stays_cut",
    "hosts::network::a_client_that_stays_frozen",
    "hosts::network::a_peer_that_is_frozen",
    "hosts::network::a_server_that_stays_frozen",
    "hosts::limits::equal_clients",
    "hosts::limits::a_deep_tree",
    "hosts::limits::many_clients",
    "hosts::distance::memory_stays",
    "hosts::doctor::a_peer_that_disappears_in_the_middle",
    "hosts::doctor::a_slow_path",
    "lab::advice::the_flag_of_each_row",
    "disks::file_systems::every_engine",
    "disks::file_systems::holes_take",
    "disks::file_systems::holes_are_zeros",
    "beside_rsync::trees::lanes_and_ways",
    "beside_rsync::trees::verify_names_whatever",
    "beside_rsync::trees::everything_an_ordinary_user",
    "hosts::network::a_connection_that_the_path_forgets",
    "paths::long_path::a_server_with_little_memory",
    "lab::studies::the_other_end_may_be_a_real_host",
    "lab::studies::s63_",
    "lab::studies::s66_",
    "kills::hosts::killed_again_and_again",
    "kills::trees::killed_again_and_again",
    "disks::lists::a_copy_of_a_folder_above_or_below",
    "disks::lists::a_run_of_fewer_names",
    "paths::long_path::where_buffers_bound",
    "paths::long_path::a_copy_over_a_path_that_loses",
    "disks::trees_bad_luck::two_pumps",
    "kills::mirrors::",
    "disks::names_on_disk::many_names",
    "disks::names_on_disk::names_that_fit_neither",
    "lab::studies::every_study",
    "ssh::copies::a_small_file_is_there_soon",
    "ssh::start_files::a_password_is_waited_for_longer",
    "ssh::start_files::a_start_file_that_reads",
    "hosts::limits::a_client_that_is_stuck",
    "hosts::limits::a_thousand_connections",
];

/// Systems for which `core` and `engine` are checked, not run.
const TARGETS: [&str; 2] = ["x86_64-pc-windows-gnu", "aarch64-apple-darwin"];

/// How long a run of the suites is.
struct Extent {
    seeds: u32,
    kills: u32,
    /// Trees that are copied beside rsync.
    trees: u32,
    /// Sessions whose connections are spoiled.
    sessions: u32,
    /// Mirrors of a tree that lives, in each of six ways.
    mirrors: u32,
    /// Trees whose names are selected beside rsync.
    filters: u32,
    /// Of the truth tests, in each of which every part is throttled once.
    rounds: u32,
    fuzz_seconds: u32,
    /// What the fuzz targets are compiled with besides: the address sanitizer doubles what is to be compiled.
    sanitizer: &'static str,
    /// Of tests whose cases take many seconds each, one case in so many.
    one_case_in: u32,
    /// Tests and suites that are too long for every change, by the beginnings of their names.
    left_out: &'static [&'static str],
    /// Whether the program is tested as it is released, which takes six minutes of two cores to build.
    release: bool,
}

// Short: for every change, which has half an hour for all on two cores. Full: what a release needs.
const SHORT: Extent = Extent {
    seeds: 20_000,
    kills: 6,
    trees: 20,
    sessions: 20,
    mirrors: 6,
    filters: 3,
    rounds: 1,
    fuzz_seconds: 10,
    sanitizer: "none",
    one_case_in: 10,
    left_out: LONG,
    release: false,
};
const FULL: Extent = Extent {
    seeds: 1_000_000,
    kills: 200,
    trees: 1000,
    sessions: 1000,
    mirrors: 200,
    filters: 50,
    rounds: 20,
    fuzz_seconds: 600,
    sanitizer: "address",
    one_case_in: 1,
    left_out: &[],
    release: true,
};

/// Runs the suites; the first that fails ends the run.
pub fn run(root: &Path, full: bool) -> Result<()> {
    let extent = if full { FULL } else { SHORT };
    let record = if full { Some(record(root)?) } else { None };
    let mut steps = Steps::new(root, record);
    let outcome = suites(&mut steps, root, &extent);
    steps.close()?;
    if let Err(error) = &outcome {
        steps.say(&format!("== FAILED: {error:#}"))?;
    }
    outcome
}

/// Builds the fuzz targets, which takes ten minutes of a processor: for whoever has other things to wait for meanwhile.
pub fn build_fuzz_targets(root: &Path) -> Result<()> {
    let mut steps = Steps::new(root, None);
    if install::fuzzer(&mut steps)? {
        steps.run(&build_of_fuzz_targets(&SHORT))?;
    }
    steps.close()
}

fn build_of_fuzz_targets(Extent { sanitizer, .. }: &Extent) -> Step {
    let line = format!("nice -n 19 cargo +nightly fuzz build --sanitizer {sanitizer}");
    Step::new("build of the fuzz targets", &line)
}

fn suites(steps: &mut Steps, root: &Path, extent: &Extent) -> Result<()> {
    install::packages(steps, PACKAGES)?;
    for target in TARGETS {
        if install::target(steps, target)? {
            let line = format!("cargo check -p datapump-core -p datapump-engine --target {target}");
            steps.run(&Step::new(&format!("check {target}"), &line))?;
        }
    }
    say_left_out(steps, extent)?;
    steps.run(&Step::new("the program", &format!("cargo build{}", extent.profile())))?;
    stacks(steps, extent)?;
    let fuzzes = install::fuzzer(steps)?;
    wider(steps, root, extent, fuzzes)?;
    long(steps, extent)?;
    let variables = of_extent(extent);
    let line = format!("RUST_TEST_THREADS={THREADS} {variables} cargo test --no-fail-fast -p fuse-tests");
    steps.run(&of_the_program("tests with a file system of their own", &line, (root, extent)))?;
    if fuzzes {
        fuzz(steps, extent)?;
    }
    if extent.release {
        packages(steps, root)
    } else {
        steps.say("== left to --full: the packages of a release")
    }
}

/// What a release consists of is built, installed, used and removed.
fn packages(steps: &mut Steps, root: &Path) -> Result<()> {
    steps.run(&Step::new("packages", "cargo xtask package"))?;
    crate::package::try_package(steps, root)
}

impl Extent {
    /// As cargo's word.
    fn profile(&self) -> &'static str {
        if self.release { " --release" } else { "" }
    }
}

/// The variables by which the tests know how long they may take.
fn of_extent(
    Extent { kills, trees, sessions, mirrors, filters, rounds, one_case_in, .. }: &Extent,
) -> String {
    let mut line = format!("DATAPUMP_KILLS={kills} DATAPUMP_TREES={trees} DATAPUMP_FILTERS={filters}");
    line += &format!(" DATAPUMP_SESSIONS={sessions} DATAPUMP_MIRRORS={mirrors} DATAPUMP_ROUNDS={rounds}");
    if *one_case_in > 1 {
        line += &format!(" DATAPUMP_ONE_CASE_IN={one_case_in}");
    }
    line
}

/// Tests of the program that was built.
fn of_the_program(name: &str, line: &str, (root, extent): (&Path, &Extent)) -> Step {
    let folder = if extent.release { "release" } else { "debug" };
    let pump = target_folder(root).join(folder).join("pump").display().to_string();
    let mut step = Step::new(name, line);
    step.environment.push(("DATAPUMP_TESTED_PUMP".into(), pump));
    step
}

/// What a short run does not do.
fn say_left_out(steps: &mut Steps, extent: &Extent) -> Result<()> {
    let Extent { one_case_in, left_out, .. } = extent;
    if *one_case_in > 1 {
        steps.say(&format!(
            "== left to --full: all but one case in {one_case_in} of what explain says, and of the cut cable; half of \
             the entries of trees"
        ))?;
    }
    if extent.sanitizer == "none" {
        steps.say("== left to --full: the address sanitizer in the fuzz targets, which takes five minutes to compile")?;
    }
    let counts = |extent: &Extent| {
        let Extent { seeds, kills, trees, sessions, mirrors, filters, fuzz_seconds, .. } = extent;
        [*seeds, *kills, *trees, *sessions, *mirrors, *filters, *fuzz_seconds]
    };
    let names =
        ["simulated copies", "kills", "trees", "sessions", "mirrors", "filters", "seconds a fuzz target"];
    let fewer = names.iter().zip(counts(extent)).zip(counts(&FULL)).filter(|((_, here), full)| here < full);
    let fewer: Vec<String> = fewer.map(|((name, here), full)| format!("{here} of {full} {name}")).collect();
    if !fewer.is_empty() {
        steps.say(&format!("== fewer than with --full: {}", fewer.join(", ")))?;
    }
    if !left_out.is_empty() {
        let left = left_out.join(", ");
        steps.say(&format!(
            "== left to --full: {left}; all tests of the program as it is released, and the ordinary ones once more"
        ))?;
    }
    Ok(())
}

/// Builds pump-stacks where that can be done: no other suite needs what it takes, so that it is not installed here.
fn stacks(steps: &mut Steps, extent: &Extent) -> Result<()> {
    let line = format!("cargo build{} -p pump-stacks --features bpf-cc", extent.profile());
    if succeeds("clang --version") && succeeds("ls /usr/include/bpf/bpf_helpers.h /usr/include/libelf.h") {
        steps.run(&Step::new("pump-stacks", &line))
    } else {
        steps.cannot("pump-stacks", "install clang, libbpf-dev, libelf-dev, zlib1g-dev, pkg-config, make")
    }
}

/// The tests that `cargo test` does not run. In what they leave of the processors the fuzz targets are built.
///
/// Packages are not named: a choice of them would be a choice of features, and a second build of what `cargo test` has
/// built. The tests themselves are not of the release: to link them so takes minutes, and it is the program that works.
fn wider(steps: &mut Steps, root: &Path, extent: &Extent, fuzzes: bool) -> Result<()> {
    let variables = of_extent(extent);
    let test = format!("{variables} cargo test --no-fail-fast --test wider");
    steps.run(&Step::new("build of the wider tests", "cargo test --no-run --test wider"))?;
    let skipped: String = extent.left_out.iter().map(|name| format!(" --skip {name}")).collect();
    let line = format!("RUST_TEST_THREADS={THREADS} {test} -- --skip measuring::{skipped}");
    let mut together = vec![of_the_program("wider tests", &line, (root, extent))];
    let before = before::program(steps, &target_folder(root), extent.release)?;
    let variable = before.map(|path| (before::VARIABLE.to_owned(), path.display().to_string()));
    together[0].environment.extend(variable);
    if fuzzes {
        together.push(build_of_fuzz_targets(extent));
    }
    steps.run_together(&together)?;
    let line = format!("RUST_TEST_THREADS={MEASURING_THREADS} {test} -- measuring::{skipped}");
    steps.run(&of_the_program("wider tests that measure", &line, (root, extent)))
}

/// The long form of tests that `cargo test` runs in their short one.
fn long(steps: &mut Steps, extent: &Extent) -> Result<()> {
    let seeds = extent.seeds;
    let variables = format!("DATAPUMP_SEEDS={seeds} RUST_TEST_THREADS={MEASURING_THREADS}");
    let test = format!("cargo test{} --no-fail-fast", extent.profile());
    if extent.release {
        let line = format!("{variables} {} {test}", of_extent(extent));
        return steps.run(&Step::new("the ordinary tests, with optimisation", &line));
    }
    steps.run(&Step::new("simulated copies", &format!("{variables} {test} --test simulation")))
}

/// Runs the fuzz targets that were built.
fn fuzz(steps: &mut Steps, Extent { fuzz_seconds, sanitizer, .. }: &Extent) -> Result<()> {
    let targets = install::fuzz_targets();
    anyhow::ensure!(!targets.is_empty(), "fuzz/ has no targets");
    // A thread that has done its work is not gone yet when its memory would be counted: that is no leak.
    let limits = format!("-max_total_time={fuzz_seconds} -detect_leaks=0");
    let line =
        |target: &String| format!("cargo +nightly fuzz run --sanitizer {sanitizer} {target} -- {limits}");
    let all: Vec<Step> =
        targets.iter().map(|target| Step::new(&format!("fuzz {target}"), &line(target))).collect();
    // Each is one thread, and all have their seconds by the clock.
    all.chunks(3).try_for_each(|two| steps.run_together(two))
}

/// The file that keeps the output of a full run.
fn record(root: &Path) -> Result<File> {
    let folder = root.join("bench/soak");
    let days = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 86_400;
    let path = folder.join(format!("{}.txt", date(days)));
    fs::create_dir_all(&folder).and_then(|()| File::create(&path)).with_context(|| path.display().to_string())
}

/// The date of a day, counted from 1970-01-01.
fn date(mut days: u64) -> String {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_right() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (58, "1970-02-28"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_453, "2025-12-31"),
        ] {
            assert_eq!(date(days), expected, "day {days}");
        }
    }
}
