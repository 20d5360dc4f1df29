//! The sections of a manual page behind its options: examples, statuses, variables, files, other pages.
//!
//! Must not know: single flags.

use clap::Command;
use roff::{Roff, roman};

use super::differences::DIFFERENCES;

/// Files that a copy leaves or reads, and what they are.
const FILES: [(&str, &str); 4] = [
    (
        ".pump-job",
        "In a target folder: what a copy that was cut has committed there. The same command goes on by it, and removes \
         it.",
    ),
    (
        ".pump-0123456789abcdef",
        "A temporary file (16 digits): a target until it is whole. A later copy resumes it, or removes it. Its journal \
         may lie beside it.",
    ),
    (
        "$XDG_STATE_HOME/datapump",
        "What --tune and pump lab profile remember of this machine; $PUMP_STATE_DIR names another folder.",
    ),
    ("~/.netrc", "Logins of servers on the web; another file is named by NETRC."),
];

/// Pages that belong together, and what users compare with.
const OTHERS: &str = "cp(1), rsync(1), scp(1), ssh(1), fio(1), b3sum(1), io_uring(7)";

/// All sections of a command's page. `statuses` is the program's table, `root` the program.
pub fn page_sections(command: &Command, root: &Command, statuses: &str) -> Vec<u8> {
    let mut page = Roff::new();
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    if let Some(examples) = block(&after, "Examples:") {
        verbatim(&mut page, "EXAMPLES", &examples);
    }
    if let Some(table) = block(statuses, "Exit status:") {
        verbatim(&mut page, "EXIT STATUS", &table);
    }
    variables(&mut page, command);
    if ["copy", "mirror"].contains(&command.get_name()) {
        page.control("SH", ["DIFFERENCES FROM CP, RSYNC AND SCP"]);
        DIFFERENCES.iter().for_each(|(others, here)| entry(&mut page, others, here));
    }
    page.control("SH", ["FILES"]);
    FILES.iter().for_each(|(name, words)| entry(&mut page, name, words));
    let pages = root.get_subcommands().map(|below| format!("pump-{}(1), ", below.get_name()));
    page.control("SH", ["SEE ALSO"]).text([roman(format!("pump(1), {}{OTHERS}", pages.collect::<String>()))]);
    page.to_roff().into_bytes()
}

/// The lines below a heading of help, up to the next blank line.
fn block(help: &str, heading: &str) -> Option<String> {
    let (_, rest) = help.split_once(heading)?;
    let lines = rest.trim_start_matches('\n').lines().take_while(|line| !line.trim().is_empty());
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// Lines as they are.
fn verbatim(page: &mut Roff, heading: &str, lines: &str) {
    page.control("SH", [heading]).control("nf", []);
    lines.lines().for_each(|line| {
        page.text([roman(line)]);
    });
    page.control("fi", []);
}

fn variables(page: &mut Roff, command: &Command) {
    let flags = command.get_arguments().filter_map(|flag| Some((flag.get_env()?, flag.get_long()?)));
    let flags: Vec<_> = flags.collect();
    if flags.is_empty() {
        return;
    }
    page.control("SH", ["ENVIRONMENT"]);
    for (variable, flag) in flags {
        entry(page, &variable.to_string_lossy(), &format!("The same as --{flag}, which wins."));
    }
}

fn entry(page: &mut Roff, name: &str, words: &str) {
    page.control("TP", []).text([roman(name)]).text([roman(words)]);
}
