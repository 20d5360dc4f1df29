//! `pump lab memory`: the bandwidth of memory.
//!
//! Must not know: how it is measured.

use datapump_lab::memory::{MemoryArguments, MemoryCopied, copy_memory};

use super::shown_lines;
use crate::args::LabMemoryArguments;
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::json;
use crate::run::signals::stop_flag;

/// Copies. Gives the exit status.
pub fn memory(arguments: &LabMemoryArguments, output: &Output) -> i32 {
    let stop = stop_flag().unwrap_or_default();
    let LabMemoryArguments { size: area_bytes, threads, passes, .. } = *arguments;
    match copy_memory(&MemoryArguments { area_bytes, threads, passes, stop: &stop }) {
        Ok(done) => print(&done, output),
        Err(problem) => output.refusal(&problem),
    }
}

fn print(done: &MemoryCopied, output: &Output) -> i32 {
    if output.json {
        output.result(&json::line(&EventLine::Memory(done)));
        output.result(&json::report(&done.report, None));
    } else {
        output.bytes(shown_lines(&done.to_string()).as_bytes());
    }
    done.report.exit_status
}
