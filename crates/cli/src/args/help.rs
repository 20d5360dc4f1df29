//! Help in pieces: an opening with examples and the flags that matter, and the rest a group at a time.
//!
//! clap prints all of a command at once, which for `pump copy` is eight hundred lines.
//!
//! Must not know: what single flags mean.

use std::ffi::OsString;

use clap::Command;

use crate::args::net::HOSTS;
use crate::args::{HOW, OUTPUT, TREES, TUNING, WHAT, command};

/// The word for a group, its heading, and what is in it.
const GROUPS: [(&str, &str, &str); 6] = [
    ("what", WHAT, "what is copied, where it goes, what is only shown"),
    ("folders", TREES, "which names of a folder, what is left alone, what is removed"),
    ("how", HOW, "what is promised: syncs, read-back, holes, in place, resume"),
    ("network", HOSTS, "ssh, tickets, encryption, connections, buffers"),
    ("output", OUTPUT, "what is printed: progress, JSON, reports, traces"),
    ("tuning", TUNING, "what changes speed and nothing else"),
];

/// The flags that most people need.
const OPENING: [&str; 12] = [
    "dry_run",
    "itemize_changes",
    "update",
    "delete",
    "exclude",
    "checksum",
    "verify",
    "sync",
    "bwlimit",
    "verbose",
    "quiet",
    "json",
];

/// The help that these words ask for, or why there is none; nothing where clap's own help is meant, or none.
pub fn asked(words: &[OsString]) -> Option<Result<String, String>> {
    let words: Vec<&str> = words.iter().skip(1).map_while(|word| word.to_str()).collect();
    let before = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    match words[..before] {
        ["help", "topics"] => Some(Ok(topics())),
        ["help", name @ ("copy" | "mirror")] => Some(Ok(opening(name))),
        [name @ ("copy" | "mirror"), ref flags @ ..] => flags.iter().find_map(|flag| of_flag(name, flag)),
        _ => None,
    }
}

fn of_flag(name: &str, flag: &str) -> Option<Result<String, String>> {
    match flag.strip_prefix("--help=") {
        _ if ["-h", "--help"].contains(&flag) => Some(Ok(opening(name))),
        Some("all") => Some(Ok(built_command(name).render_long_help().to_string())),
        Some(word) => Some(match GROUPS.iter().find(|(group, ..)| *group == word) {
            Some((_, heading, _)) => Ok(group(name, heading)),
            None => Err(format!(
                "there is no help on '{word}'; write --help={}, or --help=all",
                words_of_groups()
            )),
        }),
        None => None,
    }
}

fn words_of_groups() -> String {
    GROUPS.map(|(group, ..)| group).join("|")
}

fn group_lines(name: &str) -> String {
    GROUPS.iter().map(|(group, _, words)| format!("  pump {name} --help={group:<9} {words}\n")).collect()
}

/// A command by itself, as clap has it with all that it inherits.
fn built_command(name: &str) -> Command {
    let mut root = command();
    root.build();
    let found = root.find_subcommand(name).expect("a command of ours");
    found.clone()
}

/// Examples, the flags that matter, and where the rest is.
fn opening(name: &str) -> String {
    let command = built_command(name);
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (examples, statuses) = examples.split_once("\n\n").unwrap_or((&examples, ""));
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let flags = command
        .mut_args(|argument| {
            let is_shown = OPENING.contains(&argument.get_id().as_str()) && !argument.is_hide_set();
            argument.hide(!is_shown).help_heading("Flags that most people need")
        })
        .help_template("{all-args}")
        .render_help()
        .to_string();
    let more = group_lines(name);
    format!(
        "{about}\n\nUsage: pump {name} [OPTIONS] {}\n\n{examples}\n\n{}\nThe rest:\n{more}  \
         pump {name} --help=all       all of them, with an example of each; so has the manual page: pump man {name}\n\n\
         {statuses}",
        if name == "mirror" { "SRC DST" } else { "SRC… DST" },
        flags.trim_start()
    )
}

/// All flags of one heading.
fn group(name: &str, heading: &str) -> String {
    let only = built_command(name).mut_args(|argument| {
        let is_other = argument.get_help_heading() != Some(heading) || argument.is_positional();
        let hidden = is_other || argument.is_hide_set();
        argument.hide(hidden)
    });
    only.help_template("{all-args}").render_long_help().to_string()
}

/// What there is help on.
fn topics() -> String {
    let groups = group_lines("copy");
    let commands: String = command()
        .get_subcommands()
        .map(|below| {
            let about = below.get_about().map(ToString::to_string).unwrap_or_default();
            format!("  pump {:<22} {about}\n", format!("{} --help", below.get_name()))
        })
        .collect();
    format!(
        "Of a copy:\n  pump copy --help           examples, and the flags that most people need\n{groups}  \
         pump copy --help=all       all flags\n\nOf other commands:\n{commands}\nManual pages: pump man copy | man -l -"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(words: &str) -> Option<Result<String, String>> {
        asked(&["pump"].into_iter().chain(words.split(' ')).map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn help_is_short_and_leads_on() {
        for name in ["copy", "mirror"] {
            let text = help(&format!("{name} --help")).expect("help").expect("an opening");
            assert!(text.lines().count() <= 60, "{name}: {} lines", text.lines().count());
            let examples = text.lines().filter(|line| line.starts_with(&format!("  pump {name} ")));
            assert!(examples.count() >= 6, "{text}");
            for (group, ..) in GROUPS {
                assert!(text.contains(&format!("--help={group}")), "{text}");
                let group = help(&format!("{name} --help={group}")).expect("help").expect("a group");
                assert!(group.contains("Example: "), "{group}");
            }
            assert_eq!(help(&format!("help {name}")), Some(Ok(text.clone())));
            assert_eq!(help(&format!("{name} -v -h a b")), Some(Ok(text)));
        }
    }

    #[test]
    fn every_flag_is_in_one_group() {
        let all = built_command("copy");
        let groups: Vec<String> = GROUPS
            .iter()
            .map(|(group, ..)| help(&format!("copy --help={group}")).expect("help").expect("one"))
            .collect();
        for flag in all.get_arguments().filter(|flag| !flag.is_hide_set() && flag.get_id() != "help") {
            let Some(long) = flag.get_long() else { continue };
            let begins = format!("--{long}");
            let holds = |text: &&String| {
                text.lines().any(|line| {
                    line.trim_start().starts_with('-')
                        && line.len() - line.trim_start().len() < 8
                        && line.split([' ', ',', '[', '=']).any(|word| word == begins)
                })
            };
            assert_eq!(groups.iter().filter(holds).count(), 1, "--{long}");
        }
    }

    #[test]
    fn only_what_is_asked_gets_help() {
        assert_eq!(help("copy a b"), None);
        assert_eq!(help("copy -- --help b"), None);
        assert_eq!(help("verify --help"), None);
        assert!(help("copy --help=networks").expect("an answer").expect_err("no group").contains("network"));
        assert!(help("help topics").expect("help").expect("topics").contains("pump doctor --help"));
    }
}
