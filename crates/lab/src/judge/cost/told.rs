//! Fits, predictions and statements as text: plain tables.
//!
//! Must not know: how the figures were computed.

use std::fmt;

use crate::judge::cost::chain::ChainPrediction;
use crate::judge::cost::fit::level_off::{LevelOff, Readers};
use crate::judge::cost::fit::{CostFit, Figure, SizeResult, Weighing};
use crate::judge::cost::golden::Statement;
use crate::judge::cost::groups::{Fit, Fits, GroupFit};
use crate::judge::cost::half_power::HalfPower;
use crate::judge::cost::pipeline::PipelineRow;
use crate::judge::stages::STAGE;
use crate::report::figures::figures;
use crate::report::table::Table;

impl fmt::Display for Fits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, group) in self.fits.iter().enumerate() {
            let gap = if index > 0 { "\n" } else { "" };
            write!(out, "{gap}{group}")?;
        }
        self.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
    }
}

impl fmt::Display for GroupFit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = self.side.map_or(String::new(), |side| format!(" of the {side} by its bill,"));
        let by = self.cpu_by.map_or(String::new(), |by| format!(", CPU time{side} {}", by.words()));
        match &self.fit {
            Fit::Cost(fit) => {
                writeln!(out, "{}: {} points{by}", self.name(), fit.points)?;
                if let Some(point) = &self.half_power {
                    writeln!(out, "  {}", half_power_words(point))?;
                }
                fit.fmt(out)
            }
            Fit::LevelOff(fit) => {
                // The levels of rows name the stage among others.
                let stage =
                    if self.asked.contains_key(STAGE) { "" } else { &format!(", stage {}", fit.stage) };
                writeln!(out, "{}{stage}: latency(n) = max(R1, n D)", self.name())?;
                fit.fmt(out)
            }
        }
    }
}

/// `half of 2.46 GiB/s from 64 KiB on (1.40 GiB/s)`.
fn half_power_words(point: &HalfPower) -> String {
    let rate = datapump::units::rate_words;
    let size = datapump::units::bytes_words(point.request_size_bytes as u64);
    let below = if point.is_smallest { ", the smallest, or below" } else { "" };
    format!("half of {} from {size} on{below} ({})", rate(point.full_bytes_per_s), rate(point.bytes_per_s))
}

impl fmt::Display for CostFit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "  Cb {}", figure_words(&self.cb_ns_per_byte, "ns/byte"))?;
        writeln!(out, "  Cr {}", figure_words(&self.cr_us_per_request, "µs/request"))?;
        if let Some(f) = &self.f_us_per_run {
            writeln!(out, "  F  {}: CPU = F + bytes x Cb + requests x Cr", figure_words(f, "µs/run"))?;
        }
        if self.weighing != Weighing::Unweighted {
            let (cb, cr) =
                (figures(self.published_cb_ns_per_byte), figures(self.published_cr_us_per_request));
            writeln!(out, "  {}; unweighted, as published: Cb {cb}, Cr {cr}", self.weighing.words())?;
        }
        let head = ["request size", "n", "ns/byte", "line", "error", "change", "95 % interval", ""];
        let rows = self.sizes.iter().map(size_row);
        write!(out, "\n{}", table_words(head, rows))?;
        self.warning.iter().try_for_each(|warning| writeln!(out, "warning: {warning}"))
    }
}

impl fmt::Display for LevelOff {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plateau = self
            .plateau_bytes_per_s
            .map_or(String::new(), |rate| format!(", plateau {}", datapump::units::rate_words(rate)));
        let (r1, d, knee) = (figures(self.r1_s), figures(self.d_s), figures(self.knee_readers));
        writeln!(out, "  R1 {r1} s, D {d} s, knee at {knee} readers{plateau}")?;
        let (best, error) = (figures(self.best_d_s), figures(self.best_worst_error_percent));
        let worst = figures(self.worst_error_percent);
        writeln!(out, "  worst error {worst} %; with the best D, {best} s, {error} %")?;
        let head = ["readers", "n", "latency s", "model s", "error"];
        let rows = self.readers.iter().map(readers_row);
        write!(out, "\n{}", table_words(head, rows))?;
        self.warning.iter().try_for_each(|warning| writeln!(out, "warning: {warning}"))
    }
}

fn figure_words(figure: &Figure, unit: &str) -> String {
    let Figure { value, low, high, standard_error } = *figure;
    let [value, low, high, error] = [value, low, high, standard_error].map(figures);
    format!("{value} {unit}, 95 % interval {low} .. {high}, standard error {error}")
}

fn percent(error: Option<f64>) -> String {
    error.map_or("-".into(), |error| format!("{error:+.1} %"))
}

fn size_row(size: &SizeResult) -> Vec<String> {
    let or_blank = |number: Option<f64>| number.map_or(String::new(), figures);
    let interval = size.change_ns_per_byte_low.zip(size.change_ns_per_byte_high);
    let of_run = size.run_bytes.map_or(String::new(), |bytes| format!(" of {}", size_words(bytes)));
    vec![
        size_words(size.request_size_bytes) + &of_run,
        size.n.to_string(),
        figures(size.observed_ns_per_byte),
        figures(size.predicted_ns_per_byte),
        percent(size.relative_error_percent),
        or_blank(size.change_ns_per_byte),
        interval.map_or(String::new(), |(low, high)| format!("{} .. {}", figures(low), figures(high))),
        size.change.unwrap_or_default().to_string(),
    ]
}

fn readers_row(readers: &Readers) -> Vec<String> {
    vec![
        readers.readers.to_string(),
        readers.n.to_string(),
        figures(readers.latency_s),
        figures(readers.predicted_s),
        percent(Some(readers.error_percent)),
    ]
}

/// `64 KiB` where it is whole, else bytes.
fn size_words(bytes: f64) -> String {
    let units = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let whole = units.iter().map(|(unit, power)| (unit, bytes / f64::from(1 << power)));
    match whole.into_iter().find(|(_, count)| *count >= 1.0 && count.fract() == 0.0) {
        Some((unit, count)) => format!("{count} {unit}"),
        None => format!("{bytes} B"),
    }
}

/// The predictions of a chain, a line for each request size.
pub fn chain_words(predictions: &[ChainPrediction]) -> String {
    let Some(first) = predictions.first() else { return String::new() };
    let (cb, cr) = (figures(first.cb_ns_per_byte), figures(first.cr_us_per_request));
    let head = ["request size", "ns/byte", "one CPU moves"];
    let rows = predictions.iter().map(|at| {
        let rate = (at.ns_per_byte > 0.0).then(|| datapump::units::rate_words(1e9 / at.ns_per_byte));
        vec![size_words(at.request_size_bytes as f64), figures(at.ns_per_byte), rate.unwrap_or("-".into())]
    });
    let table = table_words(head, rows);
    format!("{}: Cb {cb} ns/byte, Cr {cr} µs/request\n\n{table}", first.chain.join(" + "))
}

/// The rows of a table of pipelines.
pub fn pipeline_words(rows: &[PipelineRow]) -> String {
    let head = ["line", "request size", "requests", "elapsed s", "closed form s", "MB/s", "bottleneck"];
    let words = rows.iter().map(|row| {
        vec![
            row.line.to_string(),
            size_words(row.request_size_bytes as f64),
            row.requests.to_string(),
            format!("{:.9}", row.elapsed_s),
            format!("{:.9}", row.elapsed_closed_form_s),
            figures(row.bytes_per_s / 1e6),
            row.bottleneck.to_string(),
        ]
    });
    table_words(head, words)
}

/// `0.877`, `3.0e-9`.
fn error_words(error: f64) -> String {
    if error == 0.0 || error >= 1e-3 { format!("{error:.3}") } else { format!("{error:.1e}") }
}

/// A table with the first row as its head, without blanks at the ends of lines.
fn table_words<const N: usize>(head: [&str; N], rows: impl Iterator<Item = Vec<String>>) -> String {
    let table = Table(std::iter::once(head.map(String::from).into()).chain(rows).collect()).to_string();
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The statements, and how they came out.
pub fn golden_words(statements: &[Statement]) -> String {
    let line = |it: &Statement| {
        let verdict = if it.passed { "pass" } else { "FAIL" };
        let worst = it.worst_error.map_or("none".into(), error_words);
        let detail = if it.detail.is_empty() { String::new() } else { format!("; {}", it.detail) };
        format!(
            "{verdict} {:<4} {}: worst error {worst}, tolerance {} {}{detail}\n",
            it.statement,
            it.title,
            error_words(it.tolerance),
            it.unit
        )
    };
    let failed = statements.iter().filter(|it| !it.passed).count();
    let lines: String = statements.iter().map(line).collect();
    format!("{lines}{} of {} passed\n", statements.len() - failed, statements.len())
}

#[cfg(test)]
mod tests {
    use super::super::tests::golden;
    use super::super::{Model, PartsFile, fit_file};
    use super::*;

    #[test]
    fn a_fit_reads_like_this() {
        let fits = fit_file(&golden("datapump_table4_network_receiver.csv"), Model::Cost, false, None)
            .expect("a fit");
        let expected = "\
datapump_table4_network_receiver: 3 points
  Cb 43.5 ns/byte, 95 % interval 22.6 .. 64.4, standard error 1.65
  Cr -159 µs/request, 95 % interval -1189 .. 871, standard error 81.1

request size  n  ns/byte  line   error  change  95 % interval
      32 KiB  1     39.0  38.6  +0.9 %
      64 KiB  1     40.0  41.1  -2.7 %    1.00
     128 KiB  1     43.0  42.3  +1.7 %    3.00
warning: Cr is negative, and a request cannot cost less than nothing: its interval contains 0
";
        assert_eq!(fits.to_string(), expected);
    }

    #[test]
    fn a_level_off_reads_like_this() {
        let fits = fit_file(&golden("legion_1file_latency.csv"), Model::LevelOff, false, None).expect("fits");
        let text = fits.fits[0].to_string();
        for part in [
            "legion_1file_latency, stage unoptimized: latency(n) = max(R1, n D)\n",
            "  R1 4.47 s, D 1.72 s, knee at 2.60 readers, plateau 5.54 MiB/s\n",
            "  worst error 0.939 %; with the best D, 1.71 s, 0.641 %\n",
            "     10  1       17.0     17.2  -0.9 %\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_prediction_reads_like_this() {
        let parts = PartsFile::read(&golden("datapump_table8_components.csv")).expect("parts");
        let chain = ["disk_source", "pump", "disk_sink"].map(String::from);
        let expected = "\
disk_source + pump + disk_sink: Cb 2.10 ns/byte, Cr 139 µs/request

request size  ns/byte  one CPU moves
      64 KiB     4.22      226 MiB/s
       1 MiB     2.23      427 MiB/s
";
        assert_eq!(chain_words(&parts.predict(&chain, &[65_536, 1 << 20]).expect("known parts")), expected);
    }
}
