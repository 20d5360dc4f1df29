//! Costs of a group of rows: by which measures of CPU time, from which runs, of which side.
//!
//! Must not know: how a fit is made.

use std::collections::{BTreeMap, BTreeSet};

use datapump::BillHost;

use super::GroupLevels;
use crate::judge::cost::cpu::{CpuBy, cpu_ns, lacks_sides, side_cpu_ns};
use crate::judge::cost::fit::{CostFit, FitPoint, fit_cost};
use crate::judge::cost::half_power::{self, HalfPower};
use crate::row::Row;
use crate::study::SOAKER;

/// The factor that the model is about.
pub(super) const REQUEST_SIZE: &str = "request_size";
/// The factor by which runs move different amounts.
const SIZE: &str = "size";
/// Amounts that are closer do not show the fixed cost of a run.
const AMOUNTS_APART_MIN: f64 = 1.5;

/// The study and its levels, but for the request size.
type Groups<'rows> = BTreeMap<(String, GroupLevels), Vec<&'rows Row>>;

/// All levels, and the rows that have them.
type LevelRows<'rows> = (GroupLevels, Vec<&'rows Row>);

/// The measures of CPU time by which rows are fitted: the one that is asked for, else the one that rows are judged by.
/// The soaker's is printed beside that of the process: the one may say too much, the other too little.
pub(super) fn measures(rows: &[Row], asked: Option<CpuBy>) -> Vec<CpuBy> {
    let by = asked.or_else(|| CpuBy::of_rows(rows));
    let beside = (asked.is_none() && by == Some(CpuBy::Soaker)).then_some(CpuBy::Process);
    by.into_iter().chain(beside).collect()
}

/// Groups that differ in the size of what is moved become one, where several amounts are moved by several request sizes
/// each: then the fixed cost of a run can be fitted.
pub(super) fn runs_together(groups: Groups<'_>) -> Groups<'_> {
    let mut alike: BTreeMap<(String, GroupLevels), Vec<LevelRows<'_>>> = BTreeMap::new();
    for ((study, asked), rows) in groups {
        let mut others = asked.clone();
        others.remove(SIZE);
        alike.entry((study, others)).or_default().push((asked, rows));
    }
    let mut together = BTreeMap::new();
    for ((study, others), groups) in alike {
        let varies = groups.len() > 1 && groups.iter().all(|(_, rows)| distinct_sizes(rows) > 1);
        if varies {
            together.insert((study, others), groups.into_iter().flat_map(|(_, rows)| rows).collect());
        } else {
            together.extend(groups.into_iter().map(|(asked, rows)| ((study.clone(), asked), rows)));
        }
    }
    together
}

/// How many request sizes the rows have; 0 if one does not say its own.
pub(super) fn distinct_sizes(rows: &[&Row]) -> usize {
    let sizes: Result<BTreeSet<u64>, String> = rows.iter().map(|row| row.request_bytes()).collect();
    sizes.map_or(0, |sizes| sizes.len())
}

/// The speed against the request size, of runs without the soaker that move the most.
pub(super) fn half_power(asked: &GroupLevels, rows: &[&Row]) -> Option<HalfPower> {
    if asked.get(SOAKER).is_some_and(|level| level.to_string() != "off") {
        return None;
    }
    let most = rows.iter().map(|row| row.bytes).max();
    let run = |row: &&Row| {
        let seconds = row.elapsed_ns as f64 / 1e9;
        Some((request_size_bytes(row).ok()?, row.bytes as f64 / seconds)).filter(|_| seconds > 0.0)
    };
    let of_most = rows.iter().filter(|row| Some(row.bytes) == most);
    half_power::half_power(&of_most.filter_map(run).collect::<Vec<(f64, f64)>>())
}

/// A note where rows lack the bills that the costs of both sides are fitted from.
pub(super) fn missing_bills(rows: &[Row]) -> Option<String> {
    let lacking = rows.iter().filter(|row| row.is_completed() && lacks_sides(row)).count();
    (lacking > 0).then(|| {
        format!(
            "{lacking} copies between two hosts have no bill of both (--bill): their sides are not fitted separately"
        )
    })
}

/// The fit by one measure; `None` where no run has it.
///
/// Errors: why there is none though some have it, in words.
pub(super) fn by_measure(rows: &[&Row], by: CpuBy) -> Result<Option<CostFit>, String> {
    fitted(rows, |row| cpu_ns(row, by), &format!("CPU time {}", by.words()))
}

/// The fits of the sides whose bills are there at every request size.
pub(super) fn of_sides(rows: &[&Row], by: CpuBy) -> impl Iterator<Item = (BillHost, CostFit)> {
    let fit = |side: BillHost| fitted(rows, |row| side_cpu_ns(row, side, by), "a bill").ok().flatten();
    [BillHost::Sender, BillHost::Receiver].map(|side| Some((side, fit(side)?))).into_iter().flatten()
}

fn fitted(rows: &[&Row], cpu: impl Fn(&Row) -> Option<f64>, what: &str) -> Result<Option<CostFit>, String> {
    let sizes = rows.iter().map(|row| request_size_bytes(row)).collect::<Result<Vec<f64>, String>>()?;
    let (least, most) =
        rows.iter().fold((u64::MAX, 0), |(least, most), row| (row.bytes.min(least), row.bytes.max(most)));
    let by_run = most as f64 >= AMOUNTS_APART_MIN * least as f64;
    let point = |(row, &request_size_bytes): (&&Row, &f64)| {
        let bytes = row.bytes as f64;
        let ns_per_byte = cpu(row)? / bytes;
        Some(FitPoint { request_size_bytes, ns_per_byte, run_bytes: by_run.then_some(bytes) })
    };
    let points: Vec<FitPoint> = rows.iter().zip(&sizes).filter_map(point).collect();
    let distinct = |sizes: &[f64]| sizes.iter().map(|size| size.to_bits()).collect::<BTreeSet<u64>>().len();
    match distinct(&points.iter().map(|point| point.request_size_bytes).collect::<Vec<f64>>()) {
        0 => Ok(None),
        measured if measured < distinct(&sizes) => Err(format!("{what} is not there for every request size")),
        _ => fit_cost(&points).map(Some).map_err(|why| why.to_string()),
    }
}

fn request_size_bytes(row: &Row) -> Result<f64, String> {
    let run = format!("run {} of round {}", row.order, row.repeat);
    if row.bytes == 0 {
        return Err(format!("{run} moved no bytes"));
    }
    row.request_bytes().map(|bytes| bytes as f64).map_err(|why| format!("{run}: {why}"))
}
