//! The results of a study in its rows: which ones, and the value of each in a run.
//!
//! Must not know: what values of several runs say together, how they are shown.

use serde_json::Value;

use crate::judge::compare::MeasuredRun;
use crate::row::Row;
use crate::study::results::{FieldPath, usual};
use crate::study::{Better, Changes, Study, StudyResult, builtin};

/// A result whose fields can be read.
#[derive(Debug)]
pub(in crate::report) struct ResultReader<'study> {
    result: &'study StudyResult,
    from: FieldPath,
    per: Option<FieldPath>,
}

/// A run with the values of all results of its study, in their order.
#[derive(Debug)]
pub(in crate::report) struct CellRun<'rows> {
    pub row: &'rows Row,
    pub values: Vec<Option<f64>>,
}

/// The results of the study that rows are of: those that it has declared, in its text or, of older rows, as it is built in;
/// else the usual ones.
pub(super) fn results_of(name: &str, rows: &[&Row]) -> Vec<StudyResult> {
    let in_rows = rows.iter().rev().find_map(|row| row.study_text.as_deref());
    let built_in = || builtin::find(name).map(|study| study.text);
    let texts = in_rows.into_iter().chain(built_in());
    texts.map(declared_by).find(|results| !results.is_empty()).unwrap_or_else(usual)
}

/// The results that a study's text declares. A text of an older version may be none of this one.
pub(in crate::report) fn declared_by(text: &str) -> Vec<StudyResult> {
    let study = Study::parse("the rows' study", text, &Changes::default());
    study.map_or(Vec::new(), |study| study.results)
}

/// The study that rows are of, if it declares figures: by its text in the rows, or of older rows as it is built in.
pub(in crate::report) fn study_with_figures(name: &str, rows: &[&Row]) -> Option<Study> {
    let in_rows = rows.iter().rev().find_map(|row| row.study_text.as_deref());
    let built_in = || builtin::find(name).map(|study| study.text);
    let mut studies = in_rows
        .into_iter()
        .chain(built_in())
        .filter_map(|text| Study::parse("the rows' study", text, &Changes::default()).ok());
    studies.find(|study| !study.figures.is_empty())
}

/// The runs of rows, each with its values.
pub(in crate::report) fn runs_of<'rows>(rows: &[&'rows Row], results: &[StudyResult]) -> Vec<CellRun<'rows>> {
    let readers: Vec<Option<ResultReader<'_>>> = results.iter().map(ResultReader::new).collect();
    let run = |row: &&'rows Row| {
        let fields = row.fields();
        let value = |reader: &Option<ResultReader<'_>>| reader.as_ref()?.value(&fields);
        CellRun { row, values: readers.iter().map(value).collect() }
    };
    rows.iter().map(run).collect()
}

impl<'study> ResultReader<'study> {
    /// `None` where a field is none: a study is checked before its first run.
    pub fn new(result: &'study StudyResult) -> Option<ResultReader<'study>> {
        let per = result.per.as_deref().map(FieldPath::parse).transpose().ok()?;
        Some(ResultReader { result, from: FieldPath::parse(&result.from).ok()?, per })
    }

    /// The value in the fields of a row.
    pub fn value(&self, fields: &Value) -> Option<f64> {
        let of = &self.result.of;
        let per = match &self.per {
            Some(per) => per.value(fields, of)?,
            None => 1.0,
        };
        let value = self.from.value(fields, of)? / per * self.result.times.unwrap_or(1.0);
        value.is_finite().then_some(value)
    }
}

impl ResultReader<'_> {
    /// Each value of a list in the fields of a row, or the only one.
    pub fn each(&self, fields: &Value) -> Vec<Option<f64>> {
        if !self.from.is_list() {
            return vec![self.value(fields)];
        }
        let per = self.per.as_ref().map_or(Some(1.0), |per| per.value(fields, &self.result.of));
        let times = per.map(|per| self.result.times.unwrap_or(1.0) / per);
        let value = |value: Option<f64>| Some(value? * times?).filter(|value| value.is_finite());
        self.from.each(fields).into_iter().map(value).collect()
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        self.from.is_list()
    }

    /// The content of its field, as it is.
    pub fn part<'row>(&self, fields: &'row Value) -> Option<&'row Value> {
        self.from.part(fields)
    }
}

impl<'rows> CellRun<'rows> {
    /// This run as one of a pair, by its result at a place of the list: less is better in what is compared.
    pub fn measured(&self, at: usize, result: &StudyResult) -> Option<MeasuredRun<'rows>> {
        let value = self.values[at].filter(|value| *value > 0.0 && self.row.is_completed())?;
        // Times are whole nanoseconds, and parts of them are not.
        let is_whole = result.unit == "ns" && (&result.per, result.times) == (&None, None);
        let rounding = if is_whole { value.powi(-2) / 12.0 } else { 0.0 };
        let value = if result.better == Some(Better::More) { 1.0 / value } else { value };
        Some(MeasuredRun { row: self.row, value, rounding })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::COMPLETED;
    use crate::study::builtin::STUDIES;

    #[test]
    fn rows_say_their_results_older_ones_have_those_of_today() {
        let names = |results: Vec<StudyResult>| results.into_iter().map(|it| it.name).collect::<Vec<_>>();
        let own = "name = \"tcp-recovery\"\ntitle = \"t\"\n[[results]]\nname = \"time\"\n[job]\nsource = \"null:1MiB\"\n\
                   target = \"null:\"\n";
        let row = |text: Option<&str>| Row { study_text: text.map(str::to_owned), ..Row::default() };
        for (study, text, first) in [
            ("tcp-recovery", Some(own), "time"),
            ("tcp-recovery", None, "recovery"),
            ("tcp-recovery", Some("no TOML"), "recovery"),
            ("some", None, "time"),
        ] {
            let rows = [row(text), row(None)];
            assert_eq!(
                names(results_of(study, &rows.iter().collect::<Vec<_>>()))[0],
                first,
                "{study} {text:?}"
            );
        }
    }

    #[test]
    fn a_value_is_a_field_by_another_one_times_a_factor() {
        let result = |from: &str, per: Option<&str>, times: Option<f64>| StudyResult {
            from: from.into(),
            per: per.map(str::to_owned),
            times,
            ..usual().remove(0)
        };
        let row = Row { bytes: 1000, elapsed_ns: 500, requests: Some(0), ..Row::default() };
        for (result, value) in [
            (result("elapsed_ns", None, None), Some(500.0)),
            (result("bytes", Some("elapsed_ns"), Some(1e9)), Some(2e9)),
            (result("bytes", Some("requests"), None), None),
            (result("user_ns", None, None), None),
        ] {
            let runs = runs_of(&[&row], std::slice::from_ref(&result));
            assert_eq!(runs[0].values, [value], "{result:?}");
        }
    }

    /// By a whole nanosecond a request of 23 ns would be known to 1.3 %.
    #[test]
    fn a_part_of_a_time_is_not_rounded_to_nanoseconds() {
        let row =
            Row { elapsed_ns: 23_000, requests: Some(1000), outcome: COMPLETED.into(), ..Row::default() };
        for (name, value, rounding) in
            [("time", 23_000.0, 1.0 / (12.0 * 23_000.0 * 23_000.0)), ("request_time", 23.0, 0.0)]
        {
            let result = usual().into_iter().find(|it| it.name == name).expect(name);
            let run = runs_of(&[&row], std::slice::from_ref(&result)).remove(0);
            let measured = run.measured(0, &result).expect(name);
            assert!((measured.value / value - 1.0).abs() < 1e-9, "{name}: {measured:?}");
            assert!((measured.rounding - rounding).abs() < 1e-15, "{name}: {measured:?}");
        }
    }

    /// Kept rows of every built-in study that has some: each of its results is found in them.
    #[test]
    fn every_result_of_a_built_in_study_is_found_in_its_kept_rows() {
        let mut studies = 0;
        for built_in in STUDIES {
            let path = format!("{}/../../bench/{}.jsonl", env!("CARGO_MANIFEST_DIR"), built_in.name);
            let Ok(rows) = crate::row::read_rows(path.as_ref()) else { continue };
            let rows: Vec<&Row> = rows.iter().filter(|row| row.study == built_in.name).collect();
            let declared = declared_by(built_in.text);
            let runs = runs_of(&rows, &declared);
            for (at, result) in declared.iter().enumerate() {
                assert!(
                    runs.iter().any(|run| run.values[at].is_some()),
                    "{}: {}",
                    built_in.name,
                    result.name
                );
            }
            studies += usize::from(!declared.is_empty() && !rows.is_empty());
        }
        assert!(studies >= 8, "{studies} studies with results of their own have rows");
    }
}
