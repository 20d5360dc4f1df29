//! The speed that the parts allow together, and the limit of a copy, given that and its own account.
//!
//! A chain is as fast as its slowest part; ends that share a device or a machine are not parts of that
//! law, and are measured as one. Costs of others add up. Must not know: how parts are measured, what helps.

use datapump::{LimitedBy, LimitedDetail, Report, Why};

use super::ends::{CopyEnds, End};
use super::moved_bytes_per_s;
use super::part::{MeasuredRounds, Part, PartName, cpu_ns};
use crate::judge::cost::{bottlenecks, cpu_bytes_per_s, relative_error_percent, sum_without_pumps};
use crate::judge::stats::{Interval, mean};
use stored::StoredPrediction;

mod interval;
pub mod stored;

/// A lead below this part of the slower is no lead.
const LEAD_MIN: f64 = 1.10;
/// A prediction within this is taken as true.
const ERROR_MAX_PERCENT: f64 = 10.0;
/// A stage that took this part of the lanes' time is the cause, whatever its parts did alone.
const CLEAR_FRACTION: f64 = 0.5;

/// What the parts allow together.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// Bytes over time of the whole copy.
    pub predicted_bytes_per_second: f64,
    /// CPU time of both hosts for each byte.
    pub predicted_ns_per_byte: f64,
    /// The interval that contains nine of ten next copies, bytes over time; `None` below three rounds.
    pub speed_interval: Option<Interval>,
    /// Such an interval for its CPU time per byte.
    pub cost_interval: Option<Interval>,
    /// Rounds of slices that it was made from.
    pub rounds: usize,
    /// The slowest part.
    pub slowest: PartName,
    /// Its bandwidth, without what it takes to begin and to end.
    pub slowest_bytes_per_second: f64,
    /// Bandwidth of the next one.
    pub next_bytes_per_second: f64,
    /// The parts that are not joint, each as it was measured alone.
    pub(super) alone: Vec<(PartName, f64)>,
    /// One device serves both ends.
    pub shared_device: bool,
    /// All of it as text, with its digest.
    pub stored: StoredPrediction,
}

impl Prediction {
    /// The upper end of the interval over the lower one, if the interval is too wide to be of use.
    pub(super) fn wide_times(&self) -> Option<f64> {
        let times = self.speed_interval.map(|it| it.high / it.low.max(f64::MIN_POSITIVE));
        times.filter(|times| *times > interval::WIDE_MIN)
    }

    /// The part that limits when what was found no longer does: the slowest of all others, as it was measured alone.
    /// `None` where nothing was found, where others used the CPUs, and of a part that alone was slower than the copy.
    pub fn next_limit(&self, found: &Report) -> Option<(PartName, f64)> {
        let (limit, why) = (found.limited_by, found.limited_detail.why);
        let is_unclear =
            matches!(limit, LimitedBy::Balanced | LimitedBy::Unknown) || why == Why::NotScheduled;
        let next = *self.alone.iter().find(|(name, _)| !name.is_found(limit, why))?;
        (!is_unclear && next.1 >= moved_bytes_per_s(found)).then_some(next)
    }
}

/// Prediction by the law in each round: the mean time of the rounds, and the interval of one next copy. `None` without
/// parts.
pub(super) fn predict_rounds(measured: &MeasuredRounds, ends: &CopyEnds) -> Option<Prediction> {
    let prediction = predict(&measured.parts, ends)?;
    let rounds: Vec<Prediction> = measured.rounds.iter().filter_map(|parts| predict(parts, ends)).collect();
    let speeds: Vec<f64> = rounds.iter().map(|round| round.predicted_bytes_per_second).collect();
    let costs: Vec<f64> = rounds.iter().map(|round| round.predicted_ns_per_byte).collect();
    let times: Vec<f64> = speeds.iter().map(|speed| 1.0 / speed.max(f64::MIN_POSITIVE)).collect();
    let predicted_bytes_per_second = 1.0 / mean(&times)?;
    let prediction = Prediction {
        predicted_bytes_per_second,
        speed_interval: interval::next(&speeds, predicted_bytes_per_second),
        cost_interval: interval::next(&costs, prediction.predicted_ns_per_byte),
        rounds: rounds.len(),
        ..prediction
    };
    let figures: Vec<(f64, f64)> = speeds.into_iter().zip(costs).collect();
    let stored = StoredPrediction::new(&measured.parts, &figures, &prediction);
    Some(Prediction { stored, ..prediction })
}

/// The part that moves all that the copy moves, through all that it goes through.
pub(super) fn whole(names: &[PartName], ends: &CopyEnds) -> Option<PartName> {
    let joint_first = [PartName::Together, PartName::Chain, PartName::Sink, PartName::Source];
    joint_first.into_iter().find(|name| names.contains(name) && ends.is_whole(*name))
}

/// Prediction from the parts of one round, or from their means; `None` without parts, or of a copy of nothing, which has
/// no speed.
fn predict(parts: &[Part], ends: &CopyEnds) -> Option<Prediction> {
    if ends.bytes() == Some(0) {
        return None;
    }
    let names: Vec<PartName> = parts.iter().map(|part| part.name).collect();
    let whole = whole(&names, ends).and_then(|name| parts.iter().find(|part| part.name == name));
    let shared_device = whole.is_some_and(|whole| whole.name == PartName::Together);
    let ns_per_byte = whole.map_or_else(|| costs(parts, ends), |whole| whole.cpu_ns_per_byte);
    // What the pump does in one thread; a copy between hosts has one at each.
    let threads = if ends.is_remote() { 2 } else { 1 };
    let mut alone = apart(parts, ends);
    alone.push((PartName::Pump, cpu_bytes_per_s(ends.cpus.min(threads), ns_per_byte)));
    let is_in_joint = |name| shared_device && matches!(name, PartName::Source | PartName::Sink);
    let mut speeds: Vec<_> = alone.iter().copied().filter(|it| !is_in_joint(it.0)).collect();
    if let Some(whole) = whole {
        settle_whole(&mut speeds, whole);
    }
    let speeds = bottlenecks(speeds);
    let [(slowest, speed), next, ..] = speeds[..] else { return None };
    let most_ns = || parts.iter().map(|part| part.fixed_ns).fold(0.0, f64::max);
    let fixed_ns = whole.map_or_else(most_ns, |whole| whole.fixed_ns);
    let predicted =
        ends.bytes().map_or(speed, |bytes| bytes as f64 / (bytes as f64 / speed + fixed_ns / 1e9));
    Some(Prediction {
        predicted_bytes_per_second: predicted,
        predicted_ns_per_byte: ns_per_byte,
        speed_interval: None,
        cost_interval: None,
        rounds: 1,
        slowest,
        slowest_bytes_per_second: speed,
        next_bytes_per_second: next.1,
        alone: bottlenecks(alone),
        shared_device,
        stored: StoredPrediction::default(),
    })
}

/// The parts that are parts of the law, each by itself, without the pump.
fn apart(parts: &[Part], ends: &CopyEnds) -> Vec<(PartName, f64)> {
    let hidden = remote_end(parts, ends);
    let mut speeds: Vec<(PartName, f64)> = parts
        .iter()
        .filter(|part| part.name != PartName::Pump && !part.name.is_joint())
        .filter(|part| hidden.is_none_or(|hidden| part.name != hidden.name))
        .map(|part| match (part.name, hidden) {
            // Two measurements of one thing: the slower of two is not what it does.
            (PartName::Network, Some(end)) if end.bytes_per_second < part.bytes_per_second => {
                (part.name, (part.bytes_per_second + end.bytes_per_second) / 2.0)
            }
            _ => (part.name, part.bytes_per_second),
        })
        .collect();
    settle_local_end(&mut speeds, ends);
    speeds
}

/// No part is slower than the whole that it is in. A part that is as slow is what slows the whole, except ends that share
/// a device. Only the copy itself keeps to a rate limit.
fn settle_whole(speeds: &mut Vec<(PartName, f64)>, whole: &Part) {
    let speed = whole.bytes_per_second;
    let in_whole = |name: PartName| name != PartName::RateLimit;
    let others = speeds.iter().filter(|(name, _)| in_whole(*name) && *name != whole.name);
    let slowest = others.min_by(|one, other| one.1.total_cmp(&other.1)).copied();
    // An end alone is the whole where the other is null: beside it there is the CPU, and the network it is measured over.
    let lead = if whole.name.is_joint() { LEAD_MIN } else { 1.0 };
    let named = slowest.filter(|it| whole.name != PartName::Together && it.1 <= speed * lead);
    let is_hidden = !whole.name.is_joint() && !speeds.iter().any(|it| it.0 == whole.name);
    let name = match named {
        Some(it) => it.0,
        None if is_hidden => PartName::Network,
        None => whole.name,
    };
    speeds.retain(|it| it.0 != name);
    speeds.iter_mut().filter(|it| in_whole(it.0)).for_each(|it| it.1 = it.1.max(speed));
    speeds.insert(0, (name, speed));
}

/// The end on another host, if it is no slower than the network: it was measured over that, so that it is at least as
/// fast and nothing more is known.
fn remote_end<'parts>(parts: &'parts [Part], ends: &CopyEnds) -> Option<&'parts Part> {
    let known = |name| parts.iter().find(|part| part.name == name);
    let end = known(if ends.is_push() { PartName::Sink } else { PartName::Source })?;
    let network = known(PartName::Network).filter(|_| ends.is_remote())?;
    (end.bytes_per_second * LEAD_MIN >= network.bytes_per_second).then_some(end)
}

/// The end on this host with the network is no part of its own, unless it is slower than both by themselves.
fn settle_local_end(speeds: &mut Vec<(PartName, f64)>, ends: &CopyEnds) {
    let end = if ends.is_push() { PartName::Source } else { PartName::Sink };
    let at = speeds.iter().position(|(name, _)| *name == PartName::Local);
    let slower = (0..speeds.len())
        .filter(|&at| [end, PartName::Network].contains(&speeds[at].0))
        .min_by(|&one, &other| speeds[one].1.total_cmp(&speeds[other].1));
    let Some((local, slower)) = at.zip(slower) else { return };
    let (alone, with) = (speeds[slower].1, speeds[local].1);
    if with * LEAD_MIN >= alone {
        // Faster with the network than without it: another source than before, of which some was in memory by then.
        let is_one = with <= alone * LEAD_MIN;
        speeds[slower].1 = if is_one { with.min((alone + with) / 2.0) } else { alone };
        speeds.remove(local);
    }
}

/// Whether an end could not be measured: a pipe, a folder, one that has no room. Then the copy may be slower than its
/// parts allow.
pub(super) fn is_partial(parts: &[Part], ends: &CopyEnds) -> bool {
    let has = |name| parts.iter().any(|part| part.name == name || part.name.is_joint());
    let is_known = |end, name| end == End::Null || has(name);
    !(is_known(ends.source, PartName::Source) && is_known(ends.sink, PartName::Sink))
}

/// Each part but the bare pump contains one pump; between two hosts there are two.
fn costs(parts: &[Part], ends: &CopyEnds) -> f64 {
    let cost = |name| parts.iter().find(|part| part.name == name).map(|part| part.cpu_ns_per_byte);
    let pump = cost(PartName::Pump).unwrap_or(0.0);
    // Both ends were measured over the network: it is in both.
    if let Some(local) = cost(PartName::Local) {
        let remote = cost(if ends.is_push() { PartName::Sink } else { PartName::Source });
        return remote
            .zip(cost(PartName::Network))
            .map_or(local, |(remote, network)| local + remote - network)
            .max(0.0);
    }
    // A remote end is measured over the network, which it contains.
    let names = match (ends.is_push(), ends.is_remote()) {
        (true, _) if cost(PartName::Sink).is_some() => vec![PartName::Source, PartName::Sink],
        (false, true) if cost(PartName::Source).is_some() => vec![PartName::Source, PartName::Sink],
        (_, true) => vec![PartName::Source, PartName::Network, PartName::Sink],
        (_, false) => vec![PartName::Source, PartName::Sink],
    };
    let known: Vec<f64> = names.into_iter().filter_map(cost).collect();
    let pumps_more = known.len().saturating_sub(1);
    sum_without_pumps(known, pumps_more, pump).max(0.0)
}

/// What the copy did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) bytes_per_second: f64,
    pub(super) ns_per_byte: f64,
    pub(super) error_percent: Option<f64>,
}

impl Seen {
    pub(super) fn from_report(report: &Report, prediction: Option<&Prediction>) -> Seen {
        let bytes_per_second = moved_bytes_per_s(report);
        let error = |prediction: &Prediction| {
            relative_error_percent(bytes_per_second, prediction.predicted_bytes_per_second)
        };
        Seen {
            bytes_per_second,
            ns_per_byte: cpu_ns(report) as f64 / report.bytes_moved.max(1) as f64,
            error_percent: prediction.and_then(error).map(f64::abs),
        }
    }
}

/// The cause: where the copy's own account and the parts agree, that; else whichever has the better evidence; and that
/// it cannot be told, where neither has. Parts that lack an end are no evidence against a copy that is slower.
pub(super) fn decide(
    prediction: Option<&Prediction>,
    is_partial: bool,
    report: &Report,
    seen: &Seen,
) -> (LimitedBy, LimitedDetail) {
    let told = (report.limited_by, report.limited_detail.clone());
    let detail = &report.limited_detail;
    let fraction = detail.waited_ns as f64 / detail.of_ns.max(1) as f64;
    let is_clear = fraction >= CLEAR_FRACTION && !matches!(told.0, LimitedBy::Balanced | LimitedBy::Unknown);
    let Some(prediction) = prediction else { return told };
    let is_true = seen.error_percent.is_some_and(|error| error <= ERROR_MAX_PERCENT);
    let leads = prediction.next_bytes_per_second >= LEAD_MIN * prediction.slowest_bytes_per_second;
    let by_parts = prediction.slowest.limit(told.0);
    // A limit that is set, and that was reached, needs no second witness.
    let is_known = report.exit_status != 0 || detail.why.is_rate_limit() || detail.why.is_group_limit();
    let agrees = by_parts == told.0 && (prediction.slowest != PartName::Chain || is_true);
    let lacks_evidence =
        is_partial && !is_true && seen.bytes_per_second < prediction.predicted_bytes_per_second;
    if is_known || is_clear || agrees || lacks_evidence {
        told
    } else if is_true && leads {
        (by_parts, by_law(prediction, report))
    } else if is_true {
        (LimitedBy::Balanced, LimitedDetail { why: Why::EqualStages, ..told.1 })
    } else {
        let why = Why::RunsDisagree;
        (LimitedBy::Unknown, LimitedDetail { stage: String::new(), why, ..told.1 })
    }
}

fn by_law(prediction: &Prediction, report: &Report) -> LimitedDetail {
    let detail = &report.limited_detail;
    let is_sealed = report.network.is_some_and(|network| network.is_sealed());
    let (stage, why) = match prediction.slowest {
        PartName::Source => ("read", Why::Device),
        PartName::Sink => ("write", Why::Device),
        PartName::Together => ("write", Why::SharedDevice),
        PartName::Network => ("send", Why::SlowestPart),
        PartName::Pump => ("compute", Why::PostingRequests),
        PartName::Local if is_sealed => ("compute", Why::Encryption),
        PartName::Local => ("compute", Why::Copying),
        PartName::RateLimit => ("read", Why::RateLimit),
        // The copy itself tells it.
        PartName::Chain => (&*detail.stage, detail.why),
    };
    // What the copy knows of the limit of a control group holds for that end.
    let is_limited = detail.why.is_group_limit() && detail.stage == stage;
    let (why, setting) = if is_limited { (detail.why, detail.setting.clone()) } else { (why, String::new()) };
    LimitedDetail { stage: stage.into(), why, setting, ..detail.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: PartName, mb_per_s: f64, ns_per_byte: f64) -> Part {
        Part { bytes_per_second: mb_per_s * 1e6, cpu_ns_per_byte: ns_per_byte, ..Part::new(name) }
    }

    fn report(limited_by: LimitedBy, mb_per_s: u64, waited: u64) -> Report {
        let detail = LimitedDetail { waited_ns: waited, of_ns: 100, ..LimitedDetail::default() };
        Report {
            bytes_moved: mb_per_s * 1_000_000,
            elapsed_ns: 1_000_000_000,
            limited_by,
            limited_detail: detail,
            ..Report::default()
        }
    }

    #[test]
    fn a_chain_is_as_fast_as_its_slowest_part() {
        use PartName::{Chain, Network, Pump, Sink, Source, Together};
        let local = [part(Pump, 1e5, 0.02), part(Source, 2000.0, 0.1), part(Sink, 1500.0, 0.2)];
        let shared = [&local[..], &[part(Together, 900.0, 0.3)]].concat();
        let memory = [&local[..], &[part(Chain, 1000.0, 0.5)]].concat();
        let disk = [&local[..], &[part(Chain, 1450.0, 0.5)]].concat();
        let push = [
            part(Pump, 1e5, 0.02),
            part(Source, 2000.0, 0.1),
            part(Network, 1000.0, 0.4),
            part(Sink, 990.0, 0.6),
        ];
        let costly = [part(Pump, 1e5, 0.02), part(Source, 2000.0, 0.5), part(Sink, 3000.0, 0.6)];
        for (what, parts, remote, slowest, mb_per_s, ns_per_byte) in [
            ("two disks", &local[..], End::File(0), Sink, 1500.0, 0.28),
            ("one disk", &shared, End::File(0), Together, 900.0, 0.3),
            ("into memory", &memory, End::File(0), Chain, 1000.0, 0.5),
            ("one machine, and a slow disk", &disk, End::File(0), Sink, 1450.0, 0.5),
            ("two hosts", &push, End::Remote, Network, 995.0, 0.68),
            ("one CPU", &costly, End::File(0), Pump, 1e3 / 1.08, 1.08),
        ] {
            let ends = CopyEnds { source: End::Once, sink: remote, ..CopyEnds::for_tests() };
            let got = predict(parts, &ends).expect("there are parts");
            assert_eq!(got.slowest, slowest, "{what}");
            assert!((got.predicted_bytes_per_second / 1e6 / mb_per_s - 1.0).abs() < 1e-9, "{what}: {got:?}");
            assert!((got.predicted_ns_per_byte - ns_per_byte).abs() < 1e-9, "{what}: {got:?}");
        }
        assert_eq!(predict(&[part(Pump, 1e5, 0.02)], &CopyEnds::for_tests()), None);
        let nothing = CopyEnds { copy_bytes: Some(0), ..CopyEnds::for_tests() };
        assert_eq!(predict(&local, &nothing), None, "0 bytes in no time are no speed");
    }

    /// Statement S29: what is stored before the copy is all that is needed to compute the prediction again, and that is the
    /// sum of its parts.
    #[test]
    fn s29_a_stored_explanation_is_the_sum_of_its_parts() {
        use PartName::{Network, Pump, Sink, Source};
        let round = |at: f64| {
            vec![
                part(Pump, 1e5, 0.02 + at / 1e3),
                part(Source, 2000.0 + at, 0.1 + at / 71.0),
                part(Network, 1000.0 - 3.0 * at, 0.4 + at / 37.0),
                part(Sink, 990.0 - 7.0 * at, 0.6 + at / 13.0),
            ]
        };
        let rounds: Vec<Vec<Part>> = (0..7).map(|at| round(f64::from(at))).collect();
        let of = |at: usize| rounds.iter().map(|parts| &parts[at]).collect::<Vec<_>>();
        let parts: Vec<Part> = (0..4).filter_map(|at| Part::mean(&of(at))).collect();
        let measured = MeasuredRounds { parts, rounds, wrong: Vec::new() };
        let ends = CopyEnds { source: End::Once, sink: End::Remote, ..CopyEnds::for_tests() };
        let prediction = predict_rounds(&measured, &ends).expect("there are parts");
        let stored = &prediction.stored;
        assert_eq!(stored.digest, blake3::hash(stored.text.as_bytes()).to_hex().as_str());
        let lines: Vec<Vec<&str>> = stored.text.lines().map(|line| line.split(' ').collect()).collect();
        let figure = |name: &str| {
            let line = lines.iter().find(|words| words[0] == name).expect("it is stored");
            line[1].parse::<f64>().expect("a figure")
        };
        let cost = |part: &str| {
            let line =
                lines.iter().find(|words| words[0] == "part" && words[1] == part).expect("it is stored");
            assert_eq!(line[6], "cpu_ns_per_byte");
            line[7].parse::<f64>().expect("a figure")
        };
        // Each part but the bare pump contains one, and the sink was measured over the network.
        let sum = cost("source") + cost("sink") - cost("pump");
        assert!((figure("predicted_ns_per_byte") - sum).abs() <= 1e-9 * sum, "{}", stored.text);
        assert_eq!(figure("predicted_ns_per_byte"), prediction.predicted_ns_per_byte);
        let times = lines
            .iter()
            .filter(|words| words[0] == "round")
            .map(|words| 1.0 / words[2].parse::<f64>().unwrap_or(0.0));
        let times: Vec<f64> = times.collect();
        let speed = times.len() as f64 / times.iter().sum::<f64>();
        assert!((figure("predicted_bytes_per_second") / speed - 1.0).abs() <= 1e-9, "{}", stored.text);
        assert_eq!((times.len(), prediction.rounds), (7, 7));
        let interval = prediction.speed_interval.expect("seven rounds");
        assert_eq!(figure("predicted_bytes_per_second_low"), interval.low);
        assert!(interval.contains(prediction.predicted_bytes_per_second), "{interval:?}");
    }

    #[test]
    fn an_end_with_the_network_is_a_part_if_it_is_slower_than_both() {
        use PartName::{Local, Network, Pump, Sink, Source};
        for (what, local, slowest, mb_per_s) in [
            ("as fast as the network", 960.0, Network, 960.0),
            ("faster, by chance", 1080.0, Network, 1040.0),
            ("much faster, out of memory", 1500.0, Network, 995.0),
            ("slower than both", 700.0, Local, 700.0),
        ] {
            let parts = [(Pump, 1e5), (Source, 2000.0), (Network, 1000.0), (Local, local), (Sink, 990.0)];
            let parts = parts.map(|(name, speed)| part(name, speed, 0.1));
            let ends = CopyEnds { source: End::File(0), sink: End::Remote, ..CopyEnds::for_tests() };
            let got = predict(&parts, &ends).expect("there are parts");
            assert_eq!(got.slowest, slowest, "{what}: {got:?}");
            // A remote end that is as fast as the network is a little slower still.
            assert!((got.slowest_bytes_per_second / 1e6 - mb_per_s).abs() <= 10.0, "{what}: {got:?}");
            assert!((got.predicted_ns_per_byte - 0.1).abs() < 1e-9, "{what}: {got:?}");
        }
    }

    /// A part that is measured over the network is no slower than the network, unless it is.
    #[test]
    fn a_remote_end_hides_behind_the_network() {
        use PartName::{Network, Pump, Sink, Source};
        for (what, ends, source, network, sink, slowest) in [
            ("a slow path, pull", (End::Remote, End::File(0)), 4.5, 4.7, 1800.0, Network),
            ("a slow path, push", (End::Once, End::Remote), 1400.0, 4.7, 4.5, Network),
            ("a slow disk there, pull", (End::Remote, End::File(0)), 8.3, 600.0, 1800.0, Source),
            ("a slow disk there, push", (End::Once, End::Remote), 1400.0, 600.0, 8.3, Sink),
            ("a slow disk here, pull", (End::Remote, End::File(0)), 590.0, 600.0, 8.3, Sink),
        ] {
            let parts = [(Pump, 1e5), (Source, source), (Network, network), (Sink, sink)];
            let parts = parts.map(|(name, speed)| part(name, speed, 0.1));
            let ends = CopyEnds { source: ends.0, sink: ends.1, ..CopyEnds::for_tests() };
            let got = predict(&parts, &ends).expect("there are parts");
            assert_eq!(got.slowest, slowest, "{what}: {got:?}");
            assert!(got.next_bytes_per_second > 400e6, "{what}: {got:?}");
            assert!(!is_partial(&parts, &ends), "{what}");
            assert!(is_partial(&parts[..2], &ends), "{what}");
        }
    }

    /// The name and the figure of one part, which is not what limits.
    #[test]
    fn the_next_limit_is_the_slowest_part_that_was_not_found() {
        use LimitedBy::{Balanced, Cpu, Network, Sink, Source, Sync, Unknown};
        use PartName::{Pump, Together};
        let parts = [
            part(Pump, 1e5, 0.02),
            part(PartName::Source, 2000.0, 0.1),
            part(PartName::Sink, 1500.0, 0.2),
            part(Together, 900.0, 0.3),
        ];
        let shared = predict(&parts, &CopyEnds { source: End::File(9), ..CopyEnds::for_tests() });
        let shared = shared.expect("there are parts");
        let chain = [&parts[..3], &[part(PartName::Chain, 1600.0, 0.25)]].concat();
        let chain = predict(&chain, &CopyEnds { source: End::File(9), ..CopyEnds::for_tests() });
        let chain = chain.expect("there are parts");
        for (what, prediction, limit, why, mb_per_s, expected) in [
            ("one disk", &shared, Sink, Why::SharedDevice, 880, Some((PartName::Sink, 1500.0))),
            ("a limit", &shared, Source, Why::RateLimit, 10, Some((PartName::Sink, 1500.0))),
            (
                "a limit of the server",
                &shared,
                Source,
                Why::ServerLimit,
                1490,
                Some((PartName::Sink, 1500.0)),
            ),
            ("the target", &chain, Sink, Why::Device, 1400, Some((PartName::Source, 2000.0))),
            ("the target's syncs", &chain, Sync, Why::StableStorage, 1400, Some((PartName::Source, 2000.0))),
            ("the source", &chain, Source, Why::Device, 1400, Some((PartName::Sink, 1500.0))),
            ("a part that is slower", &chain, Source, Why::Device, 1550, None),
            ("the CPU", &chain, Cpu, Why::Copying, 1400, Some((PartName::Sink, 1500.0))),
            ("others' CPU", &chain, Cpu, Why::NotScheduled, 700, None),
            ("two parts", &chain, Balanced, Why::EqualStages, 1400, None),
            ("nothing", &chain, Unknown, Why::RunsDisagree, 700, None),
            ("a path", &chain, Network, Why::CongestionWindow, 100, Some((PartName::Sink, 1500.0))),
        ] {
            let mut found = report(limit, mb_per_s, 90);
            found.limited_detail.why = why;
            let got = prediction.next_limit(&found).map(|(name, speed)| (name, (speed / 1e6).round()));
            assert_eq!(got, expected, "{what}: {:?}", prediction.alone);
        }
    }

    #[test]
    fn the_better_evidence_decides() {
        use LimitedBy::{Balanced, Cpu, Sink, Source, Unknown};
        let prediction = |next| Prediction {
            predicted_bytes_per_second: 1000e6,
            predicted_ns_per_byte: 0.1,
            slowest: PartName::Sink,
            slowest_bytes_per_second: 1000e6,
            next_bytes_per_second: next,
            alone: Vec::new(),
            shared_device: false,
            speed_interval: None,
            cost_interval: None,
            rounds: 1,
            stored: StoredPrediction::default(),
        };
        for (what, next, report, expected) in [
            ("both say it", 2000e6, report(Sink, 950, 40), Sink),
            ("the copy is sure", 2000e6, report(Source, 950, 80), Source),
            ("the parts are right", 2000e6, report(Cpu, 950, 30), Sink),
            ("two parts are equal", 1050e6, report(Cpu, 950, 30), Balanced),
            ("nothing fits", 2000e6, report(Cpu, 500, 30), Unknown),
            ("the copy knows, parts do not", 2000e6, report(Balanced, 980, 70), Sink),
        ] {
            let prediction = prediction(next);
            let seen = Seen::from_report(&report, Some(&prediction));
            let (limited_by, detail) = decide(Some(&prediction), false, &report, &seen);
            assert_eq!(limited_by, expected, "{what}: {detail:?}");
        }
        // A small file: half of the time it takes to begin, and that is no lead of the sink.
        let small = Prediction { predicted_bytes_per_second: 500e6, ..prediction(1050e6) };
        let copy = report(Cpu, 500, 30);
        let seen = Seen::from_report(&copy, Some(&small));
        assert_eq!(decide(Some(&small), false, &copy, &seen).0, Balanced);
        // The sink's share of the room was too small for it to be measured: 7.64 MB/s where 307 were "predicted".
        let report = report(Source, 8, 45);
        let seen = Seen::from_report(&report, Some(&prediction(2000e6)));
        for (is_partial, expected) in [(true, Source), (false, Unknown)] {
            assert_eq!(decide(Some(&prediction(2000e6)), is_partial, &report, &seen).0, expected);
        }
    }
}
