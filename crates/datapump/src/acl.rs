//! The permissions in an access control list: acl(5), in the form of Linux's extended attributes (`posix_acl_xattr.h`:
//! version 2, then entries of tag, permissions and id, all little-endian).
//!
//! Must not know: whose list it is, where it is set.

use std::ffi::CStr;

/// The list that decides who may do what.
pub(crate) const ACCESS: &CStr = c"system.posix_acl_access";
/// The list that a folder hands down to what is made in it.
pub(crate) const DEFAULT: &CStr = c"system.posix_acl_default";

const HEADER_BYTES: usize = 4;
const ENTRY_BYTES: usize = 8;
const OWNER: u16 = 0x01;
const GROUP: u16 = 0x04;
const MASK: u16 = 0x10;
const OTHERS: u16 = 0x20;

/// Permissions of the owning group itself: under a list the mode's bits of the group are the mask, and let in more.
pub(crate) fn group_bits(list: &[u8]) -> Option<u32> {
    permissions(list, GROUP)
}

/// The mode that the list stands for, as stat(2) shows it.
pub(crate) fn mode(list: &[u8]) -> Option<u32> {
    let group = permissions(list, MASK).or_else(|| permissions(list, GROUP))?;
    Some(permissions(list, OWNER)? << 6 | group << 3 | permissions(list, OTHERS)?)
}

fn permissions(list: &[u8], wanted: u16) -> Option<u32> {
    let entries = list.get(HEADER_BYTES..)?.chunks_exact(ENTRY_BYTES);
    let of = |entry: &[u8], at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
    entries.filter(|entry| of(entry, 0) == wanted).map(|entry| u32::from(of(entry, 2)) & 0o7).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u16)]) -> Vec<u8> {
        let entry = |&(tag, permissions): &(u16, u16)| {
            [tag.to_le_bytes(), permissions.to_le_bytes(), [0xff; 2], [0xff; 2]].concat()
        };
        [&2u32.to_le_bytes()[..], &entries.iter().flat_map(entry).collect::<Vec<u8>>()].concat()
    }

    #[test]
    fn the_mask_is_what_the_mode_shows_and_not_what_the_group_may() {
        let list = list(&[(OWNER, 6), (0x02, 7), (GROUP, 0), (MASK, 7), (OTHERS, 4)]);
        assert_eq!((mode(&list), group_bits(&list)), (Some(0o674), Some(0)));
    }

    #[test]
    fn what_is_no_list_has_no_permissions() {
        for bytes in [&b""[..], b"\x02\0", &list(&[])] {
            assert_eq!((mode(bytes), group_bits(bytes)), (None, None));
        }
    }
}
