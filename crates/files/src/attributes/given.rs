//! Attributes that the user gives to copies in place of the source's: permissions, owner, group.
//!
//! Must not know: how attributes are set, who asked.

use std::ffi::CString;

use datapump_engine::os::linux::{group_id, user_id};
use rustix::process::{getegid, geteuid, getgroups};
use serde::{Deserialize, Serialize};

use crate::attributes::permissions::{Permissions, SET_ID_BITS};
use crate::disk::{FileKind, Meta};

/// Permissions, and numbers of this host, that copies get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Permissions.
    pub permissions: Option<Permissions>,
    /// The owner.
    pub user: Option<u32>,
    /// The group.
    pub group: Option<u32>,
}

impl Given {
    /// Everything is the source's.
    pub const NOTHING: Given = Given { permissions: None, user: None, group: None };

    /// What a copy gets of a file that is so.
    ///
    /// A program that runs as its owner must not come to run as somebody else, unless that is what was asked.
    pub fn of(&self, meta: &Meta) -> Meta {
        let (uid, gid) = (self.user.unwrap_or(meta.uid), self.group.unwrap_or(meta.gid));
        let is_others = (uid, gid) != (meta.uid, meta.gid) && meta.kind == FileKind::Regular;
        let mode = if is_others { meta.mode & !SET_ID_BITS } else { meta.mode };
        let mode = self.permissions.map_or(mode, |permissions| permissions.of(mode, meta.kind));
        Meta { mode, uid, gid, ..*meta }
    }
}

/// An owner and a group by name or number, as chown(1) takes them. What they are is known where the copy is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ownership {
    /// The owner.
    pub user: Option<String>,
    /// The group.
    pub group: Option<String>,
}

impl Ownership {
    /// Reads `USER`, `USER:GROUP` or `:GROUP`.
    pub fn parse(words: &str) -> Result<Ownership, String> {
        let named = |name: &str| (!name.is_empty()).then(|| name.to_string());
        let (user, group) = words.split_once(':').map_or((words, None), |(user, group)| (user, Some(group)));
        match group {
            Some("") => {
                Err(format!("'{words}' names no group after the colon: write USER, USER:GROUP or :GROUP"))
            }
            None if user.is_empty() => Err("nobody is named: write USER, USER:GROUP or :GROUP".into()),
            _ => Ok(Ownership { user: named(user), group: group.and_then(named) }),
        }
    }

    /// The numbers of both on this host.
    ///
    /// Errors: a name is unknown here, or this user may not give files to them: chown(2).
    pub fn numbers(&self) -> Result<(Option<u32>, Option<u32>), String> {
        let user = self.user.as_deref().map(|name| number("user", name, user_id)).transpose()?;
        let group = self.group.as_deref().map(|name| number("group", name, group_id)).transpose()?;
        if geteuid().is_root() {
            return Ok((user, group));
        }
        if let (Some(name), Some(_)) = (&self.user, user.filter(|user| *user != geteuid().as_raw())) {
            return Err(format!(
                "only root may give files to '{name}': name the group alone, or run as root"
            ));
        }
        let is_member = |group: u32| {
            let mut groups = getgroups().unwrap_or_default().into_iter().chain([getegid()]);
            groups.any(|own| own.as_raw() == group)
        };
        match (&self.group, group.filter(|group| !is_member(*group))) {
            (Some(name), Some(_)) => {
                Err(format!("only root, or a member of the group '{name}', may give files to it"))
            }
            _ => Ok((user, group)),
        }
    }
}

/// A name goes before a number, as with chown(1).
fn number(what: &str, name: &str, look_up: impl Fn(&std::ffi::CStr) -> Option<u32>) -> Result<u32, String> {
    let found = CString::new(name).ok().and_then(|name| look_up(&name));
    // The last number means "no change" to chown(2).
    let number = || name.parse().ok().filter(|number| *number != u32::MAX);
    found.or_else(number).ok_or_else(|| format!("there is no {what} '{name}' on this host"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_read_as_chown_reads_them() {
        let some = |word: &str| Some(word.to_string());
        for (words, user, group) in [
            ("alice", some("alice"), None),
            ("alice:users", some("alice"), some("users")),
            (":users", None, some("users")),
            ("0:0", some("0"), some("0")),
        ] {
            assert_eq!(Ownership::parse(words), Ok(Ownership { user, group }), "{words}");
        }
        for words in ["", ":", "alice:"] {
            assert!(Ownership::parse(words).unwrap_err().contains("USER:GROUP"), "{words}");
        }
    }

    #[test]
    fn names_go_before_numbers_and_the_unknown_is_refused() {
        let numbers = |words: &str| Ownership::parse(words).unwrap().numbers();
        if geteuid().is_root() {
            assert_eq!(numbers("root:root"), Ok((Some(0), Some(0))));
            assert_eq!(numbers("12345:4321"), Ok((Some(12345), Some(4321))));
            assert_eq!(numbers(":7"), Ok((None, Some(7))));
        } else {
            assert!(numbers("root").unwrap_err().contains("only root"));
        }
        for words in ["no such user", "4294967295", ":no such group", "a\0b"] {
            assert!(numbers(words).unwrap_err().contains("on this host"), "{words:?}");
        }
    }

    #[test]
    fn a_program_of_another_owner_does_not_run_as_that_one() {
        let program = Meta { kind: FileKind::Regular, mode: 0o6755, uid: 1, gid: 2, ..Meta::nothing() };
        let given = |user, group, words: Option<&str>| Given {
            user,
            group,
            permissions: words.map(|words| Permissions::parse(words, 0).unwrap()),
        };
        for (given, mode, uid, gid) in [
            (Given::NOTHING, 0o6755, 1, 2),
            (given(Some(1), Some(2), None), 0o6755, 1, 2),
            (given(Some(9), None, None), 0o755, 9, 2),
            (given(None, Some(9), None), 0o755, 1, 9),
            (given(Some(9), None, Some("u+s")), 0o4755, 9, 2),
        ] {
            let copy = given.of(&program);
            assert_eq!((copy.mode, copy.uid, copy.gid), (mode, uid, gid), "{given:?}");
        }
    }
}
