//! Round trips by frame size: the cost of a byte, sections of a curve with steps, and the width of a distribution.
//!
//! Must not know: sockets, how round trips are timed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::fit::line::FittedLine;

/// A section has at least as many sizes: with fewer a line has no residuals.
const SECTION_SIZES_MIN: usize = 3;
/// Curves that are this close to a line, as part of the mean, are not cut up further.
const NOISE_FLOOR: f64 = 1e-3;
/// Parameters of a section: intercept, slope and where it begins.
const SECTION_PARAMETERS: f64 = 3.0;
/// Bins in a standard deviation.
const BINS_PER_DEVIATION: f64 = 5.0;
/// Bins at most: what lies beyond is in the last one.
const BINS_MAX: usize = 100;

/// A part of the curve over which latency grows evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LatencySection {
    /// The smallest frame in it: payload in bytes.
    pub from_bytes: u64,
    /// The largest.
    pub to_bytes: u64,
    /// What the line gives for no bytes, in microseconds.
    pub intercept_us: f64,
    /// Microseconds for each byte.
    pub slope_us_per_byte: f64,
}

/// How latency grows with the size of a frame.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LatencyCurve {
    /// One line through all sizes (least squares through the medians).
    pub whole: LatencySection,
    /// Sections with lines of their own; one where the curve has no steps.
    pub sections: Vec<LatencySection>,
}

impl LatencyCurve {
    /// Through points of payload bytes and microseconds, sorted by bytes, each size once. `None` of fewer than three.
    pub fn from_points(points: &[(u64, f64)]) -> Option<LatencyCurve> {
        (points.len() >= SECTION_SIZES_MIN)
            .then(|| LatencyCurve { whole: section(points), sections: sections(points) })
    }
}

fn line(points: &[(u64, f64)]) -> FittedLine {
    let (x, y) = points.iter().map(|(bytes, us)| (*bytes as f64, *us)).unzip();
    FittedLine::through(x, y)
}

fn section(points: &[(u64, f64)]) -> LatencySection {
    let line = line(points);
    LatencySection {
        from_bytes: points.first().map_or(0, |point| point.0),
        to_bytes: points.last().map_or(0, |point| point.0),
        intercept_us: line.intercept,
        slope_us_per_byte: line.slope,
    }
}

/// The cut into sections with the least information criterion (BIC): residuals against the number of parameters. For
/// each number of sections the best cut is found by dynamic programming.
fn sections(points: &[(u64, f64)]) -> Vec<LatencySection> {
    let count = points.len();
    let floor = points.iter().map(|(_, us)| us).sum::<f64>() / count as f64 * NOISE_FLOOR;
    let squares = |from: usize, to: usize| -> f64 {
        line(&points[from..to]).residuals().iter().map(|residual| residual.powi(2)).sum()
    };
    // The best cuts of the first so many points: sum of squares, and where the sections end.
    let mut best: Vec<Option<(f64, Vec<usize>)>> = vec![None; count + 1];
    best[0] = Some((0.0, Vec::new()));
    let (mut chosen, mut least) = (vec![count], f64::INFINITY);
    for number in 1..=count / SECTION_SIZES_MIN {
        best = (0..=count).map(|to| one_more(&best, to, &squares)).collect();
        let Some((sum, ends)) = &best[count] else { break };
        let mean_square = (sum / count as f64).max(floor * floor);
        let criterion =
            count as f64 * mean_square.ln() + SECTION_PARAMETERS * number as f64 * (count as f64).ln();
        if criterion < least {
            (chosen, least) = (ends.clone(), criterion);
        }
    }
    let starts = std::iter::once(0).chain(chosen.iter().copied());
    starts.zip(&chosen).map(|(from, to)| section(&points[from..*to])).collect()
}

/// The best cut of the first `to` points into one section more.
fn one_more(
    best: &[Option<(f64, Vec<usize>)>],
    to: usize,
    squares: &dyn Fn(usize, usize) -> f64,
) -> Option<(f64, Vec<usize>)> {
    let starts = 0..=to.checked_sub(SECTION_SIZES_MIN)?;
    let cuts = starts.filter_map(|from| {
        let (sum, ends) = best[from].as_ref()?;
        Some((sum + squares(from, to), ends, to))
    });
    let (sum, ends, to) = cuts.min_by(|one, other| one.0.total_cmp(&other.0))?;
    Some((sum, ends.iter().copied().chain([to]).collect()))
}

/// How round trips of one size spread.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LatencyHistogram {
    /// The shortest time of the first bin, in microseconds.
    pub from_us: f64,
    /// Width of a bin, in microseconds.
    pub bin_us: f64,
    /// How many times lay in each bin; the last takes all that is longer.
    pub counts: Vec<u64>,
    /// Full width at half maximum, in microseconds.
    pub width_us: f64,
}

impl LatencyHistogram {
    /// In bins of a fifth of the deviation, by the quantiles that lie one deviation from the median of a normal
    /// distribution, so that a few long times do not count. `None` without times.
    pub fn from_times(times_us: &[f64]) -> Option<LatencyHistogram> {
        let mut sorted = times_us.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at =
            |part: f64| sorted.get((part * (sorted.len().checked_sub(1)?) as f64).round() as usize).copied();
        let deviation = (at(0.841_34)? - at(0.158_66)?) / 2.0;
        // Times that are all the same, or nearly: a clock tells nanoseconds.
        LatencyHistogram::in_bins(&sorted, (deviation / BINS_PER_DEVIATION).max(1e-3))
    }

    /// In bins of this width.
    pub fn in_bins(times_us: &[f64], bin_us: f64) -> Option<LatencyHistogram> {
        let from_us = (times_us.iter().copied().min_by(f64::total_cmp)? / bin_us).floor() * bin_us;
        let bin = |time: f64| (((time - from_us) / bin_us) as usize).min(BINS_MAX - 1);
        let bins = times_us.iter().map(|time| bin(*time)).max()? + 1;
        let mut counts = vec![0; bins];
        times_us.iter().for_each(|time| counts[bin(*time)] += 1);
        let width_us = full_width(&counts) * bin_us;
        Some(LatencyHistogram { from_us, bin_us, counts, width_us })
    }
}

/// Full width at half maximum in bins: from where counts rise above half of the highest to where they fall below it,
/// around the highest, between the middles of bins.
fn full_width(counts: &[u64]) -> f64 {
    let Some((peak, most)) = counts.iter().enumerate().max_by_key(|(_, count)| **count) else { return 0.0 };
    let half = *most as f64 / 2.0;
    let left = crossing(counts[..=peak].iter().rev(), half);
    let right = crossing(counts[peak..].iter(), half);
    left + right
}

/// How many bins from the first one counts are below a level. Beyond the last bin there is nothing.
fn crossing<'counts>(counts: impl Iterator<Item = &'counts u64>, level: f64) -> f64 {
    let mut before = level;
    let beyond = std::iter::once(&0);
    for (at, count) in counts.chain(beyond).map(|count| *count as f64).enumerate() {
        if count < level {
            return at as f64 - (level - count) / (before - count);
        }
        before = count;
    }
    0.0
}
