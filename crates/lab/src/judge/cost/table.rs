//! A table with a header, read from a CSV file; each complaint names file, line and column.
//!
//! Must not know: what the columns mean.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::judge::cost::input::InputError;
use crate::row::BYTE_ORDER_MARK;

/// A table with a header and at least one row.
#[derive(Debug)]
pub struct CsvTable {
    /// Where it was read.
    pub path: PathBuf,
    header: Vec<String>,
    lines: Vec<(u64, Vec<String>)>,
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
pub struct CsvRow<'table> {
    table: &'table CsvTable,
    /// Its line in the file, from 1.
    pub line: u64,
    cells: &'table [String],
}

impl CsvTable {
    /// Reads a file.
    ///
    /// Errors: what the system says; an [`InputError`] for what is no table.
    pub fn read(path: &Path) -> anyhow::Result<CsvTable> {
        let bytes = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
        Ok(CsvTable::parse(path, bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes))?)
    }

    /// Reads bytes that were read from a file.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<CsvTable, InputError> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
        let header = reader.headers().map_err(|error| no_table(path, &error))?;
        let header: Vec<String> = header.iter().map(str::to_owned).collect();
        let mut lines = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| no_table(path, &error))?;
            let line = record.position().map_or(0, csv::Position::line);
            lines.push((line, record.iter().map(str::to_owned).collect()));
        }
        if lines.is_empty() {
            Err(InputError::of_file(path, "there are no rows; a header and a row are the least"))
        } else {
            Ok(CsvTable { path: path.into(), header, lines })
        }
    }

    /// The rows, in their order.
    pub fn rows(&self) -> impl Iterator<Item = CsvRow<'_>> {
        self.lines.iter().map(|(line, cells)| CsvRow { table: self, line: *line, cells })
    }

    /// The names of its columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The cells of its rows.
    pub fn cells(&self) -> impl Iterator<Item = &[String]> {
        self.lines.iter().map(|(_, cells)| cells.as_slice())
    }

    /// The first row that has these words in these columns.
    pub fn row_with(&self, words: &[(&'static str, &str)]) -> Result<CsvRow<'_>, InputError> {
        words.iter().try_for_each(|(column, _)| self.require(&[*column]))?;
        let has_all = |row: &CsvRow<'_>| words.iter().all(|(column, word)| row.text(column) == Ok(*word));
        let wanted = || words.iter().map(|(column, word)| format!("{column} {word}")).collect::<Vec<_>>();
        let no_row = || InputError::of_file(&self.path, format!("no row of {}", wanted().join(", ")));
        self.rows().find(has_all).ok_or_else(no_row)
    }

    /// Whether there is such a column.
    pub fn has(&self, column: &str) -> bool {
        self.header.iter().any(|name| name == column)
    }

    /// The first of these columns that is there.
    pub fn one_of(&self, columns: &[&'static str]) -> Result<&'static str, InputError> {
        let found = columns.iter().find(|column| self.has(column));
        found.copied().ok_or_else(|| {
            let (wanted, there) = (columns.join("` or `"), self.header.join(", "));
            InputError::of_line(&self.path, 1, format!("no column `{wanted}`; there are: {there}"))
        })
    }

    /// Complains about the first of these columns that is not there.
    pub fn require(&self, columns: &[&'static str]) -> Result<(), InputError> {
        columns.iter().try_for_each(|column| self.one_of(&[column]).map(drop))
    }
}

impl CsvRow<'_> {
    /// The text of a column.
    pub fn text(&self, column: &str) -> Result<&str, InputError> {
        let at = self.table.header.iter().position(|name| name == column);
        let cell = at.and_then(|at| self.cells.get(at)).map(String::as_str);
        cell.ok_or_else(|| self.wrong(format!("no column `{column}`")))
    }

    /// The finite number of a column.
    pub fn number(&self, column: &str) -> Result<f64, InputError> {
        let text = self.text(column)?;
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| self.wrong(format!("`{column}` must be a number, not '{text}'")))
    }

    /// A number above 0.
    pub fn above_zero(&self, column: &str) -> Result<f64, InputError> {
        let number = self.number(column)?;
        let right = number > 0.0;
        right.then_some(number).ok_or_else(|| self.wrong(format!("`{column}` must be above 0, not {number}")))
    }

    /// A number that is not below 0.
    pub fn not_negative(&self, column: &str) -> Result<f64, InputError> {
        let number = self.number(column)?;
        let right = number >= 0.0;
        right.then_some(number).ok_or_else(|| self.wrong(format!("`{column}` must not be below 0: {number}")))
    }

    /// A whole number from `least` to `most`.
    pub fn whole(&self, column: &str, least: u64, most: u64) -> Result<u64, InputError> {
        let number = self.number(column)?;
        let right = number.fract() == 0.0 && number >= least as f64 && number <= most as f64;
        let wrong =
            || self.wrong(format!("`{column}` must be a whole number from {least} to {most}, not {number}"));
        right.then_some(number as u64).ok_or_else(wrong)
    }

    /// A number that may be left out.
    pub fn optional(&self, column: &str) -> Result<Option<f64>, InputError> {
        if self.table.has(column) && !self.text(column)?.is_empty() {
            self.number(column).map(Some)
        } else {
            Ok(None)
        }
    }

    /// A complaint about this row.
    pub fn wrong(&self, message: impl Into<String>) -> InputError {
        InputError::of_line(&self.table.path, self.line, message)
    }
}

fn no_table(path: &Path, error: &csv::Error) -> InputError {
    let line = error.position().map(csv::Position::line);
    let message = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells, and the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "not UTF-8, so this is no table".to_string(),
        _ => format!("this is no table: {error}"),
    };
    InputError { line, ..InputError::of_file(path, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<CsvTable, InputError> {
        CsvTable::parse(Path::new("t.csv"), text.as_bytes())
    }

    #[test]
    fn cells_are_read_by_the_name_of_their_column() {
        let table = parse("name,size\na,1\nb, 2.5\n").expect("a table");
        let sizes: Vec<f64> = table.rows().map(|row| row.number("size").expect("a number")).collect();
        assert_eq!(sizes, [1.0, 2.5]);
        assert_eq!(table.one_of(&["bytes", "size"]), Ok("size"));
    }

    #[test]
    fn complaints_name_file_line_and_column() {
        for (text, complaint) in [
            ("", "t.csv: there are no rows"),
            ("size\n", "t.csv: there are no rows"),
            ("size\n1,2\n", "t.csv, line 2: 2 cells, and the header has 1"),
            ("name\na\n", "t.csv, line 1: no column `size`; there are: name"),
            ("size\n1\nmuch\n", "t.csv, line 3: `size` must be a number, not 'much'"),
            ("size\nNaN\n", "t.csv, line 2: `size` must be a number, not 'NaN'"),
            ("size\ninf\n", "must be a number, not 'inf'"),
            ("name,size\na,\n", "t.csv, line 2: `size` must be a number, not ''"),
            ("size\n-1\n", "t.csv, line 2: `size` must be above 0, not -1"),
            ("size\n0\n", "must be above 0, not 0"),
        ] {
            let read = |text: &str| -> Result<f64, InputError> {
                let table = parse(text)?;
                table.require(&["size"])?;
                table.rows().map(|row| row.above_zero("size")).sum()
            };
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(complaint), "{text:?}: {error}");
        }
        let error = CsvTable::parse(Path::new("t.csv"), b"size\n\xff\n").expect_err("no text").to_string();
        assert!(error.contains("t.csv, line 2: not UTF-8"), "{error}");
    }

    #[test]
    fn a_row_is_found_by_its_words() {
        let table = parse("end,way,size\nsource,a,1\nsource,b,2\n").expect("a table");
        let size = |words: &[(&'static str, &str)]| table.row_with(words)?.number("size");
        assert_eq!(size(&[("end", "source")]), Ok(1.0));
        assert_eq!(size(&[("end", "source"), ("way", "b")]), Ok(2.0));
        let error = size(&[("end", "sink"), ("way", "b")]).expect_err("no such row").to_string();
        assert_eq!(error, "t.csv: no row of end sink, way b");
        let error = size(&[("kind", "sink")]).expect_err("no such column").to_string();
        assert!(error.contains("no column `kind`"), "{error}");
    }

    #[test]
    fn whole_numbers_have_bounds() {
        let table = parse("depth\n1.5\n0\n9\n4\n").expect("a table");
        let depths: Vec<bool> = table.rows().map(|row| row.whole("depth", 1, 8).is_ok()).collect();
        assert_eq!(depths, [false, false, false, true]);
    }
}
