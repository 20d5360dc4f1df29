//! The level-off of many readers of one server: latency(n) = max(R1, n D). R1 is the latency of a single reader,
//! D the server's cost for each reader; from R1 / D readers on the server is full.
//!
//! Must not know: where latencies come from, how the result is shown.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::judge::cost::input::InputError;

/// Halvings of the error when the best D is sought; more than doubles tell apart.
const HALVINGS: u32 = 100;
/// The latency at the most readers above this many times R1 shows that the server is full.
const FULL_FROM: f64 = 1.1;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredLatency {
    /// Number of readers.
    pub readers: u32,
    /// How long each of them took, in seconds.
    pub latency_s: f64,
    /// What all of them together read, in bytes per second, if it is known.
    pub aggregate_bytes_per_s: Option<f64>,
}

/// A fit of the level-off model.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LevelOff {
    /// What was varied besides the readers.
    pub stage: String,
    /// Latency of a single reader, in seconds.
    pub r1_s: f64,
    /// The server's cost for each reader, in seconds: the latency at the most readers, divided by them.
    pub d_s: f64,
    /// Readers from which on the server is full.
    pub knee_readers: f64,
    /// What all readers together get from a full server, in bytes per second; null if sizes are not known.
    pub plateau_bytes_per_s: Option<f64>,
    /// The largest error relative to the latency.
    pub worst_error_percent: f64,
    /// The D with the least such error, in seconds.
    pub best_d_s: f64,
    /// That error.
    pub best_worst_error_percent: f64,
    /// Observed and predicted for each number of readers.
    pub readers: Vec<Readers>,
    /// Where the model does not fit, in words.
    pub warning: Option<String>,
}

/// Observed and predicted for a number of readers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Readers {
    /// How many.
    pub readers: u32,
    /// Number of measurements.
    pub n: usize,
    /// Their mean, in seconds.
    pub latency_s: f64,
    /// max(R1, n D).
    pub predicted_s: f64,
    /// Observed less predicted, relative to the observed.
    pub error_percent: f64,
}

/// Fits R1 and D. Latencies and numbers of readers are above 0.
///
/// Errors: no single reader, or no more than one.
pub fn fit_level_off(stage: &str, latencies: &[MeasuredLatency]) -> Result<LevelOff, InputError> {
    let means = means(latencies);
    let refused = |why: &str| InputError::asked(format!("stage '{stage}': {why}"));
    let single = means.first().filter(|mean| mean.0 == 1);
    let r1_s = single.ok_or_else(|| refused("no row with 1 reader, whose latency is R1"))?.2;
    let most = means.last().filter(|mean| mean.0 > 1);
    let (most, _, latency_s) =
        *most.ok_or_else(|| refused("no row with more than 1 reader, from which D comes"))?;
    let d_s = latency_s / f64::from(most);
    let best_d_s = best_d_s(r1_s, &means);
    let of_most = latencies.iter().filter(|latency| latency.readers == most);
    let readers: Vec<Readers> =
        means.iter().map(|&(readers, n, observed_s)| predicted(r1_s, d_s, readers, n, observed_s)).collect();
    Ok(LevelOff {
        stage: stage.into(),
        r1_s,
        d_s,
        knee_readers: r1_s / d_s,
        plateau_bytes_per_s: mean(of_most.filter_map(|latency| latency.aggregate_bytes_per_s)),
        worst_error_percent: worst_error(r1_s, d_s, &means),
        best_d_s,
        best_worst_error_percent: worst_error(r1_s, best_d_s, &means),
        warning: (latency_s < FULL_FROM * r1_s).then(|| {
            format!(
                "the server is not full with {most} readers: D is at most this; measure with more readers"
            )
        }),
        readers,
    })
}

/// Number of readers, number of measurements, mean latency; the fewest readers first.
fn means(latencies: &[MeasuredLatency]) -> Vec<(u32, usize, f64)> {
    let mut by_readers: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for latency in latencies {
        by_readers.entry(latency.readers).or_default().push(latency.latency_s);
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    by_readers.into_iter().map(|(readers, values)| (readers, values.len(), mean(&values))).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    crate::judge::stats::mean(&values)
}

fn latency_s(r1_s: f64, d_s: f64, readers: u32) -> f64 {
    r1_s.max(f64::from(readers) * d_s)
}

fn predicted(r1_s: f64, d_s: f64, readers: u32, n: usize, observed_s: f64) -> Readers {
    let predicted_s = latency_s(r1_s, d_s, readers);
    let error_percent = 100.0 * (observed_s - predicted_s) / observed_s;
    Readers { readers, n, latency_s: observed_s, predicted_s, error_percent }
}

fn worst_error(r1_s: f64, d_s: f64, means: &[(u32, usize, f64)]) -> f64 {
    let error = |&(readers, n, observed_s): &(u32, usize, f64)| {
        predicted(r1_s, d_s, readers, n, observed_s).error_percent.abs()
    };
    means.iter().map(error).fold(0.0, f64::max)
}

/// The D whose largest error is least: the least error for which some D keeps all latencies within it.
fn best_d_s(r1_s: f64, means: &[(u32, usize, f64)]) -> f64 {
    let (mut low, mut high) = (0.0, 1.0_f64);
    while within(r1_s, means, high).is_none() {
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        match within(r1_s, means, middle) {
            Some(_) => high = middle,
            None => low = middle,
        }
    }
    within(r1_s, means, high).unwrap_or(0.0)
}

/// A D with which no latency is off by more than this part of itself.
fn within(r1_s: f64, means: &[(u32, usize, f64)], error: f64) -> Option<f64> {
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    for &(readers, _, observed_s) in means {
        let (least, most) = (observed_s * (1.0 - error), observed_s * (1.0 + error));
        if r1_s > most {
            return None;
        }
        high = high.min(most / f64::from(readers));
        low = if r1_s < least { low.max(least / f64::from(readers)) } else { low };
    }
    (low <= high).then_some((low + high) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn latency(readers: u32, latency_s: f64) -> MeasuredLatency {
        MeasuredLatency {
            readers,
            latency_s,
            aggregate_bytes_per_s: Some(f64::from(readers) * 10e6 / latency_s),
        }
    }

    #[test]
    fn a_server_that_is_full_from_three_readers_on() {
        let of = |readers| latency(readers, latency_s(3.0, 1.0, readers));
        let fit = fit_level_off("plain", &[1, 2, 3, 5, 10].map(of)).expect("a fit");
        assert_eq!((fit.r1_s, fit.d_s, fit.knee_readers, fit.warning), (3.0, 1.0, 3.0, None));
        assert_eq!(fit.plateau_bytes_per_s, Some(10e6));
        assert!(fit.worst_error_percent < 1e-9 && fit.best_worst_error_percent < 1e-9);
    }

    #[test]
    fn what_has_no_fit_is_refused_and_what_is_not_full_is_told() {
        for (readers, complaint) in [
            (&[2, 5][..], "stage 'plain': no row with 1 reader"),
            (&[], "no row with 1 reader"),
            (&[1, 1], "no row with more than 1 reader"),
        ] {
            let rows: Vec<MeasuredLatency> = readers.iter().map(|&readers| latency(readers, 1.0)).collect();
            let error = fit_level_off("plain", &rows).expect_err(complaint).to_string();
            assert!(error.contains(complaint), "{error}");
        }
        let idle = fit_level_off("idle", &[latency(1, 3.0), latency(4, 3.1)]).expect("a fit");
        assert!(idle.warning.expect("a warning").contains("not full with 4 readers"));
    }

    proptest! {
        #[test]
        fn no_other_d_is_better(
            latencies in prop::collection::vec(0.1..10.0_f64, 2..8),
            other in 0.5..2.0_f64,
        ) {
            let rows: Vec<MeasuredLatency> =
                latencies.iter().zip(1..).map(|(&latency_s, readers)| latency(readers, latency_s)).collect();
            let fit = fit_level_off("any", &rows).expect("a fit");
            let means = means(&rows);
            prop_assert!(fit.best_worst_error_percent <= fit.worst_error_percent + 1e-6);
            prop_assert!(
                fit.best_worst_error_percent <= worst_error(fit.r1_s, fit.best_d_s * other, &means) + 1e-6
            );
        }
    }
}
