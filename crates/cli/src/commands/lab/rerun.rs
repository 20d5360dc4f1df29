//! `pump lab rerun`: a file of rows, measured again.
//!
//! Must not know: what rows hold, how a study is run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use datapump_lab::{RerunArguments, is_same};

use super::ran;
use crate::args::LabRerunArguments;
use crate::output::Output;
use crate::output::version;
use crate::run::signals::stop_flag;

/// Gives the exit status.
pub fn rerun(arguments: &LabRerunArguments, output: &Output) -> i32 {
    let stop: Arc<AtomicBool> = stop_flag().unwrap_or_default();
    let rows = arguments.rows.clone();
    let out = arguments.files.out.clone().unwrap_or_else(|| again(&rows));
    if is_same(&rows, &out) {
        return output.usage("the new rows would go into the old file; name another one with --out");
    }
    let folder = arguments.files.folder.clone();
    let new = out.clone();
    let build = Some(version::build().into());
    let asked = RerunArguments { rows, out, folder, pump: None, build, stop: Arc::clone(&stop) };
    ran(datapump_lab::rerun(&asked), Some(&new), &stop, output)
}

/// `cpu-again.jsonl` for `bench/cpu.jsonl`.
fn again(rows: &Path) -> PathBuf {
    let mut name = rows.file_stem().unwrap_or_default().to_os_string();
    name.push("-again.jsonl");
    PathBuf::from(name)
}
