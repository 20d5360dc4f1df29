//! Blocks that the kernel copies from file to file: one request that counts at both ends.
//!
//! Must not know: how the kernel does it.

use super::Pump;
use crate::BlockRoute;
use crate::pump::slot::SlotPhase;
use crate::pump::talk::{FaultKind, PumpEvent, PumpSide, Settled};

impl Pump {
    pub(super) fn copy_completed(&mut self, slot: u32, settled: Settled) -> PumpEvent {
        let entry = &mut self.slots[slot as usize];
        let over = self.stopped || self.failed.contains(&entry.block.file);
        match settled {
            Settled::Moved(bytes) if !over => {
                let asked = entry.block.len - entry.done;
                entry.done += bytes;
                if bytes < asked {
                    self.counts.source_partial += 1;
                    self.counts.partial_bytes += u64::from(bytes);
                    return self.post_again(slot);
                }
                let block = entry.block;
                self.counts.source_requests += 1;
                self.leave_copy();
                self.landed(slot, block)
            }
            Settled::Unable if !over => self.read_instead(slot),
            Settled::EndOfData if !over => self.copy_failed(slot, FaultKind::SourceEnded),
            Settled::Failed(errno) if !over => self.copy_failed(slot, FaultKind::Errno(errno)),
            _ => self.drop_copy(slot),
        }
    }

    /// The kernel cannot copy these files itself: this block and those to come are read and written.
    fn read_instead(&mut self, slot: u32) -> PumpEvent {
        self.writing -= 1;
        self.slots[slot as usize].state = SlotPhase::Reading;
        let file = self.slots[slot as usize].block.file;
        if let Some(extent) = self.extent.as_mut().filter(|extent| extent.file == file) {
            extent.way = BlockRoute::Slots;
        }
        self.post_again(slot)
    }

    pub(super) fn drop_copy(&mut self, slot: u32) -> PumpEvent {
        self.leave_copy();
        self.release(slot);
        PumpEvent::Nothing
    }

    fn leave_copy(&mut self) {
        self.held -= 1;
        self.reading -= 1;
        self.writing -= 1;
    }

    fn copy_failed(&mut self, slot: u32, kind: FaultKind) -> PumpEvent {
        self.leave_copy();
        let side = if kind == FaultKind::SourceEnded { PumpSide::Source } else { PumpSide::Sink };
        let fault = self.fault(slot, side, kind);
        self.release(slot);
        fault
    }
}
