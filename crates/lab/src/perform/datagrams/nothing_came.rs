//! Why not one datagram of a measurement came, although the session over TCP is there: the port is blocked, or only
//! short ones pass.
//!
//! Must not know: what was measured.

use datapump::datagrams::{
    DATAGRAM_HEAD_BYTES, DatagramClient, DatagramHead, DatagramPath, DatagramRequest, DatagramUse,
    DatagramsSent,
};
use datapump::{Class, Operation, Problem};

use super::{is_ending, not_sent, socket_for};
use crate::perform::datagrams::pacer::Pacer;

/// Short ones that are sent to see whether any comes.
const PROBES: u64 = 10;
const PROBES_APART: std::time::Duration = std::time::Duration::from_millis(10);
/// Shorter ones pass wherever IP does: 576 bytes with headers (RFC 1122).
const SHORT_BYTES: usize = 548;

/// The problem: what happened and what to do. `path` is where datagrams of so many bytes were sent.
pub fn why_nothing_came(client: &DatagramClient, payload_bytes: usize, port: u16) -> Problem {
    let host = client.host.to_string();
    let short_come = payload_bytes > SHORT_BYTES
        && client.measure(probes(), send_probes).is_ok_and(|(_, counts)| counts.received > 0);
    let (class, message) = if short_come {
        (Class::Io, black_hole(&host, payload_bytes))
    } else {
        (Class::Denied, blocked(&host, port))
    };
    Problem::of(class, Operation::Measure, message)
}

fn black_hole(host: &str, payload_bytes: usize) -> String {
    format!(
        "{host}: datagrams of {payload_bytes} bytes do not come, those of {DATAGRAM_HEAD_BYTES} do: an MTU black hole. \
         They may not be fragmented, and something on the path drops what is longer than its MTU without a word. Ask \
         for a smaller --frame-size, or raise the MTU there; ping -M do -s SIZE finds the longest"
    )
}

fn blocked(host: &str, port: u16) -> String {
    format!(
        "{host}: no datagram arrived: UDP port {port} is blocked on the way, or on one of the hosts (the session over \
         TCP is there). Allow UDP to port {port} of the server, as its firewall allows TCP"
    )
}

/// The problem where the server got datagrams and none of those that it sent back came.
pub fn no_answers(client: &DatagramClient, received: u64) -> Problem {
    let message = format!(
        "{}: {received} datagrams arrived and no answer came back: UDP from the server is blocked on the way, or on \
         this host. Allow UDP from its port, as the session over TCP is allowed",
        client.host
    );
    Problem::of(Class::Denied, Operation::Measure, message)
}

fn probes() -> DatagramRequest {
    DatagramRequest {
        wanted: DatagramUse::Count,
        datagrams: PROBES,
        payload_bytes: DATAGRAM_HEAD_BYTES as u32,
        bytes_per_second: 0,
        lasts_ns: 5_000_000_000,
    }
}

fn send_probes(path: &DatagramPath) -> Result<DatagramsSent<()>, Problem> {
    let (socket, token) = (socket_for(path.address)?, path.grant.token);
    let (mut pacer, mut bytes) = (Pacer::new(PROBES_APART), [0; DATAGRAM_HEAD_BYTES]);
    for sequence in 0..PROBES {
        pacer.wait(&|| path.is_over());
        if path.is_over() {
            return Err(is_ending());
        }
        DatagramHead { token, sequence, sent_ns: 0 }.write(&mut bytes);
        let sent = socket.send(&bytes, None, path.address, None);
        sent.map_err(|error| not_sent(&error, bytes.len(), path.address))?;
    }
    Ok(DatagramsSent { sent: PROBES, outcome: () })
}
