//! Every kind of chart is drawn, whatever is in it, and the drawing is one document that XML allows.

mod examples;

use proptest::prelude::*;

use super::axis::{AxisOptions, SvgAxis};
use super::labels::{bytes, figures, number};
use super::*;
use crate::report::chart::{ChartKind, ChartLine, LineOrigin};
use examples::{HOSTILE, examples, line, names, sizes, with_intervals};

const KINDS: [ChartKind; 6] = [
    ChartKind::Lines,
    ChartKind::Bars,
    ChartKind::Parts,
    ChartKind::Heat,
    ChartKind::Histogram,
    ChartKind::Distribution,
];
const ORIGINS: [LineOrigin; 4] =
    [LineOrigin::Measured, LineOrigin::Published, LineOrigin::Formula, LineOrigin::Forecast];

/// To look at them: `DATAPUMP_WRITE_DRAWINGS=folder cargo test -p datapump-lab --lib examples_are_documents`.
#[test]
fn examples_are_documents() {
    let folder = std::env::var_os("DATAPUMP_WRITE_DRAWINGS").map(std::path::PathBuf::from);
    for (name, chart) in examples() {
        let drawing = svg(&chart);
        let elements = checked(&drawing);
        assert_eq!(elements[..4], ["svg", "title", "desc", "style"], "{name}");
        assert_eq!(drawing, svg(&chart), "{name}: not the same twice");
        for part in ["class=\"pump-chart\" viewBox=\"0 0 760 ", " role=\"img\" aria-labelledby=\"chart-"] {
            assert!(drawing.contains(part), "{name}: no {part}");
        }
        for other in [" style=\"", " onload=\"", "url(", "kuva"] {
            assert!(!drawing.contains(other), "{name}: {other}");
        }
        if let Some(folder) = &folder {
            std::fs::write(folder.join(format!("{name}.svg")), drawing).expect("room");
        }
    }
}

#[test]
fn drawings_of_one_page_have_names_of_their_own() {
    let mut names: Vec<String> = examples().iter().map(|(_, chart)| name(chart)).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// The tags that are behind the style.
fn tags(drawing: &str) -> Vec<&str> {
    let (_, inside) = drawing.split_once("</style>").expect("a style");
    inside.split('<').skip(1).filter_map(|part| Some(part.split_once('>')?.0)).collect()
}

fn count(drawing: &str, parts: &[&str]) -> usize {
    tags(drawing).iter().filter(|tag| parts.iter().all(|part| tag.contains(part))).count()
}

#[test]
fn lines_look_like_where_they_come_from() {
    let values = [100.0, 300.0, 200.0];
    for (origin, line_parts, fill, marks) in [
        (LineOrigin::Measured, &["stroke-width=\"2\""][..], "fill=\"#0072b2\"", 3),
        (LineOrigin::Published, &["stroke-dasharray=\"8 4\""], "fill=\"#ffffff\"", 3),
        (LineOrigin::Formula, &["stroke-width=\"1\""], "", 0),
        (LineOrigin::Forecast, &["stroke-dasharray=\"2 4\""], "fill=\"#ffffff\"", 3),
    ] {
        let drawing = svg(&sizes(vec![ChartLine { origin, ..line("one", &values) }]));
        let of_line = [&["path d=", "stroke=\"#0072b2\"", "fill=\"none\""][..], line_parts].concat();
        assert_eq!(count(&drawing, &of_line), 1, "{origin:?}");
        let dashed = count(&drawing, &["path d=", "stroke-dasharray"]);
        assert_eq!(dashed, usize::from(line_parts[0].contains("dash")), "{origin:?}");
        // The legend has one more mark.
        let expected = if marks == 0 { 0 } else { marks + 1 };
        assert_eq!(count(&drawing, &["circle ", fill]), expected, "{origin:?}");
        assert_eq!(drawing.contains("(published)"), origin == LineOrigin::Published);
    }
}

#[test]
fn a_published_line_has_the_colour_of_the_measured_one() {
    let published =
        |label: &str| ChartLine { origin: LineOrigin::Published, ..line(label, &[3.0, 3.0, 3.0]) };
    let lines =
        vec![published("b"), line("a", &[1.0; 3]), published("c"), line("b", &[2.0; 3]), published("c")];
    let drawn = DrawnChart::from_chart(&sizes(lines)).expect("values");
    let slots: Vec<usize> = drawn.lines.iter().map(|line| line.slot).collect();
    assert_eq!(slots, [1, 0, 2, 1, 2]);
}

#[test]
fn intervals_are_drawn() {
    let lines = || vec![with_intervals(line("one", &[100.0, 300.0, 200.0]), 0.1)];
    let whiskers = |chart: &Chart| count(&svg(chart), &["path d=", "stroke-width=\"1.2\""]);
    assert_eq!(whiskers(&sizes(lines())), 3);
    assert_eq!(whiskers(&sizes(vec![line("one", &[100.0, 300.0, 200.0])])), 0);
    assert_eq!(whiskers(&names(ChartKind::Bars, lines())), 3);
    assert_eq!(whiskers(&Chart { y_is_log: true, ..sizes(lines()) }), 3);
}

/// The texts of a drawing, in order.
fn texts(drawing: &str) -> Vec<&str> {
    drawing.split("<text ").skip(1).filter_map(|part| part.split_once('>')?.1.split('<').next()).collect()
}

#[test]
fn axes_are_in_words() {
    let steps = |chart: &Chart, words: &[&str]| {
        let drawing = svg(chart);
        let texts = texts(&drawing);
        words.iter().for_each(|word| assert!(texts.contains(word), "no {word} in {texts:?}"));
    };
    let base = || sizes(vec![line("one", &[100.0, 300.0, 200.0])]);
    steps(
        &base(),
        &["4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "0", "100", "300", "MB/s", "request_size"],
    );
    steps(&Chart { x_kind: "number", ..base() }, &["4096", "65536", "1048576"]);
    steps(&Chart { is_log: false, ..base() }, &["256 KiB", "512 KiB", "768 KiB", "1 MiB"]);
    steps(&Chart { y_is_log: true, ..sizes(vec![line("one", &[0.1, 30.0, 2000.0])]) }, &["0.1", "1", "1000"]);
    steps(&Chart { y_is_log: true, ..sizes(vec![line("one", &[3.0, 5.0, 12.0])]) }, &["2", "4", "8", "16"]);
    steps(&sizes(vec![line("one", &[-5.0, 5.0, 9.0])]), &["-5", "0", "5", "10"]);
    steps(&names(ChartKind::Bars, vec![line("one", &[1.0, 2.0, 3.0])]), &["uring", "threads", "inline", "0"]);
}

#[test]
fn places_and_values_are_inverse() {
    let values = [0.003, 0.5, 1.0, 77.0, 4096.0, 1e9];
    for (is_log, is_bytes, count) in [
        (false, false, 6),
        (true, false, 6),
        (false, true, 6),
        (true, true, 6),
        (true, false, 3),
        (true, false, 1),
    ] {
        let options = AxisOptions { is_log, is_bytes, has_base: true };
        for axis in [SvgAxis::upright(&values[..count], options), SvgAxis::across(&values[..count], options)]
        {
            for value in &values[..count] {
                let place = axis.place(*value).expect("a place");
                assert!(axis.low <= place && place <= axis.high, "{value} on {axis:?}");
                assert!((axis.value(place) / value - 1.0).abs() < 1e-9, "{value} on {axis:?}");
            }
            let steps = (axis.high - axis.low) / axis.step;
            assert!(steps <= 12.0, "{steps} steps on {axis:?}");
            let tick = (axis.low / axis.step).ceil() * axis.step;
            assert!(tick <= axis.high, "no tick on {axis:?}");
        }
    }
}

#[test]
fn one_point_is_a_mark_and_nothing_is_said() {
    let one = |origin| Chart { xs: vec![4096.0], ..sizes(vec![ChartLine { origin, ..line("one", &[5.0]) }]) };
    for origin in ORIGINS {
        assert_eq!(count(&svg(&one(origin)), &["circle "]), 2, "{origin:?}: the point and its sample");
    }
    let empty = ChartLine { values: vec![None, Some(f64::NAN)], ..ChartLine::default() };
    for chart in [Chart::default(), sizes(vec![]), sizes(vec![empty])] {
        assert!(texts(&svg(&chart)).contains(&"no values"), "{chart:?}");
    }
    for kind in KINDS {
        let bare = Chart { kind, lines: vec![line("", &[1.0])], ..Chart::default() };
        checked(&svg(&bare));
    }
}

#[test]
fn long_lines_are_made_short_and_it_is_said() {
    let mut values: Vec<f64> = (0..50_000).map(|at| f64::from(at % 100)).collect();
    values[31_234] = 5000.0;
    let xs = (0..50_000).map(f64::from).collect();
    let chart = Chart {
        xs,
        is_log: false,
        x_kind: "number",
        ..sizes(vec![with_intervals(line("one", &values), 0.1)])
    };
    let drawn = DrawnChart::from_chart(&chart).expect("values");
    assert!(drawn.xs.len() <= 2000 && drawn.lines[0].values.len() == drawn.xs.len());
    assert!(drawn.lines[0].values.contains(&Some(5000.0)), "the spike is lost");
    let drawing = svg(&chart);
    assert_eq!(
        drawing.matches("50000 places are drawn as 2000").count(),
        2,
        "below the drawing, and in words"
    );
    assert!(drawing.len() < 60_000, "{} bytes", drawing.len());
}

#[test]
fn parts_lie_on_each_other() {
    let chart = names(ChartKind::Parts, vec![line("one", &[1.0, 2.0, 3.0]), line("two", &[4.0, 5.0, 6.0])]);
    let drawn = DrawnChart::from_chart(&chart).expect("values");
    assert_eq!(drawn.upright.value(drawn.upright.high), 10.0, "above 3 + 6");
    assert_eq!(count(&svg(&chart), &["rect ", "fill=\"#d55e00\""]), 4, "three parts and the sample");
    let log = svg(&Chart { y_is_log: true, ..chart });
    assert!(log.contains("Parts are drawn on a linear axis"));
}

#[test]
fn the_description_says_what_is_seen() {
    let chart = sizes(vec![
        line("one", &[150.0, 300.0, 20.5]),
        ChartLine { origin: LineOrigin::Forecast, ..line("", &[1.0]) },
    ]);
    let drawing = svg(&Chart { notes: vec!["A note.".into()], left_out: 2, ..chart });
    let (_, rest) = drawing.split_once("-description\">").expect("a description");
    let words = rest.split('<').next().expect("words");
    assert_eq!(
        words,
        "Lines. To the right: request_size, from 4 KiB to 1 MiB, logarithmic. Upwards: MB/s, from 0 to 300. \
         2 lines. one, measured: first 150 at 4 KiB, last 20.5 at 1 MiB, least 20.5 at 1 MiB, largest 300 at 64 KiB. \
         line 2, forecast: first 1 at 4 KiB, last 1 at 4 KiB, least 1 at 4 KiB, largest 1 at 4 KiB. A note. \
         More lines, left out: 2."
    );
}

#[test]
fn values_without_a_place_are_left_out_and_it_is_said() {
    let values = [0.0, f64::INFINITY, 7.0];
    for (y_is_log, said) in [
        (true, "(not finite, or not above zero on a logarithmic axis): 2."),
        (false, "(not finite, or not above zero on a logarithmic axis): 1."),
    ] {
        let drawing = svg(&Chart { y_is_log, ..sizes(vec![line("one", &values)]) });
        assert_eq!(drawing.matches(said).count(), 2, "log {y_is_log}");
    }
    let drawing = svg(&Chart { xs: vec![0.0, 1.0, 8.0], ..sizes(vec![line("one", &[1.0, 2.0, 3.0])]) });
    assert!(drawing.contains("left out (not finite, or not above zero"), "a place at zero");
}

#[test]
fn hostile_words_stay_words() {
    for kind in KINDS {
        let chart = Chart {
            title: HOSTILE.into(),
            x_label: HOSTILE.into(),
            y_label: HOSTILE.into(),
            x_names: vec![HOSTILE.into(), "\n".repeat(10_000), String::new()],
            notes: vec![HOSTILE.into(), "x".repeat(100_000)],
            ..Chart {
                kind,
                ..sizes(vec![line(HOSTILE, &[1.0, 2.0, 3.0]), line(&"w".repeat(10_000), &[2.0; 3])])
            }
        };
        let drawing = svg(&chart);
        let known = ["svg", "title", "desc", "style", "rect", "line", "path", "text", "circle", "defs"];
        for element in checked(&drawing) {
            assert!(known.contains(&element), "{kind:?}: {element}");
        }
        assert!(drawing.contains("$a$ \\$"), "{kind:?}: no formula");
        assert!(drawing.len() < 40_000, "{kind:?}: {} bytes", drawing.len());
    }
}

#[test]
fn the_style_is_of_drawings_alone() {
    for rule in STYLE.lines().filter(|rule| rule.contains('{') && !rule.starts_with('@')) {
        assert!(rule.starts_with(".pump-chart "), "{rule}");
    }
    for colour in [BACKGROUND, INK, marks::AXIS, marks::GRID, "#000000"] {
        assert!(STYLE.contains(&format!("=\"{colour}\"]")), "{colour} is the same in the dark");
    }
    assert!(!STYLE.contains(['<', '&', '>']), "HTML and XML would read it differently");
}

#[test]
fn numbers_have_the_digits_that_they_need() {
    for (value, resolution, words) in [
        (0.0, 1.0, "0"),
        (0.30000000000000004, 0.01, "0.3"),
        (-1e-17, 0.1, "0"),
        (12.5, 0.1, "12.5"),
        (-2.5, 0.1, "-2.5"),
        (1_000_001.0, 0.1, "1000001"),
        (1.5e9, 1e7, "1.5e9"),
        (2.5e-7, 1e-8, "2.5e-7"),
        (f64::MAX, 0.0, "1.797693134862316e308"),
        (5e-324, 0.0, "4.940656458412465e-324"),
    ] {
        assert_eq!(number(value, resolution), words, "{value}");
    }
    for (value, words) in [(16_384.0, "16384"), (1.0 / 3.0, "0.3333"), (99.999, "100"), (f64::NAN, "NaN")] {
        assert_eq!(figures(value), words);
    }
    let kib = 1024.0_f64;
    for (value, words) in [
        (512.0, "512 B"),
        (4.0 * kib, "4 KiB"),
        (1.5 * kib * kib, "1.5 MiB"),
        (kib.powi(4), "1 TiB"),
        (0.0, "0"),
    ] {
        assert_eq!(bytes(value, value / 1e3), words);
    }
}

/// The elements of a document, in order; fails where XML would.
fn checked(document: &str) -> Vec<&str> {
    let allowed =
        |letter: char| letter == '\n' || !(letter.is_control() || "\u{fffe}\u{ffff}".contains(letter));
    assert!(document.starts_with("<svg ") && document.chars().all(allowed), "{document:?}");
    for entity in document.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "apos;", "#39;"];
        assert!(known.iter().any(|name| entity.starts_with(name)), "&{entity}");
    }
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for part in document.split('<').skip(1) {
        let (tag, words) = part.split_once('>').expect("the end of a tag");
        assert!(!words.contains('>') && tag.matches('"').count() % 2 == 0, "{part}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let name = tag.split([' ', '/']).next().expect("a name");
        found.push(name);
        open.extend(Some(name).filter(|_| !tag.ends_with('/')));
        if !["svg", "title", "desc", "style"].contains(&name) {
            places_are_on_paper(tag);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    found
}

/// Every number of a tag is one, and lies on the paper or near it.
fn places_are_on_paper(tag: &str) {
    for (attribute, value) in
        tag.split('"').collect::<Vec<_>>().chunks_exact(2).map(|pair| (pair[0], pair[1]))
    {
        if [" x=", " y=", " cx=", " cy=", " x1=", " x2=", " y1=", " y2=", " width=", " height=", " d="]
            .iter()
            .any(|name| attribute.ends_with(name))
            && value != "100%"
        {
            for place in value
                .split([' ', ','])
                .map(|word| word.trim_matches(['M', 'L', 'Z']))
                .filter(|it| !it.is_empty())
            {
                let place: f64 = place.parse().unwrap_or_else(|_| panic!("{place} in {tag}"));
                assert!((-20.0..10_000.0).contains(&place), "{place} in {tag}");
            }
        }
    }
}

fn any_value() -> impl Strategy<Value = f64> {
    let strange = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        5e-324,
        f64::MAX,
        f64::MIN,
        1e-200,
        1e200,
        1e-201,
    ];
    prop_oneof![4 => 0.0..1000.0_f64, 1 => -1e3..1e3_f64, 1 => any::<f64>(), 1 => prop::sample::select(strange.to_vec())]
}

fn any_words() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..40).prop_map(String::from_iter)
}

fn any_values() -> impl Strategy<Value = Vec<Option<f64>>> {
    prop::collection::vec(prop::option::weighted(0.9, any_value()), 0..12)
}

fn any_line() -> impl Strategy<Value = ChartLine> {
    let parts =
        (any_words(), prop::sample::select(ORIGINS.to_vec()), any_values(), any_values(), any_values());
    parts.prop_map(|(label, origin, values, lows, highs)| ChartLine { label, origin, values, lows, highs })
}

fn any_chart() -> impl Strategy<Value = Chart> {
    let axes = (
        any_words(),
        any_words(),
        prop::sample::select(vec!["bytes", "number", "seconds"]),
        any::<[bool; 3]>(),
    );
    let places = (prop::collection::vec(any_value(), 0..12), prop::collection::vec(any_words(), 0..12));
    let lines = (prop::collection::vec(any_line(), 0..6), prop::collection::vec(any_words(), 0..3));
    (prop::sample::select(KINDS.to_vec()), axes, places, lines).prop_map(
        |(kind, axes, places, (lines, notes))| {
            let (title, x_label, x_kind, [is_log, y_is_log, is_sorted]) = axes;
            let (mut xs, x_names) = places;
            if is_sorted {
                xs.sort_by(f64::total_cmp);
            }
            let y_label = title.clone();
            Chart {
                kind,
                title,
                x_label,
                x_kind,
                is_log,
                y_label,
                y_is_log,
                xs,
                x_names,
                lines,
                notes,
                ..Chart::default()
            }
        },
    )
}

proptest! {
    #[test]
    fn whatever_a_chart_has_it_is_drawn(chart in any_chart()) {
        checked(&svg(&chart));
    }
}
