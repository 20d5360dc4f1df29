//! Chores of the repository: `cargo xtask wider [--full]`, `fuzz-build`, `mutants [NAME | --check | --statements]`, `package`,
//! `time-left`, `statements`, `rooms` and `size`.
//!
//! Must not know: how pump works, beyond the texts that the planted bugs replace.
#![forbid(unsafe_code)]

mod before;
mod install;
mod mutants;
mod package;
mod rooms;
mod size;
mod statements;
mod steps;
mod time_left;
mod wider;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
cargo xtask wider [--full]    the suites that need root, loop mounts, Debian packages, other targets or minutes;
                              --full: a million simulated copies, 200 kills, 20 rounds of the truth tests, 600 s a
                              fuzz target, kept in bench/soak
cargo xtask fuzz-build        builds the fuzz targets, which `wider` does otherwise
cargo xtask mutants [NAME]    plants each known bug (or one) in a copy of the tree and shows which test catches it
cargo xtask mutants S7 S9…    makes statements false, as docs/statements.toml says, and shows that their tests fail;
                              --statements: all that have a mutation
cargo xtask mutants --check   only looks whether every mutant still has its place
cargo xtask package           builds a static program, a Debian package and checksums under target/packages
cargo xtask time-left         records fifty copies for the judge of the time left: bench/time-left.ndjson, 30 minutes
cargo xtask statements        writes docs/statements.md from docs/statements.toml
cargo xtask rooms             writes docs/rooms.md from the headers of the modules
cargo xtask size              prints the code lines of each crate outside tests, and how often a few habits occur";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["wider"] => wider::run(&root(), false),
        ["wider", "--full"] => wider::run(&root(), true),
        ["fuzz-build"] => wider::build_fuzz_targets(&root()),
        ["mutants"] => mutants::run(&root(), None),
        ["mutants", "--check"] => mutants::check(&root()),
        ["mutants", "--statements"] => mutants::run_statements(&root(), &[]),
        ["mutants", ref ids @ ..] if !ids.is_empty() && ids.iter().all(|id| statements::is_id(id)) => {
            mutants::run_statements(&root(), ids)
        }
        ["mutants", name] => mutants::run(&root(), Some(name)),
        ["package"] => package::run(&root()),
        ["time-left"] => time_left::record(&root()),
        ["statements"] => statements::write(&root()),
        ["rooms"] => rooms::write(&root()),
        ["size"] => size::print(&root()),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => bail!("which chore?\n{USAGE}"),
    }
}

/// The root of the tree.
fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().expect("xtask lies in the root").to_path_buf()
}
