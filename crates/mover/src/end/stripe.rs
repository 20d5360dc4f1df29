//! A stripe: several files or devices that are read or written at offsets as one.
//!
//! A request moves what lies on one member. Behind the edge of a chunk it goes on at the next one, as behind any
//! partial return.
//!
//! Must not know: how members are found and opened, the order of blocks.

use std::path::{Path, PathBuf};

use datapump_core::{Block, Settled, StripeMap};
use datapump_engine::{Errno, Op};

use super::{FileEnd, rest};

/// The open members of a stripe at one end of the loop.
#[derive(Debug)]
pub struct StripeEnd {
    map: StripeMap,
    members: Vec<(PathBuf, FileEnd)>,
}

/// What a request moves.
struct StripePart<'end> {
    member: &'end FileEnd,
    /// Offset in the member.
    at: u64,
    len: u32,
}

impl StripeEnd {
    /// Members in the order of the map, with the names that messages have for them.
    pub fn new(map: StripeMap, members: Vec<(PathBuf, FileEnd)>) -> StripeEnd {
        StripeEnd { map, members }
    }

    /// The next part behind `done` bytes of a block.
    fn part(&self, block: Block, done: u32) -> StripePart<'_> {
        let (at, left) = rest(block, done);
        let place = self.map.place(at);
        let len = place.run_bytes.min(left.into()) as u32;
        StripePart { member: &self.members[place.member].1, at: place.at, len }
    }

    pub(super) fn read(&self, slot: u32, block: Block, done: u32) -> Op {
        let part = self.part(block, done);
        part.member.read_at(slot, done, part.at, part.len)
    }

    pub(super) fn write(&self, slot: u32, block: Block, done: u32) -> Op {
        let part = self.part(block, done);
        // Only the last part of a stripe ends inside of a unit: chunks and requests are pages.
        let has_tail = !(part.at + u64::from(part.len)).is_multiple_of(part.member.align_bytes.into());
        part.member.write_at(slot, done, part.at, part.len, has_tail)
    }

    pub(super) fn settle(&self, block: Block, done: u32, result: Result<u32, Errno>) -> Settled {
        let part = self.part(block, done);
        part.member.settle_part(part.len, result)
    }

    /// The member that holds a byte of the stripe, and the offset in it, for messages.
    pub fn member_at(&self, at: u64) -> (&Path, u64) {
        let place = self.map.place(at);
        (&self.members[place.member].0, place.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_engine::sim::SimDisk;
    use datapump_engine::{Handle, TransferFlags, TransferPlace};
    use std::sync::Arc;

    const CHUNK: u32 = 64 << 10;

    /// Two members, direct, with another handle for what cannot be.
    fn direct() -> StripeEnd {
        let member = |name: &'static str| {
            let disk = SimDisk::new();
            disk.put(name.as_bytes(), b"");
            let open = || Arc::new(Handle::Sim(disk.open(name.as_bytes()).expect("it is there")));
            let (handle, buffered) = (open(), Some(open()));
            (
                PathBuf::from(name),
                FileEnd {
                    handle,
                    align_bytes: 512,
                    buffered,
                    flags: TransferFlags::default(),
                    skips_zeros: false,
                },
            )
        };
        StripeEnd::new(StripeMap::new(CHUNK.into(), 2).expect("a stripe"), vec![member("a"), member("b")])
    }

    fn block(at: u32, len: u32) -> Block {
        Block { file: 0, at: at.into(), len }
    }

    #[test]
    fn a_request_ends_at_the_edge_of_a_chunk_and_goes_on_at_the_next_member() {
        let end = direct();
        for (block, done, member, at, len) in [
            (block(0, CHUNK), 0, 0, 0, CHUNK),
            (block(CHUNK, CHUNK), 0, 1, 0, CHUNK),
            (block(2 * CHUNK, CHUNK), 0, 0, CHUNK, CHUNK),
            // It begins 4 KiB before an edge.
            (block(CHUNK - 4096, CHUNK), 0, 0, CHUNK - 4096, 4096),
            (block(CHUNK - 4096, CHUNK), 4096, 1, 0, CHUNK - 4096),
            // A partial return within a chunk.
            (block(CHUNK, CHUNK), 512, 1, 512, CHUNK - 512),
            (block(3 * CHUNK, 10), 0, 1, CHUNK, 512),
        ] {
            let Op::Read { file, place: TransferPlace::At(found_at), span, .. } = end.read(0, block, done)
            else {
                panic!("a read at an offset")
            };
            assert!(Arc::ptr_eq(&file, &end.members[member].1.handle), "{block:?} {done}");
            assert_eq!((found_at, span.start, span.len), (at.into(), done, len), "{block:?} {done}");
        }
    }

    #[test]
    fn only_a_tail_takes_the_other_handle() {
        let end = direct();
        for (block, done, is_tail, len) in [
            (block(0, CHUNK), 0, false, CHUNK),
            (block(0, 4097), 0, true, 4097),
            // The block ends inside of a unit, but this part of it does not.
            (block(0, CHUNK + 1), 0, false, CHUNK),
            (block(0, CHUNK + 1), CHUNK, true, 1),
        ] {
            let Op::Write { file, span, .. } = end.write(0, block, done) else { panic!("a write") };
            let is_direct = end.members.iter().any(|(_, member)| Arc::ptr_eq(&file, &member.handle));
            assert_eq!((!is_direct, span.len), (is_tail, len), "{block:?} {done}");
        }
    }

    #[test]
    fn a_part_that_was_moved_is_a_partial_return() {
        let end = direct();
        for (block, done, result, settled) in [
            (block(0, CHUNK), 0, Ok(CHUNK), Settled::Moved(CHUNK)),
            (block(4096, CHUNK), 0, Ok(CHUNK - 4096), Settled::Moved(CHUNK - 4096)),
            (block(0, CHUNK), 0, Ok(1000), Settled::Moved(512)),
            (block(0, CHUNK), 0, Ok(100), Settled::EndOfData),
            (block(0, 10), 0, Ok(512), Settled::Moved(10)),
            (block(0, CHUNK), 0, Ok(0), Settled::EndOfData),
            (block(0, CHUNK), 0, Err(Errno::EIO), Settled::Failed(Errno::EIO.0)),
        ] {
            assert_eq!(end.settle(block, done, result), settled, "{block:?} {result:?}");
        }
        assert_eq!(end.member_at(u64::from(CHUNK) + 7), (Path::new("b"), 7));
    }
}
