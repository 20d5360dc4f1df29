//! The mounts that a process sees, as /proc/PID/mountinfo lists them: proc_pid_mountinfo(5). The one place that reads it.
//!
//! Must not know: which mount is looked for.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountEntry {
    /// The number of the mount, as statx(2) and `fdinfo` have it.
    pub number: String,
    /// The device number of its files, as in `8:1`.
    pub device: String,
    /// The folder of the file system that is mounted.
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Options of this mount.
    pub options: String,
    /// Type of the file system.
    pub file_system: String,
    /// The device or server behind it.
    pub source: PathBuf,
    /// Options of the file system.
    pub file_system_options: String,
}

impl MountEntry {
    /// The mounts that a process sees: its number, or `self`. None where /proc is not mounted.
    pub fn list(process: &str) -> Vec<MountEntry> {
        MountEntry::parse(&std::fs::read(format!("/proc/{process}/mountinfo")).unwrap_or_default())
    }

    /// Those of a text; lines that are not understood are skipped.
    pub fn parse(mountinfo: &[u8]) -> Vec<MountEntry> {
        mountinfo.split(|&byte| byte == b'\n').filter_map(parse_line).collect()
    }
}

/// `36 35 98:0 /root /mount/point rw,noatime master:1 - ext4 /dev/sda1 rw,discard`
fn parse_line(line: &[u8]) -> Option<MountEntry> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let dash = fields.iter().position(|field| *field == b"-")?;
    let text = |at: usize| fields.get(at).map(|field| String::from_utf8_lossy(field).into_owned());
    let path = |at: usize| fields.get(at).map(|field| PathBuf::from(OsString::from_vec(unescaped(field))));
    Some(MountEntry {
        number: text(0)?,
        device: text(2)?,
        root: path(3)?,
        point: path(4)?,
        options: text(5)?,
        file_system: text(dash + 1)?,
        source: path(dash + 2)?,
        file_system_options: text(dash + 3)?,
    })
}

/// Blanks and the like are a backslash and three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(field.len()), field);
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| first == b'\\').and_then(|digits| u8::from_str_radix(digits, 8).ok());
        out.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &behind[3..] } else { behind };
    }
    out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn lines_are_read_with_and_without_optional_fields() {
        let mounts = MountEntry::parse(
            b"22 1 254:0 / / rw,relatime - ext4 /dev/root rw,discard\nnonsense\n\
              41 22 8:1 /c\\040d /mnt/a\\040b\\134c rw,noatime shared:1 master:2 - fuse.x /dev/x\\040y rw,user_id=7\n",
        );
        let [first, second] = &mounts[..] else { panic!("{mounts:?}") };
        let found = (&*first.number, &*first.device, &*first.options, &*first.file_system_options);
        assert_eq!(found, ("22", "254:0", "rw,relatime", "rw,discard"));
        assert_eq!(&*second.root, Path::new("/c d"));
        assert_eq!((&*second.point, &*second.source), (Path::new("/mnt/a b\\c"), Path::new("/dev/x y")));
        assert_eq!((&*second.file_system, &*second.file_system_options), ("fuse.x", "rw,user_id=7"));
        assert!(MountEntry::list("self").iter().any(|mount| mount.file_system == "proc"));
        assert_eq!(unescaped(b"\\c\\"), b"\\c\\");
    }
}
