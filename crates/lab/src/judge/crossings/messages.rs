//! Rates and ceilings in words.
//!
//! Must not know: how they were computed.

use std::fmt::Write;

use datapump::units::rate_words;

use super::CrossingWay;

/// A line for each way, and one for each comparison of CPU times.
pub fn crossings_words(ways: &[CrossingWay]) -> String {
    let mut text = String::new();
    for way in ways {
        let [rate, ceiling] = [way.bytes_per_second, way.ceiling_bytes_per_second].map(rate_words);
        // Writing to text cannot fail.
        let _ = writeln!(
            text,
            "{}, {}: {rate}{} of at most {ceiling}{} (crosses memory {} times), n = {}: {} the ceiling; \
             CPU {:.3} ns/byte {}",
            way.moves,
            way.way,
            ends(way.bytes_per_second_interval),
            ends(way.ceiling_interval),
            way.crossings,
            way.n,
            way.beside_ceiling.words(),
            way.cpu_ns_per_byte,
            way.cpu_by.words()
        );
        for (other, verdict) in &way.cpu_beside_more {
            let _ = writeln!(
                text,
                "  its CPU time is {} that of {other}, which crosses more often",
                verdict.words()
            );
        }
    }
    text
}

fn ends(interval: Option<[f64; 2]>) -> String {
    let interval = interval.map(|ends| ends.map(|end| rate_words(end.max(0.0))));
    interval.map(|[low, high]| format!(" ({low} to {high})")).unwrap_or_default()
}
