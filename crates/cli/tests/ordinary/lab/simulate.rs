//! `pump lab simulate` as scripts meet it: figures, events and statuses.

use crate::support::schema;
use crate::support::{Home, Outcome, expect};

const HEADER: &str = "pool_buffers,source_latency_us,source_transfer_us,sink_latency_us,sink_transfer_us,requests,\
                      decision_period_requests,step_buffers";

fn depths(home: &Home, words: &[&str]) -> Outcome {
    home.pump(&[&["lab", "simulate", "depths"], words].concat())
}

#[test]
fn depths_of_the_reference_are_told_to_people_and_to_programs() {
    let home = Home::new();
    let run = depths(&home, &[]);
    expect(&run, 0, &[], "for people");
    for words in ["4 7 1 7 1 7 1 7 1 7 1 7", "and 489 changes more", "3 dynamic rules swing", "gains most"] {
        assert!(run.out.contains(words), "{words}: {}", run.out);
    }
    let run = depths(&home, &["--json"]);
    expect(&run, 0, &[], "for programs");
    let events = schema::checked(&run.out);
    assert_eq!(events.len(), 13);
    let grabs = &events[3];
    assert_eq!((&grabs["event"], &grabs["elapsed_s"]), (&"depths".into(), &38.973.into()));
    assert_eq!((&grabs["full_swings"], &grabs["oscillates"]), (&500.into(), &true.into()));
}

#[test]
fn a_table_of_ones_own_is_simulated_or_refused() {
    let home = Home::new();
    for (table, status, words) in [
        (format!("{HEADER}\n8,100,10,100,10,500,16,8\n"), 0, "\"decisions\":31"),
        (
            format!("{HEADER}\n1,100,10,100,10,500,16,8\n"),
            2,
            "t.csv, line 2: `pool_buffers` must be a whole number",
        ),
        ("pool\n8\n".into(), 2, "t.csv, line 1: no column `pool_buffers`"),
    ] {
        std::fs::write(home.path("t.csv"), table).expect("room");
        let run = depths(&home, &["--json", "--table", "t.csv"]);
        expect(&run, status, &[], words);
        assert!(run.out.contains(words), "{words}: {}", run.out);
        schema::checked(&run.out);
    }
    expect(&depths(&home, &["--table", "none.csv"]), 1, &["none.csv"], "no such table");
}

fn simulate(home: &Home, line: &str) -> Outcome {
    home.pump(&[&["lab", "simulate"], line.split(' ').collect::<Vec<_>>().as_slice()].concat())
}

/// The figure of the event before the report.
fn figure(home: &Home, line: &str, name: &str) -> f64 {
    let run = simulate(home, &format!("{line} --json"));
    expect(&run, 0, &[], line);
    let events = schema::checked(&run.out);
    assert_eq!(events.len(), 2, "{line}: {}", run.out);
    events[0][name].as_f64().unwrap_or_else(|| panic!("{line}: no {name}: {}", run.out))
}

#[test]
fn windows_are_simulated_as_the_published_tables_have_them() {
    let home = Home::new();
    for (line, name, expected, tolerance) in [
        ("response --stack reno --loss 1e-4", "mean_window_segments", 122.5, 0.03),
        ("response --stack highspeed --loss 1/100000", "mean_window_segments", 1795.0, 0.06),
        ("response --stack scalable --loss 1e-5", "mean_window_segments", 7489.0, 0.01),
        ("recovery --stack reno --rate 1Gbit --rtt 128ms --segment 1500", "recovery_s", 682.667, 1e-3),
        ("recovery --stack highspeed-table --rate 50Mbit --rtt 60ms", "recovery_s", 1.8, 0.04),
        ("recovery --stack scalable --rate 1Gbit --rtt 6.2ms", "recovery_s", 0.0868, 0.08),
        ("path --stack cubic --rate 100Mbit --rtt 50ms --duration 30s", "share_of_link", 0.95, 0.06),
        ("path --rate 1Gbit --rtt 180ms --buffer 6MiB --duration 20s", "bandwidth_bytes_per_s", 34.9e6, 0.1),
        (
            "sharing --stack reno,reno --rate 100Mbit --rtt 20ms --duration 60s --common-losses",
            "jain",
            1.0,
            0.05,
        ),
    ] {
        let got = figure(&home, line, name);
        assert!((got / expected - 1.0).abs() <= tolerance, "{line}: {name} is {got}, not {expected}");
    }
}

/// Statement S70: what is simulated, or computed from published tables, comes out the same to the last bit in every run.
/// Only the report's own times differ.
#[test]
fn s70_simulated_and_published_results_are_the_same_bit_by_bit() {
    let home = Home::new();
    let tables = concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/golden");
    for line in [
        "simulate depths".into(),
        "simulate response --stack reno --loss 1e-4".into(),
        "simulate response --stack cubic --loss 1e-5".into(),
        "simulate recovery --stack highspeed --rate 100Mbit --rtt 60ms".into(),
        "simulate path --stack cubic --rate 100Mbit --rtt 50ms --duration 20s --loss 1e-3 --seed 7".into(),
        "simulate sharing --stack reno,cubic --rate 50Mbit --rtt 20ms --duration 20s --seed 7".into(),
        format!("predict --golden {tables}"),
        format!("predict --pipeline {tables}/ref_pipeline.csv"),
    ] {
        for form in [&[][..], &["--json"]] {
            let results = || {
                let words: Vec<&str> = line.split(' ').collect();
                let run = home.pump(&[&["lab"], &words[..], form].concat());
                expect(&run, 0, &[], &line);
                let lines = run.out.lines().filter(|it| !it.contains("\"event\":\"report\""));
                lines.map(String::from).collect::<Vec<_>>()
            };
            let first = results();
            assert!(!first.is_empty(), "{line}");
            assert_eq!(results(), first, "{line}");
        }
    }
}

#[test]
fn people_are_told_what_windows_do() {
    let home = Home::new();
    for (line, words) in [
        ("response --stack reno --loss 1e-4", "reno, one of 10000 segments lost: a mean window of 122"),
        ("recovery --stack scalable --rate 1Gbit --rtt 20ms", "Reno takes 16.667 s by its formula"),
        ("path --rate 10Mbit --rtt 20ms --duration 2s", "of the link; a mean window of"),
        ("sharing --stack reno --rtt 10ms,80ms --rate 50Mbit --duration 20s", "Jain's index is 0."),
        ("sharing --staged --stack cubic,cubic --rate 50Mbit --rtt 20ms --duration 9s", "3.0        6.0"),
    ] {
        let run = simulate(&home, line);
        expect(&run, 0, &[words], line);
    }
}

#[test]
fn a_path_that_cannot_be_is_refused_with_what_can() {
    let home = Home::new();
    for (line, words) in [
        ("response --stack bbr --loss 1e-4", "there are: reno, highspeed, highspeed-table, scalable, cubic"),
        ("response --stack reno --loss 2", "write for example 1e-5 or 1/100000"),
        ("response --stack reno --loss 0", "a loss rate must be from"),
        ("recovery --rate 1Mbit --rtt 1ms", "the window that fills the path must be from 4"),
        ("path --rate 100Gbit --duration 100h", "segments would be simulated"),
        ("path --rate 1Gbit --rtt 0ms", "a round trip must be from"),
        ("sharing --stack reno,cubic,reno --rtt 1ms,2ms", "3 stacks and 2 round trips"),
    ] {
        expect(&simulate(&home, line), 2, &[words], line);
    }
}
