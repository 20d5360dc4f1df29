//! The copy loop against a model, under seeded schedules: any completion order, partial returns, ends of data, faults,
//! stops. Statements S1 to S5, S10 and S11.
//!
//! `DATAPUMP_SEEDS=100000` runs that many; `DATAPUMP_SEED=7041` replays one.

mod model;

use datapump_core::{
    BlockRoute, Claimed, Extent, FaultKind, Length, Pump, PumpEvent, PumpFault, PumpSide, Request, Settled,
    Shape, Step, Transfer,
};
use model::{Model, Random, for_each_seed};

/// One random run's settings.
#[derive(Debug)]
struct Case {
    shape: Shape,
    file_bytes: u64,
    known_length: bool,
    in_kernel: bool,
    partial_one_in: u64,
    /// The n-th completion fails.
    fail_at: Option<u64>,
    stop_at: Option<u64>,
}

impl Case {
    fn random(random: &mut Random) -> Case {
        let request = [1, 2, 7, 16, 64][random.below(5) as usize];
        let source_serial = random.below(4) == 0;
        let in_kernel = random.below(6) == 0;
        let around = [0, 1, request - 1, request, request + 1, 7 * request + 13, 40 * request]
            [random.below(7) as usize];
        let mut shape = Shape {
            request_bytes: request as u32,
            source_depth: 1 + random.below(8) as u32,
            source_depth_max: 0,
            sink_depth: 1 + random.below(8) as u32,
            in_order: random.below(2) == 0,
            source_serial,
            sink_serial: random.below(4) == 0,
            assemble: !source_serial || random.below(2) == 0,
        };
        // Half of the runs may raise the depth.
        shape.source_depth_max = shape.source_depth + [0, random.below(8) as u32][random.below(2) as usize];
        Case {
            shape,
            file_bytes: around,
            known_length: in_kernel || random.below(3) > 0,
            in_kernel,
            partial_one_in: [0, 2, 5][random.below(3) as usize],
            fail_at: (random.below(4) == 0).then(|| 1 + random.below(40)),
            stop_at: (random.below(8) == 0).then(|| 1 + random.below(40)),
        }
    }

    fn extent(&self) -> Extent {
        let length = match (self.known_length, self.shape.assemble) {
            (true, _) => Length::Bytes(self.file_bytes),
            // Asked for more than there is, to see its end.
            (false, true) if self.file_bytes.is_multiple_of(2) => Length::UpTo(self.file_bytes + 3),
            (false, _) => Length::UntilEnd,
        };
        Extent {
            file: 1,
            at: 0,
            length,
            way: if self.in_kernel { BlockRoute::InKernel } else { BlockRoute::Slots },
        }
    }
}

/// How a run ended.
struct Ended {
    model: Model,
    fault: Option<PumpFault>,
    stopped: bool,
    counts: datapump_core::Counts,
}

/// Drives the pump as an owner would, completing requests in random order.
fn drive(case: &Case, random: &mut Random) -> Ended {
    let mut pump = Pump::new(case.shape);
    let mut model = Model::new(case.shape, case.file_bytes);
    let (mut claimed, mut fault, mut stopped, mut completions) = (false, None, false, 0);
    loop {
        match pump.poll() {
            Step::Claim => {
                let answer = if claimed { Claimed::Never } else { Claimed::Extent(case.extent()) };
                claimed = true;
                pump.handle_claim(answer);
            }
            Step::Post(request) => {
                assert!(fault.is_none() && !stopped, "{request:?} after a fault or a stop");
                model.post(request);
            }
            Step::Wait(side) => {
                // After a fault or a stop what is left only drains, and no time is compared any more.
                if fault.is_none() && !stopped {
                    assert_eq!(side, model.waits_for(), "whom this wait is charged to: {case:?}");
                }
                completions += 1;
                if case.stop_at == Some(completions) {
                    stopped = true;
                    pump.handle_stop();
                }
                let fails = case.fail_at == Some(completions);
                if random.below(4) == 0 {
                    let depth = random.below(16) as u32;
                    pump.raise_source_depth(depth);
                    model.raise_source_depth(depth);
                    assert_eq!(pump.source_depth(), model.source_depth(), "{case:?}");
                }
                let (request, settled) = model.complete(random, case.partial_one_in, fails);
                let expect_fault = fails && fault.is_none() && !stopped;
                let event = pump.handle_completion(request.slot, settled);
                model.note(request, settled, event);
                if let PumpEvent::Failed(told) = event {
                    assert!(fault.replace(told).is_none(), "only the first fault is told");
                    assert!(expect_fault, "{told:?} without a cause");
                    let at = request.block.at + u64::from(request.done);
                    let side =
                        if request.transfer == Transfer::Read { PumpSide::Source } else { PumpSide::Sink };
                    assert_eq!(told, PumpFault { side, file: 1, at, kind: FaultKind::Errno(5) });
                }
            }
            Step::Starved => unreachable!("the plan never says not yet"),
            Step::Done => break,
        }
    }
    Ended { model, fault, stopped, counts: pump.counts() }
}

#[test]
fn every_run_copies_exactly_or_says_why_not() {
    for_each_seed(5_000, |seed| {
        let mut random = Random::new(seed);
        let case = Case::random(&mut random);
        let ended = drive(&case, &mut random);
        assert_eq!(ended.model.in_flight(), 0, "{case:?}: nothing is left in flight");
        if ended.fault.is_none() && !ended.stopped {
            ended.model.assert_whole(&format!("{case:?}"));
            assert_eq!(ended.counts.bytes, case.file_bytes, "{case:?}");
        }
        check_counts(&case, &ended);
    });
}

/// Statement S10: with assembly every block is full but the last, and the counters equal the script.
fn check_counts(case: &Case, ended: &Ended) {
    let counts = ended.counts;
    if ended.fault.is_some() || ended.stopped {
        return;
    }
    assert_eq!(counts.source_partial + counts.sink_partial, ended.model.partial_returns, "{case:?}");
    assert_eq!(counts.partial_bytes, ended.model.partial_bytes, "{case:?}");
    let full = case.file_bytes.div_ceil(case.shape.request_bytes.into());
    if case.shape.assemble {
        assert_eq!(counts.sink_requests, full, "{case:?}");
    } else if !case.in_kernel {
        // S11: without it, as many writes as reads returned data.
        assert_eq!(counts.sink_requests, ended.model.reads_with_data, "{case:?}");
    }
}

/// How many bytes the n-th return of a source has, of so many that were asked for.
type ReturnScript = fn(&mut Random, u64) -> u64;

/// What a script did: all returns, those that did not fill what was asked for, and the bytes of these.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ReturnCounts {
    returns: u64,
    partial_returns: u64,
    partial_bytes: u64,
}

/// Moves a file from a stream that returns what the script says. Gives the pump's counts and the script's.
fn scripted(shape: Shape, file_bytes: u64, script: ReturnScript) -> (datapump_core::Counts, ReturnCounts) {
    let (mut pump, mut random) = (Pump::new(shape), Random::new(file_bytes));
    let (mut flying, mut script_counts) = (Vec::<Request>::new(), ReturnCounts::default());
    loop {
        match pump.poll() {
            Step::Claim if script_counts.returns > 0 => pump.handle_claim(Claimed::Never),
            Step::Claim => pump.handle_claim(Claimed::Extent(Extent {
                file: 0,
                at: 0,
                length: Length::Bytes(file_bytes),
                way: BlockRoute::Slots,
            })),
            Step::Post(request) => flying.push(request),
            Step::Wait(_) => {
                let request = flying.swap_remove(random.below(flying.len() as u64) as usize);
                let asked = u64::from(request.block.len - request.done);
                let mut bytes = asked;
                if request.transfer == Transfer::Read {
                    bytes = script(&mut random, asked).clamp(1, asked);
                    script_counts.returns += 1;
                    script_counts.partial_returns += u64::from(bytes < asked);
                    script_counts.partial_bytes += if bytes < asked { bytes } else { 0 };
                } else {
                    assert_eq!(request.done, 0, "a block is written whole, from where it was read to");
                }
                pump.handle_completion(request.slot, Settled::Moved(bytes as u32));
            }
            Step::Done => return (pump.counts(), script_counts),
            Step::Starved => unreachable!("the plan never says that there is nothing yet"),
        }
    }
}

/// Statement S11: with assembly the sink has ceil(A/RS) requests, without as many as there were returns. What came in
/// parts is all that is put together: a return that fills a block adds nothing to that.
#[test]
fn s11_a_return_that_fills_a_block_is_not_put_together() {
    let scripts: [(&str, ReturnScript); 3] = [
        ("1448 bytes each", |_, _| 1448),
        ("any number", |random, asked| 1 + random.below(asked)),
        ("always full", |_, asked| asked),
    ];
    for (name, script) in scripts {
        for request_bytes in [1448, 4096, 65_536] {
            for (assemble, sink_depth) in [(true, 1), (true, 4), (false, 1), (false, 4)] {
                let bytes = 7 * u64::from(request_bytes) + 13;
                let shape = Shape {
                    request_bytes,
                    source_depth: 2,
                    source_depth_max: 2,
                    sink_depth,
                    in_order: true,
                    source_serial: true,
                    sink_serial: false,
                    assemble,
                };
                let (counts, expected) = scripted(shape, bytes, script);
                let what = format!("{name}, {request_bytes} bytes, assembled: {assemble}");
                assert_eq!(counts.bytes, bytes, "{what}");
                assert_eq!(counts.sink_requests, if assemble { 8 } else { expected.returns }, "{what}");
                let got = [counts.source_partial, counts.partial_bytes];
                assert_eq!(got, [expected.partial_returns, expected.partial_bytes], "{what}");
                assert!(name != "always full" || (expected.returns, got) == (8, [0, 0]), "{what}");
            }
        }
    }
}

/// Statement S3: one write that is stalled does not stop the others.
#[test]
fn a_stalled_write_does_not_stop_the_others() {
    let shape = Shape {
        request_bytes: 10,
        source_depth: 2,
        source_depth_max: 2,
        sink_depth: 2,
        in_order: false,
        source_serial: false,
        sink_serial: false,
        assemble: true,
    };
    let mut pump = Pump::new(shape);
    let (mut stalled, mut landed, mut waiting) = (None, 0, Vec::new());
    for _ in 0..10_000 {
        match pump.poll() {
            Step::Claim if landed == 0 && waiting.is_empty() && stalled.is_none() => {
                pump.handle_claim(Claimed::Extent(Extent {
                    file: 0,
                    at: 0,
                    length: Length::Bytes(1000),
                    way: BlockRoute::Slots,
                }));
            }
            Step::Claim => pump.handle_claim(Claimed::Never),
            Step::Post(request) if request.transfer == Transfer::Write && stalled.is_none() => {
                stalled = Some(request);
            }
            Step::Post(request) => waiting.push(request),
            Step::Wait(_) => {
                let Some(request) = waiting.pop() else { break };
                let event = pump.handle_completion(request.slot, Settled::Moved(request.block.len));
                landed += u32::from(matches!(event, PumpEvent::Landed { .. }));
            }
            Step::Done | Step::Starved => break,
        }
    }
    assert_eq!(landed, 99, "all blocks but the stalled one have landed");
}

/// End of data is discovered at any request of an open-ended file, also when younger requests end first.
#[test]
fn data_behind_the_end_are_a_fault() {
    let shape = Shape {
        request_bytes: 10,
        source_depth: 2,
        source_depth_max: 2,
        sink_depth: 1,
        in_order: true,
        source_serial: false,
        sink_serial: false,
        assemble: true,
    };
    for (older, younger, fault) in [(0, 0, false), (4, 0, false), (0, 10, true), (10, 3, false)] {
        let mut pump = Pump::new(shape);
        let mut posted = Vec::new();
        while posted.len() < 2 {
            match pump.poll() {
                Step::Claim => pump.handle_claim(Claimed::Extent(Extent {
                    file: 3,
                    at: 0,
                    length: Length::UntilEnd,
                    way: BlockRoute::Slots,
                })),
                Step::Post(request) => posted.push(request),
                step => panic!("{step:?}"),
            }
        }
        let mut failed = false;
        for (request, bytes) in [(posted[1], younger), (posted[0], older)] {
            for settled in [Settled::Moved(bytes), Settled::EndOfData] {
                let skip =
                    matches!(settled, Settled::Moved(0)) || (bytes == 10 && settled == Settled::EndOfData);
                if !skip {
                    let event = pump.handle_completion(request.slot, settled);
                    failed |=
                        matches!(event, PumpEvent::Failed(PumpFault { kind: FaultKind::SourceGrew, .. }));
                    let same =
                        |again: Request| again.transfer == Transfer::Read && again.slot == request.slot;
                    while matches!(pump.poll(), Step::Post(again) if same(again)) {}
                }
            }
        }
        assert_eq!(failed, fault, "older {older}, younger {younger}");
    }
}

/// A small file of another host is read whole by one request, and may be of another length by then.
#[test]
fn a_block_that_is_all_of_a_file_has_its_length() {
    let shape = Shape {
        request_bytes: 10,
        source_depth: 2,
        source_depth_max: 2,
        sink_depth: 1,
        in_order: false,
        source_serial: false,
        sink_serial: false,
        assemble: true,
    };
    for bytes in [0, 3, 10] {
        let mut pump = Pump::new(shape);
        let extent = Extent { file: 3, at: 0, length: Length::Bytes(7), way: BlockRoute::Slots };
        assert_eq!(pump.poll(), Step::Claim);
        pump.handle_claim(Claimed::Extent(extent));
        let Step::Post(read) = pump.poll() else { panic!("a read") };
        assert_eq!(read.block.len, 7);
        let event = pump.handle_completion(read.slot, Settled::Whole(bytes));
        if bytes == 0 {
            assert_eq!(event, PumpEvent::Ended { file: 3, at: 0 });
        } else {
            let PumpEvent::Filled { block, ended, .. } = event else { panic!("{event:?}") };
            assert_eq!((block.len, ended), (bytes, Some(bytes.into())));
            let Step::Post(write) = pump.poll() else { panic!("a write") };
            assert_eq!((write.transfer, write.block), (Transfer::Write, block));
            assert_eq!(
                pump.handle_completion(write.slot, Settled::Moved(bytes)),
                PumpEvent::Landed { block }
            );
        }
        assert_eq!(pump.counts().bytes, u64::from(bytes));
    }
}
