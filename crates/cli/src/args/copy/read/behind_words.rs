//! Behind a wrong word: a file whose name begins with a dash.
//!
//! Must not know: what commands do.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// How to write the first word that is taken for flags and is the name of a file here.
pub fn dashed_file(words: &[OsString]) -> Option<String> {
    let typed = words.iter().skip(1).take_while(|word| *word != "--");
    let mut dashed = typed.filter(|word| word.len() > 1 && word.as_bytes().starts_with(b"-"));
    let word = dashed.find(|word| Path::new(word).symlink_metadata().is_ok())?;
    let file = datapump::shell_word(&[b"./", word.as_bytes()].concat());
    let flags = datapump::shown(word.as_bytes());
    Some(format!("'{flags}' is read as flags; for the file of that name write {file}, or -- before it"))
}
