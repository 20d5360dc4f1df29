//! A level of a factor: a whole number or a word.
//!
//! Must not know: factors.

use std::cmp::Ordering;
use std::fmt;

use datapump::units::{parse_bytes, parse_duration};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};

/// A level of a factor. A word of digits and a number are the same level, however it was typed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Level {
    /// A whole number.
    Number(i64),
    /// Anything else.
    Word(String),
}

impl Level {
    /// Orders as people do: numbers and sizes by their value, then words.
    pub fn by_value(&self, other: &Level) -> Ordering {
        match (self.value(), other.value()) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.cmp(other),
        }
    }

    /// Whether it is a size with its unit.
    pub(crate) fn is_size(&self) -> bool {
        matches!(self, Level::Word(word) if parse_bytes(word).is_ok())
    }

    /// The number, the size in bytes, the time in nanoseconds, the rate in bits per second.
    pub(crate) fn value(&self) -> Option<f64> {
        self.quantity().map(|quantity| quantity.value)
    }

    /// The value with its unit: `64KiB`, `20ms`, `1Gbit`, `1/8`, `0.5`, `3`.
    pub(crate) fn quantity(&self) -> Option<LevelQuantity> {
        let quantity = |value, unit| Some(LevelQuantity { value, unit });
        let word = match self {
            Level::Number(number) => return quantity(*number as f64, ""),
            Level::Word(word) => word,
        };
        if let Ok(bytes) = parse_bytes(word) {
            quantity(bytes as f64, "bytes")
        } else if let Ok(time) = parse_duration(word) {
            quantity(time.as_nanos() as f64, "ns")
        } else if let Some(rate) = bits_per_s(word) {
            quantity(rate, "bit/s")
        } else if let Some((part, whole)) = word.split_once('/') {
            quantity(part.parse::<f64>().ok()? / whole.parse::<f64>().ok()?, "")
        } else {
            quantity(word.parse().ok()?, "")
        }
    }
}

/// The value of a level, with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LevelQuantity {
    pub value: f64,
    /// `bytes`, `ns`, `bit/s`, or none.
    pub unit: &'static str,
}

/// A rate as tc(8) writes it: `100Mbit`.
fn bits_per_s(word: &str) -> Option<f64> {
    let units = [("Gbit", 1e9), ("Mbit", 1e6), ("Kbit", 1e3)];
    units.iter().find_map(|(unit, scale)| Some(word.strip_suffix(unit)?.parse::<f64>().ok()? * scale))
}

impl From<&str> for Level {
    fn from(word: &str) -> Level {
        match word.parse() {
            // "007" and "+7" stay words: written back they would be another level.
            Ok(number) if i64::to_string(&number) == word => Level::Number(number),
            _ => Level::Word(word.into()),
        }
    }
}

impl From<i64> for Level {
    fn from(number: i64) -> Level {
        Level::Number(number)
    }
}

impl Default for Level {
    fn default() -> Level {
        Level::Word(String::new())
    }
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Number(number) => number.fmt(out),
            Level::Word(word) => word.fmt(out),
        }
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Level, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = Level;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a whole number or a word in quotes, such as 8, \"64KiB\" or \"0.5\"")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Level, E> {
                Ok(Level::Number(number))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Level, E> {
                i64::try_from(number).map(Level::Number).map_err(|_| E::custom("a number above 2^63"))
            }

            fn visit_bool<E: Error>(self, flag: bool) -> Result<Level, E> {
                Ok(Level::Word(flag.to_string()))
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Level, E> {
                Ok(Level::from(word))
            }
        }
        from.deserialize_any(Words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_same_level_however_it_was_typed() {
        for (json, level) in [
            ("8", Level::Number(8)),
            ("\"8\"", Level::Number(8)),
            ("\"-1\"", Level::Number(-1)),
            ("\"08\"", Level::Word("08".into())),
            ("\"64KiB\"", Level::Word("64KiB".into())),
            ("true", Level::Word("true".into())),
        ] {
            assert_eq!(serde_json::from_str::<Level>(json).expect(json), level, "{json}");
        }
        let error = serde_json::from_str::<Level>("0.5").expect_err("no whole number").to_string();
        assert!(error.contains("in quotes"), "{error}");
    }

    #[test]
    fn sizes_and_numbers_are_ordered_by_value() {
        for sorted in [
            &["0.5", "8", "16", "64KiB", "1MiB", "cp"][..],
            &["1/8", "1/2", "1", "none"],
            &["200us", "6ms", "20ms", "1s"],
            &["50Mbit", "100Mbit", "1Gbit"],
        ] {
            let mut levels: Vec<Level> = sorted.iter().rev().map(|word| Level::from(*word)).collect();
            levels.sort_by(Level::by_value);
            let words: Vec<String> = levels.iter().map(Level::to_string).collect();
            assert_eq!(words, sorted);
        }
        let unit = |word: &str| Level::from(word).quantity().map(|quantity| quantity.unit);
        assert_eq!(
            ["64KiB", "20ms", "1Gbit", "1/8", "cp"].map(unit),
            [Some("bytes"), Some("ns"), Some("bit/s"), Some(""), None]
        );
    }
}
