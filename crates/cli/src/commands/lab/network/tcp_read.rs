//! `pump lab tcp-read`: sums up a time series of TCP connections.
//!
//! Must not know: how it was sampled, how it is judged.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, bail};
use datapump::units::bit_rate_words;
use datapump::{Operation, Status};
use datapump_lab::judge::traced::{TracedFlow, TracedLife, TracedPeriod, TracedSample, judge_series};
use serde::Deserialize;

use crate::args::TcpReadArguments;
use crate::commands::lab::{print_figures, refuse_input};
use crate::output::Output;
use crate::output::events::EventLine;

/// A line of a series; a line of anything else is refused.
#[derive(Deserialize)]
struct SeriesLine {
    event: String,
    #[serde(flatten)]
    sample: TracedSample,
}

/// Reads and judges. Gives the exit status.
pub fn tcp_read(arguments: &TcpReadArguments, output: &Output) -> i32 {
    let samples = match read(&arguments.file) {
        Ok(samples) => samples,
        Err(error) => return refuse_input(&error, Operation::Read, output),
    };
    let life = judge_series(samples, arguments.after.as_secs_f64(), arguments.periods);
    let flows = life.flows.iter().map(EventLine::TcpFlow);
    let events: Vec<_> = flows.chain(life.periods.iter().map(EventLine::TcpPeriod)).collect();
    print_figures(&events, &message(&life), Status::Done, output)
}

/// Errors: no such file, a line that is no sample, no samples.
fn read(path: &Path) -> anyhow::Result<Vec<TracedSample>> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("open {shown}"))?;
    let mut samples = Vec::new();
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        let line = line.with_context(|| format!("read {shown}"))?;
        let parsed = serde_json::from_str::<SeriesLine>(&line).ok().filter(|line| line.event == "tcp");
        let Some(line) = parsed else {
            bail!(
                "{shown}, line {number}: no sample of a connection; name a file of --tcp-trace or tcp-watch --out"
            );
        };
        samples.push(line.sample);
    }
    if samples.is_empty() {
        bail!("{shown}: it holds no samples");
    }
    Ok(samples)
}

fn message(life: &TracedLife) -> String {
    let flows = life.flows.iter().map(flow_words);
    let periods = life.periods.iter().filter(|it| it.bytes_per_s.len() > 1).map(period_words);
    let mut words = flows.chain(periods).collect::<Vec<_>>().join("\n");
    if life.flows.is_empty() {
        words = "no connection sent anything meanwhile".into();
    }
    words
}

fn flow_words(flow: &TracedFlow) -> String {
    let seconds = |time: Option<f64>| time.map_or("-".into(), |s| format!("{s:.2} s"));
    format!(
        "{}: {} for {:.1} s; window {:.1} segments (at most {}), delivered {:.1}; {} segments sent again, {} losses, \
         back after {}, from loss to loss {}",
        flow.connection,
        bit_rate_words(flow.bytes_per_s),
        flow.elapsed_s,
        flow.mean_window_segments,
        flow.most_window_segments,
        flow.delivered_window_segments,
        flow.retransmitted_segments,
        flow.losses,
        seconds(flow.recovery_s),
        seconds(flow.cycle_s),
    )
}

fn period_words(period: &TracedPeriod) -> String {
    let rates: Vec<_> = period.bytes_per_s.iter().map(|rate| bit_rate_words(*rate)).collect();
    let jain = period.jain.map_or("-".into(), |jain| format!("{jain:.3}"));
    format!("{:.1} s to {:.1} s: {}; Jain's index {jain}", period.from_s, period.until_s, rates.join(", "))
}
