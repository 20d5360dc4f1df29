//! Times, rates and figures for people.
//!
//! Must not know: what they measure.

const BYTES_PER_MB: f64 = 1e6;

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

/// A value of a result. Times and bytes come with their unit.
pub fn of_unit(value: f64, unit: &str) -> String {
    match unit {
        "ns" => ns(value),
        "bytes" => datapump::units::bytes_words(value.max(0.0).round() as u64),
        "bytes/s" => figures(value / BYTES_PER_MB),
        _ => figures(value),
    }
}

/// The head of a column of such values: its label, and the unit that the values lack. A count has the unit 1.
pub fn head(label: &str, unit: &str) -> String {
    match unit {
        "ns" | "bytes" | "1" => label.into(),
        "bytes/s" => format!("{label}, MB/s"),
        _ => format!("{label}, {unit}"),
    }
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
    fn values_of_results_have_their_unit_or_their_column_has() {
        for (value, unit, words, head_words) in [
            (1500.0, "ns", "1.50 µs", "x"),
            (2048.0, "bytes", "2.0 KiB", "x"),
            (2.5e8, "bytes/s", "250", "x, MB/s"),
            (0.5, "ns/byte", "0.500", "x, ns/byte"),
            (7.0, "1", "7.00", "x"),
        ] {
            assert_eq!((of_unit(value, unit).as_str(), head("x", unit).as_str()), (words, head_words));
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
