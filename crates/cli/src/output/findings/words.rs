//! Rates and round trips of networks, in words.
//!
//! Must not know: what is rated.

/// A rate of a network in bit/s.
pub(super) fn bit_words(bytes_per_second: f64) -> String {
    let bits = bytes_per_second * 8.0;
    let units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    let (size, unit) = units.into_iter().find(|(size, _)| bits >= *size).unwrap_or((1.0, "bit/s"));
    let number = bits / size;
    if number >= 100.0 || number.fract() < 0.05 {
        format!("{number:.0} {unit}")
    } else {
        format!("{number:.1} {unit}")
    }
}

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
    fn rates_and_times_have_the_units_of_networks() {
        for (bytes, words) in
            [(125e6, "1 Gbit/s"), (1e6, "8 Mbit/s"), (117e6, "936 Mbit/s"), (0.0, "0 bit/s")]
        {
            assert_eq!(bit_words(bytes), words);
        }
        for (seconds, words) in [(0.02, "20 ms"), (4e-5, "40 µs"), (1.5e-3, "1.5 ms")] {
            assert_eq!(ms_words(seconds), words);
        }
    }
}
