//! The legend and the notes below a drawing, which grows by them.
//!
//! Must not know: axes, where values lie.

use kuva::render::render::{Primitive, Scene, TextAnchor};
use kuva::render::render_utils::wrap_text;

use super::data::{DrawnChart, DrawnLine};
use super::draw::{self, FONT, WIDTH};
use super::labels::{self, literal};
use super::marks::{self, BACKGROUND};
use crate::report::chart::{Chart, ChartKind};

const LEFT: f64 = 24.0;
const ROW_HEIGHT: f64 = 22.0;
const SAMPLE_WIDTH: f64 = 34.0;
const BETWEEN: f64 = 14.0;
/// From the words of the lower axis to the legend.
const ABOVE: f64 = 6.0;
const NOTE_FONT: u32 = 13;
const NOTE_LETTERS: usize = 96;
/// A long note goes on in the description.
const NOTE_LINES_MAX: usize = 4;
const NOTES_MAX: usize = 8;
/// Colours of a heat map that are named.
const COLOURS_NAMED: usize = 6;

/// An entry: its words, and what it is the sample of.
struct LegendEntry<'chart> {
    words: String,
    sample: LegendSample<'chart>,
}

enum LegendSample<'chart> {
    /// A heading.
    Nothing,
    /// A part of the scale of colours.
    Heat(f64),
    /// A bar.
    Bar(&'chart DrawnLine),
    /// A line, and its mark.
    Line(&'chart DrawnLine),
}

/// Adds what a reader needs below the drawing.
pub fn add(scene: &mut Scene, chart: &Chart, drawn: &DrawnChart) {
    let entries = entries(chart, drawn);
    let text = WIDTH - LEFT - SAMPLE_WIDTH;
    let widest = entries.iter().map(|entry| labels::width(&entry.words, f64::from(FONT))).fold(0.0, f64::max);
    let column = (SAMPLE_WIDTH + widest + BETWEEN).min(text);
    let columns = ((WIDTH - LEFT) / column).floor().max(1.0) as usize;
    scene.height += ABOVE;
    for (at, entry) in entries.iter().enumerate() {
        if at % columns == 0 {
            scene.height += ROW_HEIGHT;
        }
        let place = (LEFT + (at % columns) as f64 * column, scene.height - ROW_HEIGHT / 2.0);
        add_entry(scene, drawn, entry, place);
    }
    scene.height += ROW_HEIGHT / 2.0;
    add_notes(scene, &drawn.notes);
}

/// Adds sentences.
pub fn add_notes(scene: &mut Scene, notes: &[String]) {
    let lines = notes.iter().take(NOTES_MAX).flat_map(|note| {
        let lines = wrap_text(&labels::cut(note, NOTE_LETTERS * NOTE_LINES_MAX), NOTE_LETTERS);
        lines.into_iter().take(NOTE_LINES_MAX)
    });
    for line in lines.collect::<Vec<_>>() {
        scene.height += ROW_HEIGHT - 3.0;
        let place = (LEFT, scene.height - ROW_HEIGHT / 2.0);
        add_words(scene, &line, NOTE_FONT, place);
    }
    scene.height += ROW_HEIGHT / 4.0;
}

fn entries<'chart>(chart: &Chart, drawn: &'chart DrawnChart) -> Vec<LegendEntry<'chart>> {
    if drawn.kind == ChartKind::Heat {
        return heat_entries(chart, drawn);
    }
    // One line without a name needs no legend.
    let is_needed = drawn.lines.len() > 1 || drawn.lines.iter().any(|line| !line.label.is_empty());
    let sample = |line| match drawn.kind {
        ChartKind::Bars | ChartKind::Parts => LegendSample::Bar(line),
        _ => LegendSample::Line(line),
    };
    let lines = drawn.lines.iter().filter(|_| is_needed);
    let entry = |line: &'chart DrawnLine| {
        let label = labels::cut(&line.label, labels::LABEL_LETTERS_MAX - 12);
        let words = match labels::origin(line.origin) {
            "" => label,
            origin => format!("{label} ({origin})"),
        };
        LegendEntry { words, sample: sample(line) }
    };
    lines.map(entry).collect()
}

fn heat_entries<'chart>(chart: &Chart, drawn: &DrawnChart) -> Vec<LegendEntry<'chart>> {
    let scale = &drawn.upright;
    let count = if scale.low == scale.high { 1 } else { COLOURS_NAMED };
    let heading = LegendEntry { words: labels::cut(&chart.y_label, 40), sample: LegendSample::Nothing };
    let named = (0..count).map(|at| {
        let part = at as f64 / (COLOURS_NAMED - 1) as f64;
        let value = scale.value(scale.low + part * (scale.high - scale.low));
        LegendEntry { words: scale.cell_words(value), sample: LegendSample::Heat(part) }
    });
    Some(heading).filter(|heading| !heading.words.is_empty()).into_iter().chain(named).collect()
}

fn add_entry(scene: &mut Scene, drawn: &DrawnChart, entry: &LegendEntry<'_>, (x, y): (f64, f64)) {
    const SIDE: f64 = 14.0;
    let square = |side: f64, fill: &str| Primitive::Rect {
        x: x + (SAMPLE_WIDTH - 10.0 - side) / 2.0,
        y: y - side / 2.0,
        width: side,
        height: side,
        fill: fill.into(),
        stroke: None,
        stroke_width: None,
        opacity: None,
    };
    let mut words_x = x + SAMPLE_WIDTH;
    match entry.sample {
        LegendSample::Nothing => words_x = x,
        LegendSample::Heat(part) => scene.add(square(SIDE, &draw::heat_colour(part))),
        LegendSample::Bar(line) => {
            scene.add(square(SIDE, marks::colour(line.slot)));
            if marks::is_hollow(line.origin) && drawn.kind == ChartKind::Bars {
                scene.add(square(SIDE - 4.0, BACKGROUND));
            }
        }
        LegendSample::Line(line) => {
            let (style, stroke_width) = marks::stroke(line.origin);
            scene.add(Primitive::Line {
                x1: x,
                y1: y,
                x2: x + SAMPLE_WIDTH - 8.0,
                y2: y,
                stroke: marks::colour(line.slot).into(),
                stroke_width,
                stroke_dasharray: style.dasharray(),
            });
            if draw::has_marks(drawn, line) {
                let middle = x + (SAMPLE_WIDTH - 8.0) / 2.0;
                scene.add(marks::mark(line.slot, line.origin, (middle, y)));
            }
        }
    }
    add_words(scene, &entry.words, FONT, (words_x, y));
}

fn add_words(scene: &mut Scene, words: &str, size: u32, (x, y): (f64, f64)) {
    scene.add(Primitive::Text {
        x,
        y: y + f64::from(size) * 0.35,
        content: literal(words, usize::MAX),
        size,
        anchor: TextAnchor::Start,
        rotate: None,
        bold: false,
        color: None,
    });
}
