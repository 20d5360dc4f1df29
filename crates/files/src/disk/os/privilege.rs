//! Permissions of this process for files of other users: capabilities(7), in its user namespace.
//!
//! A capability covers a file only if that namespace has numbers for its owner and its group: user_namespaces(7). Owners
//! without a number are shown as nobody (65534), which may be a number of the namespace as well: then they may be covered.
//!
//! Must not know: what is to be done with them.

use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities};

/// Whether this process counts as the owner of a file of these owner and group (CAP_FOWNER).
pub fn acts_as_owner(uid: u32, gid: u32) -> bool {
    // Where a sandbox refuses the call, root has what root usually has.
    let has_capability = capabilities(None)
        .map_or_else(|_| geteuid().is_root(), |sets| sets.effective.contains(CapabilitySet::FOWNER));
    let has_numbers = || is_mapped("/proc/self/uid_map", uid) && is_mapped("/proc/self/gid_map", gid);
    has_capability && has_numbers()
}

/// Whether a namespace has a number, or may have it where /proc is not mounted.
fn is_mapped(map: &str, id: u32) -> bool {
    std::fs::read_to_string(map).map_or(true, |map| map.lines().any(|range| has(range, id)))
}

/// A range: its first number, that of the namespace around, how many.
fn has(range: &str, id: u32) -> bool {
    let fields: Vec<u64> = range.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    let [first, _, count] = fields[..] else { return false };
    (first..first + count).contains(&id.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_numbers_are_read_as_the_kernel_writes_them() {
        for (range, id, is) in [
            ("         0          0 4294967295", 65_534, true),
            ("         0       1000          1", 0, true),
            ("         0       1000          1", 65_534, false),
            ("       100     100000      65536", 99, false),
            ("       100     100000      65536", 65_635, true),
            ("       100     100000      65536", 65_636, false),
            ("", 0, false),
        ] {
            assert_eq!(has(range, id), is, "{range} {id}");
        }
    }
}
