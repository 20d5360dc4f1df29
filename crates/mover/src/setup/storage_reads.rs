//! Bytes that this process reads from storage while a run goes on.
//!
//! Must not know: which files they are of, who else runs in this process.

use datapump_engine::os::linux::storage_read_bytes;

/// The bytes until a run began; nothing where they are not counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct StorageReads(Option<u64>);

impl StorageReads {
    /// From now on.
    pub fn begin() -> StorageReads {
        StorageReads(storage_read_bytes())
    }

    /// So many since, of all that goes on in this process.
    pub fn bytes(self) -> Option<u64> {
        Some(storage_read_bytes()?.saturating_sub(self.0?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datapump_engine::Handle;
    use datapump_files::disk::FileCalls;

    /// Other tests of this process read, too.
    #[test]
    fn what_memory_does_not_have_is_counted() {
        const BYTES: usize = 1 << 20;
        let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).expect("room");
        std::io::Write::write_all(&mut file, &vec![7; BYTES]).expect("room");
        let handle = Handle::Os(file);
        handle.sync().expect("room");
        let is_forgotten =
            handle.forget_cached().is_ok() && handle.cached_fraction(BYTES as u64) == Some(0.0);
        let (reads, mut bytes) = (StorageReads::begin(), vec![0; BYTES]);
        assert_eq!(handle.peek(0, &mut bytes), Ok(BYTES));
        let read_bytes = reads.bytes().filter(|_| is_forgotten);
        assert!(read_bytes.is_none_or(|read_bytes| read_bytes >= BYTES as u64), "{read_bytes:?}");
        assert_eq!(StorageReads::default().bytes(), None, "a simulated world");
    }
}
