//! `pump lab access`: one pass through a file.
//!
//! Must not know: how it is made.

use datapump::Status;
use datapump_lab::access::{AccessArguments, Accessed, access as pass};

use super::shown_lines;
use crate::args::LabAccessArguments;
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::json;
use crate::run::signals::stop_flag;

/// Makes the pass. Gives the exit status.
pub fn access(arguments: &LabAccessArguments, output: &Output) -> i32 {
    let asked = AccessArguments {
        file: arguments.file.clone(),
        interface: arguments.interface,
        pattern: arguments.pattern,
        touch: arguments.touch,
        operation: arguments.operation,
        page_bytes: arguments.page,
        part: arguments.part,
        pages_max: arguments.pages.unwrap_or(u64::MAX),
        latencies: arguments.latencies,
        depth: arguments.depth,
        sync: arguments.sync,
        seed: arguments.seed,
        stop: stop_flag().unwrap_or_default(),
    };
    match pass(&asked) {
        Ok(done) => print(&done, output),
        Err(problem) => output.refusal(&problem),
    }
}

fn print(done: &Accessed, output: &Output) -> i32 {
    done.problems.iter().for_each(|problem| output.problem(problem));
    let status = done.report.exit_status;
    match (output.json, status == Status::Done as i32) {
        (true, is_done) => {
            is_done.then(|| output.result(&json::line(&EventLine::Access(done))));
            output.result(&json::report(&done.report, None));
        }
        (false, true) => output.bytes(shown_lines(&done.to_string()).as_bytes()),
        (false, false) => {}
    }
    status
}
