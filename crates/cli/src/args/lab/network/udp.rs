//! Flags of `pump lab udp`.
//!
//! Must not know: how datagrams are sent.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, Subcommand, value_parser};
use datapump::datagrams::{DATAGRAM_BYTES_MAX, DATAGRAM_HEAD_BYTES};
use datapump::units::{parse_duration, parse_rate};

use crate::args::{HOW, OUTPUT, TUNING, WHAT};

/// Payloads of 64 to 1400 bytes.
const FRAME_SIZES: &str = "64,128,256,384,512,640,768,896,1024,1152,1280,1400";

/// Measure a path with datagrams: latency by frame size, paced streams
///
/// The other end is a pump serve --allow-udp RATE, which bounds rate and time. Datagrams go to its UDP port, which has
/// the number of its TCP port where that is free, and are not fragmented on the way.
#[derive(Debug, Args)]
pub struct LabUdpArguments {
    /// The measurement.
    #[command(subcommand)]
    pub command: UdpCommand,
}

/// The measurements with datagrams.
#[derive(Debug, Subcommand)]
pub enum UdpCommand {
    Latency(UdpLatencyArguments),
    Throughput(UdpThroughputArguments),
}

impl UdpCommand {
    /// Whether standard output carries JSON.
    pub fn json(&self) -> bool {
        match self {
            UdpCommand::Latency(latency) => latency.server.json,
            UdpCommand::Throughput(throughput) => throughput.server.json,
        }
    }
}

/// The other end, and what is printed.
#[derive(Debug, Args)]
pub struct UdpServerArguments {
    /// The server, as pump://HOST:PORT/
    #[arg(value_name = "PLACE", help_heading = WHAT, display_order = 0)]
    pub place: OsString,

    /// Read the ticket from a file
    ///
    /// The flag of this name of pump serve writes it. Default: the ticket is taken from the environment (PUMP_TICKET)
    /// or asked for on a terminal.
    ///
    /// Example: pump lab udp latency --ticket-file ticket pump://host:4000/
    #[arg(long, value_name = "FILE", env = "PUMP_TICKET_FILE", help_heading = HOW)]
    pub ticket_file: Option<PathBuf>,

    /// Print the figures as JSON
    ///
    /// On standard output, an event `udp_latency` or `udp_throughput` and a report. Default: off.
    ///
    /// Example: pump lab udp latency --json pump://host:4000/
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}

/// Time round trips of single datagrams by frame size
///
/// The server sends each back. Printed are the median and the width of the distribution of each size, and how latency
/// grows with the size: the slope is the cost of a byte on the whole way, there and back.
#[derive(Debug, Args)]
pub struct UdpLatencyArguments {
    #[command(flatten)]
    pub server: UdpServerArguments,

    /// Payloads of the datagrams in bytes
    ///
    /// Numbers from 32 to 65507 with commas between them. Default: 12 sizes from 64 to 1400.
    ///
    /// Example: pump lab udp latency --frame-size 64,1472,8972 pump://host:4000/
    #[arg(long, value_name = "BYTES,…", env = "PUMP_FRAME_SIZE", help_heading = WHAT, value_delimiter = ',')]
    #[arg(value_parser = parse_frame, default_value = FRAME_SIZES, hide_default_value = true)]
    pub frame_size: Vec<u32>,

    /// Round trips of each size
    ///
    /// A count. Default: 1000.
    ///
    /// Example: pump lab udp latency --count 5000 pump://host:4000/
    #[arg(long, value_name = "COUNT", env = "PUMP_COUNT", help_heading = WHAT)]
    #[arg(value_parser = value_parser!(u64).range(1..=1_000_000), default_value = "1000", hide_default_value = true)]
    pub count: u64,

    /// The least time from one round trip to the next
    ///
    /// More where the server's --allow-udp asks for it. Default: 100us.
    ///
    /// Example: pump lab udp latency --spacing 1ms pump://host:4000/
    #[arg(long, value_name = "TIME", env = "PUMP_SPACING", help_heading = WHAT, value_parser = parse_duration)]
    #[arg(default_value = "100us", hide_default_value = true)]
    pub spacing: Duration,
}

/// Send a paced stream of datagrams and count what comes
///
/// Losses, duplicates and reordering are counted by sequence numbers at the server. Printed are the spacing that was
/// achieved, rates of payload and on the wire, the jitter, where losses come from (a full queue or chance), and CPU
/// time of both sides.
#[derive(Debug, Args)]
pub struct UdpThroughputArguments {
    #[command(flatten)]
    pub server: UdpServerArguments,

    /// Payload of each datagram in bytes
    ///
    /// A number from 32 to 65507; 1472 fill a packet of 1500. Default: 1472.
    ///
    /// Example: pump lab udp throughput --frame-size 8972 --rate 1Gbit pump://host:4000/
    #[arg(long, value_name = "BYTES", env = "PUMP_FRAME_SIZE", help_heading = WHAT)]
    #[arg(value_parser = parse_frame, default_value = "1472", hide_default_value = true)]
    pub frame_size: u32,

    /// From the beginning of one datagram to that of the next
    ///
    /// 0us is as close as the server allows. A spacing whose rate is above what the server allows is refused before
    /// anything is sent. Default: none; this or --rate is needed.
    ///
    /// Example: pump lab udp throughput --spacing 20us pump://host:4000/
    #[arg(long, value_name = "TIME", env = "PUMP_SPACING", help_heading = WHAT, value_parser = parse_duration)]
    #[arg(required_unless_present = "rate", conflicts_with = "rate")]
    pub spacing: Option<Duration>,

    /// The rate instead of a spacing, headers of UDP and IP counted
    ///
    /// Default: none; this or --spacing is needed.
    ///
    /// Example: pump lab udp throughput --rate 100Mbit pump://host:4000/
    #[arg(long, value_name = "RATE", env = "PUMP_RATE", help_heading = WHAT, value_parser = parse_rate)]
    pub rate: Option<u64>,

    /// How many datagrams are sent
    ///
    /// A count. Default: as many as fit into --for.
    ///
    /// Example: pump lab udp throughput --spacing 20us --count 10000 pump://host:4000/
    #[arg(long, value_name = "COUNT", env = "PUMP_COUNT", help_heading = WHAT)]
    #[arg(value_parser = value_parser!(u64).range(1..=16_777_216))]
    pub count: Option<u64>,

    /// For how long
    ///
    /// At most 60s. Default: 1s.
    ///
    /// Example: pump lab udp throughput --rate 100Mbit --for 10s pump://host:4000/
    #[arg(long = "for", value_name = "TIME", env = "PUMP_FOR", help_heading = WHAT, value_parser = parse_duration)]
    #[arg(default_value = "1s", hide_default_value = true)]
    pub time: Duration,

    /// Datagrams that leave together
    ///
    /// The time between batches is that of so many datagrams. Default: 1.
    ///
    /// Example: pump lab udp throughput --rate 1Gbit --batch 16 pump://host:4000/
    #[arg(long, value_name = "COUNT", env = "PUMP_BATCH", help_heading = TUNING)]
    #[arg(value_parser = value_parser!(u32).range(1..=64), default_value = "1", hide_default_value = true)]
    pub batch: u32,

    /// Hand each batch to the system with one call (segmentation offload)
    ///
    /// Where the system or the device cannot, datagrams are sent one by one, and the output says why. Default: off.
    ///
    /// Example: pump lab udp throughput --rate 1Gbit --batch 16 --offload pump://host:4000/
    #[arg(long, env = "PUMP_OFFLOAD", help_heading = TUNING)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub offload: bool,
}

/// Reads a payload.
fn parse_frame(text: &str) -> Result<u32, String> {
    let bytes = text.parse::<u32>().ok();
    let within = bytes.filter(|bytes| (DATAGRAM_HEAD_BYTES as u32..=DATAGRAM_BYTES_MAX).contains(bytes));
    within.ok_or_else(|| {
        format!(
            "'{text}' is no payload: a number of bytes from {DATAGRAM_HEAD_BYTES} to {DATAGRAM_BYTES_MAX}"
        )
    })
}
