//! `pump completions` and `pump man`: printed from the one list of flags.
//!
//! Must not know: single flags.

mod differences;
mod file_names;
mod sections;

use std::io;

use clap::Command;
use clap_complete::{Generator, Shell};
use clap_mangen::Man;

use crate::args::{CompletionsArguments, ManArguments, STATUSES, command};
use crate::commands::generate::file_names::with_file_names;
use crate::output::Output;

/// Prints the completions for a shell.
pub fn completions(arguments: &CompletionsArguments) -> i32 {
    let output = Output::of_results(false);
    let mut command = command();
    command.set_bin_name("pump");
    command.build();
    let mut text = Vec::new();
    // Into memory: clap_complete panics when a write fails.
    if let Err(error) = arguments.shell.try_generate(&command, &mut text) {
        output.line(&format!("pump: completions: {error}"));
        return 1;
    }
    if arguments.shell == Shell::Bash {
        text = with_file_names(&String::from_utf8_lossy(&text), &command).into_bytes();
    }
    output.bytes(&text);
    output.status(0)
}

/// Prints a manual page.
pub fn man(arguments: &ManArguments) -> i32 {
    let output = Output::of_results(false);
    let mut root = command();
    root.build();
    let words = arguments.path.iter().flat_map(|word| word.split_whitespace());
    let mut found = &root;
    for word in words {
        match found.find_subcommand(word) {
            Some(below) => found = below,
            None => return output.usage(format!("no manual page for '{}'", arguments.path.join(" "))),
        }
    }
    match page(found, &root) {
        Ok(page) => output.bytes(&page),
        Err(error) => {
            output.line(&format!("pump: man: {error}"));
            return 1;
        }
    }
    output.status(0)
}

/// A page in the order of man-pages(7): what clap has of it, then the sections behind its options.
fn page(command: &Command, root: &Command) -> io::Result<Vec<u8>> {
    let source = concat!("pump ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).source(source).manual("Datapump");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    page.extend(sections::page_sections(command, root, STATUSES));
    Ok(page)
}
