//! Times, rates and figures for people.
//!
//! Must not know: what they measure.

/// A time in nanoseconds with three figures: `873 ns`, `2.00 ms`, `4.92 s`.
pub fn ns(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "µs")];
    match units.iter().find(|(size, _)| ns >= *size) {
        Some((size, unit)) => format!("{} {unit}", figures(ns / size)),
        None => format!("{} ns", figures(ns)),
    }
}

/// Whole seconds, minutes or hours: `11 s`, `6 min`, `2.5 h`.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        it if it < 100.0 => format!("{it:.0} s"),
        it if it < 6000.0 => format!("{:.0} min", it / 60.0),
        it => format!("{:.1} h", it / 3600.0),
    }
}

/// A rate in bytes per second.
pub fn rate(bytes_per_second: f64) -> String {
    datapump::units::rate_words(bytes_per_second)
}

/// A number with three figures, without an exponent: `0.0213`, `1.42`, `18.5`, `1358`.
pub fn figures(number: f64) -> String {
    let size = number.abs();
    let places = match size {
        it if it >= 99.95 || it == 0.0 => 0,
        it => (2 - it.log10().floor() as i32).clamp(0, 6) as usize,
    };
    format!("{number:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_figures() {
        for (number, words) in [
            (0.0, "0"),
            (0.02134, "0.0213"),
            (1.4159, "1.42"),
            (18.46, "18.5"),
            (99.97, "100"),
            (1358.4, "1358"),
            (-0.5, "-0.500"),
        ] {
            assert_eq!(figures(number), words);
        }
    }

    #[test]
    fn times_have_their_unit() {
        for (time, words) in [(23.0, "23.0 ns"), (1500.0, "1.50 µs"), (2e6, "2.00 ms"), (4.921e9, "4.92 s")]
        {
            assert_eq!(ns(time), words);
        }
        for (time, words) in [(11.2, "11 s"), (360.0, "6 min"), (9000.0, "2.5 h")] {
            assert_eq!(seconds(time), words);
        }
    }
}
