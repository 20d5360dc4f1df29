//! The command line as users type it.

mod arguments;
mod fingers;
pub mod habits;
mod opposites;
mod prompts;
