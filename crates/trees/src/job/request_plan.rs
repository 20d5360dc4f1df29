//! Plans the size of requests and how many are in flight: as requested, else the defaults, as the ends allow.
//!
//! Must not know: the loop, plans, how ends are opened.

use std::ffi::OsStr;

use datapump_core::{Shape, StripeMap};

use crate::origin::remote_facts::AheadRequest;
use crate::place::{Fill, Place};
use crate::run::settings::Settings;
use crate::setup::defaults::Reads;
use crate::setup::options::{Options, Selection};
use crate::targets::{Item, Target};
use crate::tree::state::name_flags;
use datapump_files::commit::reserved::LIST_NAME;
use datapump_files::disk::PathAt;

/// The request plan of a job. `hashes`: blocks are hashed.
pub fn for_job(items: &[Item], options: &Options, reads: Reads, hashes: bool) -> Shape {
    let usual = Options::defaults(reads);
    let source_serial = items.iter().any(Item::source_is_stream);
    let sink_serial = items.iter().any(Item::target_is_stream);
    let asked_bytes =
        options.tuning.request_bytes.unwrap_or_else(|| request_bytes(items, usual.request_bytes));
    let [from, to] = stripe_maps(items);
    let request_bytes =
        from.iter().chain(&to).fold(asked_bytes, |bytes, stripe: &StripeMap| stripe.request_bytes(bytes));
    let depth = |asked: Option<u32>, usual: u32, stripe: Option<StripeMap>| {
        asked.unwrap_or_else(|| {
            stripe.map_or(usual, |stripe| stripe.depth(request_bytes).min(Options::DEPTH_MAX))
        })
    };
    let source_depth = depth(options.tuning.source_depth, usual.source_depth, from);
    let grows = options.tuning.source_depth.is_none() && !source_serial;
    let most = options.limits.source_depth_max.unwrap_or(usual.source_depth_max).max(source_depth);
    Shape {
        request_bytes,
        source_depth,
        source_depth_max: if grows { most } else { source_depth },
        sink_depth: depth(options.tuning.sink_depth, usual.sink_depth, to),
        in_order: sink_serial,
        source_serial,
        sink_serial,
        // From pipe to pipe data are passed on as they come: someone may be waiting for them.
        assemble: !(source_serial && sink_serial) || hashes,
    }
}

/// The stripe among sources and the one that is the target.
fn stripe_maps(items: &[Item]) -> [Option<StripeMap>; 2] {
    let from = items.iter().find_map(|item| match &item.source {
        Place::Stripe(stripe) => stripe.map(),
        _ => None,
    });
    let to = items.iter().find_map(|item| match &item.target {
        Target::Stripe(stripe) => Some(stripe.members.map),
        _ => None,
    });
    [from, to]
}

/// Less is moved before a connection that is opened for it has left slow start: 3.7 MB in eight round trips.
const LANE_BYTES_MIN: u64 = 4 << 20;

/// So many lanes can move so many bytes faster than fewer.
pub fn lanes_worth(bytes: u64) -> u32 {
    u32::try_from(bytes / LANE_BYTES_MIN).unwrap_or(u32::MAX)
}

/// What bounds the slots of all lanes together.
#[derive(Clone, Copy, Debug)]
pub struct SlotPool {
    bytes: u64,
    /// What the control group of this process leaves for slots. Numbers that are asked for may exceed it.
    group_bytes: u64,
    /// Each slot has a second one, for what its block is compared with.
    has_twins: bool,
}

impl SlotPool {
    pub fn from_options(options: &Options, has_twins: bool) -> SlotPool {
        let bytes = options.limits.pool_bytes_max.unwrap_or(Options::POOL_BYTES_MAX);
        SlotPool { bytes, group_bytes: u64::MAX, has_twins }
    }

    /// In a control group with this limit for memory slots take half of it: the rest is for names, stacks, what the
    /// kernel charges for them, and other programs. `verify` of a tree filled 32 MiB of slots, and was killed at 20 MiB.
    pub fn in_group(self, memory_bytes: Option<u64>) -> SlotPool {
        SlotPool { group_bytes: memory_bytes.map_or(u64::MAX, |bytes| bytes / 2), ..self }
    }

    /// So many lanes, or as many as have slots for one request at the source in the control group.
    pub fn lanes_in_group(self, shape: Shape, lanes: u32) -> u32 {
        let lane_bytes = u64::from(1 + shape.sink_depth) * self.slot_bytes(shape);
        let fit = u32::try_from(self.group_bytes / lane_bytes.max(1)).unwrap_or(u32::MAX);
        lanes.min(fit.max(1))
    }

    fn fit_bytes(self) -> u64 {
        self.bytes.min(self.group_bytes)
    }

    fn slot_bytes(self, shape: Shape) -> u64 {
        u64::from(shape.request_bytes) * if self.has_twins { 2 } else { 1 }
    }

    /// So many lanes of this shape have slots.
    pub fn lanes(self, shape: Shape) -> u32 {
        let slots = u64::from(shape.source_depth + shape.sink_depth);
        u32::try_from(self.fit_bytes() / (slots * self.slot_bytes(shape)).max(1)).unwrap_or(u32::MAX)
    }

    /// So many requests at the source of each of so many lanes have slots.
    fn source_depth(self, shape: Shape, lanes: u32) -> u32 {
        let slots = self.fit_bytes() / (u64::from(lanes.max(1)) * self.slot_bytes(shape)).max(1);
        u32::try_from(slots).unwrap_or(u32::MAX).saturating_sub(shape.sink_depth)
    }

    /// The shape with fewer requests at the source where so many lanes have no memory for them, unless a number is asked
    /// for.
    pub fn fitted(self, shape: Shape, asked: Option<u32>, lanes: u32) -> Shape {
        let fit = self.source_depth(shape, lanes).max(1);
        Shape { source_depth: asked.unwrap_or(shape.source_depth.min(fit)), ..shape }
    }

    /// Errors: so many lanes hold more in slots of this shape. Asked when the run's numbers are known.
    pub fn check(self, shape: Shape, lanes: u32) -> Result<(), String> {
        let slots = u64::from(shape.source_depth) + u64::from(shape.sink_depth);
        let slot_bytes = self.slot_bytes(shape);
        let pool = u64::from(lanes).saturating_mul(slots * slot_bytes);
        if pool <= self.bytes {
            return Ok(());
        }
        let [pool, limit] = [pool, self.bytes].map(crate::units::bytes_words);
        Err(format!(
            "{lanes} lanes x {slots} requests of {} need {pool} of memory; the limit is {limit}; choose fewer lanes, \
             smaller requests or a lesser depth",
            crate::units::bytes_words(slot_bytes)
        ))
    }
}

/// To so many lanes a job of so many bytes may grow: only files from another host over a long path do.
pub(crate) fn max_lanes(
    settings: &Settings<'_>,
    pool: SlotPool,
    is_long: bool,
    lanes: u32,
    bytes: Option<u64>,
) -> u32 {
    let Shape { source_depth, source_depth_max, sink_depth, source_serial, sink_serial, .. } = settings.shape;
    let is_alone = settings.has_trees || source_serial || sink_serial || settings.options.dry_run;
    let worth = bytes.map_or(u32::MAX, lanes_worth);
    match settings.options.limits.lanes_max {
        Some(most) if is_long && !is_alone => {
            let most = most.min(worth).min(pool.lanes(settings.shape)).max(lanes);
            lanes_in_memory(lanes, most, source_depth + sink_depth, source_depth_max + sink_depth)
        }
        _ => lanes,
    }
}

/// To so many lanes a copy may grow where the first have memory for the greatest number of slots, and each needs the
/// least: all together take no more.
pub(crate) fn lanes_in_memory(first: u32, most: u32, least: u32, greatest: u32) -> u32 {
    most.min(first.saturating_mul(greatest) / least.max(1)).max(first)
}

/// The plan with more requests under way where the path is long, as far as so many lanes have memory for them. Where there may
/// be more lanes than the first, they share what those had.
pub fn for_path(shape: Shape, is_long: bool, lanes: u32, most: u32, pool: SlotPool) -> Shape {
    if most > lanes {
        let slots = lanes * (shape.source_depth_max + shape.sink_depth) / most;
        let source_depth_max = slots.saturating_sub(shape.sink_depth).max(shape.source_depth);
        return for_path(Shape { source_depth_max, ..shape }, is_long, most, most, pool);
    }
    if !is_long {
        return Shape { source_depth_max: shape.source_depth, ..shape };
    }
    let most = pool.source_depth(shape, lanes).min(shape.source_depth_max);
    Shape { source_depth_max: most.max(shape.source_depth), ..shape }
}

/// What another host sends before it is requested: all small files, unless some of them may stay as they are, as those
/// of an earlier run. Then a request for each that is wanted costs less than the bytes of those that are not.
pub fn ahead_request(options: &Options, compares: bool, target: Option<&PathAt>) -> AheadRequest {
    let rules = name_flags::from_options(options, rustix::process::geteuid(), &[]);
    let list = OsStr::new(LIST_NAME);
    let exists = target.is_some_and(|target| target.metadata().is_ok());
    let holds_a_list = |target: &PathAt| target.is_folder() && target.child(list).metadata().is_ok();
    let was_begun = target.is_some_and(holds_a_list);
    let some_stay = (rules.leaves_some() && exists) || was_begun;
    let usual = Options::defaults(Reads::RemoteTrees).request_bytes;
    // Files are compared by their digests. What differs, or does not stand, is requested.
    let reads_both = compares || (options.comparison.checksum && exists && !was_begun);
    let sums = reads_both && !options.network.unhashed;
    let places_alone = options.selection.rules.iter().any(is_list);
    let some_stay = some_stay && !compares && !sums;
    let looks_only = options.dry_run || some_stay || places_alone || !options.links.link_dest.is_empty();
    let tells = options.attributes.keep.acl || options.attributes.keep.xattrs;
    let looks = rules.leaves_unread() || options.reporting.changes || options.dry_run;
    let updates = (looks && exists) || !options.links.link_dest.is_empty();
    AheadRequest {
        file_bytes_max: if looks_only { 0 } else { options.tuning.request_bytes.unwrap_or(usual) },
        sums: sums && !looks_only,
        places_alone,
        with_attributes: if compares { options.comparison.compare_attributes } else { updates && tells },
    }
}

/// Whether it is a list of names: what else lies in the source is not looked at.
fn is_list(selection: &Selection) -> bool {
    matches!(selection, Selection::Names(..) | Selection::Whole(_))
}

/// What null sources deliver, if there are some. Where nobody looks at it, slots are not filled.
pub(crate) fn null_fill(items: &[Item], only_null: bool) -> Option<Fill> {
    let fill = items.iter().find_map(|item| match item.source {
        Place::Null { fill, .. } => Some(fill),
        _ => None,
    });
    fill.filter(|fill| !only_null || *fill == Fill::Overwritten)
}

/// How many blocks they have at most, where all sources are such.
pub(crate) fn max_null_blocks(items: &[Item], request_bytes: u32) -> Option<u64> {
    let blocks = |item: &Item| match item.source {
        // A lane may begin within a request.
        Place::Null { bytes: Some(bytes), .. } => Some(2 * bytes.div_ceil(request_bytes.max(1).into())),
        _ => None,
    };
    let sum = items.iter().map(blocks).try_fold(0_u64, |sum, blocks| Some(sum.saturating_add(blocks?)));
    // A side that gives has no items: what it gives is asked for.
    sum.filter(|_| !items.is_empty())
}

/// The request plan of a side that serves reads: blocks are sent in the order in which they are requested.
pub(crate) fn for_serving(options: &Options, has_streams: bool) -> Shape {
    let usual = Options::defaults(Reads::ForAnother);
    let shape = Shape {
        request_bytes: options.tuning.request_bytes.unwrap_or(usual.request_bytes),
        source_depth: usual.source_depth,
        source_depth_max: usual.source_depth,
        sink_depth: usual.sink_depth,
        in_order: true,
        source_serial: has_streams,
        sink_serial: true,
        assemble: true,
    };
    let lanes = options.tuning.lanes.unwrap_or(usual.lanes);
    let shape = SlotPool::from_options(options, false).fitted(shape, options.tuning.source_depth, lanes);
    Shape { source_depth_max: shape.source_depth, ..shape }
}

/// How many lanes may move pieces of large files at a time: in a tree as many as bytes are computed on, else one, since
/// more of them in flight cost speed on one serial device.
pub(crate) fn lanes_for_pieces(options: &Options, has_trees: bool, hashes: bool) -> usize {
    match options.tuning.lanes {
        _ if !has_trees => usize::MAX,
        Some(lanes) => lanes.div_ceil(2) as usize,
        None if hashes => Options::defaults(Reads::Trees).lanes as usize,
        None => 1,
    }
}

/// Facts that decide about its defaults. `remote_host`: its sources lie at another host, where many files are as a tree.
pub(crate) fn source_facts(items: &[Item], remote_host: bool) -> Reads {
    let are_many = items.len() > Options::defaults(Reads::RemoteFiles).source_depth as usize;
    let of_item = |item: &Item| match (remote_host, item.is_tree() || are_many) {
        (true, true) => Reads::RemoteTrees,
        (true, false) => Reads::RemoteFiles,
        (false, _) if item.is_tree() => Reads::Trees,
        (false, _) if matches!(item.source, Place::Web(_)) => Reads::Web,
        (false, _) => Reads::Files,
    };
    items.iter().map(of_item).max().unwrap_or(Reads::Files)
}

/// The size of requests: the usual one, or less where all items are known to be shorter.
fn request_bytes(items: &[Item], usual: u32) -> u32 {
    const PAGE_BYTES: u64 = 4096;
    let largest = items.iter().filter_map(Item::bytes).max().unwrap_or(0);
    let known = items.iter().all(|item| item.bytes().is_some());
    match largest.max(1).next_multiple_of(PAGE_BYTES) {
        bytes if known && bytes < usual.into() => bytes as u32,
        _ => usual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: SlotPool =
        SlotPool { bytes: Options::POOL_BYTES_MAX, group_bytes: u64::MAX, has_twins: false };

    #[test]
    fn lanes_that_may_come_share_what_the_first_had() {
        let shape = Shape {
            request_bytes: 1 << 20,
            source_depth: 4,
            source_depth_max: 128,
            sink_depth: 2,
            in_order: false,
            source_serial: false,
            sink_serial: false,
            assemble: true,
        };
        assert_eq!(lanes_in_memory(2, 16, 6, 130), 16);
        assert_eq!(for_path(shape, true, 2, 16, POOL).source_depth_max, 2 * 130 / 16 - 2);
        // With little memory there are fewer of them, and never fewer than at first.
        for (greatest, most) in [(6, 2), (18, 6), (5, 2)] {
            assert_eq!(lanes_in_memory(2, 16, 6, greatest), most, "{greatest}");
        }
        let short = for_path(shape, false, 2, 2, POOL);
        assert_eq!((for_path(shape, true, 2, 2, POOL).source_depth_max, short.source_depth_max), (128, 4));
    }

    #[test]
    fn little_memory_has_fewer_requests_and_keeps_those_that_are_asked() {
        let options = |source_depth| {
            Options::default().with(|it| {
                it.tuning.request_bytes = Some(1 << 20);
                it.tuning.source_depth = source_depth;
                it.limits.pool_bytes_max = Some(32 << 20);
            })
        };
        let fitted = |asked, lanes| {
            let options = options(asked);
            let pool = SlotPool::from_options(&options, false);
            let shape = pool.fitted(for_job(&[], &options, Reads::RemoteTrees, false), asked, lanes);
            (shape.source_depth, pool.check(shape, lanes).is_ok())
        };
        // 4 lanes of 16 and 2 requests took 72 MiB.
        assert_eq!([2, 4, 16].map(|lanes| fitted(None, lanes)), [(14, true), (6, true), (1, false)]);
        assert_eq!([4, 8].map(|asked| fitted(Some(asked), 4)), [(4, true), (8, false)]);
        let given = |lanes| for_serving(&options(None).with(|it| it.tuning.lanes = Some(lanes)), false);
        assert_eq!([2, 10].map(|lanes| given(lanes).source_depth_max), [4, 2]);
    }

    #[test]
    fn a_control_group_with_little_memory_has_fewer_lanes_and_requests() {
        let options = Options::default().with(|it| it.tuning.request_bytes = Some(1 << 20));
        let shape = for_job(&[], &options, Reads::Trees, false);
        for (group, twins, lanes, depth) in [
            (None, true, 4, 2),
            (Some(64 << 20), true, 4, 2),
            (Some(20 << 20), true, 1, 2),
            (Some(20 << 20), false, 3, 1),
            (Some(4 << 20), true, 1, 1),
        ] {
            let pool = SlotPool { has_twins: twins, ..POOL }.in_group(group);
            let fit = pool.lanes_in_group(shape, 4);
            let got = (fit, pool.fitted(shape, None, fit).source_depth);
            assert_eq!(got, (lanes, depth), "{group:?} {twins}");
            // Numbers that are asked for are bounded by the limit of all jobs alone.
            assert!(pool.check(shape, 256).is_ok(), "{group:?}");
        }
    }

    /// 256 lanes of a folder of another host were let in by the numbers of a file, and took half a gigabyte more than
    /// the limit.
    #[test]
    fn what_is_checked_is_what_the_run_has() {
        let shape = |reads| {
            for_job(&[], &Options::default().with(|it| it.tuning.request_bytes = Some(1 << 20)), reads, false)
        };
        let refused = POOL.check(shape(Reads::RemoteTrees), 256).expect_err("4.5 GiB");
        assert!(refused.starts_with("256 lanes x 18 requests of 1.0 MiB need 4.5 GiB"), "{refused}");
        for (reads, lanes, twins, holds) in [
            (Reads::RemoteTrees, 227, false, true),
            (Reads::Files, 256, false, true),
            (Reads::Files, 256, true, true),
            (Reads::RemoteFiles, 256, true, true),
            (Reads::RemoteTrees, 114, true, false),
        ] {
            let checked = SlotPool { has_twins: twins, ..POOL }.check(shape(reads), lanes);
            assert_eq!(checked.is_ok(), holds, "{reads:?} {lanes} {twins}: {checked:?}");
        }
    }
}
