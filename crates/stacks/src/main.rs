//! The binary `pump-stacks`: HighSpeed and Scalable TCP for a Linux kernel that was built without them, as long as it
//! runs. The kernel itself stays as it is: it loads them as BPF (struct_ops), and drops them when this process ends.

#![forbid(unsafe_code)]

mod kernel;
#[cfg(all(feature = "bpf-cc", target_os = "linux"))]
mod loaded;
#[cfg(not(all(feature = "bpf-cc", target_os = "linux")))]
#[path = "absent.rs"]
mod loaded;
mod until;

use std::io::{self, Write, stderr, stdout};

use clap::{Parser, ValueEnum};

/// An algorithm that can be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum LoadableStack {
    /// HighSpeed TCP (RFC 3649), by the table of its appendix B
    Highspeed,
    /// Scalable TCP: a segment for each hundred acknowledged, an eighth lost
    Scalable,
}

impl LoadableStack {
    /// The kernel's name.
    pub fn as_str(self) -> &'static str {
        match self {
            LoadableStack::Highspeed => "highspeed",
            LoadableStack::Scalable => "scalable",
        }
    }
}

/// Give this kernel HighSpeed and Scalable TCP for as long as this runs (root)
///
/// For `pump copy --congestion`, and any program that sets TCP_CONGESTION. Prints `ready`, holds them until it is ended
/// (Ctrl-C, SIGTERM), and takes them away; the kernel does so itself when this is killed. Connections that use one keep
/// it until they are closed. What the kernel has already is not loaded. Needs Linux 6.4 with its own types (BTF), and a
/// build with the feature bpf-cc.
///
/// Example: pump-stacks highspeed scalable
#[derive(Debug, Parser)]
#[command(name = "pump-stacks", version = loaded::VERSION)]
struct StacksArguments {
    /// What to load; both if none is named
    #[arg(value_name = "STACK")]
    stacks: Vec<LoadableStack>,

    /// End when the thread that started this process does, also if its process is killed
    ///
    /// Default: off.
    ///
    /// Example: pump-stacks --with-parent scalable
    #[arg(long)]
    with_parent: bool,
}

fn main() {
    let arguments = StacksArguments::parse();
    std::process::exit(match hold(&arguments) {
        Ok(()) => 0,
        Err(why) => {
            say(&why);
            1
        }
    });
}

/// Loads what is missing and holds it until it is to end.
fn hold(arguments: &StacksArguments) -> Result<(), String> {
    loaded::is_built()?;
    kernel::root_only()?;
    let ended = until::EndSignal::new(arguments.with_parent).map_err(|error| format!("signals: {error}"))?;
    let missing = missing(&arguments.stacks)?;
    let held = loaded::load(&missing)?;
    writeln!(stdout(), "ready").and_then(|()| stdout().flush()).map_err(|error| unwritten(&error))?;
    if missing.is_empty() {
        return Ok(());
    }
    ended.wait();
    held.unload();
    kernel::has_none_of(&missing)
}

/// Of those that were named, or all, what the kernel does not have; what it has is told.
fn missing(named: &[LoadableStack]) -> Result<Vec<LoadableStack>, String> {
    let mut stacks = if named.is_empty() { LoadableStack::value_variants() } else { named }.to_vec();
    stacks.sort();
    stacks.dedup();
    let available = kernel::available()?;
    let (there, missing): (Vec<_>, Vec<_>) =
        stacks.into_iter().partition(|stack| available.iter().any(|name| name == stack.as_str()));
    for stack in there {
        say(&format!("this kernel has {}: nothing is to be loaded for it", stack.as_str()));
    }
    Ok(missing)
}

fn unwritten(error: &io::Error) -> String {
    format!("write to standard output: {error}")
}

/// A closed standard error can be told nothing.
fn say(line: &str) {
    let _ = writeln!(stderr(), "pump-stacks: {line}");
}
