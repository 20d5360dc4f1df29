//! A file on the web: read by the lane's own thread, over a connection that goes on where the lane's last block ended.
//! So as many parts come at a time as there are lanes, and what was written before is on its way meanwhile.
//!
//! Must not know: requests and answers (`transport`), names, where blocks go.

use datapump_core::{PumpSide, Request, Settled};
use datapump_engine::{CpuStage, Errno, Slot, meter::within};
use datapump_transport::WebFile;

use crate::end::performer::{Performer, Posted};

/// Reads from a web file in this thread before it returns, and charges the time to the source. The file keeps what went wrong.
pub(super) fn post(by: &mut Performer<'_>, request: Request, file: &WebFile) -> Posted {
    let Request { slot, done, block, transfer } = request;
    by.submit();
    let start_ns = by.now_ns();
    let bytes = &mut by.engine.bytes_mut(Slot(slot))[done as usize..block.len as usize];
    let read = {
        let _stage = within(CpuStage::Read);
        file.read(block.at + u64::from(done), bytes)
    };
    let end_ns = by.now_ns();
    by.charge(PumpSide::Source, end_ns - start_ns);
    if let Some(latencies) = &mut by.latencies {
        latencies.post(slot, start_ns);
        latencies.complete(slot, transfer, end_ns);
    }
    Posted::Performed(match read {
        Some(Ok(0)) => Settled::EndOfData,
        Some(Ok(bytes)) => Settled::Moved(bytes as u32),
        // What it was is told by the file.
        Some(Err(_)) => Settled::Failed(Errno::EIO.0),
        None => Settled::Cancelled,
    })
}
