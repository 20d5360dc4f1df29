//! Rates of applications on a path, in words.
//!
//! Must not know: how it was computed.

use std::collections::BTreeMap;
use std::fmt::Write;

use datapump::units::bytes_words;

use super::{ApplicationCell, ApplicationRates};
use crate::judge::stats::IntervalVerdict;
use crate::study::Level;

/// All cells, those of one path and stack below each other.
pub fn applications_words(cells: &[ApplicationCell]) -> String {
    let (mut text, mut last) = (String::new(), None);
    for cell in cells {
        if last.replace(&cell.asked) != Some(&cell.asked) {
            // Writing to text cannot fail.
            let _ = writeln!(text, "{}", case_words(&cell.asked));
        }
        let _ = writeln!(text, "  {}", cell_words(cell));
        for reason in &cell.reasons {
            let _ = writeln!(text, "    {reason}");
        }
    }
    text
}

fn case_words(asked: &BTreeMap<String, Level>) -> String {
    asked.iter().map(|(name, level)| format!("{name} {level}")).collect::<Vec<_>>().join(", ")
}

fn cell_words(cell: &ApplicationCell) -> String {
    let mut parts: Vec<String> = cell.sizes.iter().map(rates_words).collect();
    parts.extend(cell.overhead_s.zip(cell.rate_bytes_per_s).map(|(overhead_s, rate)| {
        let range = cell.overhead_s_interval.map(|[low, high]| format!(" ({low:.2} to {high:.2})"));
        format!("o = {overhead_s:.2} s{} at {:.0} Mbit/s", range.unwrap_or_default(), mbit(rate))
    }));
    parts.extend(cell.share_of_probe.map(|share| format!("{:.0} % of the probe", 100.0 * share)));
    if cell.beside_probe == Some(IntervalVerdict::Above) {
        parts.push("above the probe, which cannot be: too few probes, or more connections".into());
    }
    if parts.is_empty() {
        parts.push("no rate".into());
    }
    format!("{}: {}", cell.command, parts.join("; "))
}

fn rates_words(rates: &ApplicationRates) -> String {
    let (size, n) = (bytes_words(rates.size_bytes as u64), rates.n);
    let (least, most) = (mbit(rates.min_bytes_per_s), mbit(rates.max_bytes_per_s));
    format!("{size} {least:.0} to {most:.0} Mbit/s (n {n})")
}

fn mbit(bytes_per_s: f64) -> f64 {
    bytes_per_s / 125e3
}
