//! What a time series must be: S65 of the contract of measurements, and the meaning of a bare number.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::Value;

use super::*;

#[test]
fn a_target_is_a_process_or_a_port() {
    for (text, expected) in [
        ("12", Some(TcpTarget::Number(12))),
        ("pid:12", Some(TcpTarget::Process(12))),
        ("port:80", Some(TcpTarget::Port(80))),
        (":80", Some(TcpTarget::Port(80))),
        ("", None),
        ("0", None),
        ("port:0", None),
        ("port:65536", None),
        ("pid:4294967295", None),
        ("host:80", None),
        ("-1", None),
    ] {
        assert_eq!(text.parse().ok(), expected, "{text}");
    }
}

#[test]
fn nobody_is_refused_by_name() {
    let error =
        TcpTrace::start(TcpTarget::Process(i32::MAX as u32), Path::new("/dev/null")).expect_err("nobody");
    assert!(format!("{error:#}").contains("no process has the number 2147483647"), "{error:#}");
    let error =
        TcpTrace::start(TcpTarget::Number(i32::MAX as u32), Path::new("/dev/null")).expect_err("nobody");
    assert!(format!("{error:#}").contains("no port can have it"), "{error:#}");
    assert!(error.is::<Nobody>());
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Counters of this connection, over time.
fn counters(lines: &[Value], connection: &str, field: &str) -> Vec<u64> {
    let own = lines.iter().filter(|line| line["connection"] == connection);
    own.map(|line| line[field].as_u64().expect("a number")).collect()
}

#[test]
fn counters_never_decrease_and_what_was_acknowledged_is_what_was_sent() {
    const BYTES: usize = 4_000_000;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut one = TcpStream::connect(address).expect("it listens");
    let (mut other, _) = listener.accept().expect("it called");
    let name = format!("{} > {address}", one.local_addr().expect("an address"));
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("series.jsonl");
    let trace = TcpTrace::start(TcpTarget::Port(address.port()), &path).expect("it starts");
    let reader = std::thread::spawn(move || {
        let mut all = vec![0; BYTES];
        other.read_exact(&mut all).expect("all of it");
        other
    });
    for part in vec![3_u8; BYTES].chunks(BYTES / 20) {
        one.write_all(part).expect("it is read");
        std::thread::sleep(Duration::from_millis(10));
    }
    let other = reader.join().expect("it reads");
    let traced = trace.finish().expect("a series");
    drop((one, other));
    let lines = lines(&path);
    assert_eq!((lines.len() as u64, traced.connections.len()), (traced.samples, 2), "{traced:?}");
    for field in [
        "time_ns",
        "bytes_acked",
        "bytes_sent",
        "bytes_received",
        "sent_segments",
        "retransmitted_segments",
        "busy_ns",
        "receive_window_limited_ns",
        "send_buffer_limited_ns",
    ] {
        let series = counters(&lines, &name, field);
        assert!(series.len() > 2 && series.is_sorted(), "{field}: {series:?}");
    }
    let own = traced.connections.iter().find(|it| it.connection == name).expect("it was seen");
    assert!((0..=2).contains(&(own.bytes_acked as i64 - BYTES as i64)), "{own:?}");
}

#[test]
fn every_field_is_described() {
    let description =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/TCP.md")).expect("TCP.md");
    let now = crate::probe::sock_diag::KernelConnection::nobody();
    let sample = sampled(1, &now, "a > b").expect("there is information");
    let line = TcpLine { v: 1, event: "tcp", sample: &sample };
    let Value::Object(fields) = serde_json::to_value(&line).expect("JSON") else { panic!("an object") };
    for field in fields.keys() {
        assert!(description.contains(&format!("| `{field}` |")), "TCP.md does not describe {field}");
    }
    let described = description.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    for (name, _) in described {
        assert!(fields.contains_key(name), "TCP.md describes {name}, which no line has");
    }
}
