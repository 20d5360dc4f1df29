//! Sets the owner and group of a file, or the group alone, and reports what was not accepted.
//!
//! Must not know: modes, times, whose owner it is to be.

use std::sync::{Mutex, PoisonError};

use datapump_engine::Errno;
use datapump_engine::os::linux::group_name;
use rustix::process::{getegid, getgroups};

use crate::attributes::loss::{Limit, Loss, Lost, is_root};
use crate::disk::{AttributeHolder, Meta};
use crate::problem::{AttributeKind, shown, system_words};

/// Sets owner and group, enters what was lost, and gives those that the file system shows then, whatever it answered.
pub fn set(
    owners: &Meta,
    before: &Meta,
    to: AttributeHolder<'_>,
    is_asked: bool,
    lost: &mut Lost,
) -> (u32, u32) {
    let refused = to.set_owner(Some(owners.uid), owners.gid).err().map(|errno| {
        // The group alone may be permitted: its members may give files to it.
        let is_other = owners.uid != before.uid && owners.gid != before.gid;
        let group = if is_other { to.set_owner(None, owners.gid) } else { Err(errno) };
        (errno, group.err().unwrap_or(errno))
    });
    let now = to.meta().unwrap_or(*before);
    let loss = loss(owners, &now, refused, is_member(owners.gid));
    lost.extend(loss.map(|loss| loss.if_asked(is_asked)));
    (now.uid, now.gid)
}

/// The loss to tell. Only root gives files away; anybody may give their own to the groups that they are in.
fn loss(owners: &Meta, now: &Meta, refused: Option<(Errno, Errno)>, is_member: bool) -> Option<Loss> {
    let (other_user, other_group) = (now.uid != owners.uid, now.gid != owners.gid);
    let (by_root, owners_own) = (is_root(), now.uid == rustix::process::geteuid().as_raw());
    let is_groups = other_group && (by_root || (is_member && owners_own));
    match refused {
        _ if !other_user && !other_group => None,
        Some((errno, _)) if !by_root && !is_groups => {
            let words = "owner: not permitted; the copy belongs to this user";
            Some(Loss::new(AttributeKind::Owner, Limit::Silent, errno, words))
        }
        Some((errno, _)) if by_root && other_user => {
            let why = why_refused(errno);
            let words =
                format!("owner {}:{}: {why}; it is {}:{} now", owners.uid, owners.gid, now.uid, now.gid);
            Some(Loss::new(AttributeKind::Owner, Limit::Lost, errno, words))
        }
        Some((_, errno)) => {
            let (group, has) = (group_words(owners.gid), group_words(now.gid));
            let words = format!("group {group}: {}; it has the group {has}", why_refused(errno));
            Some(Loss::new(AttributeKind::Owner, Limit::Lost, errno, words))
        }
        None => Some(changed(owners, now)),
    }
}

/// A number that a user namespace does not have is invalid to chown(2), one that an idmapped mount does not have too large.
fn why_refused(errno: Errno) -> String {
    let unmapped = "; this user namespace, or this mount, has no such number (a container)";
    let more = if [Errno::EINVAL, Errno::EOVERFLOW].contains(&errno) { unmapped } else { "" };
    system_words(errno.0) + more
}

/// It was set, and another one is shown.
fn changed(owners: &Meta, now: &Meta) -> Loss {
    let words = format!(
        "owner {}:{}: this file system took it and shows {}:{}",
        owners.uid, owners.gid, now.uid, now.gid
    );
    Loss::changed(AttributeKind::Owner, words)
}

fn is_member(group: u32) -> bool {
    let mut groups = getgroups().unwrap_or_default().into_iter().chain([getegid()]);
    groups.any(|own| own.as_raw() == group)
}

/// `100 (users)`. A tree has few groups, and the last one is mostly the next.
fn group_words(group: u32) -> String {
    static LAST: Mutex<Option<(u32, String)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match &*last {
        Some((known, words)) if *known == group => words.clone(),
        _ => {
            let name = group_name(group).map_or(String::new(), |name| format!(" ({})", shown(&name)));
            last.insert((group, format!("{group}{name}"))).1.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(uid: u32, gid: u32) -> Meta {
        Meta { uid, gid, ..Meta::nothing() }
    }

    /// The loss of a file that was to belong to 5:7.
    fn told(now: (u32, u32), refused: Option<(i32, i32)>, is_member: bool) -> Option<(Limit, String)> {
        let refused = refused.map(|(user, group)| (Errno(user), Errno(group)));
        loss(&owned(5, 7), &owned(now.0, now.1), refused, is_member).map(|loss| (loss.limit, loss.words))
    }

    #[test]
    fn what_a_file_did_not_take_is_told_by_what_it_shows() {
        const EPERM: i32 = 1;
        const EDQUOT: i32 = 122;
        let me = rustix::process::geteuid().as_raw();
        assert_eq!(told((5, 7), None, true), None);
        assert_eq!(told((5, 7), Some((EPERM, EPERM)), true), None, "refused, and it is right all the same");
        let (limit, words) = told((0, 0), None, false).expect("taken and not kept");
        assert!(limit == Limit::Lost && words.contains("took it and shows 0:0"), "{words}");
        if is_root() {
            let (limit, words) = told((0, 0), Some((EPERM, EPERM)), false).expect("root may");
            assert!(limit == Limit::Lost && words.contains("owner 5:7: Operation not permitted"), "{words}");
            for Errno(errno) in [Errno::EINVAL, Errno::EOVERFLOW] {
                let (_, words) = told((0, 0), Some((errno, errno)), false).expect("root may");
                assert!(words.contains("or this mount, has no such number"), "{words}");
            }
        } else {
            let (limit, _) = told((me, 7), Some((EPERM, EPERM)), true).expect("nobody may");
            assert_eq!(limit, Limit::Silent, "the group is right");
            let (limit, words) = told((me, 9), Some((EPERM, EDQUOT)), true).expect("a member may");
            assert!(limit == Limit::Lost && words.starts_with("group 7"), "{words}");
            let (limit, _) = told((me, 9), Some((EPERM, EPERM)), false).expect("others may not");
            assert_eq!(limit, Limit::Silent);
        }
    }
}
