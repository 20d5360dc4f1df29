//! A pass by calls or by a ring: a job over the pages of the file.
//!
//! Must not know: how blocks are moved.

use std::sync::{Arc, Mutex, PoisonError};

use datapump::{
    Choice, DurabilityOptions, EngineChoice, Event, Fill, Job, Options, Place, PlaceOptions,
    ReportingOptions, TuningOptions,
};

use super::choice::{AccessInterface, AccessUse};
use super::hook::TouchHook;
use super::{AccessPlan, Passed};

/// Makes the pass.
pub fn pass(plan: &AccessPlan<'_>) -> Passed {
    let arguments = plan.arguments;
    let pieces = pieces(plan);
    let value = plan.value();
    let hook = Arc::new(TouchHook::new(arguments.page_bytes, plan.touched_bytes, value));
    let file = Place::Path(arguments.file.clone());
    let job = match arguments.operation {
        AccessUse::Read => Job::hash(file),
        AccessUse::Write => {
            let bytes = pieces.iter().map(|(start, end)| end - start).sum();
            Job::copy(vec![Place::Null { bytes: Some(bytes), fill: Fill::Overwritten }], file)
        }
    };
    let job = job.hook(Arc::clone(&hook) as _).pieces(pieces.into()).options(options(plan));
    let problems = Mutex::new(Vec::new());
    let mut report = job.stop(Arc::clone(&arguments.stop)).run_reported(&|event| {
        if let Event::Problem(problem) = event {
            problems.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
        }
    });
    // The hook takes the place of the hash.
    report.blake3 = None;
    Passed {
        report,
        sum: hook.sum(),
        problems: problems.into_inner().unwrap_or_else(PoisonError::into_inner),
    }
}

fn options(plan: &AccessPlan<'_>) -> Options {
    let arguments = plan.arguments;
    let (engine, depth) = match arguments.interface {
        AccessInterface::Ring | AccessInterface::RingCached => (EngineChoice::Uring, arguments.depth),
        _ => (EngineChoice::Inline, 1),
    };
    // A direct request moves whole blocks of the device: a part of a page goes through the cache.
    let moves_pages = arguments.operation == AccessUse::Read || plan.is_full_page();
    let is_direct = arguments.interface == AccessInterface::Ring && moves_pages;
    Options {
        tuning: TuningOptions {
            request_bytes: Some(arguments.page_bytes as u32),
            source_depth: Some(depth),
            sink_depth: Some(depth),
            lanes: Some(1),
            engine,
            direct: if is_direct { Choice::Always } else { Choice::Never },
            no_reserve: true,
            ignore_holes: true,
            ..TuningOptions::default()
        },
        durability: DurabilityOptions {
            sync: arguments.sync,
            inplace: arguments.operation == AccessUse::Write,
            ..DurabilityOptions::default()
        },
        place: PlaceOptions { target_is_name: true, ..PlaceOptions::default() },
        reporting: ReportingOptions { latencies: arguments.latencies, ..ReportingOptions::default() },
        ..Options::default()
    }
}

/// The pieces to move, in the order of the pass: what is used of each page, as a program would ask for it; where
/// requests go past the cache, and so by blocks of the device, whole pages when reading. Each page is a piece of its
/// own in every order and at every touch, so that the loop costs the same for all of them.
fn pieces(plan: &AccessPlan<'_>) -> Vec<(u64, u64)> {
    let takes_pages =
        plan.arguments.operation == AccessUse::Read && plan.arguments.interface == AccessInterface::Ring;
    let piece = |page: u64| {
        let (at, touched) = plan.touched(page);
        let bytes = if takes_pages { plan.arguments.page_bytes.min(plan.bytes - at) } else { touched };
        (at, at + bytes)
    };
    plan.order.pages().into_iter().map(piece).collect()
}
