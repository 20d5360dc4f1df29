//! Results that a study declares: what it is about, each with a label, a unit, which way is better, and where in a row it
//! is found.
//!
//! A study without any has the usual ones of a copy. Must not know: how values of several runs are summed up or shown.

pub(crate) mod figures;
mod path;
pub(crate) mod published;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Study, StudyError};
pub(crate) use path::FieldPath;

/// Results that every study can name, and that one without `[[results]]` has.
const USUAL: &str = include_str!("results/usual.toml");

/// Which way a result is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// The less the better.
    Less,
    /// The more the better.
    More,
}

/// The one value for several: of the items of a list in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OneOfMany {
    /// Their median.
    #[default]
    Median,
    /// Their mean.
    Mean,
    /// Their sum.
    Sum,
    /// The least of them.
    Least,
    /// The greatest of them.
    Greatest,
}

/// A result as it is written in a study. With its name alone it is the usual one of that name.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyResult {
    /// The name in JSON and of figures.
    pub name: String,
    /// In heads of tables and at axes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// The unit of its values. `ns` and `bytes/s` are scaled where they are shown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Absent where neither way is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// The field of a row: `elapsed_ns`, `achieved.recovery_s`, `achieved.events[1:].elapsed_ns`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// The field that it is divided by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<String>,
    /// What it is multiplied by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<f64>,
    /// How each list on the way to the field becomes one value, the outermost first; the median where it is not said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<OneOfMany>,
}

/// A file of results.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultsFile {
    results: Vec<StudyResult>,
}

/// The usual results.
pub(crate) fn usual() -> Vec<StudyResult> {
    // A test reads it.
    toml::from_str::<ResultsFile>(USUAL).map_or(Vec::new(), |file| file.results)
}

/// The results as they are written, those with a name alone in full.
pub(super) fn in_full(written: Vec<StudyResult>) -> Vec<StudyResult> {
    let usual = usual();
    let full = |result: StudyResult| {
        let known = usual.iter().find(|known| known.name == result.name).filter(|_| result.from.is_empty());
        known.cloned().unwrap_or(result)
    };
    written.into_iter().map(full).collect()
}

/// Checks the results of a study.
pub(super) fn check(study: &Study) -> Result<(), StudyError> {
    for (at, result) in study.results.iter().enumerate() {
        let key = format!("results.{}", result.name);
        if study.results[..at].iter().any(|other| other.name == result.name) {
            return Err(study.error(key, "it is there twice; write each name once"));
        }
        let is_letter =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
        if result.name.is_empty() || !result.name.chars().all(is_letter) {
            return Err(study.error(key, "a name has small letters, digits and '_', as in recovery_s"));
        }
        if result.from.is_empty() {
            let names: Vec<String> = usual().into_iter().map(|known| known.name).collect();
            let hint =
                format!("write from = \"field.of.a.row\", or one of the usual names: {}", names.join(", "));
            return Err(study.error(key, hint));
        }
        for (name, lacks) in [("label", result.label.is_empty()), ("unit", result.unit.is_empty())] {
            if lacks {
                return Err(study.error(format!("{key}.{name}"), format!("add {name} = \"…\"")));
            }
        }
        let paths = [("from", Some(&result.from)), ("per", result.per.as_ref())];
        for (name, path) in paths.into_iter().filter_map(|(name, path)| Some((name, path?))) {
            FieldPath::parse(path).map_err(|wrong| study.error(format!("{key}.{name}"), wrong))?;
        }
        if result.times.is_some_and(|times| !times.is_finite() || times == 0.0) {
            return Err(study.error(format!("{key}.times"), "it must be a number other than 0"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::builtin::STUDIES;
    use crate::study::{Changes, Study};

    #[test]
    fn the_usual_results_are_in_order() {
        let usual = usual();
        assert!(usual.len() > 5, "{usual:?}");
        let study = format!(
            "name = \"s\"\ntitle = \"t\"\n{USUAL}\n[job]\nsource = \"null:1MiB\"\ntarget = \"null:\"\n"
        );
        let study = Study::parse("s.toml", &study, &Changes::default()).expect("in order");
        assert_eq!(study.results, usual);
    }

    /// The fields that are in every row, and those that kept rows have besides.
    #[test]
    fn a_study_says_which_result_is_wrong_and_what_to_write() {
        let study = |results: &str| {
            let text = format!(
                "name = \"s\"\ntitle = \"t\"\n{results}\n[job]\nsource = \"null:1MiB\"\ntarget = \"null:\"\n"
            );
            Study::parse("s.toml", &text, &Changes::default())
        };
        for (results, key, part) in [
            ("[[results]]\nname = \"speed\"", "results.speed", "usual names: time, bandwidth"),
            ("[[results]]\nname = \"a b\"\nfrom = \"x\"", "results.a b", "small letters"),
            ("[[results]]\nname = \"a\"\nfrom = \"x\"\nunit = \"s\"", "results.a.label", "label = "),
            ("[[results]]\nname = \"a\"\nfrom = \"x\"\nlabel = \"a\"", "results.a.unit", "unit = "),
            ("[[results]]\nname = \"a\"\nfrom = \"x[\"\nlabel = \"a\"\nunit = \"s\"", "results.a.from", "x["),
            ("[[results]]\nname = \"time\"\n[[results]]\nname = \"time\"", "results.time", "twice"),
            ("[[results]]\nname = \"a\"\nfrom = \"x\"\nbetter = \"high\"", "", "write"),
        ] {
            let error = study(results).expect_err(results);
            assert!(error.key == key && error.to_string().contains(part), "{results}: {error}");
        }
        assert_eq!(study("").expect("without any").results, []);
    }

    #[test]
    fn results_of_built_in_studies_are_in_full() {
        for built_in in STUDIES {
            let study = Study::parse(built_in.name, built_in.text, &Changes::default()).expect(built_in.name);
            assert!(
                study.results.iter().all(|it| !it.from.is_empty() && !it.label.is_empty()),
                "{}",
                study.name
            );
        }
    }
}
