//! Flags of `pump lab request-response`.
//!
//! Must not know: how answers are requested.

use std::ffi::OsString;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, value_parser};
use datapump::units::{parse_bytes, parse_duration};

use crate::args::net::ReachArguments;
use crate::args::{HOW, OUTPUT, WHAT};

const ANSWER_BYTES_MAX: u64 = 16 << 20;
const IDLE_MAX: Duration = Duration::from_secs(600);

/// Request answers over one TCP connection and count their round trips
///
/// The other end is a pump serve of any kind: answers are blocks of null bytes. The first answer of the connection
/// stands apart from later ones. With --insecure=bare on both ends nothing is sealed or hashed: a request takes less
/// than 64 bytes, an answer 56 more than its size.
#[derive(Debug, Args)]
pub struct LabRequestResponseArguments {
    /// The server, as pump://HOST:PORT/
    #[arg(value_name = "PLACE", help_heading = WHAT, display_order = 0)]
    pub place: OsString,

    /// Bytes of each answer
    ///
    /// A number from 1, or a size up to 16MiB. Default: 64KiB.
    ///
    /// Example: pump lab request-response --answer-size 1000000 pump://host:4000/
    #[arg(long, value_name = "SIZE", env = "PUMP_ANSWER_SIZE", help_heading = WHAT, value_parser = parse_answer)]
    #[arg(default_value = "64KiB", hide_default_value = true)]
    pub answer_size: u32,

    /// How many are requested
    ///
    /// A count. Default: 10.
    ///
    /// Example: pump lab request-response --events 100 pump://host:4000/
    #[arg(long, value_name = "COUNT", env = "PUMP_EVENTS", help_heading = WHAT)]
    #[arg(value_parser = value_parser!(u32).range(1..=100_000), default_value = "10", hide_default_value = true)]
    pub events: u32,

    /// Request nothing for so long between an answer and the next request
    ///
    /// At most 600s. Default: 0s.
    ///
    /// Example: pump lab request-response --idle 10s pump://host:4000/
    #[arg(long, value_name = "TIME", env = "PUMP_IDLE", help_heading = HOW, value_parser = parse_idle)]
    #[arg(default_value = "0s", hide_default_value = true)]
    pub idle: Duration,

    /// Requests under way at most
    ///
    /// A count from 1 to 16. With --idle so many are requested together. Default: 1.
    ///
    /// Example: pump lab request-response --depth 4 pump://host:4000/
    #[arg(long, value_name = "COUNT", env = "PUMP_DEPTH", help_heading = HOW)]
    #[arg(value_parser = value_parser!(u32).range(1..=16), default_value = "1", hide_default_value = true)]
    pub depth: u32,

    #[command(flatten)]
    pub reach: ReachArguments,

    /// Print the figures as JSON
    ///
    /// On standard output, an event `request_response` and a report. Default: off.
    ///
    /// Example: pump lab request-response --json pump://host:4000/
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}

/// A plain number is one of bytes, as it is for datagrams.
fn parse_answer(text: &str) -> Result<u32, String> {
    match text.parse::<u64>().or_else(|_| parse_bytes(text))? {
        bytes if (1..=ANSWER_BYTES_MAX).contains(&bytes) => Ok(bytes as u32),
        _ => Err(format!("'{text}' is no answer size: write 1 to 16MiB")),
    }
}

fn parse_idle(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        idle if idle <= IDLE_MAX => Ok(idle),
        _ => Err(format!("'{text}' is too long: write at most {} s", IDLE_MAX.as_secs())),
    }
}
