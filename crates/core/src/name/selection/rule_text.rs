//! The text of rules and names as it is read from files, and as it is shown in errors.
//!
//! Must not know: what a rule means.

use crate::problem::shown;

/// How much of a text an error shows: a file that is no list may be one line of gigabytes.
const SHOWN_BYTES_MAX: usize = 200;

/// The first letters of a text, for errors.
pub(crate) fn beginning(text: &[u8]) -> String {
    let short = shown(&text[..text.len().min(SHOWN_BYTES_MAX)]);
    if text.len() > SHOWN_BYTES_MAX { short + "…" } else { short }
}

/// The entries that say something, each with its place for errors.
pub(crate) fn entries(content: &[u8], zero_terminated: bool) -> impl Iterator<Item = (String, &[u8])> {
    let end = if zero_terminated { 0 } else { b'\n' };
    let what = if zero_terminated { "entry" } else { "line" };
    let is_comment = move |text: &[u8]| !zero_terminated && matches!(text, [b'#' | b';', ..]);
    let parts = move |(index, line): (usize, _)| {
        <[u8]>::split(line, move |&byte| byte == b'\r' && !zero_terminated).map(move |text| (index + 1, text))
    };
    let lines = content.split(move |&byte| byte == end).enumerate().flat_map(parts);
    lines
        .filter(move |(_, text)| !text.is_empty() && !is_comment(text))
        .map(move |(number, text)| (format!("{what} {number}"), text))
}
