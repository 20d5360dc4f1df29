//! Names of a folder of the other side that no listing told of: they are looked at together, and with them names of a
//! list that lie below, before the walk comes to them. This side gives folders their numbers, so that what lies in one is
//! requested before it is known to be open.
//!
//! Must not know: which names are on a list, what is done with them.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::{Arc, MutexGuard, PoisonError};

use datapump_core::selection::ListStep;
use datapump_core::wire::peer_request::{Answer, PeerRequest};
use datapump_engine::Errno;

use super::RemoteFolder;
use crate::listed::{ListedEntry, Name};
use crate::net::folder::convert::from_wire;
use crate::net::folder::remote_host::ask_together::OneAnswer;
use crate::net::folder::remote_host::with_system_names;
use crate::origin::remote_facts::RemoteFacts;
use crate::problem::Problem;
use crate::setup::budget::Charge;

/// Memory that the answer to a step takes, about. Names below are looked at early where the session may hold that easily.
const STEP_BYTES: usize = 1 << 10;

/// Names of a folder that were looked at before their turn, and folders in it that were opened.
#[derive(Debug, Default)]
pub(super) struct LookedEarly {
    reported: HashMap<OsString, Box<ListedEntry>>,
    pub(super) folders: HashMap<OsString, Arc<RemoteFolder>>,
}

/// The purpose of a request.
enum LookRequest<'names> {
    Own(&'names mut Name),
    /// A folder that gets this number.
    Folder(u64, PlacedName),
    Below(PlacedName),
}

/// A name in the folder of this number.
type PlacedName = (u64, OsString);

impl RemoteFolder {
    /// The names with what they are, where no listing told that: all are requested together, and those below with them.
    /// A name that gets no answer so is requested when it is dealt with.
    pub(crate) fn look_at_all(
        &self,
        mut names: Vec<Name>,
        below: &[ListStep],
        with_attributes: bool,
    ) -> Result<Vec<Name>, Problem> {
        let host = &self.remote_host;
        self.take_looked(&mut names);
        let has_room = !below.is_empty() && host.charge_part(below.len() * STEP_BYTES).is_some();
        let below = if has_room { below } else { &[] };
        if below.is_empty() && names.iter().all(|name| name.reported.is_some()) {
            return Ok(names);
        }
        let with_attributes = with_attributes.then_some(true);
        let look = |above: u64, name: &OsStr| {
            let name = name.as_bytes().to_vec().into();
            PeerRequest::LookAt { above, name, with_attributes }
        };
        let own = names.iter_mut().filter(|name| name.reported.is_none()).map(|name| {
            let ask = look(self.number, &name.name);
            (LookRequest::Own(name), ask)
        });
        let mut open = vec![self.number];
        let below = below.iter().filter_map(|step| {
            let above = *open.last().expect("the first one stays open");
            match step {
                ListStep::Look(name) => {
                    let name = OsString::from_vec(name.clone());
                    let request = look(above, &name);
                    Some((LookRequest::Below((above, name)), request))
                }
                ListStep::Down(name) => {
                    let folder = host.number();
                    open.push(folder);
                    let bytes = name.clone().into();
                    let ask = PeerRequest::Enter { folder, above, name: bytes };
                    let name = OsString::from_vec(name.clone());
                    Some((LookRequest::Folder(folder, (above, name)), ask))
                }
                ListStep::Up => {
                    open.pop();
                    None
                }
            }
        });
        let mut opened = HashMap::new();
        host.request_together(&mut own.chain(below), &mut |what, answer| {
            self.keep_answer(&mut opened, what, answer);
        })?;
        Ok(names)
    }

    /// Keeps an answer in the folder that holds the name. A folder that is open there and not kept here is given back.
    /// `opened`: the folders that were opened until then, by their numbers.
    fn keep_answer(
        &self,
        opened: &mut HashMap<u64, Arc<RemoteFolder>>,
        what: LookRequest<'_>,
        answer: OneAnswer,
    ) {
        let host = &self.remote_host;
        let (number, (above, name), found) = match (what, answer) {
            (LookRequest::Own(name), Ok((answer, charge))) => {
                name.reported = self.entry_of(answer, charge);
                return;
            }
            (LookRequest::Below(place), Ok((answer, charge))) => {
                (None, place, self.entry_of(answer, charge).map(Err))
            }
            (
                LookRequest::Folder(number, place),
                Ok((Answer::Folder { meta, attributes, made_up, is_young, .. }, charge)),
            ) => {
                let (meta, attributes) = (from_wire(&meta), with_system_names(attributes));
                let is_young = is_young == Some(true);
                let facts = RemoteFacts { meta, attributes, made_up, is_young };
                (Some(number), place, Some(Ok(Arc::new(RemoteFolder::new(host, number, facts, charge)))))
            }
            // It is open there.
            (LookRequest::Folder(number, _), Err(_)) => {
                return host.give_back(PeerRequest::Leave(number));
            }
            _ => return,
        };
        let above = if above == self.number { Some(self) } else { opened.get(&above).map(|above| &**above) };
        let (Some(above), Some(found)) = (above, found) else { return };
        let mut looked = above.looked_early();
        match found {
            Ok(folder) => {
                looked.folders.insert(name, Arc::clone(&folder));
                drop(looked);
                number.and_then(|number| opened.insert(number, folder));
            }
            Err(reported) => drop(looked.reported.insert(name, reported)),
        }
    }

    /// The entry of a name, as far as it can be kept.
    fn entry_of(&self, answer: Answer, charge: Charge) -> Option<Box<ListedEntry>> {
        let Answer::Names { mut entries, .. } = answer else { return None };
        let reported = self.name_of(entries.pop()?, &Arc::new(charge)).reported?;
        (reported.meta.is_ok() || reported.meta == Err(Errno::ENOENT)).then_some(reported)
    }

    pub(super) fn looked_early(&self) -> MutexGuard<'_, LookedEarly> {
        self.looked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters into the names what earlier looks have found, and forgets that.
    fn take_looked(&self, names: &mut [Name]) {
        let mut looked = self.looked_early();
        if !looked.reported.is_empty() {
            for name in names.iter_mut().filter(|name| name.reported.is_none()) {
                name.reported = looked.reported.remove(&name.name);
            }
        }
    }
}
