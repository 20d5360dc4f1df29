//! Finds the cause of losses by the distances between them.
//!
//! A queue that is always full drops one datagram in so many: gaps are nearly equal. Losses by chance have geometric
//! gaps, whose deviation is about their mean.
//!
//! Must not know: how losses are counted.

use datapump::datagrams::LossGaps;
use schemars::JsonSchema;
use serde::Serialize;

/// Fewer gaps say nothing: the variation of 20 geometric ones is off by 0.2.
const GAPS_MIN: u64 = 20;
/// Below it gaps count as periodic, in thousandths.
const PERIODIC_BELOW: u64 = 500;
/// Between these they count as geometric.
const GEOMETRIC: std::ops::RangeInclusive<u64> = 800..=1200;

/// Where losses come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossPattern {
    /// Nothing was lost.
    None,
    /// The gaps are nearly equal (coefficient of variation below 0.5): a queue was full.
    Queue,
    /// The gaps are geometric (0.8 to 1.2): each datagram was lost by chance.
    Independent,
    /// Neither of the two, as of losses in bursts.
    Neither,
    /// Fewer than 20 gaps.
    TooFew,
}

impl LossPattern {
    /// The pattern of so many losses with these gaps.
    pub fn from_gaps(lost: u64, gaps: &LossGaps) -> LossPattern {
        match gaps.variation_thousandths {
            _ if lost == 0 => LossPattern::None,
            _ if gaps.gaps < GAPS_MIN => LossPattern::TooFew,
            0..PERIODIC_BELOW => LossPattern::Queue,
            variation if GEOMETRIC.contains(&variation) => LossPattern::Independent,
            _ => LossPattern::Neither,
        }
    }

    /// In words for people.
    pub fn words(self) -> &'static str {
        match self {
            LossPattern::None => "nothing was lost",
            LossPattern::Queue => "gaps between losses are nearly equal: a queue was full",
            LossPattern::Independent => "gaps between losses are geometric: losses by chance",
            LossPattern::Neither => "gaps between losses are neither equal nor geometric",
            LossPattern::TooFew => "too few losses to tell their pattern",
        }
    }
}
