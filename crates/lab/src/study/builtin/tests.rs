//! Tests of the built-in studies, and of docs/studies/figures.toml: each entry names a study with its factors and results,
//! and each published table is named.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;

use super::*;
use crate::study::results::usual;
use crate::study::{Changes, Study, Template};

#[test]
fn every_built_in_study_is_in_order_also_in_its_small_form() {
    for study in STUDIES {
        for quick in [false, true] {
            let changes = Changes { quick, ..Changes::default() };
            let read = Study::parse(study.name, study.text, &changes).expect(study.name);
            assert_eq!(read.name, study.name, "the file is named like the study");
            assert!(!read.purpose.is_empty(), "{}: no purpose", study.name);
        }
    }
}

#[test]
fn every_file_in_the_folder_is_built_in() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/studies");
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let name = entry.expect("readable").file_name().into_string().expect("UTF-8");
        assert!(find(name.trim_end_matches(".toml")).is_some(), "{name} is not built in");
    }
}

#[test]
fn programs_that_are_required_stand_in_a_command() {
    for study in STUDIES {
        let read = Study::parse(study.name, study.text, &Changes::default()).expect(study.name);
        let Template::Command(lines) = &read.template else { continue };
        for program in &read.requires {
            let named = lines.values().any(|line| crate::session::names(line, program));
            assert!(named, "{}: no command runs {program}", study.name);
        }
    }
}

/// The list of the figures of the founding documents.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureList {
    entry: Vec<FigureEntry>,
}

/// A table, figure or value of a document.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureEntry {
    document: String,
    place: String,
    title: String,
    published: Vec<String>,
    survives: String,
    study: Option<String>,
    x: Option<String>,
    #[serde(default)]
    y: Vec<String>,
    lacks: Option<String>,
    absent: Option<String>,
}

/// The documents by the names of their pages, in the order of the list.
const DOCUMENTS: [&str; 5] = ["datapump", "access", "readers", "seqio", "end-systems"];

fn figures() -> Vec<FigureEntry> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/studies/figures.toml");
    let text = std::fs::read_to_string(path).expect("the list of figures");
    toml::from_str::<FigureList>(&text).expect("a list of entries").entry
}

/// Names of the published tables.
fn tables() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let names = folder.read_dir().expect("the tables").map(|entry| entry.expect("an entry").file_name());
    names.map(|name| name.into_string().expect("UTF-8")).filter(|name| name.ends_with(".csv")).collect()
}

#[test]
fn every_figure_has_a_study_or_a_reason() {
    let figures = figures();
    for entry in &figures {
        assert!(DOCUMENTS.contains(&entry.document.as_str()), "{entry:?}");
        assert!(!entry.place.is_empty() && !entry.title.is_empty(), "{entry:?}");
        assert!(["table", "text", "nothing"].contains(&entry.survives.as_str()), "{entry:?}");
        assert!(entry.survives != "nothing" || entry.published.is_empty(), "{entry:?}");
        assert!(entry.study.is_some() != entry.absent.is_some(), "a study, or a reason: {entry:?}");
        let shows = entry.x.is_some() || !entry.y.is_empty() || entry.lacks.is_some();
        assert!(entry.absent.is_none() || !shows, "without a study there is no axis: {entry:?}");
        assert!(entry.absent.is_some() || !entry.y.is_empty(), "no result: {entry:?}");
        assert!(entry.absent.is_some() || entry.x.is_some() || entry.lacks.is_some(), "no x: {entry:?}");
    }
    let order: Vec<usize> = figures
        .iter()
        .filter_map(|entry| DOCUMENTS.iter().position(|document| *document == entry.document))
        .collect();
    assert!(order.is_sorted(), "entries lie together by document, in order");
    assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), DOCUMENTS.len(), "every document has entries");
    let counterparts = figures.iter().filter(|entry| entry.study.is_some()).count();
    assert!(counterparts * 10 >= figures.len() * 9, "{counterparts} of {} have a study", figures.len());
}

#[test]
fn figures_name_factors_and_results_of_built_in_studies() {
    for entry in figures() {
        let Some(name) = &entry.study else { continue };
        let built_in = find(name).unwrap_or_else(|| panic!("{name} is not built in: {entry:?}"));
        let study = Study::parse(built_in.name, built_in.text, &Changes::default()).expect(built_in.name);
        let results = if study.results.is_empty() { usual() } else { study.results.clone() };
        let is_result = |name: &String| results.iter().any(|result| result.name == *name);
        let is_factor = |name: &String| study.factors.iter().any(|factor| factor.name == *name);
        for result in &entry.y {
            assert!(is_result(result), "{name} has no result {result}: {entry:?}");
        }
        if let Some(x) = &entry.x {
            assert!(is_factor(x) || is_result(x), "{name} has no factor {x}: {entry:?}");
        }
    }
}

#[test]
fn every_published_table_is_in_the_list_of_figures() {
    let named: BTreeSet<String> = figures().into_iter().flat_map(|entry| entry.published).collect();
    assert_eq!(named, tables());
}
