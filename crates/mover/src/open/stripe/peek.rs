//! Reads a few bytes of the members of a stripe, to compare what was copied with what is there.
//!
//! Must not know: how members are opened, what the bytes are compared with.

use datapump_core::StripeMap;
use datapump_engine::{Errno, Handle};
use datapump_files::disk::FileCalls;

/// Reads bytes of a stripe as far as one run of a member goes; the number read.
pub(super) fn peek(map: StripeMap, members: &[Handle], at: u64, into: &mut [u8]) -> Result<usize, Errno> {
    let place = map.place(at);
    let most = into.len().min(usize::try_from(place.run_bytes).unwrap_or(usize::MAX));
    members[place.member].peek(place.at, &mut into[..most])
}
