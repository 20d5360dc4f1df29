//! `--tune`: what the lab finds to be the best way to move bytes between the user's own ends.
//!
//! Must not know: how it is found.

use std::sync::atomic::Ordering;

use datapump::{Event, Options, Place};
use datapump_lab::advise::explain::Case;
use datapump_lab::advise::tune::{TuneWish, tune};

use crate::args::{HostArguments, TuneArguments};
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::json;
use crate::run::Runner;
use crate::run::mover::moved;
use crate::run::remote::{self, RemoteCaller};

/// The options with what was found; as they were, where nothing was asked or nothing could be found. An error is one of
/// usage.
pub fn tuned(
    arguments: &TuneArguments,
    host: &HostArguments,
    sources: &[Place],
    target: &Place,
    options: Options,
    runner: &Runner<'_>,
) -> Result<Options, String> {
    let Some(again) = arguments.again() else { return Ok(options) };
    let places = || sources.iter().chain([target]);
    let caller = remote::is_meant(places()).then(|| RemoteCaller::new(host, places())).transpose()?;
    let case = Case { sources: sources.to_vec(), target: target.clone(), options, stop: runner.stop() };
    // With another host the other half is for what it sends.
    let memory_bytes = arguments.memory.map(|bytes| if caller.is_some() { bytes / 2 } else { bytes });
    let wish = TuneWish { memory_bytes, again };
    let output = runner.output;
    let mover = |job, is_for| moved(job, is_for, caller.as_ref(), runner);
    let found = tune(&case, &wish, &mover, &|line| told(output, line));
    Ok(match found {
        Ok(tuned) => {
            if output.json {
                output.result(&json::line(&EventLine::Tuned(&tuned)));
            }
            tuned.chosen.options(&case.options)
        }
        Err(why) => {
            let goes_on = !case.stop.load(Ordering::Relaxed);
            let then = if goes_on { "; the copy goes on untuned" } else { "" };
            output.event(Event::Notice(format!("{why}{then}")));
            case.options
        }
    })
}

fn told(output: &Output, line: &str) {
    output.line(&format!("pump: {line}"));
}
