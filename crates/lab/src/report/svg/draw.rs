//! The paper: axes, lines, bars and cells by kuva, and over them marks, intervals and the numbers of cells.
//!
//! Must not know: the legend, the document around the drawing.

use std::sync::Arc;

use kuva::plot::{BarPlot, ColorMap, Heatmap, LinePlot};
use kuva::prelude::{Layout, Plot, Theme, render_multiple};
use kuva::render::layout::{AxisLabelOverlap, ComputedLayout};
use kuva::render::render::{Primitive, Scene, TextAnchor};

use super::axis::SvgAxis;
use super::data::{DrawnChart, DrawnLine};
use super::labels::{self, literal};
use super::marks::{self, AXIS, BACKGROUND, GRID, INK};
use crate::report::chart::{Chart, ChartKind, LineOrigin};

/// The width of the paper.
pub const WIDTH: f64 = 760.0;
/// The height of axes and title.
const HEIGHT: f64 = 420.0;
/// The height of a row of a heat map, and that of its title and its lower axis.
const ROW_HEIGHT: f64 = 20.0;
const AROUND_ROWS: f64 = 150.0;
/// Fonts are large: on a telephone the drawing has half its width.
pub const FONT: u32 = 14;
const TITLE_FONT: u32 = 17;
const TITLE_LETTERS: usize = 62;
const UPRIGHT_LETTERS: usize = 34;
const NAME_LETTERS_MAX: usize = 24;
/// The part of its place that a bar, or a group of bars, takes.
const BAR_WIDTH: f64 = 0.8;
/// Marks of more places than these are one blur.
const MARKED_PLACES_MAX: usize = 60;
const SLANT: f64 = -35.0;

/// Draws a chart.
pub fn scene(chart: &Chart, drawn: &DrawnChart) -> Scene {
    let computed = ComputedLayout::from_layout(&layout(chart, drawn));
    let mut scene = render_multiple(plots(drawn), layout(chart, drawn));
    // All lies within the axes by itself. kuva's clip paths have names that count up from chart to chart, so that the
    // same chart would not give the same file.
    scene.defs.clear();
    scene.elements.retain(|part| !matches!(part, Primitive::ClipStart { .. } | Primitive::ClipEnd));
    match drawn.kind {
        ChartKind::Lines => add_marks(&mut scene, &computed, drawn),
        ChartKind::Bars => add_bar_parts(&mut scene, &computed, drawn),
        ChartKind::Heat => add_cell_words(&mut scene, &computed, drawn),
        ChartKind::Parts | ChartKind::Histogram | ChartKind::Distribution => {}
    }
    scene
}

/// Whether a line has marks.
pub fn has_marks(drawn: &DrawnChart, line: &DrawnLine) -> bool {
    let count = line.values.iter().flatten().count();
    let is_marked = line.origin != LineOrigin::Formula && count <= MARKED_PLACES_MAX;
    drawn.kind == ChartKind::Lines && (is_marked || count == 1)
}

/// The colour of a part, from 0 to 1, of the way from the least to the largest value of a heat map.
pub fn heat_colour(part: f64) -> String {
    if part.is_nan() { "none".into() } else { ColorMap::Viridis.map(part) }
}

fn layout(chart: &Chart, drawn: &DrawnChart) -> Layout {
    let (across, upright) = (&drawn.across, &drawn.upright);
    let is_heat = drawn.kind == ChartKind::Heat;
    let rows = SvgAxis::of_names(drawn.lines.len());
    let (low, high) = if is_heat { (rows.low, rows.high) } else { (upright.low, upright.high) };
    let height =
        if is_heat { HEIGHT.max(ROW_HEIGHT * drawn.lines.len() as f64 + AROUND_ROWS) } else { HEIGHT };
    let mut layout = Layout::new((across.low, across.high), (low, high))
        .with_width(WIDTH)
        .with_height(height)
        .with_theme(theme())
        .with_title_size(TITLE_FONT)
        .with_label_size(FONT + 1)
        .with_tick_size(FONT)
        .with_x_axis_min(across.low)
        .with_x_axis_max(across.high)
        .with_y_axis_min(low)
        .with_y_axis_max(high)
        .with_x_label_overlap(AxisLabelOverlap::Thin);
    if !chart.title.is_empty() {
        layout = layout.with_title(literal(&chart.title, 3 * TITLE_LETTERS)).with_title_wrap(TITLE_LETTERS);
    }
    if !chart.x_label.is_empty() {
        layout = layout.with_x_label(literal(&chart.x_label, labels::LABEL_LETTERS_MAX * 3 / 4));
    }
    if drawn.names.is_empty() {
        layout = layout.with_x_tick_step(across.step).with_x_tick_format(across.tick_format());
    } else {
        layout = with_names(layout, &drawn.names);
    }
    if is_heat {
        let rows = drawn.lines.iter().map(|line| literal(&line.label, NAME_LETTERS_MAX));
        return layout.with_y_categories(rows.collect());
    }
    if !chart.y_label.is_empty() {
        layout = layout.with_y_label(literal(&chart.y_label, 2 * UPRIGHT_LETTERS));
        layout = layout.with_y_label_wrap(UPRIGHT_LETTERS);
    }
    layout.with_y_tick_step(upright.step).with_y_tick_format(upright.tick_format())
}

/// Names side by side if they have room, else aslant; where that is too narrow, too, some of them.
fn with_names(layout: Layout, names: &[String]) -> Layout {
    let font = f64::from(FONT);
    let room = (WIDTH - 120.0) / names.len() as f64;
    let names: Vec<String> = names.iter().map(|name| literal(name, NAME_LETTERS_MAX)).collect();
    let widest = names.iter().map(|name| labels::width(name, font)).fold(0.0, f64::max);
    if widest + font <= room {
        return layout.with_x_categories(names);
    }
    let every = (font * 1.3 / room).ceil().max(1.0) as usize;
    let shown = |(at, name): (usize, String)| if at % every == 0 { name } else { String::new() };
    let names = names.into_iter().enumerate().map(shown).collect();
    let layout = layout.with_x_categories(names).with_x_label_overlap(AxisLabelOverlap::Allow);
    layout.with_x_tick_rotate(SLANT)
}

fn theme() -> Theme {
    Theme {
        background: BACKGROUND.into(),
        axis_color: AXIS.into(),
        tick_color: AXIS.into(),
        grid_color: GRID.into(),
        text_color: INK.into(),
        ..Theme::light()
    }
}

fn plots(drawn: &DrawnChart) -> Vec<Plot> {
    match drawn.kind {
        ChartKind::Lines => drawn.lines.iter().map(|line| line_plot(line, points(drawn, line))).collect(),
        ChartKind::Distribution => {
            let steps = drawn.lines.iter().map(|line| {
                let mut points = points(drawn, line);
                points.splice(0..0, points.first().map(|(x, _)| (*x, drawn.upright.base())));
                line_plot(line, points)
            });
            steps.map(stepped).collect()
        }
        ChartKind::Histogram => {
            drawn.lines.iter().map(|line| stepped(line_plot(line, outline(drawn, line)))).collect()
        }
        ChartKind::Bars => vec![bars(drawn).into()],
        ChartKind::Parts => vec![bars(drawn).with_stacked().into()],
        ChartKind::Heat => vec![heat(drawn).into()],
    }
}

fn points(drawn: &DrawnChart, line: &DrawnLine) -> Vec<(f64, f64)> {
    let point =
        |(x, value): (&f64, &Option<f64>)| Some((drawn.across.place(*x)?, drawn.upright.place((*value)?)?));
    drawn.xs.iter().zip(&line.values).filter_map(point).collect()
}

/// The upper ends of bins, from the axis up and down to it again.
fn outline(drawn: &DrawnChart, line: &DrawnLine) -> Vec<(f64, f64)> {
    let (bins, base) = (drawn.bins(), drawn.upright.base());
    let height = |value: &Option<f64>| value.and_then(|value| drawn.upright.place(value)).unwrap_or(base);
    let first = bins.first().map(|bin| (bin.start, base));
    let last = bins.last().map(|bin| (bin.end, base));
    let tops = bins.iter().zip(&line.values).map(|(bin, value)| (bin.start, height(value)));
    first.into_iter().chain(tops).chain(last).collect()
}

fn line_plot(line: &DrawnLine, points: Vec<(f64, f64)>) -> Plot {
    let (style, width) = marks::stroke(line.origin);
    let plot = LinePlot::new().with_data(points).with_color(marks::colour(line.slot));
    plot.with_stroke_width(width).with_line_style(style).into()
}

fn stepped(plot: Plot) -> Plot {
    match plot {
        Plot::Line(line) => line.with_step().into(),
        other => other,
    }
}

fn bars(drawn: &DrawnChart) -> BarPlot {
    let bar = |line: &DrawnLine, at: usize| {
        let value = line.values.get(at).copied().flatten();
        let place = value.and_then(|value| drawn.upright.place(value));
        (place.unwrap_or(drawn.upright.base()), marks::colour(line.slot))
    };
    let group = |at: usize| drawn.lines.iter().map(move |line| bar(line, at));
    let plot = BarPlot::new().with_width(BAR_WIDTH);
    (0..drawn.names.len()).fold(plot, |plot, at| plot.with_group(String::new(), group(at)))
}

fn heat(drawn: &DrawnChart) -> Heatmap {
    let place = |value: Option<f64>| value.and_then(|value| drawn.upright.place(value)).unwrap_or(f64::NAN);
    let rows = drawn.lines.iter().map(|line| line.values.iter().map(move |value| place(*value)));
    let rows: Vec<Vec<f64>> = rows.map(Iterator::collect).collect();
    Heatmap::new().with_data(rows).with_color_map(ColorMap::Custom(Arc::new(heat_colour)))
}

fn add_marks(scene: &mut Scene, computed: &ComputedLayout, drawn: &DrawnChart) {
    for line in &drawn.lines {
        let ends = drawn.xs.iter().zip(&line.intervals).filter_map(|(x, ends)| Some((*x, (*ends)?)));
        for (x, ends) in ends {
            let Some(x) = drawn.across.place(x) else { continue };
            add_whisker(scene, computed, &drawn.upright, (x, ends), marks::colour(line.slot));
        }
    }
    for line in drawn.lines.iter().filter(|line| has_marks(drawn, line)) {
        for (x, y) in points(drawn, line) {
            let place = (computed.map_x(x), computed.map_y(y));
            scene.add(marks::mark(line.slot, line.origin, place));
        }
    }
}

fn add_whisker(
    scene: &mut Scene,
    computed: &ComputedLayout,
    upright: &SvgAxis,
    (x, [low, high]): (f64, [f64; 2]),
    colour: &str,
) {
    let end = |value: f64| computed.map_y(upright.place(value).unwrap_or(upright.low));
    scene.add(marks::whisker(computed.map_x(x), end(low), end(high), colour));
}

/// The paper inside of bars that are not measured, and intervals.
fn add_bar_parts(scene: &mut Scene, computed: &ComputedLayout, drawn: &DrawnChart) {
    const FRAME: f64 = 2.0;
    let width = BAR_WIDTH / drawn.lines.len() as f64;
    for (at, line) in drawn.lines.iter().enumerate() {
        let middle = |group: usize| group as f64 + 1.0 - BAR_WIDTH / 2.0 + width * (at as f64 + 0.5);
        for (group, value) in line.values.iter().enumerate().filter(|_| marks::is_hollow(line.origin)) {
            let Some(place) = value.and_then(|value| drawn.upright.place(value)) else { continue };
            let (base, end) = (computed.map_y(drawn.upright.base()), computed.map_y(place));
            let (left, right) =
                (computed.map_x(middle(group) - width / 2.0), computed.map_x(middle(group) + width / 2.0));
            scene.add(Primitive::Rect {
                x: left + FRAME,
                y: base.min(end) + FRAME,
                width: (right - left - 2.0 * FRAME).max(0.0),
                height: ((base - end).abs() - 2.0 * FRAME).max(0.0),
                fill: BACKGROUND.into(),
                stroke: None,
                stroke_width: None,
                opacity: None,
            });
        }
        for (group, ends) in line.intervals.iter().enumerate() {
            if let Some(ends) = *ends {
                add_whisker(scene, computed, &drawn.upright, (middle(group), ends), INK);
            }
        }
    }
}

fn add_cell_words(scene: &mut Scene, computed: &ComputedLayout, drawn: &DrawnChart) {
    let font = f64::from(FONT);
    let (width, height) = (
        (computed.map_x(1.0) - computed.map_x(0.0)).abs(),
        (computed.map_y(1.0) - computed.map_y(0.0)).abs(),
    );
    let upright = &drawn.upright;
    let cells = drawn.lines.iter().enumerate().flat_map(|(row, line)| {
        line.values.iter().enumerate().map(move |(column, value)| (row, column, *value))
    });
    for (row, column, value) in cells {
        let content = value.map_or("–".into(), |value| upright.cell_words(value));
        if height < font + 2.0 || labels::width(&content, font) > width {
            continue;
        }
        let place = value.and_then(|value| upright.place(value));
        let part = place.map(|place| (place - upright.low) / (upright.high - upright.low).max(1e-9));
        // The lower part of the scale is dark. The first two inks do not change with the paper.
        let ink = match part {
            Some(part) if part < 0.6 => "#fefefe",
            Some(_) => "#101010",
            None => INK,
        };
        scene.add(Primitive::Text {
            x: computed.map_x(column as f64 + 1.0),
            y: computed.map_y(row as f64 + 1.0) + font * 0.35,
            content,
            size: FONT,
            anchor: TextAnchor::Middle,
            rotate: None,
            bold: false,
            color: Some(ink.into()),
        });
    }
}
