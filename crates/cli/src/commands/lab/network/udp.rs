//! `pump lab udp`: round trips and streams of datagrams to a server.
//!
//! Must not know: how datagrams are sent, how a session is made.

use std::ffi::OsStr;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump::datagrams::DatagramClient;
use datapump::{Host, Place, Problem, Remote, Status, WayIn};
use datapump_lab::datagrams::{
    LatencyArguments, StreamPace, ThroughputArguments, udp_latency, udp_throughput,
};

use crate::args::{UdpCommand, UdpLatencyArguments, UdpServerArguments, UdpThroughputArguments};
use crate::commands::lab::print_figures;
use crate::output::Output;
use crate::output::events::EventLine;
use crate::run::signals::stop_flag;
use crate::run::ticket::ticket;

/// Measures. Gives the exit status.
pub fn udp(command: &UdpCommand, output: &Output) -> i32 {
    let stop: Arc<AtomicBool> = stop_flag().unwrap_or_default();
    match command {
        UdpCommand::Latency(arguments) => latency(arguments, &stop, output),
        UdpCommand::Throughput(arguments) => throughput(arguments, &stop, output),
    }
}

fn latency(arguments: &UdpLatencyArguments, stop: &Arc<AtomicBool>, output: &Output) -> i32 {
    let client = match client(&arguments.server, stop) {
        Ok(client) => client,
        Err(words) => return output.usage(&words),
    };
    let UdpLatencyArguments { frame_size, count, spacing, .. } = arguments;
    let asked =
        LatencyArguments { client, frame_sizes: frame_size.clone(), count: *count, spacing: *spacing };
    show_outcome(udp_latency(&asked), &|figures| EventLine::UdpLatency(figures), stop, output)
}

fn throughput(arguments: &UdpThroughputArguments, stop: &Arc<AtomicBool>, output: &Output) -> i32 {
    let client = match client(&arguments.server, stop) {
        Ok(client) => client,
        Err(words) => return output.usage(&words),
    };
    let pace = match (arguments.spacing, arguments.rate) {
        (_, Some(bytes_per_second)) => StreamPace::Rate(bytes_per_second),
        (spacing, None) => StreamPace::Spacing(spacing.unwrap_or_default()),
    };
    let asked = ThroughputArguments {
        client,
        payload_bytes: arguments.frame_size,
        pace,
        count: arguments.count,
        duration: arguments.time,
        batch: arguments.batch,
        offload: arguments.offload,
    };
    show_outcome(udp_throughput(&asked), &|figures| EventLine::UdpThroughput(figures), stop, output)
}

/// The server, and what lets this side in. An error is one of usage.
fn client(server: &UdpServerArguments, stop: &Arc<AtomicBool>) -> Result<DatagramClient, String> {
    let host = host(&server.place)?;
    let way_in = WayIn::Ticket(ticket(server.ticket_file.as_deref())?);
    Ok(DatagramClient { host, way_in, stop: Arc::clone(stop) })
}

fn host(place: &OsStr) -> Result<Host, String> {
    match Place::parse(place).map_err(|error| error.to_string())? {
        Place::Remote(Remote { host: host @ Host::Served(_), .. }) => Ok(host),
        _ => {
            let shown = datapump::shown(place.as_encoded_bytes());
            Err(format!(
                "'{shown}' is no server; write pump://HOST:PORT/, as pump serve --allow-udp RATE prints it"
            ))
        }
    }
}

/// Prints figures, or why there are none. Gives the exit status.
pub(super) fn show_outcome<'figures, Figures: Display + 'figures>(
    outcome: Result<Figures, Problem>,
    line: &dyn Fn(&Figures) -> EventLine<'_>,
    stop: &AtomicBool,
    output: &Output,
) -> i32 {
    match outcome {
        Ok(figures) => print_figures(&[line(&figures)], &figures.to_string(), Status::Done, output),
        Err(problem) => output.failed(&problem, stop.load(Ordering::Relaxed)),
    }
}
