//! `pump lab path`: a path in a box.
//!
//! Must not know: how a path is laid.

use std::sync::Arc;

use datapump::units::{bytes_words, with_commas};
use datapump::{Operation, Status};
use datapump_netlab::emulator::{self, DirectionStats, PathStats};

use crate::args::LabPathArguments;
use crate::commands::lab::{print_figures, refuse_input};
use crate::output::Output;
use crate::output::events::EventLine;
use crate::output::json;
use crate::run::signals::stop_flag;

/// Lays the path and carries until it is ended. Gives the exit status.
pub fn path(arguments: &LabPathArguments, output: &Output) -> i32 {
    let stop = stop_flag().unwrap_or_default();
    let ready =
        || if output.json { output.result(&json::line(&EventLine::Ready)) } else { output.result("ready") };
    match emulator::carry(&arguments.settings(), &Arc::clone(&stop), ready) {
        Ok(stats) => {
            let words = message(&stats);
            print_figures(&[EventLine::PathStats(&stats)], &words, Status::Done, output)
        }
        Err(error) => refuse_input(&error, Operation::Simulate, output),
    }
}

fn message(stats: &PathStats) -> String {
    format!("left to right: {}\nright to left: {}", direction(&stats.there), direction(&stats.back))
}

fn direction(it: &DirectionStats) -> String {
    let mut words =
        format!("{} packets offered, {} handed over", with_commas(it.packets), bytes_words(it.bytes));
    for (count, what) in [
        (it.lost, "lost"),
        (it.no_room, "without room in the queue"),
        (it.managed, "dropped by CoDel"),
        (it.overtook, "overtook others"),
        (it.duplicated, "twice"),
        (it.refused, "frames that the kernel did not take"),
        (it.overrun, "dropped by the kernel because this process was too slow"),
    ] {
        if count > 0 {
            words += &format!(", {} {what}", with_commas(count));
        }
    }
    let us = |ns: u64| ns as f64 / 1e3;
    words += &format!(
        "; late by {:.1} us from when they were read, at most {:.1} us",
        us(it.mean_late_ns),
        us(it.max_late_ns)
    );
    if let Some(share) = it.rate_share {
        words += &format!("; {:.2} % of the rate while something waited", share * 100.0);
    }
    words
}
