//! Findings about the path to another host and the two hosts at its ends.
//!
//! Must not know: how a path is looked at, how findings are shown.

use datapump::units::{bit_rate_words, bytes_words};
use datapump::{HostSettings, PathChoice, PathFacts, TcpStats};
use datapump_netlab::congestion::{Stack, response_segments};

use super::buffers::{BufferNeeds, buffer_findings};
use super::messages::ms_words;
use super::network::{PathNeeds, host_findings};
use super::{Finding, FindingSide, process_findings};
use crate::run::inspection::Inspection;

/// Losses that hold a copy below this are worth a word.
const WANTED_BYTES_PER_S: f64 = 125e6;
/// Fewer losses are chance.
const LOST_MIN: u64 = 2;
/// From here on a device is one of 10 Gbit/s.
const TEN_GIGABIT: u32 = 10_000;
/// Where no session has agreed on a number: the default of a copy.
const CONNECTIONS: u32 = 2;

/// All findings: of the path, of this host, and of the other one as far as it answered.
pub fn path_findings(facts: &PathFacts, here: &Inspection, remote: &str) -> Vec<Finding> {
    let is_measured = facts.kernel_round_trip_ns().is_some();
    let needs = PathNeeds {
        is_long: is_measured && facts.choice.is_some_and(|choice| choice.is_long),
        is_black_hole: is_black_hole(facts),
        loses: false,
    };
    let of_path = if facts.has_answered { of_path(facts, remote) } else { Vec::new() };
    let of_path = of_path.into_iter().map(|finding| finding.on_side(FindingSide::Path, None));
    let mut local = process_findings(here);
    local.extend(of_host(&facts.local, facts, needs));
    let local = local.into_iter().map(|finding| finding.on_side(FindingSide::Local, Some(&here.host)));
    // The null data came from there.
    let needs = PathNeeds { loses: loses(facts), ..needs };
    let remote_found = match (&facts.remote, facts.has_answered) {
        (Some(settings), _) => of_host(settings, facts, needs),
        (None, true) => vec![older()],
        (None, false) => Vec::new(),
    };
    let remote_found =
        remote_found.into_iter().map(|finding| finding.on_side(FindingSide::Remote, Some(remote)));
    of_path.chain(local).chain(remote_found).collect()
}

fn of_host(host: &HostSettings, facts: &PathFacts, needs: PathNeeds) -> Vec<Finding> {
    let mut found = host_findings(host, needs);
    if let Some(round_trip_s) = round_trip_s(facts) {
        let connections = facts.choice.map_or(CONNECTIONS, |choice| choice.connections);
        let (is_ten_gigabit, is_measured) = (is_ten_gigabit(facts), facts.kernel_round_trip_ns().is_some());
        let needs = BufferNeeds { round_trip_s, connections, is_ten_gigabit, is_measured };
        found.extend(buffer_findings(host, needs));
    }
    found
}

fn older() -> Finding {
    Finding::change(
        "settings",
        "unknown: the pump there is older and does not know the question",
        "what its kernel is set to is not known here",
        "install the same version of pump there, or run there: pump doctor",
    )
}

fn is_ten_gigabit(facts: &PathFacts) -> bool {
    // A virtual device reports any speed.
    let device = |host: &HostSettings| host.link.clone().filter(|link| link.is_virtual == Some(false));
    let speed = |host: &HostSettings| device(host).and_then(|link| link.mbit_per_s);
    let both = [speed(&facts.local), facts.remote.as_ref().and_then(speed)];
    both.iter().all(|speed| speed.is_some_and(|speed| speed >= TEN_GIGABIT))
}

fn round_trip_s(facts: &PathFacts) -> Option<f64> {
    facts.round_trip_ns().map(|ns| ns as f64 / 1e9)
}

fn of_path(facts: &PathFacts, remote: &str) -> Vec<Finding> {
    let found = [
        Some(route(facts, remote)),
        round_trip(facts),
        Some(loss(facts, remote)),
        rate(facts),
        segments(facts),
        facts.choice.map(|choice| copy_choice(choice, facts.round_trip_ns())),
    ];
    found.into_iter().flatten().collect()
}

fn route(facts: &PathFacts, remote: &str) -> Finding {
    match &facts.first {
        Some(_) if facts.same_host => Finding::good("route", "both ends are this host"),
        Some(first) => Finding::good("route", format!("TCP, from {} to {}", first.local, first.peer)),
        None => Finding::change(
            "route",
            format!("through ssh to {remote}"),
            "all connections share one of ssh, which may be slower; the kernel's counts of it are not seen here",
            "pump serve --listen ADDRESS:PORT DIR   # there; and let that port through the firewall",
        ),
    }
}

fn round_trip(facts: &PathFacts) -> Option<Finding> {
    let least_s = round_trip_s(facts)?;
    let least = ms_words(least_s);
    let sockets = || facts.probed.iter().flat_map(|probed| &probed.sockets).chain(&facts.first);
    let variation_us = sockets().map(|socket| u64::from(socket.info.rtt_variation_us)).max();
    let Some(variation_us) = variation_us else {
        let value = format!("about {least}, with what both programs computed (no kernel tells)");
        return Some(Finding::good("round trip", value));
    };
    let varies = ms_words(variation_us as f64 / 1e6);
    let loaded = facts.sender.filter(|sender| sender.rtt_us > 0);
    let loaded = loaded.map(|sender| format!(", {} under load", ms_words(sender.rtt_us as f64 / 1e6)));
    let value = format!("smallest {least}, varies by {varies}{}", loaded.unwrap_or_default());
    Some(Finding::good("round trip", value))
}

/// Segments that were sent again, and of how many.
fn lost(sender: &TcpStats) -> (u64, u64) {
    (sender.retransmitted_segments.min(sender.sent_segments), sender.sent_segments)
}

fn fraction_lost(sender: &TcpStats) -> f64 {
    let (lost, sent) = lost(sender);
    lost as f64 / sent.max(1) as f64
}

/// What a connection of CUBIC gets at this loss rate (RFC 9438, section 5.1), in bytes per second.
fn cubic_bytes_per_s(facts: &PathFacts) -> Option<f64> {
    let sender = facts.sender.as_ref().filter(|sender| lost(sender).0 >= LOST_MIN)?;
    let round_trip_s = round_trip_s(facts).filter(|seconds| *seconds > 0.0)?;
    let segment_bytes = sender.segment_bytes.unwrap_or(1448).max(1);
    let segments = response_segments(Stack::Cubic, fraction_lost(sender), round_trip_s);
    Some(segments * f64::from(segment_bytes) / round_trip_s)
}

/// The smoothed round trip of what was sent is well above the smallest: what is lost then is what a queue did not hold.
fn has_queue(facts: &PathFacts) -> bool {
    let least_us = facts.round_trip_ns().map_or(0, |ns| ns / 1000);
    facts.sender.is_some_and(|sender| sender.rtt_us > least_us.saturating_mul(3) / 2)
}

/// Losses hold what finds its rate by them below a gigabit, and no queue stood that explains them.
fn loses(facts: &PathFacts) -> bool {
    if has_queue(facts) {
        return false;
    }
    let connections = f64::from(facts.choice.map_or(CONNECTIONS, |choice| choice.connections));
    cubic_bytes_per_s(facts).is_some_and(|each| each * connections < WANTED_BYTES_PER_S)
}

fn loss(facts: &PathFacts, remote: &str) -> Finding {
    let Some(sender) = facts.sender.filter(|_| !is_black_hole(facts)) else {
        return loss_unknown(facts, remote);
    };
    let sender = &sender;
    let (lost, sent) = lost(sender);
    let percent = 100.0 * fraction_lost(sender);
    let value = format!("{lost} of {sent} segments from {remote} were sent again ({percent:.3} %)");
    if lost > 0 && has_queue(facts) {
        let words = "a queue stood meanwhile, and may have dropped them while the transfer found its rate";
        return Finding::good("loss", format!("{value}: {words}"));
    }
    match cubic_bytes_per_s(facts) {
        Some(each) if loses(facts) => {
            let advice = format!(
                "at this loss rate and round trip one connection of cubic gets about {}, and no queue stood: a damaged \
                 link, or a device with a short queue; find where it is lost",
                bit_rate_words(each)
            );
            Finding::change("loss", value, &advice, "ip -s link; nstat -az TcpRetransSegs   # on both hosts")
        }
        _ => Finding::good("loss", value),
    }
}

/// Losses by this side's counts alone.
fn loss_unknown(facts: &PathFacts, remote: &str) -> Finding {
    let infos = facts.probed.iter().flat_map(|probed| &probed.sockets).map(|socket| &socket.info);
    let sum = infos.fold((0_u64, 0_u64), |(late, all), info| {
        (late + u64::from(info.out_of_order_segments), all + u64::from(info.received_segments))
    });
    match sum {
        _ if is_black_hole(facts) => Finding::good("loss", "unavailable: nothing came"),
        (_, 0) => Finding::good("loss", format!("unavailable: {remote} sent no counts")),
        (late, all) => {
            let value = format!("{late} of {all} segments came out of order; {remote} sent no counts");
            Finding::good("loss", value)
        }
    }
}

fn rate(facts: &PathFacts) -> Option<Finding> {
    let probed = facts.probed.as_ref().filter(|probed| !probed.is_black_hole)?;
    if probed.bytes == 0 {
        return Some(Finding::good("rate", "not measured: no block of 64 KiB came in time"));
    }
    let (rate, seconds) = (bit_rate_words(probed.bytes_per_second), probed.elapsed_ns as f64 / 1e9);
    let value = format!("reached {rate} with {} of null data in {seconds:.1} s", bytes_words(probed.bytes));
    Some(Finding::good("rate", value))
}

fn is_black_hole(facts: &PathFacts) -> bool {
    facts.probed.as_ref().is_some_and(|probed| probed.is_black_hole)
}

fn segments(facts: &PathFacts) -> Option<Finding> {
    let first = facts.first.as_ref()?;
    let sockets = || facts.probed.iter().flat_map(|probed| &probed.sockets).chain([first]);
    let mtu = sockets().map(|socket| socket.info.path_mtu_bytes).filter(|bytes| *bytes > 0).min();
    let part = |name: &str, bytes: Option<u32>| bytes.map(|bytes| format!("{name} {bytes}"));
    let sender = facts.sender.as_ref();
    let parts = [
        part("MSS", Some(first.info.segment_bytes)),
        part("path MTU", mtu),
        part("from there MSS", sender.and_then(|sender| sender.segment_bytes)),
        part("path MTU", sender.and_then(|sender| sender.path_mtu_bytes)),
    ];
    let value = parts.into_iter().flatten().collect::<Vec<String>>().join(", ");
    Some(if is_black_hole(facts) {
        Finding::change(
            "segments",
            format!("MTU black hole: small messages pass, large segments do not ({value})"),
            "a router drops what is too large for its next link, and its word for that does not arrive",
            "sudo sysctl -w net.ipv4.tcp_mtu_probing=1   # on both hosts; or a smaller MTU of their devices",
        )
    } else {
        Finding::good("segments", value)
    })
}

fn copy_choice(choice: PathChoice, round_trip_ns: Option<u64>) -> Finding {
    let PathChoice { connections, requests, requests_max, request_bytes, is_long } = choice;
    let size = bytes_words(request_bytes.into());
    let round_trip = ms_words(round_trip_ns.unwrap_or(0) as f64 / 1e9);
    let value = if is_long {
        format!(
            "{connections} connections with up to {requests_max} requests of {size} under way on each: at \
             {round_trip} the path is long, so requests follow twice its rate times its round trip"
        )
    } else {
        format!(
            "{connections} connections with {requests} requests of {size} under way on each: at {round_trip} the \
             path is short, more gains nothing"
        )
    };
    Finding::good("copy", value)
}

#[cfg(test)]
mod tests;
