//! Makes the sectors of one file as the copy loop asks for them, and judges them as it brings them.
//!
//! Must not know: where the file lies, how it is read and written.

use std::sync::{Mutex, PoisonError};

use datapump::BlockHook;

use super::faults::FileRuns;
use super::sector::{SECTOR_BYTES, SectorForm, SectorName};

const SECTOR: u64 = SECTOR_BYTES as u64;

/// The sectors of one file.
#[derive(Debug)]
pub struct ScrubHook {
    form: SectorForm,
    file: u32,
    /// Bytes behind this offset are not judged.
    length: u64,
    generation: u64,
    found: Mutex<FileRuns>,
}

impl ScrubHook {
    /// A hook for the file with this number and length, in this generation.
    pub fn new(form: &SectorForm, file: u32, length: u64, generation: u64) -> ScrubHook {
        ScrubHook { form: form.clone(), file, length, generation, found: Mutex::default() }
    }

    /// What was found.
    pub fn found(&self) -> FileRuns {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn name(&self, offset: u64) -> SectorName {
        SectorName { file: self.file, offset, generation: self.generation }
    }
}

impl BlockHook for ScrubHook {
    fn fill(&self, offset: u64, bytes: &mut [u8]) {
        let (sectors, _) = bytes.as_chunks_mut::<SECTOR_BYTES>();
        let offsets = (offset..).step_by(SECTOR_BYTES);
        offsets.zip(sectors).for_each(|(offset, sector)| self.form.make(self.name(offset), sector));
    }

    /// The lock is taken once for a block.
    fn inspect(&self, offset: u64, bytes: &[u8]) {
        let judged = self.length.saturating_sub(offset).min(bytes.len() as u64) as usize;
        let (sectors, tail) = bytes[..judged].as_chunks::<SECTOR_BYTES>();
        let mut found = FileRuns::default();
        for (offset, sector) in (offset..).step_by(SECTOR_BYTES).zip(sectors) {
            found.add(offset, self.form.judge(self.file, offset, self.generation, sector));
        }
        if !tail.is_empty() {
            found.add_tail(offset + sectors.len() as u64 * SECTOR, tail);
        }
        self.found.lock().unwrap_or_else(PoisonError::into_inner).merge(found);
    }
}
