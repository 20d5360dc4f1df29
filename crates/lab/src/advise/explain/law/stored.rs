//! The prediction as it is written down before the copy: a text that anybody can compute it from again, and its digest.
//!
//! Must not know: how parts are measured, what the copy did.

use std::fmt::Write;

use super::Prediction;
use crate::advise::explain::part::Part;

/// A prediction as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredPrediction {
    /// Lines of words and figures, each figure with all of its digits.
    pub text: String,
    /// BLAKE3 of the text, in hexadecimal digits.
    pub digest: String,
}

impl StoredPrediction {
    /// From the parts (means over the rounds), each round's prediction, and what comes of them.
    pub(in crate::advise::explain) fn new(
        parts: &[Part],
        rounds: &[(f64, f64)],
        prediction: &Prediction,
    ) -> StoredPrediction {
        let mut text = String::from("pump explain prediction 1\n");
        for part in parts {
            let Part { bytes_per_second, fixed_ns, cpu_ns_per_byte, .. } = part;
            let name = part.name.key();
            let _ = writeln!(
                text,
                "part {name} bytes_per_second {bytes_per_second} fixed_ns {fixed_ns} cpu_ns_per_byte {cpu_ns_per_byte}"
            );
        }
        for (speed, cost) in rounds {
            let _ = writeln!(text, "round bytes_per_second {speed} ns_per_byte {cost}");
        }
        let figures = [
            ("predicted_bytes_per_second", Some(prediction.predicted_bytes_per_second)),
            ("predicted_bytes_per_second_low", prediction.speed_interval.map(|it| it.low)),
            ("predicted_bytes_per_second_high", prediction.speed_interval.map(|it| it.high)),
            ("predicted_ns_per_byte", Some(prediction.predicted_ns_per_byte)),
            ("predicted_ns_per_byte_low", prediction.cost_interval.map(|it| it.low)),
            ("predicted_ns_per_byte_high", prediction.cost_interval.map(|it| it.high)),
        ];
        for (name, figure) in figures {
            if let Some(figure) = figure {
                let _ = writeln!(text, "{name} {figure}");
            }
        }
        let digest = blake3::hash(text.as_bytes()).to_hex().to_string();
        StoredPrediction { text, digest }
    }

    /// The first digits of the digest, for people.
    pub fn short(&self) -> &str {
        &self.digest[..16]
    }
}
