//! Whether a list or journal of an earlier run may be believed: nobody else can have made it, put it there, or written
//! into it.
//!
//! Must not know: what stands in it, what it is for.

use std::fs::File;

use rustix::io::Errno;
use rustix::process::{getegid, geteuid};

use super::{FileKind, Folder, Meta, file_meta, magic};

const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// `statfs(2)` types of file systems without modes of their own (FAT, exFAT, NTFS): all files have that of the mount.
const WITHOUT_MODES: [u64; 3] = [0x4d44, 0x2011_bab0, 0x7366_746e];

/// Why it is not believed; `None` for one that this user alone can have made.
pub(crate) fn why_not_own(folder: &Folder, list: &Meta) -> Option<&'static str> {
    let Folder::Os(folder) = folder else { return None };
    if list.kind != FileKind::Regular {
        return Some("it is no plain file");
    }
    if list.uid != geteuid().as_raw() {
        return Some("it belongs to another user");
    }
    if list.links != 1 {
        return Some("it has another name");
    }
    if list.mode & 0o777 != 0o600 && !(has_no_modes(folder) && list.mode & 0o022 == 0) {
        return Some("its mode is not 0600");
    }
    (!is_closed(folder)).then_some("others can write to the folder that it lies in")
}

fn has_no_modes(folder: &File) -> bool {
    WITHOUT_MODES.contains(&magic(folder))
}

/// Whether nobody but this user (and root) can put or move a name here. In a sticky folder others may make names, but
/// not touch those of this user.
fn is_closed(folder: &File) -> bool {
    let Ok(meta) = file_meta(folder) else { return false };
    let is_of_other = meta.uid != geteuid().as_raw() && meta.uid != 0;
    match meta.mode {
        mode if mode & STICKY != 0 => true,
        mode if mode & OTHERS_WRITE != 0 || is_of_other => false,
        mode if mode & GROUP_WRITES != 0 => has_no_list(folder) && is_private(meta.gid),
        _ => true,
    }
}

/// Where there is an access control list, the group's bits stand for everybody in it.
fn has_no_list(folder: &File) -> bool {
    let read = rustix::fs::fgetxattr(folder, c"system.posix_acl_access", &mut [0_u8; 0][..]);
    matches!(read, Err(Errno::NODATA | Errno::NOTSUP))
}

/// Whether this user alone is in a group, as where each user gets one of their own.
fn is_private(group: u32) -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    group == getegid().as_raw()
        && has_one_member(group, geteuid().as_raw(), &read("/etc/group"), &read("/etc/passwd"))
}

fn has_one_member(group: u32, user: u32, groups: &str, users: &str) -> bool {
    let number = |field: Option<&&str>| field.and_then(|field| field.parse::<u32>().ok());
    let users: Vec<Vec<&str>> = users.lines().map(|line| line.split(':').collect()).collect();
    let (mut own, others): (Vec<_>, Vec<_>) =
        users.iter().partition(|fields| number(fields.get(2)) == Some(user));
    let Some(name) = own.pop().and_then(|fields| fields.first().copied()) else { return false };
    let is_primary_of_other = others.iter().any(|fields| number(fields.get(3)) == Some(group));
    let mut named = groups.lines().map(|line| line.split(':').collect::<Vec<&str>>());
    let members =
        named.find(|fields| number(fields.get(2)) == Some(group)).and_then(|fields| fields.get(3).copied());
    let is_alone = |members: &str| members.split(',').all(|member| member.is_empty() || member == name);
    !is_primary_of_other && members.is_some_and(is_alone)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::sync::Arc;

    use super::*;

    const USERS: &str =
        "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:1001::/:/bin/sh\n";

    #[test]
    fn a_group_is_private_if_one_user_is_in_it() {
        let other = format!("{USERS}eve:x:1002:1000::/:/bin/sh\n");
        for (groups, users, expected) in [
            ("ann:x:1000:\n", USERS, true),
            ("ann:x:1000:ann\n", USERS, true),
            ("ann:x:1000:bob\n", USERS, false),
            ("ann:x:1000:ann,bob\n", USERS, false),
            ("ann:x:1000:\n", other.as_str(), false),
            ("bob:x:1001:\n", USERS, false),
            ("", USERS, false),
            ("ann:x:1000:\n", "", false),
        ] {
            assert_eq!(has_one_member(1000, 1000, groups, users), expected, "{groups:?} {users:?}");
        }
    }

    #[test]
    fn what_others_may_have_made_is_not_believed() {
        let home = tempfile::tempdir().expect("room");
        let path = home.path().join("list");
        std::fs::write(&path, b"").expect("room");
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
        };
        let why = || {
            let folder = File::open(home.path()).expect("it is there");
            let meta = file_meta(&File::open(&path).expect("it is there")).expect("it is open");
            why_not_own(&Folder::Os(Arc::new(folder)), &meta)
        };
        for (folder, list, expected) in [
            (0o700, 0o600, None),
            (0o755, 0o600, None),
            (0o1777, 0o600, None),
            (0o755, 0o644, Some("its mode is not 0600")),
            (0o755, 0o660, Some("its mode is not 0600")),
            (0o777, 0o600, Some("others can write to the folder that it lies in")),
        ] {
            set(&path, list);
            set(home.path(), folder);
            assert_eq!(why(), expected, "{folder:o} {list:o}");
        }
        set(home.path(), 0o755);
        std::fs::hard_link(&path, home.path().join("other")).expect("one file system");
        assert_eq!(why(), Some("it has another name"));
    }
}
