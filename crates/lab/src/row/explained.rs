//! What `pump explain` predicted of a copy and what it then saw, and how far rows with both are apart.
//!
//! Must not know: how a prediction is made, how rows are read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::judge::stats;

/// The prediction's goal (issue "The lab"): within so many percent of the copy that follows.
const WITHIN_PERCENT: f64 = 10.0;

/// The fields of an explanation's report. The page ROWS.md says what they mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedRow {
    /// Speed that the parts allow; null if none could be measured.
    pub predicted_bytes_per_second: Option<f64>,
    /// Speed of the copy.
    pub observed_bytes_per_second: f64,
    /// CPU time that the parts cost for each byte.
    pub predicted_ns_per_byte: Option<f64>,
    /// CPU time that the copy cost for each byte.
    pub observed_ns_per_byte: f64,
    /// By how much the faster of the two is faster than the other.
    pub error_percent: Option<f64>,
    /// Time that was spent besides the copy.
    pub added_ns: u64,
}

/// How good the predictions of these runs are, in words; none without predictions.
pub fn words<'rows>(explained: impl Iterator<Item = &'rows ExplainedRow>) -> Option<String> {
    let (mut errors, mut added_ns) = (Vec::new(), 0);
    for it in explained {
        errors.extend(it.error_percent);
        added_ns = added_ns.max(it.added_ns);
    }
    let median = stats::median(&errors)?;
    let worst = errors.iter().copied().fold(0.0, f64::max);
    let (all, within) = (errors.len(), errors.iter().filter(|error| **error <= WITHIN_PERCENT).count());
    Some(format!(
        "{within} of {all} predictions were within {WITHIN_PERCENT} % of the copy that followed, median {median:.1} %, \
         worst {worst:.1} %; an explanation added at most {:.1} s to the copy",
        added_ns as f64 / 1e9
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predictions_are_judged_together() {
        let one =
            |error_percent, added_ns| ExplainedRow { error_percent, added_ns, ..ExplainedRow::default() };
        let some =
            [one(Some(1.0), 5_000_000_000), one(Some(12.0), 1), one(None, 7_040_000_000), one(Some(2.0), 1)];
        let said = words(some.iter()).expect("predictions");
        let expected = "2 of 3 predictions were within 10 % of the copy that followed, median 2.0 %, worst 12.0 %; an \
                        explanation added at most 7.0 s to the copy";
        assert_eq!(said, expected);
        assert_eq!(words([one(None, 1)].iter()), None);
        assert_eq!(words([].iter()), None);
    }
}
