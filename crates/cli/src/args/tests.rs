//! The list of flags is complete: help, heading, example and environment variable; and it has what the contract says.

use clap::{Arg, Command};

use crate::args::command;

/// Flags that give up a safety must be typed each time; the first two are habits, the last is for programs only.
const WITHOUT_VARIABLE: [&str; 11] = [
    "archive",
    "recursive",
    "chmod",
    "chown",
    "delete",
    "delete-excluded",
    "max-delete",
    "inplace",
    "insecure",
    "remove-source-files",
    "stdio",
];

/// Every command with its arguments, clap's own left out.
fn each_argument(check: &mut dyn FnMut(&str, &Arg)) {
    fn walk(command: &Command, check: &mut dyn FnMut(&str, &Arg)) {
        let ours = |argument: &&Arg| !["help", "version"].contains(&argument.get_id().as_str());
        command.get_arguments().filter(ours).for_each(|argument| check(command.get_name(), argument));
        command.get_subcommands().for_each(|below| walk(below, check));
    }
    walk(&command(), check);
}

fn text(argument: &Arg) -> String {
    argument.get_long_help().or(argument.get_help()).map(|help| help.to_string()).unwrap_or_default()
}

#[test]
fn clap_finds_no_contradiction() {
    command().debug_assert();
}

#[test]
fn the_program_says_what_it_does() {
    let about = command().get_about().map(ToString::to_string).unwrap_or_default();
    assert!(about.starts_with("Moves data between disks"), "{about}");
}

#[test]
fn every_argument_has_help_and_a_heading() {
    each_argument(&mut |command, argument| {
        let name = argument.get_id();
        assert!(!text(argument).is_empty(), "pump {command}: {name} has no help");
        let heading = argument.get_help_heading().unwrap_or_default();
        assert!(
            ["What", "Folders", "How", "Other hosts", "Output", "Tuning"].contains(&heading),
            "pump {command}: {name} has heading {heading:?}"
        );
    });
}

#[test]
fn every_flag_has_an_example_and_a_default() {
    each_argument(&mut |command, argument| {
        if let Some(flag) = argument.get_long() {
            let text = text(argument);
            assert!(text.contains("Example: pump "), "pump {command} --{flag}: no example");
            assert!(text.contains(&format!("--{flag}")) || short_is_in(argument, &text), "--{flag}: {text}");
            assert!(text.contains("Default: "), "pump {command} --{flag}: no default");
        }
    });
}

fn short_is_in(argument: &Arg, text: &str) -> bool {
    argument.get_short().is_some_and(|short| text.contains(&format!(" -{short} ")))
}

#[test]
fn every_flag_has_its_environment_variable() {
    each_argument(&mut |command, argument| {
        let Some(flag) = argument.get_long() else { return };
        let variable = argument.get_env().map(|name| name.to_string_lossy().into_owned());
        let expected = format!("PUMP_{}", flag.to_uppercase().replace('-', "_"));
        // A client's names a file that is read: no server writes over it.
        let is_without = WITHOUT_VARIABLE.contains(&flag) || (command, flag) == ("serve", "ticket-file");
        let expected = (!is_without).then_some(expected);
        assert_eq!(variable, expected, "pump {command} --{flag}");
    });
    let words = "except flags that give up a safety and\n--ticket-file of serve (PUMP_TICKET_FILE";
    assert!(super::STATUSES.contains(words), "{}", super::STATUSES);
}

#[test]
fn the_commands_and_flags_of_the_contract_exist() {
    for (path, flags) in [
        (
            "copy",
            "-n --dry-run -v --verbose -q --quiet --progress --json --request-size --depth --source-depth \
             --sink-depth --lanes --engine --wait --direct --reflink --sync --verify --bwlimit --inplace -T \
             --no-target-directory --devices --sparse",
        ),
        ("mirror", "-n -i --exclude --max-delete --size-only --modify-window --link-dest --json"),
        ("verify", "--content-only --json"),
        ("hash", "--json"),
        ("doctor", "--json"),
        ("demo", ""),
        ("lab list", ""),
        ("lab show", ""),
        ("lab run", "--set --repeats --quick --seed --out --folder --json"),
        ("lab view", "--json"),
        ("lab fit", "--model --json"),
        ("lab predict", "--parts --chain --request-size --pipeline --golden --json"),
        ("lab tcp-watch", "--out --for --json"),
        ("explain", "--pid --for --json"),
        (
            "lab access",
            "--interface --pattern --touch --operation --page --part --pages --depth --sync --seed --latencies --json",
        ),
        ("lab scrub", "--size --seed --write --json"),
        ("lab simulate depths", "--table --json"),
        ("completions", ""),
        ("man", ""),
    ] {
        let root = command();
        let found = path.split(' ').fold(&root, |command, name| {
            command.find_subcommand(name).unwrap_or_else(|| panic!("no command {path}"))
        });
        for flag in flags.split_whitespace() {
            let same = |argument: &&Arg| {
                argument.get_long().is_some_and(|long| format!("--{long}") == flag)
                    || argument.get_short().is_some_and(|short| format!("-{short}") == flag)
            };
            assert!(found.get_arguments().any(|argument| same(&argument)), "pump {path} has no {flag}");
        }
    }
}

#[test]
fn no_flag_of_other_tools_is_both_ours_and_a_habit() {
    each_argument(&mut |command, argument| {
        // The lab's commands have letters of their own.
        if !["copy", "mirror", "verify", "hash", "explain", "doctor", "serve"].contains(&command) {
            return;
        }
        let long = argument.get_long().map(|long| format!("--{long}"));
        let short = argument.get_short().map(|short| format!("-{short}"));
        let others = argument.get_all_aliases().unwrap_or_default();
        let others = others.into_iter().map(|name| format!("--{name}"));
        let letters = argument.get_all_short_aliases().unwrap_or_default().into_iter();
        let letters = letters.map(|letter| format!("-{letter}"));
        for flag in [long, short].into_iter().flatten().chain(others).chain(letters) {
            assert_eq!(super::hints::hint(&flag), None, "{flag}");
        }
    });
}
