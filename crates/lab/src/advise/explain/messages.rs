//! An explanation in words: what limits, by how much, what the next limit would be, the one thing to try, and the
//! numbers behind.
//!
//! Must not know: how the numbers were taken.

use datapump::units::{rate_words, time_words};
use datapump::{LimitedBy, Place, Report, Sync, Why};

use super::law::Prediction;
use super::part::{Part, PartName};
use super::{Case, Explained, Repeated};
use crate::judge::stats::Interval;

/// A copy that is faster than predicted by more than this is told why.
const FASTER_MIN: f64 = 1.25;
/// What buffers take at once is a part of a copy that is shorter than this.
const SHORT_NS: u64 = 1_000_000_000;
/// No part costs so much for each byte.
const COST_MAX_NS: f64 = 1000.0;
/// Shown as zero.
const COST_MIN_NS: f64 = 0.0005;
/// Likewise.
const HOLES_MIN_PERCENT: f64 = 0.5;

/// What a part did alone. The empty loop moves nothing, so that it has no bandwidth to speak of.
pub(super) fn alone(part: &Part) -> String {
    let (name, cost) = (part.name.words(), cost(part.cpu_ns_per_byte));
    let speed = match part.name {
        PartName::Pump => format!("{:.0} ns a request", part.ns_per_request),
        _ => rate_words(part.bytes_per_second),
    };
    let (alone, from) = (part.name.alone_words(), if part.cached { ", from the page cache" } else { "" });
    format!("{name}{alone}{from}: {speed}{cost}")
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
    let within = within(prediction);
    let cost = cost(prediction.predicted_ns_per_byte);
    let slowest = prediction.slowest.limit_words();
    let digest = prediction.stored.short();
    format!("predicted: {speed}{within}{cost}; {slowest} is the slowest part (digest {digest})")
}

/// Where nine of ten copies lie.
fn within(prediction: &Prediction) -> String {
    let rounds = prediction.rounds;
    match prediction.speed_interval {
        Some(Interval { low, high }) => {
            let (low, high) = (rate_words(low), rate_words(high));
            let wide = if prediction.wide_times().is_some() { ": wide, as the rounds differ" } else { "" };
            format!(" (90 %: {low} to {high}, {rounds} rounds{wide})")
        }
        None => String::new(),
    }
}

/// What people read: the whole, unless the copy was too short to say what limits it.
pub(super) fn page(explained: &Explained, case: &Case) -> String {
    match &explained.repeated {
        Some(Repeated { why_not: Some(_), .. }) if moved_no_bytes(explained) => {
            let what = match &*explained.report.reflink.got {
                _ if explained.report.bytes == 0 => "",
                "always" => " (the file system shares them)",
                _ => " (they are all in holes)",
            };
            format!("This copy moved no bytes{what}; explain the copy of a file that needs some seconds.")
        }
        Some(Repeated { why_not: Some(why), times, elapsed_ns }) if !is_null(case) => {
            let took = time_words(explained.report.elapsed_ns);
            let all = if *times > 1 {
                format!(" ({times} times: {} in all)", time_words(*elapsed_ns))
            } else {
                String::new()
            };
            let short = format!(
                "This copy took {took}, which is too short to tell what limits it{all}, and {why}; explain the copy of a \
                 file that needs some seconds."
            );
            sentences([short, compared(explained, case), parts(explained), holes(&explained.report)])
        }
        _ => paragraph(explained, case),
    }
}

/// The whole in one paragraph.
pub(super) fn paragraph(explained: &Explained, case: &Case) -> String {
    sentences([
        format!("The copy {}{}{}.", pace(explained, case), limit(explained), differs(explained)),
        compared(explained, case),
        parts(explained),
        holes(&explained.report),
        repeated(explained, case),
        advice(explained),
    ])
}

fn sentences(all: impl IntoIterator<Item = String>) -> String {
    let said: Vec<String> = all.into_iter().filter(|sentence| !sentence.is_empty()).collect();
    said.join(" ")
}

/// A copy that was too short by itself.
fn repeated(explained: &Explained, case: &Case) -> String {
    let Some(Repeated { times: times @ 2.., elapsed_ns, .. }) = &explained.repeated else {
        return String::new();
    };
    let into = if case.is_stored() { ", all but one into unnamed temporary files" } else { "" };
    let (took, all) = (time_words(explained.report.elapsed_ns), time_words(*elapsed_ns));
    format!("It took {took}, which is short: it was copied {times} times in {all}{into}.")
}

/// The part of the files that is in holes. Shared blocks are not moved either.
fn holes(report: &Report) -> String {
    let percent =
        100.0 * (1.0 - (report.bytes_moved + report.bytes_resumed) as f64 / report.bytes.max(1) as f64);
    let is_told = report.reflink.got != "always" && report.bytes_moved > 0 && percent >= HOLES_MIN_PERCENT;
    let words =
        || format!("{percent:.0} % of the source are holes, which are not read: speeds are of its data.");
    is_told.then(words).unwrap_or_default()
}

fn advice(explained: &Explained) -> String {
    let words = &explained.advice.words;
    if words.is_empty() { String::new() } else { format!("{words}.") }
}

fn moved_no_bytes(explained: &Explained) -> bool {
    explained.observed_bytes_per_second == 0.0
}

/// From null to null what counts is a request.
fn pace(explained: &Explained, case: &Case) -> String {
    if moved_no_bytes(explained) {
        "moved no bytes".into()
    } else if is_null(case) {
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
        LimitedBy::Unknown if moved_no_bytes(explained) => String::new(),
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

fn compared(explained: &Explained, case: &Case) -> String {
    let Some(prediction) = &explained.prediction else { return String::new() };
    let predicted = rate_words(prediction.predicted_bytes_per_second);
    let measured = rate_words(explained.observed_bytes_per_second);
    let times = explained.observed_bytes_per_second / prediction.predicted_bytes_per_second.max(1.0);
    let faster = if times > FASTER_MIN { why_faster(explained, case) } else { String::new() };
    let off = format!("{:+.0} %{faster}", (times - 1.0) * 100.0);
    let costs = format!(
        "CPU per byte: predicted {:.2} ns, measured {:.2} ns",
        prediction.predicted_ns_per_byte, explained.observed_ns_per_byte
    );
    let has_chain = explained.parts.iter().any(|part| part.name == PartName::Chain);
    let within = match prediction.speed_interval {
        Some(Interval { low, high }) => {
            let is_inside = (low..=high).contains(&explained.observed_bytes_per_second);
            let place = if is_inside { "within" } else { "outside of" };
            format!(", {place} the 90 % interval of {} to {}", rate_words(low), rate_words(high))
        }
        None => String::new(),
    };
    let shared = match (prediction.shared_device, has_chain) {
        (true, _) => " One device serves both ends: they were measured together.",
        (_, true) => " Both ends share the CPUs and the memory of one machine: they were measured together.",
        _ => "",
    };
    let wide = wide(prediction);
    format!("Predicted {predicted}, measured {measured} ({off}){within}. {wide}{costs}.{shared}")
}

/// A warning where the interval says little.
fn wide(prediction: &Prediction) -> String {
    prediction.wide_times().map_or(String::new(), |times| {
        format!(
            "That interval is wide (its upper end is {times:.0} times the lower): the speed of this machine differed from \
             slice to slice. Run again when the machine is idle. "
        )
    })
}

/// Half a sentence: the likeliest of what makes a copy faster than its parts were.
fn why_faster(explained: &Explained, case: &Case) -> String {
    let (report, is_stored) = (&explained.report, case.is_stored());
    let reads_memory = !["both", "source"].contains(&report.direct.got.as_str());
    let has_source = explained.parts.iter().any(|part| part.name == PartName::Source && !part.cached);
    let why = if is_stored && report.elapsed_ns < SHORT_NS {
        "a copy this short may end in buffers that a longer one fills"
    } else if is_stored && case.options.durability.sync == Sync::None {
        "what was written may still be in memory"
    } else if has_source && reads_memory {
        "its source was probably in memory by then"
    } else {
        "a part was probably disturbed while it was measured"
    };
    format!(": {why}")
}

fn parts(explained: &Explained) -> String {
    let from = |part: &Part| if part.cached { " (from the page cache)" } else { "" };
    let words =
        |part: &Part| format!("{}{} {}", part.name.words(), from(part), rate_words(part.bytes_per_second));
    let moving = explained.parts.iter().filter(|part| part.name != PartName::Pump);
    let (joint, alone): (Vec<&Part>, Vec<&Part>) = moving.partition(|part| part.name.is_joint());
    let said: Vec<String> = alone.into_iter().map(words).collect();
    let joint = joint.first().map_or(String::new(), |part| format!("; {}", words(part)));
    if said.is_empty() { String::new() } else { format!("Each part alone: {}{joint}.", said.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::explain::advice::{Advice, Cause};
    use crate::advise::explain::law::stored::StoredPrediction;
    use datapump::{AskedAndGot, Fill, LimitedDetail, Options};

    fn part(name: PartName, mb_per_s: f64) -> Part {
        Part { bytes_per_second: mb_per_s * 1e6, ns_per_request: 38.4, ..Part::new(name) }
    }

    fn case(source: Place, sync: Sync) -> Case {
        let options = Options::default().with(|it| it.durability.sync = sync);
        let null = matches!(source, Place::Null { .. }).then(nowhere);
        let target = null.unwrap_or(Place::Path("target".into()));
        Case { sources: vec![source], target, options, stop: Default::default() }
    }

    fn nowhere() -> Place {
        Place::Null { bytes: None, fill: Fill::Zero }
    }

    /// Source and CPU allow 900 MB/s; the copy ran at so many and said that it was limited by `own`.
    fn explained(mb_per_s: f64, own: LimitedBy, limited_by: LimitedBy, report: Report) -> Explained {
        let prediction = Prediction {
            predicted_bytes_per_second: 900e6,
            predicted_ns_per_byte: 0.1,
            slowest: PartName::Pump,
            slowest_bytes_per_second: 900e6,
            next_bytes_per_second: 993e6,
            alone: vec![(PartName::Source, 993e6)],
            shared_device: false,
            speed_interval: Some(Interval { low: 850e6, high: 950e6 }),
            cost_interval: None,
            rounds: 8,
            stored: StoredPrediction { text: String::new(), digest: "0123456789abcdef0123".into() },
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
            repeated: None,
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
        let words = "the CPU time of one thread is the slowest part (digest 0123456789abcdef)";
        assert!(before.ends_with(words), "{before}");
        assert!(
            before.starts_with("predicted: 858 MiB/s (90 %: 811 MiB/s to 906 MiB/s, 8 rounds)"),
            "{before}"
        );
        let file = case(Place::Path("file".into()), Sync::End);
        let said = paragraph(&explained, &file);
        assert!(said.starts_with("The copy ran at 858 MiB/s, limited by the CPU. "), "{said}");
        assert!(!said.contains("the pump itself") && !said.contains("its own line"), "{said}");
        let cached = Part { cached: true, ..part(PartName::Source, 993.0) };
        assert_eq!(alone(&cached), "the source alone, from the page cache: 947 MiB/s");
        let from_cache = Explained { parts: vec![cached], ..explained.clone() };
        let said = paragraph(&from_cache, &file);
        assert!(said.contains("Each part alone: the source (from the page cache) 947 MiB/s."), "{said}");
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
                "measured 954 MiB/s (+11 %), outside of the 90 % interval of 811 MiB/s to 906 MiB/s. CPU per byte",
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

    /// Data in no hole was moved, now or by an earlier run, or is shared.
    #[test]
    fn a_source_with_holes_is_called_one() {
        let file = case(Place::Path("file".into()), Sync::End);
        for (bytes, bytes_moved, bytes_resumed, got, percent) in [
            (1000, 1000, 0, "never", None),
            (1000, 100, 0, "never", Some(90)),
            (1000, 100, 650, "never", Some(25)),
            (1000, 996, 0, "never", None),
            (1000, 100, 0, "always", None),
            (1000, 1100, 0, "never", None),
        ] {
            let reflink = AskedAndGot { got: got.into(), ..AskedAndGot::default() };
            let report = Report { bytes, bytes_moved, bytes_resumed, reflink, ..Report::default() };
            let said = paragraph(&explained(900.0, LimitedBy::Cpu, LimitedBy::Cpu, report), &file);
            let words = |percent| format!(" {percent} % of the source are holes, which are not read: ");
            assert_eq!(said.contains("holes"), percent.is_some(), "{said}");
            assert!(percent.is_none_or(|percent: u64| said.contains(&words(percent))), "{said}");
        }
    }

    #[test]
    fn a_wide_interval_is_called_wide_before_the_copy_and_after_it() {
        for (high, wide) in
            [(950e6, None), (3.9 * 850e6, None), (4.1 * 850e6, Some("4")), (25.0 * 850e6, Some("25"))]
        {
            let mut copy = explained(900.0, LimitedBy::Cpu, LimitedBy::Cpu, Report::default());
            let mut predicted = copy.prediction.take().expect("it was made");
            predicted.speed_interval = Some(Interval { low: 850e6, high });
            let before = prediction(&predicted);
            copy.prediction = Some(predicted);
            let after = paragraph(&copy, &case(Place::Path("file".into()), Sync::End));
            assert_eq!(
                before.contains(", 8 rounds: wide, as the rounds differ)"),
                wide.is_some(),
                "{before}"
            );
            assert_eq!(after.contains("That interval is wide"), wide.is_some(), "{after}");
            let words =
                wide.map_or(String::new(), |times| format!("(its upper end is {times} times the lower)"));
            assert!(after.contains(&words), "{after}");
        }
    }

    /// A copy that ends in null ends in no buffer, in no file and not in memory.
    #[test]
    fn where_nothing_is_stored_no_store_is_named() {
        let report = |seconds: u64| {
            let direct = AskedAndGot { got: "source".into(), ..AskedAndGot::default() };
            Report { elapsed_ns: seconds * 100_000_000, direct, ..Report::default() }
        };
        for (what, report, sync, stored) in [
            ("short", report(1), Sync::End, ["may end in buffers", "into unnamed temporary files"]),
            (
                "not synced",
                report(50),
                Sync::None,
                ["may still be in memory", "into unnamed temporary files"],
            ),
        ] {
            let repeated = Some(Repeated { times: 3, elapsed_ns: 1_500_000_000, why_not: None });
            let copy = Explained { repeated, ..explained(2000.0, LimitedBy::Cpu, LimitedBy::Cpu, report) };
            let to_file = case(Place::Path("file".into()), sync);
            let to_null = Case { target: nowhere(), ..to_file.clone() };
            let [file, null] = [to_file, to_null].map(|case| paragraph(&copy, &case));
            for words in stored {
                assert!(file.contains(words) && !null.contains(words), "{what}: {file}; {null}");
            }
            assert!(null.contains("it was copied 3 times in 1.5 s."), "{what}: {null}");
            assert!(null.contains("(+122 %: a part was probably disturbed"), "{what}: {null}");
        }
    }

    #[test]
    fn a_copy_that_is_too_short_was_repeated_or_is_not_explained_to_people() {
        let report = Report { bytes_moved: 64 << 20, elapsed_ns: 34_000_000, ..Report::default() };
        let file = case(Place::Path("file".into()), Sync::End);
        let why = |why: &str| (!why.is_empty()).then(|| why.to_string());
        for (repeated, said) in [
            (None, "The copy ran at "),
            (
                Some(Repeated { times: 30, elapsed_ns: 1_020_000_000, why_not: None }),
                "It took 0.03 s, which is short: it was copied 30 times in 1.0 s, all but one into unnamed",
            ),
            (
                Some(Repeated { times: 1, elapsed_ns: 34_000_000, why_not: why("a folder is not repeated") }),
                "This copy took 0.03 s, which is too short to tell what limits it, and a folder is not repeated;",
            ),
            (
                Some(Repeated { times: 64, elapsed_ns: 640_000_000, why_not: why("so little") }),
                "too short to tell what limits it (64 times: 0.64 s in all), and so little;",
            ),
        ] {
            let copy = explained(900.0, LimitedBy::Cpu, LimitedBy::Cpu, report.clone());
            let copy = Explained { repeated, ..copy };
            let page = page(&copy, &file);
            assert!(page.contains(said), "{said}: {page}");
            assert!(page.contains("Predicted 858 MiB/s, measured 858 MiB/s (+0 %"), "{page}");
            assert!(page.contains("Each part alone: the source "), "{page}");
            let null = case(Place::Null { bytes: Some(1), fill: Fill::Zero }, Sync::End);
            assert!(super::page(&copy, &null).starts_with("The copy took"), "of requests each one counts");
        }
        let repeated = Some(Repeated { times: 1, elapsed_ns: 1, why_not: why("it moved nothing") });
        let nothing = explained(0.0, LimitedBy::Unknown, LimitedBy::Unknown, Report::default());
        let advice = Advice { words: String::new(), ..nothing.advice.clone() };
        let nothing = Explained { repeated, prediction: None, advice, parts: Vec::new(), ..nothing };
        assert!(page(&nothing, &file).starts_with("This copy moved no bytes; explain"));
        assert_eq!(paragraph(&nothing, &file), "The copy moved no bytes.");
        for (got, why) in [("always", "the file system shares them"), ("never", "they are all in holes")] {
            let reflink = AskedAndGot { got: got.into(), ..AskedAndGot::default() };
            let report = Report { bytes: 5, reflink, ..Report::default() };
            let page = page(&Explained { report, ..nothing.clone() }, &file);
            assert!(page.starts_with(&format!("This copy moved no bytes ({why}); explain")), "{page}");
        }
        let few = Part { cpu_ns_per_byte: 9_590_000.0, ..part(PartName::Source, 1.0) };
        assert!(alone(&few).ends_with("KiB/s"), "{}", alone(&few));
    }
}
