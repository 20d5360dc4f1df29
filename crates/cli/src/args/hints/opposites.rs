//! The opposite of a flag: `--no-X` where a command has --X, and `--X` where it has --no-X.
//!
//! Must not know: flags of other tools.

use clap::{Arg, Command};

/// In front of the name of what is switched off.
const NO: &str = "no-";

/// What a mirror does anyway.
const OF_EACH_MIRROR: [&str; 2] = ["delete", "update"];

/// The answer to the opposite of a flag that this command has.
pub(super) fn answer(command: &Command, flag: &str) -> Option<String> {
    let name = flag.strip_prefix("--")?;
    let name = name.split('=').next().unwrap_or(name);
    let find = |name: &str| command.get_arguments().find(|argument| has_name(argument, name));
    let Some(positive) = name.strip_prefix(NO) else {
        return find(&format!("{NO}{name}"))
            .map(|_| format!("this is on unless --{NO}{name} is given; leave --{name} out"));
    };
    let dashes = if positive.chars().count() == 1 { "-" } else { "--" };
    find(positive).map(|argument| without(command, argument, &format!("{dashes}{positive}"), positive))
}

fn has_name(argument: &Arg, name: &str) -> bool {
    let others = argument.get_all_aliases().unwrap_or_default();
    let is_letter = argument.get_short().is_some_and(|letter| name.strip_prefix(letter) == Some(""));
    argument.get_long() == Some(name) || others.contains(&name) || is_letter
}

/// How a command does without a flag.
fn without(command: &Command, argument: &Arg, shown: &str, name: &str) -> String {
    let id = argument.get_id().as_str();
    if command.get_name() == "mirror" && OF_EACH_MIRROR.contains(&id) {
        return format!("{shown} is part of each mirror; pump copy does it only when {shown} is given");
    }
    let values = argument.get_possible_values();
    let takes = |word: &str| values.iter().any(|value| value.get_name() == word);
    let long = argument.get_long().unwrap_or(name);
    if takes("never") {
        return format!("write --{long}=never");
    }
    if id == "sync" && takes("none") {
        return format!("write --{long}=none");
    }
    let needs_value = argument.get_action().takes_values()
        && argument.get_num_args().is_none_or(|count| count.min_values() > 0);
    let variable = argument.get_env().filter(|name| std::env::var_os(name).is_some());
    match variable {
        Some(variable) => {
            format!("the environment variable {} sets {shown}; unset it", variable.to_string_lossy())
        }
        None if needs_value => format!("{shown} has its default unless it is given; leave --{NO}{name} out"),
        None => format!("{shown} is off unless it is given; leave --{NO}{name} out"),
    }
}
