//! The probe `tcp`: of each run a time series of its TCP connections in a file beside the rows, and what it came to in
//! its row. Programs in namespaces of their own are not seen from here: their command leaves a series itself.
//!
//! Must not know: what is run, how connections are found and sampled.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use crate::probe::tcp_trace::{TcpConnection, TcpTarget, TcpTrace};
use crate::study::{Run, Study};

/// The series that a command leaves.
const LEFT: &str = "kept";

/// Where the series go: `cpu.tcp` beside `cpu.jsonl`.
#[derive(Debug)]
pub struct TcpSeries {
    folder: PathBuf,
}

/// A series of a run that goes on.
#[derive(Debug)]
pub struct Sampling {
    trace: TcpTrace,
    path: PathBuf,
}

impl TcpSeries {
    /// Makes the folder.
    pub fn beside(rows: &Path) -> anyhow::Result<TcpSeries> {
        let folder = rows.with_extension("tcp");
        std::fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok(TcpSeries { folder })
    }

    /// Begins to sample what this process has started, and starts. A warm-up has no row, and no series.
    pub fn start(&self, study: &Study, run: &Run) -> anyhow::Result<Option<Sampling>> {
        let Some(order) = run.order else { return Ok(None) };
        let path = self.folder.join(format!("{}-{}-{order:06}.jsonl", study.name, study.seed));
        let trace = TcpTrace::start(TcpTarget::Process(std::process::id()), &path)?;
        Ok(Some(Sampling { trace, path }))
    }
}

impl Sampling {
    /// Ends the series. If no connection was seen, what the command left in the host's folder takes its place. Null,
    /// and no file, if there is none either.
    pub fn finish(self, host: Option<&Path>) -> anyhow::Result<Option<Value>> {
        let traced = self.trace.finish()?;
        if traced.connections.is_empty() {
            return left_at(host, &self.path);
        }
        let sum = |count: fn(&TcpConnection) -> u64| traced.connections.iter().map(count).sum::<u64>();
        let file = file_of(&self.path);
        Ok(Some(json!({
            "file": file,
            "rounds": traced.rounds,
            "samples": traced.samples,
            "elapsed_ns": traced.elapsed_ns,
            "connections": traced.connections.len(),
            "left_out": traced.left_out,
            "bytes_acked": sum(|it| it.bytes_acked),
            "bytes_received": sum(|it| it.bytes_received),
            "retransmitted_segments": sum(|it| it.retransmitted_segments),
        })))
    }
}

/// What the command left, if it left anything, at this path.
fn left_at(host: Option<&Path>, path: &Path) -> anyhow::Result<Option<Value>> {
    let words = || format!("write {}", path.display());
    let Some(left) = host.map(|folder| folder.join(LEFT)).filter(|left| left.exists()) else {
        return std::fs::remove_file(path).with_context(words).map(|()| None);
    };
    let series = std::fs::read(&left).with_context(|| format!("read {}", left.display()))?;
    std::fs::write(path, series).with_context(words)?;
    Ok(Some(json!({ "file": file_of(path) })))
}

/// As a row names it: its folder and its name.
fn file_of(path: &Path) -> Option<String> {
    let (folder, name) = path.parent().and_then(Path::file_name).zip(path.file_name())?;
    Some(Path::new(folder).join(name).to_string_lossy().into_owned())
}
