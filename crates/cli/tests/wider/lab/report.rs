//! The page of `pump lab report` in a real browser: the charts are drawn, nothing is refused, hostile rows run nothing.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Home, Outcome, expect, outcome};

const BROWSER: &str = "chromium";

/// The page as it is after its scripts ran, and what the browser said; none, with a printed reason, without a browser.
fn browsed(home: &Home, page: &Path) -> Option<Outcome> {
    let there = Command::new(BROWSER).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        eprintln!("not tested: {BROWSER} is not installed here");
        return None;
    }
    let profile = home.path("profile");
    let mut command = Command::new("timeout");
    command.args(["100", BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]);
    command.args(["--no-first-run", "--disable-background-networking", "--disable-component-update"]);
    command.args(["--disable-sync", "--disable-dev-shm-usage", "--window-size=1200,900"]);
    command.args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    command.arg(format!("file://{}", page.display())).stdin(Stdio::null());
    Some(outcome(command, b""))
}

fn row(command: &str, size: &str, repeat: u32) -> String {
    let hostile = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>";
    let (bytes, elapsed_ns) = (1 << 30, 900_000_000 + repeat * 9_000_000 + size.len() as u32 * 1000);
    serde_json::json!({
        "v": 1, "study": format!("copies {hostile}"), "asked": {"command": command, "request_size": size},
        "achieved": {}, "repeat": repeat, "seed": 1, "outcome": "completed", "bytes": bytes, "requests": 16384,
        "partial_returns": null, "elapsed_ns": elapsed_ns, "first_done_ns": null, "last_done_ns": null,
        "synced_ns": null, "user_ns": 200_000_000 + repeat, "system_ns": 300_000_000 / size.len(), "soaked_ns": null,
        "cpu_us_per_request": null, "waits_ns": null, "tcp": null, "host": hostile, "cpu_model": "x", "cpus": 2,
        "clock_source": "tsc", "kernel": "6", "file_system": "ext4", "cache_state": "cold", "load": 0.1,
        "version": "0.1.0", "command": hostile, "order": 0, "time": "2026-11-22T00:00:00Z",
        "baselines": [{"command": "cp"}],
    })
    .to_string()
}

fn sample(at: u64) -> String {
    serde_json::json!({
        "time_ns": at * 5_000_000, "connection": "127.0.0.1:1 > 127.0.0.1:2", "socket": at % 3,
        "cwnd_segments": 10 + at % 50, "rtt_us": 100 + at % 7, "retransmitted_segments": 0,
        "bytes_acked": at, "bytes_received": 0,
        "delivered_bytes_per_second": at * 1000,
    })
    .to_string()
    .replacen('{', "{\"v\":1,\"event\":\"tcp\",", 1)
}

#[test]
fn a_browser_draws_every_chart_and_runs_nothing_of_the_rows() {
    let home = Home::new();
    let sizes = ["4KiB", "64KiB", "1MiB", "8MiB"];
    let cells = sizes.iter().flat_map(|size| ["cp", "pump"].map(|command| (command, *size)));
    let rows: Vec<String> =
        cells.flat_map(|(command, size)| (0..5).map(move |repeat| row(command, size, repeat))).collect();
    let samples: Vec<String> = (0..100_000).map(sample).collect();
    std::fs::write(home.path("rows.jsonl"), rows.join("\n") + "\n").expect("room");
    std::fs::write(home.path("tcp.jsonl"), samples.join("\n") + "\n").expect("room");
    let made = home.pump(&["lab", "report", "rows.jsonl", "tcp.jsonl", "-o", "page.html"]);
    expect(&made, 0, &["1 studies, 40 runs (0 failed), 6 charts, 100000 samples of TCP"], "the page");
    let Some(seen) = browsed(&home, &home.path("page.html")) else { return };
    assert_eq!(seen.status, 0, "{}", seen.err);
    let (document, _) = seen.out.split_once('>').expect("an element");
    assert!(seen.out.contains("data-drawn=\"6\""), "not all was drawn: {document}: {}", seen.err);
    assert_eq!(seen.out.matches("<canvas").count(), 6, "a canvas for each chart");
    assert!(!seen.out.contains("<img") && !seen.out.contains("<title>taken"), "a row was run");
    // What the page itself says or is refused; other lines are about the browser.
    let told: Vec<&str> = seen.err.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(told, [""; 0]);
}
