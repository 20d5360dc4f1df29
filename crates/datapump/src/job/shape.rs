//! How large requests are and how many are under way: the measured defaults, and what the ends of a job allow.
//!
//! Must not know: the loop, plans, how ends are opened.

use datapump_core::Shape;

use crate::job::options::Options;
use crate::target::Item;
use crate::target::place::{Fill, Place};

/// 1 MiB, two at each end: bench/request-size-local-file.jsonl, 4 GiB cold, CPU of the whole machine in s/GiB: 512 KiB
/// 0.076, 1 MiB 0.047 and 1.06 times as fast, on slots of huge pages. One request of 2 MiB at each end was as cheap and
/// 1.11 times as fast on that serial disk, but leaves a device that serves several at once idle between requests.
pub(crate) const REQUEST_BYTES: u32 = 1 << 20;
pub(crate) const DEPTH: u32 = 2;
/// Blocks that are asked of another host at a time: one on its way here, one that is sent, two that are read there.
pub(crate) const ASKING_DEPTH: u32 = 4;
/// Of trees, whose files are small: a lane that waits is woken once for what has come, and with more asked for it waits
/// less often.
/// 50,000 files into ext4 over loopback, CPU of both ends and time: 8: 3.5 s, 2.22 s; 16: 3.3 s, 1.98 s; 32: as 16.
pub(crate) const ASKING_DEPTH_TREES: u32 = 16;
/// Blocks that are read ahead of the one that is sent.
const GIVING_DEPTH: u32 = 4;

/// Of a job. `far`: its sources lie at another host; `hashes`: blocks are hashed.
pub(crate) fn of(items: &[Item], options: &Options, far: bool, hashes: bool) -> Shape {
    let source_serial = items.iter().any(Item::source_is_stream);
    let sink_serial = items.iter().any(Item::target_is_stream);
    Shape {
        request_bytes: options.request_bytes.unwrap_or_else(|| request_bytes(items)),
        source_depth: options.source_depth.unwrap_or_else(|| source_depth(items, far)),
        sink_depth: options.sink_depth.unwrap_or(DEPTH),
        in_order: sink_serial,
        source_serial,
        sink_serial,
        // From pipe to pipe data are passed on as they come: someone may be waiting for them.
        assemble: !(source_serial && sink_serial) || hashes,
    }
}

/// What null sources deliver, if there are some.
pub(crate) fn null_fill(items: &[Item]) -> Option<Fill> {
    items.iter().find_map(|item| match item.source {
        Place::Null { fill, .. } => Some(fill),
        _ => None,
    })
}

/// Of the side that gives another host what it asks for: blocks are sent in the order of the asking.
pub(crate) fn giving(options: &Options, has_streams: bool) -> Shape {
    Shape {
        request_bytes: options.request_bytes.unwrap_or(REQUEST_BYTES),
        source_depth: options.source_depth.unwrap_or(GIVING_DEPTH),
        sink_depth: 1,
        in_order: true,
        source_serial: has_streams,
        sink_serial: true,
        assemble: true,
    }
}

fn source_depth(items: &[Item], far: bool) -> u32 {
    match far {
        true if items.iter().any(Item::is_tree) => ASKING_DEPTH_TREES,
        true => ASKING_DEPTH,
        false => DEPTH,
    }
}

/// A copy of less than one request needs no larger slots, and no memory for them.
fn request_bytes(items: &[Item]) -> u32 {
    const PAGE_BYTES: u64 = 4096;
    let largest = items.iter().filter_map(Item::bytes).max().unwrap_or(0);
    let known = items.iter().all(|item| item.bytes().is_some());
    match largest.max(1).next_multiple_of(PAGE_BYTES) {
        bytes if known && bytes < REQUEST_BYTES.into() => bytes as u32,
        _ => REQUEST_BYTES,
    }
}
