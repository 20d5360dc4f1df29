//! Extended attributes that no copy takes along: those that `/etc/xattr.conf` marks `skip`, as cp has it. They are the
//! business of one system or one file system, and elsewhere wrong or not permitted.
//!
//! Must not know: whose attributes they are, what is done with the others.

use std::ffi::CStr;
use std::sync::LazyLock;

use datapump_core::wildcard::{Begins, Wildcard};

const FILE: &str = "/etc/xattr.conf";
/// What the file says where libattr installs it; for systems without it.
const USUAL: &str = "\
trusted.SGI_ACL_DEFAULT skip
trusted.SGI_ACL_FILE skip
trusted.SGI_CAP_FILE skip
trusted.SGI_DMI_* skip
trusted.SGI_MAC_FILE skip
xfsroot.* skip
user.Beagle.* skip
security.evm skip
afs.* skip
";

/// Whether it is left out. Read from the file when the first attribute is met: most copies meet none.
pub fn is_skipped(name: &CStr) -> bool {
    static PATTERNS: LazyLock<Vec<Wildcard>> =
        LazyLock::new(|| patterns(std::fs::read(FILE).as_deref().unwrap_or(USUAL.as_bytes())));
    PATTERNS.iter().any(|pattern| matches(pattern, name))
}

fn matches(pattern: &Wildcard, name: &CStr) -> bool {
    pattern.matches(name.to_bytes().iter().copied(), Begins::AtStart)
}

/// Lines of a pattern and an action: libattr. What cannot be a pattern marks nothing.
fn patterns(file: &[u8]) -> Vec<Wildcard> {
    let lines = file.split(|&byte| byte == b'\n');
    lines.filter_map(marked).filter_map(|pattern| Wildcard::new(&with_slashes(pattern)).ok()).collect()
}

fn marked(line: &[u8]) -> Option<&[u8]> {
    let said = line.split(|&byte| byte == b'#').next()?;
    let mut words = said.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let pattern = words.next()?;
    (words.next() == Some(b"skip")).then_some(pattern)
}

/// In a name that is no path a `*` stands for slashes, too.
fn with_slashes(pattern: &[u8]) -> Vec<u8> {
    let twice = |&byte: &u8| if byte == b'*' { b"**".to_vec() } else { vec![byte] };
    pattern.iter().flat_map(twice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_marked(file: &[u8], name: &CStr) -> bool {
        patterns(file).iter().any(|pattern| matches(pattern, name))
    }

    #[test]
    fn the_patterns_that_are_marked_skip_are_left_out() {
        let file = b"# comment skip\nsystem.nfs4_acl\tpermissions\nuser.a.*  skip # why\n\
                     #user.b skip\nuser.[ skip\r\nuser.c skip";
        for (name, expected) in [
            (c"user.a.x", true),
            (c"user.a.x/y", true),
            (c"user.a", false),
            (c"user.b", false),
            (c"user.c", true),
            (c"user.c2", false),
            (c"system.nfs4_acl", false),
        ] {
            assert_eq!(is_marked(file, name), expected, "{name:?}");
        }
    }

    #[test]
    fn a_system_without_the_file_has_the_usual_list() {
        for (name, expected) in [
            (c"user.Beagle.index", true),
            (c"security.evm", true),
            (c"trusted.SGI_DMI_1", true),
            (c"trusted.note", false),
            (c"user.note", false),
            (c"security.capability", false),
        ] {
            assert_eq!(is_marked(USUAL.as_bytes(), name), expected, "{name:?}");
        }
    }
}
