//! From a file to fits: rows of studies, or a table, are parted into groups that differ in nothing but what the model
//! is about, and each group is fitted.
//!
//! Must not know: how a fit is made, how it is shown.

mod costs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context;
use datapump::BillHost;
use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::cpu::CpuBy;
use crate::judge::cost::fit::level_off::{LevelOff, MeasuredLatency, fit_level_off};
use crate::judge::cost::fit::{CostFit, FitPoint, fit_published};
use crate::judge::cost::half_power::HalfPower;
use crate::judge::cost::input::InputError;
use crate::judge::cost::table::{CsvRow, CsvTable};
use crate::judge::stages::{STAGE, StagePair, stage_pairs};
use crate::row::{BYTE_ORDER_MARK, DisturbedRows, Row, rows_of, undisturbed};
use crate::study::{Level, READERS};

/// The columns of a table that say how large a request is.
const SIZE_COLUMNS: [&str; 2] = ["request_size_bytes", "request_size"];
/// The columns of a table that say what it costs.
const COST_COLUMNS: [&str; 5] =
    ["observed_ns_per_byte", "ns_per_byte", "cpu_ns_per_byte", "cost_us_per_request", "cpu_us_per_request"];

type GroupLevels = BTreeMap<String, Level>;

/// The model to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Cost per byte and per request.
    Cost,
    /// Latency of many readers of one server.
    LevelOff,
}

/// What a file gave.
#[derive(Debug, Default)]
pub struct Fits {
    /// A fit for each group that has one.
    pub fits: Vec<GroupFit>,
    /// The others.
    pub refused: Vec<UnfitGroup>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
    /// Disturbed runs.
    pub disturbed: DisturbedRows,
}

/// The fit of a group.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GroupFit {
    /// The study, the table's component, or the table's name.
    pub component: String,
    /// The level of every other factor.
    pub asked: GroupLevels,
    /// How CPU time was measured; `None` for a table.
    pub cpu_by: Option<CpuBy>,
    /// Which side of copies between two hosts it is of; `None` for all of a run.
    pub side: Option<BillHost>,
    /// The smallest request that reaches half of the full speed: of rows without the soaker.
    pub half_power: Option<HalfPower>,
    /// The fit.
    #[serde(flatten)]
    pub fit: Fit,
}

/// A fit of either model.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum Fit {
    /// Cost per byte and per request.
    Cost(CostFit),
    /// Latency of many readers.
    LevelOff(LevelOff),
}

/// A group without a fit.
#[derive(Debug, PartialEq, Eq)]
pub struct UnfitGroup {
    /// Which group.
    pub group: String,
    /// Why.
    pub why: String,
}

/// Fits a model to a file of rows or a table; of rows without those of disturbed runs, unless they are kept, and by this
/// measure of CPU time, or else by the one that [`CpuBy::of_rows`] names.
///
/// Errors: what the system says; a line that is no row; an [`InputError`] for a table that is not in order or if no
/// group at all has a fit.
pub fn fit_file(path: &Path, model: Model, keep_disturbed: bool, cpu: Option<CpuBy>) -> anyhow::Result<Fits> {
    let bytes = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    let fits = match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => {
            let rows = rows_of(path, &bytes)?;
            let (taken, disturbed) = undisturbed(&rows, keep_disturbed);
            let mut fits = fit_rows(&taken, model, bytes.last() != Some(&b'\n'), cpu);
            fits.notes.extend(disturbed.words());
            Fits { disturbed, ..fits }
        }
        _ => of_table(&CsvTable::parse(path, text)?, model)?,
    };
    if fits.fits.is_empty() { Err(nothing(path, &fits).into()) } else { Ok(fits) }
}

fn nothing(path: &Path, fits: &Fits) -> InputError {
    let why = |refused: &UnfitGroup| format!("{}: {}", refused.group, refused.why);
    let whys: Vec<String> = fits.refused.iter().map(why).collect();
    let message = if whys.is_empty() { "no run has completed".to_string() } else { whys.join("; ") };
    InputError::of_file(path, fits.disturbed.appended_to(&format!("nothing to fit: {message}")))
}

impl Fits {
    fn add(&mut self, group: GroupFit) {
        self.fits.push(group);
    }

    /// The fits of a group by each of the measures that it has, and of both sides of copies between two hosts.
    fn add_costs(&mut self, component: String, asked: GroupLevels, rows: &[&Row], by: &[CpuBy]) {
        let half_power = costs::half_power(&asked, rows);
        let mut add = |by: CpuBy, side: Option<BillHost>, fit: CostFit| {
            let (component, asked) = (component.clone(), asked.clone());
            let group = GroupFit::new(component, Fit::Cost(fit));
            self.fits.push(GroupFit { asked, cpu_by: Some(by), side, half_power, ..group });
        };
        let (mut refusal, mut fitted) = (None, false);
        for &by in by {
            match costs::by_measure(rows, by) {
                Ok(Some(fit)) => {
                    add(by, None, fit);
                    fitted = true;
                }
                Ok(None) => {}
                Err(why) => refusal = refusal.or(Some(why)),
            }
        }
        if let Some(&by) = by.first() {
            costs::of_sides(rows, by).for_each(|(side, fit)| add(by, Some(side), fit));
        }
        if !fitted {
            let none = || "no measure of CPU time is there for every request size".into();
            self.refuse(name(&component, &asked), refusal.unwrap_or_else(none));
        }
    }

    fn refuse(&mut self, group: String, why: impl ToString) {
        self.refused.push(UnfitGroup { group, why: why.to_string() });
    }
}

impl GroupFit {
    /// A fit without levels, and of no CPU time: of a table.
    fn new(component: String, fit: Fit) -> GroupFit {
        GroupFit { component, asked: GroupLevels::new(), cpu_by: None, side: None, half_power: None, fit }
    }

    /// The component with the levels of its factors: `disk-source, depth 4`.
    pub fn name(&self) -> String {
        name(&self.component, &self.asked)
    }
}

fn name(component: &str, asked: &GroupLevels) -> String {
    let levels: Vec<String> = asked.iter().map(|(factor, level)| format!(", {factor} {level}")).collect();
    format!("{component}{}", levels.concat())
}

fn of_table(table: &CsvTable, model: Model) -> Result<Fits, InputError> {
    let mut fits = Fits::default();
    match model {
        Model::Cost => {
            let (size, cost) = (table.one_of(&SIZE_COLUMNS)?, table.one_of(&COST_COLUMNS)?);
            for (component, points) in parted(table, "component", |row| point(row, size, cost))? {
                match fit_published(&points) {
                    Ok(fit) => fits.add(GroupFit::new(component, Fit::Cost(fit))),
                    Err(why) => fits.refuse(component, why),
                }
            }
        }
        Model::LevelOff => {
            table.require(&["readers", "latency_s"])?;
            for (stage, latencies) in parted(table, "stage", latency)? {
                match fit_level_off(&stage, &latencies) {
                    Ok(fit) => fits.add(GroupFit::new(file_stem(&table.path), Fit::LevelOff(fit))),
                    Err(why) => fits.refuse(file_stem(&table.path), why),
                }
            }
        }
    }
    Ok(fits)
}

fn file_stem(path: &Path) -> String {
    path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned())
}

/// What the rows of a table say, parted by a column, in the order in which its values come. Without that column there
/// is one part, named after the file.
fn parted<T>(
    table: &CsvTable,
    column: &str,
    read: impl Fn(&CsvRow<'_>) -> Result<T, InputError>,
) -> Result<Vec<(String, Vec<T>)>, InputError> {
    let mut parts: Vec<(String, Vec<T>)> = Vec::new();
    for row in table.rows() {
        let name = if table.has(column) { row.text(column)?.to_string() } else { file_stem(&table.path) };
        let value = read(&row)?;
        match parts.iter_mut().find(|part| part.0 == name) {
            Some(part) => part.1.push(value),
            None => parts.push((name, vec![value])),
        }
    }
    Ok(parts)
}

fn point(row: &CsvRow<'_>, size: &str, cost: &str) -> Result<FitPoint, InputError> {
    let request_size_bytes = match size {
        "request_size" => datapump::units::parse_bytes(row.text(size)?).map_err(|why| row.wrong(why))? as f64,
        _ => row.above_zero(size)?,
    };
    if request_size_bytes == 0.0 {
        return Err(row.wrong(format!("`{size}` must be above 0")));
    }
    let cost_value = row.number(cost)?;
    let per_request = cost.ends_with("us_per_request");
    let ns_per_byte = if per_request { cost_value * 1000.0 / request_size_bytes } else { cost_value };
    Ok(FitPoint { request_size_bytes, ns_per_byte, run_bytes: None })
}

fn latency(row: &CsvRow<'_>) -> Result<MeasuredLatency, InputError> {
    let aggregate = row.optional("aggregate_bandwidth_mb_per_s")?;
    Ok(MeasuredLatency {
        readers: row.whole("readers", 1, u64::from(u32::MAX))? as u32,
        latency_s: row.above_zero("latency_s")?,
        aggregate_bytes_per_s: aggregate.map(|rate| rate * 1e6),
    })
}

/// Fits a model to rows; `torn` if some were lost. CPU time is that of the measure that is asked for, else of the one
/// that [`CpuBy::of_rows`] names.
pub(crate) fn fit_rows(rows: &[Row], model: Model, torn: bool, cpu: Option<CpuBy>) -> Fits {
    let factor = if model == Model::Cost { costs::REQUEST_SIZE } else { READERS };
    let mut groups: BTreeMap<(String, GroupLevels), Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.is_completed()) {
        let mut asked = row.asked.clone();
        asked.remove(factor);
        groups.entry((row.study.clone(), asked)).or_default().push(row);
    }
    let mut fits = Fits { notes: notes(rows, torn), ..Fits::default() };
    if model == Model::Cost {
        groups = costs::runs_together(groups);
        fits.notes.extend(costs::missing_bills(rows));
    }
    let all = groups.len();
    // A study that varies one factor at a time has groups of one cell beside those that are fitted.
    groups.retain(|_, rows| model != Model::Cost || costs::distinct_sizes(rows) != 1 || all == 1);
    if groups.len() < all {
        fits.notes.push(format!("{} groups have one request size and no fit", all - groups.len()));
    }
    let measures = costs::measures(rows, cpu);
    for ((component, asked), rows) in groups {
        match model {
            Model::Cost => fits.add_costs(component, asked, &rows, &measures),
            Model::LevelOff => match level_off_of_rows(&component, &asked, &rows) {
                Ok(fit) => fits.add(GroupFit { asked, ..GroupFit::new(component, fit) }),
                Err(why) => fits.refuse(name(&component, &asked), why),
            },
        }
    }
    if model == Model::LevelOff {
        fits.notes.extend(stage_pairs(rows).iter().filter_map(StagePair::words));
    }
    fits
}

fn notes(rows: &[Row], torn: bool) -> Vec<String> {
    let failed = rows.iter().filter(|row| !row.is_completed()).count();
    let hosts: BTreeSet<&str> = rows.iter().map(|row| row.host.as_str()).collect();
    let hosts: Vec<&str> = hosts.into_iter().collect();
    let told = [
        (failed > 0).then(|| format!("{failed} runs failed; their rows are in no fit")),
        torn.then(|| "the last line is cut off and is left out".to_string()),
        (hosts.len() > 1).then(|| format!("rows of several hosts are fitted together: {}", hosts.join(", "))),
    ];
    told.into_iter().flatten().collect()
}

fn level_off_of_rows(component: &str, asked: &GroupLevels, rows: &[&Row]) -> Result<Fit, String> {
    let latencies = rows.iter().flat_map(|row| latencies_of_row(row));
    let latencies = latencies.collect::<Result<Vec<MeasuredLatency>, &str>>()?;
    let stage = asked.get(STAGE).map_or_else(|| component.to_string(), Level::to_string);
    fit_level_off(&stage, &latencies).map(Fit::LevelOff).map_err(|why| why.to_string())
}

/// The latency of each reader, or where the row does not tell them apart, of all together.
fn latencies_of_row(row: &Row) -> Vec<Result<MeasuredLatency, &'static str>> {
    let readers = match row.asked.get(READERS) {
        Some(&Level::Number(readers)) => u32::try_from(readers).ok().filter(|&readers| readers > 0),
        _ => None,
    };
    let Some(readers) = readers else {
        return vec![Err("the factor readers must be a whole number above 0 in every row")];
    };
    let latency = |latency_s: f64| {
        if latency_s <= 0.0 {
            Err("a run took no time")
        } else {
            // The row's bytes are those of all readers.
            let aggregate_bytes_per_s = (row.bytes > 0).then(|| row.bytes as f64 / latency_s);
            Ok(MeasuredLatency { readers, latency_s, aggregate_bytes_per_s })
        }
    };
    row.latencies_s().into_iter().map(latency).collect()
}

#[cfg(test)]
mod tests;
