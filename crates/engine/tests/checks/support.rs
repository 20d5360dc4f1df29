//! What the checks share: making engines and files, posting and collecting.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use datapump_engine::sim::{Random, SimDisk};
use datapump_engine::{
    Completion, Engine, EngineKind, Errno, Handle, Op, Slot, Span, TransferFlags, TransferPlace,
};

use crate::Maker;

/// No check depends on a limit.
pub const LONG: Duration = Duration::MAX;

/// An engine with four slots of 64 KiB and room for four requests.
pub fn small(make: Maker) -> Option<Engine> {
    make(4, 65_536, 4, Arc::new(AtomicBool::new(false)))
}

/// The seed of this run: given, or fixed; printed, so that a failure tells it.
pub fn seeded() -> Random {
    let seed = std::env::var("DATAPUMP_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(7041);
    println!("DATAPUMP_SEED={seed} cargo test -p datapump-engine --test conformance");
    Random::new(seed)
}

/// So many bytes of noise.
pub fn noise(random: &mut Random, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    random.fill(&mut bytes);
    bytes
}

/// As [`small`], for checks of what only the operating system has.
pub fn small_real(make: Maker) -> Option<Engine> {
    let engine = small(make)?;
    if engine.kind() == EngineKind::Sim {
        eprintln!("SKIPPED on sim: about the operating system");
        return None;
    }
    Some(engine)
}

/// A file of the operating system, as requests refer to it.
pub fn handle(file: impl Into<File>) -> Arc<Handle> {
    Arc::new(Handle::Os(file.into()))
}

/// A file with this content, open for reading and writing: temporary, or simulated for the simulation.
pub fn file_for(engine: &Engine, content: &[u8]) -> Arc<Handle> {
    if engine.kind() == EngineKind::Sim {
        let disk = SimDisk::new();
        disk.put(b"file", content);
        return Arc::new(Handle::Sim(disk.open(b"file").expect("just put there")));
    }
    let file = tempfile::tempfile().expect("a temporary file");
    write_all(&file, content);
    handle(file)
}

/// Writes from the file's start, without an engine.
pub fn write_all(mut file: &File, content: &[u8]) {
    use std::io::{Seek, Write};
    file.write_all(content).expect("room for a small file");
    file.rewind().expect("a file has a position");
}

/// All of a file, without an engine.
pub fn content(handle: &Handle) -> Vec<u8> {
    use std::io::{Read, Seek};
    let mut bytes = Vec::new();
    let mut file = match handle {
        Handle::Os(file) => file,
        Handle::Sim(file) => {
            bytes.resize(file.metadata().size_bytes as usize, 0);
            file.read(Some(0), &mut bytes).expect("readable");
            return bytes;
        }
    };
    file.rewind().expect("a file has a position");
    file.read_to_end(&mut bytes).expect("readable");
    bytes
}

pub fn span(slot: u32, start: u32, len: u32) -> Span {
    Span { slot: Slot(slot), start, len }
}

pub fn read(file: &Arc<Handle>, place: TransferPlace, span: Span) -> Op {
    Op::Read { file: Arc::clone(file), place, span, flags: TransferFlags::default() }
}

pub fn write(file: &Arc<Handle>, place: TransferPlace, span: Span) -> Op {
    Op::Write { file: Arc::clone(file), place, span, flags: TransferFlags::default() }
}

/// The same request, done like this besides.
pub fn with(mut op: Op, how: TransferFlags) -> Op {
    match &mut op {
        Op::Read { flags, .. } | Op::Write { flags, .. } => *flags = how,
        other => panic!("no transfer: {other:?}"),
    }
    op
}

/// Posts one request and waits for it.
pub fn one(engine: &mut Engine, op: Op) -> Result<u32, Errno> {
    let completion = match engine.post(77, op) {
        Some(completion) => completion,
        None => next(engine),
    };
    assert_eq!(completion.token, 77);
    assert_eq!(engine.in_flight(), 0);
    completion.result
}

/// Waits for the next completion.
pub fn next(engine: &mut Engine) -> Completion {
    loop {
        if let Some(completion) = engine.take() {
            return completion;
        }
        engine.wait(LONG).expect("the engine works");
    }
}

/// Posts all requests, their tokens counting up from 0, and collects the results by token; each comes once.
pub fn all(engine: &mut Engine, ops: Vec<Op>) -> BTreeMap<u32, Result<u32, Errno>> {
    let mut results = BTreeMap::new();
    let mut note = |completion: Completion| {
        let before = results.insert(completion.token, completion.result);
        assert_eq!(before, None, "token {} came twice", completion.token);
    };
    for (token, op) in (0..).zip(ops) {
        engine.post(token, op).into_iter().for_each(&mut note);
    }
    while engine.in_flight() > 0 {
        note(next(engine));
    }
    assert_eq!(engine.take(), None, "nothing was in flight");
    results
}
