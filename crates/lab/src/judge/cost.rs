//! The cost model: what a byte and a request cost, fitted, composed and set against the published tables. MODEL.md
//! beside this crate says it in words.
//!
//! Costs are in nanoseconds per byte (Cb) and microseconds per request (Cr); a request of RS bytes costs
//! Cb + 1000 Cr / RS nanoseconds per byte. Must not know: how rows were measured, command lines, how text is shown.

mod chain;
mod cpu;
pub(in crate::judge) mod fit;
mod golden;
mod groups;
mod half_power;
mod input;
mod overhead;
mod parts;
mod pipeline;
mod table;
mod told;

pub use chain::{ChainPrediction, PartsFile};
pub use cpu::{CpuBy, cpu_ns, side_cpu_ns};
pub use fit::level_off::{LevelOff, MeasuredLatency, Readers, fit_level_off};
pub(crate) use fit::line::FittedLine;
pub use fit::{
    CostFit, Figure, FitPoint, Predictions, SizeResult, TooFew, Weighing, fit_cost, fit_published,
};
pub use golden::{Statement, check_golden};
pub(crate) use groups::fit_rows;
pub use groups::{Fit, Fits, GroupFit, Model, UnfitGroup, fit_file};
pub use half_power::{HalfPower, half_power};
pub use input::InputError;
pub use overhead::{ApplicationCell, ApplicationRates, application_cells, applications_words};
pub use parts::{
    CostPart, bottlenecks, cpu_bytes_per_s, predict, predict_between, serial_bytes_per_s, sum,
    sum_without_pumps, without_pump,
};
pub use pipeline::{PipelineRow, PipelineTable};
pub(crate) use table::{CsvRow, CsvTable};
pub use told::{chain_words, golden_words, pipeline_words};

/// |observed - predicted| / min(observed, predicted) in percent, with the sign of observed - predicted: the relative
/// error of the published tables. `None` where a value is not above 0, for there it has no meaning.
pub fn relative_error_percent(observed: f64, predicted: f64) -> Option<f64> {
    let least = observed.min(predicted);
    (least > 0.0).then(|| 100.0 * (observed - predicted) / least)
}

/// The largest size of errors that have one.
fn worst_percent(errors: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    errors.into_iter().flatten().map(f64::abs).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published tables.
    pub fn golden(name: &str) -> std::path::PathBuf {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
    }

    #[test]
    fn the_relative_error_is_that_of_the_published_tables() {
        // Data Pump, table 2: both branches of the smaller value.
        for (observed, predicted, percent) in [(5.3, 3.8, 39.0), (1.3, 1.9, -46.0), (2.2, 2.2, 0.0)] {
            let got = relative_error_percent(observed, predicted).expect("above 0");
            assert!((got - percent).abs() < 0.5, "{observed} for {predicted}: {got}");
        }
        assert_eq!(relative_error_percent(1.0, 0.0), None);
        assert_eq!(relative_error_percent(1.0, -2.0), None);
    }
}
