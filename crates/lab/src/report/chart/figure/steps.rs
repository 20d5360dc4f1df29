//! Values whose places are themselves: the bins of a histogram, the steps of a distribution.
//!
//! Must not know: which figure they are for.

use super::FieldRow;
use super::found::{AxisPlace, FoundPoint};
use crate::report::summary::results::ResultReader;

/// A distribution of more values is drawn by so many of them, at equal parts.
const STEPS_MAX: usize = 512;

/// The bins of the first run that has a histogram: those of several runs have other widths.
pub(super) fn histogram(rows: &[&FieldRow<'_>], y: &ResultReader<'_>) -> Vec<FoundPoint> {
    let bins = |row: &&FieldRow<'_>| {
        let histogram = y.part(&row.fields)?;
        let (from, width) = (histogram.get("from_us")?.as_f64()?, histogram.get("bin_us")?.as_f64()?);
        let counts = histogram.get("counts")?.as_array()?.iter().enumerate();
        let point = |(at, count): (usize, &serde_json::Value)| {
            Some(FoundPoint::of_one(AxisPlace::at(from + at as f64 * width), count.as_f64()?))
        };
        counts.map(point).collect::<Option<Vec<FoundPoint>>>()
    };
    rows.iter().find_map(bins).unwrap_or_default()
}

/// For each value the part of all that are not above it.
pub(super) fn distribution(rows: &[&FieldRow<'_>], y: &ResultReader<'_>) -> Vec<FoundPoint> {
    let mut values: Vec<f64> = rows.iter().flat_map(|row| y.each(&row.fields)).flatten().collect();
    values.sort_by(f64::total_cmp);
    let (all, steps) = (values.len(), values.len().min(STEPS_MAX));
    let step = |at: usize| {
        let value = values[(at + 1) * all / steps - 1];
        // Equal values are one place, at which all of them count.
        let below = values.partition_point(|other| *other <= value);
        FoundPoint::of_one(AxisPlace::at(value), below as f64 / all as f64)
    };
    (0..steps).map(step).collect()
}
