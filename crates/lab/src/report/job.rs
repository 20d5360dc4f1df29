//! The report of a copy as a part of a page: what limited it, where the time of its lanes went, and its CPU time.
//!
//! Must not know: how the report was made, what else is on the page.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::add_figure;
use super::chart::{Chart, ChartKind, ChartLine};
use super::figures;
use super::page::html::Html;

/// Whether a file holds reports of jobs, by its first line.
pub fn is_report(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(br#"{"v":1,"event":"report","#)
}

/// Reads them. Lines of other events are left out: a log of `--json` has both.
///
/// Errors: a line that is no JSON.
pub fn read(path: &Path, bytes: &[u8]) -> anyhow::Result<Vec<Value>> {
    let mut reports = Vec::new();
    for (at, line) in bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let shown = || datapump::shown(path.as_os_str().as_encoded_bytes());
        let event: Value = serde_json::from_slice(line)
            .with_context(|| format!("{}, line {}: this is no report", shown(), at + 1))?;
        if event["event"] == "report" {
            reports.push(event);
        }
    }
    Ok(reports)
}

/// Adds one.
pub fn add(html: &mut Html, charts: &mut Vec<Chart>, name: &str, report: &Value) {
    html.heading(2, &format!("A copy: {name}"));
    html.paragraph(&message(report));
    for chart in [waits(report), cpu(report), bill(report)].into_iter().flatten() {
        add_figure(html, charts, chart);
    }
    let mut inside = Html::default();
    inside.lines(&serde_json::to_string_pretty(report).unwrap_or_default());
    html.folded("The whole report", inside);
}

fn message(report: &Value) -> String {
    let number = |name: &str| report[name].as_f64().unwrap_or(0.0);
    let (bytes, elapsed_ns) = (number("bytes"), number("elapsed_ns"));
    let rate = if elapsed_ns > 0.0 {
        format!(", {}", figures::rate(bytes * 1e9 / elapsed_ns))
    } else {
        String::new()
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let detail = &report["limited_detail"];
    let details: Vec<String> = ["why", "host"].iter().filter_map(|name| text(&detail[*name])).collect();
    let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    let limit =
        text(&report["limited_by"]).map_or(String::new(), |limit| format!("; limited by {limit}{details}"));
    format!(
        "{} in {}{rate}{limit}; status {}.",
        datapump::units::bytes_words(bytes.max(0.0) as u64),
        figures::ns(elapsed_ns),
        number("exit_status"),
    )
}

/// The time of all lanes, in parts: what they waited for, and their own CPU time.
fn waits(report: &Value) -> Option<Chart> {
    let waits = report["waits_ns"].as_object()?;
    let own = Some(("CPU time".to_owned(), report["lanes_cpu_ns"].as_f64()?));
    let waits = waits.iter().filter_map(|(name, ns)| Some((name.replace('_', " "), ns.as_f64()?)));
    let parts: Vec<(String, f64)> = own.into_iter().chain(waits).filter(|(_, ns)| *ns > 0.0).collect();
    let line = |(label, ns): (String, f64)| ChartLine {
        label,
        values: vec![Some(ns / 1e9)],
        ..ChartLine::default()
    };
    let lines: Vec<ChartLine> = parts.into_iter().map(line).collect();
    parts_of("waits", "Where the time of the lanes went", vec!["all lanes".into()], lines)
}

/// CPU time of each side, by mode.
fn cpu(report: &Value) -> Option<Chart> {
    let sides = [("this host", &report["cpu"]), ("the other host", &report["cpu_far"])];
    let sides: Vec<(&str, &Value)> = sides.into_iter().filter(|(_, cpu)| cpu.is_object()).collect();
    let line = |label: &str, field: &str| ChartLine {
        label: label.into(),
        values: sides.iter().map(|(_, cpu)| cpu[field].as_f64().map(|ns| ns / 1e9)).collect(),
        ..ChartLine::default()
    };
    let names = sides.iter().map(|(name, _)| (*name).to_owned()).collect();
    parts_of("cpu", "CPU time", names, vec![line("user mode", "user_ns"), line("kernel", "system_ns")])
}

/// CPU time of each side by stage, where there is a bill.
fn bill(report: &Value) -> Option<Chart> {
    let stages = report["bill"]["stages"].as_array()?;
    let text = |stage: &Value, name: &str| stage[name].as_str().unwrap_or_default().to_owned();
    let mut hosts: Vec<String> = stages.iter().map(|stage| text(stage, "host")).collect();
    hosts.dedup();
    let mut lines: Vec<ChartLine> = Vec::new();
    for stage in stages {
        let label = text(stage, "stage");
        let at = hosts.iter().position(|host| *host == text(stage, "host"))?;
        if !lines.iter().any(|line| line.label == label) {
            let values = vec![None; hosts.len()];
            lines.push(ChartLine { label: label.clone(), values, ..ChartLine::default() });
        }
        let line = lines.iter_mut().find(|line| line.label == label)?;
        line.values[at] = stage["cpu_seconds"].as_f64();
    }
    let names = hosts.iter().map(|host| if host.is_empty() { "this host".into() } else { host.clone() });
    parts_of("bill", "CPU time by stage", names.collect(), lines)
}

fn parts_of(name: &str, title: &str, x_names: Vec<String>, lines: Vec<ChartLine>) -> Option<Chart> {
    let lines: Vec<ChartLine> = lines
        .into_iter()
        .map(|line| ChartLine { label: datapump::shown(line.label.as_bytes()), ..line })
        .collect();
    (!lines.is_empty() && !x_names.is_empty()).then(|| Chart {
        name: name.into(),
        kind: ChartKind::Parts,
        title: title.into(),
        x_kind: "number",
        y_label: "s".into(),
        x_names: x_names.iter().map(|name| datapump::shown(name.as_bytes())).collect(),
        lines,
        ..Chart::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_report_has_its_limit_and_its_time_in_parts() {
        let report = json!({
            "v": 1, "event": "report", "exit_status": 0, "bytes": 1u64 << 30, "elapsed_ns": 2_000_000_000u64,
            "limited_by": "source", "limited_detail": {"why": "device", "host": "local"},
            "waits_ns": {"source": 1_500_000_000u64, "sink": 0, "rate_limit": 1_000_000_000u64},
            "lanes_cpu_ns": 500_000_000u64, "cpu": {"user_ns": 100_000_000u64, "system_ns": 400_000_000u64},
            "bill": {"stages": [
                {"host": "<b>", "stage": "read", "cpu_seconds": 0.1},
                {"host": "<b>", "stage": "write", "cpu_seconds": 0.2},
                {"host": "other", "stage": "write", "cpu_seconds": 0.3},
            ]},
        });
        let (mut html, mut charts) = (Html::default(), Vec::new());
        add(&mut html, &mut charts, "a < b", &report);
        for part in ["1.0 GiB in 2.00 s, 512 MiB/s; limited by source (device, local); status 0.", "a &lt; b"]
        {
            assert!(html.0.contains(part), "no {part} in {}", html.0);
        }
        assert!(!html.0.contains("<b>"));
        let names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
        assert_eq!(names, ["waits", "cpu", "bill"]);
        let labels: Vec<&str> = charts[0].lines.iter().map(|line| line.label.as_str()).collect();
        assert_eq!(labels, ["CPU time", "rate limit", "source"], "those that took time");
        assert_eq!(charts[2].lines[1].values, [Some(0.2), Some(0.3)]);
    }

    #[test]
    fn lines_of_other_events_are_left_out_and_what_is_no_json_is_said_with_its_line() {
        let path = Path::new("job.json");
        let report = "{\"v\":1,\"event\":\"report\",\"bytes\":1}\n";
        assert!(is_report(report.as_bytes()) && !is_report(b"{\"v\":1,\"event\":\"tcp\","));
        let both = format!("{report}{{\"v\":1,\"event\":\"progress\"}}\n{report}");
        assert_eq!(read(path, both.as_bytes()).expect("reports").len(), 2);
        let wrong = read(path, format!("{report}{{").as_bytes()).expect_err("cut").to_string();
        assert_eq!(wrong, "job.json, line 2: this is no report");
        let (mut html, mut charts) = (Html::default(), Vec::new());
        add(&mut html, &mut charts, "empty", &json!({"event": "report", "exit_status": 2}));
        assert!(html.0.contains("status 2") && charts.is_empty(), "{}", html.0);
    }
}
