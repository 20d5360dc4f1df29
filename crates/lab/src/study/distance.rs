//! The steps that put the two ends of a run at a distance: a relay that delays bytes, a path that carries packets.
//!
//! Must not know: how either is made.

mod path;
mod relay;

use std::time::Duration;

use datapump::units::parse_duration;

pub use path::{NONE, PathKind, PathTemplate};
pub use relay::RelayTemplate;

/// A round trip to the moon takes 2.6 s. More than this is a typing error.
const RTT_MAX: Duration = Duration::from_secs(10);

fn parse_time(word: &str) -> Result<Duration, String> {
    match parse_duration(word)? {
        time if time > RTT_MAX => Err(format!("'{word}' is more than {} s; write less", RTT_MAX.as_secs())),
        time => Ok(time),
    }
}
