//! Rows that are run again from their file alone: the same cells in the same order; what cannot be is refused first.

use std::path::PathBuf;

use datapump_lab::row::{Row, read_rows};
use datapump_lab::study::{Level, StudyError};
use datapump_lab::{RerunArguments, RunArguments, rerun, run};

const COMMANDS: &str = r#"
name = "commands"
title = "copies of a small file"
repeats = 3
prepare = [{ step = "make_source", size = "{size}" }, { step = "new_target" }]
check = ["same_content"]
baselines = [{ command = "cp" }]
[factors]
size = ["20000B", "9KiB"]
[command.levels]
cp = "cp {source} {target}"
cat = "cat {source} > {target}"
false = "false"
[[exception]]
where = { command = ["false"] }
repeats = 2
"#;

const JOBS: &str = r#"
name = "jobs"
title = "null to null"
probes = ["latency"]
stop = { narrower_than = "100%", at_least = 5, at_most = 5 }
[factors]
request_size = ["64KiB", "4KiB", "16KiB"]
[job]
source = "null:1MiB"
target = "null:"
request_size = "{request_size}"
engine = "inline"
depth = 2
[quick]
repeats = 2
"#;

/// A folder for rows and for the files that are moved. The study's own file is gone before it is run again.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Bench {
        Bench(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, text: &str, change: impl FnOnce(&mut RunArguments)) {
        let file = self.path("study.toml");
        std::fs::write(&file, text).expect("room");
        let study = file.to_string_lossy().into_owned();
        let (folder, out) = (Some(self.0.path().into()), Some(self.path("old.jsonl")));
        let mut arguments = RunArguments { study, folder, out, ..RunArguments::default() };
        change(&mut arguments);
        run(arguments).expect("it runs");
        std::fs::remove_file(file).expect("it was there");
    }

    fn rerun(&self) -> anyhow::Result<()> {
        let (rows, out) = (self.path("old.jsonl"), self.path("new.jsonl"));
        rerun(&RerunArguments { rows, out, folder: Some(self.0.path().into()), ..RerunArguments::default() })
            .map(drop)
    }

    fn rows(&self, name: &str) -> Vec<Row> {
        read_rows(&self.path(name)).expect("rows")
    }

    fn write(&self, rows: &[Row]) {
        let lines = rows.iter().map(|row| serde_json::to_string(row).expect("JSON") + "\n");
        std::fs::write(self.path("old.jsonl"), lines.collect::<String>()).expect("room");
    }
}

/// What must be the same.
fn plan(rows: &[Row]) -> Vec<String> {
    let words = |row: &Row| {
        let (study, asked, repeat, seed) = (&row.study, &row.asked, row.repeat, row.seed);
        format!("{study} {asked:?} {repeat} {seed} {} {} {}", row.order, row.outcome, row.bytes)
    };
    rows.iter().map(words).collect()
}

#[test]
fn a_rerun_has_the_same_cells_in_the_same_order() {
    type Change = fn(&mut RunArguments);
    let rows: [(&str, Change, usize); 7] = [
        (COMMANDS, |_| (), 16),
        (COMMANDS, |run| run.seed = Some(u64::MAX), 16),
        (COMMANDS, |run| run.set = vec![("size".into(), vec!["1B".into(), "2KiB".into()])], 16),
        (COMMANDS, |run| run.repeats = Some(1), 6),
        (JOBS, |_| (), 15),
        (JOBS, |run| run.quick = true, 6),
        (JOBS, |run| (run.repeats, run.seed) = (Some(2), Some(3)), 6),
    ];
    for (at, (study, change, count)) in rows.into_iter().enumerate() {
        let bench = Bench::new();
        bench.run(study, change);
        bench.rerun().unwrap_or_else(|error| panic!("row {at}: {error:#}"));
        let (old, new) = (bench.rows("old.jsonl"), bench.rows("new.jsonl"));
        assert_eq!(plan(&new), plan(&old), "row {at}");
        let texts = |rows: &[Row]| rows.iter().map(|row| row.study_text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&new), texts(&old), "row {at}");
        assert!(
            old[0].study_text.is_some() && old[1..].iter().all(|row| row.study_text.is_none()),
            "row {at}"
        );
        assert_eq!(old.len(), count, "row {at}");
    }
}

#[test]
fn what_was_changed_between_is_run_in_its_order() {
    let bench = Bench::new();
    for repeats in [1, 2, 3] {
        bench.run(COMMANDS, |run| run.repeats = Some(repeats));
        bench.run(JOBS, |run| run.repeats = Some(repeats));
    }
    bench.run(JOBS, |run| {
        (run.repeats, run.set) = (Some(1), vec![("request_size".into(), vec!["8KiB".into()])]);
    });
    bench.rerun().expect("all of it");
    let (mut old, mut new) = (plan(&bench.rows("old.jsonl")), plan(&bench.rows("new.jsonl")));
    assert_eq!((new.len(), &new), (28, &old));
    bench.rerun().expect("nothing is left");
    (old, new) = (new, plan(&bench.rows("new.jsonl")));
    assert_eq!(new, old);
}

#[test]
fn rows_that_do_not_hold_their_study_are_refused_before_anything_is_run() {
    let bench = Bench::new();
    bench.run(JOBS, |run| run.repeats = Some(1));
    let whole = bench.rows("old.jsonl");
    let text = whole[0].study_text.clone().expect("the study");
    let replaced = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} in {text}");
        Some(text.replacen(from, to, 1))
    };
    type Change<'text> = Box<dyn Fn(&mut Row) + 'text>;
    let with = |text: Option<String>| -> Change<'_> { Box::new(move |row| row.study_text = text.clone()) };
    let cases: [(Change<'_>, &str); 8] = [
        (with(None), "no row holds the study 'jobs' of seed 1"),
        (with(Some("{}".into())), "old.jsonl"),
        (with(replaced("title", "tittle")), "unknown key `tittle`"),
        (with(replaced("name = \"jobs\"\n", "")), "`name = \"…\"` is missing"),
        (with(replaced("name = \"jobs\"", "name = \"others\"")), "it is 'others', and its row is of 'jobs'"),
        (with(replaced("request_size = [", "request_sizes = [")), "request_sizes"),
        (
            Box::new(|row| row.asked.insert("depth".into(), Level::from(4)).map_or((), drop)),
            "has no run of this cell",
        ),
        (Box::new(|row| row.repeat = 1), "has no run of this cell and round"),
    ];
    for (change, part) in cases {
        let mut rows = whole.clone();
        change(&mut rows[0]);
        bench.write(&rows);
        let error = bench.rerun().expect_err(part);
        assert!(error.is::<StudyError>(), "{part}: {error:#}");
        assert!(format!("{error:#}").contains(part), "{part}: {error:#}");
        assert!(!bench.path("new.jsonl").exists(), "{part}");
    }
    bench.write(&[]);
    assert!(bench.rerun().expect_err("no rows").to_string().contains("there are no rows"));
}
