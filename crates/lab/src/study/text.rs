//! A study as the text of a file: what was changed from the command line is in it, and what was left out is said.
//!
//! Read again it is the same study, also by a version whose defaults are others. Must not know: where the text goes.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Serialize;

use super::{
    Check, Exception, JobTemplate, Level, Order, Probe, StopRule, Study, StudyFigure, StudyResult, StudyStep,
    Template,
};

/// A study's file without its factors, whose order counts.
#[derive(Debug, Serialize)]
struct Text<'study> {
    name: &'study str,
    title: &'study str,
    purpose: &'study str,
    /// Left out with a rule to stop.
    repeats: Option<u32>,
    warmup: u32,
    /// Left out where TOML has no such number; the rows have it anyway.
    seed: Option<i64>,
    order: Order,
    requires: &'study [String],
    probes: &'study [Probe],
    check: &'study [Check],
    stop: Option<StopRule>,
    prepare: &'study [StudyStep],
    baselines: &'study [BTreeMap<String, Level>],
    results: &'study [StudyResult],
    figure: &'study [StudyFigure],
    job: Option<&'study JobTemplate>,
    command: Option<StudyCommands<'study>>,
    chosen: &'study [BTreeMap<String, Vec<Level>>],
    exception: &'study [Exception],
}

#[derive(Debug, Serialize)]
struct StudyCommands<'study> {
    levels: &'study BTreeMap<String, String>,
}

impl Study {
    /// The text.
    pub fn to_text(&self) -> anyhow::Result<String> {
        let (job, command) = match &self.template {
            Template::Job(job) => (Some(&**job), None),
            Template::Command(levels) => (None, Some(StudyCommands { levels })),
        };
        let text = Text {
            name: &self.name,
            title: &self.title,
            purpose: &self.purpose,
            repeats: self.stop.is_none().then_some(self.repeats),
            warmup: self.warmup,
            seed: i64::try_from(self.seed).ok(),
            order: self.order,
            requires: &self.requires,
            probes: &self.probes,
            check: &self.check,
            stop: self.stop,
            prepare: &self.prepare,
            baselines: &self.baselines,
            results: &self.results,
            figure: &self.figures,
            job,
            command,
            chosen: &self.chosen,
            exception: &self.exceptions,
        };
        let text = toml::to_string(&text).context("write the study as text")?;
        Ok(format!("{text}\n[factors]\n{}", self.factor_lines()?))
    }

    fn factor_lines(&self) -> anyhow::Result<String> {
        let lines = self.own_factors().map(|factor| {
            let levels = toml::Value::try_from(&factor.levels)?;
            Ok(format!("{} = {levels}\n", factor.name))
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Changes;
    use super::*;
    use crate::study::builtin::STUDIES;

    fn parse(text: &str, changes: &Changes) -> Study {
        Study::parse("some.toml", text, changes).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn every_study_survives_its_text_with_all_changes() {
        let changes = [
            Changes::default(),
            Changes { quick: true, ..Changes::default() },
            Changes { full: true, ..Changes::default() },
            Changes { repeats: Some(3), seed: Some(7), ..Changes::default() },
        ];
        for (study, changes) in STUDIES.iter().flat_map(|study| changes.iter().map(move |it| (study, it))) {
            // How long a run took on another machine is not kept.
            let whole = Study { run_takes: None, ..parse(study.text, changes) };
            let text = whole.to_text().expect(study.name);
            let again = parse(&text, &Changes::default());
            assert_eq!(format!("{again:?}"), format!("{whole:?}"), "{}: {text}", study.name);
            assert_eq!(again.to_text().expect(study.name), text, "{}", study.name);
            assert_eq!(
                (again.cells(), again.runs(&again.cells())),
                (whole.cells(), whole.runs(&whole.cells()))
            );
        }
    }

    #[test]
    fn odd_studies_survive_too() {
        let text = r#"
name = "odd"
title = "quotes ' and \" and ]]> \u001b"
stop = { narrower_than = "2.3%", of = "ratio", at_least = 6, at_most = 9 }
baselines = [{ command = "a b" }]
prepare = [{ step = "make_source", size = "{size}" }, { step = "new_target" }, { step = "run", command = '''x
y''' }]
[factors]
size = ["2MiB", "1MiB"]
depth = [2, "007", 1]
[command.levels]
"a b" = "cp \\ {source} {target}"
c = '''cat {source} \
 > {target} {depth}'''
[[chosen]]
size = ["1MiB"]
[[chosen]]
command = ["c"]
depth = [2, "007"]
[[exception]]
where = { command = ["c"], depth = [1, 2] }
skip = true
[[exception]]
where = { depth = ["007"] }
check = []
"#;
        for seed in [None, Some(0), Some(u64::MAX)] {
            let whole = parse(text, &Changes { seed, ..Changes::default() });
            let again = parse(&whole.to_text().expect("text"), &Changes { seed, ..Changes::default() });
            assert_eq!(format!("{again:?}"), format!("{whole:?}"));
        }
    }
}
