//! `pump lab compare --a BINARY --b BINARY STUDY`: two builds run a study side by side, into one file of rows.

use std::fs;

use crate::support::programs::{copy_program, script};
use crate::support::schema;
use crate::support::{Home, Outcome, expect};
use serde_json::Value;

const JOB: &str = r#"
name = "jobs"
title = "memory to memory, and a file"
repeats = 4
warmup = 1
prepare = [{ step = "make_source", size = "64KiB" }, { step = "new_target" }]
check = ["same_content"]
[factors]
request_size = ["4KiB", "16KiB"]
[job]
source = "{source}"
target = "{target}"
request_size = "{request_size}"
sync = "none"
"#;

const COMMAND: &str = r#"
name = "commands"
title = "what a program says"
repeats = 3
warmup = 0
[command.levels]
version = "{pump} --version > {pump}.said"
"#;

fn furnished() -> Home {
    let home = Home::new();
    fs::write(home.path("jobs.toml"), JOB).expect("room");
    fs::write(home.path("commands.toml"), COMMAND).expect("room");
    for name in ["a", "b"] {
        fs::create_dir(home.path(name)).expect("room");
        copy_program(home.path(name).join("pump"));
    }
    home
}

/// Whether runs as short as these can be judged is up to what else the machine does.
fn judged_or_noisy(run: &Outcome) -> i32 {
    i32::from(run.err.contains("nothing could be judged: too noisy;"))
}

fn compare(home: &Home, words: &str) -> Outcome {
    // Other tests that run meanwhile change the pace of the processor.
    let compare = ["lab", "compare", "--keep-disturbed"];
    home.pump(&compare.into_iter().chain(words.split(' ')).collect::<Vec<_>>())
}

#[test]
fn two_programs_run_a_study_side_by_side_and_are_judged_in_pairs() {
    let home = furnished();
    let words = "--a a/pump --b b/pump jobs.toml --out rows.jsonl --json";
    let run = compare(&home, words);
    let said = ["\"event\":\"comparison\"", "\"pairs\":4"];
    expect(&run, judged_or_noisy(&run), &said, "side by side");
    let made = home.rows("rows.jsonl");
    assert_eq!(made.len(), 2 * 2 * 4, "programs, sizes, rounds");
    schema::checked(&run.out);
    let side = |row: &Value| row["asked"]["binary"].as_str().expect("a level").to_owned();
    for (round, rows) in made.chunks(4).enumerate() {
        let expected = if round % 2 == 0 { "abab" } else { "baba" };
        assert_eq!(rows.iter().map(side).collect::<String>(), expected, "round {round}");
        let sizes: Vec<&Value> = rows.iter().map(|row| &row["asked"]["request_size"]).collect();
        assert!(sizes[0] == sizes[1] && sizes[2] == sizes[3], "pairs of one cell: {sizes:?}");
    }
    let first = &made[0];
    for row in &made {
        assert_eq!((&row["outcome"], &row["message"]), (&"completed".into(), &Value::Null));
        assert_eq!((row["bytes"].as_u64(), row["seed"].as_u64()), (Some(65_536), Some(1)));
        assert!(row["elapsed_ns"].as_u64() > Some(0) && row["user_ns"].is_u64(), "{row}");
        assert_eq!(row["achieved"]["request_size"], row["asked"]["request_size"].as_str().map_or(0, bytes));
        assert!(row["session"] == first["session"] && row["build"] == first["build"], "{row}");
    }
    // Nothing is left to do, and the file says the same again, alone.
    let verdicts = |run: &Outcome| -> Value {
        serde_json::from_str(run.out.lines().next().expect("an event")).expect("JSON")
    };
    let again = compare(&home, words);
    assert_eq!(home.rows("rows.jsonl"), made);
    assert_eq!(verdicts(&again), verdicts(&run));
    let alone = compare(&home, "rows.jsonl --json --metric elapsed");
    assert_eq!(verdicts(&alone), verdicts(&run));
    expect(&home.pump(&["lab", "rerun", "rows.jsonl"]), 2, &["pump lab compare --a"], "rerun");
    // A program that was built anew is not taken for the one before.
    script(home.path("b/pump"), "echo 'pump 0.9.0 (cafe)'");
    expect(&compare(&home, words), 1, &["has rows of the build", "cafe", "--out"], "another build");
}

fn bytes(size: &str) -> u64 {
    size.strip_suffix("KiB").and_then(|count| count.parse::<u64>().ok()).map_or(0, |count| count << 10)
}

#[test]
fn a_program_that_fails_is_told_and_its_rows_are_no_figures() {
    let home = furnished();
    let text = "[ \"$1\" = lab ] && { echo 'no such command' >&2; exit 2; }\necho 'pump 0.0.1'";
    script(home.path("b/pump"), text);
    let run = compare(&home, "--a a/pump --b b/pump jobs.toml --out rows.jsonl");
    expect(&run, 1, &["b/pump lab run", "no such command"], "no lab");
    script(home.path("b/pump"), "printf 'hello 1.0\\nNO WARRANTY\\n'");
    let run = compare(&home, "--a a/pump --b b/pump jobs.toml --out rows.jsonl");
    expect(&run, 1, &["b/pump", "this is not a pump: --version says 'hello 1.0'"], "another program");
    assert!(!run.err.contains("WARRANTY") && run.err.trim_end().lines().count() == 1, "{}", run.err);
    expect(&compare(&home, "--a a/pump --b nothing jobs.toml"), 1, &["nothing"], "no program");
}

#[test]
fn commands_are_run_with_each_program_in_its_turn() {
    let home = furnished();
    let run = compare(&home, "--a a/pump --b b/pump commands.toml --metric elapsed");
    expect(&run, judged_or_noisy(&run), &["3 pairs"], "commands");
    assert!(home.path("a/pump.said").exists() && home.path("b/pump.said").exists());
    assert_eq!(home.rows("commands-compare.jsonl").len(), 6);
}

/// A small form has one round or two, and a verdict takes three.
#[test]
fn a_comparison_has_rounds_enough_to_judge_or_says_at_once_that_it_has_not() {
    let home = furnished();
    fs::write(home.path("small.toml"), format!("{COMMAND}[quick]\nrepeats = 2\n")).expect("room");
    let run = compare(&home, "--a a/pump --b b/pump small.toml --quick --out small.jsonl");
    expect(&run, judged_or_noisy(&run), &["3 pairs"], "quick");
    let words = "--a a/pump --b b/pump small.toml --repeats 2 --out few.jsonl";
    let said = ["too few rounds for a verdict (2); give --repeats 3 or more", "that takes three runs"];
    let run = compare(&home, words);
    expect(&run, 1, &said, "too few");
    assert!(run.err.find(said[0]) < run.err.find("runs and 0 warm-ups to do"), "before it runs: {}", run.err);
    assert_eq!(home.rows("few.jsonl").len(), 4);
}

#[test]
fn what_does_not_fit_together_is_said_before_anything_runs() {
    let home = furnished();
    for (words, hint) in [
        ("--a a/pump jobs.toml", "--b"),
        ("--a a/pump --b b/pump one two", "name one"),
        ("--repeats 3 one two", "--repeats"),
        ("jobs.toml rows.jsonl --out new", "--out"),
        ("--a a/pump --b b/pump nothing", "no built-in study"),
        ("--a a/pump --b b/pump cpu --set binary=x", "no such factor"),
    ] {
        expect(&compare(&home, words), 2, &[hint], words);
    }
    fs::write(home.path("own.toml"), JOB.replace("[factors]", "[factors]\nbinary = [\"x\"]")).expect("room");
    expect(&compare(&home, "--a a/pump --b b/pump own.toml"), 2, &["factors.binary"], "a factor of its own");
    expect(&compare(&home, "jobs.toml"), 1, &["jobs.toml"], "no rows");
}
