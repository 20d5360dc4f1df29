//! The binary `pump`: arguments in, progress and words out. Moving is the library's part (`datapump`), measuring the
//! lab's (`datapump-lab`).

#![forbid(unsafe_code)]

mod args;
mod commands;
mod output;
mod run;

use std::io::{ErrorKind, Write, stderr, stdout};

use args::Command;
use commands::{copy, demo, doctor, explain, generate, hash, lab, serve, verify};
use output::json;
use run::{first_thread, guard};

/// musl's allocator has one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    // Before any thread, and before anything random: libraries would start none, or panic.
    if let Err(refused) = datapump_engine::os::linux::help_libraries() {
        let words = std::io::Error::from_raw_os_error(refused.errno.0);
        let _ = writeln!(stderr(), "pump: a sandbox refuses {}(2), which pump needs: {words}", refused.call);
        if refused.call == "getrandom" {
            signal_hook::low_level::exit(datapump::Status::Failed as i32);
        }
    }
    first_thread::perform_beside(read_perform_and_end);
}

/// Ends the process from the thread of the command: nothing is taken down that the kernel takes down anyway.
fn read_perform_and_end() -> ! {
    let status = read_and_perform();
    // Standard output is written by here, or its failure told; what is left is a line that has no end.
    let _ = stdout().flush();
    // No destructors: threads that still dial would find the cryptographic library's locks gone, and abort.
    signal_hook::low_level::exit(one_byte(status))
}

fn read_and_perform() -> i32 {
    guard::quiet_panics(false);
    let words: Vec<_> = std::env::args_os().collect();
    let json = words.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    match args::help::asked(&words) {
        Some(Ok(text)) => return output::Output::of_results(false).only(&text),
        Some(Err(message)) => return output::Output::of_results(json).usage(message),
        None => {}
    }
    match args::read(words) {
        Ok(command) => {
            guard::quiet_panics(command.json());
            perform(&command)
        }
        Err(error) => {
            let printed = error.print();
            if json && error.use_stderr() {
                refuse_in_json(&error.to_string());
            }
            // Help into a closed pipe is no failure, and a closed standard error can be told nothing.
            match printed {
                Err(unwritten) if !error.use_stderr() && unwritten.kind() != ErrorKind::BrokenPipe => {
                    unprinted(&unwritten)
                }
                _ => error.exit_code(),
            }
        }
    }
}

/// Help that did not reach its reader.
fn unprinted(error: &std::io::Error) -> i32 {
    let _ = writeln!(stderr(), "pump: write to standard output: {error}");
    datapump::Status::Failed as i32
}

fn perform(command: &Command) -> i32 {
    match command {
        Command::Copy(arguments) => copy::copy(arguments),
        Command::Mirror(arguments) => copy::mirror(arguments),
        Command::Serve(arguments) => serve::serve(arguments),
        Command::Verify(arguments) => verify::verify(arguments),
        Command::Hash(arguments) => hash::hash(arguments),
        Command::Explain(arguments) => explain::explain(arguments),
        Command::Doctor(arguments) => doctor::doctor(arguments),
        Command::Demo(arguments) => demo::demo(arguments),
        Command::Lab(arguments) => lab::lab(&arguments.command),
        Command::Completions(arguments) => generate::completions(arguments),
        Command::Man(arguments) => generate::man(arguments),
    }
}

/// A reader of JSON gets a report at the end, also for words that mean nothing; they stand on standard error too.
fn refuse_in_json(words: &str) {
    let message = words.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let output = output::Output::of_results(true);
    output.result(&json::problem(&datapump::Problem::usage(message)));
    let report = output::empty_report(datapump::Status::Usage as i32, Some(datapump::Class::Usage));
    output.result(&json::report(&report, None));
}

/// Statuses of the contract fit a byte; anything else would be a failure.
fn one_byte(status: i32) -> i32 {
    u8::try_from(status).unwrap_or(1).into()
}
