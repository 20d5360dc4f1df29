//! Names of users and groups: passwd(5) and group(5), or whatever else the system keeps them in (nsswitch.conf(5)).
//!
//! Must not know: whose files are meant, why somebody asks.

use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// A group of many members takes more: then it is asked for again with more room.
const ROOM_BYTES: usize = 1 << 10;
const ROOM_BYTES_MAX: usize = 16 << 20;

/// The name of a user; `None` if the system knows none, or cannot tell.
pub fn user_name(id: u32) -> Option<Vec<u8>> {
    // SAFETY: `looked_up` gives pointers that are valid for the call, and the length of the room.
    looked_up(
        |entry, room, len, found| unsafe { libc::getpwuid_r(id, entry, room, len, found) },
        |user| name_of(user.pw_name),
    )
}

/// The path of a user's home folder.
pub fn user_home(id: u32) -> Option<Vec<u8>> {
    // SAFETY: as in `user_name`.
    looked_up(
        |entry, room, len, found| unsafe { libc::getpwuid_r(id, entry, room, len, found) },
        |user| (!user.pw_dir.is_null()).then(|| name_of(user.pw_dir)),
    )?
}

/// The name of a group.
pub fn group_name(id: u32) -> Option<Vec<u8>> {
    // SAFETY: as in `user_name`.
    looked_up(
        |entry, room, len, found| unsafe { libc::getgrgid_r(id, entry, room, len, found) },
        |group| name_of(group.gr_name),
    )
}

/// The number of a user.
pub fn user_id(name: &CStr) -> Option<u32> {
    let name = name.as_ptr();
    // SAFETY: as in `user_name`; the name lives through the call.
    looked_up(
        |entry, room, len, found| unsafe { libc::getpwnam_r(name, entry, room, len, found) },
        |user| user.pw_uid,
    )
}

/// The number of a group.
pub fn group_id(name: &CStr) -> Option<u32> {
    let name = name.as_ptr();
    // SAFETY: as in `user_id`.
    looked_up(
        |entry, room, len, found| unsafe { libc::getgrnam_r(name, entry, room, len, found) },
        |group| group.gr_gid,
    )
}

/// Asks with more and more room. `take` reads what was found while the room that it points to still stands.
fn looked_up<Entry, T>(
    ask: impl Fn(*mut Entry, *mut c_char, usize, *mut *mut Entry) -> c_int,
    take: impl Fn(&Entry) -> T,
) -> Option<T> {
    let mut room: Vec<c_char> = vec![0; ROOM_BYTES];
    loop {
        let (mut entry, mut found) = (MaybeUninit::uninit(), null_mut());
        match ask(entry.as_mut_ptr(), room.as_mut_ptr(), room.len(), &raw mut found) {
            // SAFETY: the system says so by pointing to `entry`, which it filled; strings in it lie in `room`.
            0 if !found.is_null() => return Some(take(unsafe { entry.assume_init_ref() })),
            libc::ERANGE if room.len() < ROOM_BYTES_MAX => room = vec![0; room.len() * 4],
            libc::EINTR => {}
            _ => return None,
        }
    }
}

/// Of an entry that was found.
fn name_of(name: *const c_char) -> Vec<u8> {
    // SAFETY: the system found an entry, whose name ends with a zero; the room that it lies in stands.
    unsafe { CStr::from_ptr(name) }.to_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_by_name_and_by_number() {
        assert_eq!((user_name(0).as_deref(), user_id(c"root")), (Some(&b"root"[..]), Some(0)));
        assert_eq!((group_name(0).as_deref(), group_id(c"root")), (Some(&b"root"[..]), Some(0)));
    }

    #[test]
    fn root_has_a_home_folder() {
        assert!(user_home(0).is_some_and(|path| path.starts_with(b"/")));
    }

    #[test]
    fn who_is_not_known_has_no_name_and_no_number() {
        const NOBODY_HAS: u32 = 3_999_999_999;
        assert_eq!((user_name(NOBODY_HAS), group_name(NOBODY_HAS)), (None, None));
        assert_eq!((user_id(c"no such user"), group_id(c"no such group")), (None, None));
    }
}
