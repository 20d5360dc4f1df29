//! `pump lab profile` and what is predicted from it, by the real binary on a real disk.

use crate::support::schema;
use crate::support::{Home, expect};
use serde_json::{Value, json};

const CHAIN: &str = "disk_source,pump,disk_sink";

fn event(home: &Home, words: &[&str]) -> Value {
    let run = home.pump(&[words, &["--json"]].concat());
    expect(&run, 0, &[], &format!("{words:?}"));
    let events = schema::checked(&run.out);
    events.into_iter().next().expect("an event")
}

/// A profile as the program writes it, without the minutes that it takes to make one.
fn made(home: &Home) -> Value {
    let size = |bytes: u64| {
        json!({ "request_size_bytes": bytes, "n": 3, "ns_per_byte": 0.1, "bytes_per_second": 2e9,
            "ns_per_byte_next": [0.9, 1.1], "bytes_per_second_next": [0.8, 1.2], "waits_per_request": 0.5 })
    };
    let component = |name: &str| {
        json!({ "component": name, "cb_ns_per_byte": 0.1, "cb_ns_per_byte_low": 0.09, "cb_ns_per_byte_high": 0.11,
            "cr_us_per_request": 1.0, "cr_us_per_request_low": 0.9, "cr_us_per_request_high": 1.1, "warning": null,
            "sizes": [size(65_536), size(1 << 20)] })
    };
    let machine = json!({ "host": "elsewhere", "cpu_model": "x", "cpus": 1, "kernel": "1",
        "file_system": "ext4", "disk": null });
    let names = ["pump", "network", "disk_source", "disk_sink"];
    let profile = json!({ "v": 3, "time": "2026-01-01T00:00:00Z", "version": "0.1.0",
        "machine": machine, "wakeup_us": null, "components": names.map(component) });
    std::fs::write(home.path("theirs.json"), profile.to_string()).expect("room");
    profile
}

#[test]
fn copies_are_predicted_from_a_profile() {
    let home = Home::new();
    made(&home);
    let words = ["lab", "predict", "--other-machine", "--profile=theirs.json", "--chain", CHAIN];
    let forecast = event(&home, &[&words[..], &["--request-size", "1MiB"]].concat());
    let rate = forecast["bytes_per_second"].as_f64().expect("a rate");
    assert!((rate / 1e9 - 1.0).abs() < 1e-12, "one disk reads and writes in turn: {forecast}");
    assert_eq!((&forecast["bottleneck"], &forecast["by"]), (&"disk".into(), &"sizes".into()), "{forecast}");
    let run = home.pump(&[&words[..], &["--request-size", "64KiB,2MiB"]].concat());
    expect(&run, 0, &["one device serves both ends", "64.0 KiB", "2.0 MiB", "line"], "words");
}

/// A forecast that is set against copies is the one that was stored before the first of them: its file is older than
/// their first sample, and the same to the byte afterwards.
#[test]
fn s29_a_forecast_is_older_than_its_copies_and_unaltered_by_them() {
    let home = Home::new();
    made(&home);
    let stored = || std::fs::read(home.path("theirs.json")).expect("it is there");
    let before = stored();
    let words = ["lab", "predict", "--other-machine", "--profile=theirs.json", "--chain", CHAIN];
    let alone = event(&home, &[&words[..], &["--request-size", "1MiB"]].concat());
    let copies = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/parts-and-whole.jsonl");
    let against = event(&home, &[&words[..], &["--against", copies]].concat());
    let time = |field: &str| against[field].as_str().unwrap_or_else(|| panic!("{field}: {against}"));
    assert_eq!(time("forecast_time"), "2026-01-01T00:00:00Z");
    assert!(time("forecast_time") < time("first_row_time"), "{against}");
    let sizes = against["sizes"].as_array().expect("sizes");
    let size = sizes.iter().find(|size| size["request_size_bytes"] == 1 << 20).expect("1 MiB");
    assert_eq!(size["predicted_bytes_per_second"], alone["bytes_per_second"], "{size}");
    assert_eq!(size["predicted_ns_per_byte"], alone["ns_per_byte"], "{size}");
    assert!(stored() == before, "the profile was written to");
}

/// Kept rows of parts and copies: a line for each size and one for all, and the status is their word.
#[test]
fn copies_are_judged_beside_predictions_from_parts_of_their_rounds() {
    let home = Home::new();
    let rows = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/parts-and-whole.jsonl");
    let run = home.pump(&["lab", "predict", "--judge", rows, "--json"]);
    let events = schema::checked(&run.out);
    let judged = events.first().expect("an event");
    let figures = judged["figures"].as_array().expect("figures");
    let of_all: Vec<&Value> = figures.iter().filter(|it| it["request_size_bytes"].is_null()).collect();
    assert!(of_all.len() >= 4, "bandwidth and CPU of two copies: {judged}");
    let holds = of_all.iter().all(|it| it["holds"] == true);
    assert_eq!(judged["holds"], holds, "{judged}");
    assert_eq!(run.status, if holds { 0 } else { 1 }, "{judged}");
    let words = home.pump(&["lab", "predict", "--judge", rows]);
    expect(&words, run.status, &["network-copy: CPU time", "next copy %", "hold;"], "words");
    std::fs::write(home.path("empty.jsonl"), "").expect("room");
    for (words, status, said) in [
        (&["--judge", "empty.jsonl"][..], 2, "the rows have no copies"),
        (&["--judge", "nothing.jsonl"], 1, "nothing.jsonl"),
        (&["--judge", rows, "--cpu", "soaker"], 1, "CPU time by the soaker"),
        (&["--judge", rows, "--profile=theirs.json", "--chain", CHAIN], 2, "cannot be used with"),
    ] {
        expect(&home.pump(&[&["lab", "predict"], words].concat()), status, &[said], &format!("{words:?}"));
    }
}

#[test]
fn a_profile_without_a_name_is_that_of_the_state_folder() {
    let home = Home::new();
    made(&home);
    let words =
        ["lab", "predict", "--other-machine", "--profile", "--chain", "pump", "--request-size", "1MiB"];
    let state = home.path("state").display().to_string();
    let predict = || home.pump_with(("PUMP_STATE_DIR", &state), &words);
    expect(&predict(), 1, &["state/profile.json; `pump lab profile` makes it"], "there is none");
    std::fs::create_dir(home.path("state")).expect("room");
    std::fs::rename(home.path("theirs.json"), home.path("state/profile.json")).expect("it is there");
    expect(&predict(), 0, &["1.0 MiB"], "there is one");
}

#[test]
fn what_does_not_fit_is_refused_with_a_hint() {
    let home = Home::new();
    made(&home);
    std::fs::write(home.path("empty.jsonl"), "").expect("room");
    for (words, status, said) in [
        (&["--profile=theirs.json", "--chain", CHAIN, "--request-size", "1MiB"][..], 1, "--other-machine"),
        (&["--profile=no-such.json", "--chain", CHAIN, "--request-size", "1MiB"], 1, "pump lab profile"),
        (&["--profile=empty.jsonl", "--chain", CHAIN, "--request-size", "1MiB"], 1, "is no profile"),
        (&["--other-machine", "--profile=theirs.json", "--chain", CHAIN], 2, "--request-size"),
        (
            &["--other-machine", "--profile=theirs.json", "--chain", "tape", "--request-size", "1MiB"],
            2,
            "'tape'",
        ),
        (
            &["--other-machine", "--profile=theirs.json", "--chain", CHAIN, "--against", "empty.jsonl"],
            1,
            "no run",
        ),
        (&["--profile=theirs.json", "--request-size", "1MiB"], 2, "--chain"),
    ] {
        let run = home.pump(&[&["lab", "predict"], words].concat());
        expect(&run, status, &[said], &format!("{words:?}"));
    }
}
