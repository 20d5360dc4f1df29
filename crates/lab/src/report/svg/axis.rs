//! An axis: where a value lies on it, and the words of its ticks.
//!
//! kuva is given linear axes alone. Where each step is a factor, places are logarithms: kuva's own logarithmic axis has no
//! ticks at powers of two and ends at 1e-10. Must not know: what is drawn over the axis.

use std::sync::Arc;

use kuva::prelude::TickFormat;
use kuva::render::render_utils::compute_tick_step;

use super::labels;

/// Smaller and larger values overflow when they are added up or divided.
const DRAWABLE: std::ops::RangeInclusive<f64> = 1e-200..=1e200;
const LINEAR_TICKS: usize = 6;
const LOG_TICKS: f64 = 7.0;
/// Below two decades powers of ten are too few ticks.
const DECADES_MIN: f64 = 2.0;

/// How places follow from values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AxisScale {
    Linear,
    /// Each step is this factor.
    Powers(f64),
}

/// An axis, its range and its ticks in places.
#[derive(Clone, Debug, PartialEq)]
pub struct SvgAxis {
    scale: AxisScale,
    /// On a linear axis the value at place 1, so that places are neither tiny nor huge; else the value at place 0.
    unit: f64,
    is_bytes: bool,
    /// The lowest place.
    pub low: f64,
    /// The highest.
    pub high: f64,
    /// From tick to tick.
    pub step: f64,
}

/// How values go over an axis.
#[derive(Clone, Copy, Debug, Default)]
pub struct AxisOptions {
    /// Each step is a factor.
    pub is_log: bool,
    /// Values are sizes.
    pub is_bytes: bool,
    /// Bars begin at the lowest place, and the lowest bar must be seen.
    pub has_base: bool,
}

/// Whether an axis has a place for a value.
pub fn is_drawable(value: f64, is_log: bool) -> bool {
    DRAWABLE.contains(&value) || (!is_log && (value == 0.0 || DRAWABLE.contains(&-value)))
}

impl SvgAxis {
    /// The axis that goes up: from 0 if it is linear and no value is negative.
    pub fn upright(values: &[f64], options: AxisOptions) -> SvgAxis {
        let mut axis = SvgAxis::scaled(values, options);
        if axis.scale == AxisScale::Linear {
            axis.reach(0.0);
            if axis.low == axis.high {
                axis.high = axis.low + 1.0;
            }
            axis.step = axis.linear_step();
            axis.low = floor(axis.low / axis.step) * axis.step;
            axis.high = ceil(axis.high / axis.step) * axis.step;
            return axis;
        }
        let below = if options.has_base && axis.low < floor(axis.low) + 0.1 { 1.0 } else { 0.0 };
        axis.low = floor(axis.low) - below;
        axis.high = ceil(axis.high);
        if axis.low == axis.high {
            axis.high += 1.0;
        }
        axis.begin_at_zero();
        axis.step = log_step(axis.low, axis.high);
        axis
    }

    /// The axis that goes to the right: a little wider than its values.
    pub fn across(values: &[f64], options: AxisOptions) -> SvgAxis {
        let mut axis = SvgAxis::scaled(values, options);
        let span = axis.high - axis.low;
        if axis.scale == AxisScale::Linear {
            // Places are below 1024: closer values cannot be kept apart.
            let beside = if span < 1e-9 { 1.0 } else { span * 0.02 };
            (axis.low, axis.high) = (axis.low - beside, axis.high + beside);
            axis.step = axis.linear_step();
        } else {
            let beside = (span * 0.02).max(0.15);
            (axis.low, axis.high) = (axis.low - beside, axis.high + beside);
            if axis.high.floor() < axis.low {
                (axis.low, axis.high) = (axis.low.floor(), axis.high.ceil());
            }
            axis.step = log_step(axis.low, axis.high);
        }
        axis
    }

    /// An axis of names: the first one lies at place 1.
    pub fn of_names(count: usize) -> SvgAxis {
        let scale = AxisScale::Linear;
        SvgAxis { scale, unit: 1.0, is_bytes: false, low: 0.5, high: count as f64 + 0.5, step: 1.0 }
    }

    /// The axis of colours: from the least to the largest value.
    pub fn of_colours(values: &[f64], options: AxisOptions) -> SvgAxis {
        SvgAxis::scaled(values, options)
    }

    fn scaled(values: &[f64], options: AxisOptions) -> SvgAxis {
        let (scale, unit) = if options.is_log {
            log_unit(values, options.is_bytes)
        } else {
            let largest = values.iter().map(|value| value.abs()).fold(0.0, f64::max);
            let base: f64 = if options.is_bytes { 1024.0 } else { 10.0 };
            let power = floor(largest.max(*DRAWABLE.start()).log(base)).max(if options.is_bytes {
                0.0
            } else {
                f64::MIN
            });
            (AxisScale::Linear, if largest > 0.0 { base.powf(power) } else { 1.0 })
        };
        let mut axis = SvgAxis { scale, unit, is_bytes: options.is_bytes, low: 0.0, high: 0.0, step: 1.0 };
        let places: Vec<f64> = values.iter().filter_map(|value| axis.place(*value)).collect();
        if let Some(first) = places.first() {
            (axis.low, axis.high) = (*first, *first);
            places.iter().for_each(|place| axis.reach(*place));
        }
        axis
    }

    /// Widens the axis up to a place.
    pub fn reach(&mut self, place: f64) {
        (self.low, self.high) = (self.low.min(place), self.high.max(place));
    }

    /// Sizes have ticks at powers of two, other numbers at 1, 2, 2.5 or 5 times a power of ten.
    fn linear_step(&self) -> f64 {
        if self.is_bytes {
            return ((self.high - self.low) / LINEAR_TICKS as f64).log2().ceil().exp2();
        }
        compute_tick_step(self.low, self.high, LINEAR_TICKS)
    }

    /// kuva begins bars at place 0.
    fn begin_at_zero(&mut self) {
        self.unit = self.value(self.low);
        (self.low, self.high) = (0.0, self.high - self.low);
    }

    /// The lowest place at which a bar begins.
    pub fn base(&self) -> f64 {
        if self.scale == AxisScale::Linear { 0.0 } else { self.low }
    }

    /// Whether each step is a factor.
    pub fn is_log(&self) -> bool {
        self.scale != AxisScale::Linear
    }

    /// Where a value lies; none if it has no place.
    pub fn place(&self, value: f64) -> Option<f64> {
        let logarithm = |value: f64, base: f64| match base {
            2.0 => value.log2(),
            _ => value.log10(),
        };
        is_drawable(value, self.is_log()).then(|| match self.scale {
            AxisScale::Linear => value / self.unit,
            AxisScale::Powers(base) => logarithm(value, base) - logarithm(self.unit, base),
        })
    }

    /// The value at a place.
    pub fn value(&self, place: f64) -> f64 {
        match self.scale {
            AxisScale::Linear => place * self.unit,
            AxisScale::Powers(base) => self.unit * base.powf(place),
        }
    }

    /// A value in words, as exactly as ticks need it.
    pub fn tick_words(&self, value: f64) -> String {
        let resolution = match self.scale {
            AxisScale::Linear => self.step * self.unit / 10.0,
            AxisScale::Powers(_) => value.abs() / 1e3,
        };
        if self.is_bytes { labels::bytes(value, resolution) } else { labels::number(value, resolution) }
    }

    /// A value in words by itself.
    pub fn tick_label(&self, value: f64) -> String {
        if self.is_bytes { labels::bytes(value, value.abs() / 1e3) } else { labels::figures(value) }
    }

    /// The value of a cell in words: with three figures, or as many as its difference from others needs.
    pub fn cell_words(&self, value: f64) -> String {
        let span = (self.value(self.high) - self.value(self.low)).abs();
        let own = value.abs() / 100.0;
        labels::number(value, if span > 0.0 { own.min(span / 50.0) } else { own })
    }

    /// The words of ticks for kuva, which has places.
    pub fn tick_format(&self) -> TickFormat {
        let axis = self.clone();
        TickFormat::Custom(Arc::new(move |place| axis.tick_words(axis.value(place))))
    }
}

/// The factor of a step, and a value at or below the least one, at which a tick lies.
fn log_unit(values: &[f64], is_bytes: bool) -> (AxisScale, f64) {
    let least =
        values.iter().copied().fold(f64::INFINITY, f64::min).clamp(*DRAWABLE.start(), *DRAWABLE.end());
    let largest = values.iter().copied().fold(least, f64::max);
    let is_power_of_two = |value: &f64| value.log2().fract() == 0.0;
    if is_bytes || values.iter().all(is_power_of_two) {
        return (AxisScale::Powers(2.0), floor(least.log2()).exp2());
    }
    let decade = 10_f64.powf(floor(least.log10()));
    if largest.log10() - least.log10() < DECADES_MIN {
        return (AxisScale::Powers(2.0), decade * floor((least / decade).log2()).exp2());
    }
    (AxisScale::Powers(10.0), decade)
}

fn log_step(low: f64, high: f64) -> f64 {
    ((high - low) / LOG_TICKS).ceil().max(1.0)
}

/// A place that lies a rounding error below a whole number is that number.
fn floor(place: f64) -> f64 {
    (place + 1e-9).floor()
}

fn ceil(place: f64) -> f64 {
    (place - 1e-9).ceil()
}
