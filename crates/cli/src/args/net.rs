//! Flags of `pump serve`, and of `pump copy` where one side is on another host.
//!
//! Must not know: how hosts are reached.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, ValueEnum, value_parser};
use datapump::units::{parse_bytes, parse_duration, parse_rate};
use datapump::{Assembly, Place, PlaceError, ServeOptions, SocketOptions};

use crate::args::copy::tuning::{choice, parse_limit};
use crate::args::{HOW, TUNING, WHAT};

/// Heading of flags that concern other hosts.
pub(crate) const HOSTS: &str = "Other hosts";

/// The safety that a transfer leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Insecure {
    /// Nothing is encrypted.
    Open,
    /// Nothing is hashed.
    Unhashed,
    /// Neither.
    Bare,
}

impl Insecure {
    /// Nothing is encrypted.
    pub fn is_open(self) -> bool {
        self != Insecure::Unhashed
    }

    /// Nothing is hashed.
    pub fn is_unhashed(self) -> bool {
        self != Insecure::Open
    }
}

/// A live peer sends something every half second.
fn parse_silence(word: &str) -> Result<Duration, String> {
    match parse_duration(word)? {
        silence if silence >= Duration::from_secs(1) => Ok(silence),
        _ => Err(format!("'{word}' is too short to tell the dead from the slow; write 1s or more")),
    }
}

/// The address; a name has its first IPv4 address, or else its first.
fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let wrong = |why: String| {
        format!("'{text}' is no address to listen at ({why}); write for example 127.0.0.1:4000")
    };
    let found = datapump::resolve(text).map_err(|error| wrong(error.to_string()))?;
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| wrong("the name has no address".into()))
}

/// Flags of the group that were typed: a variable of the environment is for whatever it is of use to.
#[derive(Clone, Copy, Debug)]
pub struct ReachTyped {
    /// `--within-ssh`
    pub within_ssh: bool,
}

impl Args for ReachTyped {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for ReachTyped {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ReachTyped, Error> {
        let within_ssh = matches.value_source("within_ssh") == Some(ValueSource::CommandLine);
        Ok(ReachTyped { within_ssh })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = ReachTyped::from_arg_matches(matches)?;
        Ok(())
    }
}

/// How another host is reached.
#[derive(Debug, Args)]
pub struct ReachArguments {
    // First: what is read leaves the matches.
    #[command(flatten)]
    pub typed: ReachTyped,

    /// The command that runs another on the host of HOST:PATH
    ///
    /// The host and the far command follow as further words. Spaces part its words, quotes keep them together; no shell
    /// reads it. ssh asks for passwords, and finds keys, names and jump hosts, as it always does. -e and --rsh are the
    /// same. Default: ssh.
    ///
    /// Example: pump copy --ssh 'ssh -p 2222' photos/ user@host:photos
    #[arg(short = 'e', long, visible_alias = "rsh", value_name = "COMMAND", env = "PUMP_SSH", help_heading = HOSTS)]
    #[arg(default_value = "ssh", hide_default_value = true)]
    pub ssh: String,

    /// The pump of the host of HOST:PATH
    ///
    /// As the shell there takes it: a name on its PATH, or a path. Default: pump.
    ///
    /// Example: pump copy --remote-bin '~/bin/pump' photos/ host:photos
    #[arg(long, value_name = "PATH", env = "PUMP_REMOTE_BIN", help_heading = HOSTS)]
    #[arg(default_value = "pump", hide_default_value = true)]
    pub remote_bin: String,

    /// Send all data through the connection of ssh, and make none beside it
    ///
    /// Without it only the start goes through ssh: the pump there listens for this one session, at the address by which
    /// ssh came, on any free TCP port, and the data go there, encrypted (TLS 1.3). Only who has the ticket, which came
    /// over ssh, is let in. Where a firewall or a jump host is in the way, that shows after a second at most, and all
    /// goes through ssh, which is said. With this flag the pump there does not listen. Where ssh reaches none of the
    /// places it is refused. Default: off.
    ///
    /// Example: pump copy --within-ssh photos/ user@host:photos
    #[arg(long, env = "PUMP_WITHIN_SSH", help_heading = HOSTS)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub within_ssh: bool,

    /// Read the ticket for pump:// from a file
    ///
    /// The flag of this name of pump serve writes it. Without it the ticket is taken from the environment (PUMP_TICKET)
    /// or asked for on a terminal; never from the command line, which others can see. A named pipe is refused; a file
    /// that others may read is warned of. Default: none.
    ///
    /// Example: pump copy --ticket-file ticket photos/ pump://host:4000/photos
    #[arg(long, value_name = "FILE", env = "PUMP_TICKET_FILE", help_heading = HOSTS)]
    pub ticket_file: Option<PathBuf>,

    /// Time without a sign of life after which the other host, or a server on the web, counts as dead
    ///
    /// A slow one is not silent. A connection over which nothing comes for so long of what was sent is made again, also
    /// while the host lives. ssh, too, waits so long for an answer (ConnectTimeout), but not while it asks for a
    /// password. At least 1s. Default: 30s.
    ///
    /// Example: pump copy --peer-timeout 5s big.bin pump://host:4000/
    #[arg(long, value_name = "TIME", env = "PUMP_PEER_TIMEOUT", help_heading = HOSTS, value_parser = parse_silence)]
    pub peer_timeout: Option<Duration>,

    /// Leave out what makes a transfer safe, to measure what it costs
    ///
    /// For a lab only, and both ends must ask for the same. open: nothing is encrypted, there is no ticket, and whoever
    /// reaches the other end can read and write there. unhashed: what is damaged on the way stays damaged. bare: both.
    /// Has no environment variable, because it gives up that safety. Default: off; without a value open.
    ///
    /// Example: pump copy --insecure big.bin pump://127.0.0.1:4000/
    #[arg(long, value_name = "WHAT", help_heading = HOSTS, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "open")]
    pub insecure: Option<Insecure>,
}

/// How another host is reached, and the connections to it.
#[derive(Debug, Args)]
pub struct HostArguments {
    #[command(flatten)]
    pub reach: ReachArguments,

    /// Connections for data to the other host
    ///
    /// A count from 1 to 256, the network's name for --lanes. The other host may allow fewer. Default: 2, as measured;
    /// over a long path (5 ms and more) files begin with as many as fill 1 Gbit/s by the kernel's buffers, 8 at most,
    /// and get more, up to 16, while those move more and no queue stands. -v and the report say how many and why.
    ///
    /// Example: pump copy --connections 4 big.bin pump://host:4000/
    #[arg(long, value_name = "COUNT", env = "PUMP_CONNECTIONS", help_heading = HOSTS, conflicts_with = "lanes")]
    #[arg(value_parser = value_parser!(u32).range(1..=256))]
    pub connections: Option<u32>,

    /// How long to retry after the connection was lost, or while a host is busy
    ///
    /// Counted from the last byte that was received. The copy then resumes; what a pipe gave cannot be read again, and
    /// its copy ends. Default: 60s.
    ///
    /// Example: pump copy --retry-for 10m photos/ pump://host:4000/photos
    #[arg(long, value_name = "TIME", env = "PUMP_RETRY_FOR", help_heading = HOSTS, value_parser = parse_duration)]
    pub retry_for: Option<Duration>,

    #[command(flatten)]
    pub sockets: SocketArguments,
}

/// Sockets below the connections.
#[derive(Debug, Args)]
pub struct SocketArguments {
    /// How the kernel finds the speed of the path
    ///
    /// A name of /proc/sys/net/ipv4/tcp_available_congestion_control, such as bbr or cubic. pump copy asks the other
    /// host for the same; a name that one of the two does not have is refused before anything is written. Default: the
    /// kernel's choice.
    ///
    /// Example: pump copy --congestion bbr big.bin pump://host:4000/
    #[arg(long, value_name = "NAME", env = "PUMP_CONGESTION", help_heading = HOSTS)]
    pub congestion: Option<String>,

    /// Size of each of a socket's two buffers
    ///
    /// From 64KiB to 1GiB; pump copy asks the other host for the same. A fixed size turns off the kernel's own tuning,
    /// which is the better choice on most paths, and net.core.rmem_max and wmem_max limit it. Default: that tuning.
    ///
    /// Example: pump copy --socket-buffer 16MiB big.bin pump://host:4000/
    #[arg(long, value_name = "SIZE", env = "PUMP_SOCKET_BUFFER", help_heading = HOSTS, value_parser = parse_buffer)]
    pub socket_buffer: Option<u32>,

    /// How long a receive looks at the network device itself before it sleeps
    ///
    /// Shorter waits for CPU time that is burned, on this host alone. More than net.core.busy_read needs
    /// CAP_NET_ADMIN. Default: off.
    ///
    /// Example: pump copy --busy-poll 50us pump://host:4000/big.bin .
    #[arg(long, value_name = "TIME", env = "PUMP_BUSY_POLL", help_heading = HOSTS, value_parser = parse_duration)]
    pub busy_poll: Option<Duration>,

    /// Assemble partial receives: in the kernel (MSG_WAITALL) or in the pump
    ///
    /// For --insecure, to measure what it costs: sealed bytes are opened first. kernel: a receive returns when the
    /// block is full. pump: it returns what is there, and network.mean_part_bytes of --json tells how much that was.
    /// pump copy asks the other host for the same. Default: kernel.
    ///
    /// Example: pump copy --insecure --assemble pump a.bin pump://127.0.0.1:4000/
    #[arg(long, value_name = "WHO", env = "PUMP_ASSEMBLE", help_heading = HOSTS)]
    #[arg(value_parser = choice::<Assembly>())]
    pub assemble: Option<Assembly>,
}

impl SocketArguments {
    /// What the library is asked for.
    pub fn options(&self) -> SocketOptions {
        let congestion = self.congestion.clone();
        SocketOptions {
            congestion,
            buffer_bytes: self.socket_buffer,
            busy_poll: self.busy_poll,
            assembly: self.assemble,
        }
    }
}

/// Reads `--socket-buffer`. A buffer that is smaller than a segment (64 KiB on loopback) makes each wait for a timer;
/// above 1 GiB the kernel's counters end.
fn parse_buffer(text: &str) -> Result<u32, String> {
    let bytes = parse_bytes(text)?;
    match u32::try_from(bytes) {
        Ok(small @ 0x1_0000..=0x4000_0000) => Ok(small),
        _ => Err(format!("'{text}' is no size from 64KiB to 1GiB")),
    }
}

/// Serve a folder to ticket holders: they read and write in it
///
/// Prints where it listens and a ticket, and serves until it is told to stop. Everything on the way is encrypted (TLS
/// 1.3), and each side proves to the other that it holds its half of the ticket. A ticket holder can read and write in
/// DIR what the user can who runs this, and nothing outside of it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct ServeArguments {
    /// The folder that is served [default: the current folder]
    ///
    /// For measuring also null:, which takes everything, or null:SIZE, which gives so many bytes, too.
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true, help_heading = WHAT, display_order = 0)]
    pub folder: OsString,

    /// Where to listen
    ///
    /// An address, or a name of this host, and a port; port 0 takes a free one. Default: 127.0.0.1:0, which only this
    /// host can reach.
    ///
    /// Example: pump serve --listen 0.0.0.0:4000 /data
    #[arg(long, value_name = "ADDRESS:PORT", env = "PUMP_LISTEN", help_heading = HOW)]
    #[arg(default_value = "127.0.0.1:0", hide_default_value = true, value_parser = parse_listen)]
    pub listen: SocketAddr,

    /// Write the ticket to a file that only this user may read, instead of printing it
    ///
    /// The file is new. It replaces a file of this user that stands there; anything else (a link, a pipe, a file of
    /// another user) is refused. In DIR neither it nor a log of this command is served. Has no environment variable,
    /// because PUMP_TICKET_FILE names the ticket of a client. Default: it is printed.
    ///
    /// Example: pump serve --ticket-file ticket /data
    #[arg(long, value_name = "FILE", help_heading = HOW)]
    pub ticket_file: Option<PathBuf>,

    /// Clients may read and not write
    ///
    /// Default: off.
    ///
    /// Example: pump serve --read-only /data
    #[arg(long, env = "PUMP_READ_ONLY", help_heading = HOW, conflicts_with = "write_only")]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub read_only: bool,

    /// Clients may write and not read
    ///
    /// They learn no names, times or equality of what is there: -n, -u, -c, -i, --delete, --existing,
    /// --ignore-existing, --link-dest and `pump mirror` are refused (status 5), and reports do not count what stood
    /// there. A copy that was cut goes on with what it wrote. Default: off.
    ///
    /// Example: pump serve --write-only /incoming
    #[arg(long, env = "PUMP_WRITE_ONLY", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub write_only: bool,

    /// End after one session
    ///
    /// A client whose connection is lost cannot come back. If the ticket expires (--expires) before a session begins,
    /// the server ends with status 1. Default: off.
    ///
    /// Example: pump serve --once /data
    #[arg(long, env = "PUMP_ONCE", help_heading = HOW)]
    #[arg(action = ArgAction::SetTrue, value_parser = BoolishValueParser::new())]
    pub once: bool,

    /// How long the ticket lets new sessions in
    ///
    /// After that the server says so, and refuses new sessions; with --once it ends. Default: until the server ends.
    ///
    /// Example: pump serve --expires 1h /data
    #[arg(long, value_name = "TIME", env = "PUMP_EXPIRES", help_heading = HOW, value_parser = parse_duration)]
    pub expires: Option<Duration>,

    /// Sessions at a time
    ///
    /// A client that comes when there are so many is told, and tries again for as long as its --retry-for. Default: 64.
    ///
    /// Example: pump serve --max-sessions 4 /data
    #[arg(long, value_name = "COUNT", env = "PUMP_MAX_SESSIONS", help_heading = HOW)]
    #[arg(value_parser = value_parser!(u32).range(1..), default_value = "64", hide_default_value = true)]
    pub max_sessions: u32,

    /// Connections for data that a session may have
    ///
    /// Default: 16.
    ///
    /// Example: pump serve --max-connections 2 /data
    #[arg(long, value_name = "COUNT", env = "PUMP_MAX_CONNECTIONS", help_heading = HOW)]
    #[arg(value_parser = value_parser!(u32).range(1..=256), default_value = "16", hide_default_value = true)]
    pub max_connections: u32,

    /// Memory for blocks of all sessions together
    ///
    /// A session takes connections x depths x request size, usually 36 MiB, or 12 MiB where there is less; one that
    /// finds no room tries again. Several together take seven eighths at most: the rest is for names. What clients have
    /// open counts, too, and what is kept of trees that they push: many files with hard links need more. Names that a
    /// mirror keeps are written to an unnamed temporary file at the target where they do not fit. Default: 256MiB.
    ///
    /// Example: pump serve --memory 1GiB /data
    #[arg(long, value_name = "SIZE", env = "PUMP_MEMORY", help_heading = HOW, value_parser = parse_bytes)]
    #[arg(default_value = "256MiB", hide_default_value = true)]
    pub memory: u64,

    /// Time without a sign of life after which a client counts as dead
    ///
    /// At least 1s. Default: 30s.
    ///
    /// Example: pump serve --peer-timeout 5s /data
    #[arg(long, value_name = "TIME", env = "PUMP_PEER_TIMEOUT", help_heading = HOW, value_parser = parse_silence)]
    #[arg(default_value = "30s", hide_default_value = true)]
    pub peer_timeout: Duration,

    /// Leave out what makes a transfer safe, to measure what it costs
    ///
    /// For a lab only, and both ends must ask for the same. open: nothing is encrypted, there is no ticket, and whoever
    /// reaches the address can read and write in DIR. unhashed: what is damaged on the way stays damaged. bare: both.
    /// Has no environment variable, because it gives up that safety. Default: off; without a value open.
    ///
    /// Example: pump serve --insecure null:
    #[arg(long, value_name = "WHAT", help_heading = HOW, num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "open")]
    pub insecure: Option<Insecure>,

    /// Most bytes per second of all sessions together, in both directions
    ///
    /// A size (per second), as in 100MiB, or bits, as in 90Mbit; 0 is no limit. Default: no limit.
    ///
    /// Example: pump serve --bwlimit 50MB /data
    #[arg(long, value_name = "RATE", env = "PUMP_BWLIMIT", help_heading = TUNING, value_parser = parse_limit)]
    pub bwlimit: Option<u64>,

    /// Take datagrams for pump lab udp, up to this rate in all
    ///
    /// Only from ticket holders, for at most 60 s each, over the UDP port with the number of the TCP port where that is
    /// free. Never more is sent back than came. The rate counts headers of UDP and IP. Default: off.
    ///
    /// Example: pump serve --allow-udp 100Mbit /data
    #[arg(long, value_name = "RATE", env = "PUMP_ALLOW_UDP", help_heading = HOW, value_parser = parse_rate)]
    pub allow_udp: Option<u64>,

    #[command(flatten)]
    pub sockets: SocketArguments,

    /// Serve one session of the user who starts this over ssh, as pump copy does for places of the form HOST:PATH
    ///
    /// Default: off. Has no environment variable, because nobody types it.
    ///
    /// Example: pump serve --stdio
    #[arg(long, hide = true, help_heading = HOW, conflicts_with_all = ["folder", "insecure"])]
    pub stdio: bool,
}

const EXAMPLES: &str = "\
Examples:
  pump serve /data                              for this host only
  pump serve --listen 0.0.0.0:4000 /data        for the network
  pump copy photos pump://host:4000/photos      from another host, with PUMP_TICKET in its environment

Exit status: 0 stopped, or the one session of --once is over; 1 failed; 2 usage.";

impl ServeArguments {
    /// What the library is asked for.
    ///
    /// Errors: what is to be served is no place.
    pub fn options(&self) -> Result<ServeOptions, PlaceError> {
        Ok(ServeOptions {
            listen: self.listen,
            reads: !self.write_only,
            writes: !self.read_only,
            once: self.once,
            expires: self.expires,
            sessions_max: self.max_sessions,
            connections_max: self.max_connections,
            memory_bytes: self.memory,
            peer_timeout: self.peer_timeout,
            bytes_per_second: self.bwlimit.filter(|rate| *rate > 0),
            datagram_bytes_per_second: self.allow_udp,
            sockets: self.sockets.options(),
            insecure: self.insecure.is_some_and(Insecure::is_open),
            unhashed: self.insecure.is_some_and(Insecure::is_unhashed),
            ..ServeOptions::for_place(Place::parse(&self.folder)?)
        })
    }
}
