//! The permissions and owners in an access control list: acl(5), in the form of Linux's extended attributes
//! (`posix_acl_xattr.h`: version 2, then entries of tag, permissions and id, all little-endian).
//!
//! Must not know: whose list it is, where it is set.

use std::ffi::CStr;

/// The list that decides who may do what.
pub const ACCESS: &CStr = c"system.posix_acl_access";
/// The list that a folder hands down to what is made in it.
pub const DEFAULT: &CStr = c"system.posix_acl_default";

const HEADER_BYTES: usize = 4;
const ENTRY_BYTES: usize = 8;
const OWNER: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP: u16 = 0x04;
const NAMED_GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHERS: u16 = 0x20;

/// Permissions of the owning group itself: under a list the mode's bits of the group are the mask, and let in more.
pub fn group_bits(list: &[u8]) -> Option<u32> {
    permissions(list, GROUP)
}

/// The mode that the list stands for, as stat(2) shows it.
pub fn mode(list: &[u8]) -> Option<u32> {
    let group = permissions(list, MASK).or_else(|| permissions(list, GROUP))?;
    Some(permissions(list, OWNER)? << 6 | group << 3 | permissions(list, OTHERS)?)
}

/// Gives the list the permissions of a mode, as chmod(2) does: those of the group are its mask, if it has one.
pub fn set_mode(list: &mut [u8], mode: u32) {
    let group = if permissions(list, MASK).is_some() { MASK } else { GROUP };
    for entry in list.get_mut(HEADER_BYTES..).unwrap_or_default().chunks_exact_mut(ENTRY_BYTES) {
        let bits = match tag(entry) {
            OWNER => mode >> 6,
            OTHERS => mode,
            tag if tag == group => mode >> 3,
            _ => continue,
        };
        entry[2..4].copy_from_slice(&((bits & 0o7) as u16).to_le_bytes());
    }
}

/// Gives the users and groups in it other numbers; the flag says that it is a group's. Entries stand in the order of
/// numbers, and of two that became one only what both let in is let in. Bytes that are no list stay.
pub fn map_ids(list: &mut Vec<u8>, mut map: impl FnMut(bool, u32) -> u32) {
    if list.len() < HEADER_BYTES || !(list.len() - HEADER_BYTES).is_multiple_of(ENTRY_BYTES) {
        return;
    }
    let mut is_other = false;
    for entry in list[HEADER_BYTES..].chunks_exact_mut(ENTRY_BYTES) {
        let (tag, id) = (tag(entry), id(entry));
        if matches!(tag, USER | NAMED_GROUP) {
            let mapped = map(tag == NAMED_GROUP, id);
            is_other |= mapped != id;
            entry[4..].copy_from_slice(&mapped.to_le_bytes());
        }
    }
    if is_other {
        put_in_order(list);
    }
}

/// Sorts the entries by tag and number; of two with one number only what both let in is let in.
fn put_in_order(list: &mut Vec<u8>) {
    let mut entries: Vec<Vec<u8>> =
        list[HEADER_BYTES..].chunks_exact(ENTRY_BYTES).map(<[u8]>::to_vec).collect();
    entries.sort_by_key(|entry| (tag(entry), id(entry)));
    entries.dedup_by(|next, entry| {
        let is_same = (tag(next), id(next)) == (tag(entry), id(entry));
        if is_same {
            (entry[2], entry[3]) = (entry[2] & next[2], entry[3] & next[3]);
        }
        is_same
    });
    list.truncate(HEADER_BYTES);
    list.extend(entries.concat());
}

fn tag(entry: &[u8]) -> u16 {
    u16::from_le_bytes([entry[0], entry[1]])
}

fn id(entry: &[u8]) -> u32 {
    u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]])
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
    fn a_mode_changes_the_mask_and_not_what_the_group_may() {
        let mut with_mask = list(&[(OWNER, 6), (0x02, 7), (GROUP, 5), (MASK, 7), (OTHERS, 4)]);
        set_mode(&mut with_mask, 0o700);
        assert_eq!((mode(&with_mask), group_bits(&with_mask)), (Some(0o700), Some(5)));
        let mut without = list(&[(OWNER, 6), (GROUP, 5), (OTHERS, 4)]);
        set_mode(&mut without, 0o640);
        assert_eq!((mode(&without), group_bits(&without)), (Some(0o640), Some(4)));
        set_mode(&mut [], 0o777);
    }

    fn owned(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let entry = |&(tag, permissions, id): &(u16, u16, u32)| {
            [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        [&2u32.to_le_bytes()[..], &entries.iter().flat_map(entry).collect::<Vec<u8>>()].concat()
    }

    #[test]
    fn users_and_groups_get_other_numbers_in_their_order() {
        const NONE: u32 = u32::MAX;
        let map = |is_group: bool, id: u32| match (is_group, id) {
            (false, 5) => 9,
            (false, 7) => 6,
            (true, 5) => 4,
            (true, 6) => 4,
            (_, id) => id,
        };
        let mut before =
            owned(&[(OWNER, 6, NONE), (USER, 7, 5), (USER, 4, 7), (GROUP, 0, NONE), (MASK, 7, NONE)]);
        map_ids(&mut before, map);
        let after = owned(&[(OWNER, 6, NONE), (USER, 4, 6), (USER, 7, 9), (GROUP, 0, NONE), (MASK, 7, NONE)]);
        assert_eq!(before, after);
        // Two that become one are let in to what both were.
        let mut before = owned(&[(NAMED_GROUP, 6, 4), (NAMED_GROUP, 3, 5), (NAMED_GROUP, 7, 6)]);
        map_ids(&mut before, map);
        assert_eq!(before, owned(&[(NAMED_GROUP, 2, 4)]));
        for same in [owned(&[(USER, 1, 8), (USER, 1, 3), (NAMED_GROUP, 1, 8)]), vec![], vec![2, 0, 0, 0, 1]] {
            let mut list = same.clone();
            map_ids(&mut list, map);
            assert_eq!(list, same, "what nobody changes stays as it is");
        }
    }

    #[test]
    fn what_is_no_list_has_no_permissions() {
        for bytes in [&b""[..], b"\x02\0", &list(&[])] {
            assert_eq!((mode(bytes), group_bits(bytes)), (None, None));
        }
    }
}
