//! Words of rsync, written as pump has them: an h among letters, bundles that neither cp nor scp can read, and
//! `--timeout` in seconds.
//!
//! Must not know: what the flags do.

use std::ffi::OsString;

use clap::{Arg, Command};

/// Letters of a program: those without a value, and those that have one.
struct Letters {
    plain: &'static str,
    with_value: &'static str,
}

const CP: Letters = Letters { plain: "abdfHiLlnPpRrsTuvxZ", with_value: "St" };
const SCP: Letters = Letters { plain: "346ABCOpqRrsTv", with_value: "cDFiJloPSX" };
/// Letters of rsync without a value. Its -d is missing: with pump that is cp's.
const RSYNC: &str = "0AacDEFgHhIiJKkLlmNnOoPpqRrSstUuvWXxyz";
/// The kinds of filter rules: rsync(1), FILTER RULES.
const RULES: [&str; 18] = [
    "+",
    "-",
    ".",
    ":",
    "P",
    "H",
    "S",
    "R",
    "!",
    "include",
    "exclude",
    "merge",
    "dir-merge",
    "hide",
    "show",
    "protect",
    "risk",
    "clear",
];
/// Letters that rsync takes more than once.
const REPEATED: &str = "hvx";

/// The words, those of rsync in flags of this program.
pub(super) fn in_own_flags(command: &Command, words: Vec<OsString>) -> Vec<OsString> {
    let Some(command) = words.get(1).and_then(|name| command.find_subcommand(name)) else { return words };
    let copies = ["copy", "mirror"].contains(&command.get_name());
    let has_timeout = command.get_arguments().any(|argument| argument.get_long() == Some("peer-timeout"));
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (mut own, mut is_seconds) = (words[..2].to_vec(), false);
    for (number, word) in words.iter().enumerate().take(end).skip(2) {
        let is_value = words[number - 1].to_str().is_some_and(|before| has_value_behind(command, before));
        let text = word.to_str().unwrap_or_default();
        match text.strip_prefix("--timeout").filter(|_| has_timeout && !is_value && !is_seconds) {
            _ if std::mem::take(&mut is_seconds) => own.push(in_seconds(text).into()),
            Some("") => {
                is_seconds = true;
                own.push("--peer-timeout".into());
            }
            Some(rest) if rest.starts_with('=') => {
                own.push(format!("--peer-timeout={}", in_seconds(&rest[1..])).into());
            }
            _ => match in_own_letters(text).filter(|_| copies && !is_value) {
                Some(flags) => own.extend(flags.into_iter().map(OsString::from)),
                None => own.push(word.clone()),
            },
        }
    }
    own.extend_from_slice(&words[end..]);
    own
}

/// A rule behind rsync's -f, which it would be a source behind cp's -f: the sources would be copied without the rule.
pub(super) fn filter_behind_letter(words: &[OsString]) -> Option<&OsString> {
    let copies = words.get(1).is_some_and(|name| name == "copy" || name == "mirror");
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let is_letter = |word: &OsString| {
        let letters = word.to_str().and_then(|word| word.strip_prefix('-'));
        letters.is_some_and(|letters| letters.ends_with('f') && letters.chars().all(char::is_alphanumeric))
    };
    let is_rule = |word: &OsString| {
        let (kind, rest) = word.to_str().unwrap_or_default().split_once([' ', '_']).unwrap_or_default();
        let kind = kind.split(',').next().unwrap_or_default();
        RULES.contains(&kind) && !rest.is_empty() && std::path::Path::new(word).symlink_metadata().is_err()
    };
    let mut pairs = words[..end].windows(2).filter(|_| copies);
    pairs.find(|pair| is_letter(&pair[0]) && is_rule(&pair[1])).map(|pair| &pair[1])
}

/// A number alone is one of seconds.
fn in_seconds(value: &str) -> String {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    format!("{value}{}", if is_number { "s" } else { "" })
}

/// Whether the next word is the value of this one: what is excluded may begin with a dash.
pub(super) fn has_value_behind(command: &Command, word: &str) -> bool {
    let takes = |argument: &&Arg| argument.get_action().takes_values() && !argument.is_require_equals_set();
    let mut takers = command.get_arguments().filter(takes);
    match (word.strip_prefix("--"), word.strip_prefix('-')) {
        (Some(name), _) => takers.any(|argument| {
            let others = argument.get_all_aliases().unwrap_or_default();
            argument.get_long() == Some(name) || others.contains(&name)
        }),
        (None, Some(letters)) => letters.ends_with('e'),
        (None, None) => false,
    }
}

/// The flags that several letters stand for; `None` where they are pump's own. A value follows the letter e, and =.
///
/// Without h, of which rsync takes two: help that is printed instead, with status 0, is a backup that nobody made. A
/// `-h` alone is help.
fn in_own_letters(word: &str) -> Option<Vec<String>> {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.len() > 1)?;
    let (bundle, value) = letters.split_at(letters.find(['e', '=']).unwrap_or(letters.len()));
    if bundle.is_empty() || !bundle.chars().all(char::is_alphanumeric) {
        return None;
    }
    let is_rsync = !value.starts_with('=') && is_of_rsync(bundle);
    let own = bundle.chars().filter(|letter| *letter != 'h' && !(is_rsync && *letter == 'P'));
    let own: String = own.map(|letter| if is_rsync { own_letter(letter, bundle) } else { letter }).collect();
    let progress = (is_rsync && bundle.contains('P')).then(|| "--progress=always".to_owned());
    let letters = Some(format!("-{own}{value}")).filter(|letters| letters != "-");
    Some(progress.into_iter().chain(letters).collect())
}

/// Whether only rsync can have been meant: neither cp nor scp can read the bundle, or cp reads the same. Its -P beside
/// -a says what -a says.
fn is_of_rsync(bundle: &str) -> bool {
    let is_once = |letter| REPEATED.contains(letter) || bundle.matches(letter).count() == 1;
    let is_same = bundle.contains('a') && !bundle.contains(['l', 't']);
    bundle.chars().all(|letter| RSYNC.contains(letter) && is_once(letter))
        && (is_same || !can_read(CP, bundle))
        && !can_read(SCP, bundle)
}

/// Whether a program of these letters can read a bundle: a value is the next word, or all that is behind the first letter.
fn can_read(letters: Letters, bundle: &str) -> bool {
    let Letters { plain, with_value } = letters;
    let last = bundle.len() - 1;
    let reads = |(at, letter)| plain.contains(letter) || (at == last && with_value.contains(letter));
    bundle.starts_with(|letter| with_value.contains(letter)) || bundle.char_indices().all(reads)
}

/// The letter of pump that does what this one of rsync does in a bundle: those that every copy does are -p.
fn own_letter(letter: char, bundle: &str) -> char {
    match letter {
        'l' if bundle.contains('D') => 'a',
        'l' => 'd',
        't' | 'g' | 'o' | 'D' | 'E' => 'p',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_is_rsyncs_where_cp_and_scp_cannot_have_been_meant() {
        for (word, own) in [
            ("-rlptgoD", "-rappppp"),
            ("-rlptz", "-rdppz"),
            ("-rltv", "-rdpv"),
            ("-rptgoD", "-rppppp"),
            ("-avP", "--progress=always -av"),
            ("-aP", "--progress=always -a"),
            ("-avzP", "--progress=always -avz"),
            ("-avPe", "--progress=always -ave"),
            ("-rtvP", "--progress=always -rpv"),
            ("-avhP", "--progress=always -av"),
            ("-vtr", "-vpr"),
            ("-goD", "-ppp"),
            ("-avh", "-av"),
            ("-hh", ""),
            ("-avh0u=differs", "-av0u=differs"),
        ] {
            assert_eq!(in_own_letters(word).map(|flags| flags.join(" ")).as_deref(), Some(own), "{word}");
        }
        // cp's hard links and its folder first, scp's port, limit, option and program; letters alone.
        for word in [
            "-al", "-avl", "-rl", "-rlv", "-at", "-rt", "-rlt", "-tv", "-tdata", "-rtvar", "-rP", "-vrP",
            "-pP", "-P22", "-l100", "-ro", "-rD", "-oPort", "-avP=x", "-dltgo",
        ] {
            let own = in_own_letters(word).map(|flags| flags.join(" "));
            assert_eq!(own.as_deref(), Some(word), "{word}");
        }
        for word in ["-l", "-t", "-P", "-h", "--times", "-", "words", "-e", "-=x", "-a.b"] {
            assert_eq!(in_own_letters(word), None, "{word}");
        }
    }

    #[test]
    fn seconds_are_those_of_timeout() {
        let command = crate::args::command();
        let own = |line: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            let own = in_own_flags(&command, words);
            own.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        for (line, expected) in [
            ("pump copy --timeout=60 a b", "pump copy --peer-timeout=60s a b"),
            ("pump mirror a --timeout 60 b", "pump mirror a --peer-timeout 60s b"),
            ("pump verify --timeout=5s a b", "pump verify --peer-timeout=5s a b"),
            ("pump copy --exclude --timeout 60 b", "pump copy --exclude --timeout 60 b"),
            ("pump copy a -- --timeout=60", "pump copy a -- --timeout=60"),
            ("pump copy --timeouts=60 a b", "pump copy --timeouts=60 a b"),
            ("pump copy --exclude -avP -avP b", "pump copy --exclude -avP --progress=always -av b"),
            ("pump hash -avP --timeout=60", "pump hash -avP --timeout=60"),
        ] {
            assert_eq!(own(line), expected);
        }
    }
}
