//! Every figure of every document, drawn from the rows that are kept, and from rows of its part's own cells.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::*;
use crate::report::chart::{ChartLine, LineOrigin};
use crate::report::summary::results::ResultReader;
use crate::row::read_rows;
use crate::session::reproduce::document::DOCUMENTS;
use crate::study::{Cell, FigureValue, SOAKER, StudyFigure};

/// Without kept rows of a study, those of this one have most of the fields.
const COMMON: &str = "readers";
/// Its kept rows are with the soaker, too.
const SOAKED: &str = "seqio";
/// Figures whose levels the small form does not run.
const NOT_SMALL: [&str; 5] =
    ["disk-schedulers", "disk-position", "disk-access-time", "farm-idle", "disk-net-cpu"];
/// Figures over a list that kept rows lack: they are of before it was counted.
const NOT_KEPT: [&str; 4] = ["sharing-jain", "sharing-flows", "sharing-flows-long", "sharing-stacks-flows"];

fn parsed() -> Vec<Document> {
    let document = |built_in: &crate::session::reproduce::document::BuiltInDocument| {
        Document::parse(built_in.name, built_in.text).unwrap_or_else(|wrong| panic!("{wrong:#}"))
    };
    DOCUMENTS.iter().map(document).collect()
}

/// A kept row of each cell of a study, of the build and kernel of its first one.
fn kept(study: &str) -> Vec<Row> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench"));
    let mut rows = read_rows(&folder.join(format!("{study}.jsonl"))).unwrap_or_default();
    rows.retain(|row| row.study == study && row.is_completed());
    let of = |row: &Row| (row.build.clone(), row.kernel.clone(), row.machine_id.clone());
    if let Some(first) = rows.first().map(of) {
        rows.retain(|row| of(row) == first);
    }
    let mut cells = BTreeSet::new();
    rows.retain(|row| cells.insert(row.asked.clone()));
    rows
}

/// A row for each cell of the part, with the values of the kept one that is most like it.
fn rows_of_cells(study: &Study, kept: &[Row], soaked: &Row) -> Vec<Row> {
    let row = |cell: Cell| {
        let equal =
            |row: &&Row| cell.levels.iter().filter(|(name, it)| row.asked.get(*name) == Some(it)).count();
        let alike = kept.iter().max_by_key(equal)?;
        let is_soaked = cell.levels.get(SOAKER).is_some_and(|level| level.to_string() == "on");
        let soaker = alike.soaker.as_ref().or(soaked.soaker.as_ref()).filter(|_| is_soaked).cloned();
        Some(Row { asked: cell.levels, study: study.name.clone(), soaker, ..alike.clone() })
    };
    study.cells().into_iter().filter_map(row).collect()
}

fn chart(figure: &StudyFigure, study: Option<&Study>, rows: &[Row]) -> Chart {
    let rows: Vec<&Row> = rows.iter().collect();
    FigureOfStudy::new(figure, study).chart(&rows, TakenRows { keep_disturbed: true, mixed: false })
}

fn has_values(line: &ChartLine) -> bool {
    line.values.iter().any(Option::is_some)
}

fn measured(chart: &Chart) -> usize {
    chart.lines.iter().filter(|line| line.origin == LineOrigin::Measured && has_values(line)).count()
}

/// Whether a row has what the figure draws.
fn has_results(figure: &StudyFigure, study: &Study, row: &Row) -> bool {
    let fields = row.fields();
    let has = |value: &FigureValue| {
        let result = match value {
            FigureValue::Name(name) => study.result(name),
            FigureValue::Field(field) => Some(field.clone()),
        };
        result.is_some_and(|it| ResultReader::new(&it).is_some_and(|reader| reader.value(&fields).is_some()))
    };
    figure.y.iter().all(has)
}

/// Whether the first axis has the level of a row: kept rows may have others.
fn has_place(figure: &StudyFigure, study: &Study, row: &Row) -> bool {
    let Some(FigureValue::Name(name)) = &figure.x else { return true };
    row.asked.get(name).is_none_or(|level| study.levels(name).contains(level))
}

#[test]
fn every_figure_draws_the_rows_of_its_part() {
    let (mut drawn, common, mut known) = (0, kept(COMMON), BTreeMap::new());
    let soaked = kept(SOAKED).into_iter().find(|row| row.soaker.is_some()).expect("a row with the soaker");
    let mut empty: Vec<String> = Vec::new();
    for document in parsed() {
        for part in &document.parts {
            let origin = document.origin(part);
            for quick in [false, true] {
                let Some(study) = origin.study(quick).expect("a study") else { continue };
                let own = known.entry(study.name.clone()).or_insert_with(|| kept(&study.name));
                let is_own = !own.is_empty();
                let rows = rows_of_cells(&study, if is_own { own } else { &common }, &soaked);
                let is_drawn = |figure: &&StudyFigure| {
                    !NOT_KEPT.contains(&figure.name.as_str())
                        && (is_own || has_results(figure, &study, &rows[0]))
                };
                for figure in part.figures.iter().filter(is_drawn) {
                    let of_part = format!("{}: {}: {}, quick {quick}", document.name, part.name, figure.name);
                    let found = chart(figure, Some(&study), &rows);
                    let is_expected = !quick || !NOT_SMALL.contains(&figure.name.as_str());
                    if is_expected && measured(&found) == 0 {
                        empty.push(of_part.clone());
                    }
                    drawn += 1;
                    if own
                        .iter()
                        .any(|row| has_place(figure, &study, row) && has_results(figure, &study, row))
                    {
                        let all = StudyFigure { cells: BTreeMap::new(), ..figure.clone() };
                        if measured(&chart(&all, Some(&study), own)) == 0 {
                            empty.push(format!("{of_part}, of kept rows"));
                        }
                    }
                }
            }
        }
    }
    assert_eq!(empty, Vec::<String>::new(), "their cells draw no line");
    assert!(drawn >= 80, "{drawn} figures");
}

#[test]
fn every_published_line_of_a_figure_has_values() {
    let mut drawn = 0;
    for document in parsed() {
        for part in &document.parts {
            let study = document.origin(part).study(false).expect("a study");
            for figure in &part.figures {
                for line in &figure.published {
                    let alone = StudyFigure { published: vec![line.clone()], ..figure.clone() };
                    let found = chart(&alone, study.as_ref(), &[]);
                    let of_part = format!("{}: {}: {}", document.name, part.name, figure.name);
                    let origin = if line.is_formula { LineOrigin::Formula } else { LineOrigin::Published };
                    let is_there = |it: &ChartLine| it.origin == origin && has_values(it);
                    assert!(found.lines.iter().any(is_there), "{of_part}: {}: no value", line.label);
                    assert!(found.notes.len() == figure.notes.len(), "{of_part}: {:?}", found.notes);
                    drawn += 1;
                }
            }
        }
    }
    assert!(drawn >= 25, "{drawn} lines");
}
