//! The rule by which a study ends: once its intervals are narrow, and not after a fixed number of rounds.
//!
//! Must not know: rows, how an interval is made.

use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};

use super::{Study, StudyError};
use crate::judge::stats::VALUES_MIN;

/// An interval takes at least so many runs.
const AT_LEAST_MIN: u32 = 3;
const AT_LEAST: u32 = 5;
const AT_MOST: u32 = 50;

/// When a study has enough rounds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StopRule {
    /// The width of every interval, as a part of its figure, must be below this.
    #[serde(deserialize_with = "part", serialize_with = "percent")]
    pub narrower_than: f64,
    /// The figure.
    #[serde(default)]
    pub of: StopFigure,
    /// It is not looked at before so many rounds.
    #[serde(default = "at_least")]
    pub at_least: u32,
    /// There are no more rounds than this.
    #[serde(default = "at_most")]
    pub at_most: u32,
}

/// The figure whose interval must be narrow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopFigure {
    /// The median time of every cell.
    #[default]
    Elapsed,
    /// The ratio of every cell to every baseline.
    Ratio,
}

fn at_least() -> u32 {
    AT_LEAST
}

fn at_most() -> u32 {
    AT_MOST
}

/// Reads `3%`.
fn part<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let word = String::deserialize(from)?;
    let percent = word.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent.filter(|percent| *percent > 0.0 && *percent <= 100.0) {
        Some(percent) => Ok(percent / 100.0),
        None => Err(D::Error::custom(format!("'{word}' is no part of a figure; write for example \"3%\""))),
    }
}

/// Writes `3%`, so that it is read as the same number.
fn percent<S: Serializer>(part: &f64, to: S) -> Result<S::Ok, S::Error> {
    let near = part * 100.0;
    let rounded = (0..16).map(|places| format!("{near:.places$}"));
    let same = |word: &String| word.parse::<f64>().is_ok_and(|percent| percent / 100.0 == *part);
    to.serialize_str(&format!("{}%", rounded.into_iter().find(same).unwrap_or(near.to_string())))
}

/// Checks the rule against the study.
pub fn check(study: &Study) -> Result<(), StudyError> {
    let Some(rule) = study.stop else { return Ok(()) };
    let most = rule.at_least.max(VALUES_MIN as u32);
    let wrong = |key: &str, words: String| Err(study.error(format!("stop.{key}"), words));
    match rule {
        StopRule { at_least, .. } if at_least < AT_LEAST_MIN => wrong(
            "at_least",
            format!(
                "{at_least} runs have no interval; write {AT_LEAST_MIN} or more, or fixed repeats instead of stop"
            ),
        ),
        StopRule { at_most, .. } if at_most < most => wrong(
            "at_most",
            format!("{at_most} rounds are too few for a narrow interval; write {most} or more"),
        ),
        _ if !study.results.is_empty() && study.results.iter().all(|result| result.better.is_none()) => {
            wrong(
                "of",
                "no result can be better; write better = \"less\" or \"more\" in the one it is about".into(),
            )
        }
        StopRule { of: StopFigure::Ratio, .. } if study.baselines.is_empty() => {
            wrong("of", "there is nothing to compare with; write baselines, or of = \"elapsed\"".into())
        }
        _ if study.exceptions.iter().any(|exception| exception.repeats.is_some()) => Err(study.error(
            "exception.repeats",
            "all cells are run until every interval is narrow; take this out, or stop",
        )),
        _ => Ok(()),
    }
}
