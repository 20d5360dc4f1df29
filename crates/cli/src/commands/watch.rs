//! `pump explain --pid`: watches a running process and says what limits it.
//!
//! Must not know: how it is watched, how the verdict is reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use datapump::{Cpu, Report, Status};
use datapump_lab::advise::pid::watched::Watched;
use datapump_lab::advise::pid::{Verdict, paragraph, verdict, watch};

use crate::args::WatchArguments;
use crate::output::events::{EventLine, WatchedLine};
use crate::output::json;
use crate::output::{Output, empty_report};
use crate::run::signals::stop_flag;

const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// Says what limits a process. Gives the exit status.
pub fn explain_process(pid: u32, arguments: &WatchArguments, output: &Output) -> i32 {
    let stop: Arc<AtomicBool> = stop_flag().unwrap_or_default();
    let watched = match watch(pid, arguments.time.unwrap_or(DEFAULT_TIME), &stop) {
        Ok(watched) => watched,
        Err(problem) => return output.refusal(&problem),
    };
    let verdict = verdict(&watched);
    let status = if stop.load(Ordering::Relaxed) { Status::Interrupted } else { Status::Done };
    if output.json {
        output.result(&json::line(&EventLine::Watched(WatchedLine { verdict: &verdict, watched: &watched })));
        output.result(&json::report(&report(&watched, &verdict, status), Some(verdict.advice)));
    } else {
        output.bytes(paragraph(&watched, &verdict).as_bytes());
    }
    status as i32
}

/// What was seen, in the form of every command's last line: the CPU time is that of the processes.
fn report(watched: &Watched, verdict: &Verdict, status: Status) -> Report {
    let sum =
        |of: fn(&datapump_lab::advise::pid::watched::Thread) -> u64| watched.threads.iter().map(of).sum();
    Report {
        elapsed_ns: watched.elapsed_ns,
        limited_by: verdict.limited_by,
        limited_detail: verdict.limited_detail.clone(),
        cpu: Cpu { user_ns: sum(|it| it.user_ns), system_ns: sum(|it| it.system_ns) },
        ..empty_report(status as i32, None)
    }
}
