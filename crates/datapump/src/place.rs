//! Where a job reads from or writes to, as the user names it.
//!
//! Must not know: whether the place exists, what kind of file it is.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::units::parse_bytes;

/// What a null source delivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// Seeded noise, filled once per slot.
    #[default]
    Noise,
    /// Zeros.
    Zero,
}

/// One end of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A path of this host.
    Path(PathBuf),
    /// Standard input or standard output: `-`.
    Stream,
    /// Nowhere: an endless sink, or a source of `bytes` bytes.
    Null {
        /// Length of the source in bytes; a sink has none.
        bytes: Option<u64>,
        /// What the source delivers.
        fill: Fill,
    },
}

/// Why a word does not name a place: a usage error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlaceError(String);

impl Place {
    /// Reads a place as it stands on a command line. A local path with a colon is written `./a:b`.
    pub fn parse(word: &OsStr) -> Result<Place, PlaceError> {
        let bytes = word.as_bytes();
        match bytes {
            b"" => Err(PlaceError("an empty name is no place".into())),
            b"-" => Ok(Place::Stream),
            b"null:" => Ok(Place::Null { bytes: None, fill: Fill::Noise }),
            _ if bytes.starts_with(b"null:") => parse_null(&word.to_string_lossy()),
            _ if is_remote(bytes) => Err(remote(&crate::shown(bytes))),
            _ => Ok(Place::Path(PathBuf::from(word))),
        }
    }
}

fn remote(word: &str) -> PlaceError {
    let local = format!("a local path with a colon is written ./{word}");
    PlaceError(format!(
        "'{word}' names a place on another host, which this version cannot reach yet; {local}"
    ))
}

fn parse_null(word: &str) -> Result<Place, PlaceError> {
    let rest = &word["null:".len()..];
    let (size, fill) = match rest.strip_suffix(",zero") {
        Some(size) => (size, Fill::Zero),
        None => (rest, Fill::Noise),
    };
    let refused = |error| PlaceError(crate::shown(format!("in '{word}': {error}").as_bytes()));
    let bytes = parse_bytes(size).map_err(refused)?;
    Ok(Place::Null { bytes: Some(bytes), fill })
}

/// A colon before the first slash makes a host, as in scp and rsync.
fn is_remote(word: &[u8]) -> bool {
    let first = word.iter().position(|&byte| byte == b':' || byte == b'/');
    first.is_some_and(|at| word[at] == b':')
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Path(path) => out.write_str(&crate::shown(path.as_os_str().as_bytes())),
            Place::Stream => out.write_str("-"),
            Place::Null { bytes: None, .. } => out.write_str("null:"),
            Place::Null { bytes: Some(bytes), fill: Fill::Noise } => write!(out, "null:{bytes}B"),
            Place::Null { bytes: Some(bytes), fill: Fill::Zero } => write!(out, "null:{bytes}B,zero"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(word: &str) -> Result<Place, PlaceError> {
        Place::parse(OsStr::new(word))
    }

    #[test]
    fn words_name_places() {
        let null = |bytes, fill| Place::Null { bytes, fill };
        for (word, place) in [
            ("a/b", Place::Path("a/b".into())),
            ("-", Place::Stream),
            ("./a:b", Place::Path("./a:b".into())),
            ("/a:b", Place::Path("/a:b".into())),
            ("null:", null(None, Fill::Noise)),
            ("null:10GiB", null(Some(10 << 30), Fill::Noise)),
            ("null:65536B,zero", null(Some(65_536), Fill::Zero)),
        ] {
            assert_eq!(parse(word), Ok(place), "{word}");
        }
    }

    #[test]
    fn words_that_name_no_place_say_why() {
        for (word, hint) in [
            ("", "empty name"),
            ("null:10G", "write 10GiB"),
            ("null:\t", "in 'null:\\t'"),
            ("host:b", "another host"),
            ("user@host:b", "written ./user@host:b"),
            ("pump://host:1/x", "another host"),
            ("http://host/x", "another host"),
        ] {
            let error = parse(word).expect_err(word).to_string();
            assert!(error.contains(hint), "{word}: {error}");
        }
    }
}
