//! Flags of `pump lab path`.
//!
//! Must not know: how a path is laid.

use std::net::IpAddr;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, ValueEnum};
use datapump::units::{parse_duration, parse_rate};
use datapump_netlab::LossRule;
use datapump_netlab::emulator::{Aqm, BoxEnd, BoxSettings, LinkSettings};

use crate::args::lab::simulate::parse_count;
use crate::args::{HOW, OUTPUT, WHAT};

/// Lay a path of your choice between two network namespaces of this machine (root)
///
/// Packets go from one TUN device to the other after half of the round trip, at the rate, with the losses that you ask
/// for, in both directions alike. Namespaces that are missing are made, and removed at the end. Prints `ready`, runs
/// until it is ended (Ctrl-C, SIGTERM), and tells what went over it and how near to its settings.
///
/// Example: pump lab path --left a --right b --left-address 10.9.0.1/24 --right-address 10.9.0.2/24 --rate 400Mbit
/// --rtt 100ms
#[derive(Debug, Args)]
pub struct LabPathArguments {
    /// The network namespace of one end
    ///
    /// Default: none.
    ///
    /// Example: pump lab path --left a --right b --rtt 20ms (then: ip netns exec a ping 10.89.0.2)
    #[arg(long, value_name = "NETNS", env = "PUMP_LEFT", help_heading = WHAT)]
    pub left: String,

    /// The network namespace of the other end
    ///
    /// Default: none.
    ///
    /// Example: pump lab path --left a --right b --rate 1Gbit (then: ip netns exec b iperf3 -s)
    #[arg(long, value_name = "NETNS", env = "PUMP_RIGHT", help_heading = WHAT)]
    pub right: String,

    /// The address of the left end, and its network
    ///
    /// Default: 10.89.0.1/24.
    ///
    /// Example: pump lab path --left a --right b --left-address 10.9.0.1/24 --right-address 10.9.0.2/24
    #[arg(long, value_name = "CIDR", env = "PUMP_LEFT_ADDRESS", help_heading = WHAT, value_parser = parse_cidr)]
    #[arg(default_value = "10.89.0.1/24", hide_default_value = true)]
    pub left_address: (IpAddr, u8),

    /// The address of the right end, and its network
    ///
    /// Default: 10.89.0.2/24.
    ///
    /// Example: pump lab path --left a --right b --left-address fd00::1/64 --right-address fd00::2/64
    #[arg(long, value_name = "CIDR", env = "PUMP_RIGHT_ADDRESS", help_heading = WHAT, value_parser = parse_cidr)]
    #[arg(default_value = "10.89.0.2/24", hide_default_value = true)]
    pub right_address: (IpAddr, u8),

    /// The rate of the path, in each direction
    ///
    /// Bits (400Mbit) or bytes (50MB) a second, of packets with the headers of IP. Default: no limit.
    ///
    /// Example: pump lab path --left a --right b --rate 1Gbit --rtt 180ms
    #[arg(long, value_name = "RATE", env = "PUMP_RATE", help_heading = WHAT, value_parser = parse_rate)]
    pub rate: Option<u64>,

    /// The round trip time without a queue
    ///
    /// Default: 0ms.
    ///
    /// Example: pump lab path --left a --right b --rtt 20ms
    #[arg(long, value_name = "TIME", env = "PUMP_RTT", help_heading = WHAT, value_parser = parse_duration)]
    #[arg(default_value = "0ms", hide_default_value = true)]
    pub rtt: Duration,

    /// Packet loss, in each direction
    ///
    /// A number such as 1e-5 is a probability, 1/50 exactly one in so many. Default: nothing.
    ///
    /// Example: pump lab path --left a --right b --rtt 20ms --loss 1/50
    #[arg(long, value_name = "LOSS", env = "PUMP_LOSS", help_heading = WHAT)]
    pub loss: Option<LossRule>,

    /// So many packets are lost at once
    ///
    /// A burst is one loss: --loss counts from its end to the next. Default: 1.
    ///
    /// Example: pump lab path --left a --right b --loss 1e-4 --loss-burst 20
    #[arg(long, value_name = "N", env = "PUMP_LOSS_BURST", help_heading = HOW, requires = "loss")]
    #[arg(default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub loss_burst: u32,

    /// The packet of this number is lost, in each direction
    ///
    /// Counted from 1. Default: none.
    ///
    /// Example: pump lab path --left a --right b --rate 50Mbit --rtt 60ms --drop-at 10000
    #[arg(long, value_name = "N", env = "PUMP_DROP_AT", help_heading = HOW)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub drop_at: Option<u64>,

    /// The way takes up to so much more or less
    ///
    /// The delay moves between the two, packets keep their order. At most half of --rtt. Default: 0ms.
    ///
    /// Example: pump lab path --left a --right b --rtt 20ms --jitter 2ms
    #[arg(long, value_name = "TIME", env = "PUMP_JITTER", help_heading = HOW, value_parser = parse_duration)]
    #[arg(default_value = "0ms", hide_default_value = true)]
    pub jitter: Duration,

    /// The part of the packets that overtake those before them
    ///
    /// They come at once. Default: 0.
    ///
    /// Example: pump lab path --left a --right b --rtt 20ms --reorder 0.01
    #[arg(long, value_name = "PART", env = "PUMP_REORDER", help_heading = HOW, value_parser = parse_part)]
    #[arg(default_value = "0", hide_default_value = true)]
    pub reorder: f64,

    /// The part of the packets that come twice
    ///
    /// Default: 0.
    ///
    /// Example: pump lab path --left a --right b --rtt 20ms --duplicate 0.01
    #[arg(long, value_name = "PART", env = "PUMP_DUPLICATE", help_heading = HOW, value_parser = parse_part)]
    #[arg(default_value = "0", hide_default_value = true)]
    pub duplicate: f64,

    /// The largest packet
    ///
    /// Default: 1500.
    ///
    /// Example: pump lab path --left a --right b --mtu 9000
    #[arg(long, value_name = "N", env = "PUMP_MTU", help_heading = HOW)]
    #[arg(default_value_t = 1500, hide_default_value = true, value_parser = clap::value_parser!(u16).range(68..))]
    pub mtu: u16,

    /// What the queue before the path holds, in each direction
    ///
    /// Default: what the path itself holds in a round trip, 64 KiB at least.
    ///
    /// Example: pump lab path --left a --right b --rate 400Mbit --rtt 20ms --queue 1MiB
    #[arg(long, value_name = "BYTES", env = "PUMP_QUEUE", help_heading = HOW, value_parser = parse_count)]
    #[arg(requires = "rate")]
    pub queue: Option<u64>,

    /// Active queue management, which drops before the queue is full
    ///
    /// Default: none.
    ///
    /// Example: pump lab path --left a --right b --rate 100Mbit --rtt 20ms --aqm codel
    #[arg(long, value_name = "AQM", env = "PUMP_AQM", help_heading = HOW)]
    #[arg(value_enum, default_value_t = PathAqm::None, hide_default_value = true)]
    pub aqm: PathAqm,

    /// Decides what happens by chance
    ///
    /// Default: 1.
    ///
    /// Example: pump lab path --left a --right b --loss 1e-3 --seed 7
    #[arg(long, value_name = "N", env = "PUMP_SEED", help_heading = HOW)]
    #[arg(default_value_t = 1, hide_default_value = true)]
    pub seed: u64,

    /// Print what went over the path as JSON
    ///
    /// On standard output, the events `ready` and `path_stats` and a report. Default: off.
    ///
    /// Example: pump lab path --left a --right b --rtt 20ms --json
    #[arg(long, env = "PUMP_JSON", help_heading = OUTPUT)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub json: bool,
}

/// Active queue management.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PathAqm {
    /// The queue drops when it is full
    None,
    /// CoDel (RFC 8289): packets that have waited for more than 5 ms for 100 ms
    Codel,
}

impl LabPathArguments {
    /// As the library takes it.
    pub fn settings(&self) -> BoxSettings {
        let end = |space: &String, (address, prefix)| BoxEnd { space: space.clone(), address, prefix };
        BoxSettings {
            left: end(&self.left, self.left_address),
            right: end(&self.right, self.right_address),
            mtu: self.mtu,
            link: self.link(),
        }
    }

    fn link(&self) -> LinkSettings {
        let plain = LinkSettings::plain(self.rate, self.rtt);
        LinkSettings {
            jitter_ns: self.jitter.as_nanos() as u64,
            queue_bytes: self.queue.unwrap_or(plain.queue_bytes),
            aqm: match self.aqm {
                PathAqm::None => Aqm::None,
                PathAqm::Codel => Aqm::Codel,
            },
            loss: self.loss.unwrap_or(LossRule::None),
            loss_burst: self.loss_burst,
            drop_at: self.drop_at,
            reorder: self.reorder,
            duplicate: self.duplicate,
            seed: self.seed,
            ..plain
        }
    }
}

/// Reads an address with the length of its network's part.
fn parse_cidr(text: &str) -> Result<(IpAddr, u8), String> {
    let wrong = || format!("'{text}' is no address of a network; write for example 10.9.0.1/24");
    let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
    let address = address.parse::<IpAddr>().map_err(|_| wrong())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    let prefix = prefix.parse::<u8>().ok().filter(|prefix| (1..=most).contains(prefix)).ok_or_else(wrong)?;
    Ok((address, prefix))
}

/// Reads a part of all packets.
fn parse_part(text: &str) -> Result<f64, String> {
    let part = text.parse::<f64>().ok().filter(|part| (0.0..=1.0).contains(part));
    part.ok_or_else(|| format!("'{text}' is no part; write for example 0.01"))
}
