//! Runs again what a file of rows holds, from that file alone: the same cells in the same order, by study and seed.
//!
//! Must not know: how a run is performed, how two files are compared.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::bail;

use crate::rig::files::refuse_pipe;
use crate::row::{Row, read_rows};
use crate::session::StudySession;
use crate::study::{BINARY, Cell, Changes, Study, StudyError};
use crate::{RunArguments, Summary};

/// What [`rerun`] is asked.
#[derive(Clone, Debug, Default)]
pub struct RerunArguments {
    /// The file of rows. It is only read.
    pub rows: PathBuf,
    /// The file that rows are appended to.
    pub out: PathBuf,
    /// The folder for the files that are moved; the current one by default.
    pub folder: Option<PathBuf>,
    /// The program that `{pump}` stands for in commands; this program's own file by default.
    pub pump: Option<PathBuf>,
    /// What rows call the build of this program; the hash of its file by default.
    pub build: Option<String>,
    /// Once it is true, the study ends soon, with an error and with its files deleted.
    pub stop: Arc<AtomicBool>,
}

/// Runs all studies of a file again and sums up the new rows. Rows that are there already are not measured again.
///
/// Errors: as [`crate::run`]; a [`StudyError`] if rows do not hold their study, or another one than they are of.
pub fn rerun(arguments: &RerunArguments) -> anyhow::Result<Summary> {
    refuse_pipe(&arguments.rows)?;
    let rows = read_rows(&arguments.rows)?;
    if rows.is_empty() {
        bail!("there are no rows; `pump lab run STUDY --out FILE` makes some");
    }
    let studies = studies(&arguments.rows, &rows)?;
    let RerunArguments { out, folder, pump, build, stop, .. } = arguments.clone();
    let asked = RunArguments { folder, pump, build, stop, ..RunArguments::default() };
    let names: Vec<&str> = studies.iter().map(|study| study.name.as_str()).collect();
    studies.iter().try_for_each(|study| {
        StudySession::open(study, &out, &asked, asked.this_program()?, &names)?.run()
    })?;
    let rows = read_rows(&out)?.into_iter().filter(|row| names.contains(&row.study.as_str())).collect();
    Ok(Summary::from_rows(&[rows]))
}

/// The studies that rows hold, in their order, each as often as it was changed.
fn studies(path: &Path, rows: &[Row]) -> Result<Vec<Study>, StudyError> {
    let mut texts: Vec<(&str, u64, &str)> = Vec::new();
    for row in rows {
        let held = row.study_text.as_deref().map(|text| (row.study.as_str(), row.seed, text));
        texts.extend(held.filter(|text| !texts.contains(text)));
    }
    let studies = texts.into_iter().map(|(name, seed, text)| of_text(path, name, seed, text));
    let studies = studies.collect::<Result<Vec<Study>, StudyError>>()?;
    let cells: Vec<Vec<Cell>> = studies.iter().map(Study::cells).collect();
    let held: Vec<(&Study, Vec<Cell>)> = studies.iter().zip(cells).collect();
    rows.iter().enumerate().try_for_each(|(index, row)| is_held(path, index, row, &held))?;
    Ok(studies)
}

fn of_text(path: &Path, name: &str, seed: u64, text: &str) -> Result<Study, StudyError> {
    let file = format!("of study_text in {}", shown(path));
    let changes = Changes { seed: Some(seed), ..Changes::default() };
    let study = Study::parse(&file, text, &changes)?;
    if study.name != name {
        let message = format!("it is '{}', and its row is of '{name}'", study.name);
        return Err(StudyError { file, key: "name".into(), message });
    }
    Ok(study)
}

/// Whether a row is of one of the studies.
fn is_held(path: &Path, index: usize, row: &Row, studies: &[(&Study, Vec<Cell>)]) -> Result<(), StudyError> {
    let wrong = |message: String| {
        let key = "study_text".into();
        Err(StudyError { file: format!("in {}, row {}", shown(path), index + 1), key, message })
    };
    if row.asked.contains_key(BINARY) {
        return wrong(
            "it is of two programs; `pump lab compare --a FILE --b FILE STUDY` runs them again".into(),
        );
    }
    let (name, seed) = (datapump::shown(row.study.as_bytes()), row.seed);
    let mut own =
        studies.iter().filter(|(study, _)| study.name == row.study && study.seed == seed).peekable();
    if own.peek().is_none() {
        return wrong(format!(
            "no row holds the study '{name}' of seed {seed}: an older version wrote them, or that row was lost; \
             `pump lab run {name} --seed {seed} --out NEW.jsonl` runs the study there is now"
        ));
    }
    let has_run = |(_, cells): &(&Study, Vec<Cell>)| {
        cells.iter().any(|cell| cell.levels == row.asked && row.repeat < cell.repeats)
    };
    if own.any(has_run) {
        Ok(())
    } else {
        wrong(format!(
            "the study '{name}' of seed {seed} has no run of this cell and round; take the row out, or run the study \
             it is of"
        ))
    }
}

fn shown(path: &Path) -> String {
    datapump::shown(path.as_os_str().as_encoded_bytes())
}
