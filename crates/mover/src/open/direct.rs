//! Requests past the page cache: whether a file can have them.
//!
//! Must not know: which end of a job it is.

use std::path::Path;

use datapump_engine::Handle;

use crate::problem::{Operation, Problem};
use crate::run::MoverRun;
use crate::setup::options::Choice;
use datapump_files::disk::FileCalls;

const PAGE_BYTES: u32 = 4096;

/// Switches a handle to direct I/O, and says whether that was done.
///
/// Errors: it cannot be had, and was demanded.
pub fn switch_to_direct(run: &MoverRun<'_>, handle: Option<&Handle>, name: &Path) -> Result<bool, Problem> {
    let Some(handle) = handle else { return Ok(false) };
    let demanded = run.settings.options.tuning.direct == Choice::Always;
    let align_bytes = handle.direct_alignment_bytes();
    // Whole pages: a buffered tail must share none with a direct request.
    let unit_bytes = align_bytes.max(PAGE_BYTES);
    let request_bytes = run.settings.shape.request_bytes;
    if !request_bytes.is_multiple_of(unit_bytes) || align_bytes > PAGE_BYTES {
        let nearest = (request_bytes.saturating_add(unit_bytes / 2) / unit_bytes).max(1) * unit_bytes;
        let words = format!(
            "direct I/O needs requests that are multiples of {unit_bytes} bytes: --request-size={nearest}B is the \
             nearest to {request_bytes}"
        );
        return if demanded { Err(Problem::usage(words)) } else { Ok(false) };
    }
    match handle.set_direct() {
        Ok(()) => Ok(true),
        Err(errno) if demanded && !run.settings.platform.is_simulated() => {
            Err(Problem::system(Operation::OpenDirectly, name, errno.0))
        }
        Err(_) => Ok(false),
    }
}
