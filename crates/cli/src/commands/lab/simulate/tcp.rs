//! `pump lab simulate response`, `recovery`, `path` and `sharing`.
//!
//! Must not know: the models.

use datapump::units::bit_rate_words;
use datapump::{Operation, Status};
use datapump_netlab::SettingsError;
use datapump_netlab::congestion::{
    PathCase, PathOutcome, RecoveryCase, RecoveryOutcome, ResponseCase, ResponseOutcome, SharingCase,
    SharingOutcome, Stack, simulate_path, simulate_recovery, simulate_response, simulate_sharing,
};

use crate::args::{PathArguments, RecoveryArguments, ResponseArguments, SharingArguments};
use crate::commands::lab::{print_figures, refuse_input};
use crate::output::Output;
use crate::output::events::EventLine;

pub fn response(arguments: &ResponseArguments, output: &Output) -> i32 {
    let outcome = simulate_response(&ResponseCase {
        stack: arguments.stack.stack,
        loss: arguments.loss.part(),
        rtt_s: arguments.rtt.rtt.as_secs_f64(),
        segment_bytes: arguments.segment.segment as f64,
    });
    show(outcome, output, |outcome| (response_words(outcome), EventLine::Response(outcome)))
}

pub fn recovery(arguments: &RecoveryArguments, output: &Output) -> i32 {
    let outcome = simulate_recovery(&RecoveryCase {
        stack: arguments.stack.stack,
        rate_bytes_per_s: arguments.rate.rate as f64,
        rtt_s: arguments.rtt.rtt.as_secs_f64(),
        segment_bytes: arguments.segment.segment as f64,
        is_delayed: arguments.acks.delayed_acks,
    });
    show(outcome, output, |outcome| (recovery_words(outcome), EventLine::Recovery(outcome)))
}

pub fn path(arguments: &PathArguments, output: &Output) -> i32 {
    let case = PathCase {
        stack: arguments.stack.stack,
        rate_bytes_per_s: arguments.rate.rate as f64,
        rtt_s: arguments.rtt.rtt.as_secs_f64(),
        duration_s: arguments.run.duration.as_secs_f64(),
        loss: arguments.run.loss(),
        seed: arguments.run.seed,
        ends: arguments.run.ends(),
    };
    let outcome = simulate_path(&case, arguments.samples);
    show(outcome, output, |outcome| (path_words(outcome), EventLine::Path(outcome)))
}

pub fn sharing(arguments: &SharingArguments, output: &Output) -> i32 {
    let outcome = flows(arguments).and_then(|flows| {
        simulate_sharing(&SharingCase {
            flows,
            rate_bytes_per_s: arguments.rate.rate as f64,
            duration_s: arguments.run.duration.as_secs_f64(),
            loss: arguments.run.loss(),
            seed: arguments.run.seed,
            is_common: arguments.common_losses,
            is_staged: arguments.staged,
            ends: arguments.run.ends(),
        })
    });
    show(outcome, output, |outcome| (sharing_words(outcome), EventLine::Sharing(outcome)))
}

/// Stack and round trip of each flow; one of either is for all.
fn flows(arguments: &SharingArguments) -> Result<Vec<(Stack, f64)>, SettingsError> {
    let (stacks, rtts) = (&arguments.stack, &arguments.rtt);
    let flows = stacks.len().max(rtts.len());
    if [stacks.len(), rtts.len()].iter().any(|given| ![1, flows].contains(given)) {
        let words = format!("{} stacks and {} round trips", stacks.len(), rtts.len());
        return Err(SettingsError::new(format!("{words}: give one of either for all, or as many of both")));
    }
    let stacks = stacks.iter().cycle().take(flows);
    Ok(stacks.zip(rtts.iter().cycle()).map(|(stack, rtt)| (*stack, rtt.as_secs_f64())).collect())
}

fn show<T>(
    outcome: Result<T, SettingsError>,
    output: &Output,
    told: impl FnOnce(&T) -> (String, EventLine<'_>),
) -> i32 {
    match outcome {
        Ok(outcome) => {
            let (words, event) = told(&outcome);
            print_figures(&[event], &words, Status::Done, output)
        }
        Err(error) => refuse_input(&error.into(), Operation::Simulate, output),
    }
}

fn response_words(it: &ResponseOutcome) -> String {
    format!(
        "{}, one of {:.0} segments lost: a mean window of {:.1} segments (by the formula {:.1}), from {:.1} to {:.1}\n\
         {:.1} round trips between two losses; at {:.1} ms {}",
        it.stack,
        1.0 / it.loss,
        it.mean_window_segments,
        it.formula_window_segments,
        it.least_window_segments,
        it.peak_window_segments,
        it.cycle_round_trips,
        it.rtt_s * 1e3,
        bit_rate_words(it.bandwidth_bytes_per_s),
    )
}

fn recovery_words(it: &RecoveryOutcome) -> String {
    format!(
        "{}: back after {:.3} s, {:.1} round trips, from {:.1} to {:.1} segments\n\
         Reno takes {:.3} s by its formula",
        it.stack,
        it.recovery_s,
        it.recovery_round_trips,
        it.window_after_loss_segments,
        it.full_window_segments,
        it.reno_recovery_s,
    )
}

fn path_words(it: &PathOutcome) -> String {
    format!(
        "{}: {}, {:.1} % of the link; a mean window of {:.1} segments\n\
         {} segments lost, {} windows cut, {} of them by a timer; at most {:.1} ms in the queue",
        it.stack,
        bit_rate_words(it.bandwidth_bytes_per_s),
        it.share_of_link * 100.0,
        it.mean_window_segments,
        it.losses,
        it.cuts,
        it.timeouts,
        it.longest_wait_s * 1e3,
    )
}

fn sharing_words(it: &SharingOutcome) -> String {
    let mut words = format!("{:>10} {:>10} {:>6} {:>6}  rates\n", "from s", "to s", "link", "Jain");
    for region in &it.regions {
        let rates: Vec<String> = region.rates.iter().map(|rate| bit_rate_words(*rate)).collect();
        let (begin_s, end_s, link, jain) =
            (region.begin_s, region.end_s, region.share_of_link * 100.0, index(region.jain));
        words += &format!("{begin_s:>10.1} {end_s:>10.1} {link:>5.1}% {jain:>6}  {}\n", rates.join(", "));
    }
    words + &format!("Jain's index is {} ({})", index(it.jain), it.stacks.join(", "))
}

fn index(jain: Option<f64>) -> String {
    jain.map_or_else(|| "-".into(), |jain| format!("{jain:.3}"))
}
