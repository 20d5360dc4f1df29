//! Flags of `pump lab simulate response`, `recovery`, `path` and `sharing`.
//!
//! Must not know: models.

use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};
use datapump::units::{parse_bytes, parse_duration, parse_rate};
use datapump_netlab::LossRule;
use datapump_netlab::congestion::{PathEnds, Stack};

use crate::args::{HOW, OUTPUT, WHAT};

/// The mean window of a stack where one segment in so many is lost
///
/// The window is stepped from loss to loss until it repeats. Printed are its mean, its ends, and what the closed form
/// says.
#[derive(Debug, Args)]
pub struct ResponseArguments {
    #[command(flatten)]
    pub stack: StackArgument,

    /// The part of the segments that is lost
    ///
    /// A number such as 1e-5, or 1/100000. Default: none.
    ///
    /// Example: pump lab simulate response --stack highspeed --loss 1e-6
    #[arg(long, value_name = "LOSS", env = "PUMP_LOSS", help_heading = WHAT)]
    pub loss: LossRule,

    #[command(flatten)]
    pub rtt: RttArgument,

    #[command(flatten)]
    pub segment: SegmentArgument,

    #[command(flatten)]
    pub json: JsonArgument,
}

/// The time until a rate is back after one loss at a full window
#[derive(Debug, Args)]
pub struct RecoveryArguments {
    #[command(flatten)]
    pub stack: StackArgument,

    #[command(flatten)]
    pub rate: RateArgument,

    #[command(flatten)]
    pub rtt: RttArgument,

    #[command(flatten)]
    pub segment: SegmentArgument,

    #[command(flatten)]
    pub acks: AcksArgument,

    #[command(flatten)]
    pub json: JsonArgument,
}

/// One flow over a path with a bottleneck, for as long as you like
///
/// A sender in slow start, then in congestion avoidance; a queue that drops what it cannot hold; losses by chance or by
/// count. Printed are its bandwidth, losses, cuts and timeouts; with --json a time series, too.
#[derive(Debug, Args)]
pub struct PathArguments {
    #[command(flatten)]
    pub stack: StackArgument,

    #[command(flatten)]
    pub rate: RateArgument,

    #[command(flatten)]
    pub rtt: RttArgument,

    #[command(flatten)]
    pub run: PathRunArguments,

    /// So many times of the series
    ///
    /// Default: 100.
    ///
    /// Example: pump lab simulate path --rate 1Gbit --rtt 180ms --duration 1h --samples 3600 --json
    #[arg(long, value_name = "N", env = "PUMP_SAMPLES", help_heading = OUTPUT)]
    #[arg(default_value_t = 100, hide_default_value = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub samples: u32,

    #[command(flatten)]
    pub json: JsonArgument,
}

/// How flows share a bottleneck
///
/// Printed are the rate of each over the last third, and Jain's index of them: 1 for equal shares, 1/n where one of n
/// has all.
#[derive(Debug, Args)]
pub struct SharingArguments {
    /// The stack of each flow
    ///
    /// One of reno, highspeed, highspeed-table, scalable, cubic; one for all, or one a round trip. Default: cubic.
    ///
    /// Example: pump lab simulate sharing --stack reno,cubic --rate 100Mbit --rtt 20ms
    #[arg(long, value_name = "STACK,…", env = "PUMP_STACK", help_heading = WHAT, value_delimiter = ',')]
    #[arg(default_value = "cubic", hide_default_value = true)]
    pub stack: Vec<Stack>,

    #[command(flatten)]
    pub rate: RateArgument,

    /// The round trip time of each flow without a queue
    ///
    /// One for all, or as many as stacks. Default: 100ms.
    ///
    /// Example: pump lab simulate sharing --stack reno --rate 100Mbit --rtt 10ms,80ms
    #[arg(long, value_name = "TIME,…", env = "PUMP_RTT", help_heading = WHAT, value_delimiter = ',')]
    #[arg(default_value = "100ms", hide_default_value = true, value_parser = parse_duration)]
    pub rtt: Vec<Duration>,

    #[command(flatten)]
    pub run: PathRunArguments,

    /// A full queue drops a segment of every flow
    ///
    /// Default: off: of those that come while it is full.
    ///
    /// Example: pump lab simulate sharing --stack reno,reno --rate 100Mbit --rtt 20ms --common-losses
    #[arg(long, env = "PUMP_COMMON_LOSSES", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub common_losses: bool,

    /// Flows come one after another, and go in the same order
    ///
    /// With four flows the run has seven regions; the middle one, in which all are there, is judged. Default: off.
    ///
    /// Example: pump lab simulate sharing --staged --stack cubic --rtt 10ms,20ms,80ms,180ms --rate 1Gbit --duration 16m
    #[arg(long, env = "PUMP_STAGED", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub staged: bool,

    #[command(flatten)]
    pub json: JsonArgument,
}

/// One stack.
#[derive(Debug, Args)]
pub struct StackArgument {
    /// How the sender controls congestion
    ///
    /// One of reno, highspeed (by the formulas of RFC 3649), highspeed-table (by its table, as the kernel), scalable,
    /// cubic. Default: cubic.
    ///
    /// Example: pump lab simulate recovery --stack reno --rate 1Gbit --rtt 120ms
    #[arg(long, value_name = "STACK", env = "PUMP_STACK", help_heading = WHAT)]
    #[arg(default_value = "cubic", hide_default_value = true)]
    pub stack: Stack,
}

/// The bottleneck.
#[derive(Debug, Args)]
pub struct RateArgument {
    /// The rate of the bottleneck
    ///
    /// Bits (400Mbit) or bytes (50MB) a second. Default: 1Gbit.
    ///
    /// Example: pump lab simulate path --rate 400Mbit --rtt 100ms
    #[arg(long, value_name = "RATE", env = "PUMP_RATE", help_heading = WHAT, value_parser = parse_rate)]
    #[arg(default_value = "1Gbit", hide_default_value = true)]
    pub rate: u64,
}

/// The distance.
#[derive(Debug, Args)]
pub struct RttArgument {
    /// The round trip time without a queue
    ///
    /// Default: 100ms.
    ///
    /// Example: pump lab simulate recovery --rate 50Mbit --rtt 60ms --stack highspeed-table
    #[arg(long, value_name = "TIME", env = "PUMP_RTT", help_heading = WHAT, value_parser = parse_duration)]
    #[arg(default_value = "100ms", hide_default_value = true)]
    pub rtt: Duration,
}

/// The unit of windows.
#[derive(Debug, Args)]
pub struct SegmentArgument {
    /// Bytes of a segment on the wire
    ///
    /// Default: 1500.
    ///
    /// Example: pump lab simulate recovery --stack reno --rate 1Gbit --rtt 120ms --segment 9000
    #[arg(long, value_name = "BYTES", env = "PUMP_SEGMENT", help_heading = HOW, value_parser = parse_count)]
    #[arg(default_value = "1500", hide_default_value = true)]
    pub segment: u64,
}

/// What the receiver does.
#[derive(Debug, Args)]
pub struct AcksArgument {
    /// The receiver acknowledges every second segment
    ///
    /// And the window counts acknowledgements, not what they cover: it grows half as fast. Default: off.
    ///
    /// Example: pump lab simulate recovery --stack reno --rate 1Gbit --rtt 120ms --delayed-acks
    #[arg(long, env = "PUMP_DELAYED_ACKS", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub delayed_acks: bool,
}

/// How results are printed.
#[derive(Debug, Args)]
pub struct JsonArgument {
    /// Print the figures as JSON
    ///
    /// On standard output, an event with the figures and a report. Default: off.
    ///
    /// Example: pump lab simulate response --stack reno --loss 1e-4 --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}

/// How long, with which losses, between which ends.
#[derive(Debug, Args)]
pub struct PathRunArguments {
    /// The time that is simulated
    ///
    /// Default: 60s.
    ///
    /// Example: pump lab simulate path --rate 1Gbit --rtt 180ms --duration 1h
    #[arg(long, value_name = "TIME", env = "PUMP_DURATION", help_heading = WHAT, value_parser = parse_duration)]
    #[arg(default_value = "60s", hide_default_value = true)]
    pub duration: Duration,

    /// Loss besides what the queue drops
    ///
    /// A number such as 1e-5 is a probability, 1/100000 exactly one in so many. Default: nothing.
    ///
    /// Example: pump lab simulate path --rate 1Gbit --rtt 180ms --loss 1e-5
    #[arg(long, value_name = "LOSS", env = "PUMP_LOSS", help_heading = WHAT)]
    pub loss: Option<LossRule>,

    /// Decides which segments are lost by chance
    ///
    /// Equal seeds give equal runs. Default: 1.
    ///
    /// Example: pump lab simulate path --loss 1e-5 --seed 7
    #[arg(long, value_name = "N", env = "PUMP_SEED", help_heading = HOW)]
    #[arg(default_value_t = 1, hide_default_value = true)]
    pub seed: u64,

    /// What the queue of the bottleneck holds
    ///
    /// Default: what the (longest) path itself holds.
    ///
    /// Example: pump lab simulate path --rate 400Mbit --rtt 20ms --queue 64KiB
    #[arg(long, value_name = "BYTES", env = "PUMP_QUEUE", help_heading = HOW, value_parser = parse_count)]
    pub queue: Option<u64>,

    /// The smaller of the socket buffers
    ///
    /// Default: no limit.
    ///
    /// Example: pump lab simulate path --rate 1Gbit --rtt 180ms --buffer 6MiB
    #[arg(long, value_name = "BYTES", env = "PUMP_BUFFER", help_heading = HOW, value_parser = parse_count)]
    pub buffer: Option<u64>,

    /// Where a window begins, in segments
    ///
    /// Default: 10 (RFC 6928).
    ///
    /// Example: pump lab simulate path --rate 1Gbit --rtt 180ms --initial-window 2
    #[arg(long, value_name = "N", env = "PUMP_INITIAL_WINDOW", help_heading = HOW)]
    #[arg(default_value_t = 10, hide_default_value = true)]
    pub initial_window: u32,

    /// Losses are not told one by one
    ///
    /// Without selective acknowledgements one segment is sent again in each round trip. Default: off.
    ///
    /// Example: pump lab simulate path --rate 1Gbit --rtt 180ms --loss 1e-4 --no-sack
    #[arg(long, env = "PUMP_NO_SACK", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub no_sack: bool,

    #[command(flatten)]
    pub segment: SegmentArgument,

    #[command(flatten)]
    pub acks: AcksArgument,
}

impl PathRunArguments {
    /// What the ends are set to.
    pub fn ends(&self) -> PathEnds {
        PathEnds {
            segment_bytes: self.segment.segment as f64,
            queue_bytes: self.queue.map(|bytes| bytes as f64),
            buffer_bytes: self.buffer.map(|bytes| bytes as f64),
            initial_segments: f64::from(self.initial_window),
            is_delayed: self.acks.delayed_acks,
            is_selective: !self.no_sack,
        }
    }

    /// The loss.
    pub fn loss(&self) -> LossRule {
        self.loss.unwrap_or(LossRule::None)
    }
}

/// Reads bytes: a number of them, or with a unit.
pub(in crate::args) fn parse_count(text: &str) -> Result<u64, String> {
    text.parse().or_else(|_| parse_bytes(text))
}
