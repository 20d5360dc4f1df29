//! Other programs at an end: the writer and the reader of a pipe, a server on the web.
//!
//! Must not know: what is right of them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use super::scene::{Bench, CopyWay, FILE_BYTES, LimitState, Scene};
use crate::support::make_fifo;
use crate::wider_parts::peer::Peer;

/// A slow program moves so much each time.
const FED_BYTES: usize = 64 << 10;
/// Between two times: 3 MB/s.
const FEEDS_EVERY: Duration = Duration::from_millis(20);
/// 6 MB/s.
const DRAINS_EVERY: Duration = Duration::from_millis(10);

fn pause(state: LimitState, time: Duration) {
    if state == LimitState::On {
        std::thread::sleep(time);
    }
}

/// A program that writes a pipe slowly.
pub(super) fn writer(bench: &Bench, _: CopyWay, state: LimitState) -> Option<Scene> {
    let path = bench.home.path("fed");
    let fifo = path.clone();
    let feeder = Peer::start(move |stop| {
        while !stop.load(Ordering::Relaxed) {
            feed(&fifo, state);
            // Until the reader, too, has seen the end.
            std::thread::sleep(Duration::from_millis(300));
        }
    });
    let source = Some(path.display().to_string());
    Some(Scene { source, pipe: Some(path), ..Scene::new(bench) }.guarded(feeder))
}

/// Feeds whoever reads; nobody does most of the time.
fn feed(path: &Path, state: LimitState) {
    let Ok(fifo) = rustix::fs::open(path, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()) else { return };
    let _ = rustix::fs::fcntl_setfl(&fifo, OFlags::empty());
    let mut fifo = std::fs::File::from(fifo);
    for _ in 0..FILE_BYTES / 2 / FED_BYTES {
        if fifo.write_all(&[7; FED_BYTES]).is_err() {
            return;
        }
        pause(state, FEEDS_EVERY);
    }
}

/// A program that reads a pipe slowly.
pub(super) fn reader(bench: &Bench, _: CopyWay, state: LimitState) -> Option<Scene> {
    let path = bench.home.path("drained");
    let _ = std::fs::remove_file(&path);
    make_fifo(&path);
    // Without waiting for a writer: there is none between two copies.
    let fifo = rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).expect("a pipe");
    let drain = Peer::start(move |stop| {
        let (mut file, mut block) = (std::fs::File::from(fifo), [0; FED_BYTES]);
        while !stop.load(Ordering::Relaxed) {
            let is_empty = file.read(&mut block).map_or(true, |len| len == 0);
            let state = if is_empty { LimitState::On } else { state };
            pause(state, DRAINS_EVERY);
        }
    });
    let target = Some(path.display().to_string());
    Some(Scene { target, ..Scene::new(bench) }.guarded(drain))
}

/// A server on the web that gives some MB/s, from the beginning of the file.
pub(super) fn store(bench: &Bench, _: CopyWay, state: LimitState) -> Option<Scene> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let source = Some(format!("http://{}/big", listener.local_addr().expect("an address")));
    let server = Peer::start(move |stop| {
        std::thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => drop(scope.spawn(move || serve(stream, state))),
                    Err(_) => std::thread::sleep(DRAINS_EVERY),
                }
            }
        });
    });
    Some(Scene { source, ..Scene::new(bench) }.guarded(server))
}

fn serve(mut stream: TcpStream, state: LimitState) {
    let _ = stream.set_nonblocking(false);
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|len| len > 0) {
        request.push(byte[0]);
    }
    let has_body = request.starts_with(b"GET");
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {FILE_BYTES}\r\nETag: \"1\"\r\nConnection: close\r\n\r\n"
    );
    let mut sent = stream.write_all(head.as_bytes());
    let blocks = if has_body { FILE_BYTES / FED_BYTES } else { 0 };
    for _ in 0..blocks {
        if sent.is_err() {
            return;
        }
        pause(state, DRAINS_EVERY);
        sent = stream.write_all(&[7; FED_BYTES]);
    }
}
