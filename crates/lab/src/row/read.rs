//! Rows out of a file that may be torn: a writer was killed, a disk was full, a piece was cut out.
//!
//! Every whole row is used, and the rest is counted, so that it can be told. A line without a piece of a row is an
//! error: the file is of another kind. Must not know: what rows say.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use super::{Row, form};

/// In a torn line the beginnings of so many objects are looked at; a row has a handful.
const BEGINNINGS_MAX: usize = 256;
/// What some editors put before the first line.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// So many torn lines are told of one by one.
const TOLD_MAX: usize = 5;

/// What a file of rows has.
#[derive(Debug, Default, PartialEq)]
pub struct RowsFound {
    /// The whole rows, in their order.
    pub rows: Vec<Row>,
    /// Lines that have more than whole rows.
    pub torn: Vec<Torn>,
    /// How the file ends.
    pub end: RowsEnd,
}

/// A line that has more than whole rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Its number, from 1.
    pub line: usize,
    /// Bytes that are in no row.
    pub bytes: usize,
    /// Whether it is the last one of the file, and without its end.
    pub is_last: bool,
    /// Why it is no JSON, if it begins and ends as a row does: then nothing shows that it is torn.
    pub no_json: Option<String>,
}

/// How a file of rows ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowsEnd {
    /// With the end of a line, or it is empty.
    #[default]
    OfLine,
    /// With a row, but not with the end of its line.
    OfRow,
    /// In a row that begins at this byte.
    Torn(usize),
}

/// Finds the rows.
///
/// Errors: the first line that is neither a row of its version nor pieces of rows.
pub fn rows(path: &Path, bytes: &[u8]) -> anyhow::Result<RowsFound> {
    let mut found = RowsFound::default();
    let lines = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut at = bytes.len() - lines.len();
    for (index, line) in lines.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let lost = found.read(line.trim_ascii(), index == 0);
        let has_others = || !found.rows.is_empty() || has_row(&bytes[at + line.len()..]);
        let lost = lost.with_context(|| no_row(path, index, has_others()))?;
        let is_last = !line.ends_with(b"\n");
        if lost > 0 {
            let is_whole = !is_last && lost == line.trim_ascii().len();
            let no_json = if is_whole { no_json(line.trim_ascii()) } else { None };
            found.torn.push(Torn { line: index + 1, bytes: lost, is_last, no_json });
        }
        if is_last {
            // A line with a whole row is not cut off, whatever stands before that row.
            let ends_with_row = lost < line.trim_ascii().len();
            found.end = if ends_with_row { RowsEnd::OfRow } else { RowsEnd::Torn(at) };
        }
        at += line.len();
    }
    Ok(found)
}

/// Why a line that begins and ends as a row does is no JSON.
fn no_json(line: &[u8]) -> Option<String> {
    let error = serde_json::from_slice::<Value>(line).err()?;
    let said = error.to_string();
    // It is one line: the reader's own number of it is 1.
    let said = said.split(" at line ").next().unwrap_or_default();
    let said = if said == "number out of range" { "a number out of range" } else { said };
    (line.starts_with(b"{\"") && line.ends_with(b"}")).then(|| format!("{said} at column {}", error.column()))
}

fn no_row(path: &Path, index: usize, has_others: bool) -> String {
    let path = datapump::shown(path.as_os_str().as_encoded_bytes());
    let line = index + 1;
    if has_others {
        format!("{path}, line {line}: this is no row; take this line out or name another file")
    } else {
        format!("{path}, line {line}: this is no row, and the file has none; name another file")
    }
}

/// Whether one of the lines is a row.
fn has_row(lines: &[u8]) -> bool {
    let is_row = |whole| form::row(whole).is_ok();
    lines.split(|&byte| byte == b'\n').any(|line| serde_json::from_slice(line).is_ok_and(is_row))
}

impl RowsFound {
    /// Reads a line and gives the number of its bytes that are in no row.
    fn read(&mut self, line: &[u8], is_first: bool) -> anyhow::Result<usize> {
        if line.is_empty() {
            return Ok(0);
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(whole) => {
                self.rows.push(form::row(whole)?);
                Ok(0)
            }
            Err(_) if is_piece(line, is_first) => self.read_torn(line),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes the whole rows out of a torn line.
    fn read_torn(&mut self, line: &[u8]) -> anyhow::Result<usize> {
        let (mut at, mut used) = (0, 0);
        for _ in 0..BEGINNINGS_MAX {
            let Some(next) = line[at..].windows(2).position(|two| two == b"{\"") else { break };
            at += next;
            let mut values = serde_json::Deserializer::from_slice(&line[at..]).into_iter::<Value>();
            // An object that is no row is a part of one, or what two torn ones came to.
            match values.next().map(|whole| form::row(whole?)) {
                Some(Ok(row)) => {
                    let bytes = values.byte_offset();
                    self.rows.push(row);
                    used += bytes;
                    at += bytes;
                }
                Some(Err(_)) | None => at += 1,
            }
        }
        Ok(line.len() - used)
    }

    /// What was lost, for people. Nothing if nothing was.
    pub fn losses(&self, path: &Path) -> Vec<String> {
        let path = datapump::shown(path.as_os_str().as_encoded_bytes());
        let told = self.torn.iter().take(TOLD_MAX).map(|torn| match (torn.is_last, &torn.no_json) {
            (true, _) => format!("{path}: {} bytes of a torn last line left out", torn.bytes),
            (_, Some(why)) => {
                format!("{path}, line {} is not JSON ({why}): its {} bytes left out", torn.line, torn.bytes)
            }
            _ => format!("{path}, line {}: {} bytes of a torn line left out", torn.line, torn.bytes),
        });
        let rest = self.torn.iter().skip(TOLD_MAX);
        let bytes: usize = rest.clone().map(|torn| torn.bytes).sum();
        let kind = if rest.clone().all(|torn| torn.no_json.is_none()) { "torn" } else { "such" };
        let rest = (bytes > 0)
            .then(|| format!("{path}: {bytes} bytes of {} more {kind} lines left out", rest.count()));
        told.chain(rest).collect()
    }
}

/// Whether this may be what is left of rows: it begins like one, or with the zeros that a file system leaves after a
/// loss of power; or the file was cut at its front and it ends like one.
fn is_piece(line: &[u8], is_first: bool) -> bool {
    let zeros = line.iter().take_while(|&&byte| byte == 0).count();
    let line = &line[zeros..];
    line.is_empty() || line == b"{" || line.starts_with(b"{\"") || (is_first && line.ends_with(b"}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::tests::row as some_row;

    fn line(repeat: u32) -> String {
        serde_json::to_string(&some_row(repeat)).expect("JSON")
    }

    fn read(text: &[u8]) -> (Vec<u32>, usize, RowsEnd) {
        let found = rows(Path::new("rows.jsonl"), text).expect("rows");
        let lost = found.torn.iter().map(|torn| torn.bytes).sum();
        (found.rows.iter().map(|row| row.repeat).collect(), lost, found.end)
    }

    #[test]
    fn a_file_that_is_cut_anywhere_keeps_its_whole_rows_and_counts_the_rest() {
        let text: String = (0..3).map(|repeat| line(repeat) + "\n").collect();
        let ends: Vec<usize> =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        for cut in 0..=text.len() {
            let whole = ends.iter().filter(|&&end| end <= cut).count() as u32;
            let begin = if whole == 0 { 0 } else { ends[whole as usize - 1] + 1 };
            let end = match cut {
                _ if ends.contains(&cut) => RowsEnd::OfRow,
                _ if begin >= cut => RowsEnd::OfLine,
                _ => RowsEnd::Torn(begin),
            };
            let lost = if matches!(end, RowsEnd::Torn(_)) { cut - begin } else { 0 };
            assert_eq!(read(&text.as_bytes()[..cut]), ((0..whole).collect(), lost, end), "cut at {cut}");
        }
        for cut in 1..text.len() {
            let (rows, lost, _) = read(&text.as_bytes()[cut..]);
            let whole = ends.iter().filter(|&&end| end > cut).count();
            let rest = ends.iter().find(|&&end| end >= cut).map_or(0, |end| end - cut);
            let is_whole = text.as_bytes()[cut - 1] == b'\n';
            assert_eq!(
                rows.len(),
                if is_whole { whole } else { whole.saturating_sub(usize::from(rest > 0)) }
            );
            assert_eq!(lost, if is_whole { 0 } else { rest }, "front cut at {cut}");
        }
    }

    #[test]
    fn rows_behind_a_torn_one_are_used() {
        let [one, two] = [line(1), line(2)];
        for (text, rows, lost) in [
            (format!("{}{two}\n", &one[..40]), vec![2], 40),
            (format!("{}\n{two}\n", &one[..40]), vec![2], 40),
            (format!("{one}{two}\n"), vec![1, 2], 0),
            (format!("{}{one}{}{two}", &one[..9], &two[..70]), vec![1, 2], 79),
            (format!("{one}\n\0\0\0\0{two}\n"), vec![1, 2], 4),
            (format!("{one}\n\0\0\0"), vec![1], 3),
            (format!("{}{}\n{two}\n", &one[..50], &one[99..]), vec![2], one.len() - 49),
            (format!("\n\n{one}\r\n  \n"), vec![1], 0),
        ] {
            let (got, bytes, _) = read(text.as_bytes());
            assert_eq!((got, bytes), (rows, lost), "{text}");
        }
    }

    #[test]
    fn losses_are_told_with_their_place() {
        let path = Path::new("a\x1b.jsonl");
        let torn = |text: &str| rows(path, text.as_bytes()).expect("rows").losses(path);
        let piece = &line(0)[..30];
        assert_eq!(torn(&line(0)), [""; 0]);
        assert_eq!(torn(piece), ["a\\u{1b}.jsonl: 30 bytes of a torn last line left out"]);
        let many = torn(&format!("{piece}\n").repeat(9));
        assert_eq!(many.len(), 6);
        assert_eq!(many[1], "a\\u{1b}.jsonl, line 2: 30 bytes of a torn line left out");
        assert_eq!(many[5], "a\\u{1b}.jsonl: 120 bytes of 4 more torn lines left out");
    }

    #[test]
    fn whole_lines_that_are_no_json_are_not_called_torn() {
        let whole = line(0);
        let bytes = whole.len();
        let with = |number: &str| whole.replace("\"load\":0.0", &format!("\"load\":{number}"));
        for (text, rows, told) in [
            (format!("{}\n{whole}\n", with("NaN")), 1, "line 1 is not JSON (expected value at column"),
            (
                format!("{whole}\n{}\n", with("1e999")),
                1,
                "line 2 is not JSON (a number out of range at column",
            ),
            (format!("{whole}\n{}", with("NaN")), 1, "bytes of a torn last line left out"),
            (format!("{}\n{whole}\n", &whole[..60]), 1, "line 1: 60 bytes of a torn line left out"),
            (format!("{}{whole}\n", &whole[..60]), 1, "line 1: 60 bytes of a torn line left out"),
            (format!("{}\n", with("NaN")).repeat(9), 0, "line 5 is not JSON (expected value"),
            (format!("{}\n", with("NaN")).repeat(9), 0, &format!("{} bytes of 4 more such lines", 4 * bytes)),
        ] {
            let found = super::rows(Path::new("rows.jsonl"), text.as_bytes()).expect("rows");
            let losses = found.losses(Path::new("rows.jsonl")).join("; ");
            assert!(found.rows.len() == rows && losses.contains(told), "{losses}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_row() {
        let text = [BYTE_ORDER_MARK, line(1).as_bytes(), b"\n", &line(2).as_bytes()[..30]].concat();
        assert_eq!(read(&text), (vec![1], 30, RowsEnd::Torn(line(1).len() + 4)));
        assert_eq!(read(BYTE_ORDER_MARK), (vec![], 0, RowsEnd::OfLine));
    }

    #[test]
    fn what_is_no_piece_of_a_row_is_another_file() {
        for (text, hint) in [
            ("hello\n", "line 1: this is no row, and the file has none; name another file"),
            (
                &format!("hello\n{}\n", line(0)),
                "line 1: this is no row; take this line out or name another file",
            ),
            (
                &format!("{}\nhello\n", line(0)),
                "line 2: this is no row; take this line out or name another file",
            ),
            ("hello", "line 1: this is no row"),
            ("component,cb\ncpu,1\n", "this is no row"),
            ("{\"v\":1}\n", "missing field `study`"),
            ("[1, 2]\n", "this is no row"),
            ("{\n  \"a\": 1\n}\n", "line 2: this is no row"),
            ("{\"v\":2,\"new\":1}\n", "missing field `absent`, which a row of version 2 has"),
            ("{\"v\":7,\"new\":1}\n", "which a row of version 7 has"),
            (&line(0).replace("\"pace_", "\"place_"), "missing field `pace_after_ns`"),
        ] {
            let error = rows(Path::new("rows.jsonl"), text.as_bytes()).expect_err(text);
            let error = format!("{error:#}");
            assert!(error.starts_with("rows.jsonl, line ") && error.contains(hint), "{text}: {error}");
        }
    }
}
