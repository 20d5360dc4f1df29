//! Components from the rows of the study `parts-and-whole`: each of its commands but the copies is one.
//!
//! Must not know: how components are put together, how a row was measured.

use std::collections::BTreeMap;

use anyhow::bail;
use datapump::BillHost;

use super::{Component, Size};
use crate::judge::cost::{CpuBy, FitPoint, cpu_ns, fit_cost, side_cpu_ns};
use crate::judge::stats::{median, next_factors};
use crate::row::Row;
use crate::study::{COMMAND, Level};

/// The study whose commands are the components.
pub(super) const STUDY: &str = "parts-and-whole";

/// A command of the study, and the component that it measures.
#[derive(Clone, Copy, Debug)]
struct MeasuredPart {
    command: &'static str,
    component: &'static str,
    /// The measured side of a copy between two hosts; the other end is null.
    side: Option<BillHost>,
}

impl MeasuredPart {
    const fn new(command: &'static str, component: &'static str) -> MeasuredPart {
        MeasuredPart { command, component, side: None }
    }
}

const PARTS: [MeasuredPart; 7] = [
    MeasuredPart::new("pump", "pump"),
    MeasuredPart::new("network", "network"),
    MeasuredPart::new("source", "disk_source"),
    MeasuredPart::new("sink", "disk_sink"),
    MeasuredPart::new(TWO_PROGRAMS, "disk_both"),
    MeasuredPart { command: "sender", component: "sender", side: Some(BillHost::Sender) },
    MeasuredPart { command: "receiver", component: "receiver", side: Some(BillHost::Receiver) },
];

/// The command whose runs are two programs at once.
const TWO_PROGRAMS: &str = "both";
/// A source with one request under way, and with four: as many requests, and four times as many wake-ups.
const FEW_AND_MANY: [&str; 2] = ["source-1", "source-4"];

/// The commands that are run for a profile.
pub(super) fn commands() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|part| part.command).chain(FEW_AND_MANY)
}

/// Share of the runs inside of an interval.
const INSIDE: f64 = 0.9;

/// The rows of a command, by request size.
pub(super) type RowsBySize<'rows> = BTreeMap<u64, Vec<&'rows Row>>;

/// The components that the rows have: of their largest runs.
///
/// Errors: a run that failed; a part without a fit.
pub(super) fn of_rows(rows: &[Row], by: CpuBy) -> anyhow::Result<Vec<Component>> {
    let mut components = Vec::new();
    for part in &PARTS {
        let sizes = largest_runs(rows, part.command)?;
        if !sizes.is_empty() {
            components.push(component_of(part, &sizes, by)?);
        }
    }
    Ok(components)
}

/// CPU time of a wake-up: what a source takes longer with one request under way than with four, for each wait that it has
/// more. The median of the request sizes at which each run with one waited more often than any with four, as nothing is
/// known of a difference that noise has, too. `None` if there are none, or if more waits took less time.
///
/// Errors: a run that failed.
pub(super) fn wakeup_us(rows: &[Row], by: CpuBy) -> anyhow::Result<Option<f64>> {
    let [few, many] = FEW_AND_MANY.map(|command| largest_runs(rows, command));
    let (few, many) = (few?, many?);
    let taken = |rows: &[&Row]| {
        let ns: Vec<f64> = rows.iter().filter_map(|row| cpu_ns(row, by)).collect();
        let mut waits: Vec<f64> =
            rows.iter().filter_map(|row| row.voluntary_switches).map(|count| count as f64).collect();
        waits.sort_by(f64::total_cmp);
        Some((median(&ns)?, median(&waits)?, [*waits.first()?, *waits.last()?]))
    };
    let of_size = |(size, few): (&u64, &Vec<&Row>)| {
        let (few_ns, few_waits, [least, _]) = taken(few)?;
        let (many_ns, many_waits, [_, most]) = taken(many.get(size)?)?;
        (least > most).then(|| (few_ns - many_ns) / (few_waits - many_waits) / 1000.0)
    };
    Ok(median(&few.iter().filter_map(of_size).collect::<Vec<_>>()).filter(|us| *us > 0.0))
}

/// Whether a row is of this command.
pub(super) fn is_of(row: &Row, command: &str) -> bool {
    row.asked.get(COMMAND).is_some_and(|it| *it == Level::from(command))
}

/// The runs of a command that moved the most bytes.
///
/// Errors: a run that failed; a row without its request size.
pub(super) fn largest_runs<'rows>(rows: &'rows [Row], command: &str) -> anyhow::Result<RowsBySize<'rows>> {
    let own: Vec<&Row> = rows.iter().filter(|row| row.study == STUDY && is_of(row, command)).collect();
    if let Some(failed) = own.iter().find(|row| !row.is_completed()) {
        let why = failed.message.as_deref().unwrap_or(&failed.outcome);
        bail!("a run of {STUDY}, command {command}, failed: {why}; fix that, remove its row and run again");
    }
    let most = own.iter().map(|row| row.bytes).max();
    by_size(own.into_iter().filter(|row| Some(row.bytes) == most))
}

/// Rows by the size of their requests.
///
/// Errors: a row without it.
pub(super) fn by_size<'rows>(
    rows: impl IntoIterator<Item = &'rows Row>,
) -> anyhow::Result<RowsBySize<'rows>> {
    let mut sizes = RowsBySize::new();
    for row in rows {
        let size = row.request_bytes().map_err(|why| anyhow::anyhow!("a row of {}: {why}", row.study))?;
        sizes.entry(size).or_default().push(row);
    }
    Ok(sizes)
}

fn component_of(part: &MeasuredPart, sizes: &RowsBySize<'_>, by: CpuBy) -> anyhow::Result<Component> {
    let component = part.component;
    let cost = |row: &Row| side_ns_per_byte(row, part.side, by);
    let points: Vec<FitPoint> = sizes
        .iter()
        .flat_map(|(&size, rows)| rows.iter().map(move |row| (size, row)))
        .filter_map(|(size, row)| {
            let ns_per_byte = cost(row)?;
            Some(FitPoint { request_size_bytes: size as f64, ns_per_byte, run_bytes: None })
        })
        .collect();
    let fit =
        fit_cost(&points).map_err(|few| anyhow::anyhow!("{component}, by CPU time {}: {few}", by.words()))?;
    let (cb, cr) = (fit.cb_ns_per_byte, fit.cr_us_per_request);
    Ok(Component {
        component: component.into(),
        cb_ns_per_byte: cb.value,
        cb_ns_per_byte_low: cb.low,
        cb_ns_per_byte_high: cb.high,
        cr_us_per_request: cr.value,
        cr_us_per_request_low: cr.low,
        cr_us_per_request_high: cr.high,
        predictions: fit.predictions,
        warning: fit.warning,
        sizes: sizes.iter().map(|(&size, rows)| size_of(size, rows, &cost)).collect(),
    })
}

fn size_of(request_size_bytes: u64, rows: &[&Row], cost: &dyn Fn(&Row) -> Option<f64>) -> Size {
    let of = |figure: &dyn Fn(&Row) -> Option<f64>| -> Vec<f64> {
        rows.iter().filter_map(|row| figure(row)).collect()
    };
    let (costs, speeds) = (of(cost), of(&|row| Some(bytes_per_second(row))));
    let waits = of(&|row| {
        let requests = row.bytes.div_ceil(request_size_bytes).max(1);
        Some(row.voluntary_switches? as f64 / requests as f64)
    });
    Size {
        request_size_bytes,
        n: rows.len() as u32,
        ns_per_byte: median(&costs).unwrap_or(0.0),
        bytes_per_second: median(&speeds).unwrap_or(0.0),
        ns_per_byte_next: next_factors(&costs, INSIDE),
        bytes_per_second_next: next_factors(&speeds, INSIDE),
        waits_per_request: median(&waits),
    }
}

/// CPU time of a run for each of its bytes.
pub(super) fn ns_per_byte(row: &Row, by: CpuBy) -> Option<f64> {
    side_ns_per_byte(row, None, by)
}

/// CPU time per byte of one side of a copy between two hosts. The sender's is all that is not the receiver's, so that
/// both add up: the shell that starts them is the sender's.
pub(super) fn side_ns_per_byte(row: &Row, side: Option<BillHost>, by: CpuBy) -> Option<f64> {
    let receiver = || side_cpu_ns(row, BillHost::Receiver, by);
    let ns = match side {
        Some(BillHost::Receiver) => receiver()?,
        Some(_) => cpu_ns(row, by)? - receiver()?,
        None => cpu_ns(row, by)?,
    };
    Some(ns / row.bytes.max(1) as f64)
}

/// Bandwidth until all was moved, and synced where it is: the start of a command is no part of it. The report in a row is
/// of one program.
pub(super) fn bytes_per_second(row: &Row) -> f64 {
    let reported = row.synced_ns.or(row.last_done_ns).filter(|_| !is_of(row, TWO_PROGRAMS));
    let ns = reported.unwrap_or(row.elapsed_ns);
    row.bytes as f64 * 1e9 / ns.max(1) as f64
}
