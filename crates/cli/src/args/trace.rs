//! The flag `--tcp-trace`.
//!
//! Must not know: how connections are sampled.

use std::path::PathBuf;

use clap::Args;

use crate::args::OUTPUT;

/// A time series of what TCP says while a copy runs.
#[derive(Debug, Args)]
pub struct TraceArguments {
    /// Write what TCP says of this copy's connections to a file while it runs
    ///
    /// A line of JSON for each connection two hundred times a second: window, round trip, what was sent again, rate;
    /// crates/lab/TCP.md has all fields. For copies from or to another host, also of the ssh that this command starts.
    /// Written over is only what is such a file already. Default: none.
    ///
    /// Example: pump copy --tcp-trace tcp.jsonl big.bin pump://host:4000/
    #[arg(long, value_name = "FILE", env = "PUMP_TCP_TRACE", help_heading = OUTPUT)]
    pub tcp_trace: Option<PathBuf>,
}
