//! The journal of a large file: whatever order blocks land in, wherever a kill or a power failure cuts it, it tells
//! what is true, and after a kill all of it.

use datapump_core::resume::{
    GRAIN_BYTES, HEAD_BYTES, JournalMachine, RECORD_BYTES, Ranges, ResumeEntry, ResumeHead, ResumeLife,
    SourceId, TargetId,
};
use proptest::prelude::*;

const BLOCK: u64 = 1 << 20;
const LIFE: ResumeLife = ResumeLife { boot: [1; 16], mount: 7, is_unsynced: false };
const AFTER_RESTART: ResumeLife = ResumeLife { boot: [255; 16], mount: 7, is_unsynced: false };
const AFTER_MOUNT: ResumeLife = ResumeLife { boot: [1; 16], mount: 255, is_unsynced: false };

fn head(blocks: u64) -> ResumeHead {
    let source = SourceId { device: 1, inode: 2, size_bytes: blocks * BLOCK, mtime_ns: -3, ctime_ns: 4 };
    ResumeHead { source, target: TargetId { device: 5, inode: 6, born_ns: 7 }, is_settled: true }
}

/// A journal file in memory.
struct File(Vec<u8>);

impl File {
    fn new(head: &ResumeHead) -> File {
        File(head.encode().to_vec())
    }

    fn write(&mut self, (at, bytes): ResumeEntry) {
        let at = at as usize;
        if self.0.len() < at + RECORD_BYTES {
            self.0.resize(at + RECORD_BYTES, 0);
        }
        self.0[at..at + RECORD_BYTES].copy_from_slice(&bytes);
    }

    fn read(&self, life: ResumeLife) -> Ranges {
        JournalMachine::read(&self.0, life).expect("a journal").written().clone()
    }
}

fn is_within(inner: &Ranges, outer: &Ranges) -> bool {
    let mut both = outer.clone();
    inner.iter().for_each(|(start, end)| both.insert(start, end));
    both == *outer
}

#[test]
fn a_head_is_read_as_it_was_written_and_nothing_else_is() {
    let bytes = head(3).encode();
    assert_eq!(ResumeHead::decode(&bytes), Some(head(3)));
    for at in 0..HEAD_BYTES {
        let mut damaged = bytes;
        damaged[at] ^= 1;
        assert_eq!(ResumeHead::decode(&damaged), None, "byte {at}");
        assert_eq!(ResumeHead::decode(&bytes[..at]), None, "torn at {at}");
    }
}

/// Of a journal that an older pump wrote nobody knows whether the source was young when it was looked at.
#[test]
fn a_head_of_an_older_version_vouches_for_no_settled_source() {
    let young = ResumeHead { is_settled: false, ..head(3) };
    let bytes = young.encode();
    assert_eq!((&bytes[..8], &head(3).encode()[..8]), (&b"pumpres2"[..], &b"pumpres3"[..]));
    assert_eq!(ResumeHead::decode(&bytes), Some(young));
    // Its records are its own.
    let (mut journal, mut file) = (JournalMachine::new(young, LIFE), File::new(&young));
    file.write(journal.add_written(0, BLOCK).expect("room"));
    assert_eq!(file.read(LIFE).total(), BLOCK);
    file.0[..HEAD_BYTES].copy_from_slice(&head(3).encode());
    assert_eq!(file.read(LIFE).total(), 0);
}

#[test]
fn what_is_missing_begins_and_ends_at_whole_grains() {
    let size = 10 * GRAIN_BYTES + 5;
    for (known, wanted, missing) in [
        (vec![], vec![(0, size)], vec![(0, size)]),
        (vec![(0, size)], vec![(0, size)], vec![]),
        (vec![(1, 4095)], vec![(0, size)], vec![(0, size)]),
        (vec![(0, 8192)], vec![(0, size)], vec![(8192, size)]),
        (vec![(100, 9000)], vec![(0, size)], vec![(0, 4096), (8192, size)]),
        (vec![(8192, size)], vec![(0, size)], vec![(0, 8192)]),
        (vec![(0, 4096), (8192, 12_288)], vec![(0, 12_288)], vec![(4096, 8192)]),
        (vec![(0, 8192)], vec![(4096, 12_288), (20_480, size)], vec![(8192, 12_288), (20_480, size)]),
    ] {
        let mut ranges = Ranges::default();
        known.iter().for_each(|&(start, end)| ranges.insert(start, end));
        assert_eq!(ranges.missing(&wanted, size), missing, "{known:?} of {wanted:?}");
    }
}

#[test]
fn the_journal_of_a_long_copy_stays_small() {
    // Four lanes, each with its own 32 blocks at a time, landing in turn.
    const BLOCKS: u64 = 1 << 16;
    let (mut journal, mut file) = (JournalMachine::new(head(BLOCKS), LIFE), File::new(&head(BLOCKS)));
    for claim in 0..BLOCKS / 128 {
        for step in 0..32 {
            for lane in 0..4 {
                let block = claim * 128 + lane * 32 + step;
                file.write(journal.add_written(block * BLOCK, (block + 1) * BLOCK).expect("room"));
            }
        }
        let written = journal.written().clone();
        journal.add_synced(&written).into_iter().for_each(|entry| file.write(entry));
    }
    assert_eq!(file.read(LIFE).iter().collect::<Vec<_>>(), [(0, BLOCKS * BLOCK)]);
    assert!(file.0.len() < 2048, "{} bytes", file.0.len());
}

/// Something that happens to a copy.
#[derive(Clone, Debug)]
enum Step {
    /// A block lands: which of those that are left.
    Land(prop::sample::Index),
    Sync,
    /// Killed, and begun again.
    Kill,
    Restart,
    Remount,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => any::<prop::sample::Index>().prop_map(Step::Land),
        3 => Just(Step::Sync),
        1 => Just(Step::Kill),
        1 => Just(Step::Restart),
        1 => Just(Step::Remount),
    ];
    prop::collection::vec(step, 0..120)
}

const BLOCKS: u64 = 40;

fn left(ranges: &Ranges) -> Vec<u64> {
    let missing = ranges.missing(&[(0, BLOCKS * BLOCK)], BLOCKS * BLOCK);
    missing.iter().flat_map(|(start, end)| start / BLOCK..end / BLOCK).collect()
}

proptest! {
    #[test]
    fn after_a_kill_all_counts_and_after_a_restart_what_was_synced(steps in steps(), damage in any::<usize>()) {
        let mut file = File::new(&head(BLOCKS));
        let (mut journal, mut life, mut lives) = (JournalMachine::new(head(BLOCKS), LIFE), LIFE, 1);
        let (mut written, mut synced) = (Ranges::default(), Ranges::default());
        for step in steps {
            match step {
                Step::Land(index) => {
                    let left = left(&written);
                    if left.is_empty() { continue }
                    let at = left[index.index(left.len())] * BLOCK;
                    file.write(journal.add_written(at, at + BLOCK).expect("room"));
                    written.insert(at, at + BLOCK);
                }
                Step::Sync => {
                    synced = written.clone();
                    journal.add_synced(&written).into_iter().for_each(|entry| file.write(entry));
                }
                Step::Kill | Step::Restart | Step::Remount => {
                    lives += 1;
                    match step {
                        Step::Restart => life.boot = [lives; 16],
                        Step::Remount => life.mount = 100 + u64::from(lives),
                        _ => {}
                    }
                    if !matches!(step, Step::Kill) {
                        written = synced.clone();
                    }
                    journal = JournalMachine::read(&file.0, life).expect("a journal");
                    file.write(journal.begin(BLOCK));
                }
            }
            prop_assert_eq!(journal.written(), &written);
            prop_assert_eq!(&file.read(life), &written);
            prop_assert_eq!(&file.read(AFTER_RESTART), &synced);
            prop_assert_eq!(&file.read(AFTER_MOUNT), &synced);
        }
        // Whatever is damaged or torn off, nothing is told that is not so.
        let mut damaged = File(file.0.clone());
        let at = damage % damaged.0.len();
        damaged.0[at] ^= 0x10;
        if let Some(journal) = JournalMachine::read(&damaged.0, life) {
            prop_assert!(is_within(journal.written(), &written));
        }
        if let Some(journal) = JournalMachine::read(&file.0[..at], life) {
            prop_assert!(is_within(journal.written(), &written));
        }
    }

    /// While a synced range is told anew its record may be lost; then at most what came since the last sync is.
    #[test]
    fn a_record_that_is_lost_costs_one_sync_at_most(blocks in 2..BLOCKS) {
        let (mut journal, mut file) = (JournalMachine::new(head(BLOCKS), LIFE), File::new(&head(BLOCKS)));
        let mut written = Ranges::default();
        for block in 0..blocks {
            file.write(journal.add_written(block * BLOCK, (block + 1) * BLOCK).expect("room"));
            let before = written.clone();
            written.insert(block * BLOCK, (block + 1) * BLOCK);
            for (at, bytes) in journal.add_synced(&written) {
                file.write((at, [0xAA; RECORD_BYTES]));
                prop_assert!(is_within(&before, &file.read(AFTER_RESTART)), "block {}", block);
                file.write((at, bytes));
            }
        }
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(JournalMachine::read(&bytes, LIFE).is_none());
        let mut file = head(BLOCKS).encode().to_vec();
        file.extend(&bytes);
        prop_assert_eq!(JournalMachine::read(&file, LIFE).expect("a head").written().total(), 0);
    }
}

/// Where the system does not tell its run or the mount, it may be another one: only what was synced is certain.
#[test]
fn in_a_life_that_nobody_knows_only_what_was_synced_counts() {
    for (life, count) in
        [(LIFE, 2), (ResumeLife { boot: [0; 16], ..LIFE }, 1), (ResumeLife { mount: 0, ..LIFE }, 1)]
    {
        let (mut journal, mut file) = (JournalMachine::new(head(BLOCKS), life), File::new(&head(BLOCKS)));
        file.write(journal.begin(BLOCK));
        file.write(journal.add_written(0, BLOCK).expect("room"));
        let synced = journal.written().clone();
        journal.add_synced(&synced).into_iter().for_each(|entry| file.write(entry));
        file.write(journal.add_written(BLOCK, 2 * BLOCK).expect("room"));
        assert_eq!(file.read(life).iter().collect::<Vec<_>>(), [(0, count * BLOCK)], "{life:?}");
    }
}

#[test]
fn what_came_and_does_not_count_is_told() {
    let (mut journal, mut file) = (JournalMachine::new(head(BLOCKS), LIFE), File::new(&head(BLOCKS)));
    assert_eq!(journal.doubt_bytes(), 0);
    file.write(journal.begin(4 * BLOCK));
    for block in 0..10 {
        file.write(journal.add_written(block * BLOCK, (block + 1) * BLOCK).expect("room"));
    }
    for (life, doubt) in [(LIFE, 4), (AFTER_RESTART, 14)] {
        let again = JournalMachine::read(&file.0, life).expect("a journal");
        assert_eq!(again.doubt_bytes(), doubt * BLOCK);
    }
}
