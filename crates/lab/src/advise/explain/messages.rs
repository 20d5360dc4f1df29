//! An explanation in words: what limits, by how much, what the next limit would be, the one thing to try, and the
//! numbers behind.
//!
//! Must not know: how the numbers were taken.

use datapump::units::{rate_words, time_words};
use datapump::{LimitedBy, Options, Place, Report, Sync, Why};

use super::law::Prediction;
use super::part::{Part, PartName};
use super::{Case, Explained};

/// A copy that is faster than predicted by more than this is told why.
const FASTER_MIN: f64 = 1.25;
/// What buffers take at once is a part of a copy that is shorter than this.
const SHORT_NS: u64 = 1_000_000_000;
/// Less than this is all in buffers for longer.
const LARGE_BYTES: u64 = 256 << 20;
/// No part costs so much for each byte.
const COST_MAX_NS: f64 = 1000.0;
/// Shown as zero.
const COST_MIN_NS: f64 = 0.0005;

/// What a part did alone. The empty loop moves nothing, so that it has no bandwidth to speak of.
pub(super) fn alone(part: &Part) -> String {
    let (name, cost) = (part.name.words(), cost(part.cpu_ns_per_byte));
    let speed = match part.name {
        PartName::Pump => format!("{:.0} ns a request", part.ns_per_request),
        _ => rate_words(part.bytes_per_second),
    };
    let alone = part.name.alone_words();
    format!("{name}{alone}: {speed}{cost}")
}

/// What a byte costs, unless so few were moved that it is the cost of all the rest, or none.
fn cost(ns_per_byte: f64) -> String {
    if (COST_MIN_NS..COST_MAX_NS).contains(&ns_per_byte) {
        format!(", {ns_per_byte:.3} ns of CPU a byte")
    } else {
        String::new()
    }
}

/// The prediction that is written down before the copy.
pub(super) fn prediction(prediction: &Prediction) -> String {
    let speed = rate_words(prediction.predicted_bytes_per_second);
    let cost = cost(prediction.predicted_ns_per_byte);
    let slowest = prediction.slowest.limit_words();
    format!("predicted: {speed}{cost}; {slowest} is the slowest part")
}

/// What people read: the whole, unless the copy was too short to say anything.
pub(super) fn page(explained: &Explained, case: &Case) -> String {
    let Report { elapsed_ns, bytes_moved, .. } = explained.report;
    let is_small = bytes_moved < LARGE_BYTES && elapsed_ns < SHORT_NS * 3;
    if is_null(case) || !(is_small || elapsed_ns < SHORT_NS) {
        return paragraph(explained, case);
    }
    format!(
        "This copy took {}, which is too short to tell what limits it; explain the copy of a file that needs some \
         seconds.",
        time_words(elapsed_ns)
    )
}

/// The whole in one paragraph.
pub(super) fn paragraph(explained: &Explained, case: &Case) -> String {
    let sentences = [
        format!("The copy {}{}{}.", pace(explained, case), limit(explained), differs(explained)),
        explained
            .prediction
            .as_ref()
            .map_or(String::new(), |prediction| compared(explained, prediction, &case.options)),
        parts(explained),
        format!("{}.", explained.advice.words),
    ];
    let said: Vec<String> = sentences.into_iter().filter(|sentence| !sentence.is_empty()).collect();
    said.join(" ")
}

/// From null to null nothing is moved: what counts is a request.
fn pace(explained: &Explained, case: &Case) -> String {
    if is_null(case) {
        format!("took {:.0} ns a request", explained.report.ns_per_request())
    } else {
        format!("ran at {}", rate_words(explained.observed_bytes_per_second))
    }
}

fn is_null(case: &Case) -> bool {
    case.sources.iter().chain([&case.target]).all(|place| matches!(place, Place::Null { .. }))
}

/// The second half of the sentence.
fn limit(explained: &Explained) -> String {
    let why = &explained.limited_detail.why;
    let because = if *why == Why::Untold { String::new() } else { format!(" ({why})") };
    match explained.limited_by {
        LimitedBy::Balanced => format!(", with no single bottleneck{because}"),
        LimitedBy::Unknown => match explained.error_percent {
            Some(error) => format!("; its bottleneck is unclear: the baselines disagree ({error:.0} %)"),
            None => "; its bottleneck is unclear".into(),
        },
        limit => match explained.limited_detail.bottleneck(limit) {
            Some(found) => format!(", limited by {}", found.part),
            None => ", limited by --bwlimit".into(),
        },
    }
}

/// Why the copy's own line says something else, which sees where it waited, but not how fast its parts are.
fn differs(explained: &Explained) -> String {
    let own = explained.report.limited_by;
    let slowest = explained.prediction.as_ref().map_or("a part", |it| it.slowest.limit_words());
    let why = match explained.limited_by {
        limit if limit == own => return String::new(),
        LimitedBy::Unknown => "but that took less than half of its time, and its parts do not fit".into(),
        LimitedBy::Balanced => "but alone the two slowest parts are about as slow as each other".into(),
        _ => format!("but that took less than half of its time, and {slowest} alone explains its speed"),
    };
    format!(" (its own line says {}, {why})", own.words())
}

fn compared(explained: &Explained, prediction: &Prediction, options: &Options) -> String {
    let predicted = rate_words(prediction.predicted_bytes_per_second);
    let measured = rate_words(explained.observed_bytes_per_second);
    let times = explained.observed_bytes_per_second / prediction.predicted_bytes_per_second.max(1.0);
    let faster = if times > FASTER_MIN { why_faster(explained, options) } else { String::new() };
    let off = format!("{:+.0} %{faster}", (times - 1.0) * 100.0);
    let costs = format!(
        "CPU per byte: predicted {:.2} ns, measured {:.2} ns",
        prediction.predicted_ns_per_byte, explained.observed_ns_per_byte
    );
    let has_chain = explained.parts.iter().any(|part| part.name == PartName::Chain);
    let shared = match (prediction.shared_device, has_chain) {
        (true, _) => " One device serves both ends: they were measured together.",
        (_, true) => " Both ends share the CPUs and the memory of one machine: they were measured together.",
        _ => "",
    };
    format!("Predicted {predicted}, measured {measured} ({off}). {costs}.{shared}")
}

/// Half a sentence: the likeliest of what makes a copy faster than its parts were.
fn why_faster(explained: &Explained, options: &Options) -> String {
    let report = &explained.report;
    let reads_memory = !["both", "source"].contains(&report.direct.got.as_str());
    let has_source = explained.parts.iter().any(|part| part.name == PartName::Source);
    let why = if report.elapsed_ns < SHORT_NS {
        "a copy this short may end in buffers that a longer one fills"
    } else if options.durability.sync == Sync::None {
        "what was written may still be in memory"
    } else if has_source && reads_memory {
        "its source was probably in memory by then"
    } else {
        "a part was probably disturbed while it was measured"
    };
    format!(": {why}")
}

fn parts(explained: &Explained) -> String {
    let told = |part: &Part| format!("{} {}", part.name.words(), rate_words(part.bytes_per_second));
    let moving = explained.parts.iter().filter(|part| part.name != PartName::Pump);
    let (joint, alone): (Vec<&Part>, Vec<&Part>) = moving.partition(|part| part.name.is_joint());
    let said: Vec<String> = alone.into_iter().map(told).collect();
    let joint = joint.first().map_or(String::new(), |part| format!("; {}", told(part)));
    if said.is_empty() { String::new() } else { format!("Each part alone: {}{joint}.", said.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::explain::advice::{Advice, Cause};
    use datapump::{AskedAndGot, Fill, LimitedDetail};

    fn part(name: PartName, mb_per_s: f64) -> Part {
        Part { bytes_per_second: mb_per_s * 1e6, ns_per_request: 38.4, ..Part::new(name) }
    }

    fn case(source: Place, sync: Sync) -> Case {
        let options = Options::default().with(|it| it.durability.sync = sync);
        Case {
            sources: vec![source],
            target: Place::Null { bytes: None, fill: Fill::Zero },
            options,
            stop: Default::default(),
        }
    }

    /// Source and CPU allow 900 MB/s; the copy ran at so many and said that it was limited by `own`.
    fn explained(mb_per_s: f64, own: LimitedBy, limited_by: LimitedBy, report: Report) -> Explained {
        let prediction = Prediction {
            predicted_bytes_per_second: 900e6,
            predicted_ns_per_byte: 0.1,
            slowest: PartName::Pump,
            slowest_bytes_per_second: 900e6,
            next: (PartName::Source, 993e6),
            shared_device: false,
        };
        let words = "A faster CPU would help".into();
        Explained {
            parts: vec![part(PartName::Pump, 2.6e7), part(PartName::Source, 993.0)],
            unmeasured: Vec::new(),
            prediction: Some(prediction),
            observed_bytes_per_second: mb_per_s * 1e6,
            observed_ns_per_byte: 0.1,
            error_percent: Some(1.0),
            limited_by,
            limited_detail: LimitedDetail::default(),
            advice: Advice { cause: Cause::Unknown, words, flag: None, gain: None },
            words: String::new(),
            page: String::new(),
            added_ns: 0,
            report: Report { limited_by: own, ..report },
        }
    }

    #[test]
    fn the_empty_loop_is_not_the_cpu_time_of_a_copy() {
        assert_eq!(alone(&part(PartName::Pump, 2.6e7)), "the pump itself alone: 38 ns a request");
        let explained = explained(900.0, LimitedBy::Cpu, LimitedBy::Cpu, Report::default());
        let before = prediction(explained.prediction.as_ref().expect("it was made"));
        assert!(before.ends_with("the CPU time of one thread is the slowest part"), "{before}");
        let file = case(Place::Path("file".into()), Sync::End);
        let said = paragraph(&explained, &file);
        assert!(said.starts_with("The copy ran at 858 MiB/s, limited by the CPU. "), "{said}");
        assert!(!said.contains("the pump itself") && !said.contains("its own line"), "{said}");
        let null = case(Place::Null { bytes: Some(1), fill: Fill::Zero }, Sync::End);
        assert!(paragraph(&explained, &null).starts_with("The copy took 0 ns a request, limited"), "{said}");
    }

    #[test]
    fn what_seems_to_contradict_is_explained() {
        use LimitedBy::{Balanced, Cpu, Sink, Source, Unknown};
        let direct = |got: &str, seconds: u64| Report {
            direct: AskedAndGot { got: got.into(), ..AskedAndGot::default() },
            elapsed_ns: seconds * 1_000_000_000,
            ..Report::default()
        };
        for (what, copy, sync, words) in [
            (
                "as predicted",
                explained(1000.0, Cpu, Cpu, direct("none", 5)),
                Sync::End,
                "measured 954 MiB/s (+11 %). CPU per byte",
            ),
            (
                "short",
                explained(2000.0, Cpu, Cpu, direct("none", 0)),
                Sync::End,
                "(+122 %: a copy this short",
            ),
            (
                "not synced",
                explained(2000.0, Cpu, Cpu, direct("none", 5)),
                Sync::None,
                "written may still be in",
            ),
            (
                "cached",
                explained(2000.0, Cpu, Cpu, direct("sink", 5)),
                Sync::End,
                "source was probably in memory",
            ),
            ("disturbed", explained(2000.0, Cpu, Cpu, direct("both", 5)), Sync::End, "probably disturbed"),
            (
                "by parts",
                explained(900.0, Source, Cpu, direct("both", 5)),
                Sync::End,
                "own line says source, but that",
            ),
            (
                "balanced",
                explained(900.0, Sink, Balanced, direct("both", 5)),
                Sync::End,
                "own line says sink, but alone",
            ),
            (
                "unknown",
                explained(90.0, Sink, Unknown, direct("both", 5)),
                Sync::End,
                "unclear: the baselines disagree (1 %) (its own line says sink, but that took less than half of its \
                 time, and its parts do not fit",
            ),
        ] {
            let said = paragraph(&copy, &case(Place::Path("file".into()), sync));
            assert!(said.contains(words), "{what}: {said}");
        }
    }

    #[test]
    fn a_copy_that_is_too_short_is_not_explained_to_people() {
        const MIB: u64 = 1 << 20;
        for (bytes_moved, elapsed_ns, is_short) in [
            (MIB, 40_000_000, true),
            (1024 * MIB, 900_000_000, true),
            (255 * MIB, 2_900_000_000, true),
            (MIB, 3_000_000_000, false),
            (1024 * MIB, 1_000_000_000, false),
        ] {
            let report = Report { bytes_moved, elapsed_ns, ..Report::default() };
            let copy = explained(900.0, LimitedBy::Cpu, LimitedBy::Cpu, report);
            let said = page(&copy, &case(Place::Path("file".into()), Sync::End));
            assert_eq!(said.starts_with("This copy took "), is_short, "{bytes_moved} {elapsed_ns}: {said}");
            let null = case(Place::Null { bytes: Some(1), fill: Fill::Zero }, Sync::End);
            assert!(page(&copy, &null).starts_with("The copy took"), "of requests each one counts");
        }
        let few = Part { cpu_ns_per_byte: 9_590_000.0, ..part(PartName::Source, 1.0) };
        assert!(alone(&few).ends_with("KiB/s"), "{}", alone(&few));
    }
}
