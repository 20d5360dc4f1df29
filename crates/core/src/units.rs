//! Sizes, rates and durations as people write and read them.
//!
//! `1MiB` is 1,048,576 bytes and `1MB` is 1,000,000; a number without a unit is refused, because half of the world's
//! tools read `1M` one way and half the other (fio's `4k` is 4096, its `4ki` 4000).
//!
//! Must not know: what the sizes are for.

pub(crate) mod closed_list;

use std::time::Duration;

const BINARY: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const DECIMAL: [(&str, u64); 6] = [
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
];

/// Reads a size such as `64KiB`, `1.5MB` or `65536B`, in bytes. The error says what is wrong and what to write.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start();
    let factor = factor_of(unit).ok_or_else(|| unit_hint(text, number, unit))?;
    scaled(number, factor).ok_or_else(|| format!("'{text}' is not a size; write for example 64KiB or 1MB"))
}

fn factor_of(unit: &str) -> Option<u64> {
    let binary = BINARY.iter().position(|&name| name == unit).map(|power| 1 << (10 * power));
    binary.or_else(|| DECIMAL.iter().find(|(name, _)| *name == unit).map(|&(_, factor)| factor))
}

fn unit_hint(text: &str, number: &str, unit: &str) -> String {
    if number.is_empty() {
        return format!("'{text}' is not a size; write for example 64KiB or 1MB");
    }
    let letter = unit.chars().next().map(|letter| letter.to_ascii_uppercase());
    match letter {
        Some(letter) if "KMGTP".contains(letter) => {
            let small = if letter == 'K' { 'k' } else { letter };
            let clear = format!("{number}{letter}iB (powers of 1024) or {number}{small}B (powers of 1000)");
            format!("'{text}' has no clear unit; write {clear}")
        }
        None => format!("'{text}' has no unit; write {text}B for bytes, or for example {text}KiB"),
        _ => format!("'{text}' has an unknown unit; write for example {number}KiB, {number}MB or {number}B"),
    }
}

/// `number * factor` without rounding surprises; `None` when it is no number or does not fit 64 bits.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let bytes = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    if fraction.is_empty() {
        return (!number.ends_with('.')).then_some(bytes);
    }
    let digits = fraction.get(..fraction.len().min(12))?;
    let part = u128::from(digits.parse::<u64>().ok()?) * u128::from(factor) / 10u128.pow(digits.len() as u32);
    bytes.checked_add(part as u64)
}

/// Reads a rate such as `100MiB` or `90Mbit` (per second; `/s` may follow), in bytes per second.
pub fn parse_rate(text: &str) -> Result<u64, String> {
    let text = text.strip_suffix("/s").unwrap_or(text);
    let Some(bits) = text.strip_suffix("bit") else {
        return parse_bytes(text).map_err(|hint| rate_hint(text).unwrap_or(hint));
    };
    let (number, factor) = match bits.char_indices().last() {
        Some((at, 'k' | 'K')) => (&bits[..at], 1_000),
        Some((at, 'M')) => (&bits[..at], 1_000_000),
        Some((at, 'G')) => (&bits[..at], 1_000_000_000),
        _ => (bits, 1),
    };
    scaled(number, factor)
        .map(|bits| bits / 8)
        .ok_or_else(|| format!("'{text}' is not a rate; write for example 90Mbit or 100MiB"))
}

/// What rsync's bare number, and `Mbps`, are here.
fn rate_hint(text: &str) -> Option<String> {
    if scaled(text, 1).is_some() {
        return Some(format!("'{text}' has no unit; write {text}KiB (rsync's {text}), or {text}B"));
    }
    let letters = ["kbps", "Kbps", "Mbps", "Gbps", "mbps", "gbps", "Kb", "Mb", "Gb"];
    let unit = letters.into_iter().find(|unit| text.ends_with(unit))?;
    let (number, letter) = (text.strip_suffix(unit)?, unit.chars().next()?.to_ascii_uppercase());
    scaled(number, 1)?;
    let small = if letter == 'K' { 'k' } else { letter };
    Some(format!("'{text}' has no clear unit; write {number}{small}bit (bits) or {number}{small}B (bytes)"))
}

/// Reads a duration such as `50us`, `250ms`, `3s` or `5m`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let ns = match unit {
        "us" => 1000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(format!("'{text}' is not a duration; write for example 250ms, 3s, 5m or 1h")),
    };
    let value = scaled(number, ns)
        .ok_or_else(|| format!("'{text}' is not a duration; write for example 250ms or 3s"))?;
    Ok(Duration::from_nanos(value))
}

/// A size for people: `1.0 GiB`, `64.0 KiB`, `10 B`.
pub fn bytes_words(bytes: u64) -> String {
    let power = (bytes.max(1).ilog2() / 10).min(BINARY.len() as u32 - 1);
    match power {
        0 => format!("{bytes} B"),
        _ => format!("{:.1} {}", bytes as f64 / (1u64 << (10 * power)) as f64, BINARY[power as usize]),
    }
}

/// A rate of bytes for people, in the units of their sizes: `230 MiB/s`, `1.25 GiB/s`, `12.5 KiB/s`.
pub fn rate_words(bytes_per_second: f64) -> String {
    let power = (bytes_per_second.max(1.0).log2() / 10.0).floor().clamp(0.0, BINARY.len() as f64 - 1.0);
    let value = bytes_per_second / 1024f64.powf(power);
    let decimals = match value {
        _ if power == 0.0 || value >= 100.0 => 0,
        _ if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {}/s", BINARY[power as usize])
}

/// The rate of a network for people: `1 Gbit/s`, `936 Mbit/s`.
pub fn bit_rate_words(bytes_per_second: f64) -> String {
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

/// A time for people: `0.03 s`, `5.4 s`, `12 min 4 s`, `3 h 20 min`.
pub fn time_words(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds.round() as u64 {
        _ if seconds < 0.995 => format!("{seconds:.2} s"),
        _ if seconds < 99.95 => format!("{seconds:.1} s"),
        whole if whole < 3600 => format!("{} min {} s", whole / 60, whole % 60),
        whole => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// `1 byte`, `2345 bytes`: for lines that programs read, too.
pub fn number_of(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `1 file`, `2,345 files`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", with_commas(count), if count == 1 { "" } else { "s" })
}

/// A whole number with commas between thousands: `1,073,741,824`.
pub fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_unit() {
        for (text, bytes) in [
            ("0B", 0),
            ("65536B", 65_536),
            ("4KiB", 4096),
            ("4kB", 4000),
            ("4KB", 4000),
            ("1MiB", 1_048_576),
            ("1MB", 1_000_000),
            ("1.5GiB", 1_610_612_736),
            ("10 GiB", 10_737_418_240),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn sizes_without_a_clear_unit_are_refused_with_a_hint() {
        for (text, hint) in [
            ("1M", "write 1MiB (powers of 1024) or 1MB (powers of 1000)"),
            ("4k", "write 4KiB (powers of 1024) or 4kB (powers of 1000)"),
            ("512", "write 512B for bytes"),
            ("", "write for example 64KiB"),
            ("4xyz", "unknown unit"),
            ("1..5MB", "is not a size"),
            ("99999999999PiB", "is not a size"),
            ("-1MB", "is not a size"),
        ] {
            let error = parse_bytes(text).expect_err(text);
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn rates_and_durations() {
        assert_eq!(parse_rate("90Mbit"), Ok(11_250_000));
        assert_eq!(parse_rate("1Gbit/s"), Ok(125_000_000));
        assert_eq!(parse_rate("100MiB/s"), Ok(104_857_600));
        assert!(parse_rate("fast").is_err());
        let refused = |text| parse_rate(text).unwrap_err();
        assert_eq!(refused("1000"), "'1000' has no unit; write 1000KiB (rsync's 1000), or 1000B");
        for (text, clear) in
            [("10Mbps", "10Mbit (bits) or 10MB"), ("1.5Gb/s", "1.5Gbit"), ("9kbps", "9kbit (bits)")]
        {
            assert!(refused(text).contains(clear), "{text}: {}", refused(text));
        }
        assert_eq!(parse_duration("50us"), Ok(Duration::from_micros(50)));
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert!(parse_duration("3").is_err());
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(bytes_words(1_073_741_824), "1.0 GiB");
        assert_eq!(bytes_words(10), "10 B");
        for (rate, words) in
            [(0.0, "0 B/s"), (900.4, "900 B/s"), (1024.0, "1.00 KiB/s"), (2.5e8, "238 MiB/s")]
        {
            assert_eq!(rate_words(rate), words);
        }
        for (bytes, words) in
            [(125e6, "1 Gbit/s"), (1e6, "8 Mbit/s"), (117e6, "936 Mbit/s"), (0.0, "0 bit/s")]
        {
            assert_eq!(bit_rate_words(bytes), words);
        }
        assert_eq!([0, 1, 2000].map(|count| number_of(count, "byte")), ["0 bytes", "1 byte", "2000 bytes"]);
        for (ms, words) in [(0, "0.00 s"), (30, "0.03 s"), (994, "0.99 s"), (999, "1.0 s"), (5_432, "5.4 s")]
        {
            assert_eq!(time_words(ms * 1_000_000), words);
        }
        for (s, words) in
            [(99, "99.0 s"), (100, "1 min 40 s"), (3_599, "59 min 59 s"), (12_000, "3 h 20 min")]
        {
            assert_eq!(time_words(s * 1_000_000_000), words);
        }
        assert_eq!(with_commas(1_073_741_824), "1,073,741,824");
        assert_eq!(with_commas(999), "999");
    }
}
