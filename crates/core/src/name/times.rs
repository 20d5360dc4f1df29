//! When two times of one file are equal: file systems keep them more or less finely.
//!
//! Must not know: which file system it is.

use crate::Meta;

const SECOND_NS: i128 = 1_000_000_000;

/// FAT; ext4 with inodes of 128 bytes; exFAT; servers and daemons; UDF; NTFS and SMB.
const GRAINS_NS: [i128; 6] = [2 * SECOND_NS, SECOND_NS, 10_000_000, 1_000_000, 1_000, 100];

/// Equal times, as far as the target's file system can keep them. One that rounds shows it in the time of attributes, too.
pub fn is_same_time(source: &Meta, existing: &Meta, window_ns: i128) -> bool {
    (source.mtime_ns - existing.mtime_ns).abs() <= window_ns || coarse_grain_ns(source, existing).is_some()
}

/// The grain of the target's file system, where two times differ by that alone.
pub fn coarse_grain_ns(source: &Meta, existing: &Meta) -> Option<i128> {
    let behind_ns = source.mtime_ns - existing.mtime_ns;
    let is_kept_in = |grain_ns| existing.mtime_ns % grain_ns == 0 && existing.ctime_ns % grain_ns == 0;
    let grain_ns = GRAINS_NS.into_iter().find(|grain_ns| is_kept_in(*grain_ns))?;
    (1..grain_ns).contains(&behind_ns).then_some(grain_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_times_are_the_same_within_their_grain() {
        let at = |mtime_ns, ctime_ns| Meta { mtime_ns, ctime_ns, ..Meta::nothing() };
        for (source, existing, same) in [
            (at(5 * SECOND_NS + 3, 1), at(5 * SECOND_NS + 3, 1), true),
            (at(5 * SECOND_NS + 3, 1), at(5 * SECOND_NS, 1), false),
            (at(5 * SECOND_NS + 3, 1), at(5 * SECOND_NS, 9 * SECOND_NS), true),
            (at(5 * SECOND_NS + 3, 1), at(4 * SECOND_NS, 9 * SECOND_NS), false),
            (at(5 * SECOND_NS + 3, 1), at(4 * SECOND_NS, 8 * SECOND_NS), true),
            (at(6 * SECOND_NS + 3, 1), at(4 * SECOND_NS, 8 * SECOND_NS), false),
            (at(-SECOND_NS + 5, 1), at(-SECOND_NS, 8 * SECOND_NS), true),
            // exFAT, NTFS
            (at(5 * SECOND_NS + 19_999_999, 1), at(5 * SECOND_NS + 10_000_000, 30_000_000), true),
            (at(5 * SECOND_NS + 20_000_000, 1), at(5 * SECOND_NS + 10_000_000, 30_000_000), false),
            (at(57_532_104, 1), at(57_532_100, 999_700), true),
            (at(57_532_104, 1), at(57_532_100, 999_701), false),
            (at(57_532_204, 1), at(57_532_100, 999_700), false),
        ] {
            assert_eq!(
                is_same_time(&source, &existing, 0),
                same,
                "{} {}",
                source.mtime_ns,
                existing.mtime_ns
            );
        }
    }
}
