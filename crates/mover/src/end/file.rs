//! A file that is read or written at offsets: regular file or block device, buffered or direct.
//!
//! Direct requests are rounded up to the alignment; partial returns are rounded down to it, so that the next request
//! is aligned again. The last, unaligned block of a direct write is padded with zeros, which the owner cuts off, or,
//! on a device, where nothing can be cut off, goes through a second, buffered handle. (Request sizes are multiples of
//! a page, so that block shares no page with a direct request.)
//!
//! Must not know: names, sizes of files, the order of blocks.

use std::sync::Arc;

use datapump_core::{Block, Settled};
use datapump_engine::{Errno, Handle, Op, Slot, Span, TransferFlags, TransferPlace};

use super::zeros::{BlockPart, first_part};
use super::{rest, settle_completion};

/// An open file at one end of the loop.
#[derive(Clone, Debug)]
pub struct FileEnd {
    pub handle: Arc<Handle>,
    /// Offsets and lengths must be multiples of this; 1 for buffered I/O.
    pub align_bytes: u32,
    /// Takes the unaligned tail of a direct write instead of padding.
    pub buffered: Option<Arc<Handle>>,
    /// How each request is done besides.
    pub flags: TransferFlags,
    /// A new file, in which pages of zeros are not written.
    pub skips_zeros: bool,
}

impl FileEnd {
    pub fn read(&self, slot: u32, block: Block, done: u32) -> Op {
        let (at, len) = rest(block, done);
        self.read_at(slot, done, at, len)
    }

    /// Reads so many bytes of the file into the slot, from `start` of the slot on.
    pub(super) fn read_at(&self, slot: u32, start: u32, at: u64, len: u32) -> Op {
        let span = Span { slot: Slot(slot), start, len: len.next_multiple_of(self.align_bytes) };
        Op::Read { file: Arc::clone(&self.handle), place: TransferPlace::At(at), span, flags: self.flags }
    }

    /// The part of a block, which lies in these bytes, that comes next.
    pub(super) fn first_part(&self, bytes: &[u8], block: Block, done: u32) -> BlockPart {
        let (at, _) = rest(block, done);
        first_part(&bytes[done as usize..block.len as usize], at, self.align_bytes.into())
    }

    pub fn write(&self, slot: u32, block: Block, done: u32) -> Op {
        let has_tail = !block.len.is_multiple_of(self.align_bytes);
        let (at, len) = rest(block, done);
        self.write_at(slot, done, at, len, has_tail)
    }

    /// Writes so many bytes of the slot, from `start` of the slot on. `has_tail`: they belong to a part of the file
    /// that ends inside of a unit.
    pub(super) fn write_at(&self, slot: u32, start: u32, at: u64, len: u32, has_tail: bool) -> Op {
        let (file, len) = match &self.buffered {
            Some(buffered) if has_tail => (buffered, len),
            _ => (&self.handle, len.next_multiple_of(self.align_bytes)),
        };
        Op::Write {
            file: Arc::clone(file),
            place: TransferPlace::At(at),
            span: Span { slot: Slot(slot), start, len },
            flags: self.flags,
        }
    }

    /// Bytes of zeros that a direct write of this block needs behind it.
    pub fn padding(&self, block: Block) -> u32 {
        match self.buffered {
            Some(_) => 0,
            None => block.len.next_multiple_of(self.align_bytes) - block.len,
        }
    }

    pub fn settle(&self, block: Block, done: u32, result: Result<u32, Errno>) -> Settled {
        self.settle_part(block.len - done, result)
    }

    /// What a completion means of a request of which so many bytes are left.
    pub(super) fn settle_part(&self, left: u32, result: Result<u32, Errno>) -> Settled {
        match settle_completion(result, left) {
            Settled::Moved(bytes) if bytes < left => match bytes - bytes % self.align_bytes {
                // Less than one unit: a file that ends here. What it holds is too short either way.
                0 => Settled::EndOfData,
                whole => Settled::Moved(whole),
            },
            settled => settled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_engine::sim::SimDisk;

    fn direct() -> FileEnd {
        let disk = SimDisk::new();
        disk.put(b"file", b"");
        let handle = Arc::new(Handle::Sim(disk.open(b"file").unwrap()));
        FileEnd {
            handle,
            align_bytes: 512,
            buffered: None,
            flags: TransferFlags::default(),
            skips_zeros: false,
        }
    }

    #[test]
    fn direct_requests_are_aligned_and_their_returns_too() {
        let end = direct();
        let block = Block { file: 0, at: 4096, len: 1000 };
        let Op::Write { place, span, .. } = end.write(3, block, 0) else { panic!("no write") };
        assert_eq!((place, span), (TransferPlace::At(4096), Span { slot: Slot(3), start: 0, len: 1024 }));
        assert_eq!(end.padding(block), 24);
        for (result, settled) in [
            (Ok(1024), Settled::Moved(1000)),
            (Ok(1000), Settled::Moved(1000)),
            (Ok(700), Settled::Moved(512)),
            (Ok(100), Settled::EndOfData),
            (Ok(0), Settled::EndOfData),
            (Err(Errno(28)), Settled::Failed(28)),
        ] {
            assert_eq!(end.settle(block, 0, result), settled, "{result:?}");
        }
    }
}
