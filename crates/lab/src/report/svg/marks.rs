//! Colours, marks and strokes of lines.
//!
//! Must not know: charts, axes, text.

use kuva::plot::LineStyle;
use kuva::render::render::{PathData, Primitive};

use crate::report::chart::LineOrigin;

/// The paper. style.css names each colour of this file that is another one in the dark.
pub const BACKGROUND: &str = "#ffffff";
/// Words, and intervals of bars.
pub const INK: &str = "#1f1f1f";
/// Axes and their ticks.
pub const AXIS: &str = "#5c5c5c";
/// Lines behind the data.
pub const GRID: &str = "#e3e3e3";

/// Okabe and Ito's colours, which colour-blind readers can distinguish, the darkest first. Their yellow is left out:
/// a line of it on white paper cannot be seen.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9"];

/// Corners of marks, for a mark of radius 1; a circle has none. Six shapes and seven colours are 42 pairs.
const SHAPES: [&[(f64, f64)]; 6] = [
    &[],
    &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    &[(0.0, -1.2), (1.15, 0.8), (-1.15, 0.8)],
    &[(0.0, -1.35), (1.2, 0.0), (0.0, 1.35), (-1.2, 0.0)],
    &[(0.0, 1.2), (1.15, -0.8), (-1.15, -0.8)],
    &[
        (0.0, -1.5),
        (0.45, -0.45),
        (1.5, 0.0),
        (0.45, 0.45),
        (0.0, 1.5),
        (-0.45, 0.45),
        (-1.5, 0.0),
        (-0.45, -0.45),
    ],
];

const MARK_RADIUS: f64 = 4.0;
const CAP_HALF: f64 = 4.0;

/// The colour of a slot.
pub fn colour(slot: usize) -> &'static str {
    COLOURS[slot % COLOURS.len()]
}

/// Whether marks and bars show the paper inside.
pub fn is_hollow(origin: LineOrigin) -> bool {
    origin != LineOrigin::Measured
}

/// How a line is drawn, and its width.
pub fn stroke(origin: LineOrigin) -> (LineStyle, f64) {
    match origin {
        LineOrigin::Measured => (LineStyle::Solid, 2.0),
        LineOrigin::Published => (LineStyle::Custom("8 4".into()), 1.8),
        LineOrigin::Formula => (LineStyle::Solid, 1.0),
        LineOrigin::Forecast => (LineStyle::Custom("2 4".into()), 2.0),
    }
}

/// A mark at a place of the paper.
pub fn mark(slot: usize, origin: LineOrigin, (x, y): (f64, f64)) -> Primitive {
    let fill = if is_hollow(origin) { BACKGROUND } else { colour(slot) };
    let stroke = colour(slot).into();
    let corners = SHAPES[slot % SHAPES.len()];
    if corners.is_empty() {
        return Primitive::Circle {
            cx: x,
            cy: y,
            r: MARK_RADIUS,
            fill: fill.into(),
            fill_opacity: None,
            stroke: Some(stroke),
            stroke_width: Some(1.5),
        };
    }
    let corners = corners.iter().map(|(right, down)| (x + right * MARK_RADIUS, y + down * MARK_RADIUS));
    path(&(way(corners) + "Z"), Some(fill), stroke, 1.5)
}

/// An interval: a stroke with caps.
pub fn whisker(x: f64, low: f64, high: f64, colour: &str) -> Primitive {
    let cap = |y: f64| way([(x - CAP_HALF, y), (x + CAP_HALF, y)]);
    path(&(cap(low) + &way([(x, low), (x, high)]) + &cap(high)), None, colour.into(), 1.2)
}

fn way(corners: impl IntoIterator<Item = (f64, f64)>) -> String {
    let corners = corners.into_iter().enumerate();
    corners.map(|(at, (x, y))| format!("{} {x:.2} {y:.2} ", if at == 0 { "M" } else { "L" })).collect()
}

fn path(way: &str, fill: Option<&str>, stroke: kuva::render::color::Color, stroke_width: f64) -> Primitive {
    Primitive::Path(Box::new(PathData {
        d: way.trim_end().into(),
        fill: fill.map(Into::into),
        stroke,
        stroke_width,
        opacity: None,
        stroke_dasharray: None,
    }))
}
