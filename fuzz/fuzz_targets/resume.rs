//! The journal of a large file: any bytes are read without a panic, and what is read is written back and read alike.
#![no_main]

use datapump_core::resume::{
    HEAD_BYTES, JournalMachine, RECORD_BYTES, ResumeHead, ResumeLife, SourceId, TargetId,
};
use libfuzzer_sys::fuzz_target;

const LIFE: ResumeLife = ResumeLife { boot: [1; 16], mount: 2, is_unsynced: false };

fuzz_target!(|input: (Vec<u8>, bool, Vec<(bool, u16, u8)>)| {
    let (bytes, is_settled, steps) = input;
    // Damage alone: a head is all but impossible to hit, so it is given.
    assert!(JournalMachine::read(&bytes, LIFE).is_none() || ResumeHead::decode(&bytes).is_some());
    let source = SourceId { device: 1, inode: 2, size_bytes: 1 << 40, mtime_ns: 3, ctime_ns: 4 };
    let head = ResumeHead { source, target: TargetId { device: 5, inode: 6, born_ns: 7 }, is_settled };
    let mut file = head.encode().to_vec();
    file.extend(&bytes);
    let mut journal = JournalMachine::read(&file, LIFE).expect("its head is whole");
    for (syncs, at, len) in steps {
        let (start, len) = (u64::from(at) << 12, (u64::from(len) + 1) << 12);
        let entries = if syncs {
            journal.add_synced(&journal.written().clone())
        } else {
            journal.add_written(start, start + len).into_iter().collect()
        };
        for (at, record) in entries {
            let at = at as usize;
            file.resize(file.len().max(at + RECORD_BYTES), 0);
            file[at..at + RECORD_BYTES].copy_from_slice(&record);
        }
    }
    assert!(file.len() >= HEAD_BYTES);
    let again = JournalMachine::read(&file, LIFE).expect("its head is whole");
    let told: Vec<_> = again.written().iter().collect();
    let known: Vec<_> = journal.written().iter().collect();
    assert!(again.written().missing(&known, 1 << 40).is_empty(), "{told:?} of {known:?}");
});
