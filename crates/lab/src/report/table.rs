//! A summary as text: a table of cells, and a sentence for every ratio.
//!
//! Must not know: how the figures were computed.

use std::collections::BTreeSet;
use std::fmt;

use crate::judge::compare::Unjudged;
use crate::judge::stages::StagePair;
use crate::judge::stats::{ComparisonVerdict, Interval};
use crate::report::fastest::fastest_lines;
use crate::report::figures;
use crate::report::summary::{BaselineRatio, CellSummary, StudySummary, Summary};
use crate::study::{MTU, StudyResult};

impl fmt::Display for Summary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, study) in self.studies.iter().enumerate() {
            let gap = if index > 0 { "\n" } else { "" };
            write!(out, "{gap}{study}")?;
        }
        Ok(())
    }
}

impl fmt::Display for StudySummary {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fixed: Vec<String> =
            self.fixed().iter().map(|(name, level)| format!(", {name} {level}")).collect();
        writeln!(out, "{}: {} runs{}", self.study, self.runs, fixed.concat())?;
        for program in &self.absent {
            writeln!(out, "{program} is not installed here: a report without it counts for nothing")?;
        }
        write!(out, "\n{}", Table(self.rows()))?;
        let fastest = fastest_lines(self);
        if !fastest.is_empty() {
            writeln!(out)?;
            fastest.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        }
        let ratios = self.ratio_lines();
        if !ratios.is_empty() {
            let interval = self.ratio_interval_words();
            writeln!(out, "\n{}, mean of the rounds' ratios [{interval}]:", self.ratio_head())?;
            ratios.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        }
        let remarks = self.remarks();
        if !remarks.is_empty() {
            writeln!(out)?;
        }
        remarks.iter().try_for_each(|remark| writeln!(out, "note: {remark}"))
    }
}

impl StudySummary {
    /// Confidence of the intervals of ratios, and how many hold at once.
    pub(crate) fn ratio_interval_words(&self) -> String {
        match self.ratios_at_once {
            0 | 1 => "95 % interval".into(),
            all => format!("95 % interval, for all {all} at once"),
        }
    }

    /// What a ratio to a baseline is.
    pub(crate) fn ratio_head(&self) -> String {
        match self.compared_result() {
            Some(result) if !["time", "bandwidth"].contains(&result.name.as_str()) => {
                format!("times as good by {}", result.label)
            }
            _ => "times as fast".into(),
        }
    }

    fn factors(&self) -> Vec<&String> {
        let names: BTreeSet<&String> = self.cells.iter().flat_map(|cell| cell.asked.keys()).collect();
        names.into_iter().collect()
    }

    /// Factors with one level: said once.
    pub(crate) fn fixed(&self) -> Vec<(&String, String)> {
        let levels =
            |name: &str| -> BTreeSet<String> { self.cells.iter().map(|cell| level(cell, name)).collect() };
        let fixed = |name: &'_ String| levels(name).pop_first().filter(|_| levels(name).len() == 1);
        self.factors().into_iter().filter_map(|name| Some((name, fixed(name)?))).collect()
    }

    pub(crate) fn varied(&self) -> Vec<&String> {
        let fixed = self.fixed();
        self.factors().into_iter().filter(|name| !fixed.iter().any(|(other, _)| other == name)).collect()
    }

    /// The table, head first. The first result that has a value has its interval and its deviation beside it.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let is_filled =
            |result: &&StudyResult| self.cells.iter().any(|cell| cell.results.contains_key(&result.name));
        let results: Vec<&StudyResult> = self.results.iter().filter(is_filled).collect();
        let varied = self.varied();
        let heads = results.iter().enumerate().flat_map(|(at, result)| {
            let besides: &[&str] = if at == 0 { &["95 % interval", "deviation"] } else { &[] };
            let own = figures::head(&result.label, &result.unit);
            std::iter::once(own).chain(besides.iter().map(|words| words.to_string()))
        });
        let head = varied.iter().map(|name| name.to_string()).chain(["n".into()]).chain(heads);
        let cells = self.cells.iter().map(|cell| {
            let levels = varied.iter().map(|name| level(cell, name)).chain([cell.completed.to_string()]);
            let figures =
                results.iter().enumerate().flat_map(|(at, result)| result_entries(cell, result, at == 0));
            levels.chain(figures).collect()
        });
        without_empty_columns(std::iter::once(head.collect()).chain(cells).collect())
    }

    fn ratio_lines(&self) -> Vec<String> {
        let with = |cell: &CellSummary, ratio: &BaselineRatio| {
            let own: Vec<String> = self.varied().into_iter().map(|name| level(cell, name)).collect();
            let other: Vec<String> = ratio.baseline.values().map(ToString::to_string).collect();
            let drop = if ratio.baseline.contains_key(MTU) { drop_words(ratio) } else { String::new() };
            format!("{} / {}: {}{drop}", own.join(" "), other.join(" "), ratio_words(ratio))
        };
        let pairs = self.cells.iter().flat_map(|cell| cell.shown_ratios().map(move |ratio| (cell, ratio)));
        pairs.map(|(cell, ratio)| with(cell, ratio)).collect()
    }

    pub(crate) fn remarks(&self) -> Vec<String> {
        let failures = self.cells.iter().filter(|cell| !cell.failed.is_empty()).map(|cell| {
            let levels: Vec<String> = cell.asked.values().map(ToString::to_string).collect();
            let counts: Vec<String> =
                cell.failed.iter().map(|(class, count)| format!("{count} {class}")).collect();
            let message = cell.message.as_deref().map_or(String::new(), |words| format!(" ({words})"));
            format!("{}: failed runs: {}{message}", levels.join(" "), counts.join(", "))
        });
        let stages = self.stages.iter().filter_map(StagePair::words);
        failures.chain(stages).chain(self.notes.iter().cloned()).collect()
    }
}

fn level(cell: &CellSummary, name: &str) -> String {
    cell.asked.get(name).map_or(String::new(), ToString::to_string)
}

/// The median of a result, and, of the first one, its interval and its deviation.
fn result_entries(cell: &CellSummary, result: &StudyResult, is_first: bool) -> Vec<String> {
    let sample = cell.results.get(&result.name);
    let shown = |value: f64| figures::of_unit(value, &result.unit);
    let entry = |value: Option<f64>| value.map_or(String::new(), shown);
    let median = entry(sample.map(|sample| sample.median));
    if !is_first {
        return vec![median];
    }
    let interval = sample.and_then(|sample| sample.interval);
    let interval = interval.map_or(String::new(), |it| format!("{} .. {}", shown(it.low), shown(it.high)));
    vec![median, interval, entry(sample.and_then(|sample| sample.standard_deviation))]
}

/// Columns without any entry below their head are left out.
fn without_empty_columns(rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let filled: Vec<bool> =
        (0..rows[0].len()).map(|at| rows[1..].iter().any(|row| !row[at].is_empty())).collect();
    let keep = |row: Vec<String>| row.into_iter().zip(&filled).filter(|(_, keep)| **keep).map(|(it, _)| it);
    rows.into_iter().map(|row| keep(row).collect()).collect()
}

fn ratio_words(ratio: &BaselineRatio) -> String {
    let BaselineRatio { pairs, judged, band, .. } = ratio;
    let band = band.filter(|band| judged.interval() != Some(*band));
    let band = band.map(|it| format!(", equal runs [{:.2}..{:.2}]", it.low, it.high)).unwrap_or_default();
    let interval = match judged.interval() {
        Some(Interval { low, high }) => format!("[{low:.2}..{high:.2}], n = {pairs}"),
        None => format!("(n = {pairs}, too few for an interval)"),
    };
    let verdict = match (judged.verdict, judged.why) {
        (ComparisonVerdict::Faster | ComparisonVerdict::Slower, _) => String::new(),
        (verdict, Some(Unjudged::TooFew)) => format!(", {}", verdict.words()),
        _ => format!(", {}", judged.words()),
    };
    format!("{:.2} {interval}{band}{verdict}", judged.ratio.unwrap_or(f64::NAN))
}

/// What of the baseline's rate is lost, in percent.
fn drop_words(ratio: &BaselineRatio) -> String {
    let percent = |ratio: f64| 100.0 * (1.0 - ratio);
    let lost = percent(ratio.judged.ratio.unwrap_or(f64::NAN));
    let interval = ratio.judged.interval();
    let interval = interval.map(|it| format!(" [{:.1}..{:.1}]", percent(it.high), percent(it.low)));
    format!("; a drop of {lost:.1} %{}", interval.unwrap_or_default())
}

/// Columns as wide as their widest entry, figures to the right.
pub struct Table(pub Vec<Vec<String>>);

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.0.first().map_or(0, Vec::len);
        let width = |at: usize| self.0.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.0 {
            let padded: Vec<String> =
                row.iter().zip(&widths).map(|(entry, width)| format!("{entry:>width$}")).collect();
            writeln!(out, "{}", padded.join("  "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{COMPLETED, ReaderRow, Row};
    use std::collections::BTreeMap;

    fn row(command: &str, repeat: u32, elapsed_ns: u64) -> Row {
        let level = |word: &str| word.into();
        Row {
            v: 1,
            study: "peers".into(),
            asked: BTreeMap::from([("command".into(), level(command)), ("size".into(), level("1GiB"))]),
            repeat,
            outcome: COMPLETED.into(),
            bytes: 1 << 30,
            elapsed_ns,
            machine_cpu_ns: Some(250_000_000),
            cpus: 2,
            baselines: vec![BTreeMap::from([("command".into(), level("cp"))])],
            ..Row::default()
        }
    }

    #[test]
    fn the_table_reads_like_this() {
        let rounds =
            (0..5).flat_map(|round| [row("cp", round, 2_000_000_000), row("pump", round, 1_000_000_000)]);
        let mut rows: Vec<Row> = rounds.collect();
        rows.push(Row { outcome: "io".into(), message: Some("exit status: 1".into()), ..row("cp", 5, 1) });
        rows[0].absent = vec!["mbuffer".into()];
        let expected = "\
peers: 11 runs, size 1GiB
mbuffer is not installed here: a report without it counts for nothing

command  n    time     95 % interval  deviation  bandwidth, MB/s  CPU time for a byte, whole machine, ns/byte
   pump  5  1.00 s  1.00 s .. 1.00 s       0 ns             1074                                        0.233
     cp  5  2.00 s  2.00 s .. 2.00 s       0 ns              537                                        0.233

times as fast, mean of the rounds' ratios [95 % interval]:
  pump / cp: 2.00 [2.00..2.00], n = 5

note: cp 1GiB: failed runs: 1 io (exit status: 1)
";
        assert_eq!(Summary::from_rows(&[rows]).to_string(), expected);
    }

    /// The study `disks` printed no ratio at all: each of its cells is the baseline of some factor.
    #[test]
    fn a_baseline_of_one_factor_is_compared_in_another() {
        let case = |pattern: &str, file_system: &str, repeat, elapsed_ns| {
            let asked = |levels: &[(&str, &str)]| -> BTreeMap<String, crate::study::Level> {
                levels.iter().map(|(name, level)| (name.to_string(), (*level).into())).collect()
            };
            let all = [("pattern", pattern), ("file_system", file_system)];
            let baselines = vec![asked(&[("pattern", "sequential")]), asked(&[("file_system", "here")])];
            Row { asked: asked(&all), baselines, ..row("", repeat, elapsed_ns) }
        };
        let round = |round| {
            let here =
                [case("sequential", "here", round, 1_000_000), case("random", "here", round, 2_000_000)];
            here.into_iter().chain([case("random", "xfs", round, 8_000_000)])
        };
        let text = Summary::from_rows(&[(0..5).flat_map(round).collect()]).to_string();
        let ratios: Vec<&str> = text.lines().filter(|line| line.contains(" / ")).map(str::trim).collect();
        assert_eq!(ratios.len(), 2, "{text}");
        for words in ["here random / sequential: 0.50", "xfs random / here: 0.25"] {
            assert!(ratios.iter().any(|ratio| ratio.starts_with(words)), "{words}: {text}");
        }
    }

    /// The published rates: 1735 Mbit/s alone, 1218 and 1400 beside packets of 1500 and 9000 bytes (statement S69).
    #[test]
    fn what_a_disk_loses_beside_packets_is_told_in_percent_beside_equal_runs() {
        let case = |mtu: &str, control: &str, repeat, rate: f64| {
            let levels = [("mtu", mtu), ("control", control)];
            let asked = |levels: &[(&str, &str)]| -> BTreeMap<String, crate::study::Level> {
                levels.iter().map(|(name, level)| (name.to_string(), (*level).into())).collect()
            };
            // Every round has a speed of its own.
            let elapsed_ns = (1e12 / rate * (1.0 + f64::from(repeat) / 10.0)) as u64;
            let baselines = vec![asked(&[("mtu", "none"), ("control", "a")])];
            // The run is as long as it takes to lay a cable.
            let writer =
                ReaderRow { outcome: COMPLETED.into(), elapsed_ns: Some(elapsed_ns), ..ReaderRow::default() };
            let with_cable = elapsed_ns + if mtu == "none" { 0 } else { 2_000_000_000 };
            let row = row("", repeat, with_cable).with_readers(vec![writer]);
            Row { asked: asked(&levels), baselines, ..row }
        };
        let round = |round| {
            let of = |mtu, control, rate| case(mtu, control, round, rate);
            let beside = [of("1500", "a", 1218.0), of("9000", "a", 1400.0)];
            beside.into_iter().chain([of("none", "a", 1735.0), of("none", "b", 1735.0)])
        };
        let rows: Vec<Row> = (0..5).flat_map(round).collect();
        let text = Summary::from_rows(&[rows]).to_string();
        for words in [
            "a 1500 / a none: 0.70 [0.70..0.70], n = 5, equal runs [1.00..1.00]; a drop of 29.8 % [29.8..29.8]",
            "a 9000 / a none: 0.81 [0.81..0.81], n = 5, equal runs [1.00..1.00]; a drop of 19.3 % [19.3..19.3]",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(text.contains("b none / a none: 1.00 ") && text.contains("a drop of "), "{text}");
    }

    /// A change inside the band of equal runs is no difference, whatever its own interval says; one outside is
    /// (statement S22).
    #[test]
    fn s22_a_change_is_claimed_only_outside_of_the_band_of_equal_runs() {
        let case = |soaker: &str, control: &str, repeat: u32, factor: f64| {
            let asked = |levels: &[(&str, &str)]| -> BTreeMap<String, crate::study::Level> {
                levels.iter().map(|(name, level)| (name.to_string(), (*level).into())).collect()
            };
            let baselines = vec![asked(&[("soaker", "off"), ("control", "a")])];
            let elapsed_ns = (1e9 * (1.0 + f64::from(repeat) / 10.0) * factor) as u64;
            Row {
                asked: asked(&[("soaker", soaker), ("control", control)]),
                baselines,
                ..row("", repeat, elapsed_ns)
            }
        };
        let text = |equal: f64, slower: f64| {
            // Equal runs are up to so far apart, to either side; the soaker slows by a known part, in all rounds.
            let round = |round: u32| {
                let apart = 1.0 + (equal - 1.0) * if round.is_multiple_of(2) { 1.0 } else { -1.0 };
                [case("off", "a", round, 1.0), case("off", "b", round, apart), case("on", "a", round, slower)]
            };
            Summary::from_rows(&[(0..8).flat_map(round).collect()]).to_string()
        };
        let inside = text(1.1, 1.05);
        assert!(
            inside.contains("a on / a off: 0.95 [0.95..0.95], n = 8, equal runs [0.90..1.12], no difference"),
            "{inside}"
        );
        let outside = text(1.01, 1.05);
        assert!(
            outside.contains("a on / a off: 0.95 [0.95..0.95], n = 8, equal runs [0.99..1.01]\n"),
            "{outside}"
        );
    }

    #[test]
    fn what_reads_took_is_a_column_where_it_was_kept() {
        let read = |ns: u64| Row {
            latency_ns: Some(serde_json::json!({"source": {"p50": ns, "p99": 20 * ns}, "sink": null})),
            ..row("pump", 0, 1_000_000_000)
        };
        let rows = [100_000, 300_000, 200_000].map(read).to_vec();
        let text = Summary::from_rows(&[rows]).to_string();
        let [head, figures] = ["a read's median", "200"].map(|word| {
            let line = text.lines().find(|line| line.contains(word));
            line.unwrap_or_else(|| panic!("{word}: {text}"))
        });
        assert!(head.contains("99 % of reads") && figures.contains("4.00 ms"), "{text}");
        assert!(!Summary::from_rows(&[vec![row("cp", 0, 1)]]).to_string().contains("read's median"));
    }

    /// Kept rows: what a study declares is a column of `view`, and so of its page, and in the JSON form.
    #[test]
    fn every_result_of_a_built_in_study_is_a_column() {
        for study in crate::study::builtin::STUDIES {
            let path = format!("{}/../../bench/{}.jsonl", env!("CARGO_MANIFEST_DIR"), study.name);
            let Ok(summary) = crate::view(&[path.into()], false) else { continue };
            let Some(summary) = summary.studies.iter().find(|it| it.study == study.name) else { continue };
            let head = summary.rows().remove(0);
            let json = serde_json::to_value(summary).expect("JSON");
            for result in crate::report::summary::results::declared_by(study.text) {
                let column = figures::head(&result.label, &result.unit);
                assert!(head.contains(&column), "{}: {column}: {head:?}", study.name);
                let cells = json["cells"].as_array().expect("cells");
                let sample = cells.iter().map(|cell| &cell["results"][&result.name]).find(|it| !it.is_null());
                assert!(
                    sample.is_some_and(|it| it["n"].as_u64() > Some(0)),
                    "{}: {}",
                    study.name,
                    result.name
                );
            }
        }
    }

    #[test]
    fn few_rounds_show_no_difference() {
        let text = Summary::from_rows(&[vec![row("cp", 0, 2_000_000_000), row("pump", 0, 1_000_000_000)]])
            .to_string();
        assert!(
            text.contains("pump / cp: 2.00 (n = 1, too few for an interval), cannot be judged"),
            "{text}"
        );
        assert!(!text.contains("note:") && !text.contains("interval  "), "{text}");
    }
}
