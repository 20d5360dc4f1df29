//! Decides whether a list or journal of an earlier run is trusted: nobody else can have made it, put it there, or
//! written into it.
//!
//! Modes say who may write where the file system keeps them. Where all files show one owner and mode, whatever chmod
//! says (FAT, ntfs-3g), what they show is what the mount grants to everybody: it is taken at its word, but for the mode
//! 0600, which no file can have there. Of FUSE only the mount's options tell whether modes are looked at at all.
//!
//! Must not know: what stands in it, what it is for.

use std::fs::File;

use rustix::io::Errno;
use rustix::process::{getegid, geteuid};

use super::{FileKind, Folder, Meta, MountEntry, file_meta, magic};

const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// `statfs(2)` types of file systems without modes of their own (FAT, exFAT, NTFS): all files have that of the mount.
const WITHOUT_MODES: [u64; 3] = [0x4d44, 0x2011_bab0, 0x7366_746e];
const FUSE: u64 = 0x6573_5546;

/// Why it is not believed; `None` for one that this user alone can have made.
pub fn why_not_own(folder: &Folder, list: &Meta) -> Option<&'static str> {
    let Folder::Os(open) = folder else { return None };
    if let Some(why) = why_foreign(folder, list) {
        return Some(why);
    }
    let guard = guard(open);
    let is_closed = match guard {
        FolderGuard::Modes => list.mode & 0o777 == 0o600,
        FolderGuard::OneMode => list.mode & 0o022 == 0,
        FolderGuard::Mount | FolderGuard::Nothing => true,
    };
    if !is_closed && guard == FolderGuard::Modes {
        return Some("its mode is not 0600");
    }
    if !is_closed {
        return Some("others can write to all files of this mount");
    }
    (!is_closed_by(guard, open)).then_some("others can write to this folder")
}

/// Why it is not this user's at all, and is never written to. Others may still have put the user's own file there.
pub fn why_foreign(folder: &Folder, list: &Meta) -> Option<&'static str> {
    let Folder::Os(_) = folder else { return None };
    match list {
        list if list.kind != FileKind::Regular => Some("it is no plain file"),
        list if list.uid != geteuid().as_raw() => Some("it belongs to another user"),
        list if list.links != 1 => Some("it has another name"),
        _ => None,
    }
}

/// Whether nobody but this user (and root) can put or move a name here. A sticky folder keeps others from the names of this
/// user, not from moving a file of this user into it, of which they chose the content: one that was given up in a folder
/// of theirs.
pub fn is_closed(folder: &File) -> bool {
    is_closed_by(guard(folder), folder)
}

/// What keeps others out of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FolderGuard {
    /// Owner and mode.
    Modes,
    /// The same, but one mode for all files.
    OneMode,
    /// The mount lets in this user alone.
    Mount,
    Nothing,
}

fn guard(folder: &File) -> FolderGuard {
    match magic(folder) {
        magic if WITHOUT_MODES.contains(&magic) => FolderGuard::OneMode,
        FUSE => guard_of_fuse(folder),
        _ => FolderGuard::Modes,
    }
}

fn guard_of_fuse(folder: &File) -> FolderGuard {
    let device = file_meta(folder).map_or(0, |meta| meta.device);
    let device = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    guard_by_options(&MountEntry::list("self"), &device, geteuid().as_raw())
}

/// What a FUSE mount's options say: without `allow_other` nobody but who mounted it gets in; with it the kernel looks
/// at modes by `default_permissions` alone. virtiofs tells none of them, and always does.
fn guard_by_options(mounts: &[MountEntry], device: &str, user: u32) -> FolderGuard {
    let found = mounts.iter().find(|mount| mount.device == device);
    let Some(mount) = found else { return FolderGuard::Nothing };
    let options: Vec<&str> = mount.file_system_options.split(',').collect();
    let mounted_by = options.iter().find_map(|option| option.strip_prefix("user_id="));
    match mounted_by {
        None => FolderGuard::Modes,
        Some(_) if options.contains(&"allow_other") => {
            if options.contains(&"default_permissions") {
                FolderGuard::OneMode
            } else {
                FolderGuard::Nothing
            }
        }
        Some(by) if by.parse() == Ok(user) => FolderGuard::Mount,
        Some(_) => FolderGuard::Nothing,
    }
}

fn is_closed_by(guard: FolderGuard, folder: &File) -> bool {
    match guard {
        FolderGuard::Mount => true,
        FolderGuard::Nothing => false,
        FolderGuard::Modes | FolderGuard::OneMode => {
            file_meta(folder).is_ok_and(|meta| is_closed_by_mode(folder, &meta))
        }
    }
}

fn is_closed_by_mode(folder: &File, meta: &Meta) -> bool {
    let is_of_other = meta.uid != geteuid().as_raw() && meta.uid != 0;
    match meta.mode {
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

/// Whether this user alone is in a group, as where each user gets one of their own. What these files do not tell (users
/// and groups of a directory service) is nobody's own.
fn is_private(group: u32) -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    group == getegid().as_raw()
        && is_own_group(group, geteuid().as_raw(), &read("/etc/group"), &read("/etc/passwd"))
}

/// The user's primary group, of the user's name, of which nobody else is known to be a member.
fn is_own_group(group: u32, user: u32, groups: &str, users: &str) -> bool {
    let number = |field: Option<&&str>| field.and_then(|field| field.parse::<u32>().ok());
    let is = |fields: &Vec<&str>, at: usize, id: u32| number(fields.get(at)) == Some(id);
    let (users, groups) = (fields(users), fields(groups));
    let mut of_group = groups.iter().filter(|fields| is(fields, 2, group));
    let (own, others): (Vec<_>, Vec<_>) = users.iter().partition(|fields| is(fields, 2, user));
    let (&[own], Some(found), None) = (&own[..], of_group.next(), of_group.next()) else { return false };
    let is_alone = |members: &&str| members.split(',').all(|member| member.is_empty() || member == own[0]);
    own[0] == found[0]
        && is(own, 3, group)
        && found.get(3).is_some_and(is_alone)
        && !others.iter().any(|fields| is(fields, 3, group))
}

fn fields(lines: &str) -> Vec<Vec<&str>> {
    lines.lines().map(|line| line.split(':').collect()).collect()
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
        let (elsewhere, twice) =
            (USERS.replace("1000:1000", "1000:7"), format!("{USERS}too:x:1000:1000::/:\n"));
        for (groups, users, expected) in [
            ("ann:x:1000:\n", elsewhere.as_str(), false),
            ("ann:x:1000:\n", twice.as_str(), false),
            ("staff:x:1000:\n", USERS, false),
            ("ann:x:1000:\nstaff:x:1000:bob\n", USERS, false),
            ("ann:x:1000\n", USERS, false),
            ("ann:x:1000:\n", USERS, true),
            ("ann:x:1000:ann\n", USERS, true),
            ("ann:x:1000:bob\n", USERS, false),
            ("ann:x:1000:ann,bob\n", USERS, false),
            ("ann:x:1000:\n", other.as_str(), false),
            ("bob:x:1001:\n", USERS, false),
            ("", USERS, false),
            ("ann:x:1000:\n", "", false),
        ] {
            assert_eq!(is_own_group(1000, 1000, groups, users), expected, "{groups:?} {users:?}");
        }
    }

    #[test]
    fn of_fuse_the_mounts_options_tell_who_is_let_in() {
        let line = |options: &str| {
            let line = format!("35 24 0:31 / /mnt rw,nosuid shared:7 - fuse.x x rw,{options}\n");
            MountEntry::parse(line.as_bytes())
        };
        for (options, guard) in [
            ("user_id=1000,group_id=0", FolderGuard::Mount),
            ("user_id=7,group_id=0", FolderGuard::Nothing),
            ("user_id=1000,group_id=0,allow_other", FolderGuard::Nothing),
            ("user_id=0,group_id=0,default_permissions,allow_other,blksize=4096", FolderGuard::OneMode),
            ("dax", FolderGuard::Modes),
        ] {
            assert_eq!(guard_by_options(&line(options), "0:31", 1000), guard, "{options}");
            assert_eq!(guard_by_options(&line(options), "0:32", 1000), FolderGuard::Nothing, "{options}");
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
            (0o1777, 0o600, Some("others can write to this folder")),
            (0o755, 0o644, Some("its mode is not 0600")),
            (0o755, 0o660, Some("its mode is not 0600")),
            (0o777, 0o600, Some("others can write to this folder")),
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
