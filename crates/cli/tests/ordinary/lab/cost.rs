//! `pump lab fit` and `pump lab predict` as scripts meet them: tables and rows in, figures, events and statuses out.

use crate::support::schema;
use crate::support::{Home, Outcome};
use serde_json::{Value, json};

const SINK: &str = "request_size_bytes,observed_ns_per_byte\n32768,5.3\n65536,2.8\n131072,2.2\n262144,1.3\n";
const PARTS: &str = "component,cb_ns_per_byte,cr_us_per_request\npump,0,20\nsource,0.5,66\nsink,1.6,53\n";
const LATENCIES: &str = "stage,readers,latency_s\nplain,1,3\nplain,2,3\nplain,10,10\nfast,1,2\nfast,10,5\n";
const PIPELINE: &str = "file_size_bytes,request_size_bytes,source_depth,sink_depth,source_latency_us,\
                        source_bandwidth_mb_per_s,sink_latency_us,sink_bandwidth_mb_per_s\n\
                        1048576,16384,1,1,200,24,300,22.5\n";

/// A folder with the tables above.
fn furnished() -> Home {
    let home = Home::new();
    for (name, text) in [
        ("sink.csv", SINK),
        ("parts.csv", PARTS),
        ("latencies.csv", LATENCIES),
        ("pipeline.csv", PIPELINE),
        ("words.csv", "request_size_bytes,observed_ns_per_byte\n32768,5.3\n65536,few\n"),
        ("two.csv", "request_size_bytes,observed_ns_per_byte\n32768,5.3\n65536,2.8\n"),
        ("ragged.csv", "request_size_bytes,observed_ns_per_byte\n32768\n"),
        ("empty.csv", ""),
        ("rows.jsonl", "{\"v\":1}\n"),
    ] {
        std::fs::write(home.path(name), text).expect("room");
    }
    home
}

fn pump(home: &Home, words: &str) -> Outcome {
    home.pump(&words.split(' ').collect::<Vec<_>>())
}

fn number(event: &Value, field: &str) -> f64 {
    event[field].as_f64().unwrap_or_else(|| panic!("no number {field}: {event}"))
}

fn is_near(got: f64, expected: f64) -> bool {
    (got / expected - 1.0).abs() < 1e-6
}

#[test]
fn what_cannot_be_meant_so_is_refused_with_file_line_and_column() {
    let home = furnished();
    for (words, status, part) in [
        ("lab fit words.csv", 2, "words.csv, line 3: `observed_ns_per_byte` must be a number, not 'few'"),
        ("lab fit two.csv", 2, "2 points are too few for an interval: measure at least 3"),
        ("lab fit ragged.csv", 2, "ragged.csv, line 2: 1 cells, and the header has 2"),
        ("lab fit empty.csv", 2, "empty.csv: there are no rows"),
        ("lab fit parts.csv", 2, "parts.csv, line 1: no column `request_size_bytes`"),
        ("lab fit sink.csv --model level-off", 2, "sink.csv, line 1: no column `readers`"),
        ("lab fit sink.csv --model cubic", 2, "possible values: cost, level-off"),
        ("lab fit rows.jsonl", 1, "rows.jsonl, line 1: this is no row"),
        ("lab fit nothing.csv", 1, "read nothing.csv"),
        ("lab fit", 2, "required"),
        (
            "lab predict",
            2,
            "--parts <FILE>|--profile[=<FILE>]|--judge <ROWS>|--pipeline <FILE>|--golden <DIR>",
        ),
        ("lab predict --parts parts.csv --chain pump", 2, "--request-size"),
        ("lab predict --parts parts.csv --request-size 64KiB", 2, "--chain"),
        ("lab predict --parts parts.csv --chain pump --request-size 64", 2, "write 64B"),
        ("lab predict --parts parts.csv --chain pump --request-size 64K", 2, "write 64KiB"),
        (
            "lab predict --parts parts.csv --chain pump --request-size 0B",
            2,
            "must be a multiple of 1 KiB from",
        ),
        ("lab predict --parts parts.csv --chain pump --request-size 1B", 2, "1 KiB to 64 MiB"),
        ("lab predict --parts parts.csv --chain pump --request-size 128MiB", 2, "64 MiB"),
        ("lab predict --parts parts.csv --chain pump --request-size 9GiB", 2, "64 MiB"),
        ("lab predict --golden nowhere", 1, "no such folder: nowhere"),
        ("lab predict --golden parts.csv", 1, "parts.csv is not a directory"),
        (
            "lab predict --parts parts.csv --chain pump,tape --request-size 1KiB",
            2,
            "parts.csv: unknown component 'tape'",
        ),
        ("lab predict --parts sink.csv --chain pump --request-size 1KiB", 2, "line 1: no column `component`"),
        ("lab predict --parts no.csv --chain pump --request-size 1KiB", 1, "read no.csv"),
        ("lab predict --pipeline parts.csv", 2, "parts.csv, line 1: no column `file_size_bytes`"),
        ("lab predict --pipeline pipeline.csv --golden .", 2, "cannot be used with"),
    ] {
        let run = pump(&home, words);
        assert_eq!(run.status, status, "{words}: {run:?}");
        assert!(run.err.contains(part), "{words}: no {part:?} in: {}", run.err);
        let json = pump(&home, &format!("{words} --json"));
        assert_eq!(schema::checked(&json.out).last().expect("a report")["exit_status"], status, "{words}");
    }
}

#[test]
fn a_fit_has_intervals_residuals_and_a_warning() {
    let home = furnished();
    let people = pump(&home, "lab fit sink.csv");
    assert_eq!(people.status, 0, "{people:?}");
    for part in ["Cb 0.839 ns/byte, 95 % interval", "Cr 144 µs/request", "131072", "warning: "] {
        let part = part.replace("131072", "128 KiB");
        assert!(people.out.contains(&part), "{part}: {}", people.out);
    }
    let run = pump(&home, "lab fit sink.csv --model cost --json");
    let events = schema::checked(&run.out);
    let fit = &events[0];
    assert!(is_near(number(fit, "cb_ns_per_byte"), 0.839_130_435), "{fit}");
    assert!(is_near(number(fit, "cr_us_per_request"), 144.065_224), "{fit}");
    for figure in ["cb_ns_per_byte", "cr_us_per_request"] {
        assert!(number(fit, &format!("{figure}_low")) < number(fit, figure), "{fit}");
        assert!(number(fit, &format!("{figure}_high")) > number(fit, figure), "{fit}");
    }
    assert_eq!(fit["residuals"].as_array().map(Vec::len), Some(4));
    assert!(fit["warning"].as_str().expect("words").contains("misses by up to 13.5 %"), "{fit}");
}

#[test]
fn a_level_off_is_fitted_for_each_stage() {
    let run = pump(&furnished(), "lab fit latencies.csv --model level-off --json");
    let events = schema::checked(&run.out);
    let stages: Vec<(&Value, f64, f64)> =
        events[..2].iter().map(|fit| (&fit["stage"], number(fit, "r1_s"), number(fit, "d_s"))).collect();
    assert_eq!(stages, [(&"plain".into(), 3.0, 1.0), (&"fast".into(), 2.0, 0.5)]);
}

#[test]
fn rows_of_a_study_are_fitted() {
    let rows = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/cpu.jsonl");
    let run = Home::new().pump(&["lab", "fit", rows, "--json"]);
    let events = schema::checked(&run.out);
    for (fit, engine) in [(&events[0], "inline"), (&events[1], "uring")] {
        assert_eq!((&fit["component"], &fit["asked"]["engine"]), (&"cpu".into(), &engine.into()));
        assert_eq!((&fit["points"], &fit["cpu_by"]), (&50.into(), &"process".into()), "{fit}");
        // The pump touches no byte (statement S23).
        assert!(number(fit, "cr_us_per_request_low") > 0.0 && number(fit, "cb_ns_per_byte") < 0.01, "{fit}");
    }
}

/// Kept rows in which the pace of the processor was made to change during the runs of the first round.
fn write_disturbed_rows(home: &Home) {
    let kept = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/cpu.jsonl"));
    let kept = kept.expect("the rows");
    let disturbed = kept.lines().map(|line| {
        let mut row: Value = serde_json::from_str(line).expect("JSON");
        row["pace_before_ns"] = 5_000_000.into();
        row["pace_after_ns"] = if row["repeat"] == 0 { 5_300_000.into() } else { 5_200_000.into() };
        format!("{row}\n")
    });
    std::fs::write(home.path("disturbed.jsonl"), disturbed.collect::<String>()).expect("room");
}

#[test]
fn disturbed_runs_are_in_no_verdict_and_no_fit_unless_they_are_kept() {
    let home = Home::new();
    write_disturbed_rows(&home);
    let first = |run: &Outcome| schema::checked(&run.out).remove(0);
    for (flag, fitted, pairs, counted) in [
        ("", 45, 9, json!({ "pace": 10, "stolen": 0, "soaker": 0, "kept": false })),
        (" --keep-disturbed", 50, 10, json!({ "pace": 10, "stolen": 0, "soaker": 0, "kept": true })),
    ] {
        let fit = pump(&home, &format!("lab fit disturbed.jsonl --json{flag}"));
        assert_eq!(first(&fit)["points"], fitted, "{fit:?}");
        let events = schema::checked(&fit.out);
        let event = events.iter().find(|event| event["event"] == "disturbed").expect("it is reported");
        assert!(
            ["pace", "stolen", "soaker", "kept"].iter().all(|name| event[name] == counted[name]),
            "{event}"
        );
        let compared =
            first(&pump(&home, &format!("lab compare disturbed.jsonl disturbed.jsonl --json{flag}")));
        assert_eq!(compared["cells"][0]["pairs"], pairs, "{compared}");
        assert_eq!(compared["disturbed"], json!([counted, counted]));
        let summary = first(&pump(&home, &format!("lab view disturbed.jsonl --json{flag}")));
        assert_eq!(summary["studies"][0]["disturbed"], counted);
        assert_eq!(summary["studies"][0]["cells"][0]["completed"], 10, "they are in the table");
    }
    for (words, side) in [("fit disturbed.jsonl", ""), ("compare disturbed.jsonl disturbed.jsonl", "B: ")] {
        let said = pump(&home, &format!("lab {words}")).out;
        assert!(said.contains(&format!("note: {side}disturbed runs: 10 (the processor's pace")), "{said}");
    }
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let home = furnished();
    let rows = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/cpu.jsonl"));
    for (name, text) in [("rows.jsonl", rows.expect("the rows")), ("table.csv", SINK.into())] {
        std::fs::write(home.path(name), &text).expect("room");
        let plain = pump(&home, &format!("lab fit {name} --json"));
        std::fs::write(home.path(name), format!("\u{feff}{text}")).expect("room");
        let marked = pump(&home, &format!("lab fit {name} --json"));
        assert_eq!((marked.status, &marked.err), (0, &plain.err), "{name}");
        assert_eq!(marked.out, plain.out, "{name}");
    }
}

#[test]
fn a_chain_and_a_pipeline_are_predicted() {
    let home = furnished();
    let run = pump(
        &home,
        "lab predict --parts parts.csv --chain source,pump,sink --request-size 64KiB,1MiB --json",
    );
    let events = schema::checked(&run.out);
    for (event, size, ns_per_byte) in
        [(&events[0], 65_536, 4.220_971_68), (&events[1], 1 << 20, 2.232_560_73)]
    {
        assert_eq!(event["request_size_bytes"], size);
        assert!(is_near(number(event, "ns_per_byte"), ns_per_byte), "{event}");
    }
    let run = pump(&home, "lab predict --pipeline pipeline.csv --json");
    let row = &schema::checked(&run.out)[0];
    assert!(is_near(number(row, "elapsed_s"), 0.066_686_044_4), "{row}");
    assert_eq!((&row["bottleneck"], &row["line"]), (&"sink_latency".into(), &2.into()));
    let people = pump(&home, "lab predict --pipeline pipeline.csv");
    assert!(people.out.contains("sink_latency"), "{people:?}");
}

#[test]
fn the_published_tables_hold_and_their_absence_is_a_failure() {
    let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/golden");
    let home = Home::new();
    let run = home.pump(&["lab", "predict", "--golden", tables, "--json"]);
    assert_eq!(run.status, 0, "{run:?}");
    let events = schema::checked(&run.out);
    for statement in
        ["S25", "S26", "S27", "S30", "S32", "S35", "S37", "S39", "S41", "S43", "S46", "S6", "S69", "S7"]
    {
        let passed = |event: &&Value| event["statement"] == statement && event["passed"] == true;
        assert!(events.iter().any(|event| passed(&event)), "{statement}: {}", run.out);
    }
    let absent = pump(&home, "lab predict --golden .");
    assert_eq!(absent.status, 1, "{absent:?}");
    assert!(absent.out.contains("FAIL S25") && absent.out.contains("0 of 37 passed"), "{absent:?}");
}
