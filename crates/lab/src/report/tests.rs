//! What stands in a page, and that nothing in a row gets out of its place.

use std::collections::BTreeMap;

use super::*;
use crate::row::COMPLETED;
use crate::study::Level;

const HOSTILE: &str =
    "</script><script>alert(1)</script><!--<img src=x onerror=\"alert(2)\">\u{1b}[2J\0\u{202e}";

fn row(command: &str, size: &str, repeat: u32) -> Row {
    let asked = BTreeMap::from([
        ("command".into(), Level::from(command)),
        ("request_size".into(), Level::from(size)),
    ]);
    let scale = if size == "4KiB" { 3 } else { 1 };
    Row {
        v: 1,
        study: "copies".into(),
        asked,
        repeat,
        outcome: COMPLETED.into(),
        bytes: 1 << 30,
        elapsed_ns: 1_000_000_000 * scale + u64::from(repeat) * 7_000_000,
        user_ns: Some(100_000_000 * scale + u64::from(repeat)),
        system_ns: Some(200_000_000 * scale),
        requests: Some(1000),
        cpus: 2,
        host: "some-host".into(),
        kernel: "6.99".into(),
        version: "0.1.0".into(),
        command: format!("{command} a b"),
        time: format!("2026-11-22T00:00:{repeat:02}Z"),
        baselines: vec![BTreeMap::from([("command".into(), "cp".into())])],
        ..Row::default()
    }
}

fn rows() -> Vec<Row> {
    let sizes = ["4KiB", "64KiB", "1MiB"];
    let cells = sizes.iter().flat_map(|size| ["cp", "pump"].map(|command| (command, *size)));
    cells.flat_map(|(command, size)| (0..5).map(move |repeat| row(command, size, repeat))).collect()
}

fn page(rows: Vec<Row>) -> Page {
    Gathered { files: vec![rows], ..Gathered::default() }.page()
}

/// The data of the charts, as a browser would read them.
fn charts(page: &Page) -> serde_json::Value {
    let (_, rest) = page.html.split_once("id=\"charts\">").expect("data");
    serde_json::from_str(rest.split_once("</script>").expect("an end").0).expect("JSON")
}

#[test]
fn a_page_has_tables_ratios_fit_facts_and_charts() {
    let mut rows = rows();
    rows.push(Row { outcome: "io".into(), message: Some("exit status: 7".into()), ..row("cp", "4KiB", 9) });
    let page = page(rows);
    assert_eq!((page.studies, page.runs, page.failed_runs, page.charts), (1, 31, 1, 3));
    for part in [
        "<h2>copies</h2>",
        "31 runs, 1 of them failed; 0 torn lines",
        "<td>no difference shown</td>",
        "Cb ns/byte",
        "relative error",
        "some-host",
        "6.99",
        "pump a b",
        "exit status: 7",
        "2026-11-22T00:00:09Z",
        "<svg",
    ] {
        assert!(page.html.contains(part), "no {part}");
    }
    let charts = charts(&page);
    let titles: Vec<&str> =
        charts.as_array().expect("a list").iter().filter_map(|it| it["title"].as_str()).collect();
    assert_eq!(
        titles,
        [
            "bandwidth against request_size",
            "CPU time for a byte against request_size",
            "CPU time for a byte and its fit"
        ]
    );
    for at in 0..3 {
        assert!(page.html.contains(&format!("id=\"chart-{at}\"")));
    }
}

#[test]
fn hostile_rows_come_out_as_text() {
    let hostile = |row: Row| Row {
        study: HOSTILE.into(),
        asked: row
            .asked
            .iter()
            .map(|(name, level)| (name.clone(), level.clone()))
            .chain([(HOSTILE.into(), HOSTILE.into())])
            .collect(),
        host: HOSTILE.into(),
        cpu_model: HOSTILE.into(),
        kernel: HOSTILE.into(),
        command: HOSTILE.into(),
        time: HOSTILE.into(),
        message: Some(HOSTILE.into()),
        outcome: if row.repeat == 4 { HOSTILE.into() } else { row.outcome.clone() },
        absent: vec![HOSTILE.into()],
        ..row
    };
    let gentle = page(rows());
    let mut rows: Vec<Row> = rows().into_iter().map(hostile).collect();
    rows.iter_mut()
        .skip(20)
        .for_each(|row| row.asked = BTreeMap::from([("request_size".into(), HOSTILE.into())]));
    let page = page(rows);
    for element in ["<script", "</script", "<!--"] {
        let count = |page: &Page| page.html.matches(element).count();
        assert_eq!(count(&page), count(&gentle), "{element}");
    }
    // Two of the page, and one of each picture.
    let styles = |page: &Page| page.html.matches("<style").count();
    assert_eq!([styles(&page), styles(&gentle)], [&page, &gentle].map(|page| 2 + page.charts));
    assert!(!page.html.contains("<img"), "an element of a row");
    let control = |letter: char| (letter.is_control() && letter != '\n') || letter == '\u{202e}';
    let own = page.html.split_once("<script>").expect("the library").0;
    assert!(!own.contains(control), "control characters");
    charts(&page);
}

#[test]
fn nothing_is_loaded_and_only_known_scripts_run() {
    let page = page(rows());
    assert!(page.html.contains("content=\"default-src 'none'; script-src 'sha256-"));
    assert!(!page.html.contains("unsafe-inline") && !page.html.contains("unsafe-eval"));
    for attribute in [" src=", " href=", " style=\"", " onload="] {
        let body = page.html.split_once("<body>").expect("a body").1;
        let body = body.split_once("<script type=\"application/json\"").expect("an end").0;
        assert!(!body.contains(attribute), "{attribute}");
    }
}

#[test]
fn files_are_told_apart_and_torn_lines_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let lines: Vec<String> = rows().iter().map(|row| serde_json::to_string(row).expect("JSON")).collect();
    std::fs::write(path("rows.jsonl"), lines.join("\n") + "\n{\"v\":1,\"study\":\"cop").expect("room");
    let sample = |time_ns: u64, socket: u64| {
        let fields = serde_json::json!({
            "time_ns": time_ns, "connection": "a > <b>", "socket": socket, "cwnd_segments": 10, "rtt_us": 20,
            "retransmitted_segments": 0, "bytes_acked": 5, "bytes_received": 6, "delivered_bytes_per_second": 9,
        });
        fields.to_string().replacen('{', "{\"v\":1,\"event\":\"tcp\",", 1) + "\n"
    };
    std::fs::write(path("tcp.jsonl"), [sample(1, 1), sample(2, 2), sample(3, 1)].concat()).expect("room");
    let page = report(&[path("rows.jsonl"), path("tcp.jsonl")], TakenRows::default()).expect("a page");
    assert_eq!((page.runs, page.torn_lines, page.samples, page.charts), (30, 1, 3, 6));
    assert!(
        page.html.contains("bytes of a torn last line left out") && page.html.contains("a &gt; &lt;b&gt;")
    );
    let alone = report(&[path("tcp.jsonl")], TakenRows::default()).expect("a page");
    assert_eq!((alone.runs, alone.charts), (0, 3));
    std::fs::write(path("empty.jsonl"), "").expect("room");
    std::fs::write(path("notes"), "my notes\n").expect("room");
    for (name, part) in
        [("empty.jsonl", "there are no rows"), ("notes", "line 1: this is no row"), ("none", "read ")]
    {
        let error = format!("{:#}", report(&[path(name)], TakenRows::default()).expect_err(name));
        assert!(error.contains(part), "{name}: {error}");
    }
}
