//! Statement S68: 10,000 injected faults are all found, each with its place and kind, and nothing else is.

use std::collections::BTreeSet;

use datapump_engine::sim::Random;

use super::faults::{FileRuns, ScrubFault, ScrubFaultKind, ScrubOrigin};
use super::layout::file_name;
use super::sector::{Judgement, SECTOR_BYTES, SectorForm, SectorName};

const SECTOR: u64 = SECTOR_BYTES as u64;
const SEED: u64 = 77;
const NEWEST: u64 = 5;
const INJECTED: u64 = 10_000;

type Sector = [u8; SECTOR_BYTES];

fn made(form: &SectorForm, file: u32, offset: u64, generation: u64) -> Sector {
    let mut sector = [0; SECTOR_BYTES];
    form.make(SectorName { file, offset, generation }, &mut sector);
    sector
}

fn fault(file: u32, offset: u64, length: u64, kind: ScrubFaultKind) -> ScrubFault {
    ScrubFault { file: file_name(file), offset, length, kind, bits: None, generation: None, from: None }
}

/// Injects one fault in a sector and says what must be reported.
type Inject<'a> = &'a dyn Fn(&SectorForm, (u32, u64), &mut Sector, &mut Random) -> ScrubFault;

/// Injects into every second sector of two files, judges all in a random order by blocks, and compares. Gives how many
/// clean sectors there were.
fn inject_everywhere(inject: Inject<'_>) -> u64 {
    let (form, mut random) = (SectorForm::new(SEED), Random::seeded(SEED, "plant"));
    let each = INJECTED / 2;
    let mut clean = 0;
    for file in [0, 1] {
        let (mut expected, mut runs) = (Vec::new(), FileRuns::default());
        let sectors = each * 2 + 1;
        let mut judged: Vec<(u64, Judgement)> = Vec::new();
        for number in 0..sectors {
            let offset = number * SECTOR;
            let mut sector = made(&form, file, offset, NEWEST);
            if number % 2 == 1 {
                expected.push(inject(&form, (file, offset), &mut sector, &mut random));
            } else {
                clean += 1;
            }
            judged.push((offset, form.judge(file, offset, NEWEST, &sector)));
        }
        let mut blocks: Vec<&[(u64, Judgement)]> = judged.chunks(7).collect();
        random.shuffle(&mut blocks);
        for block in blocks {
            let mut found = FileRuns::default();
            block.iter().for_each(|&(offset, judged)| found.add(offset, judged));
            runs.merge(found);
        }
        let found = runs.faults(&form, file, NEWEST, (sectors * SECTOR, Some(sectors * SECTOR)));
        assert_eq!(found.len() as u64, each, "file {file}");
        let wrong = found.iter().zip(&expected).find(|(found, expected)| found != expected);
        assert_eq!(wrong, None, "found, injected");
    }
    clean
}

#[test]
fn ten_thousand_single_bits_are_found_and_nothing_else() {
    let clean = inject_everywhere(&|_, (file, offset), sector, random| {
        let (byte, bit) = (random.below(SECTOR), random.below(8));
        sector[byte as usize] ^= 1 << bit;
        ScrubFault { bits: Some(1), ..fault(file, offset + byte, 1, ScrubFaultKind::Bit) }
    });
    assert!(clean >= INJECTED);
}

#[test]
fn ten_thousand_faults_of_every_other_kind_are_found_and_nothing_else() {
    let kinds = std::cell::RefCell::new(BTreeSet::new());
    let clean = inject_everywhere(&|form, (file, offset), sector, random| {
        // From anywhere, or from the same place in another file.
        let other = |random: &mut Random| match random.below(2) {
            0 => (random.below(8) as u32, (1 << 40) + random.below(1 << 30) * SECTOR),
            _ => (2 + random.below(6) as u32, offset),
        };
        let fault = match random.below(5) {
            0 => {
                random.fill(sector);
                fault(file, offset, SECTOR, ScrubFaultKind::Sector)
            }
            1 => {
                // Part of it only: from a place on, another content.
                let from = 16 + random.below(SECTOR - 48) as usize;
                random.fill(&mut sector[from..]);
                fault(file, offset, SECTOR, ScrubFaultKind::Sector)
            }
            2 => {
                *sector = [0; SECTOR_BYTES];
                fault(file, offset, SECTOR, ScrubFaultKind::Zeroed)
            }
            3 => {
                let generation = 1 + random.below(NEWEST - 1);
                *sector = made(form, file, offset, generation);
                let stale = fault(file, offset, SECTOR, ScrubFaultKind::Stale);
                ScrubFault { generation: Some(generation), ..stale }
            }
            _ => {
                let (from, at) = other(random);
                *sector = made(form, from, at, NEWEST);
                let swapped = fault(file, offset, SECTOR, ScrubFaultKind::Swapped);
                let from = Some(ScrubOrigin { file: file_name(from), offset: at });
                ScrubFault { generation: Some(NEWEST), from, ..swapped }
            }
        };
        kinds.borrow_mut().insert(fault.kind);
        fault
    });
    assert!(clean >= INJECTED);
    assert_eq!(kinds.borrow().len(), 4, "{kinds:?}");
}

#[test]
fn every_bit_of_a_sector_counts() {
    let form = SectorForm::new(SEED);
    let whole = made(&form, 3, 7 * SECTOR, NEWEST);
    for at in 0..SECTOR_BYTES as u32 * 8 {
        let mut sector = whole;
        sector[at as usize / 8] ^= 1 << (at % 8);
        let byte = at / 8;
        let expected = Judgement::Bits { generation: NEWEST, first: byte, last: byte, count: 1 };
        assert_eq!(form.judge(3, 7 * SECTOR, NEWEST, &sector), expected, "bit {at}");
        // Also where the newest generation is not known yet, but for the bits of the generation itself.
        if !(16..24).contains(&byte) {
            assert_eq!(form.judge(3, 7 * SECTOR, 0, &sector), expected, "bit {at}, generation unknown");
        }
    }
}

#[test]
fn eight_bits_are_few_and_nine_are_another_content() {
    let form = SectorForm::new(SEED);
    for (count, is_bits) in [(2, true), (8, true), (9, false)] {
        let mut sector = made(&form, 0, 0, 1);
        (0..count).for_each(|bit| sector[100 + bit * 5] ^= 4);
        let judged = form.judge(0, 0, 1, &sector);
        let (first, last) = (100, 100 + (count as u32 - 1) * 5);
        let bits = Judgement::Bits { generation: 1, first, last, count: count as u32 };
        assert_eq!(judged, if is_bits { bits } else { Judgement::Garbage }, "{count} bits");
    }
}

#[test]
fn another_seed_makes_other_sectors() {
    let (form, other) = (SectorForm::new(SEED), SectorForm::new(SEED + 1));
    let sector = made(&other, 0, 0, 1);
    assert_eq!(form.judge(0, 0, 1, &sector), Judgement::Garbage);
    assert_eq!(other.judge(0, 0, 1, &sector), Judgement::Whole { generation: 1 });
    let same = made(&form, 0, 0, 1).iter().zip(&sector).filter(|(one, other)| one == other).count();
    assert!(same < 64, "{same} of 512 bytes are the same");
}

/// A file of twelve sectors, of which these are not as they should be.
fn twelve(wrong: &[(u64, Sector)]) -> FileRuns {
    let (form, mut runs) = (SectorForm::new(SEED), FileRuns::default());
    for number in (0..12).rev() {
        let offset = number * SECTOR;
        let wrong = wrong.iter().find(|(at, _)| *at == number).map(|(_, sector)| *sector);
        let sector = wrong.unwrap_or_else(|| made(&form, 2, offset, NEWEST));
        runs.add(offset, form.judge(2, offset, NEWEST, &sector));
    }
    runs
}

/// Another folder with this seed has been written more often: its generations count apart.
#[test]
fn a_newer_block_of_another_folder_makes_no_other_stale() {
    let form = SectorForm::new(SEED);
    let runs = twelve(&[(3, made(&form, 6, 40 * SECTOR, NEWEST + 2))]);
    assert_eq!(runs.newest(), NEWEST);
    let faults = runs.faults(&form, 2, runs.newest(), (12 * SECTOR, Some(12 * SECTOR)));
    let kinds: Vec<ScrubFaultKind> = faults.iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, [ScrubFaultKind::Swapped]);
}

#[test]
fn neighbours_of_one_kind_are_one_fault() {
    let form = SectorForm::new(SEED);
    let of = |file, number, generation| made(&form, file, number * SECTOR, generation);
    let (zero, noise) = ([0; SECTOR_BYTES], [0xa5; SECTOR_BYTES]);
    // A write was lost, and then a bit.
    let mut stale_bit = of(2, 8, 3);
    stale_bit[200] ^= 4;
    let wrong = [
        (8, stale_bit),
        // A page from sector 40 of file 6, then one that comes from elsewhere.
        (0, of(6, 40, NEWEST)),
        (1, of(6, 41, NEWEST)),
        (2, of(6, 40, NEWEST)),
        (4, zero),
        (5, zero),
        (6, noise),
        (7, noise),
        (9, of(2, 9, 3)),
        (10, of(2, 10, 3)),
        (11, of(2, 11, 4)),
    ];
    let faults = twelve(&wrong).faults(&form, 2, NEWEST, (12 * SECTOR, Some(12 * SECTOR)));
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "scrub-2.bin, bytes 0..1024: swapped (from scrub-6.bin, byte 20480) (generation 5)",
            "scrub-2.bin, bytes 1024..1536: swapped (from scrub-6.bin, byte 20480) (generation 5)",
            "scrub-2.bin, bytes 2048..3072: zeroed",
            "scrub-2.bin, bytes 3072..4096: sector",
            "scrub-2.bin, bytes 4096..4608: stale (1 bit differs) (generation 3)",
            "scrub-2.bin, bytes 4608..5632: stale (generation 3)",
            "scrub-2.bin, bytes 5632..6144: stale (generation 4)",
        ]
    );
}

#[test]
fn lengths_and_what_was_not_read_are_faults() {
    let form = SectorForm::new(SEED);
    let whole = 12 * SECTOR;
    let tail = |bytes: &[u8]| {
        let mut runs = twelve(&[]);
        runs.add_tail(whole, bytes);
        runs
    };
    let mut next = made(&form, 2, whole, NEWEST);
    let rows = [
        ("as it should be", twelve(&[]), (whole, Some(whole)), vec![]),
        ("missing", FileRuns::default(), (whole, None), vec![(0, whole, ScrubFaultKind::Missing)]),
        ("empty", FileRuns::default(), (whole, Some(0)), vec![(0, whole, ScrubFaultKind::Truncated)]),
        ("cut", twelve(&[]), (whole + 700, Some(whole)), vec![(whole, 700, ScrubFaultKind::Truncated)]),
        (
            "cut in a sector",
            tail(&next[..100]),
            (whole + 512, Some(whole + 100)),
            vec![(whole + 100, 412, ScrubFaultKind::Truncated)],
        ),
        ("longer", twelve(&[]), (whole, Some(whole + 3)), vec![(whole, 3, ScrubFaultKind::Trailing)]),
        ("not read", FileRuns::default(), (whole, Some(whole)), vec![(0, whole, ScrubFaultKind::Unread)]),
        (
            "read to there",
            twelve(&[]),
            (2 * whole, Some(2 * whole)),
            vec![(whole, whole, ScrubFaultKind::Unread)],
        ),
    ];
    for (row, runs, lengths, expected) in rows {
        let expected: Vec<_> = expected.into_iter().map(|(at, len, kind)| fault(2, at, len, kind)).collect();
        assert_eq!(runs.faults(&form, 2, NEWEST, lengths), expected, "{row}");
    }
    next[50] ^= 1;
    let found = tail(&next[..100]).faults(&form, 2, NEWEST, (whole + 512, Some(whole + 100)));
    assert_eq!(found[0], fault(2, whole, 100, ScrubFaultKind::Sector), "a cut sector that is wrong, too");
}
