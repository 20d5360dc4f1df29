//! `pump completions` and `pump man`: printed from the one list of flags.
//!
//! Must not know: single flags.

use clap_complete::Generator;
use clap_mangen::Man;

use crate::args::{CompletionsArguments, ManArguments, command};
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
    let mut page = Vec::new();
    let source = concat!("pump ", env!("CARGO_PKG_VERSION"));
    match Man::new(found.clone()).source(source).manual("Datapump").render(&mut page) {
        Ok(()) => output.bytes(&page),
        Err(error) => {
            output.line(&format!("pump: man: {error}"));
            return 1;
        }
    }
    output.status(0)
}
