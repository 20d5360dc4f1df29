//! What the copy loop must do, kept the simple way: every block is in one of three lists.

use datapump_core::{PumpEvent, PumpSide, Request, Settled, Shape, Transfer};

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(bits ^ (bits >> 31)) * u128::from(bound)) >> 64) as u64
    }
}

/// Runs `check` for the seeds that the environment asks for; a failure prints the one that replays it.
pub fn for_each_seed(usual: u64, check: impl Fn(u64) + std::panic::RefUnwindSafe) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("DATAPUMP_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("DATAPUMP_SEEDS").unwrap_or(usual),
    };
    for seed in seeds {
        if let Err(panic) = std::panic::catch_unwind(|| check(seed)) {
            eprintln!("replay: DATAPUMP_SEED={seed} cargo test -p datapump-core --test copy_loop");
            std::panic::resume_unwind(panic);
        }
    }
}

#[derive(Debug)]
pub struct Model {
    shape: Shape,
    file_bytes: u64,
    /// Requests in flight.
    flying: Vec<Request>,
    /// Blocks read and not yet handed on: slot, offset, length.
    full: Vec<(u32, u64)>,
    /// Every slot's content: offset of each byte.
    slots: Vec<Vec<u64>>,
    /// The sink's bytes: offset that was written there.
    sink: Vec<Option<u64>>,
    /// Offsets of blocks whose read was posted, oldest first, until handed on.
    reading_order: Vec<u64>,
    last_handed_on: Option<u64>,
    pub partial_returns: u64,
    /// Bytes that these moved.
    pub partial_bytes: u64,
    pub reads_with_data: u64,
}

impl Model {
    pub fn new(shape: Shape, file_bytes: u64) -> Model {
        Model {
            shape,
            file_bytes,
            flying: Vec::new(),
            full: Vec::new(),
            slots: vec![Vec::new(); (shape.source_depth_max + shape.sink_depth) as usize],
            sink: vec![None; file_bytes as usize],
            reading_order: Vec::new(),
            last_handed_on: None,
            partial_returns: 0,
            partial_bytes: 0,
            reads_with_data: 0,
        }
    }

    /// More may be on the source's side from now on; never less.
    pub fn raise_source_depth(&mut self, depth: u32) {
        if depth > self.shape.source_depth {
            self.shape.source_depth = depth.min(self.shape.source_depth_max);
        }
    }

    pub fn source_depth(&self) -> u32 {
        self.shape.source_depth
    }

    pub fn in_flight(&self) -> usize {
        self.flying.len()
    }

    fn count(&self, transfer: Transfer) -> usize {
        self.flying.iter().filter(|request| request.transfer == transfer).count()
    }

    /// A request is posted: it must be allowed, and it must mean bytes that are there.
    pub fn post(&mut self, request: Request) {
        assert!(self.flying.iter().all(|other| other.slot != request.slot), "slot used twice: {request:?}");
        let first = request.done == 0;
        match request.transfer {
            Transfer::Read if first => {
                self.slots[request.slot as usize].clear();
                self.reading_order.push(request.block.at);
            }
            Transfer::Write if first => self.hand_on(request),
            Transfer::Read | Transfer::Write | Transfer::Copy => {}
        }
        self.flying.push(request);
        self.check_depths();
    }

    fn hand_on(&mut self, request: Request) {
        let index = self.full.iter().position(|&(slot, at)| (slot, at) == (request.slot, request.block.at));
        self.full.remove(index.unwrap_or_else(|| panic!("{request:?} writes what was not read yet")));
        let at = request.block.at;
        if self.shape.in_order {
            assert_eq!(self.reading_order.first(), Some(&at), "S2: handed on out of order");
            assert!(
                self.last_handed_on.is_none_or(|last| last < at),
                "S2: {at} after {:?}",
                self.last_handed_on
            );
        }
        self.reading_order.retain(|&other| other != at);
        self.last_handed_on = Some(at);
        let content = &self.slots[request.slot as usize];
        assert_eq!(content.len(), request.block.len as usize, "{request:?}: the slot holds the whole block");
    }

    /// Statement S4: at every event.
    fn check_depths(&self) {
        let (reads, writes, copies) =
            (self.count(Transfer::Read), self.count(Transfer::Write), self.count(Transfer::Copy));
        let held = reads + copies + self.full.len();
        assert!(held <= self.shape.source_depth as usize, "source depth exceeded");
        assert!(writes + copies <= self.shape.sink_depth as usize, "sink depth exceeded");
        assert!(!self.shape.source_serial || reads + copies <= 1, "a stream is read one request at a time");
        assert!(!self.shape.sink_serial || writes + copies <= 1, "a stream is written one request at a time");
    }

    /// The rule of verdicts: full blocks held back by the sink's depth, or only the sink at work: the sink.
    pub fn waits_for(&self) -> PumpSide {
        let (reads, writes, copies) =
            (self.count(Transfer::Read), self.count(Transfer::Write), self.count(Transfer::Copy));
        let limit = if self.shape.sink_serial { 1 } else { self.shape.sink_depth as usize };
        let ready = if self.shape.in_order {
            self.reading_order.first().is_some_and(|first| self.full.iter().any(|(_, at)| at == first))
        } else {
            !self.full.is_empty()
        };
        let sink_full = writes + copies >= limit;
        if (ready && sink_full) || reads + copies == 0 { PumpSide::Sink } else { PumpSide::Source }
    }

    /// Completes a random request that is in flight.
    pub fn complete(&mut self, random: &mut Random, partial_one_in: u64, fails: bool) -> (Request, Settled) {
        let request = self.flying.swap_remove(random.below(self.flying.len() as u64) as usize);
        if fails {
            return (request, Settled::Failed(5));
        }
        if request.transfer == Transfer::Copy && request.done == 0 && random.below(6) == 0 {
            return (request, Settled::Unable);
        }
        let at = request.block.at + u64::from(request.done);
        let asked = u64::from(request.block.len - request.done);
        let there = if request.transfer == Transfer::Write {
            asked
        } else {
            asked.min(self.file_bytes.saturating_sub(at))
        };
        let bytes = match there {
            0 => return (request, Settled::EndOfData),
            there if partial_one_in > 0 && random.below(partial_one_in) == 0 => 1 + random.below(there),
            there => there,
        };
        self.move_bytes(request, at, bytes);
        self.partial_returns += u64::from(bytes < asked);
        self.partial_bytes += if bytes < asked { bytes } else { 0 };
        self.reads_with_data += u64::from(request.transfer == Transfer::Read);
        (request, Settled::Moved(bytes as u32))
    }

    fn move_bytes(&mut self, request: Request, at: u64, bytes: u64) {
        let content = &mut self.slots[request.slot as usize];
        match request.transfer {
            Transfer::Read => {
                assert_eq!(content.len(), request.done as usize, "{request:?} goes on behind what was read");
                content.extend(at..at + bytes);
            }
            Transfer::Write => {
                for offset in 0..bytes {
                    let byte = content[(u64::from(request.done) + offset) as usize];
                    assert!(
                        self.sink[(at + offset) as usize].replace(byte).is_none(),
                        "written twice: {request:?}"
                    );
                }
            }
            Transfer::Copy => (at..at + bytes).for_each(|offset| self.sink[offset as usize] = Some(offset)),
        }
    }

    /// Notes what the pump made of a completion.
    pub fn note(&mut self, request: Request, settled: Settled, event: PumpEvent) {
        match event {
            PumpEvent::Filled { slot, block, ended } => {
                self.full.push((slot, block.at));
                ended.into_iter().for_each(|at| assert_eq!(at, self.file_bytes, "the end is where it is"));
            }
            PumpEvent::Ended { at, .. } => assert_eq!(at, self.file_bytes, "the end is where it is"),
            PumpEvent::Landed { .. } | PumpEvent::Nothing | PumpEvent::Failed(_) => {}
        }
        let dropped = !matches!(event, PumpEvent::Filled { .. }) && !matches!(settled, Settled::Moved(_));
        if request.transfer == Transfer::Read && dropped {
            self.reading_order.retain(|&at| at != request.block.at);
        }
    }

    pub fn assert_whole(&self, words: &str) {
        for (at, byte) in self.sink.iter().enumerate() {
            assert_eq!(*byte, Some(at as u64), "{words}: byte {at}");
        }
    }
}
