//! Lists of names, as `--files-from` reads them.
//!
//! Must not know: rules, folders, files, where a list was read from.

use super::rule_text::{beginning, entries};

/// A name of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedName {
    /// The path below the folder being copied, without slashes at its ends, double slashes and `.`. The empty name is
    /// the folder itself.
    pub(crate) path: Vec<u8>,
    /// It ends in a slash (or is `.`): a folder comes with what lies in it.
    pub(crate) with_contents: bool,
}

/// The names of a list. Order and repetitions stay.
pub(crate) fn parse_names(content: &[u8], zero_terminated: bool) -> Result<Vec<ListedName>, String> {
    let name = |(place, text): (String, &[u8])| {
        let path = parse_relative(text).map_err(|why| format!("{place}: {why}"))?;
        let with_contents = matches!(text, b"." | [.., b'/'] | [.., b'/', b'.']);
        Ok(ListedName { path, with_contents })
    };
    entries(content, zero_terminated).map(name).collect()
}

/// A name of a list as a path from the source, without empty parts and dots.
///
/// Errors: it may leave the source, or means something else to rsync.
fn parse_relative(text: &[u8]) -> Result<Vec<u8>, String> {
    let names = || text.split(|&byte| byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    if names().any(|name| name == b"..") {
        return Err(format!("the name '{}' has '..' in it, which may leave the source", beginning(text)));
    }
    let mut path = text;
    while let Some(rest) = path.strip_prefix(b"./") {
        path = rest;
    }
    if path.windows(3).any(|part| part == b"/./") {
        return Err(format!(
            "the name '{}' has '/./' in it: rsync would begin the path of the copy there; give the \
                            folder before it as the source, and the rest in the list",
            beginning(text)
        ));
    }
    if text.contains(&0) {
        return Err(format!("the name '{}' has a zero byte in it, which no name has", beginning(text)));
    }
    Ok(names().collect::<Vec<_>>().join(&b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_names_are_read() {
        for (content, zero, expected) in [
            ("", false, ""),
            ("a\nb", false, "a|b"),
            ("a\r\n\r\n# no\n;no\nb#\n", false, "a|b#"),
            ("/a\n//b//c/\n././d/e\n...\n", false, "a|b/c|d/e|..."),
            ("b\na\nb\n a \n", false, "b|a|b| a "),
            (".", false, ""),
            ("a\n\0#b\0\0;c\0", true, "a\n|#b|;c"),
        ] {
            let names = parse_names(content.as_bytes(), zero).expect("in order");
            let names = names.into_iter().map(|name| name.path).collect::<Vec<_>>().join(&b'|');
            assert_eq!(String::from_utf8_lossy(&names), expected, "{content:?}");
        }
        let itself = ListedName { path: vec![], with_contents: true };
        assert_eq!(parse_names(b"/\n./.\n", false), Ok(vec![itself.clone(), itself]), "the folder itself");
    }

    #[test]
    fn names_that_may_leave_the_source_are_refused() {
        for (content, zero, message) in [
            ("a\n../b\n", false, "line 2: the name '../b' has '..' in it, which may leave the source"),
            ("a/../b", true, "entry 1: the name 'a/../b' has '..' in it, which may leave the source"),
            (
                "a/./b",
                false,
                "line 1: the name 'a/./b' has '/./' in it: rsync would begin the path of the copy there; \
              give the folder before it as the source, and the rest in the list",
            ),
            ("/..", false, "line 1: the name '/..' has '..' in it, which may leave the source"),
            ("a\0b", false, "line 1: the name 'a\\u{0}b' has a zero byte in it, which no name has"),
        ] {
            assert_eq!(parse_names(content.as_bytes(), zero), Err(message.into()));
        }
    }
}
