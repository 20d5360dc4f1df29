//! `pump hash --check`: lists of hashes, as b3sum reads them.
//!
//! Must not know: how a hash is taken.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use datapump::Problem;

/// Digits of a BLAKE3 hash of 32 bytes.
const DIGITS: usize = 64;

/// A line of a list.
#[derive(Debug, PartialEq, Eq)]
pub struct Expected {
    /// The file.
    pub name: OsString,
    /// Its hash in hex.
    pub hash: String,
}

/// Reads a list; `-` is standard input.
///
/// Errors: it cannot be read, or a line is none of b3sum's: usage, with the number of the line.
pub fn read(list: &OsStr) -> Result<Vec<Expected>, Problem> {
    let mut bytes = Vec::new();
    let read = match list.as_bytes() {
        b"-" => std::io::stdin().read_to_end(&mut bytes).map(drop),
        _ => std::fs::read(list).map(|content| bytes = content),
    };
    let shown = datapump::shown(list.as_bytes());
    read.map_err(|error| Problem::usage(format!("read '{shown}': {error}")))?;
    let lines = bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    // A list that an editor of Windows wrote; of one name alone it belongs to the name.
    let has_returns = lines.clone().all(|(_, line)| line.ends_with(b"\r"));
    lines
        .map(|(number, line)| {
            let wrong =
                || Problem::usage(format!("'{shown}', line {}: no line of b3sum: HASH  NAME", number + 1));
            parsed(line.strip_suffix(b"\r").filter(|_| has_returns).unwrap_or(line)).ok_or_else(wrong)
        })
        .collect()
}

/// `HASH  NAME`; a backslash in front says that the name is escaped.
fn parsed(line: &[u8]) -> Option<Expected> {
    let (line, is_escaped) = match line {
        [b'\\', rest @ ..] => (rest, true),
        line => (line, false),
    };
    let (hash, name) = line.split_at_checked(DIGITS)?;
    let name = name.strip_prefix(b"  ").filter(|name| !name.is_empty())?;
    let name = if is_escaped { unescaped(name)? } else { name.to_vec() };
    let hash =
        std::str::from_utf8(hash).ok().filter(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    Some(Expected { name: OsString::from_vec(name), hash: hash.to_ascii_lowercase() })
}

fn unescaped(name: &[u8]) -> Option<Vec<u8>> {
    let (mut plain, mut bytes) = (Vec::new(), name.iter());
    while let Some(&byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next()? {
                b'\\' => b'\\',
                b'n' => b'\n',
                b'r' => b'\r',
                _ => return None,
            },
            byte => byte,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_b3sum() {
        let hash = "0a".repeat(32);
        for (line, name) in [
            (format!("{hash}  plain"), Some("plain")),
            (format!("{hash}  two  words "), Some("two  words ")),
            (format!("\\{hash}  new\\nline\\\\"), Some("new\nline\\")),
            (format!("{}  capitals", hash.to_uppercase()), Some("capitals")),
            (format!("\\{hash}  bad\\x"), None),
            (format!("{hash} one space"), None),
            (format!("{hash}  "), None),
            ("0a  short".into(), None),
            (format!("{}  no digits", "xy".repeat(32)), None),
        ] {
            let found = parsed(line.as_bytes()).map(|found| (found.name, found.hash));
            assert_eq!(found, name.map(|name| (name.into(), hash.clone())), "{line}");
        }
    }
}
