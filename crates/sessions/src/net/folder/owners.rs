//! Users and groups between two hosts: the side that reads tells their names, and the side that writes takes its own
//! numbers of the same names, as rsync does. Numbers without a name on both sides stay, and so does root.
//!
//! A name is told on a connection with the first answer in which its number stands, so that it is known when the number
//! is read; nobody waits for it.
//!
//! Must not know: which answer means what, whether owners are kept.

use crate::problem::Operation;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datapump_core::wire::WireError;
use datapump_core::wire::attributes::{Attribute, OwnerName, WireMeta, is_owner_name};
use datapump_core::wire::bounds::OwnerId;
use datapump_core::wire::peer_request::Answer;
use datapump_engine::Errno;
use datapump_engine::os::linux::{group_id, group_name, user_id, user_name};
use datapump_transport::NetFault;

use crate::net::folder::convert::{Tell, fault};
use crate::setup::budget::{Charge, Share};
use datapump_files::attributes::acl;

/// Names that are told with one answer take at most so much of its message.
const NAMES_BYTES_MAX: usize = 192 << 10;
/// What one takes besides its letters.
const NAME_BYTES: usize = 16;
/// Owners that are remembered, and as told: behind that they are looked up, and told, again. Charged to nobody: what one
/// session has of them is a part of what each may hold besides.
const TOLD_MAX: usize = 4 << 10;
/// Letters of the names that are remembered.
const OWN_NAMES_BYTES_MAX: usize = 256 << 10;
/// Owners that one session may name.
const KNOWN_MAX: usize = 1 << 18;
/// What one takes in a map.
const KNOWN_BYTES: usize = 32;
const ROOT: u32 = 0;
const E2BIG: Errno = Errno(7);

/// A user, or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Owner {
    is_group: bool,
    id: u32,
}

/// What owners are called here: the last ones are remembered.
#[derive(Debug, Default)]
pub(crate) struct OwnNames(Mutex<RememberedNames>);

#[derive(Debug, Default)]
struct RememberedNames {
    names: HashMap<Owner, Option<Vec<u8>>>,
    letters: usize,
}

impl OwnNames {
    fn of(&self, owner: Owner) -> Option<Vec<u8>> {
        locked(&self.0).get_or_look_up(owner, looked_up)
    }
}

impl RememberedNames {
    /// The name of an owner: remembered, or looked up and remembered. A full memory is emptied first.
    fn get_or_look_up(
        &mut self,
        owner: Owner,
        look_up: impl FnOnce(Owner) -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        if let Some(name) = self.names.get(&owner) {
            return name.clone();
        }
        let name = look_up(owner).filter(|name| is_owner_name(name));
        if self.names.len() >= TOLD_MAX || self.letters >= OWN_NAMES_BYTES_MAX {
            *self = RememberedNames::default();
        }
        self.letters += name.as_ref().map_or(0, Vec::len);
        self.names.insert(owner, name.clone());
        name
    }
}

fn looked_up(owner: Owner) -> Option<Vec<u8>> {
    if owner.is_group { group_name(owner.id) } else { user_name(owner.id) }
}

/// What was told on one connection.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    sent: HashSet<Owner>,
}

impl Telling {
    /// Sends an answer, with the names of its owners that were not sent before.
    pub(crate) fn send_with_names(
        &mut self,
        mut answer: Answer,
        names: &OwnNames,
        tell: Tell<'_>,
    ) -> Result<(), NetFault> {
        let news = self.unsent_owners(&mut answer);
        let called = |owner: &Owner| {
            names.of(*owner).map(|name| OwnerName {
                is_group: owner.is_group,
                id: OwnerId(owner.id),
                name: name.into(),
            })
        };
        let called: Vec<OwnerName> = news.iter().filter_map(called).collect();
        if called.iter().map(|owner| owner.name.len() + NAME_BYTES).sum::<usize>() > NAMES_BYTES_MAX {
            return self.send_in_parts(answer, names, tell);
        }
        if self.sent.len() > TOLD_MAX {
            self.sent.clear();
        }
        self.sent.extend(news);
        if let Some(owners) = owners_of(&mut answer).filter(|_| !called.is_empty()) {
            *owners = Some(called);
        }
        tell(answer)
    }

    /// The owners in an answer whose names were not sent before.
    fn unsent_owners(&self, answer: &mut Answer) -> HashSet<Owner> {
        let mut news = HashSet::new();
        each_owner(answer, &mut |owner| {
            if owner.id != ROOT && !self.sent.contains(&owner) {
                news.insert(owner);
            }
            owner.id
        });
        news
    }

    /// Sends an answer in two halves, since its names do not fit in one message. Only a listing can have as many.
    fn send_in_parts(&mut self, answer: Answer, names: &OwnNames, tell: Tell<'_>) -> Result<(), NetFault> {
        match answer {
            Answer::Names { mut entries, cookie, more, .. } if entries.len() > 1 => {
                let rest = entries.split_off(entries.len() / 2);
                self.send_with_names(
                    Answer::Names { entries, cookie, more: true, owners: None },
                    names,
                    tell,
                )?;
                self.send_with_names(Answer::Names { entries: rest, cookie, more, owners: None }, names, tell)
            }
            _ => tell(Answer::Fault(fault(Operation::ReadOwners, E2BIG))),
        }
    }
}

/// What owners of the other side are here.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// Numbers stay what they are.
    by_number: bool,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    ids: HashMap<Owner, u32>,
    /// One is another number here.
    differs: bool,
    charge: Option<Charge>,
}

impl Mapping {
    pub(crate) fn new(by_number: bool) -> Mapping {
        Mapping { by_number, known: Mutex::default() }
    }

    /// Takes the names from an answer, and gives it the numbers of this side. The memory of the names is charged.
    pub(crate) fn apply(&self, answer: &mut Answer, share: &Arc<Share>) -> Result<(), WireError> {
        let named = owners_of(answer).and_then(Option::take);
        if self.by_number {
            return Ok(());
        }
        let mut known = locked(&self.known);
        for owner in named.into_iter().flatten() {
            known.learn(&owner, share)?;
        }
        if known.differs {
            each_owner(answer, &mut |owner| known.ids.get(&owner).copied().unwrap_or(owner.id));
        }
        Ok(())
    }
}

impl Known {
    /// Remembers the number that an owner's name has on this side, and charges it. The first name counts: a file looked at
    /// twice has one owner.
    ///
    /// Errors: too many owners.
    fn learn(&mut self, named: &OwnerName, share: &Arc<Share>) -> Result<(), WireError> {
        let owner = Owner { is_group: named.is_group, id: named.id.0 };
        if owner.id == ROOT || self.ids.contains_key(&owner) {
            return Ok(());
        }
        if self.ids.len() == KNOWN_MAX {
            return Err(WireError::Unreadable(format!("it names more than {KNOWN_MAX} owners")));
        }
        self.charge(share)?;
        let id = id_here(owner, &named.name);
        self.differs |= id != owner.id;
        self.ids.insert(owner, id);
        Ok(())
    }

    fn charge(&mut self, share: &Arc<Share>) -> Result<(), WireError> {
        let charged = match &mut self.charge {
            Some(charge) => charge.grow(KNOWN_BYTES),
            none => share.charge(KNOWN_BYTES, 0).map(|charge| *none = Some(charge)),
        };
        charged.map_err(|over| WireError::Unreadable(format!("it names too many owners: {}", over.message())))
    }
}

fn id_here(owner: Owner, name: &[u8]) -> u32 {
    let found = CString::new(name)
        .ok()
        .and_then(|name| if owner.is_group { group_id(&name) } else { user_id(&name) });
    // -1 is nobody to chown(2).
    found.filter(|id| *id != u32::MAX).unwrap_or(owner.id)
}

/// The field for names of owners, in answers that have one.
fn owners_of(answer: &mut Answer) -> Option<&mut Option<Vec<OwnerName>>> {
    match answer {
        Answer::Meta { owners, .. }
        | Answer::Folder { owners, .. }
        | Answer::Names { owners, .. }
        | Answer::File { owners, .. } => Some(owners),
        Answer::Done | Answer::Fault(_) | Answer::Stream { .. } | Answer::End | Answer::Sum(_) => None,
    }
}

/// Gives each owner in an answer the number that `map` has for it: of files, and of entries in access control lists.
fn each_owner(answer: &mut Answer, map: &mut dyn FnMut(Owner) -> u32) {
    match answer {
        Answer::Meta { meta, named, .. } => {
            [Some(meta), named.as_mut()].into_iter().flatten().for_each(|meta| of_meta(meta, map));
        }
        Answer::Folder { meta, attributes, .. } | Answer::File { meta, attributes, .. } => {
            of_meta(meta, map);
            of_lists(attributes, map);
        }
        Answer::Names { entries, .. } => {
            for entry in entries {
                entry.meta.iter_mut().for_each(|meta| of_meta(meta, map));
                of_lists(entry.attributes.as_deref_mut().unwrap_or_default(), map);
            }
        }
        Answer::Done | Answer::Fault(_) | Answer::Stream { .. } | Answer::End | Answer::Sum(_) => {}
    }
}

fn of_meta(meta: &mut WireMeta, map: &mut dyn FnMut(Owner) -> u32) {
    meta.uid.0 = map(Owner { is_group: false, id: meta.uid.0 });
    meta.gid.0 = map(Owner { is_group: true, id: meta.gid.0 });
}

fn of_lists(attributes: &mut [Attribute], map: &mut dyn FnMut(Owner) -> u32) {
    let lists = [acl::ACCESS, acl::DEFAULT].map(CStr::to_bytes);
    for list in attributes.iter_mut().filter(|attribute| lists.contains(&&attribute.name[..])) {
        acl::map_ids(&mut list.value, |is_group, id| map(Owner { is_group, id }));
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use datapump_core::wire::attributes::Entry;

    use super::*;
    use crate::net::folder::convert::to_wire;
    use crate::setup::budget::Budget;
    use datapump_files::disk::Meta as Stat;

    const BY_NAME: bool = false;

    #[test]
    fn what_is_remembered_is_bounded_and_right() {
        let long = vec![b'x'; 200];
        for (name, most) in [(Some(long), OWN_NAMES_BYTES_MAX / 200 + 1), (None, TOLD_MAX)] {
            let mut remembered = RememberedNames::default();
            for id in 0..3 * TOLD_MAX as u32 {
                let owner = Owner { is_group: false, id };
                assert_eq!(remembered.get_or_look_up(owner, |_| name.clone()), name, "{id}");
                assert_eq!(
                    remembered.get_or_look_up(owner, |_| unreachable!("it is remembered")),
                    name,
                    "{id}"
                );
                assert!(remembered.names.len() <= most, "{id}: {}", remembered.names.len());
            }
        }
    }

    fn entry(index: u32, uid: u32, gid: u32) -> Entry {
        let meta = to_wire(&Stat { uid, gid, ..Stat::nothing() });
        Entry {
            name: format!("{index}").into_bytes().into(),
            meta: Some(meta),
            points_to: None,
            attributes: None,
            errno: None,
            is_partial: None,
            follows: None,
            is_withheld: None,
        }
    }

    fn names(entries: Vec<Entry>, owners: Option<Vec<OwnerName>>) -> Answer {
        Answer::Names { entries, cookie: 1, more: false, owners }
    }

    /// The messages of an answer: of each its entries, whether more follow, and the names.
    fn said(telling: &mut Telling, own: &OwnNames, answer: Answer) -> Vec<(usize, bool, usize)> {
        let mut said = Vec::new();
        let told = telling.send_with_names(answer, own, &mut |answer| {
            let Answer::Names { entries, more, owners, .. } = answer else { panic!("{answer:?}") };
            said.push((entries.len(), more, owners.map_or(0, |owners| owners.len())));
            Ok(())
        });
        told.expect("nothing fails");
        said
    }

    fn user(id: u32) -> Owner {
        Owner { is_group: false, id }
    }

    #[test]
    fn a_name_is_told_once_on_each_connection() {
        let own = OwnNames::default();
        locked(&own.0).names.extend([(user(5), Some(b"ann".to_vec())), (user(6), None)]);
        let listed = |uids: [u32; 2]| names(uids.map(|uid| entry(uid, uid, 0)).to_vec(), None);
        let (mut one, mut other) = (Telling::default(), Telling::default());
        assert_eq!(said(&mut one, &own, listed([5, 5])), [(2, false, 1)]);
        for (uids, expected) in [([6, 5], 1), ([5, 6], 0)] {
            assert_eq!(said(&mut other, &own, listed(uids)), [(2, false, expected)]);
        }
        assert_eq!(said(&mut one, &own, listed([0, 5])), [(2, false, 0)], "root is root everywhere");
    }

    #[test]
    fn names_that_do_not_fit_into_one_message_are_told_in_more() {
        let own = OwnNames::default();
        locked(&own.0).names.extend((1..=1000).map(|id| (user(id), Some(vec![b'x'; 512]))));
        let listed = names((1..=1000).map(|id| entry(id, id, 0)).collect(), None);
        let said = said(&mut Telling::default(), &own, listed);
        assert_eq!(said.iter().map(|(entries, ..)| entries).sum::<usize>(), 1000);
        assert_eq!(said.iter().map(|(.., owners)| owners).sum::<usize>(), 1000);
        assert!(said.iter().all(|(.., owners)| owners * 512 < NAMES_BYTES_MAX), "{said:?}");
        let (last, before) = said.split_last().expect("it was told");
        assert!(!last.1 && before.iter().all(|(_, more, _)| *more) && !before.is_empty(), "{said:?}");
    }

    fn owner(is_group: bool, id: u32, name: &str) -> OwnerName {
        OwnerName { is_group, id: OwnerId(id), name: name.as_bytes().to_vec().into() }
    }

    fn owners_after(mapping: &Mapping, ids: (u32, u32), owners: Vec<OwnerName>) -> (u32, u32) {
        let mut answer = names(vec![entry(0, ids.0, ids.1)], Some(owners));
        mapping.apply(&mut answer, &Budget::of_client(None).share()).expect("a few names");
        let Answer::Names { entries, owners: None, .. } = answer else { panic!("{answer:?}") };
        let meta = entries[0].meta.expect("it was told");
        (meta.uid.0, meta.gid.0)
    }

    #[test]
    fn numbers_become_those_that_the_names_have_here() {
        let daemon = (user_id(c"daemon"), group_id(c"daemon"));
        let (Some(user), Some(group)) = daemon else {
            eprintln!("left out: this system has no user and group 'daemon'");
            return;
        };
        let both = |id| vec![owner(false, id, "daemon"), owner(true, id, "daemon")];
        let mapping = Mapping::new(BY_NAME);
        assert_eq!(owners_after(&mapping, (70_001, 70_001), both(70_001)), (user, group));
        assert_eq!(owners_after(&mapping, (70_001, 70_001), vec![]), (user, group), "it is remembered");
        let other = vec![owner(false, 70_001, "root"), owner(true, 70_002, "no such group")];
        assert_eq!(owners_after(&mapping, (70_001, 70_002), other), (user, 70_002), "the first name counts");
        assert_eq!(owners_after(&mapping, (0, 0), both(0)), (0, 0), "root stays root");
        assert_eq!(owners_after(&Mapping::new(true), (70_001, 70_001), both(70_001)), (70_001, 70_001));
    }

    #[test]
    fn more_owners_than_are_remembered_end_the_session() {
        let mapping = Mapping::new(BY_NAME);
        locked(&mapping.known).ids.extend((0..KNOWN_MAX as u32).map(|id| (user(id), id)));
        let mut answer = names(Vec::new(), Some(vec![owner(true, 5, "root")]));
        let applied = mapping.apply(&mut answer, &Budget::of_client(None).share());
        assert!(
            matches!(&applied, Err(WireError::Unreadable(words)) if words.contains("owners")),
            "{applied:?}"
        );
    }
}
