//! The binary `pump`: arguments in, progress and words out. Moving is the library's part (`datapump`), measuring the
//! lab's (`datapump-lab`).

#![forbid(unsafe_code)]

mod args;
mod copy;
mod demo;
mod doctor;
mod findings;
mod generate;
mod guard;
mod hash;
mod inspection;
mod json;
mod lab;
mod meter;
mod output;
mod progress;
mod run;
mod signals;
mod verify;

use std::process::ExitCode;

use args::Command;

fn main() -> ExitCode {
    guard::quiet_panics(false);
    match args::read(std::env::args_os().collect()) {
        Ok(arguments) => {
            guard::quiet_panics(arguments.command.json());
            status(perform(&arguments.command))
        }
        Err(error) => {
            // Help into a closed pipe is no failure, and a closed standard error can be told nothing.
            let _ = error.print();
            status(error.exit_code())
        }
    }
}

fn perform(command: &Command) -> i32 {
    match command {
        Command::Copy(arguments) => copy::copy(arguments),
        Command::Verify(arguments) => verify::verify(arguments),
        Command::Hash(arguments) => hash::hash(arguments),
        Command::Doctor(arguments) => doctor::doctor(arguments),
        Command::Demo(arguments) => demo::demo(arguments),
        Command::Lab(arguments) => lab::lab(&arguments.command),
        Command::Completions(arguments) => generate::completions(arguments),
        Command::Man(arguments) => generate::man(arguments),
    }
}

/// Statuses of the contract fit a byte; anything else would be a failure.
fn status(status: i32) -> ExitCode {
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}
