//! Published values beside the measured ones: lines of a transcribed table.
//!
//! Must not know: what is measured.

use super::found::{AxisPlace, FoundLine, FoundPoint};
use crate::judge::cost::{CsvRow, InputError};
use crate::judge::stats::Interval;
use crate::report::chart::LineOrigin;
use crate::study::results::published;
use crate::study::{Level, PublishedLine};

/// The label that says no more than a legend does by itself.
const PUBLISHED: &str = "published";

/// A line for each word of the table's column of series, whose words are levels of `factor` if there is one.
///
/// Errors: no such table or column, what is no number.
pub(super) fn published_lines(
    line: &PublishedLine,
    has_names: bool,
    factor: Option<&str>,
) -> Result<Vec<FoundLine>, InputError> {
    let table = published::table(&line.table)?;
    let mut lines: Vec<FoundLine> = Vec::new();
    for row in table.rows() {
        let has_word = |(column, word): (&String, &String)| row.text(column).is_ok_and(|text| text == word);
        if !line.rows.iter().all(has_word) {
            continue;
        }
        let points = points(line, &row, has_names)?;
        let word = line.series.as_ref().map(|column| row.text(column)).transpose()?;
        let name = match (word.map(|word| line.our_name(word)), factor) {
            (None, _) => line.label.clone(),
            // The name of the measured line beside it.
            (Some(word), Some(factor)) if line.label == PUBLISHED => format!("{factor} {word}"),
            (Some(word), _) => format!("{}: {word}", line.label),
        };
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.points.extend(points),
            None => {
                let origin = if line.is_formula { LineOrigin::Formula } else { LineOrigin::Published };
                lines.push(FoundLine { name, origin, points, ..FoundLine::default() });
            }
        }
    }
    Ok(lines)
}

/// The values of a row of the table; none where a cell is empty.
fn points(line: &PublishedLine, row: &CsvRow<'_>, has_names: bool) -> Result<Vec<FoundPoint>, InputError> {
    let times = line.y_times.unwrap_or(1.0);
    let value = |column: &String| -> Result<Option<f64>, InputError> {
        Ok(row.optional(column)?.map(|value| value * times))
    };
    let Some(y) = value(&line.y)? else { return Ok(Vec::new()) };
    let low = line.low.as_ref().map(value).transpose()?.flatten();
    let high = line.high.as_ref().map(value).transpose()?.flatten();
    let interval = low.zip(high).map(|(low, high)| Interval { low, high });
    Ok(places(line, row, has_names)?
        .into_iter()
        .map(|place| FoundPoint::published(place, y, interval))
        .collect())
}

fn places(line: &PublishedLine, row: &CsvRow<'_>, has_names: bool) -> Result<Vec<AxisPlace>, InputError> {
    if !line.at.is_empty() {
        return Ok(line.at.iter().copied().map(AxisPlace::at).collect());
    }
    if has_names && line.x_times.is_none() {
        return Ok(vec![AxisPlace::of_level(&Level::from(line.our_name(row.text(&line.x)?)))]);
    }
    let x = row.optional(&line.x)?;
    Ok(x.map(|x| AxisPlace::at(x * line.x_times.unwrap_or(1.0))).into_iter().collect())
}
