//! The end of a run that an open file makes: aligned or not, and how its requests are done besides.
//!
//! Must not know: whether direct I/O could be had, what kind of target it is.

use std::sync::Arc;

use datapump_engine::{Handle, TransferFlags};
use datapump_files::commit::StagedFile;
use datapump_files::disk::FileCalls;

use crate::end::FileEnd;
use crate::run::MoverRun;

/// The end that is read, or compared.
pub fn of_source(run: &MoverRun<'_>, handle: Arc<Handle>, direct: bool) -> FileEnd {
    let flags = TransferFlags { uncached: run.settings.options.tuning.uncached, durable: false };
    FileEnd { flags, ..file_end(handle, direct) }
}

/// The end that is written.
fn of_sink(run: &MoverRun<'_>, handle: Arc<Handle>, direct: bool) -> FileEnd {
    let options = &run.settings.options;
    let flags = TransferFlags { uncached: options.tuning.uncached, durable: options.measuring.dsync };
    FileEnd { flags, ..file_end(handle, direct) }
}

/// A file that gets a name. What an earlier run left may hold other bytes where the source has zeros.
pub fn of_staged(run: &MoverRun<'_>, staged: &StagedFile, direct: bool) -> FileEnd {
    let is_new = !staged.is_in_place() && !staged.is_in_order() && staged.earlier().is_none();
    let skips_zeros = run.settings.options.tuning.makes_holes && is_new;
    FileEnd { skips_zeros, ..of_sink(run, Arc::clone(&staged.handle), direct) }
}

/// A device: it cannot be cut off behind a padded tail, so its tail is written through `buffered`.
pub fn of_device(run: &MoverRun<'_>, handle: Arc<Handle>, buffered: Arc<Handle>, direct: bool) -> FileEnd {
    FileEnd { buffered: Some(buffered), ..of_sink(run, handle, direct) }
}

fn file_end(handle: Arc<Handle>, direct: bool) -> FileEnd {
    let align_bytes = if direct { handle.direct_alignment_bytes() } else { 1 };
    FileEnd { handle, align_bytes, buffered: None, flags: TransferFlags::default(), skips_zeros: false }
}
