//! Behind a wrong word: a file whose name begins with a dash, or a variable of the environment.
//!
//! Must not know: what commands do.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{is_typed, typed_command};
use crate::args::command_of_words;

/// How to write the first word that is taken for flags and is the name of a file here.
pub fn dashed_file(words: &[OsString]) -> Option<String> {
    let typed = words.iter().skip(1).take_while(|word| *word != "--");
    let mut dashed = typed.filter(|word| word.len() > 1 && word.as_bytes().starts_with(b"-"));
    let word = dashed.find(|word| Path::new(word).symlink_metadata().is_ok())?;
    let file = datapump::shell_word(&[b"./", word.as_bytes()].concat());
    let flags = datapump::shown(word.as_bytes());
    Some(format!("'{flags}' is read as flags; for the file of that name write {file}, or -- before it"))
}

/// `; PUMP_LINK_DEST is set`: the variables that set flags which a message is about, and which were not typed.
pub fn variables_behind(message: &str) -> Option<String> {
    let words: Vec<_> = std::env::args_os().collect();
    let command = command_of_words(&words);
    let flags = typed_command(&command, &words).get_arguments();
    let flags = flags.filter_map(|argument| Some((argument.get_long()?, argument.get_env()?)));
    let is_part = |letter: char| letter == '-' || letter.is_ascii_alphanumeric();
    let is_about = |flag: &str| {
        let mut parts = message.split(|letter| !is_part(letter));
        parts.any(|part| part.strip_prefix("--") == Some(flag))
    };
    let set = flags.filter(|(flag, variable)| {
        std::env::var_os(variable).is_some() && is_about(flag) && !is_typed(flag, &words)
    });
    let names: Vec<_> = set.map(|(_, variable)| variable.to_string_lossy().into_owned()).collect();
    match names.len() {
        0 => None,
        1 => Some(format!("; {} is set", names[0])),
        _ => Some(format!("; {} are set", names.join(" and "))),
    }
}
