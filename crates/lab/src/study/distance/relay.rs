//! The step `new_relay` as it is written, and the delays it stands for in a cell.
//!
//! Must not know: how bytes are delayed, which server is behind the relay.

use std::time::Duration;

use datapump::units::parse_rate;
use datapump_netlab::RelayOptions;
use serde::{Deserialize, Serialize};

use super::parse_time;
use crate::study::{Level, fill};

/// The fields of a step `new_relay`: each a value or a factor in braces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RelayTemplate {
    /// Round-trip time: each direction is delayed by half of it.
    pub rtt: Level,
    /// Most that is added to each delay at random.
    pub jitter: Option<Level>,
    /// Most bytes per second in each direction.
    pub rate: Option<Level>,
}

impl RelayTemplate {
    /// Fills the names in and reads the fields.
    ///
    /// Errors: the key and what is wrong with its value.
    pub fn filled(
        &self,
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<RelayOptions, (&'static str, String)> {
        let word = |key, level: &Level| {
            fill(&level.to_string(), value).map_err(|name| (key, format!("{{{name}}} is no factor")))
        };
        let time = |key, level: &Level| parse_time(&word(key, level)?).map_err(|wrong| (key, wrong));
        let rate = |level: &Level| match parse_rate(&word("rate", level)?) {
            Ok(0) => Err(("rate", "nothing would arrive; write for example 100Mbit".into())),
            Ok(rate) => Ok(rate),
            Err(wrong) => Err(("rate", wrong)),
        };
        Ok(RelayOptions {
            delay: time("rtt", &self.rtt)? / 2,
            jitter: self.jitter.as_ref().map_or(Ok(Duration::ZERO), |level| time("jitter", level))?,
            bytes_per_second: self.rate.as_ref().map(rate).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &RelayTemplate) -> Result<RelayOptions, (&'static str, String)> {
        template.filled(&|name| (name == "rtt").then(|| "180ms".to_string()))
    }

    #[test]
    fn each_direction_is_delayed_by_half() {
        let far = RelayTemplate { rtt: "{rtt}".into(), ..RelayTemplate::default() };
        let options = filled(&far).expect("in order");
        assert_eq!(options, RelayOptions { delay: Duration::from_millis(90), ..RelayOptions::default() });
        assert!(options.is_needed());
        let near = RelayTemplate { rtt: "0ms".into(), ..RelayTemplate::default() };
        assert!(!filled(&near).expect("in order").is_needed());
        let slow = RelayTemplate { rate: Some("8Mbit".into()), jitter: Some("2ms".into()), ..near };
        let expected = RelayOptions {
            delay: Duration::ZERO,
            jitter: Duration::from_millis(2),
            bytes_per_second: Some(1_000_000),
        };
        assert_eq!(filled(&slow), Ok(expected));
        assert!(expected.is_needed());
    }

    #[test]
    fn a_wrong_field_is_named_with_what_to_write() {
        for (change, key, hint) in [
            ((|relay| relay.rtt = "20".into()) as fn(&mut RelayTemplate), "rtt", "write for example 250ms"),
            (|relay| relay.rtt = "{lanes}".into(), "rtt", "{lanes} is no factor"),
            (|relay| relay.rtt = "3m".into(), "rtt", "'3m' is more than 10 s"),
            (|relay| relay.jitter = Some("much".into()), "jitter", "write for example 250ms"),
            (|relay| relay.rate = Some("fast".into()), "rate", "'fast'"),
            (|relay| relay.rate = Some("0B".into()), "rate", "write for example 100Mbit"),
        ] {
            let mut relay = RelayTemplate { rtt: "{rtt}".into(), ..RelayTemplate::default() };
            change(&mut relay);
            let (at, message) = filled(&relay).expect_err("wrong");
            assert!(at == key && message.contains(hint), "{key}: {at}: {message}");
        }
    }
}
