//! Two copy loops in a row, from a file over a link to a file, with real bytes on three devices that follow a model, on a
//! virtual clock or on the real one.
//!
//! Must not know: how fast it should be.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use datapump_core::{
    Block, BlockRoute, Claimed, Extent, Length, Pump, PumpEvent, Request, Settled, Shape, Step, Transfer,
};
use datapump_engine::sim::{Device, Faults, SimClock, SimDisk};
use datapump_engine::{Arena, Engine, Handle, Op, Sim, Slot, Span, TransferFlags, TransferPlace};

const REQUEST_BYTES: u32 = 65_536;
const REQUESTS: u64 = 150;
/// Bytes that go through a chain.
pub const BYTES: u64 = REQUESTS * REQUEST_BYTES as u64 - 13;
const SHAPE: Shape = Shape {
    request_bytes: REQUEST_BYTES,
    source_depth: 2,
    source_depth_max: 2,
    sink_depth: 2,
    in_order: false,
    source_serial: false,
    sink_serial: false,
    assemble: true,
};

/// One copy loop, its files, and the extents that it may claim.
struct ChainLoop {
    pump: Pump,
    source: Arc<Handle>,
    sink: Arc<Handle>,
    ready: VecDeque<Extent>,
    /// No more will be ready.
    is_last: bool,
    is_done: bool,
}

impl ChainLoop {
    fn new(disk: &Arc<SimDisk>, [source, sink]: [&[u8]; 2]) -> ChainLoop {
        let open = |name: &[u8]| Arc::new(Handle::Sim(disk.open(name).expect("it is there")));
        let (source, sink) = (open(source), open(sink));
        ChainLoop {
            pump: Pump::new(SHAPE),
            source,
            sink,
            ready: VecDeque::new(),
            is_last: false,
            is_done: false,
        }
    }

    fn give(&mut self, at: u64, bytes: u64) {
        let length = Length::Bytes(bytes);
        self.ready.push_back(Extent { file: 0, at, length, way: BlockRoute::Slots });
        self.pump.handle_more();
    }

    fn end(&mut self) {
        self.is_last = true;
        self.pump.handle_more();
    }

    /// Posts all that can be posted now; slots count from `first`.
    fn post(&mut self, engine: &mut Engine, first: u32) {
        loop {
            match self.pump.poll() {
                Step::Claim => {
                    let none = if self.is_last { Claimed::Never } else { Claimed::NotYet };
                    self.pump.handle_claim(self.ready.pop_front().map_or(none, Claimed::Extent));
                }
                Step::Post(request) => {
                    engine.post(first + request.slot, self.op(request, first));
                }
                Step::Done => {
                    self.is_done = true;
                    return;
                }
                Step::Wait(_) | Step::Starved => return,
            }
        }
    }

    fn op(&self, Request { transfer, slot, done, block }: Request, first: u32) -> Op {
        let place = TransferPlace::At(block.at + u64::from(done));
        let span = Span { slot: Slot(first + slot), start: done, len: block.len - done };
        let flags = TransferFlags::default();
        match transfer {
            Transfer::Read => Op::Read { file: Arc::clone(&self.source), place, span, flags },
            _ => Op::Write { file: Arc::clone(&self.sink), place, span, flags },
        }
    }

    /// The block that was written, if one was.
    fn complete(&mut self, slot: u32, bytes: u32) -> Option<Block> {
        match self.pump.handle_completion(slot, Settled::Moved(bytes)) {
            PumpEvent::Landed { block } => Some(block),
            PumpEvent::Failed(fault) => panic!("{fault:?}"),
            _ => None,
        }
    }
}

/// Bytes per second of a chain of source, link and target of these MB/s. What arrives is what was sent.
pub fn rate(clock: &SimClock, parts_mb: [u64; 3]) -> f64 {
    let content: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8 ^ (at >> 16) as u8).collect();
    let disk = SimDisk::new();
    disk.put(b"source", &content);
    for name in [&b"link"[..], b"arrived", b"target"] {
        disk.put(name, b"");
    }
    for (name, mb) in [&b"source"[..], b"link", b"target"].into_iter().zip(parts_mb) {
        let device = Device { latency_ps: 300_000_000, bytes_per_s: mb * 1_000_000, synchronous: false };
        disk.put_on(name, device);
    }
    let mut sender = ChainLoop::new(&disk, [b"source", b"link"]);
    let mut receiver = ChainLoop::new(&disk, [b"arrived", b"target"]);
    let slots = sender.pump.slots();
    let sim = Sim::new(clock.clone(), Device::default(), Device::default(), Faults::default(), 1);
    let mut engine = Engine::sim(Arena::new(2 * slots, REQUEST_BYTES), sim);
    // From the first request to the last: on the real clock making 10 MB and their hash takes a tenth of the whole.
    let begin_ps = clock.now_ps();
    sender.give(0, BYTES);
    sender.end();
    while !(sender.is_done && receiver.is_done) {
        sender.post(&mut engine, 0);
        receiver.post(&mut engine, slots);
        engine.wait(Duration::from_secs(1)).expect("a simulation waits");
        while let Some(completion) = engine.take() {
            let moved = completion.result.expect("no faults");
            if completion.token >= slots {
                receiver.complete(completion.token - slots, moved);
            } else if let Some(block) = sender.complete(completion.token, moved) {
                // Bytes that crossed the link are at the other host.
                let mut crossed = vec![0; block.len as usize];
                sender.sink.sim().read(Some(block.at), &mut crossed).expect("it was written");
                receiver.source.sim().write(Some(block.at), &crossed).expect("room");
                receiver.give(block.at, block.len.into());
            }
        }
        sender.post(&mut engine, 0);
        if sender.is_done && !receiver.is_last {
            receiver.end();
        }
    }
    let seconds = (clock.now_ps() - begin_ps) as f64 / 1e12;
    let arrived = disk.content(b"target").expect("it is there");
    assert_eq!(blake3::hash(&arrived), blake3::hash(&content), "{parts_mb:?}");
    BYTES as f64 / seconds
}
