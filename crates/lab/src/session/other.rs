//! Runs a job by another build of this program: as a study of one run, whose row says what the run did.
//!
//! Every build there was can run a study from a file, so that any two can be compared. Must not know: what is compared,
//! where the rows of the study go.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};

use crate::perform::{CommandLine, quoted};
use crate::row::{Row, read_rows};
use crate::study::Study;

/// Runs the study's one run by the program and gives its row. The folder is for the two files that takes.
///
/// Errors: there is no row, with what the program said.
pub fn run_by(program: &Path, study: &Study, folder: &Path, stop: &AtomicBool) -> anyhow::Result<Row> {
    let (file, rows) = (folder.join("study.toml"), folder.join("rows.jsonl"));
    std::fs::create_dir_all(folder).with_context(|| format!("make the folder {}", folder.display()))?;
    std::fs::write(&file, study.to_text()?).with_context(|| format!("write {}", file.display()))?;
    let [program, file, out, work] = [program, &file, &rows, folder].map(quoted);
    let ran = CommandLine(format!("{program} lab run {file} --folder {work} --out {out}")).run(stop)?;
    let row = rows.exists().then(|| read_rows(&rows)).transpose()?.and_then(|rows| rows.into_iter().next());
    // The next run must not find this one done.
    let _ = std::fs::remove_file(&rows);
    match (row, ran.problem) {
        (Some(row), _) => Ok(row),
        (None, Some((_, words))) => bail!("{}: {words}", ran.command),
        (None, None) => bail!("{}: it ran and wrote no row", ran.command),
    }
}
