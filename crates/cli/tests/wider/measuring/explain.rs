//! The verdict's bench: one limit of a copy at a time, and real. `pump copy` and `pump explain` must name that limit and
//! its host, the advice must be the right one, and the same copy with what is advised shows whether it helps. Prints
//! what was named, and what helped.
//!
//! `DATAPUMP_ROUNDS=3` makes that many rounds, each in an order of its own; `DATAPUMP_CASE=path` makes only those cases
//! that have the word, `DATAPUMP_ONE_CASE_IN=3` every third one. A full run is made in parts by one `DATAPUMP_SEED`, with
//! `DATAPUMP_MINUTES` and, for the next part, with the number of runs made as `DATAPUMP_SKIP`.

mod cases;
mod disks;
mod hosts;
mod paths;
mod programs;
mod scene;

use crate::wider_parts::limits::{LimitRun, LimitTruth, advised_flag, judge_limits};
use cases::LimitCase;
use scene::{Bench, LimitState};

/// A full run makes so many of each command, in whole rounds.
const RUNS_OF_A_FULL_RUN: usize = 300;

/// One run of a case; `None` where its limit cannot be set here, an error where a copy failed.
fn run(bench: &Bench, case: &LimitCase) -> Result<Option<LimitRun>, String> {
    let Some(limited) = (case.limit)(bench, case.way, LimitState::On) else { return Ok(None) };
    let explain = bench.run(&limited, case, "explain", &[])?;
    let copy = bench.run(&limited, case, "copy", &[])?;
    // A flag is to help while the limit stays; all else that is advised is to take the limit away.
    let cured = match advised_flag(&explain) {
        Some(flag) => bench.run(&limited, case, "copy", &flag)?,
        None => {
            drop(limited);
            let Some(free) = (case.limit)(bench, case.way, LimitState::Off) else { return Ok(None) };
            bench.run(&free, case, "copy", &[])?
        }
    };
    Ok(Some(LimitRun::new(explain, copy, &cured)))
}

#[test]
fn the_limit_that_is_set_is_the_limit_that_is_named() {
    let (bench, cases) = (Bench::new(), cases::all());
    let truths: Vec<&LimitTruth> = cases.iter().map(|case| &case.truth).collect();
    judge_limits(&truths, RUNS_OF_A_FULL_RUN, &|at| run(&bench, &cases[at]));
}
