//! Studies that are run for real, small: commands and jobs, rows, going on, failures, the small form.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use datapump_lab::row::{Row, read_rows};
use datapump_lab::{RunArguments, Summary, list, run, show, view};

const COPIES: &str = r#"
name = "tiny"
title = "true and cp on a small file"
repeats = 3
prepare = [
  { step = "make_source", size = "{size}" }, { step = "new_target" }, { step = "cold_source" },
]
check = ["same_content"]
baselines = [{ command = "cp" }]
[factors]
size = ["10000B", "64KiB"]
[command.levels]
cp = "cp {source} {target}"
cat = "cat {source} > {target}"
true = "true"
[[exception]]
where = { command = ["true"] }
check = []
"#;

const JOBS: &str = r#"
name = "jobs"
title = "null to null"
repeats = 2
[factors]
request_size = ["4KiB", "64KiB"]
engine = ["inline"]
[job]
source = "null:1MiB"
target = "null:"
request_size = "{request_size}"
engine = "{engine}"
depth = 2
"#;

const TREES: &str = r#"
name = "trees"
title = "copies of a small tree"
repeats = 3
check = ["same_tree"]
[[prepare]]
step = "make_tree"
files = "{files}"
smallest = "1B"
largest = "9KiB"
per_folder = 7
large_files = 1
large_size = "2MiB"
[[prepare]]
step = "new_target"
[[prepare]]
step = "warm_source"
[factors]
files = [20, 50]
[command.levels]
cp = "cp -a {source} {target}"
tar = "mkdir {target} && tar -C {source} -cf - . | tar -C {target} -xpf -"
[[exception]]
where = { command = ["tar"] }
check = ["same_content"]
"#;

/// A step before the run made what is compared.
const AGAIN: &str = r#"
name = "again"
title = "a second run with nothing to do"
repeats = 1
prepare = [
  { step = "make_tree", files = 20, smallest = "1B", largest = "9KiB" },
  { step = "new_target" },
  { step = "run", command = "cp -a {source} {target}" },
  { step = "warm_source" },
  { step = "warm_target" },
]
check = ["nothing_written", "same_tree"]
[factors]
[command.levels]
look = "find {source} {target} -newer {target} -size +1G"
touch = "chmod 600 {target}/f0000003"
"#;

/// A folder with a study's file, and where its rows go.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new(study: &str) -> Bench {
        let bench = Bench { folder: tempfile::tempdir().expect("a folder") };
        std::fs::write(bench.path("study.toml"), study).expect("room");
        std::fs::create_dir(bench.path("files")).expect("room");
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn arguments(&self) -> RunArguments {
        RunArguments {
            study: self.path("study.toml").to_string_lossy().into_owned(),
            folder: Some(self.path("files")),
            out: Some(self.path("rows.jsonl")),
            ..RunArguments::default()
        }
    }

    fn run(&self) -> Summary {
        run(self.arguments()).expect("the study runs")
    }

    fn rows(&self) -> Vec<Row> {
        read_rows(&self.path("rows.jsonl")).expect("rows")
    }

    fn left_behind(&self) -> Vec<PathBuf> {
        files_in(&self.path("files"))
    }
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path()).collect()
}

fn level(row: &Row, factor: &str) -> String {
    row.asked[factor].to_string()
}

#[test]
fn a_study_of_commands_gives_a_row_for_each_run_and_clears_up() {
    let bench = Bench::new(COPIES);
    let summary = bench.run();
    let rows = bench.rows();
    assert_eq!((rows.len(), summary.failed_runs()), (18, 0), "{summary}");
    assert!(bench.left_behind().is_empty(), "{:?}", bench.left_behind());
    let orders: BTreeSet<u64> = rows.iter().map(|row| row.order).collect();
    assert_eq!(orders, (0..18).collect());
    for round in rows.chunks(6) {
        let cells: BTreeSet<_> = round.iter().map(|row| row.asked.clone()).collect();
        assert_eq!(cells.len(), 6, "every round visits every cell once");
    }
    for row in &rows {
        let bytes = if level(row, "size") == "64KiB" { 65_536 } else { 10_000 };
        let facts = (row.v, row.bytes, row.cache_state.as_str(), row.outcome.as_str(), row.requests);
        assert_eq!(facts, (2, bytes, "cold", "completed", None));
        assert!(row.elapsed_ns > 0 && row.user_ns.is_some() && row.machine_cpu_ns.is_some(), "{row:?}");
        assert!(row.cpus > 0 && !row.kernel.is_empty() && row.time.ends_with('Z'), "{row:?}");
        assert!(level(row, "command") != "cp" || row.command.starts_with("cp /"), "{}", row.command);
    }
    let targets: BTreeSet<&str> =
        rows.iter().filter_map(|row| row.command.split(' ').find(|word| word.contains("target"))).collect();
    assert_eq!(targets.len(), 12, "no target has the name of another");
    assert_eq!(
        view(&[bench.path("rows.jsonl")], false).expect("rows"),
        summary,
        "the rows alone give the summary"
    );
}

#[test]
fn a_study_of_jobs_takes_its_figures_from_the_reports() {
    let bench = Bench::new(JOBS);
    let summary = bench.run();
    let rows = bench.rows();
    assert_eq!((rows.len(), summary.failed_runs()), (4, 0), "{summary}");
    for row in rows {
        let (size, requests) = if level(&row, "request_size") == "4KiB" { (4096, 256) } else { (65_536, 16) };
        assert_eq!((row.bytes, row.requests, row.cache_state.as_str()), (1 << 20, Some(requests), "none"));
        assert_eq!(
            (&row.achieved["request_size"], &row.achieved["engine"]),
            (&size.into(), &"inline".into())
        );
        assert!(row.waits_ns.is_some_and(|waits| waits.contains_key("source")));
        assert!(row.cpu_us_per_request.is_some() && row.last_done_ns.is_some());
        assert!(row.command.starts_with("pump copy --depth=2 --request-size="), "{}", row.command);
    }
    assert!(summary.to_string().contains("time for a request"), "{summary}");
}

#[test]
fn a_study_of_trees_gives_rows_and_clears_up() {
    let bench = Bench::new(TREES);
    let summary = bench.run();
    let rows = bench.rows();
    assert_eq!((rows.len(), summary.failed_runs()), (12, 0), "{summary}");
    let bytes = |files: &str| {
        let own = rows.iter().filter(|row| level(row, "files") == files);
        own.map(|row| row.bytes).collect::<BTreeSet<u64>>()
    };
    let (few, many) = (bytes("20"), bytes("50"));
    assert!(few.len() == 1 && many.len() == 1 && few < many && few > BTreeSet::from([2 << 20]), "{few:?}");
    assert!(rows.iter().all(|row| row.cache_state == "warm" && row.max_rss_bytes > Some(0)));
    assert!(bench.left_behind().is_empty(), "{:?}", bench.left_behind());
}

/// Devices of a stripe once filled a disk of memory, because trees are deleted forty at a time.
#[test]
fn a_folder_that_is_no_copy_of_a_tree_goes_before_the_next_run() {
    let study = r#"
name = "folders"
title = "a folder with a file in it"
repeats = 3
warmup = 0
prepare = [{ step = "new_target" }]
[factors]
files = [1]
[command.levels]
alone = "mkdir {target} && echo much > {target}/file && test $(ls $(dirname {target}) | wc -l) = 1"
"#;
    let bench = Bench::new(study);
    bench.run();
    let outcomes: Vec<String> = bench.rows().into_iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes, ["completed"; 3]);
}

#[test]
fn copies_of_trees_that_are_not_the_same_are_failed_runs() {
    for (line, outcome, message) in [
        ("cp -r {source} {target}", "mismatch", "the time of modification differs"),
        ("mkdir {target}", "mismatch", ".: the time of modification differs"),
        ("mkdir {target} && touch -r {source} {target}", "missing", "No such file or directory"),
        ("true", "missing", "No such file or directory"),
        ("cp -a {source} {target} && touch {target}/more", "mismatch", "time of modification differs"),
    ] {
        let bench =
            Bench::new(&TREES.replace("cp -a {source} {target}", line).replace("repeats = 3", "repeats = 1"));
        bench.run();
        let rows = bench.rows();
        let row = rows.iter().find(|row| level(row, "command") == "cp").expect("a row");
        let words = row.message.as_deref().unwrap_or_default();
        assert!(row.outcome == outcome && words.contains(message), "{line}: {}: {words}", row.outcome);
        assert!(bench.left_behind().is_empty(), "{line}: {:?}", bench.left_behind());
    }
}

#[test]
fn a_second_run_that_writes_is_a_failed_run() {
    let bench = Bench::new(AGAIN);
    bench.run();
    for row in bench.rows() {
        let expected = match level(&row, "command").as_str() {
            "touch" => ("changed", Some("f0000003: it was written, and there was nothing to do")),
            _ => ("completed", None),
        };
        assert_eq!((row.outcome.as_str(), row.message.as_deref()), expected, "{}", row.command);
    }
    let bench = Bench::new(&AGAIN.replace("\"cp -a {source} {target}\"", "\"echo no luck >&2; exit 3\""));
    let error = run(bench.arguments()).expect_err("nothing was prepared").to_string();
    assert_eq!(error, "the step run, echo no luck >&2; exit 3: exit status: 3: no luck");
    assert!(bench.left_behind().is_empty(), "{:?}", bench.left_behind());
}

#[test]
fn a_tree_that_is_there_is_used_and_stays() {
    let bench = Bench::new("");
    let tree = bench.path("tree");
    std::fs::create_dir_all(tree.join("a/b")).expect("room");
    std::fs::write(tree.join("a/b/file"), [1; 5000]).expect("room");
    let begin = TREES.find("step = \"make_tree\"").expect("a step");
    let end = TREES.find("[[prepare]]\nstep = \"new_target\"").expect("a step");
    let used = |path: &Path| {
        let step = format!("step = \"use_tree\"\npath = \"{}\"\n", path.display());
        let study = TREES.replace(&TREES[begin..end], &step);
        std::fs::write(bench.path("study.toml"), study).expect("room");
        run(bench.arguments())
    };
    assert_eq!(used(&tree).expect("the study runs").failed_runs(), 0);
    assert!(bench.rows().iter().all(|row| row.bytes == 5000));
    assert_eq!((files_in(&tree).len(), bench.left_behind().len()), (1, 0));
    for (path, hint) in [(tree.join("no"), "/no"), (bench.path("files"), "in which the study's own")] {
        let error = format!("{:#}", used(&path).expect_err("refused"));
        assert!(error.contains(hint), "{error}");
    }
}

#[test]
fn a_stopped_study_goes_on_where_it_was() {
    let bench = Bench::new(COPIES);
    bench.run();
    let whole = bench.rows();
    // As if it had been killed while it wrote the ninth row.
    let text = std::fs::read_to_string(bench.path("rows.jsonl")).expect("rows");
    let cut: usize = text.lines().take(8).map(|line| line.len() + 1).sum();
    std::fs::write(bench.path("rows.jsonl"), &text[..cut + 100]).expect("room");
    bench.run();
    let rows = bench.rows();
    assert_eq!(rows[..8], whole[..8], "rows that were there stay");
    let place = |row: &Row| (row.asked.clone(), row.repeat, row.order);
    assert_eq!(rows.iter().map(place).collect::<Vec<_>>(), whole.iter().map(place).collect::<Vec<_>>());
    bench.run();
    assert_eq!(bench.rows(), rows, "nothing is left to do");
    let more = RunArguments { repeats: Some(4), ..bench.arguments() };
    run(more).expect("the study runs");
    assert_eq!(bench.rows().len(), 24, "one more round");
    let other = RunArguments { seed: Some(5), repeats: Some(1), ..bench.arguments() };
    run(other).expect("the study runs");
    assert_eq!(bench.rows().len(), 30, "another seed is another run");
}

#[test]
fn failed_runs_are_rows_with_their_class_and_message() {
    let study = COPIES
        .replace("true = \"true\"", "true = \"echo no luck >&2; exit 3\"")
        .replace("cat = \"cat {source} > {target}\"", "cat = \"head -c 5000 {source} > {target}\"");
    let bench = Bench::new(&study);
    let summary = bench.run();
    assert_eq!(summary.failed_runs(), 12, "{summary}");
    for row in bench.rows() {
        let expected = match level(&row, "command").as_str() {
            "true" => ("io", Some("exit status: 3: no luck")),
            "cat" => ("mismatch", Some("the target differs from the source at byte 5000")),
            _ => ("completed", None),
        };
        assert_eq!((row.outcome.as_str(), row.message.as_deref()), expected, "{}", row.command);
    }
    let text = summary.to_string();
    assert!(text.contains("note: true 64KiB: failed runs: 3 io (exit status: 3: no luck)"), "{text}");
    assert!(bench.left_behind().is_empty(), "{:?}", bench.left_behind());
}

#[test]
fn full_disks_and_missing_files_are_told() {
    let full = JOBS.replace("target = \"null:\"", "target = \"/dev/full\"");
    let missing = JOBS.replace("source = \"null:1MiB\"", "source = \"/no/such/file\"");
    for (study, outcome, hint) in
        [(full, "no_space", "No space left on device"), (missing, "missing", "No such file or directory")]
    {
        let bench = Bench::new(&study);
        assert_eq!(bench.run().failed_runs(), 4, "{outcome}");
        let rows = bench.rows();
        let told = |row: &Row| row.message.as_deref().is_some_and(|words| words.contains(hint));
        assert!(rows.iter().all(|row| row.outcome == outcome && told(row)), "{rows:?}");
    }
    let bench = Bench::new(&COPIES.replace("cp {source} {target}", "cp /no/such/file {target}"));
    assert_eq!(bench.run().failed_runs(), 6);
    let message = |row: Row| row.message.filter(|words| words.contains("/no/such/file"));
    assert_eq!(bench.rows().into_iter().filter_map(message).count(), 6);
    let bench = Bench::new(JOBS);
    let full = RunArguments { out: Some("/dev/full".into()), ..bench.arguments() };
    let error = format!("{:#}", run(full).expect_err("no room for rows"));
    assert_eq!(error, "append to /dev/full: No space left on device (os error 28)");
}

#[test]
fn levels_can_be_set_and_the_small_form_is_small() {
    let bench = Bench::new(&format!("{COPIES}\n[quick]\nrepeats = 1\nwarmup = 0\n"));
    let set = vec![("size".to_string(), vec!["2KiB".to_string()]), ("command".into(), vec!["cp".into()])];
    run(RunArguments { set, quick: true, ..bench.arguments() }).expect("the study runs");
    let rows = bench.rows();
    assert_eq!((rows.len(), rows[0].bytes, level(&rows[0], "command").as_str()), (1, 2048, "cp"));
}

#[test]
fn an_absent_program_is_named_and_the_report_counts_for_nothing() {
    let study = COPIES
        .replace("title", "requires = [\"no-such-program-anywhere\"]\ntitle")
        .replace("true = \"true\"", "true = \"no-such-program-anywhere -x\"");
    let bench = Bench::new(&study);
    let summary = bench.run();
    assert_eq!((bench.rows().len(), summary.failed_runs()), (12, 0), "its cells are not run");
    let study = &summary.studies[0];
    assert_eq!((study.counts, study.absent.join(" ")), (false, "no-such-program-anywhere".to_string()));
    let line = "no-such-program-anywhere is not installed here: a report without it counts for nothing";
    assert!(summary.to_string().contains(line), "{summary}");
    let json = serde_json::to_value(&summary).expect("JSON");
    assert_eq!((&json["v"], &json["studies"][0]["counts"]), (&1.into(), &false.into()));
}

#[test]
fn an_interrupted_study_says_so_and_leaves_nothing() {
    let bench = Bench::new(COPIES);
    let arguments = bench.arguments();
    arguments.stop.store(true, Ordering::Relaxed);
    let error = run(arguments).expect_err("stopped").to_string();
    assert_eq!(error, "interrupted; the same command goes on with the runs that are left");
    assert!(bench.left_behind().is_empty(), "{:?}", bench.left_behind());
}

/// What was copied until then stands beside the target, for the same copy to go on with: here nothing will.
#[test]
fn a_job_that_is_interrupted_leaves_no_half_file() {
    let study = JOBS
        .replace("[factors]", "prepare = [{ step = \"new_target\" }]\n[factors]")
        .replace("target = \"null:\"", "target = \"{target}\"\nrate = \"256KiB\"");
    let bench = Bench::new(&study);
    let arguments = bench.arguments();
    let stop = arguments.stop.clone();
    let work = arguments.folder.clone().expect("a folder");
    let ended = std::thread::spawn(move || run(arguments));
    // A half file of a copy that lasts for four seconds.
    let is_half = |path: &PathBuf| path.to_string_lossy().contains("/.pump-");
    let targets = || files_in(&work).iter().flat_map(|folder| files_in(folder)).collect::<Vec<_>>();
    while !ended.is_finished() && !targets().iter().any(is_half) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    stop.store(true, Ordering::Relaxed);
    ended.join().expect("no panic").expect_err("stopped");
    assert!(bench.left_behind().is_empty(), "{:?}", bench.left_behind());
}

#[test]
fn what_is_made_of_nothing_needs_room_too() {
    let study = JOBS
        .replace("[factors]", "prepare = [{ step = \"new_target\" }]\n[factors]")
        .replace("target = \"null:\"", "target = \"{target}\"")
        .replace("null:1MiB", "null:8000000TiB");
    let bench = Bench::new(&study);
    let error = format!("{:#}", run(bench.arguments()).expect_err("too much"));
    assert!(error.contains("make room"), "{error}");
    assert!(!bench.path("rows.jsonl").exists());
}

#[test]
fn what_cannot_be_run_is_refused_with_a_hint() {
    let bench = Bench::new("name = 1");
    let refused = |arguments: RunArguments| format!("{:#}", run(arguments).expect_err("refused"));
    let unknown = RunArguments { study: "no-such-study".into(), ..bench.arguments() };
    for (arguments, hint) in [
        (bench.arguments(), "study.toml: line 1: name must be text in quotes, not 1"),
        (unknown, "study no-such-study: no built-in study of this name ("),
        (
            RunArguments { study: "cpu".into(), folder: Some("/no/such".into()), ..bench.arguments() },
            "the folder /no/such",
        ),
        (
            RunArguments { study: "cpu".into(), out: Some("/no/such/rows".into()), ..bench.arguments() },
            "open /no/such/rows",
        ),
    ] {
        let error = refused(arguments);
        assert!(error.contains(hint), "{error}");
    }
    std::fs::write(bench.path("rows.jsonl"), "").expect("room");
    assert!(
        view(&[bench.path("rows.jsonl")], false)
            .expect_err("empty")
            .to_string()
            .contains("there are no rows")
    );
}

#[test]
fn built_in_studies_are_listed_and_shown() {
    let names: Vec<&str> = list().iter().map(|study| study.name).collect();
    assert_eq!(names[..2], ["depth", "disk-source"], "by question");
    assert!(list().iter().all(|study| !study.title.is_empty()));
    assert!(
        names.iter().all(|name| show(name).is_some_and(|text| text.contains(&format!("name = \"{name}\""))))
    );
    assert_eq!(show("no-such-study"), None);
}

#[test]
fn a_folder_whose_name_needs_quotes_works() {
    let bench = Bench::new(COPIES);
    let odd = bench.path("it's a folder");
    std::fs::create_dir(&odd).expect("room");
    let arguments = RunArguments { folder: Some(odd.clone()), repeats: Some(1), ..bench.arguments() };
    let summary = run(arguments).expect("the study runs");
    assert_eq!((summary.failed_runs(), files_in(&odd).len()), (0, 0), "{summary}");
}

#[test]
fn commands_of_two_ends_get_a_folder_and_a_port_that_are_their_own() {
    let hosts = r#"
name = "hosts"
title = "what stands where a server starts"
repeats = 2
prepare = [{ step = "new_host" }, { step = "run", command = "touch {host}/by-a-step" }]
[factors]
[command.levels]
look = ". {host}/host.sh; test -e {host}/by-a-step && test {port} -gt 0 && test -s {host}/sshd_config"
"#;
    let bench = Bench::new(hosts);
    assert_eq!(bench.run().failed_runs(), 0);
    let folders: BTreeSet<String> = bench.rows().iter().map(|row| folder_in(&row.command)).collect();
    assert_eq!(folders.len(), 2, "each run has its own: {folders:?}");
    assert!(folders.iter().all(|folder| !Path::new(folder).exists()), "{folders:?}");
}

/// The folder of the functions that a command begins with.
fn folder_in(command: &str) -> String {
    let functions = command.strip_prefix(". ").and_then(|rest| rest.split_once("/host.sh"));
    functions.expect("the line of the study").0.to_string()
}

#[test]
fn the_latency_of_requests_is_kept_where_it_is_asked_for() {
    let job = |probes: &str| {
        format!(
            r#"
name = "reads"
title = "a file to nothing"
repeats = 1
warmup = 0
{probes}
prepare = [{{ step = "make_source", size = "1MiB" }}, {{ step = "warm_source" }}]
[factors]
[job]
source = "{{source}}"
target = "null:"
request_size = "64KiB"
"#
        )
    };
    for (probes, kept) in [("", false), ("probes = [\"latency\"]", true)] {
        let bench = Bench::new(&job(probes));
        assert_eq!(bench.run().failed_runs(), 0);
        let latency = bench.rows().remove(0).latency_ns;
        assert_eq!(latency.is_some(), kept, "{probes}");
        let Some(latency) = latency else { continue };
        assert!(latency["sink"].is_null() && latency["source"]["count"].as_u64() >= Some(16), "{latency}");
        let at = |name: &str| latency["source"][name].as_u64().expect("nanoseconds");
        assert!(at("p50") > 0 && at("p50") <= at("p999") && at("p999") <= at("max"), "{latency}");
    }
}

#[test]
fn a_row_says_how_often_threads_left_their_cpu_and_the_pace_of_the_processor() {
    let command = r#"
name = "sleeps"
title = "a command that waits"
repeats = 2
[command.levels]
sleep = "sleep 0.01"
"#;
    for study in [JOBS, command] {
        let bench = Bench::new(study);
        assert_eq!(bench.run().failed_runs(), 0, "{study}");
        for row in bench.rows() {
            assert!(row.involuntary_switches.is_some() && row.stolen_ns.is_some(), "{row:?}");
            assert!(row.voluntary_switches >= Some(u64::from(study == command)), "{row:?}");
            let counts = std::fs::read_to_string("/proc/sys/kernel/sched_schedstats");
            assert_eq!(row.wakeups.is_some(), counts.is_ok_and(|text| text.trim() == "1"), "{row:?}");
            for pace_ns in [row.pace_before_ns, row.pace_after_ns] {
                assert!(pace_ns > Some(500_000), "about 5 ms, whatever else the machine does: {row:?}");
            }
        }
    }
}

/// Statement S21: what is told of the CPU time adds up, whatever else the machine does meanwhile.
#[test]
fn a_run_with_the_soaker_has_its_calibration_and_times_that_add_up() {
    let job = JOBS.replacen("repeats = 2", "repeats = 1\nwarmup = 0\nprobes = [\"soaker\"]", 1);
    let command = r#"
name = "soaked"
title = "a command on all CPUs, on half of them and on none"
repeats = 1
warmup = 0
[factors]
soaker = ["off", "on", "half"]
[command.levels]
count = "seq 100000 > /dev/null"
"#;
    let cpus = std::thread::available_parallelism().expect("known here").get() as u32;
    for (study, levels) in [(&*job, 4), (command, if cpus > 1 { 3 } else { 2 })] {
        let bench = Bench::new(study);
        assert_eq!(bench.run().failed_runs(), 0, "{study}");
        let rows = bench.rows();
        assert_eq!(rows.len(), levels, "{study}");
        for row in rows {
            let level = row.asked["soaker"].to_string();
            let Some(soaker) = &row.soaker else {
                assert_eq!((&*level, row.soaked_ns), ("off", None));
                continue;
            };
            assert_eq!((soaker.cpu_ns.is_some(), row.soaked_ns.is_some()), (level == "on", true), "{level}");
            assert_eq!(soaker.calibrations.len(), 2, "{soaker:?}");
            assert_eq!(soaker.noisy, !soaker.why.is_empty(), "{soaker:?}");
            let parts = [row.user_ns, row.system_ns].map(|ns| ns.expect("known") as i64);
            let sum = soaker.remainder_ns.map(|rest| rest + parts[0] + parts[1]);
            assert_eq!(sum, soaker.cpu_ns, "{soaker:?}");
        }
    }
}

#[test]
fn a_study_with_a_stop_rule_decides_by_the_rows_that_are_there() {
    let text = |most: u32| {
        let stop = format!("stop = {{ narrower_than = \"3%\", at_most = {most} }}");
        JOBS.replace("repeats = 2", &stop).replace("[\"4KiB\", \"64KiB\"]", "[\"64KiB\"]")
    };
    let bench = Bench::new(&text(5));
    run(RunArguments { repeats: Some(5), ..bench.arguments() }).expect("the study runs");
    let real = bench.rows();
    let with = |elapsed_ns: fn(u64) -> u64| {
        let rows = real.iter().map(|row| Row { elapsed_ns: elapsed_ns(row.repeat.into()), ..row.clone() });
        let lines: Vec<String> = rows.map(|row| serde_json::to_string(&row).expect("JSON") + "\n").collect();
        std::fs::write(bench.path("rows.jsonl"), lines.concat()).expect("room");
    };
    let steady = |repeat| 1_000_000_000_000 + repeat;
    let wild = |repeat| if repeat % 2 == 0 { 1 } else { 1_000_000_000_000 };
    for (elapsed_ns, most, rows) in [(steady as fn(u64) -> u64, 50, 5), (wild, 5, 5), (wild, 7, 7)] {
        with(elapsed_ns);
        std::fs::write(bench.path("study.toml"), text(most)).expect("room");
        bench.run();
        assert_eq!(bench.rows().len(), rows, "at most {most}");
        bench.run();
        assert_eq!(bench.rows().len(), rows, "at most {most}, again");
    }
    with(steady);
    run(RunArguments { repeats: Some(6), ..bench.arguments() }).expect("the study runs");
    assert_eq!(bench.rows().len(), 6, "a number of rounds replaces the rule");
}
