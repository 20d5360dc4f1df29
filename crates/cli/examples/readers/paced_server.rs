//! Many readers of one server: a copy loop for each reader, and one device with a latency and a rate behind all of them, on a
//! virtual clock or on the real one.
//!
//! A reader fetches 10 requests of 1 MB from a server whose channel is busy for D / 10 with each, and each request is
//! under way for the rest of R1 / 10 besides. All requests go through one simulated engine, so that its one channel is
//! the server that readers share. Must not know: what is made of the latencies.

use std::time::Duration;

use datapump_core::model;
use datapump_core::{BlockRoute, Claimed, Extent, Length, Pump, Request, Settled, Shape, Step, Transfer};
use datapump_engine::sim::{Device, Faults, SimClock};
use datapump_engine::{Arena, Engine, Op, Sim};

/// Requests of a reader.
const REQUESTS: u32 = 10;
/// Bytes of each.
const REQUEST_BYTES: u32 = 1_000_000;
/// Bytes that a reader fetches.
pub const READER_BYTES: f64 = 10e6;
/// Numbers that stand for a request: each reader has so many.
const TOKENS: u32 = 8;

/// A server, and how it is read.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Its name.
    pub name: &'static str,
    /// Latency of a single reader with one request in flight, in seconds: R1.
    pub r1_s: f64,
    /// What the server spends on a reader, in seconds: D.
    pub d_s: f64,
    /// Requests in flight of each reader.
    pub window: u32,
}

const fn stage(name: &'static str, r1_s: f64, d_s: f64, window: u32) -> Stage {
    Stage { name, r1_s, d_s, window }
}

/// A tenth of the R1 and D of "File IO: Evaluation of Changes" (`ref_legion_fit.csv`). The last stage differs from the
/// one before by its window alone.
pub const STAGES: [Stage; 5] = [
    stage("unoptimized", 0.447, 0.172, 1),
    stage("optimized", 0.448, 0.17355, 1),
    stage("openssl", 0.391, 0.13455, 1),
    stage("io_additions", 0.374, 0.1308, 1),
    stage("sliding_window", 0.374, 0.1308, 2),
];

struct Reader {
    pump: Pump,
    is_claimed: bool,
    done_ns: Option<u64>,
}

impl Reader {
    fn new(window: u32) -> Reader {
        let shape = Shape {
            request_bytes: REQUEST_BYTES,
            source_depth: window,
            source_depth_max: window,
            sink_depth: 1,
            in_order: false,
            source_serial: false,
            sink_serial: false,
            assemble: true,
        };
        Reader { pump: Pump::new(shape), is_claimed: false, done_ns: None }
    }

    /// What the plan gives: the file, once.
    fn claim(&mut self) {
        let length = Length::Bytes(u64::from(REQUESTS * REQUEST_BYTES));
        let file = Extent { file: 0, at: 0, length, way: BlockRoute::Slots };
        let claimed = if self.is_claimed { Claimed::Never } else { Claimed::Extent(file) };
        self.is_claimed = true;
        self.pump.handle_claim(claimed);
    }

    /// The next request that can be posted; none if there is nothing to do but wait.
    fn next(&mut self, now_ns: u64) -> Option<Request> {
        loop {
            match self.pump.poll() {
                Step::Claim => self.claim(),
                Step::Post(request) => return Some(request),
                Step::Wait(_) => return None,
                Step::Done => {
                    self.done_ns = self.done_ns.or(Some(now_ns));
                    return None;
                }
                Step::Starved => unreachable!("the plan never says that there is nothing yet"),
            }
        }
    }
}

/// Posts all that can be posted. Readers take turns, a request each, as readers on hosts of their own would: who
/// posted all of its requests first would be served first.
fn post(engine: &mut Engine, all: &mut [Reader], now_ns: u64) {
    let mut is_posting = true;
    while is_posting {
        is_posting = false;
        for (number, reader) in (0..).zip(&mut *all) {
            if let Some(request) = reader.next(now_ns) {
                let write = request.transfer == Transfer::Write;
                let op = Op::Nop { len: request.block.len - request.done, write };
                engine.post(number * TOKENS + request.slot, op);
                is_posting = true;
            }
        }
    }
}

/// How long a single reader takes by the closed form, in seconds: R1 with its requests in flight.
pub fn single_reader_s(stage: &Stage) -> f64 {
    let server = model::ModelDevice {
        latency_s: (stage.r1_s - stage.d_s) / f64::from(REQUESTS),
        bytes_per_s: READER_BYTES / stage.d_s,
        depth: stage.window,
    };
    server.done_alone_s(REQUESTS.into(), REQUEST_BYTES.into())
}

/// How long each of `readers` took that began together at one server, in seconds.
pub fn latencies_s(clock: &SimClock, stage: &Stage, readers: u32) -> Vec<f64> {
    let (latency_s, service_s) =
        ((stage.r1_s - stage.d_s) / f64::from(REQUESTS), stage.d_s / f64::from(REQUESTS));
    let server = Device {
        latency_ps: (latency_s * 1e12) as u64,
        bytes_per_s: (f64::from(REQUEST_BYTES) / service_s) as u64,
        synchronous: false,
    };
    let sim = Sim::new(clock.clone(), server, Device::default(), Faults::default(), 1);
    let mut engine = Engine::sim(Arena::new(0, 1), sim);
    let mut all: Vec<Reader> = (0..readers).map(|_| Reader::new(stage.window)).collect();
    let begun_ns = clock.now_ns();
    while all.iter().any(|reader| reader.done_ns.is_none()) {
        post(&mut engine, &mut all, clock.now_ns());
        engine.wait(Duration::from_secs(1)).expect("a simulation waits");
        while let Some(completion) = engine.take() {
            let moved = Settled::Moved(completion.result.expect("no faults"));
            let reader = &mut all[(completion.token / TOKENS) as usize];
            reader.pump.handle_completion(completion.token % TOKENS, moved);
        }
    }
    let latency_s = |reader: &Reader| (reader.done_ns.unwrap_or(begun_ns) - begun_ns) as f64 / 1e9;
    all.iter().map(latency_s).collect()
}

/// The same for readers that each have a server of their own, in a thread of their own.
pub fn own_servers_s(clock: fn() -> SimClock, stage: &Stage, readers: u32) -> Vec<f64> {
    std::thread::scope(|scope| {
        let one = || scope.spawn(|| latencies_s(&clock(), stage, 1)[0]);
        let threads: Vec<_> = (0..readers).map(|_| one()).collect();
        threads.into_iter().map(|thread| thread.join().expect("a reader does not panic")).collect()
    })
}
