//! Round trips of networks, in words.
//!
//! Must not know: what they are of.

/// A round trip.
pub(super) fn ms_words(seconds: f64) -> String {
    match seconds * 1e3 {
        ms if ms >= 10.0 => format!("{ms:.0} ms"),
        ms if ms >= 0.1 => format!("{ms:.1} ms"),
        ms => format!("{:.0} µs", ms * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_units_of_networks() {
        for (seconds, words) in [(0.02, "20 ms"), (4e-5, "40 µs"), (1.5e-3, "1.5 ms")] {
            assert_eq!(ms_words(seconds), words);
        }
    }
}
