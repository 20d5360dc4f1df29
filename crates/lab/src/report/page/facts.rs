//! Facts behind the figures of a study: machines, versions, commands, and the runs that failed.
//!
//! Must not know: medians, charts.

use std::collections::{BTreeMap, BTreeSet};

use super::html::Html;
use crate::row::Row;

/// A reader looks at the first few; a program reads the rows.
const COMMANDS_MAX: usize = 500;
const FAILURES_MAX: usize = 1000;

const MACHINE: [&str; 10] =
    ["host", "processor", "CPUs", "clock", "kernel", "file system", "cache", "pump", "runs", "when (UTC)"];
const FAILURE: [&str; 6] = ["when (UTC)", "round", "cell", "outcome", "message", "command"];

/// Adds them all.
pub fn add(html: &mut Html, rows: &[&Row]) {
    html.heading(3, "Where and when");
    html.table(&MACHINE, &machines(rows));
    let seeds: BTreeSet<String> = rows.iter().map(|row| row.seed.to_string()).collect();
    html.paragraph(&format!("Seed: {}.", seeds.into_iter().collect::<Vec<_>>().join(", ")));
    failures(html, rows);
    commands(html, rows);
}

fn machines(rows: &[&Row]) -> Vec<Vec<String>> {
    let mut machines: BTreeMap<[String; 8], Vec<&str>> = BTreeMap::new();
    for row in rows {
        let Row { host, cpu_model, clock_source, kernel, file_system, cache_state, version, .. } = row;
        let texts =
            [host, cpu_model, clock_source, kernel, file_system, cache_state, version].map(String::clone);
        let [host, cpu, clock, kernel, files, cache, version] = texts;
        let key = [host, cpu, row.cpus.to_string(), clock, kernel, files, cache, version];
        machines.entry(key).or_default().push(&row.time);
    }
    let entry = |(key, times): ([String; 8], Vec<&str>)| {
        let (first, last) = (times.iter().min().unwrap_or(&""), times.iter().max().unwrap_or(&""));
        key.into_iter().chain([times.len().to_string(), format!("{first} .. {last}")]).collect()
    };
    machines.into_iter().map(entry).collect()
}

fn failures(html: &mut Html, rows: &[&Row]) {
    let failed: Vec<&&Row> = rows.iter().filter(|row| !row.is_completed()).collect();
    if failed.is_empty() {
        return html.paragraph("No run failed.");
    }
    html.heading(3, &format!("{} failed runs, which are in no figure", failed.len()));
    let entry = |row: &&&Row| {
        let levels: Vec<String> = row.asked.iter().map(|(name, level)| format!("{name} {level}")).collect();
        let message = row.message.clone().unwrap_or_default();
        let (time, outcome, command) = (row.time.clone(), row.outcome.clone(), row.command.clone());
        vec![time, row.repeat.to_string(), levels.join(", "), outcome, message, command]
    };
    html.table(&FAILURE, &failed.iter().take(FAILURES_MAX).map(entry).collect::<Vec<_>>());
    left_out(html, failed.len(), FAILURES_MAX);
}

fn commands(html: &mut Html, rows: &[&Row]) {
    let mut commands: BTreeMap<&str, usize> = BTreeMap::new();
    rows.iter().for_each(|row| *commands.entry(&row.command).or_default() += 1);
    let entry = |(command, count): (&&str, &usize)| vec![count.to_string(), command.to_string()];
    let mut inside = Html::default();
    inside.table(&["runs", "command"], &commands.iter().take(COMMANDS_MAX).map(entry).collect::<Vec<_>>());
    left_out(&mut inside, commands.len(), COMMANDS_MAX);
    html.folded(&format!("{} commands", commands.len()), inside);
}

fn left_out(html: &mut Html, all: usize, shown: usize) {
    if all > shown {
        html.paragraph(&format!("{} more are left out here; the rows have them.", all - shown));
    }
}
