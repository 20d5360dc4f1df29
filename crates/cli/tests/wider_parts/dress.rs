//! What the generator of trees gives an entry besides its content: owner, mode, ACL, attributes, times.

use std::os::unix::fs::lchown;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, XattrFlags};

use super::random::Random;
use crate::support::set_mode;

/// Owners without a name in any password file.
const OWNERS: [(u32, u32); 4] = [(0, 0), (1234, 4321), (54_321, 54_321), (65_534, 0)];
const FILE_MODES: [u32; 12] =
    [0o644, 0o600, 0o755, 0o444, 0o400, 0, 0o4755, 0o2755, 0o6711, 0o1644, 0o7777, 0o022];
const FOLDER_MODES: [u32; 9] = [0o755, 0o700, 0o555, 0o500, 0o2775, 0o1777, 0o3770, 0, 0o7777];
/// What an ordinary user may have, and read.
const USER_FILE_MODES: [u32; 8] = [0o644, 0o600, 0o755, 0o444, 0o400, 0o4755, 0o2755, 0o1644];
const USER_FOLDER_MODES: [u32; 6] = [0o755, 0o700, 0o555, 0o500, 0o2775, 0o1777];

/// Seconds since 1970: before it, at it, around the end of 32 bits, far behind.
const SECONDS: [i64; 9] = [
    -1_500_000_000,
    -1,
    0,
    978_307_200,
    1_700_000_000,
    (1 << 31) - 1,
    1 << 31,
    5_000_000_000,
    14_000_000_000,
];
const NANOSECONDS: [i64; 5] = [0, 1, 123_456_789, 500_000_000, 999_999_999];

/// For whom a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Everything there is.
    Root,
    /// What this ordinary user may read, and has the right to make again.
    User(u32),
}

/// The kind of entry that is dressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Symlink,
    Special,
}

/// Gives an entry attributes by chance. Changing the owner takes rights and capabilities away, so it is first.
pub fn dress(path: &Path, kind: Kind, audience: For, random: &mut Random) {
    let own = give_owner(path, audience, random);
    if kind != Kind::Symlink {
        set_mode(path, mode(kind, audience, own, random));
        give_lists(path, kind, random);
    }
    if matches!(kind, Kind::File | Kind::Folder) && random.in_thousand(100) {
        user_attributes(path, random);
    }
    if audience == For::Root && random.in_thousand(50) {
        set(path, "trusted.note", &[0, 255, 10]);
    }
    if audience == For::Root && kind == Kind::File && random.in_thousand(30) {
        set_capability(path);
    }
    set_times(path, *random.pick(&SECONDS), *random.pick(&NANOSECONDS));
}

/// Whether the user who copies owns it: only then can set-id bits be had in the copy.
fn give_owner(path: &Path, audience: For, random: &mut Random) -> bool {
    let (user, group) = match audience {
        For::Root if random.in_thousand(700) => (0, 0),
        For::Root => *random.pick(&OWNERS),
        For::User(user) if random.in_thousand(700) => (user, user),
        For::User(_) => (0, 0),
    };
    lchown(path, Some(user), Some(group)).expect("the tests run as root");
    audience == For::Root || user != 0
}

fn mode(kind: Kind, audience: For, own: bool, random: &mut Random) -> u32 {
    match (audience, kind == Kind::Folder) {
        (For::Root, true) => *random.pick(&FOLDER_MODES),
        (For::Root, false) => *random.pick(&FILE_MODES),
        (For::User(_), true) if own => *random.pick(&USER_FOLDER_MODES),
        (For::User(_), true) => 0o755,
        (For::User(_), false) if own => *random.pick(&USER_FILE_MODES),
        (For::User(_), false) => 0o644,
    }
}

fn give_lists(path: &Path, kind: Kind, random: &mut Random) {
    let others = if kind == Kind::Folder { 0o5 } else { 0o4 };
    if random.in_thousand(50) {
        set(path, "system.posix_acl_access", &access_list(0o6, others));
    }
    if kind == Kind::Folder && random.in_thousand(100) {
        set(path, "system.posix_acl_default", &access_list(0o7, 0o5));
    }
}

fn user_attributes(path: &Path, random: &mut Random) {
    for number in 0..1 + random.below(4) {
        let bytes = [0, 1, 30, 700][random.below(4) as usize];
        set(path, &format!("user.attribute-{number}"), &crate::support::noise(bytes, number));
    }
}

/// A POSIX access control list as the kernel keeps it: version 2, then tag, rights, id (acl(5), posix_acl_xattr.h).
pub fn access_list(named: u16, others: u16) -> Vec<u8> {
    const NOBODY_NAMED: u32 = u32::MAX;
    let entries = [
        (0x01_u16, 0o7_u16, NOBODY_NAMED),
        (0x02, named, 1234),
        (0x04, 0o5, NOBODY_NAMED),
        (0x08, named, 54_321),
        (0x10, 0o7, NOBODY_NAMED),
        (0x20, others, NOBODY_NAMED),
    ];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend([&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat());
    }
    list
}

/// cap_net_raw+ep as the kernel keeps it: revision 2, effective (capability.h).
pub fn set_capability(path: &Path) {
    let words = [0x0200_0001_u32, 1 << 13, 0, 0, 0];
    set(path, "security.capability", &words.map(u32::to_le_bytes).concat());
}

pub fn set(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::lsetxattr(path, name, value, XattrFlags::empty())
        .unwrap_or_else(|error| panic!("{name} of {path:?}: {error}"));
}

/// Sets time of access and of change, of symbolic links too.
pub fn set_times(path: &Path, seconds: i64, nanoseconds: i64) {
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)
        .unwrap_or_else(|error| panic!("times of {path:?}: {error}"));
}
