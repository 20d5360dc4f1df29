//! Streams: pipes and sockets that are silent, full or closed, and how to get away from them.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datapump_engine::{Engine, EngineKind, Errno, Handle, Op, Slot, TransferPlace};

use super::support::*;
use crate::Maker;

/// A pipe's reading and writing end.
fn pipe() -> (Arc<Handle>, Arc<Handle>) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let (reader, writer): (std::os::fd::OwnedFd, std::os::fd::OwnedFd) = (reader.into(), writer.into());
    (handle(reader), handle(writer))
}

/// A socket's two ends, of which the second is only written to.
fn socket() -> (Arc<Handle>, Arc<Handle>) {
    let (reader, writer) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
    let (reader, writer): (std::os::fd::OwnedFd, std::os::fd::OwnedFd) = (reader.into(), writer.into());
    (handle(reader), handle(writer))
}

/// A connection over the kernel's TCP.
fn tcp() -> (Arc<Handle>, Arc<Handle>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let writer = std::net::TcpStream::connect(address).expect("somebody listens");
    let (reader, _) = listener.accept().expect("somebody connected");
    let (reader, writer): (std::os::fd::OwnedFd, std::os::fd::OwnedFd) = (reader.into(), writer.into());
    (handle(reader), handle(writer))
}

/// A pipe with a name.
fn fifo() -> (Arc<Handle>, Arc<Handle>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("POSIX has mkfifo");
    assert!(made.success());
    let opened = path.clone();
    let reader = std::thread::spawn(move || std::fs::File::open(opened).expect("it exists"));
    let writer = std::fs::OpenOptions::new().write(true).open(path).expect("it exists");
    (handle(reader.join().expect("no panic")), handle(writer))
}

type Ends = fn() -> (Arc<Handle>, Arc<Handle>);
const STREAMS: [(&str, Ends); 4] = [("pipe", pipe), ("socket", socket), ("tcp", tcp), ("fifo", fifo)];

fn read_some(file: &Arc<Handle>, slot: u32) -> Op {
    read(file, TransferPlace::Stream, span(slot, 0, 65_536))
}

/// What a request may say that was ended early.
fn ended_early(result: Result<u32, Errno>) -> bool {
    result == Err(Errno(libc::ECANCELED))
}

pub fn a_stream_delivers_in_order_and_then_ends(make: Maker) {
    let Some(mut engine) = small_real(make) else { return };
    for (kind, ends) in STREAMS {
        let bytes = noise(&mut seeded(), 1_000_000);
        let (reader, writer) = ends();
        let expected = bytes.clone();
        let feeder = std::thread::spawn(move || writer.os().write_all(&bytes).expect("the reader stays"));
        let mut got = Vec::new();
        loop {
            let count = one(&mut engine, read_some(&reader, 0)).expect("a stream can be read") as usize;
            if count == 0 {
                break;
            }
            got.extend_from_slice(&engine.bytes(Slot(0))[..count]);
        }
        feeder.join().expect("no panic");
        assert!(got == expected, "{kind}: {} bytes of {}", got.len(), expected.len());
    }
}

/// As a sender of a host does it: what the engine took is sent on, part by part, and a reader that is slow gets all.
pub fn a_stream_takes_all_part_by_part(make: Maker) {
    let Some(mut engine) = small_real(make) else { return };
    for (kind, ends) in STREAMS {
        let bytes = noise(&mut seeded(), 1_000_000);
        let (reader, writer) = ends();
        let drain = std::thread::spawn(move || {
            let mut got = Vec::new();
            std::io::Read::read_to_end(&mut reader.os(), &mut got).expect("readable");
            got
        });
        for part in bytes.chunks(65_536) {
            engine.bytes_mut(Slot(0))[..part.len()].copy_from_slice(part);
            let (mut done, len) = (0, part.len() as u32);
            while done < len {
                let op = write(&writer, TransferPlace::Stream, span(0, done, len - done));
                done += one(&mut engine, op).expect("the reader stays");
            }
        }
        drop(writer);
        assert!(drain.join().expect("no panic") == bytes, "{kind}");
    }
}

pub fn a_read_from_a_stream_returns_what_is_there(make: Maker) {
    let Some(mut engine) = small_real(make) else { return };
    for (kind, ends) in STREAMS {
        let (reader, writer) = ends();
        engine.bytes_mut(Slot(1))[..5].copy_from_slice(b"hello");
        assert_eq!(one(&mut engine, write(&writer, TransferPlace::Stream, span(1, 0, 5))), Ok(5), "{kind}");
        assert_eq!(one(&mut engine, read_some(&reader, 0)), Ok(5), "{kind}");
        assert_eq!(&engine.bytes(Slot(0))[..5], b"hello", "{kind}");
        drop(writer);
        assert_eq!(one(&mut engine, read_some(&reader, 0)), Ok(0), "{kind}");
    }
}

/// TCP is told by the other side, after the first bytes came there, and what it was told first comes first.
pub fn a_write_to_a_closed_stream_fails(make: Maker) {
    let Some(mut engine) = small_real(make) else { return };
    for (kind, ends) in STREAMS {
        let (reader, writer) = ends();
        drop(reader);
        // Rust programs ignore SIGPIPE.
        let mut results =
            (0..100_000).map(|_| one(&mut engine, write(&writer, TransferPlace::Stream, span(0, 0, 5))));
        let end = results.find(Result::is_err);
        let told = [Err(Errno(libc::EPIPE)), Err(Errno(libc::ECONNRESET))];
        assert!(end.is_some_and(|end| told.contains(&end)), "{kind}: {end:?}");
    }
}

/// An engine that can have a request in flight; inline cannot.
fn queued(make: Maker) -> Option<Engine> {
    small_real(make).filter(|engine| engine.kind() != EngineKind::Inline)
}

pub fn cancelling_ends_a_read_from_a_silent_stream(make: Maker) {
    let Some(mut engine) = queued(make) else { return };
    for (kind, ends) in STREAMS {
        let (reader, _writer) = ends();
        for handed_over in [false, true] {
            assert_eq!(engine.post(3, read_some(&reader, 0)), None);
            if handed_over {
                engine.submit().expect("the engine works");
            }
            engine.cancel();
            let result = next(&mut engine).result;
            assert!(ended_early(result), "{kind}, handed over: {handed_over}, {result:?}");
        }
    }
}

pub fn cancelling_ends_a_write_to_a_full_stream(make: Maker) {
    for (kind, ends) in STREAMS {
        let Some(mut engine) = queued(make) else { return };
        let (reader, writer) = ends();
        let mut written = 0;
        let end = loop {
            // The first finds room, whatever the size; one of the next cannot end by itself.
            assert_eq!(engine.post(0, write(&writer, TransferPlace::Stream, span(0, 0, 65_536))), None);
            engine.submit().expect("the engine works");
            if written > 0 {
                engine.cancel();
            }
            match next(&mut engine).result {
                Ok(count) => written += u64::from(count),
                result => break result,
            }
        };
        assert!(ended_early(end), "{kind}: {end:?}");
        // What was said to be written can be read, and no more.
        drop(writer);
        let mut rest = Vec::new();
        std::io::Read::read_to_end(&mut reader.os(), &mut rest).expect("readable");
        assert_eq!(rest.len() as u64, written, "{kind}");
    }
}

pub fn after_a_cancellation_new_requests_work(make: Maker) {
    let Some(mut engine) = queued(make) else { return };
    let (reader, writer) = pipe();
    engine.post(0, read_some(&reader, 0));
    engine.cancel();
    assert!(ended_early(next(&mut engine).result));
    assert_eq!(engine.post(1, read_some(&reader, 0)), None);
    engine.submit().expect("the engine works");
    writer.os().write_all(b"late").expect("the reader is there");
    let completion = next(&mut engine);
    assert_eq!((completion.token, completion.result), (1, Ok(4)));
    assert_eq!(one(&mut engine, Op::Nop { len: 9, write: false }), Ok(9));
}

pub fn dropping_ends_a_read_from_a_silent_pipe(make: Maker) {
    let Some(mut engine) = queued(make) else { return };
    let (reader, writer) = pipe();
    for slot in 0..4 {
        engine.post(slot, read_some(&reader, slot));
    }
    drop(engine);
    assert_eq!(Arc::strong_count(&reader), 1);
    drop(writer);
}

/// Blocking in the caller's thread, on every engine: the flag comes from another thread, as from a signal handler.
pub fn stopping_ends_a_wait_for_a_stream(make: Maker) {
    let stop = Arc::new(AtomicBool::new(false));
    let Some(mut engine) = make(4, 65_536, 4, Arc::clone(&stop)) else { return };
    if engine.kind() == EngineKind::Sim {
        return eprintln!("SKIPPED on sim: about the operating system");
    }
    let (reader, writer) = pipe();
    let stopper = std::thread::spawn(move || stop.store(true, Ordering::Relaxed));
    assert_eq!(engine.post_inline(0, read_some(&reader, 0)).result, Err(Errno(libc::ECANCELED)));
    stopper.join().expect("no panic");
    // A stream that moves is not interrupted, so what is under way can be finished.
    writer.os().write_all(b"rest").expect("the reader is there");
    assert_eq!(engine.post_inline(0, read_some(&reader, 0)).result, Ok(4));
    let full = loop {
        match engine.post_inline(0, write(&writer, TransferPlace::Stream, span(1, 0, 65_536))).result {
            Ok(count) => assert!(count > 0),
            result => break result,
        }
    };
    assert_eq!(full, Err(Errno(libc::ECANCELED)));
}
