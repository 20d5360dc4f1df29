//! How flows share a bottleneck: rates, Jain's index, and the seven regions of a staged run.
//!
//! Must not know: how a flow and a bottleneck work, how figures are shown.

use schemars::JsonSchema;
use serde::Serialize;

use super::forms::jain_index;
use super::network::{Member, SharedPath};
use super::path::PathEnds;
use super::{Stack, limits};
use crate::SettingsError;
use crate::losses::{LossRule, Losses};

/// Flows on one link.
#[derive(Clone, Debug)]
pub struct SharingCase {
    /// Stack and round trip time of each.
    pub flows: Vec<(Stack, f64)>,
    /// The rate of the bottleneck.
    pub rate_bytes_per_s: f64,
    /// How long it goes on.
    pub duration_s: f64,
    /// The losses besides the drops of the queue.
    pub loss: LossRule,
    /// Of the losses by chance.
    pub seed: u64,
    /// Whether a full queue drops a segment of every flow.
    pub is_common: bool,
    /// Whether flows come one after another, and go in the same order: with n flows 2n - 1 regions of equal length.
    pub is_staged: bool,
    /// The rest of the settings; the queue's default is what the longest path holds.
    pub ends: PathEnds,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SharingOutcome {
    /// The stack of each flow.
    pub stacks: Vec<&'static str>,
    /// Jain's index of the rates: 1 for equal shares. Null where nothing came.
    pub jain: Option<f64>,
    /// Bytes a second of each flow: over the last third, or over the middle region of a staged run.
    pub rates: Vec<f64>,
    /// What all had of the link in that time.
    pub share_of_link: f64,
    /// Losses of each flow.
    pub losses: Vec<u64>,
    /// Thirds, or the regions of a staged run.
    pub regions: Vec<Region>,
}

/// A part of the run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Region {
    /// When it begins.
    pub begin_s: f64,
    /// When it ends.
    pub end_s: f64,
    /// Flows that are there.
    pub flows: u32,
    /// Bytes a second of each flow.
    pub rates: Vec<f64>,
    /// Jain's index of those that are there; null where nothing came.
    pub jain: Option<f64>,
    /// What all had of the link.
    pub share_of_link: f64,
}

/// More flows than anyone compares.
const FLOWS_MAX: f64 = 64.0;

/// Runs the flows.
///
/// Errors: a number that means no path, or more than anyone waits for.
pub fn simulate_sharing(case: &SharingCase) -> Result<SharingOutcome, SettingsError> {
    limits::within("the number of flows", case.flows.len() as f64, 1.0..=FLOWS_MAX, "flows")?;
    let check = |flow: &(Stack, f64)| case.ends.check(case.rate_bytes_per_s, flow.1, case.duration_s);
    case.flows.iter().try_for_each(check)?;
    limits::losses(case.loss)?;
    let longest_s = case.flows.iter().map(|flow| flow.1).fold(0.0, f64::max);
    let link = case.ends.bottleneck(case.rate_bytes_per_s, longest_s);
    let mut network = SharedPath::new(link, members(case), Losses::new(case.loss, case.seed));
    network.is_common = case.is_common;
    let bounds = bounds(case);
    let regions: Vec<Region> =
        bounds.windows(2).map(|two| region(&mut network, case, two[0], two[1])).collect();
    let judged = &regions[if case.is_staged { case.flows.len() - 1 } else { regions.len() - 1 }];
    Ok(SharingOutcome {
        stacks: case.flows.iter().map(|flow| flow.0.as_str()).collect(),
        jain: judged.jain,
        rates: judged.rates.clone(),
        share_of_link: judged.share_of_link,
        losses: network.members.iter().map(|member| member.flow.losses).collect(),
        regions,
    })
}

/// When regions begin and end.
fn bounds(case: &SharingCase) -> Vec<f64> {
    let regions = if case.is_staged { 2 * case.flows.len() - 1 } else { 3 };
    (0..=regions).map(|region| case.duration_s * region as f64 / regions as f64).collect()
}

fn members(case: &SharingCase) -> Vec<Member> {
    let bounds = bounds(case);
    let member = |(number, &(stack, rtt_s)): (usize, &(Stack, f64))| {
        let flow = case.ends.flow(stack);
        if case.is_staged {
            Member::new(flow, rtt_s, bounds[number], bounds[number + case.flows.len()])
        } else {
            Member::new(flow, rtt_s, 0.0, f64::INFINITY)
        }
    };
    case.flows.iter().enumerate().map(member).collect()
}

fn region(network: &mut SharedPath, case: &SharingCase, begin_s: f64, end_s: f64) -> Region {
    let before = delivered(network);
    network.run(end_s);
    let rate =
        |(after, before): (u64, u64)| (after - before) as f64 * case.ends.segment_bytes / (end_s - begin_s);
    let rates: Vec<f64> = std::iter::zip(delivered(network), before).map(rate).collect();
    let is_there = |member: &Member| member.from_s <= begin_s && end_s <= member.until_s;
    let there = std::iter::zip(&network.members, &rates).filter(|(member, _)| is_there(member));
    let there: Vec<f64> = there.map(|(_, rate)| *rate).collect();
    Region {
        begin_s,
        end_s,
        flows: there.len() as u32,
        jain: jain_index(&there),
        share_of_link: rates.iter().sum::<f64>() / case.rate_bytes_per_s,
        rates,
    }
}

fn delivered(network: &SharedPath) -> Vec<u64> {
    network.members.iter().map(|member| member.flow.delivered).collect()
}
