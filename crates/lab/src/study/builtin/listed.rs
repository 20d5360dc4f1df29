//! A built-in study in a list: what it measures, and about how long it lasts.
//!
//! Must not know: how a list is shown.

use super::BuiltIn;
use crate::report::figures;
use crate::study::{Changes, Study};

/// A built-in study in a list.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ListedStudy {
    /// The question that it answers, with those of the same one.
    pub question: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it measures, in one line.
    pub title: String,
    /// Number of its runs, warm-ups too.
    pub runs: usize,
    /// Whether it may end after fewer: once its intervals are narrow.
    pub may_end_early: bool,
    /// About how many seconds they take, by rows that were kept; null where there are none.
    pub seconds: Option<f64>,
}

/// How long a study lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StudyLength {
    pub runs: usize,
    pub may_end_early: bool,
    pub seconds: Option<f64>,
}

impl StudyLength {
    pub fn from_study(study: &Study) -> StudyLength {
        let runs = study.runs(&study.cells()).len();
        let seconds = study.run_takes.map(|each| each.as_secs_f64() * runs as f64);
        StudyLength { runs, may_end_early: study.stop.is_some(), seconds }
    }
}

impl ListedStudy {
    pub(crate) fn from_built_in(&BuiltIn { question, name, text }: &BuiltIn) -> Option<ListedStudy> {
        let study = Study::parse(name, text, &Changes::default()).ok()?;
        let length = StudyLength::from_study(&study);
        let StudyLength { runs, may_end_early, seconds } = length;
        Some(ListedStudy { question, name, runs, may_end_early, seconds, title: study.title })
    }

    /// How long it lasts, in words: `110 runs, about 7 s`.
    pub fn length_words(&self) -> String {
        let most = if self.may_end_early { "at most " } else { "" };
        let time = self.seconds.map_or(String::new(), |it| format!(", about {}", figures::seconds(it)));
        format!("{most}{} runs{time}", self.runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::builtin::{STUDIES, find};

    #[test]
    fn a_study_says_how_long_it_lasts() {
        let listed = |name| ListedStudy::from_built_in(&find(name).expect(name)).expect(name);
        // Two engines, five sizes, ten rounds and a warm-up.
        assert_eq!(listed("cpu").length_words(), "110 runs, about 7 s");
        let most = ListedStudy { may_end_early: true, seconds: None, ..listed("cpu") };
        assert_eq!(most.length_words(), "at most 110 runs");
        for study in STUDIES {
            let listed = ListedStudy::from_built_in(study).expect(study.name);
            assert!(listed.runs > 0, "{listed:?}");
            // A study that takes days is none.
            assert!(listed.seconds.is_none_or(|seconds| (1.0..86_400.0).contains(&seconds)), "{listed:?}");
        }
    }

    /// How long a run takes is no part of a study: rows hold the study as they did.
    #[test]
    fn the_text_that_rows_hold_has_no_time() {
        let study = Study::parse("cpu", find("cpu").expect("it is there").text, &Changes::default());
        let text = study.expect("in order").to_text().expect("text");
        assert!(!text.contains("run_takes"), "{text}");
    }
}
