//! Numbers, sizes and labels as text of a drawing.
//!
//! Must not know: what they measure, where they are drawn.

use crate::report::chart::LineOrigin;

/// A longer label fills the drawing. The whole one is in the rows.
pub const LABEL_LETTERS_MAX: usize = 90;

const SIZES: [(&str, f64); 6] = [
    ("PiB", (1_u64 << 50) as f64),
    ("TiB", (1_u64 << 40) as f64),
    ("GiB", (1_u64 << 30) as f64),
    ("MiB", (1_u64 << 20) as f64),
    ("KiB", 1024.0),
    ("B", 1.0),
];

/// A number whose digits below `resolution` are left out: `0.25`, `16384`, `2.5e9`.
pub fn number(value: f64, resolution: f64) -> String {
    let size = value.abs();
    if size == 0.0 || size < resolution / 2.0 {
        return "0".into();
    }
    let exponent = size.log10().floor() as i32;
    let last = resolution.max(size * 1e-15).log10().floor() as i32;
    let behind = exponent.saturating_sub(last).clamp(0, 15);
    if (-4..7).contains(&exponent) {
        let places = (behind - exponent).max(0) as usize;
        return trimmed(&format!("{value:.places$}")).into();
    }
    let (digits, words) = (behind as usize, format!("{value:e}"));
    match format!("{value:.digits$e}").split_once('e') {
        Some((mantissa, exponent)) => format!("{}e{exponent}", trimmed(mantissa)),
        None => words,
    }
}

/// A number with up to four figures; whole ones have all of theirs.
pub fn figures(value: f64) -> String {
    number(value, value.abs() / 1e3)
}

/// A size in the unit in which it has the fewest digits: `4 KiB`, `1.5 MiB`.
pub fn bytes(value: f64, resolution: f64) -> String {
    let (unit, size) =
        SIZES.into_iter().find(|(_, size)| value.abs() >= size * 0.999_999).unwrap_or(("B", 1.0));
    match number(value / size, resolution / size) {
        zero if zero == "0" => zero,
        words => format!("{words} {unit}"),
    }
}

fn trimmed(words: &str) -> &str {
    if words.contains('.') { words.trim_end_matches('0').trim_end_matches('.') } else { words }
}

/// Text as letters that can be seen and that XML allows, without its middle where it is longer than `most` letters.
pub fn cut(words: &str, most: usize) -> String {
    // XML has no place for these two, escaped or not.
    let words = datapump::shown(words.as_bytes()).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    let count = words.chars().count();
    if count <= most {
        return words;
    }
    let tail = most / 3;
    let head: String = words.chars().take(most.saturating_sub(tail + 1)).collect();
    let tail: String = words.chars().skip(count - tail).collect();
    format!("{head}…{tail}")
}

/// Such text for kuva, which would read what lies between two dollar signs as a formula.
pub fn literal(words: &str, most: usize) -> String {
    cut(words, most).replace('$', "\\$")
}

/// An estimate that is rather too wide: which font a reader has is not known here.
pub fn width(words: &str, font_px: f64) -> f64 {
    let letter = |letter: char| if letter >= '\u{1100}' { 1.0 } else { 0.6 };
    words.chars().map(letter).sum::<f64>() * font_px
}

/// Where the values of a line come from, if they are not measured.
pub fn origin(origin: LineOrigin) -> &'static str {
    match origin {
        LineOrigin::Measured => "",
        LineOrigin::Published => "published",
        LineOrigin::Formula => "formula",
        LineOrigin::Forecast => "forecast",
    }
}
