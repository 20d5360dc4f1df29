//! Which of the packets that pass are lost: as a rule that is written, and followed packet by packet.
//!
//! Must not know: what packets are, where they go.

use std::str::FromStr;

use datapump_engine::sim::Random;

/// Which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossRule {
    /// None.
    None,
    /// Each with this probability.
    Chance(f64),
    /// Exactly one in so many, always the last of them.
    Every(u64),
}

impl LossRule {
    /// The part of the packets that is lost.
    pub fn part(self) -> f64 {
        match self {
            LossRule::None => 0.0,
            LossRule::Chance(part) => part,
            LossRule::Every(packets) => 1.0 / packets as f64,
        }
    }
}

impl FromStr for LossRule {
    type Err = String;

    /// A probability such as `1e-5`, or `1/50`: exactly one in so many.
    fn from_str(text: &str) -> Result<LossRule, String> {
        let wrong = || format!("'{text}' is no loss rate; write for example 1e-5 or 1/100000");
        if let Some(packets) = text.strip_prefix("1/") {
            let packets = packets.parse::<u64>().ok().filter(|packets| *packets > 0);
            return packets.map(LossRule::Every).ok_or_else(wrong);
        }
        let part = text.parse::<f64>().ok().filter(|part| (0.0..=1.0).contains(part)).ok_or_else(wrong)?;
        Ok(if part == 0.0 { LossRule::None } else { LossRule::Chance(part) })
    }
}

/// A rule that is followed.
#[derive(Clone, Debug)]
pub struct Losses {
    rule: LossRule,
    random: Random,
    /// Packets up to the next loss, that one counted.
    until: u64,
}

impl Losses {
    /// From the first packet on; equal seeds lose the same ones.
    pub fn new(rule: LossRule, seed: u64) -> Losses {
        let mut losses = Losses { rule, random: Random::seeded(seed, "losses"), until: 0 };
        losses.until = losses.draw();
        losses
    }

    /// Whether the next packet is lost.
    pub fn is_lost(&mut self) -> bool {
        self.until -= 1;
        let is_lost = self.until == 0;
        if is_lost {
            self.until = self.draw();
        }
        is_lost
    }

    fn draw(&mut self) -> u64 {
        match self.rule {
            LossRule::None => u64::MAX,
            LossRule::Every(packets) => packets,
            LossRule::Chance(part) => self.random.until(part),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_they_are_written() {
        for (text, rule) in [
            ("0", LossRule::None),
            ("1e-5", LossRule::Chance(1e-5)),
            ("1/50", LossRule::Every(50)),
            ("1", LossRule::Chance(1.0)),
        ] {
            assert_eq!(text.parse(), Ok(rule), "{text}");
        }
        for text in ["", "2", "-1", "1/0", "1/x", "NaN", "much"] {
            let error = text.parse::<LossRule>().expect_err(text);
            assert!(error.contains("write for example 1e-5"), "{error}");
        }
    }

    #[test]
    fn one_in_so_many_is_the_last_of_them() {
        let lost = |rule| {
            let mut losses = Losses::new(rule, 1);
            (1..=100).filter(|_| losses.is_lost()).collect::<Vec<u32>>()
        };
        assert_eq!(lost(LossRule::Every(40)), [40, 80]);
        assert_eq!((lost(LossRule::None).len(), lost(LossRule::Chance(1.0)).len()), (0, 100));
    }
}
