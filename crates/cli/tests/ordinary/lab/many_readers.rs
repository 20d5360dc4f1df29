//! Studies whose runs start several readers of one server: a record for each in the row, and what the rows say when a
//! reader is killed, the server stalls, or a program is not there.

use serde_json::Value;

use crate::support::{Home, Outcome, expect};

/// A study of three readers; `reader` is what each does, `server` what happens to the server first.
fn study(server: &str, reader: &str) -> String {
    format!(
        r#"
name = "three"
title = "three readers of one server"
repeats = 3
warmup = 0
prepare = [{{ step = "make_source", size = "3MiB" }}, {{ step = "new_host" }}]
[factors]
readers = [3]
[command.levels]
pump = '''
. {{host}}/host.sh
copy() {{
  {{pump}} copy --json --retry-for=0s --peer-timeout=1s --ticket-file {{host}}/ticket \
    pump://127.0.0.1:{{port}}/$(basename {{source}}) null:
}}
reader() {{ {reader}; }}
start {{pump}} serve --listen 127.0.0.1:{{port}} --ticket-file {{host}}/ticket $(dirname {{source}}) &&
{{ {server}; }} && readers {{readers}} reader
'''
"#
    )
}

/// Runs a study, which ends; and gives its rows.
fn rows(home: &Home, text: &str, status: i32) -> (Outcome, Vec<Value>) {
    std::fs::write(home.path("three.toml"), text).expect("room");
    let run = home.pump(&["lab", "run", "three.toml", "--out", "rows.jsonl"]);
    expect(&run, status, &[], text);
    (run, home.rows("rows.jsonl"))
}

fn outcomes(row: &Value) -> Vec<&str> {
    let readers = row["readers"].as_array().expect("a record for each reader");
    readers.iter().map(|reader| reader["outcome"].as_str().expect("a word")).collect()
}

#[test]
fn a_row_has_a_record_for_each_reader() {
    let home = Home::new();
    let (run, rows) = rows(&home, &study("true", "copy"), 0);
    assert_eq!(rows.len(), 3, "{rows:?}");
    for row in &rows {
        assert_eq!(row["outcome"], "completed", "{row}");
        assert_eq!(outcomes(row), ["completed"; 3], "{row}");
        assert_eq!(row["bytes"], 3 * (3 << 20), "the sum: {row}");
        for reader in row["readers"].as_array().expect("records") {
            assert!(reader["elapsed_ns"].as_u64() < row["elapsed_ns"].as_u64(), "{row}");
            assert_eq!((&reader["bytes"], &reader["exit_status"]), (&(3 << 20).into(), &0.into()), "{row}");
        }
    }
    let table = &run.out;
    assert!(table.contains("deviation  bandwidth, MB/s  a reader's bandwidth, MB/s"), "{table}");
    let view = home.pump(&["lab", "view", "rows.jsonl", "--json"]);
    let view = view.out.lines().find(|line| line.contains("reader_bandwidth")).expect("a summary").to_owned();
    let view: Value = serde_json::from_str(&view).expect("JSON");
    let cell = &view["studies"][0]["cells"][0];
    let results = &cell["results"];
    assert_eq!(results["time"]["n"], 3, "readers of one run are one value: {cell}");
    let [one, all] = ["reader_bandwidth", "bandwidth"].map(|name| results[name]["median"].as_f64());
    let three = all.expect("a rate") / one.expect("a rate");
    assert!((three - 3.0).abs() < 1e-9, "{cell}");
}

#[test]
fn a_reader_that_is_killed_is_told_and_the_others_are_read_to_their_end() {
    let home = Home::new();
    let kill = "if [ $1 = 2 ]; then sh -c 'kill -9 $$'; else copy; fi";
    let (run, rows) = rows(&home, &study("true", kill), 23);
    for row in &rows {
        assert_eq!(outcomes(row), ["completed", "lost", "completed"], "{row}");
        let killed = &row["readers"][1];
        assert_eq!((&killed["exit_status"], &killed["elapsed_ns"]), (&137.into(), &Value::Null), "{row}");
        assert_ne!(row["outcome"], "completed", "{row}");
        let message = row["message"].as_str().expect("words");
        assert!(message.ends_with("reader 2 of 3 ended with status 137"), "{message}");
    }
    assert_eq!(rows.len(), 3, "{run:?}");
}

#[test]
fn a_server_that_stalls_ends_each_run_with_readers_that_lost_it() {
    let home = Home::new();
    let (_, rows) = rows(&home, &study("kill -STOP $STARTED", "copy"), 23);
    assert_eq!(rows.len(), 3, "{rows:?}");
    for row in &rows {
        assert_eq!(row["outcome"], "lost", "{row}");
        assert_eq!(outcomes(row), ["lost"; 3], "{row}");
        assert!(row["readers"][0]["exit_status"] == 10, "{row}");
    }
}

#[test]
fn without_a_build_to_compare_with_the_row_says_how_to_give_one() {
    let home = Home::new();
    let words = ["lab", "run", "readers", "--repeats", "1", "--set", "readers=1", "--set", "files=one"];
    let more = ["--set", "stage=unoptimised", "--set", "size=1MiB", "--out", "rows.jsonl"];
    expect(&home.pump(&[&words[..], &more].concat()), 23, &["--set debug_pump=/path/to/pump"], "no build");
    let row = home.rows("rows.jsonl").pop().expect("one row");
    assert_eq!((&row["outcome"], &row["readers"]), (&"missing".into(), &Value::Null), "{row}");
    // This build will do: what is measured is not looked at here.
    let build = format!("debug_pump={}", env!("CARGO_BIN_EXE_pump"));
    let run = home.pump(&[&words[..], &more, &["--set", &build]].concat());
    expect(&run, 23, &["readers: 2 runs"], "the row of the first run is kept, and of this build is one more");
    let last = home.rows("rows.jsonl").pop().expect("a row");
    assert_eq!((&last["outcome"], &last["readers"][0]["bytes"]), (&"completed".into(), &(1 << 20).into()));
}
