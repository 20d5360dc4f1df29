//! The effect of each change of build or kernel on a study: rows of many sessions, in the order of time.
//!
//! Rows of one build and kernel are a version, however far apart they were taken, and each version is compared with the
//! one that came first before it, by the rule of [`crate::judge::compare`]: in turns, or three sessions on each side. The
//! time of day decides only the order of versions. Each change is judged by itself: of twenty that change nothing one is
//! flagged. Must not know: how rows are compared, how a study is run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::compare::{Comparison, Metric, NothingInCommon, Yardstick, read_side};
use crate::judge::cost::CpuBy;
use crate::row::Row;
use crate::study::BINARY;

mod text;

/// A study over time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trend {
    /// The study.
    pub study: String,
    /// The compared metric.
    pub metric: Metric,
    /// The builds and kernels, by the time of their first run.
    pub versions: Vec<TrendVersion>,
    /// From each of them to the next.
    pub changes: Vec<TrendChange>,
}

/// Rows of one build on one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrendVersion {
    /// The build; empty in rows that do not say it.
    pub build: String,
    /// The kernel.
    pub kernel: String,
    /// When its first run began.
    pub since: String,
    /// Its sessions.
    pub sessions: usize,
    /// Its runs.
    pub runs: usize,
}

/// From one version to the next.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrendChange {
    /// Whether the build is another.
    pub build_changed: bool,
    /// Whether the kernel is another.
    pub kernel_changed: bool,
    /// The later version (B) compared with the one before (A); null if they have no cell in common.
    pub comparison: Option<Comparison>,
    /// Why there is none.
    pub why: Option<String>,
}

/// Rows that are not those of one study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOneStudy(String);

impl fmt::Display for NotOneStudy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for NotOneStudy {}

/// Compares the versions that files of rows have.
///
/// Errors: a file that cannot be read; [`NotOneStudy`]; [`crate::NoProportion`].
pub fn trend(paths: &[PathBuf], by: Yardstick) -> anyhow::Result<Trend> {
    let rows: Vec<Vec<Row>> = paths.iter().map(|path| read_side(path)).collect::<anyhow::Result<_>>()?;
    Trend::from_rows(rows.concat(), by)
}

impl Trend {
    /// Compares the versions of rows that say their sessions.
    ///
    /// Errors: as [`trend`], but for reading.
    pub(crate) fn from_rows(rows: Vec<Row>, by: Yardstick) -> anyhow::Result<Trend> {
        let studies: BTreeSet<&str> = rows.iter().map(|row| row.study.as_str()).collect();
        let study = match studies.into_iter().collect::<Vec<_>>()[..] {
            [] => Err(NotOneStudy("there are no rows; `pump lab run STUDY --out FILE` makes some".into())),
            [study] => Ok(study.to_owned()),
            ref several => {
                let names = datapump::shown(several.join(", ").as_bytes());
                Err(NotOneStudy(format!("the rows are of several studies: {names}; give files of one")))
            }
        }?;
        let sides = by_version(rows);
        // One measure for all changes.
        let by = Yardstick { cpu: by.cpu.or_else(|| CpuBy::of_sides(&sides)), ..by };
        let versions: Vec<TrendVersion> = sides.iter().map(|rows| TrendVersion::from_rows(rows)).collect();
        let changes = sides.windows(2).zip(versions.windows(2)).map(|(sides, versions)| {
            let [from, to] = versions else { unreachable!("windows of two") };
            TrendChange::from_versions([from, to], [&sides[0], &sides[1]], by)
        });
        let changes = changes.collect::<anyhow::Result<_>>()?;
        Ok(Trend { study, metric: by.metric, versions, changes })
    }

    /// Whether no change could be judged.
    pub fn is_empty(&self) -> bool {
        self.changes.iter().filter_map(|change| change.comparison.as_ref()).all(Comparison::is_empty)
    }
}

/// The rows of each build and kernel, by the time of the first; those of two programs without the factor that says so.
fn by_version(rows: Vec<Row>) -> Vec<Vec<Row>> {
    let mut versions: BTreeMap<(String, String), Vec<Row>> = BTreeMap::new();
    for mut row in rows {
        row.asked.remove(BINARY);
        versions.entry((row.build.clone(), row.kernel.clone())).or_default().push(row);
    }
    let mut sides: Vec<Vec<Row>> = versions.into_values().collect();
    sides.sort_by_key(|rows| (since(rows), rows.iter().map(|row| row.order).min()));
    sides
}

/// When the first of the runs began. The form of the time is that of all rows, so that words have its order.
fn since(rows: &[Row]) -> String {
    rows.iter().map(|row| row.time.as_str()).min().unwrap_or_default().into()
}

impl TrendVersion {
    fn from_rows(rows: &[Row]) -> TrendVersion {
        let sessions: BTreeSet<&str> = rows.iter().map(|row| row.session.as_str()).collect();
        TrendVersion {
            build: rows[0].build.clone(),
            kernel: rows[0].kernel.clone(),
            since: since(rows),
            sessions: sessions.len(),
            runs: rows.len(),
        }
    }
}

impl TrendChange {
    fn from_versions(
        versions: [&TrendVersion; 2],
        rows: [&[Row]; 2],
        by: Yardstick,
    ) -> anyhow::Result<TrendChange> {
        let [from, to] = versions;
        let names = versions.map(|version| datapump::shown(version.to_string().as_bytes()));
        let (comparison, why) = match Comparison::by(names, rows, by) {
            Ok(comparison) => (Some(comparison), None),
            Err(error) if error.is::<NothingInCommon>() => (None, Some(format!("{error:#}"))),
            Err(error) => return Err(error),
        };
        let (build_changed, kernel_changed) = (from.build != to.build, from.kernel != to.kernel);
        Ok(TrendChange { build_changed, kernel_changed, comparison, why })
    }
}

#[cfg(test)]
mod tests;
