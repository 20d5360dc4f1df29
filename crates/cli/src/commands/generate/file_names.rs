//! File names in the completions for bash: clap_complete offers all flags in their place, and where a file is the value
//! of a flag a list without slashes and quotes.
//!
//! Must not know: single flags.

use clap::Command;

/// What clap_complete writes for a value that it knows nothing of. Where nothing is offered bash completes file names
/// itself (`complete -o default`), and puts quotes where a name needs them.
const FILES: &str = r#"COMPREPLY=($(compgen -f "${cur}"))"#;
/// The last words of a command: all its flags, whatever was typed.
const FLAGS: &str = r#"            COMPREPLY=( $(compgen -W "${opts}" -- "${cur}") )"#;
const NOTHING: &str = "COMPREPLY=()";
/// In front of the name of a command.
const BELOW: &str = "        pump__subcmd__";

/// The script, with flags where a dash was typed and file names elsewhere, of commands that take files.
pub fn with_file_names(script: &str, root: &Command) -> String {
    let (mut text, mut takes_files) = (String::with_capacity(script.len()), false);
    for line in script.lines() {
        if let Some(name) = line.strip_prefix(BELOW).and_then(|rest| rest.strip_suffix(')')) {
            takes_files = root.find_subcommand(name).is_some_and(is_about_files);
        }
        let changed = match line {
            _ if line.starts_with("            if [[ ${cur} == -* ||") && takes_files => {
                "            if [[ ${cur} == -* ]] ; then".into()
            }
            FLAGS if takes_files => format!("            {NOTHING}"),
            line => line.replace(FILES, NOTHING),
        };
        text.push_str(&changed);
        text.push('\n');
    }
    text
}

/// Whether a command has operands that are none of a list of words, nor the name of a command (`pump man`).
fn is_about_files(command: &Command) -> bool {
    command.get_positionals().any(|operand| {
        let is_command =
            operand.get_value_names().is_some_and(|names| names.iter().any(|name| name == "COMMAND"));
        operand.get_possible_values().is_empty() && !is_command
    })
}
