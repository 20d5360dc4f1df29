//! Why something finds no room: which limit that is, of all those that share one error number.
//!
//! Must not know: what the room is for, who reads the words.

use std::fs::File;
use std::path::Path;

use datapump_core::units::{bytes_words, with_commas};
use datapump_engine::os::linux::file_size_limit;
use datapump_engine::{Errno, Handle};

use crate::disk::{self, FileCalls, Folder, Room, kind};
use crate::problem::{Class, Operation, Problem, class_of, is_quota};

/// With less than this free it is the room for data that lacks, whatever else does.
const PLENTY_BYTES: u64 = 1 << 20;

/// What a file system says about itself by a folder and by a file in it. Asked for before a reservation: one that fails
/// may have taken all there was.
#[derive(Clone, Copy, Debug)]
pub struct Rooms {
    folder: Room,
    file: Room,
}

impl Rooms {
    /// Those of an open file and its folder.
    pub fn measured(folder: &Folder, file: &Handle) -> Rooms {
        Rooms { folder: folder.room(), file: file.room() }
    }

    /// Those of a folder, where no reservation fails: a file in it lies on the same file system.
    pub fn of_folder(folder: &Folder) -> Rooms {
        let room = folder.room();
        Rooms { folder: room, file: room }
    }

    /// Those of a file whose folder is not known.
    pub fn of_file(file: &Handle) -> Rooms {
        let room = file.room();
        Rooms { folder: room, file: room }
    }

    /// Bytes that are free, also by the quota of a project that the folder has. `None` where no size is reported.
    pub fn free_bytes(&self) -> Option<u64> {
        (self.folder.total_bytes > 0).then_some(self.folder.free_bytes)
    }

    /// A problem that the system reported, with the limit that it met, if it met one. `needed`: the length of the file.
    pub fn explain(&self, problem: Problem, needed: Option<u64>) -> Problem {
        match problem.cause.filter(|errno| class_of(*errno) == Class::NoSpace) {
            None => problem,
            Some(errno) => {
                let message = format!("{}; {}", problem.message, self.why(errno, needed, file_size_limit()));
                Problem { message, ..problem }
            }
        }
    }

    /// Refuses a file that is longer than one may be here. Where room is reserved the system does so itself.
    pub fn check_length(&self, path: &Path, bytes: u64) -> Result<(), Problem> {
        let most = [file_size_limit(), kind::file_bytes_max(self.file.magic)].into_iter().flatten().min();
        match most {
            Some(most) if bytes > most => {
                let problem = Problem::system(Operation::Reserve, path, Errno::EFBIG.0).at(0);
                Err(self.explain(problem, Some(bytes)))
            }
            _ => Ok(()),
        }
    }

    /// Says the resource that is used up, and what the user can do.
    fn why(&self, errno: i32, needed: Option<u64>, limit: Option<u64>) -> String {
        let room = &self.folder;
        let words = room_words(needed, room.free_bytes);
        let has_plenty = room.free_bytes >= needed.unwrap_or(0).max(PLENTY_BYTES);
        if is_quota(errno) {
            "the quota that a user, a group, a project or a subvolume has there is used up, \
                 in bytes or in inodes; free some of it, or raise it"
                .into()
        } else if errno == Errno::EFBIG.0 {
            too_long(needed, limit, self.file.magic)
        } else if kind::has_projects(room.magic) && room.total_bytes != self.file.total_bytes {
            format!("the quota of the project that the folder belongs to is used up: {words}")
        } else if has_plenty && room.has_no_inodes() {
            let inodes = with_commas(room.inodes);
            format!("all {inodes} inodes of the file system are used (df -i); remove files there")
        } else if has_plenty {
            let what = if kind::is_btrfs(room.magic) {
                "its metadata have no room (btrfs filesystem usage)"
            } else {
                "something else has none: its metadata, the index of the folder, a quota"
            };
            format!("{words}, which is enough: {what}")
        } else {
            words
        }
    }
}

/// A problem with a name in a folder.
pub fn of_name_in(operation: Operation, path: &Path, errno: Errno, folder: &Folder) -> Problem {
    match folder {
        Folder::Os(folder) => of_name(operation, path, errno, folder),
        Folder::Sim(_) => Problem::system(operation, path, errno.0),
    }
}

/// A problem with a name in an open folder, with the limit that it met, if it met one.
pub fn of_name(operation: Operation, path: &Path, errno: Errno, folder: &File) -> Problem {
    let problem = Problem::system(operation, path, errno.0);
    match class_of(errno.0) {
        Class::NoSpace => {
            let room = disk::room(folder);
            Rooms { folder: room, file: room }.explain(problem, None)
        }
        _ => problem,
    }
}

/// Which limit a file is too long for.
fn too_long(needed: Option<u64>, limit: Option<u64>, magic: u64) -> String {
    let length = needed
        .map_or(String::new(), |bytes| format!("the file has {bytes} bytes ({}), ", bytes_words(bytes)));
    let is_limits = |most: &u64| needed.is_none_or(|needed| needed > *most);
    let name = kind::name(magic).unwrap_or("this file system");
    match (limit.filter(is_limits), kind::file_bytes_max(magic)) {
        (Some(limit), _) => {
            let most = format!("{limit} bytes ({})", bytes_words(limit));
            format!(
                "{length}the limit of this process (ulimit -f) is {most}; raise it there, and run the copy again"
            )
        }
        (None, Some(most)) => {
            let most = format!("{most} bytes ({})", bytes_words(most));
            format!("{length}{name} takes files of at most {most}; choose another file system")
        }
        (None, None) => format!("{length}{name} takes no file of that length; choose another file system"),
    }
}

/// `1.0 GiB are needed, 200.0 MiB are free`, with the exact bytes; `None` or 0 while nobody knows how many are needed.
pub fn room_words(needed: Option<u64>, free: u64) -> String {
    let free = format!("{free} bytes ({}) are free", bytes_words(free));
    match needed {
        Some(needed) if needed > 0 => format!("{needed} bytes ({}) are needed, {free}", bytes_words(needed)),
        _ => free,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXT4: u64 = 0xef53;
    const VFAT: u64 = 0x4d44;
    const BTRFS: u64 = 0x9123_683e;

    fn room(magic: u64, free_bytes: u64, free_inodes: u64) -> Room {
        let inodes = if magic == EXT4 { 1000 } else { 0 };
        Room { free_bytes, total_bytes: 1 << 40, free_inodes, inodes, magic }
    }

    #[test]
    fn each_limit_is_named_as_what_it_is() {
        const EDQUOT: i32 = 122;
        const ENOSPC: i32 = Errno::ENOSPC.0;
        let gib = 1 << 30;
        let full = room(EXT4, 4096, 10);
        let of_project = Room { total_bytes: gib, ..full };
        for (rooms, errno, needed, limit, words) in [
            (
                room(EXT4, gib, 10),
                EDQUOT,
                Some(9),
                None,
                "the quota that a user, a group, a project or a subvolume",
            ),
            (
                full,
                ENOSPC,
                Some(9000),
                None,
                "9000 bytes (8.8 KiB) are needed, 4096 bytes (4.0 KiB) are free",
            ),
            (room(EXT4, gib, 0), ENOSPC, None, None, "all 1,000 inodes of the file system are used (df -i)"),
            (room(EXT4, 4096, 0), ENOSPC, None, None, "4096 bytes (4.0 KiB) are free"),
            (
                room(EXT4, gib, 10),
                ENOSPC,
                Some(9),
                None,
                "are free, which is enough: something else has none",
            ),
            (room(BTRFS, gib, 0), ENOSPC, Some(9), None, "which is enough: its metadata have no room (btrfs"),
            (
                room(EXT4, gib, 10),
                Errno::EFBIG.0,
                Some(9),
                Some(8),
                "the limit of this process (ulimit -f) is 8 bytes",
            ),
            (
                room(VFAT, gib, 0),
                Errno::EFBIG.0,
                Some(5 * gib),
                None,
                "vfat takes files of at most 4294967295 bytes",
            ),
            (room(EXT4, gib, 10), Errno::EFBIG.0, Some(9), Some(99), "ext4 takes no file of that length"),
        ] {
            let why = Rooms { folder: rooms, file: rooms }.why(errno, needed, limit);
            assert!(why.contains(words), "{why}");
        }
        let why = Rooms { folder: of_project, file: full }.why(ENOSPC, Some(9000), None);
        assert!(
            why.starts_with("the quota of the project that the folder belongs to is used up: 9000 bytes"),
            "{why}"
        );
    }
}
