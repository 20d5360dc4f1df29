//! Curves over what is used of each page, from rows of the study `access`: bandwidth, CPU time, and how the kernel's
//! CPU time for a page grows with the bytes that are touched (statements S34, S35, S38).
//!
//! Every claim rests on intervals of 95 % that do not overlap; else it is "not separable". Times and CPU times are
//! those of the pass, without the start of the program. Must not know: how a pass is made.

mod messages;

pub use messages::curves_words;

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::access::Touch;
use crate::judge::cost::{FittedLine, InputError};
use crate::judge::stats::{Interval, IntervalVerdict, MeanInterval, mean};
use crate::row::{DisturbedRows, Row, undisturbed_rows};
use crate::study::Level;

/// Fewer points have no interval: two lie on a line whatever the noise is.
const POINTS_MIN: usize = 3;
/// A mapped page may cost the kernel this part of what a page by calls does for each byte (statement S38).
const QUARTER: f64 = 0.25;

/// One pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PagePoint {
    /// Bytes that were used of each page.
    pub touched_bytes: f64,
    /// Bytes of the pages over the time; nothing where the soaker ran beside it.
    pub bytes_per_second: Option<f64>,
    /// CPU time of the process in the kernel for each page.
    pub kernel_ns_per_page: f64,
    /// All CPU time for each byte of the pages.
    pub cpu_ns_per_byte: f64,
}

/// What was seen at one touch.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PageLevel {
    /// Bytes that were used of each page.
    pub touched_bytes: f64,
    /// Passes.
    pub n: usize,
    /// Passes that have a bandwidth: those beside which no soaker ran.
    pub timed: usize,
    /// Their mean bandwidth; null if the soaker ran beside all of them.
    pub bytes_per_second: Option<f64>,
    /// Its 95 % interval; null below three passes.
    pub bytes_per_second_interval: Option<[f64; 2]>,
    /// CPU time in the kernel for each page.
    pub kernel_ns_per_page: f64,
    /// All CPU time for each byte of the pages.
    pub cpu_ns_per_byte: f64,
}

/// The curve of one interface.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PageCurve {
    /// The interface.
    pub interface: String,
    /// The level of every other factor but the touch.
    pub asked: BTreeMap<String, Level>,
    /// By touch, the least first.
    pub levels: Vec<PageLevel>,
    /// By how many nanoseconds the kernel's CPU time for a page grows with each byte that is touched; null below three
    /// passes or with one touch.
    pub kernel_ns_per_touched_byte: Option<f64>,
    /// Its 95 % interval.
    pub kernel_ns_per_touched_byte_interval: Option<[f64; 2]>,
    /// That slope beside a quarter of stream's, for another interface than `stream`.
    pub slope_beside_quarter_of_stream: Option<IntervalVerdict>,
    /// The bandwidth beside stream's where the most of a page is touched, for another interface than `stream`.
    pub dense_beside_stream: Option<IntervalVerdict>,
    /// The mean bandwidth over stream's where the least of a page is touched, for another interface than `stream`.
    pub sparse_ratio_to_stream: Option<f64>,
    /// The bandwidth where the most is touched beside that where the least is: `above` is what must not be.
    pub dense_beside_sparse: IntervalVerdict,
}

const STREAM: &str = "stream";

type PageGroup = BTreeMap<String, Level>;

/// The curves of a file of rows; without disturbed runs, unless they are kept.
///
/// Errors: the file cannot be read, or no completed row in it has an interface and a touch.
pub fn page_curves(path: &Path, keep_disturbed: bool) -> anyhow::Result<(Vec<PageCurve>, DisturbedRows)> {
    let (rows, disturbed) = undisturbed_rows(path, keep_disturbed)?;
    let curves = curves_of(&rows);
    if curves.is_empty() {
        let words =
            "nothing to fit: no completed run has the factors interface and touch; run the study access";
        return Err(InputError::of_file(path, disturbed.appended_to(words)).into());
    }
    Ok((curves, disturbed))
}

fn curves_of(rows: &[Row]) -> Vec<PageCurve> {
    let mut groups: BTreeMap<PageGroup, BTreeMap<String, Vec<PagePoint>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.is_completed()) {
        let Some((group, interface, point)) = point(row) else { continue };
        groups.entry(group).or_default().entry(interface).or_default().push(point);
    }
    groups.iter().flat_map(|(group, interfaces)| curves(group, interfaces)).collect()
}

/// The pass of a row, if it is one.
fn point(row: &Row) -> Option<(PageGroup, String, PagePoint)> {
    let mut group = row.asked.clone();
    let (interface, touch) = (group.remove("interface")?.to_string(), group.remove("touch")?.to_string());
    group.remove("soaker");
    let page_bytes = group.get("request_size").and_then(Level::value)?;
    let touched_bytes = touch.parse::<Touch>().ok()?.bytes(page_bytes as u64) as f64;
    let report = row.report.as_ref().filter(|report| report.bytes > 0 && report.elapsed_ns > 0)?;
    let bytes = report.bytes as f64;
    let process_ns = report.cpu.total_ns() as f64;
    let is_soaked = row.soaked_ns.is_some();
    let point = PagePoint {
        touched_bytes,
        bytes_per_second: (!is_soaked).then(|| report.bytes_per_second()),
        kernel_ns_per_page: report.cpu.system_ns as f64 / (bytes / page_bytes).ceil(),
        cpu_ns_per_byte: process_ns / bytes,
    };
    Some((group, interface, point))
}

fn curves(group: &PageGroup, interfaces: &BTreeMap<String, Vec<PagePoint>>) -> Vec<PageCurve> {
    let stream = interfaces.get(STREAM);
    let stream_slope = stream.and_then(|points| kernel_slope(points));
    let stream_dense = stream.and_then(|points| dense(points));
    let stream_sparse = stream.and_then(|points| sparse(points));
    let curve = |(interface, points): (&String, &Vec<PagePoint>)| {
        let slope = kernel_slope(points);
        let is_other = interface != STREAM;
        PageCurve {
            interface: interface.clone(),
            asked: group.clone(),
            levels: levels(points),
            kernel_ns_per_touched_byte: slope.map(|slope| slope.value),
            kernel_ns_per_touched_byte_interval: slope.and_then(MeanInterval::ends),
            slope_beside_quarter_of_stream: (is_other && stream.is_some()).then(|| {
                IntervalVerdict::from_intervals(interval(slope), interval(stream_slope).map(quarter))
            }),
            dense_beside_stream: (is_other && stream.is_some())
                .then(|| IntervalVerdict::from_intervals(interval(dense(points)), interval(stream_dense))),
            sparse_ratio_to_stream: sparse(points)
                .zip(stream_sparse)
                .filter(|_| is_other)
                .map(|(one, other)| one.value / other.value),
            dense_beside_sparse: IntervalVerdict::from_intervals(
                interval(dense(points)),
                interval(sparse(points)),
            ),
        }
    };
    interfaces.iter().map(curve).collect()
}

fn quarter(slope: Interval) -> Interval {
    Interval { low: slope.low * QUARTER, high: slope.high * QUARTER }
}

/// The slope of the kernel's CPU time for a page over the touched bytes: least squares, Student's t.
fn kernel_slope(points: &[PagePoint]) -> Option<MeanInterval> {
    let x: Vec<f64> = points.iter().map(|point| point.touched_bytes).collect();
    let is_one_touch = x.iter().all(|touched| *touched == x[0]);
    if points.len() < POINTS_MIN || is_one_touch {
        return None;
    }
    let line = FittedLine::through(x, points.iter().map(|point| point.kernel_ns_per_page).collect());
    Some(line.slope_estimate().into())
}

fn interval(mean: Option<MeanInterval>) -> Option<Interval> {
    mean.and_then(|mean| mean.interval)
}

/// The bandwidth where the most of a page is touched.
fn dense(points: &[PagePoint]) -> Option<MeanInterval> {
    let most = points.iter().map(|point| point.touched_bytes).max_by(f64::total_cmp);
    bandwidth(points, most?)
}

/// The bandwidth where the least of a page is touched.
fn sparse(points: &[PagePoint]) -> Option<MeanInterval> {
    let least = points.iter().map(|point| point.touched_bytes).min_by(f64::total_cmp);
    bandwidth(points, least?)
}

fn bandwidth(points: &[PagePoint], touched_bytes: f64) -> Option<MeanInterval> {
    let of_touch = points.iter().filter(|point| point.touched_bytes == touched_bytes);
    let rates: Vec<f64> = of_touch.filter_map(|point| point.bytes_per_second).collect();
    MeanInterval::from_values(&rates)
}

fn levels(points: &[PagePoint]) -> Vec<PageLevel> {
    let mut touches: Vec<f64> = points.iter().map(|point| point.touched_bytes).collect();
    touches.sort_by(f64::total_cmp);
    touches.dedup();
    let level = |touched_bytes: f64| {
        let here: Vec<&PagePoint> =
            points.iter().filter(|point| point.touched_bytes == touched_bytes).collect();
        let of = |figure: fn(&PagePoint) -> f64| {
            mean(&here.iter().map(|point| figure(point)).collect::<Vec<_>>()).unwrap_or_default()
        };
        let rate = bandwidth(points, touched_bytes);
        PageLevel {
            touched_bytes,
            n: here.len(),
            timed: here.iter().filter(|point| point.bytes_per_second.is_some()).count(),
            bytes_per_second: rate.map(|rate| rate.value),
            bytes_per_second_interval: rate.and_then(MeanInterval::ends),
            kernel_ns_per_page: of(|point| point.kernel_ns_per_page),
            cpu_ns_per_byte: of(|point| point.cpu_ns_per_byte),
        }
    };
    touches.into_iter().map(level).collect()
}

#[cfg(test)]
mod tests;
