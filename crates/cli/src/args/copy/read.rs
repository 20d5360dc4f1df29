//! Reads the command line, and words clap's errors where it could say more.
//!
//! clap names the flag even when the value came from the environment (clap-rs/clap#5202), which sends people looking in
//! the wrong place; here the variable is named.
//!
//! Must not know: what commands do.

pub(in crate::args) mod behind_words;
mod rsync_words;

use std::ffi::{OsStr, OsString};
use std::num::ParseIntError;
use std::os::unix::ffi::OsStrExt;

use clap::builder::{Resettable, StyledStr};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command, Error, FromArgMatches};

use crate::args::copy::read::behind_words::dashed_file;
use crate::args::copy::read::rsync_words::has_value_behind;
use crate::args::{self, hints};

/// Reads what was typed. An error is also what `--help` and `--version` give: print it and end with its status.
pub fn read(words: Vec<OsString>) -> Result<args::Command, Error> {
    let command = args::command_of_words(&words);
    let mut command = if is_remote_end(&words) { without_variables(command) } else { command };
    if let Some(rule) = rsync_words::filter_behind_letter(&words) {
        let text = format!(
            "'{}' is no name that exists, and reads as a filter rule: rsync's -f RULE is --filter RULE; -f (cp's) has \
             no value",
            datapump::shown(rule.as_bytes())
        );
        return Err(command.error(ErrorKind::InvalidValue, text));
    }
    let typed = words.clone();
    let words = rsync_words::in_own_flags(&command, words);
    command.try_get_matches_from_mut(&words).and_then(|matches| typed_arguments(&matches)).map_err(|error| {
        let mut error = in_other_words(error, &mut command, &words);
        // A name that is a file here was hardly meant as a flag.
        if error.kind() == ErrorKind::UnknownArgument
            && let Some(tip) = dashed_file(&typed)
        {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
        }
        error
    })
}

/// Whether this is what a copy starts over ssh. A session says what it wants: variables of the remote shell are for what
/// its user types there.
fn is_remote_end(words: &[OsString]) -> bool {
    words.get(1..).is_some_and(|words| words == ["serve", "--stdio"])
}

fn without_variables(command: Command) -> Command {
    let argument = |argument: Arg| argument.env(Resettable::Reset);
    command.mut_args(argument).mut_subcommands(without_variables)
}

fn typed_arguments(matches: &ArgMatches) -> Result<args::Command, Error> {
    let mut command = args::Command::from_arg_matches(matches)?;
    match (&mut command, matches.subcommand()) {
        (args::Command::Copy(copy), Some((_, matches))) => copy.take_typed(matches),
        (args::Command::Verify(verify), Some((_, matches))) => verify.patterns.take_order(matches),
        (args::Command::Mirror(mirror), Some((_, matches))) => mirror.0.take_typed(matches),
        _ => {}
    }
    Ok(command)
}

fn in_other_words(mut error: Error, command: &mut Command, words: &[OsString]) -> Error {
    use_plain_usage(&mut error, command, words);
    match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            error = in_words_for_numbers(error, command);
            name_the_variable(&mut error, command, words);
            tell_missing_value(&mut error, words);
        }
        ErrorKind::InvalidSubcommand => add_command(&mut error, command, words),
        ErrorKind::InvalidUtf8 => {
            if let Some(variable) = unreadable_variable(command) {
                let text = format!("the value of the environment variable {variable} is not UTF-8");
                return command.error(ErrorKind::InvalidUtf8, text);
            }
        }
        ErrorKind::UnknownArgument => {
            remove_tip(&mut error);
            add_command(&mut error, command, words);
            remove_opposite(&mut error);
            add_hints(&mut error, command, words);
        }
        _ => {}
    }
    error
}

/// clap shows a flag that a variable sets in the usage line as if it had to be typed.
fn use_plain_usage(error: &mut Error, command: &Command, words: &[OsString]) {
    let plain = without_variables(command.clone()).try_get_matches_from(words);
    if let Err(plain) = plain
        && let Some(usage) = plain.get(ContextKind::Usage)
    {
        error.insert(ContextKind::Usage, usage.clone());
    }
}

/// No number is "invalid digit found in string" in the words of the standard library.
fn in_words_for_numbers(error: Error, command: &Command) -> Error {
    let is_no_number = std::error::Error::source(&error).is_some_and(|source| source.is::<ParseIntError>());
    if !is_no_number {
        return error;
    }
    let mut said = Error::new(error.kind()).with_cmd(command);
    for kind in [ContextKind::InvalidArg, ContextKind::InvalidValue] {
        error.get(kind).into_iter().for_each(|value| drop(said.insert(kind, value.clone())));
    }
    let tip = StyledStr::from("write a whole number");
    said.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    said
}

/// If the bad value came from the environment, the error is about the variable.
fn name_the_variable(error: &mut Error, command: &Command, words: &[OsString]) {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else { return };
    let Some(flag) = shown.strip_prefix("--").map(name_of_flag).map(str::to_owned) else { return };
    let Some(variable) = variable_of(command, &flag) else { return };
    if std::env::var_os(&variable).is_some() && !is_typed(&flag, words) {
        let shown = format!("environment variable {}", variable.to_string_lossy());
        error.insert(ContextKind::InvalidArg, ContextValue::String(shown));
    }
}

/// `depth <COUNT>` and `progress[=<WHEN>]` are about `depth` and `progress`.
fn name_of_flag(shown: &str) -> &str {
    shown.split([' ', '[', '=']).next().unwrap_or(shown)
}

fn is_typed(flag: &str, words: &[OsString]) -> bool {
    let long = format!("--{flag}");
    let typed = |word: &OsString| {
        let rest = word.as_bytes().strip_prefix(long.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'=')
    };
    words.iter().take_while(|word| *word != "--").any(typed)
}

/// All arguments of the command and its subcommands.
fn all_arguments(command: &Command) -> Vec<&Arg> {
    let below = command.get_subcommands().flat_map(all_arguments);
    command.get_arguments().chain(below).collect()
}

fn variable_of(command: &Command, flag: &str) -> Option<OsString> {
    let argument = all_arguments(command).into_iter().find(|argument| argument.get_long() == Some(flag))?;
    argument.get_env().map(OsStr::to_owned)
}

/// The first variable of a flag whose value is not UTF-8.
fn unreadable_variable(command: &Command) -> Option<String> {
    let variables = all_arguments(command).into_iter().filter_map(Arg::get_env);
    let unreadable = |name: &&OsStr| std::env::var_os(name).is_some_and(|value| value.to_str().is_none());
    variables.into_iter().find(unreadable).map(|name| name.to_string_lossy().into_owned())
}

/// Flags that have no value with rsync, or need none with cp, and what they mean there.
const OFTEN_WITHOUT_VALUE: [(&str, &str); 2] = [
    ("--sparse", "rsync's --sparse is --sparse=always"),
    ("--reflink", "cp's --reflink is --reflink=always"),
];

/// `--sparse a b`: the file is no value, nor is it one that is spelled wrongly.
fn tell_missing_value(error: &mut Error, words: &[OsString]) {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else { return };
    let is_meant =
        |flag: &str| shown.starts_with(&format!("{flag} ")) && words.iter().any(|word| word == flag);
    let Some((_, words)) = OFTEN_WITHOUT_VALUE.iter().find(|(flag, _)| is_meant(flag)) else { return };
    error.remove(ContextKind::SuggestedValue);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(*words)]));
}

/// What clap guesses by the spelling (`hash` for `a`) gives way to what was meant.
fn add_command(error: &mut Error, command: &Command, words: &[OsString]) {
    let is_missing = words.get(1).is_some_and(|word| command.find_subcommand(word).is_none());
    let Some(hint) = hints::of_words(words).filter(|_| is_missing) else { return };
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(hint)]));
}

/// An unknown flag is hardly ever a file's name, as clap's tip has it: "to pass '-I' as a value, use '-- -I'".
fn remove_tip(error: &mut Error) {
    let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested) else { return };
    tips.retain(|tip| !tip.to_string().contains("' as a value, use '"));
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
}

/// The flag that is spelled most alike may do the opposite: `--delete` for `--no-delte`.
fn remove_opposite(error: &mut Error) {
    let is_negative = |kind| match error.get(kind) {
        Some(ContextValue::String(flag)) => Some(flag.starts_with("--no")),
        _ => None,
    };
    if is_negative(ContextKind::InvalidArg) != is_negative(ContextKind::SuggestedArg) {
        error.remove(ContextKind::SuggestedArg);
    }
}

/// What users of cp, dd and rsync type out of habit gets an answer: all such flags of a command at once.
fn add_hints(error: &mut Error, command: &mut Command, words: &[OsString]) {
    let Some(first) = unknown_habit(error, command, words) else { return };
    let (mut left, mut habits, mut next) = (words.to_vec(), Vec::new(), Some(first));
    let mut is_idle = !names_a_port(words);
    while let Some(habit) = next.take() {
        is_idle &= hints::is_idle(&habit.0);
        if take_out(command, &mut left, &habit.0) {
            // Whatever else is wrong is told when these are gone.
            let again = command.try_get_matches_from_mut(&left).err();
            next = again.as_ref().and_then(|error| unknown_habit(error, command, words));
            is_idle &= next.is_some() || again.is_none();
        } else {
            is_idle = false;
        }
        if !habits.contains(&habit) {
            habits.push(habit);
        }
    }
    let mut lines = match &habits[..] {
        [(_, hint)] => vec![StyledStr::from(hint.clone())],
        all => all.iter().map(|(flag, hint)| StyledStr::from(format!("{flag}: {hint}"))).collect(),
    };
    if is_idle {
        lines.push(StyledStr::from(format!("the same without: {}", typed(&left))));
    }
    let flags: Vec<String> = habits.into_iter().map(|(flag, _)| flag).collect();
    error.insert(ContextKind::InvalidArg, ContextValue::String(flags.join("', '")));
    // Instead of clap's own guess, which is the flag that is spelled most alike.
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(lines));
}

/// The flag that this error is about, with its answer, if there is one.
fn unknown_habit(error: &Error, command: &Command, words: &[OsString]) -> Option<(String, String)> {
    let about = error.get(ContextKind::InvalidArg).filter(|_| error.kind() == ErrorKind::UnknownArgument);
    let Some(ContextValue::String(flag)) = about else { return None };
    hints::answer(typed_command(command, words), flag).map(|hint| (flag.clone(), hint))
}

/// The command that was typed, down to one of the lab.
fn typed_command<'a>(command: &'a Command, words: &[OsString]) -> &'a Command {
    let mut names = words.iter().skip(1);
    let mut found = command;
    while let Some(below) = names.next().and_then(|name| found.find_subcommand(name)) {
        found = below;
    }
    found
}

/// scp's -P is followed by a port.
fn names_a_port(words: &[OsString]) -> bool {
    words.windows(2).any(|pair| match (pair[0].to_str(), pair[1].to_str()) {
        (Some(flag), Some(port)) => {
            flag.starts_with('-') && flag.ends_with('P') && port.parse::<u16>().is_ok()
        }
        _ => false,
    })
}

/// Takes a flag out of what was typed; `false` where it is not found.
fn take_out(command: &Command, words: &mut Vec<OsString>, flag: &str) -> bool {
    let name = words.get(1).and_then(|word| word.to_str());
    let command = name.and_then(|name| command.find_subcommand(name)).unwrap_or(command);
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    for number in 1..end {
        let is_value = words[number - 1].to_str().is_some_and(|before| has_value_behind(command, before));
        let Some(word) = words[number].to_str().filter(|_| !is_value) else { continue };
        let rest = match flag.strip_prefix("--") {
            Some(_) => (word.split('=').next() == Some(flag)).then(String::new),
            None => flag.chars().nth(1).and_then(|letter| without_letter(word, letter)),
        };
        if let Some(rest) = rest {
            if rest.is_empty() {
                words.remove(number);
            } else {
                words[number] = rest.into();
            }
            return true;
        }
    }
    false
}

/// The flag or flags of a word without one of its letters; nothing where it is the only one.
fn without_letter(word: &str, letter: char) -> Option<String> {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let flags = &letters[..letters.find(['e', '=']).unwrap_or(letters.len())];
    let at = flags.find(letter)?;
    let left = format!("{}{}", &letters[..at], &letters[at + letter.len_utf8()..]);
    Some(if left.is_empty() { left } else { format!("-{left}") })
}

/// A command as it can be typed.
fn typed(words: &[OsString]) -> String {
    let words: Vec<String> = words.iter().skip(1).map(|word| datapump::shell_word(word.as_bytes())).collect();
    format!("pump {}", words.join(" "))
}
