//! The measured rule: which way a file's bytes take. In one place, printed with `-v`, overridable.
//!
//! Figures (one virtual disk, ext4, Linux 6.18; prototypes), MB/s. Cold source, target synced, 4 GiB: direct both
//! 1358, cp 877. Warm source, synced, 1 GiB: buffered read + direct write 2278, direct both 1268, cp 555. Warm, not
//! synced, 64 MiB: in-kernel copy 2831, read and write 2141, direct both 1005. 64 KiB: in-kernel 776, direct 237.
//!
//! Must not know: paths, how the ways are performed.

use crate::setup::options::{Choice, Options, Sync};
use datapump_files::disk::is_cached;

/// Below this a direct request costs more than it saves.
const DIRECT_MIN_BYTES: u64 = 1 << 20;
/// A cached source is read buffered; its target is written directly from this size on.
const DIRECT_WRITE_WARM_MIN_BYTES: u64 = 4 << 20;
/// Up to this size one in-kernel call beats everything, cached or not.
const IN_KERNEL_MAX_BYTES: u64 = 64 << 10;

/// Facts about a file before its copy begins.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub size_bytes: u64,
    /// Fraction of the source in the page cache; `None` when the system does not tell.
    pub cached: Option<f64>,
    /// The source is a regular file or a device that can be read at offsets.
    pub source_is_file: bool,
    /// The sink is a regular file or a device that can be written at offsets.
    pub sink_is_file: bool,
    /// The source's bytes must pass through this process: they are hashed or compared.
    pub bytes_are_looked_at: bool,
    /// Source and sink lie on one file system.
    pub same_file_system: bool,
    /// An ordinary file becomes an ordinary file: the kernel may copy it as a whole.
    pub whole_file: bool,
    /// The target takes its bytes in order, one write at a time.
    pub in_order: bool,
    /// It is put on stable storage for itself, if at all; small files of trees are all at once.
    pub synced_alone: bool,
}

/// The rule's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    /// A reflink is tried first.
    pub try_reflink: bool,
    pub in_kernel: bool,
    pub source_direct: bool,
    pub sink_direct: bool,
    pub why: &'static str,
}

impl How {
    /// Blocks go through this process and through the page cache, for this reason.
    fn buffered(why: &'static str) -> How {
        How { try_reflink: false, in_kernel: false, source_direct: false, sink_direct: false, why }
    }
}

/// How a file is copied: the measured rule, within what the options demand and the ends can.
pub fn decide(facts: &Facts, options: &Options) -> How {
    let both_files = facts.source_is_file && facts.sink_is_file && facts.whole_file;
    // A copy inside the kernel shares blocks where the file system can: copy_file_range(2).
    let may_share = options.tuning.reflink != Choice::Never && !options.tuning.makes_holes;
    let in_kernel_possible = !facts.in_order
        && both_files
        && facts.same_file_system
        && !facts.bytes_are_looked_at
        && !options.durability.inplace
        && may_share;
    let how = match options.tuning.direct {
        _ if facts.in_order => method_in_order(facts, options),
        Choice::Always => {
            let buffered = How::buffered("direct I/O was asked for");
            How { source_direct: facts.source_is_file, sink_direct: facts.sink_is_file, ..buffered }
        }
        _ if options.tuning.uncached => How::buffered("uncached I/O was asked for"),
        _ => method_for_files(facts, options, in_kernel_possible && !options.measuring.dsync),
    };
    How { try_reflink: in_kernel_possible, ..how }
}

/// The method for a target that takes bytes in order: never in the kernel, never a direct write, since the kernel would
/// split it.
fn method_in_order(facts: &Facts, options: &Options) -> How {
    let warm = is_cached(facts.cached);
    let source_direct = match options.tuning.direct {
        Choice::Always => true,
        Choice::Never => false,
        Choice::Auto => !warm && !options.tuning.uncached && facts.size_bytes >= DIRECT_MIN_BYTES,
    };
    let buffered = How::buffered("the target takes bytes in order: one write at a time");
    How { source_direct: source_direct && facts.source_is_file, ..buffered }
}

/// The method where nobody demands one: by size, by what is in the page cache, and by whether the copy is synced.
fn method_for_files(facts: &Facts, options: &Options, in_kernel_possible: bool) -> How {
    let in_kernel = |why| How { in_kernel: true, ..How::buffered(why) };
    let size = facts.size_bytes;
    let warm = is_cached(facts.cached);
    let synced = options.durability.sync != Sync::None && facts.synced_alone;
    if in_kernel_possible && size <= IN_KERNEL_MAX_BYTES {
        return in_kernel("small: one in-kernel copy");
    }
    if in_kernel_possible && warm && !synced {
        return in_kernel("source in the cache, no sync: in-kernel copy");
    }
    if options.tuning.direct == Choice::Never {
        return How::buffered("direct I/O is forbidden");
    }
    let source_direct = facts.source_is_file && !warm && size >= DIRECT_MIN_BYTES;
    let sink_min = if warm { DIRECT_WRITE_WARM_MIN_BYTES } else { DIRECT_MIN_BYTES };
    let sink_direct = facts.sink_is_file && synced && size >= sink_min;
    let why = match (source_direct, sink_direct) {
        (true, true) => "large and not cached: direct at both ends",
        (true, false) => "large and not cached: direct read",
        (false, true) if warm => "source is cached: read through the page cache, written past it",
        (false, true) => "source is no file: read as it comes, written past the page cache",
        (false, false) => "small, or cached and not synced: buffered",
    };
    How { source_direct, sink_direct, ..How::buffered(why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_the_measured_one() {
        let facts = |size_bytes, cached| Facts {
            size_bytes,
            cached: Some(cached),
            source_is_file: true,
            sink_is_file: true,
            bytes_are_looked_at: false,
            same_file_system: true,
            whole_file: true,
            in_order: false,
            synced_alone: true,
        };
        let synced = Options::default();
        let unsynced = Options::default().with(|it| it.durability.sync = Sync::None);
        for (size, cached, options, way) in [
            (4 << 30, 0.0, &synced, "direct both"),
            (1 << 30, 1.0, &synced, "direct write"),
            (1 << 20, 0.0, &synced, "direct both"),
            (1 << 20, 1.0, &synced, "buffered"),
            (64 << 10, 0.0, &synced, "in kernel"),
            (512 << 10, 0.0, &synced, "buffered"),
            (1 << 30, 1.0, &unsynced, "in kernel"),
            (1 << 30, 0.0, &unsynced, "direct read"),
        ] {
            let how = decide(&facts(size, cached), options);
            let got = match (how.in_kernel, how.source_direct, how.sink_direct) {
                (true, false, false) => "in kernel",
                (false, true, true) => "direct both",
                (false, true, false) => "direct read",
                (false, false, true) => "direct write",
                (false, false, false) => "buffered",
                odd => panic!("{odd:?}"),
            };
            assert_eq!(got, way, "{size} bytes, {cached} cached, {:?}", options.durability.sync);
        }
    }

    #[test]
    fn bytes_that_are_looked_at_pass_through_us() {
        let facts = Facts {
            size_bytes: 10,
            cached: Some(1.0),
            source_is_file: true,
            sink_is_file: true,
            bytes_are_looked_at: true,
            same_file_system: true,
            whole_file: true,
            in_order: false,
            synced_alone: true,
        };
        let how = decide(&facts, &Options::default());
        assert!(!how.in_kernel && !how.try_reflink);
    }

    #[test]
    fn a_target_that_takes_bytes_in_order_is_written_by_plain_calls() {
        for size_bytes in [10, 1 << 20, 1 << 30] {
            let facts = Facts {
                size_bytes,
                cached: Some(0.0),
                source_is_file: true,
                sink_is_file: true,
                bytes_are_looked_at: false,
                same_file_system: true,
                whole_file: true,
                in_order: true,
                synced_alone: true,
            };
            for direct in [Choice::Auto, Choice::Always, Choice::Never] {
                let how = decide(&facts, &Options::default().with(|it| it.tuning.direct = direct));
                assert!(!how.in_kernel && !how.try_reflink && !how.sink_direct, "{size_bytes} {direct:?}");
            }
        }
    }
}
