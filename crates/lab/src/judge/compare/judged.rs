//! The verdict on an estimate of the logarithm of A's value over B's, or why there is none.
//!
//! A verdict needs an interval without 1. An interval from a quarter to four times, of units that differ by a factor of
//! three from one to the next, shows nothing, not even that there is no difference. Must not know: rows, how an estimate
//! is made.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::judge::stats::{ComparisonVerdict, Estimate, Interval};
use crate::report::figures::figures;

/// An interval that contains 1 and spans more than this factor shows nothing if its units are noisy.
const FACTOR_MAX: f64 = 16.0;
/// Units (pairs or sessions) are noisy if one differs from the next by more than so many per cent.
const STEP_PERCENT_MAX: f64 = 200.0;

/// The difference for which the number of needed pairs is reported.
const SMALL_DIFFERENCE: f64 = 0.05;
/// A larger difference that could have been shown is no figure of use, and not printed.
const SHOWN_PERCENT_MAX: f64 = 100.0;

/// A ratio and what it shows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Judged {
    /// The verdict on B.
    pub verdict: ComparisonVerdict,
    /// A's value over B's: above 1 B is faster. Null if either has no run.
    pub ratio: Option<f64>,
    /// The lower end of its interval; null where there is none.
    pub ratio_low: Option<f64>,
    /// The upper end.
    pub ratio_high: Option<f64>,
    /// The smallest difference in per cent that as many runs, as noisy as these, show in nine of ten cases; null
    /// without an interval, and where the runs are too few to say.
    pub could_have_shown_percent: Option<f64>,
    /// Number of pairs, as noisy as these and no fewer, that show a difference of 5 % in nine of ten cases; null for
    /// sessions, and where the pairs do not differ.
    pub pairs_to_show_5_percent: Option<usize>,
    /// Why there is no verdict.
    pub why: Option<Unjudged>,
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unjudged {
    /// Fewer than three pairs of runs.
    TooFew,
    /// The rows do not have the metric.
    NotMeasured,
    /// A device or a clock of its own is a difference of its own (statement S49).
    OtherMachine,
    /// The rows name several hosts and do not say which machine each was.
    UnknownMachine,
    /// A side has rows of several builds: none of them is judged.
    SeveralBuilds,
    /// A side has rows of several kernels.
    SeveralKernels,
    /// The sides were measured apart, with fewer than three sessions on either; by how many per cent one session
    /// differs from the next, if a side has two.
    NotInterleaved(Option<f64>),
    /// The interval holds almost everything; by how many per cent one pair or session differs from the next.
    TooNoisy(f64),
}

impl fmt::Display for Unjudged {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Unjudged::TooFew => "too few runs",
            Unjudged::NotMeasured => "not measured",
            Unjudged::OtherMachine => "not the same machine; see --normalise",
            Unjudged::UnknownMachine => {
                "whether it is one machine is not known: several hosts, without machine_id; see --normalise"
            }
            Unjudged::SeveralBuilds => "a side has rows of several builds; see pump lab trend",
            Unjudged::SeveralKernels => "a side has rows of several kernels; see pump lab trend",
            Unjudged::NotInterleaved(Some(percent)) => {
                return write!(
                    out,
                    "not interleaved; one session differs from the next by {percent:.1} % here"
                );
            }
            Unjudged::NotInterleaved(None) => {
                "not interleaved; how much one session differs from the next is not known here"
            }
            Unjudged::TooNoisy(percent) => {
                return write!(out, "too noisy; a run differs from the next by {} % here", figures(*percent));
            }
        })
    }
}

impl Unjudged {
    /// Whether more runs or sessions would give a verdict.
    pub(super) fn is_of_runs(self) -> bool {
        matches!(self, Unjudged::TooFew | Unjudged::NotInterleaved(_))
    }
}

impl Serialize for Unjudged {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl JsonSchema for Unjudged {
    fn schema_name() -> Cow<'static, str> {
        "Unjudged".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl Judged {
    /// The verdict on an estimate of so many pairs (0 of sessions); one differs from the next by `step_percent`. Values
    /// that do not differ at all say nothing of what others could show.
    pub(crate) fn from_estimate(
        estimate: Estimate,
        pairs: usize,
        step_percent: Option<f64>,
        alpha: f64,
    ) -> Judged {
        let Interval { low, high } = estimate.interval(alpha);
        let percent = |log: f64| log.exp_m1() * 100.0;
        let has_spread = step_percent.is_some_and(|percent| percent > 0.0);
        let could_have_shown_percent = estimate.could_have_shown(alpha).filter(|_| has_spread).map(percent);
        let five_percent = SMALL_DIFFERENCE.ln_1p();
        let says_nothing = (high - low).exp() > FACTOR_MAX;
        let noise_percent = step_percent.filter(|&percent| says_nothing && percent > STEP_PERCENT_MAX);
        let (verdict, why) = if low <= 0.0 && high >= 0.0 {
            match noise_percent {
                Some(percent) => (ComparisonVerdict::CannotBeJudged, Some(Unjudged::TooNoisy(percent))),
                None => (ComparisonVerdict::NoDifferenceShown, None),
            }
        } else if low > 0.0 {
            (ComparisonVerdict::Faster, None)
        } else {
            (ComparisonVerdict::Slower, None)
        };
        Judged {
            verdict,
            ratio: Some(estimate.center.exp()),
            ratio_low: Some(low.exp()),
            ratio_high: Some(high.exp()).filter(|high| high.is_finite()),
            could_have_shown_percent: could_have_shown_percent.filter(|percent| percent.is_finite()),
            pairs_to_show_5_percent: (pairs > 0 && has_spread)
                .then(|| estimate.count_to_show(five_percent, pairs, alpha))
                .flatten(),
            why,
        }
    }

    pub(crate) fn none(ratio: Option<f64>, why: Unjudged) -> Judged {
        Judged {
            verdict: ComparisonVerdict::CannotBeJudged,
            ratio,
            ratio_low: None,
            ratio_high: None,
            could_have_shown_percent: None,
            pairs_to_show_5_percent: None,
            why: Some(why),
        }
    }

    /// The interval of the ratio.
    pub fn interval(&self) -> Option<Interval> {
        self.ratio_low.zip(self.ratio_high).map(|(low, high)| Interval { low, high })
    }

    /// The verdict in words; with what could have been shown, or why there is none.
    pub fn words(&self) -> String {
        let is_undecided = self.verdict == ComparisonVerdict::NoDifferenceShown;
        let could = is_undecided.then(|| self.could_words()).flatten();
        let why = self.why.map(|why| format!(": {why}"));
        format!("{}{}", self.verdict.words(), could.or(why).unwrap_or_default())
    }

    /// What could have been shown, in words. Of values that do not differ that is not known.
    fn could_words(&self) -> Option<String> {
        let percent = self.could_have_shown_percent;
        let could = match percent {
            Some(percent) if percent <= SHOWN_PERCENT_MAX => {
                format!("could have shown {} %", figures(percent))
            }
            None if self.spans_percent() <= SHOWN_PERCENT_MAX => return None,
            _ => format!("even {SHOWN_PERCENT_MAX} % could not have been shown"),
        };
        let is_coarse = percent.is_none_or(|percent| percent > SMALL_DIFFERENCE * 100.0);
        let pairs = self.pairs_to_show_5_percent.filter(|_| is_coarse);
        let pairs = pairs.map_or(String::new(), |pairs| format!("; {pairs} pairs show 5 %"));
        Some(format!(" ({could}{pairs})"))
    }

    /// By how many per cent the upper end of the interval is above the lower one.
    fn spans_percent(&self) -> f64 {
        self.interval().map_or(f64::INFINITY, |it| (it.high / it.low - 1.0) * 100.0)
    }

    /// Whether there is a verdict.
    pub fn is_judged(&self) -> bool {
        self.verdict != ComparisonVerdict::CannotBeJudged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_that_nobody_looks_for_is_no_figure() {
        let of = |could: Option<f64>, high: Option<f64>, pairs| Judged {
            verdict: ComparisonVerdict::NoDifferenceShown,
            ratio: Some(0.6),
            ratio_low: Some(0.5),
            ratio_high: high,
            could_have_shown_percent: could,
            pairs_to_show_5_percent: pairs,
            why: None,
        };
        for (judged, words) in [
            (of(Some(3.0), Some(1.1), Some(9)), " (could have shown 3.00 %)"),
            (of(Some(30.0), Some(1.1), Some(90)), " (could have shown 30.0 %; 90 pairs show 5 %)"),
            (
                of(Some(40147.0), Some(7.0), Some(9000)),
                " (even 100 % could not have been shown; 9000 pairs show 5 %)",
            ),
            (of(Some(40147.0), Some(7.0), None), " (even 100 % could not have been shown)"),
            (of(None, None, None), " (even 100 % could not have been shown)"),
            (of(None, Some(2.0), None), " (even 100 % could not have been shown)"),
            (of(None, Some(0.5), None), ""),
        ] {
            assert_eq!(judged.words(), format!("no difference shown{words}"));
        }
    }
}
