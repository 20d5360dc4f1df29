//! The copy loop under any sequence of completions, claims, stops and failures: it never panics, keeps its depths,
//! hands on in order where it must, and comes to an end.
#![no_main]

use arbitrary::Arbitrary;
use datapump_core::{
    BlockRoute, Claimed, Extent, Length, Pump, PumpEvent, Request, Settled, Shape, Step, Transfer,
};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    request_bytes: u8,
    depths: (u8, u8),
    in_order: bool,
    serial: (bool, bool),
    assemble: bool,
    acts: Vec<Act>,
}

#[derive(Arbitrary, Debug)]
enum Act {
    /// A request in flight ends, this way.
    Complete(u8, End),
    /// What the plan has next.
    Offer(u16, bool, bool),
    NothingYet,
    FailFile(u8),
    Stop,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum End {
    Moved(u16),
    All,
    NoData,
    Cancelled,
    Failed,
}

/// The owner of a pump, with what it has in flight.
struct Owner {
    pump: Pump,
    shape: Shape,
    flying: Vec<Request>,
    offers: Vec<Claimed>,
    files: u32,
    over: bool,
}

impl Owner {
    fn new(input: &Input) -> Owner {
        let shape = Shape {
            request_bytes: u32::from(input.request_bytes).max(1),
            source_depth: u32::from(input.depths.0 % 8) + 1,
            source_depth_max: 16,
            sink_depth: u32::from(input.depths.1 % 8) + 1,
            in_order: input.in_order,
            source_serial: input.serial.0,
            sink_serial: input.serial.1,
            assemble: input.assemble || !input.serial.0,
        };
        let (flying, offers) = (Vec::new(), Vec::new());
        Owner { pump: Pump::new(shape), shape, flying, offers, files: 0, over: false }
    }

    fn offer(&mut self, bytes: u16, known: bool, in_kernel: bool) {
        let in_kernel = in_kernel && known && !self.shape.source_serial && !self.shape.sink_serial;
        let length = if known { Length::Bytes(bytes.into()) } else { Length::UntilEnd };
        let way = if in_kernel { BlockRoute::InKernel } else { BlockRoute::Slots };
        self.offers.push(Claimed::Extent(Extent { file: self.files, at: 0, length, way }));
        self.files += 1;
    }

    /// Does what the pump says until it waits; false when it is done.
    fn follow(&mut self) -> bool {
        loop {
            match self.pump.poll() {
                Step::Post(request) => self.post(request),
                Step::Claim => self.pump.handle_claim(self.offers.pop().unwrap_or(Claimed::Never)),
                Step::Starved => self.pump.handle_more(),
                Step::Wait(_) => {
                    assert!(!self.flying.is_empty(), "waits for nothing");
                    return true;
                }
                Step::Done => {
                    assert!(self.flying.is_empty(), "done with requests in flight");
                    return false;
                }
            }
        }
    }

    fn post(&mut self, request: Request) {
        assert!(request.done < request.block.len && request.block.len <= self.shape.request_bytes);
        assert!(!self.over, "{request:?} after a stop");
        assert!(self.flying.iter().all(|other| other.slot != request.slot), "a slot used twice");
        self.flying.push(request);
        let count = |transfer| self.flying.iter().filter(|other| other.transfer == transfer).count() as u32;
        let copies = count(Transfer::Copy);
        let (reads, writes) = (count(Transfer::Read) + copies, count(Transfer::Write) + copies);
        assert!(reads <= if self.shape.source_serial { 1 } else { self.shape.source_depth });
        assert!(writes <= if self.shape.sink_serial { 1 } else { self.shape.sink_depth });
    }

    fn complete(&mut self, which: u8, end: End) {
        if self.flying.is_empty() {
            return;
        }
        let request = self.flying.swap_remove(usize::from(which) % self.flying.len());
        let left = request.block.len - request.done;
        let settled = match end {
            End::Moved(bytes) => Settled::Moved(u32::from(bytes) % left + 1),
            End::All => Settled::Moved(left),
            End::NoData => Settled::EndOfData,
            End::Cancelled => Settled::Cancelled,
            End::Failed => Settled::Failed(5),
        };
        let event = self.pump.handle_completion(request.slot, settled);
        if let PumpEvent::Landed { block } = event {
            assert_eq!(block, request.block);
        }
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Complete(which, end) => self.complete(which, end),
            Act::Offer(bytes, known, in_kernel) => self.offer(bytes, known, in_kernel),
            Act::NothingYet => self.offers.push(Claimed::NotYet),
            Act::FailFile(file) => self.pump.handle_failed_file(file.into()),
            Act::Stop => {
                self.pump.handle_stop();
                self.over = true;
            }
        }
    }
}

fuzz_target!(|input: Input| {
    let mut owner = Owner::new(&input);
    for act in &input.acts {
        owner.act(act);
        owner.follow();
    }
    // Whatever happened, it comes to an end when everything in flight ends.
    owner.pump.handle_stop();
    owner.over = true;
    while owner.follow() {
        owner.complete(0, End::All);
    }
});
