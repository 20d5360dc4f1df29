//! A chart as a static drawing: one SVG document, which can also be put into HTML.
//!
//! It is light and dark as the reader's system is, its text stays text, and a description says in words what it shows.
//! Must not know: where values come from, what a page says besides.

mod axis;
mod data;
mod description;
mod draw;
pub(in crate::report) mod labels;
mod legend;
mod marks;

use kuva::backend::svg::SvgBackend;
use kuva::render::render::{Primitive, Scene, TextAnchor};

use crate::report::chart::Chart;
use crate::report::page::html::text;
use data::DrawnChart;
use draw::WIDTH;
use labels::{cut, literal};
use marks::{BACKGROUND, INK};

/// The style of a drawing. All drawings have this one, so that the policy of a page can name its sum; inside of HTML it
/// holds for the whole page, and therefore names the class of drawings everywhere.
pub(crate) const STYLE: &str = include_str!("svg/style.css");

const CLASS: &str = "pump-chart";
const FONTS: &str = "system-ui, sans-serif";
const EMPTY_HEIGHT: f64 = 110.0;
const NO_VALUES: &str = "no values";

/// Draws a chart. The same chart gives the same bytes.
pub(crate) fn svg(chart: &Chart) -> String {
    drawing(chart, chart)
}

/// Draws a chart for a page that has its title and its notes beside.
pub(crate) fn svg_in_page(chart: &Chart) -> String {
    let bare = Chart { title: String::new(), notes: Vec::new(), left_out: 0, ..chart.clone() };
    drawing(chart, &bare)
}

/// The drawing of `chart`, with the name of `named`.
fn drawing(named: &Chart, chart: &Chart) -> String {
    let Some(drawn) = DrawnChart::from_chart(chart) else {
        return document(named, &empty_scene(chart), "There are no values.");
    };
    let mut scene = draw::scene(chart, &drawn);
    legend::add(&mut scene, chart, &drawn);
    document(named, &scene, &description::describe(chart, &drawn))
}

fn empty_scene(chart: &Chart) -> Scene {
    let mut scene = Scene::new(WIDTH, EMPTY_HEIGHT).with_background(Some(BACKGROUND));
    for (y, size, content) in [(36.0, 17, literal(&chart.title, 70)), (78.0, 15, NO_VALUES.into())] {
        scene.add(Primitive::Text {
            x: WIDTH / 2.0,
            y,
            content,
            size,
            anchor: TextAnchor::Middle,
            rotate: None,
            bold: false,
            color: None,
        });
    }
    legend::add_notes(&mut scene, &chart.notes);
    scene
}

/// The document around a drawing. kuva's own head has no box to scale by, no class and no description, and its first
/// comment has the version of kuva in it, by which files would differ: both are replaced.
fn document(chart: &Chart, scene: &Scene, description: &str) -> String {
    let drawing = SvgBackend::new().render_scene(scene);
    let parts = drawing.split_once("-->").or_else(|| drawing.split_once('>'));
    let inside = parts.map_or("", |(_, inside)| inside);
    let name = name(chart);
    let (width, height) = (scene.width.ceil(), scene.height.ceil());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{CLASS}\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"{name}-title {name}-description\" \
         font-family=\"{FONTS}\" fill=\"{INK}\">\n<title id=\"{name}-title\">{}</title>\n\
         <desc id=\"{name}-description\">{}</desc>\n<style>{STYLE}</style>\n{inside}\n",
        text(&cut(&chart.title, 200)),
        text(description)
    )
}

/// A name that no other chart of a page has.
fn name(chart: &Chart) -> String {
    let bytes = serde_json::to_vec(chart).unwrap_or_default();
    format!("chart-{}", &blake3::hash(&bytes).to_hex()[..12])
}

#[cfg(test)]
mod tests;
