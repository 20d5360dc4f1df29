//! The lab: measures what the pump moves, beside its peers, and keeps every run as a row.
//!
//! A study is data: a TOML file of factors, levels and a template ([`list`], [`show`]). [`run`] runs one and appends a
//! row for each run; [`view`] computes medians, intervals and ratios from rows, on any machine. ROWS.md beside this
//! crate says what the fields of a row mean.
//!
//! ```
//! let cpu = datapump_lab::show("cpu").expect("a built-in study");
//! assert!(cpu.contains("request_size"));
//! ```
//!
//! The lab uses the public library like any other user: what it measures is the product. Must not know: command lines
//! of `pump`, how a block is moved.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::bail;

pub mod access;
pub mod advise;
pub mod judge;
mod perform;
mod probe;
mod report;
mod rig;
pub mod row;
pub mod scrub;
mod session;
pub mod study;

pub use advise::tune::state_folder;
pub use judge::compare::{
    CellComparison, ComparedBy, ComparedFact, Comparison, Judged, Metric, NoProportion, Normalise,
    NothingInCommon, Unjudged, Yardstick, compare, compare_binaries, compare_sides,
};
pub use judge::trend::{NotOneStudy, Trend, TrendChange, TrendVersion, trend};
pub use perform::{datagrams, request_response};
pub use probe::memory;
pub use probe::tcp_trace;
pub use report::summary::{BaselineRatio, CellSummary, Sample, StudySummary, Summary};
pub use report::{Page, TakenRows, report};
pub use rig::files::is_same;
pub use session::programs::own_hash;
pub use session::reproduce;
pub use session::rerun::{RerunArguments, rerun};
pub use study::builtin::listed::ListedStudy;

use crate::rig::files::read_text;
use crate::row::{Row, read_rows};
use crate::session::StudySession;
use crate::session::programs::Programs;
use crate::study::{Changes, Study, StudyError};

/// What [`run`] is asked.
#[derive(Clone, Debug, Default)]
pub struct RunArguments {
    /// The name of a built-in study, or the path of a file.
    pub study: String,
    /// Levels that replace those of a factor.
    pub set: Vec<(String, Vec<String>)>,
    /// How often each cell is run, instead of the study's own number.
    pub repeats: Option<u32>,
    /// The study's own small form.
    pub quick: bool,
    /// All cells, not only those that the study has chosen.
    pub full: bool,
    /// The seed, instead of the study's own.
    pub seed: Option<u64>,
    /// The folder for the files that are moved; the current one by default.
    pub folder: Option<PathBuf>,
    /// The file that rows are appended to; `STUDY.jsonl` in the current folder by default.
    pub out: Option<PathBuf>,
    /// The program that `{pump}` stands for in commands; this program's own file by default.
    pub pump: Option<PathBuf>,
    /// What rows call the build of this program; the hash of its file by default.
    pub build: Option<String>,
    /// Once it is true, the study ends soon, with an error and with its files deleted.
    pub stop: Arc<AtomicBool>,
}

impl RunArguments {
    fn this_program(&self) -> anyhow::Result<Programs> {
        Programs::this(self.pump.as_deref(), self.build.as_deref())
    }
}

/// The built-in studies.
pub fn list() -> Vec<ListedStudy> {
    study::builtin::STUDIES.iter().filter_map(ListedStudy::from_built_in).collect()
}

/// The file of a built-in study.
pub fn show(name: &str) -> Option<&'static str> {
    study::builtin::find(name).map(|study| study.text)
}

/// What may be meant by a name that no built-in study has, in words.
pub fn similar_studies(name: &str) -> String {
    study::builtin::similar::hint(name)
}

/// Runs a study and sums up the rows that its file then has. Rows that are there already are not measured again.
/// Lines about the progress go to standard error.
///
/// Errors: a study that is not in order, no room, a file that cannot be written, an interrupt. Runs that fail are rows
/// and no errors: see [`Summary::failed_runs`].
pub fn run(arguments: RunArguments) -> anyhow::Result<Summary> {
    let study = load(&arguments)?;
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.jsonl", study.name)));
    StudySession::open(&study, &out, &arguments, arguments.this_program()?, &[])?.run()?;
    let rows = read_rows(&out)?.into_iter().filter(|row| row.study == study.name).collect();
    Ok(Summary::from_rows(&[rows]))
}

/// Sums up files of rows; ratios without disturbed runs, unless they are kept.
///
/// Errors: a file that cannot be read, a line that is no row, no rows at all.
pub fn view(paths: &[PathBuf], keep_disturbed: bool) -> anyhow::Result<Summary> {
    let files = paths.iter().map(|path| read_rows(path)).collect::<anyhow::Result<Vec<Vec<Row>>>>()?;
    if files.iter().all(Vec::is_empty) {
        bail!("there are no rows; `pump lab run STUDY --out FILE` makes some");
    }
    Ok(Summary::of_files(&files, keep_disturbed))
}

fn load(arguments: &RunArguments) -> anyhow::Result<Study> {
    let changes = Changes {
        set: arguments.set.clone(),
        repeats: arguments.repeats,
        quick: arguments.quick,
        full: arguments.full,
        seed: arguments.seed,
        soaker: false,
    };
    let name = &arguments.study;
    let text = match show(name) {
        Some(text) => text.to_string(),
        None => read_text(Path::new(name), &arguments.stop).map_err(|error| unknown(name, &error))?,
    };
    Ok(Study::parse(name, &text, &changes)?)
}

fn unknown(name: &str, error: &std::io::Error) -> StudyError {
    let hint = study::builtin::similar::hint(name);
    let message = format!("no built-in study of this name ({hint}), and no file that can be read: {error}");
    StudyError { file: name.into(), key: String::new(), message }
}
