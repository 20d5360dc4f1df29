//! How far the losses of a stream lie apart, in two numbers: the mean, and how much the gaps differ.
//!
//! Must not know: what losses come from.

use minicbor::{Decode, Encode};

/// The gaps from one lost sequence number to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LossGaps {
    /// Number of gaps: one less than losses.
    #[n(0)]
    pub gaps: u64,
    /// Thousandths of their mean length; neighbours are 1 apart.
    #[n(1)]
    pub mean_thousandths: u64,
    /// Thousandths of their standard deviation over their mean (coefficient of variation).
    #[n(2)]
    pub variation_thousandths: u64,
    /// The longest.
    #[n(3)]
    pub longest: u64,
}

impl LossGaps {
    /// Of lost sequence numbers in their order.
    pub fn from_lost(lost: impl Iterator<Item = u64>) -> LossGaps {
        let (mut last, mut gaps) = (None, LossGaps::default());
        // Welford's sums: numbers are added up to 2^26 times.
        let (mut mean, mut squares) = (0.0, 0.0);
        for sequence in lost {
            if let Some(last) = last.replace(sequence) {
                let gap = sequence - last;
                gaps.gaps += 1;
                gaps.longest = gaps.longest.max(gap);
                let apart = gap as f64 - mean;
                mean += apart / gaps.gaps as f64;
                squares += apart * (gap as f64 - mean);
            }
        }
        let deviation = if gaps.gaps > 1 { (squares / (gaps.gaps - 1) as f64).sqrt() } else { 0.0 };
        let thousandths = |value: f64| (value * 1000.0).round() as u64;
        LossGaps {
            mean_thousandths: thousandths(mean),
            variation_thousandths: thousandths(if mean > 0.0 { deviation / mean } else { 0.0 }),
            ..gaps
        }
    }
}
