//! What `pump explain` predicted of a copy and what it then saw, and how far rows with both are apart.
//!
//! Must not know: how a prediction is made, how rows are read.

use std::collections::BTreeMap;

use datapump::Report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::stats::{self, DEVIATE_95, Interval, MeanInterval};

/// The prediction's goal (issue "The lab"): within so many percent of the copy that follows.
const WITHIN_PERCENT: f64 = 10.0;

/// The fields of an explanation's report. The page ROWS.md says what they mean. Rows of older versions lack the intervals
/// and the copy that follows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedRow {
    /// Speed that the parts allow; null if none could be measured.
    pub predicted_bytes_per_second: Option<f64>,
    /// Lower end of the interval that contains the copy in 9 of 10 cases.
    pub predicted_bytes_per_second_low: Option<f64>,
    /// Its upper end.
    pub predicted_bytes_per_second_high: Option<f64>,
    /// Speed of the copy.
    pub observed_bytes_per_second: f64,
    /// Speed of a plain copy of the same ends, made after it by the same command; null without one.
    pub next_bytes_per_second: Option<f64>,
    /// CPU time that the parts cost for each byte.
    pub predicted_ns_per_byte: Option<f64>,
    /// Lower end of its 90 % interval.
    pub predicted_ns_per_byte_low: Option<f64>,
    /// Its upper end.
    pub predicted_ns_per_byte_high: Option<f64>,
    /// CPU time that the copy cost for each byte.
    pub observed_ns_per_byte: f64,
    /// By how much the faster of the two is faster than the other.
    pub error_percent: Option<f64>,
    /// Rounds of slices that the prediction was made from.
    pub rounds: Option<u64>,
    /// Time that was spent besides the copy.
    pub added_ns: u64,
}

impl ExplainedRow {
    /// This explanation with the speed of the plain copy that was made next.
    pub(crate) fn followed_by(self, copy: &Report) -> ExplainedRow {
        let speed = copy.bytes_moved as f64 * 1e9 / copy.elapsed_ns.max(1) as f64;
        ExplainedRow { next_bytes_per_second: (copy.exit_status == 0).then_some(speed), ..self }
    }

    /// Logarithm of the predicted speed over that of the copy.
    fn bias(&self) -> Option<f64> {
        let ratio = self.predicted_bytes_per_second? / self.observed_bytes_per_second;
        (ratio.is_finite() && ratio > 0.0).then(|| ratio.ln())
    }

    fn interval(&self) -> Option<Interval> {
        let ends = self.predicted_bytes_per_second_low.zip(self.predicted_bytes_per_second_high);
        ends.map(|(low, high)| Interval { low, high })
    }

    fn is_inside(&self) -> Option<bool> {
        Some(self.interval()?.contains(self.observed_bytes_per_second))
    }

    /// Half of the interval's width, in logarithms.
    fn half_width(&self) -> Option<f64> {
        let Interval { low, high } = self.interval()?;
        (low > 0.0).then(|| (high / low).ln() / 2.0)
    }

    /// Logarithm of the copy's speed over that of the one after it.
    fn step(&self) -> Option<f64> {
        let ratio = self.observed_bytes_per_second / self.next_bytes_per_second?;
        (ratio.is_finite() && ratio > 0.0).then(|| ratio.ln())
    }
}

/// How good the predictions of these runs are, in words, each run with its kind of ends; none without predictions.
pub fn words<'rows>(explained: impl Iterator<Item = (String, &'rows ExplainedRow)>) -> Option<String> {
    let mut kinds: Kinds<'_> = BTreeMap::new();
    explained.for_each(|(kind, it)| kinds.entry(kind).or_default().push(it));
    let all = || kinds.values().flatten().copied();
    let errors: Vec<f64> = all().filter_map(|it| it.error_percent).collect();
    let median = stats::median(&errors)?;
    let worst = errors.iter().copied().fold(0.0, f64::max);
    let (count, within) = (errors.len(), errors.iter().filter(|error| **error <= WITHIN_PERCENT).count());
    let added_ns = all().map(|it| it.added_ns).max().unwrap_or(0);
    let plain = format!(
        "{within} of {count} predictions were within {WITHIN_PERCENT} % of the copy that followed, median {median:.1} %, \
         worst {worst:.1} %; an explanation added at most {:.1} s to the copy",
        added_ns as f64 / 1e9
    );
    let sentences = [Some(plain), inside(&kinds), width(&kinds), bias(&kinds)];
    Some(sentences.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

type Kinds<'rows> = BTreeMap<String, Vec<&'rows ExplainedRow>>;

/// How many copies lay inside of their intervals; none without intervals.
fn inside(kinds: &Kinds<'_>) -> Option<String> {
    let judged: Vec<bool> = kinds.values().flatten().filter_map(|it| it.is_inside()).collect();
    let inside = judged.iter().filter(|it| **it).count();
    let outside = |(kind, rows): (&String, &Vec<&ExplainedRow>)| {
        let count = rows.iter().filter(|it| it.is_inside() == Some(false)).count();
        (count > 0).then(|| format!("{kind} {count}"))
    };
    let outside: Vec<String> = kinds.iter().filter_map(outside).collect();
    let outside =
        if outside.is_empty() { String::new() } else { format!(" (outside: {})", outside.join(", ")) };
    (!judged.is_empty())
        .then(|| format!("{inside} of {} copies lay inside of the 90 % interval{outside}", judged.len()))
}

/// The interval's width beside that with which one copy predicts the next: both are means over the kinds that have both.
fn width(kinds: &Kinds<'_>) -> Option<String> {
    let of_kind = |rows: &Vec<&ExplainedRow>| {
        let widths: Vec<f64> = rows.iter().filter_map(|it| it.half_width()).collect();
        let steps: Vec<f64> = rows.iter().filter_map(|it| it.step()).collect();
        Some((stats::mean(&widths)?, DEVIATE_95 * stats::standard_deviation(&steps)?))
    };
    let both: Vec<(&str, (f64, f64))> =
        kinds.iter().filter_map(|(kind, rows)| Some((kind.as_str(), of_kind(rows)?))).collect();
    let width = stats::mean(&both.iter().map(|(_, both)| both.0).collect::<Vec<_>>())?;
    let own = stats::mean(&both.iter().map(|(_, both)| both.1).collect::<Vec<_>>())?;
    let by_kind: Vec<String> = both
        .iter()
        .map(|(kind, (width, own))| format!("{kind} {:.0} and {:.0}", width * 100.0, own * 100.0))
        .collect();
    Some(format!(
        "it is ± {:.1} % wide, {:.2} times the ± {:.1} % with which one copy predicts the next ({})",
        width * 100.0,
        width / own,
        own * 100.0,
        by_kind.join(", ")
    ))
}

/// Bias of the predictions, over all and by kind; marks a kind whose whole interval is beyond 10 %.
fn bias(kinds: &Kinds<'_>) -> Option<String> {
    let mean = |rows: &mut dyn Iterator<Item = &&ExplainedRow>| {
        MeanInterval::from_values(&rows.filter_map(|it| it.bias()).collect::<Vec<_>>())
    };
    let percent = |log: f64| (log.exp() - 1.0) * 100.0;
    let shown = |it: MeanInterval| match it.ends() {
        Some([low, high]) => {
            let limit = (1.0 + WITHIN_PERCENT / 100.0).ln();
            let is_beyond = low > limit || high < -limit;
            let beyond = if is_beyond { ", beyond 10 %" } else { "" };
            format!("{:+.1} % ({:+.1} to {:+.1}{beyond})", percent(it.value), percent(low), percent(high))
        }
        None => format!("{:+.1} %", percent(it.value)),
    };
    let all = mean(&mut kinds.values().flatten())?;
    // Older rows have no intervals: no bias is printed for them.
    kinds.values().flatten().find_map(|it| it.interval())?;
    let by_kind: Vec<String> = kinds
        .iter()
        .filter_map(|(kind, rows)| Some(format!("{kind} {}", shown(mean(&mut rows.iter())?))))
        .collect();
    Some(format!("predicted over measured: {} over all, {}", shown(all), by_kind.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::stats::tests::deviate;
    use datapump_engine::sim::Random;

    #[test]
    fn predictions_are_judged_together() {
        let one =
            |error_percent, added_ns| ExplainedRow { error_percent, added_ns, ..ExplainedRow::default() };
        let some =
            [one(Some(1.0), 5_000_000_000), one(Some(12.0), 1), one(None, 7_040_000_000), one(Some(2.0), 1)];
        let said = words(some.iter().map(|it| ("disk".into(), it))).expect("predictions");
        let expected = "2 of 3 predictions were within 10 % of the copy that followed, median 2.0 %, worst 12.0 %; an \
                        explanation added at most 7.0 s to the copy";
        assert_eq!(said, expected);
        assert_eq!(words([("disk".into(), &one(None, 1))].into_iter()), None);
        assert_eq!(words([].into_iter()), None);
    }

    /// Ten rows of a kind whose copies vary by 5 %, predicted too high by `bias`, within ± `half` (logarithms).
    fn rows(kind: &str, bias: f64, half: f64) -> Vec<ExplainedRow> {
        let mut random = Random::seeded(3, kind);
        let mut copy = || 1e9 * (0.05 * deviate(&mut random)).exp();
        let row = |_| {
            let (observed, next, predicted) = (copy(), copy(), 1e9 * bias.exp());
            ExplainedRow {
                predicted_bytes_per_second: Some(predicted),
                predicted_bytes_per_second_low: Some(predicted * (-half).exp()),
                predicted_bytes_per_second_high: Some(predicted * half.exp()),
                observed_bytes_per_second: observed,
                next_bytes_per_second: Some(next),
                error_percent: Some(100.0 * (predicted / observed - 1.0).abs()),
                ..ExplainedRow::default()
            }
        };
        (0..10).map(row).collect()
    }

    fn said(kinds: &[(&str, f64, f64)]) -> String {
        let rows: Vec<(&str, Vec<ExplainedRow>)> =
            kinds.iter().map(|(kind, bias, half)| (*kind, rows(kind, *bias, *half))).collect();
        let all = rows.iter().flat_map(|(kind, rows)| rows.iter().map(move |row| (kind.to_string(), row)));
        words(all).expect("predictions")
    }

    #[test]
    fn coverage_width_and_bias_are_told_by_kind() {
        let good = said(&[("disk", 0.0, 0.15), ("memory", 0.0, 0.15)]);
        assert!(
            good.contains("20 of 20 copies lay inside of the 90 % interval; it is ± 15.0 % wide"),
            "{good}"
        );
        assert!(good.contains(" over all, disk ") && !good.contains("beyond"), "{good}");
        let high = said(&[("disk", 0.0, 0.15), ("memory", 0.25, 0.01)]);
        assert!(
            high.contains("10 of 20 copies lay inside of the 90 % interval (outside: memory 10)"),
            "{high}"
        );
        assert!(high.matches("beyond 10 %").count() == 1, "{high}");
        let (_, memory) = high.rsplit_once(", memory ").expect("by kind");
        assert!(memory.starts_with("+2") && memory.contains("beyond 10 %"), "{high}");
    }

    /// Ten steps between copies that vary by 5 % spread by 7 %: ± 11.6 %.
    #[test]
    fn the_width_is_set_beside_the_machines_own() {
        for (half, least, most) in [(0.116, 0.7, 1.5), (0.35, 2.0, 4.5)] {
            let text = said(&[("disk", 0.0, half), ("memory", 0.0, half)]);
            let times = text.split(" wide, ").nth(1).and_then(|rest| rest.split(" times").next());
            let times: f64 = times.and_then(|word| word.parse().ok()).expect("a number");
            assert!((least..most).contains(&times), "{half}: {text}");
        }
    }

    #[test]
    fn rows_of_before_have_no_interval() {
        let old = r#"{"predicted_bytes_per_second":2.0,"observed_bytes_per_second":4.5,"predicted_ns_per_byte":null,
            "observed_ns_per_byte":2,"error_percent":125.0,"added_ns":7}"#;
        let old: ExplainedRow = serde_json::from_str(old).expect("a row of before");
        assert_eq!((old.interval(), old.rounds, old.step()), (None, None, None));
        let said = words([("disk".into(), &old)].into_iter()).expect("a prediction");
        assert!(!said.contains("interval") && !said.contains("over measured"), "{said}");
    }
}
