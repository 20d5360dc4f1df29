//! What came before it was requested, what is on its way, and what of that nobody wants: the bookkeeping of
//! [`ReadAhead`](super::ReadAhead), without locks and connections.
//!
//! Must not know: who waits for what, how anything is received.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use datapump_core::FileKind;
use datapump_core::wire::WireError;
use datapump_core::wire::attributes::{Entry, WireMeta};
use datapump_core::wire::peer_request::Answer;
use datapump_core::wire::peer_request::credit::ReceiveCredit;
use datapump_core::wire::peer_request::walk_ahead::{is_walked, number_of_look};
use datapump_transport::NetFault;

use super::super::{ANSWERS_MAX, RemoteHost, TripPhase, TripStamp};
use super::arrived::{AheadItem, AheadLists, Arrival, ArrivedNames, NotTaken};
use crate::end::ArrivedItem;
use crate::setup::budget::charged::{ChargedMap, ChargedValue};
use crate::setup::budget::{Charge, OverBudget, Share};

/// The window grows to so much.
const WINDOW_MAX_BYTES: u64 = 512 << 20;
/// A file that is not wanted is worth a message from this length on.
const TOLD_BYTES: u32 = 64 << 10;
/// Unwanted numbers are told in so many messages before one of them is answered: as many as a connection takes without
/// anybody reading.
const TOLD_MAX: usize = 8192;
/// Things on their way or here are no more than this part of the window: honest ones take more bytes each.
const ITEM_BYTES: u64 = 64;
const ITEMS_MIN: u64 = 4096;
/// Kept of each beside its table: its number, where it is to be told as unwanted.
const UNWANTED_BYTES: usize = 4 * size_of::<u64>();
/// Numbers that were told, and those to tell where nothing is on its way.
const TOLD_BYTES_EACH: usize = 48;

/// What came, what is on its way, and what is to be told of it.
#[derive(Debug)]
pub(super) struct AheadState {
    places: u32,
    items: ChargedMap<u64, AheadItem>,
    lists: ChargedMap<u64, AheadLists>,
    pub(super) credit: ReceiveCredit,
    /// Of the window, which is what blocks take; all else is charged when it comes.
    charges: Vec<Charge>,
    /// Bytes of blocks that are here.
    blocks_bytes: u64,
    /// Nothing comes ahead any more: everything is requested.
    pub(super) is_given_up: bool,
    /// A lane receives.
    pub(super) is_receiving: bool,
    /// The numbers to tell as unwanted, and those that were told and are not answered.
    unwanted: VecDeque<u64>,
    reported: HashSet<u64>,
    file_bytes_max: u32,
    /// Of what the other side waits for, until something comes.
    waits_for: Option<TripStamp>,
    /// Bytes that came and that nobody wanted.
    pub(super) dropped_bytes: u64,
}

impl AheadState {
    /// Of so many places, with a window that is charged to the session, as all is that comes.
    pub(super) fn new(
        places: u32,
        file_bytes_max: u32,
        window: u64,
        mut charge: Charge,
        share: &Arc<Share>,
    ) -> Result<AheadState, OverBudget> {
        let (mut items, lists) = (ChargedMap::new(share, UNWANTED_BYTES)?, ChargedMap::new(share, 0)?);
        for place in 0..places {
            items.insert(number_of_look(place), AheadItem::Awaited(0))?;
        }
        charge.grow(TOLD_MAX * TOLD_BYTES_EACH)?;
        Ok(AheadState {
            items,
            places,
            lists,
            credit: ReceiveCredit::new(window),
            charges: vec![charge],
            blocks_bytes: 0,
            is_given_up: false,
            is_receiving: false,
            unwanted: VecDeque::new(),
            reported: HashSet::new(),
            file_bytes_max,
            waits_for: None,
            dropped_bytes: 0,
        })
    }

    /// Takes what arrived under this number: `None` while it is on its way, nothing where it will not arrive.
    pub(super) fn take(&mut self, number: u64) -> Option<Option<ArrivedItem>> {
        match self.items.remove(&number) {
            Some(AheadItem::Came(item)) => {
                self.blocks_bytes -= item.block_bytes();
                Some(Some(*item))
            }
            Some(item) => {
                let is_awaited = matches!(item, AheadItem::Awaited(_));
                self.put_back(number, item);
                (!is_awaited).then_some(None)
            }
            None => Some(None),
        }
    }

    /// Takes the names of a folder from a place on: `None` while they are on their way, nothing where they will not
    /// arrive.
    pub(super) fn take_names(&mut self, folder: u64, cookie: u64) -> Option<Option<ArrivedNames>> {
        match self.lists.get_mut(&folder) {
            Some(lists) if !lists.is_unwanted && lists.cookie == cookie => lists.next().map(Some),
            _ => Some(None),
        }
    }

    /// Something that was taken out a moment ago: there is room for it.
    fn put_back(&mut self, number: u64, item: AheadItem) {
        self.is_given_up |= self.items.insert(number, item).is_err();
    }

    /// Forgets the names of a folder, and drops what follows them. With `leaves_folder` the walk leaves the folder, and the
    /// other side is to send nothing more of it.
    pub(super) fn forget_names(&mut self, folder: u64, leaves_folder: bool) {
        let mut below = Vec::new();
        self.forget_listed(folder, leaves_folder, &mut below);
        self.drop_all(below);
    }

    /// Forgets the names of a folder, also those that are on their way, and adds what follows them to `below`, which is
    /// yet to be dropped. With `leaves_folder` the other side is to send nothing more of it.
    fn forget_listed(&mut self, folder: u64, leaves_folder: bool, below: &mut Vec<u64>) {
        let Some(lists) = self.lists.get_mut(&folder) else { return };
        lists.is_unwanted = true;
        let whole = std::mem::take(&mut lists.whole);
        whole.into_iter().for_each(|names| self.drop_names(names, below));
        if leaves_folder {
            self.put_unwanted(folder);
        }
    }

    /// A number to tell. Those of what has come meanwhile are forgotten now and then.
    fn put_unwanted(&mut self, number: u64) {
        if self.unwanted.len() > 2 * (self.items.len() + self.lists.len()) + TOLD_MAX {
            let (items, lists) = (&self.items, &self.lists);
            self.unwanted.retain(|number| is_coming(items, lists, *number));
        }
        self.unwanted.push_back(number);
    }

    /// The other side waits for something that is said now.
    pub(super) fn handle_waits(&mut self, stamp: TripStamp) {
        self.waits_for.get_or_insert(stamp);
    }

    /// The first that comes after the other side waited for something.
    pub(super) fn count_trip(&mut self, host: &RemoteHost, arrival: &Arrival) {
        let phase = if arrival.block.is_some() { TripPhase::Data } else { TripPhase::Listing };
        self.waits_for.take().into_iter().for_each(|stamp| host.trips.answered(stamp, phase));
    }

    /// Widens the window, if the session may hold more. False if it may not.
    pub(super) fn widen(&mut self, host: &RemoteHost) -> bool {
        let bytes = self.credit.window() / 2;
        if self.credit.window() + bytes > WINDOW_MAX_BYTES {
            return false;
        }
        let Some(charge) = host.charge_part(bytes as usize) else { return false };
        self.charges.push(charge);
        self.credit.widen(bytes);
        true
    }

    /// The numbers to report now as unwanted, without those that arrived meanwhile or never will. They are taken.
    pub(super) fn take_unwanted(&mut self) -> Vec<u64> {
        let mut next = Vec::new();
        while self.reported.len() < TOLD_MAX
            && let Some(number) = self.unwanted.pop_front()
        {
            if is_coming(&self.items, &self.lists, number) && self.reported.insert(number) {
                next.push(number);
            }
        }
        next
    }

    /// Whether a file's bytes are to come under this number.
    pub(super) fn awaits_block(&self, number: u64) -> bool {
        matches!(self.items.get(&number), Some(AheadItem::Awaited(1..) | AheadItem::Unwanted(1..)))
    }

    /// Bytes of the block that comes under this number, behind this answer or alone.
    pub(super) fn expected_block(
        &self,
        number: u64,
        answer: &Answer,
        is_block: bool,
    ) -> Result<Option<u32>, WireError> {
        let expected = match self.items.get(&number) {
            Some(AheadItem::Awaited(bytes) | AheadItem::Unwanted(bytes)) => *bytes,
            _ => 0,
        };
        match answer {
            _ if is_block && expected == 0 => Err(WireError::Unexpected("a block that was not announced")),
            _ if is_block => Ok(Some(expected)),
            Answer::File { block_len: Some(len), .. } if expected > 0 => {
                if *len > self.file_bytes_max {
                    Err(WireError::Unexpected("a larger file than may come without a request"))
                } else {
                    Ok(Some(*len).filter(|len| *len > 0))
                }
            }
            Answer::File { meta, .. } if expected > 0 && meta.size_bytes.0 == u64::from(expected) => {
                Ok(Some(expected))
            }
            Answer::Meta { .. } if expected > 0 => Ok(Some(expected)),
            _ => Ok(None),
        }
    }

    /// Handles an arrival: keeps it, drops it if it is unwanted, and announces what follows it.
    ///
    /// Errors: nobody requested or announced it.
    pub(super) fn handle(&mut self, arrival: Arrival) -> Result<(), NotTaken> {
        let Arrival { number, answer, block, frames_bytes } = arrival;
        if !self.fits(number, &answer) {
            return Err(WireError::Unexpected("another answer than was announced").into());
        }
        let item = self.items.remove(&number);
        match (&*answer, item) {
            (Answer::Done, item) if block.is_none() => {
                self.credit.handle_free(frames_bytes);
                Ok(self.handle_done(number, item)?)
            }
            (Answer::Names { .. }, item) => {
                item.into_iter().for_each(|item| self.put_back(number, item));
                self.handle_names(number, answer, frames_bytes)
            }
            (Answer::Fault(_), item @ (None | Some(AheadItem::Came(_)))) => {
                item.into_iter().for_each(|item| self.put_back(number, item));
                self.handle_names(number, answer, frames_bytes)
            }
            (_, Some(AheadItem::Awaited(_))) => {
                self.handle_item(number, ArrivedItem { answer, block, frames_bytes })
            }
            (_, Some(AheadItem::Unwanted(_))) => {
                self.handle_unwanted(number, ArrivedItem { answer, block, frames_bytes })
            }
            (_, None | Some(AheadItem::Came(_))) => {
                Err(WireError::Unexpected("an answer that nobody asked for").into())
            }
        }
    }

    /// Keeps what was received, and announces what follows it. Where the window has no room for its block it is dropped.
    fn handle_item(&mut self, number: u64, item: ArrivedItem) -> Result<(), NotTaken> {
        // The window is the room that blocks have. What came beyond it is requested.
        if self.blocks_bytes + item.block_bytes() > self.credit.window() {
            return self.handle_unwanted(number, item);
        }
        if matches!(*item.answer, Answer::Folder { .. }) {
            self.lists.insert(number, AheadLists::default())?;
        }
        self.announce_following(number, &item.answer)?;
        self.blocks_bytes += item.block_bytes();
        self.items.insert(number, AheadItem::Came(Box::new(item)))?;
        Ok(())
    }

    /// Drops what was received and is not kept: frees its credit, counts its bytes, and drops what follows it.
    fn handle_unwanted(&mut self, number: u64, item: ArrivedItem) -> Result<(), NotTaken> {
        self.credit.handle_free(item.frames_bytes);
        self.dropped_bytes += item.block_bytes();
        match &*item.answer {
            Answer::Folder { .. } => {
                let lists = AheadLists { is_unwanted: true, ..AheadLists::default() };
                self.lists.insert(number, lists)?;
            }
            _ => drop(self.reported.remove(&number)),
        }
        let follows = self.announce_following(number, &item.answer)?;
        self.drop_all(follows.into_iter().collect());
        Ok(())
    }

    /// Handles that nothing more comes under this number.
    ///
    /// Errors: it was not announced, or is still awaited.
    fn handle_done(&mut self, number: u64, item: Option<AheadItem>) -> Result<(), NetFault> {
        let was_reported = self.reported.remove(&number);
        let is_folder = self.lists.remove(&number).is_some();
        match item {
            Some(AheadItem::Unwanted(_)) => Ok(()),
            // What lies below something that was told.
            Some(AheadItem::Awaited(_)) if !self.reported.is_empty() || was_reported => Ok(()),
            None if is_folder && was_reported => Ok(()),
            _ => Err(WireError::Unexpected("an answer that nobody asked for").into()),
        }
    }

    /// Handles names of a folder, or the reason why they cannot be had.
    fn handle_names(
        &mut self,
        folder: u64,
        answer: ChargedValue<Answer>,
        frames_bytes: u64,
    ) -> Result<(), NotTaken> {
        let Some(lists) = self.lists.get_mut(&folder) else {
            return Err(WireError::Unexpected("names of another folder").into());
        };
        let is_unwanted = lists.is_unwanted;
        let more = matches!(*answer, Answer::Names { more: true, .. });
        let mut names = lists.part.take().unwrap_or_default();
        names.frames_bytes += frames_bytes;
        if names.answers.len() >= ANSWERS_MAX {
            return Err(WireError::Unexpected("names without end").into());
        }
        if let Answer::Names { entries, cookie, .. } = &*answer {
            names.next = *cookie;
            self.announce(entries)?;
        }
        names.answers.push(answer);
        if is_unwanted {
            let mut below = Vec::new();
            self.drop_names(names, &mut below);
            self.drop_all(below);
            return Ok(());
        }
        let lists = self.lists.get_mut(&folder).expect("it was there above");
        if more {
            lists.part = Some(names);
        } else {
            lists.whole.push_back(names);
        }
        Ok(())
    }

    /// Whether what a place is comes under this number.
    fn is_look(&self, number: u64) -> bool {
        number < number_of_look(self.places) && number % 2 == 1
    }

    /// Whether an answer is one of those that the number was announced for.
    fn fits(&self, number: u64, answer: &Answer) -> bool {
        match self.items.get(&number) {
            Some(AheadItem::Came(_)) | None => true,
            Some(AheadItem::Awaited(bytes) | AheadItem::Unwanted(bytes)) => match answer {
                Answer::Fault(_) | Answer::Done => true,
                // Or what a file is behind its block.
                Answer::Meta { .. } => self.is_look(number) || *bytes > 0,
                Answer::Stream { .. } => number < number_of_look(self.places),
                Answer::Folder { .. } => *bytes == 0 && !self.is_look(number),
                Answer::File { .. } => !self.is_look(number),
                Answer::Names { .. } | Answer::End | Answer::Sum(_) => false,
            },
        }
    }

    /// Names tell what is on its way.
    fn announce(&mut self, entries: &[Entry]) -> Result<(), NotTaken> {
        let follows = |entry: &Entry| Some((entry.follows?, entry.meta));
        entries
            .iter()
            .filter_map(follows)
            .try_for_each(|(number, meta)| self.announce_one(number, meta.as_ref()))
    }

    /// Announces what follows an answer, and gives its number: the folder or file of a place, the block of a file.
    fn announce_following(&mut self, number: u64, answer: &Answer) -> Result<Option<u64>, NotTaken> {
        let (follows, meta) = match answer {
            Answer::File { meta, follows: Some(follows), .. } => (*follows, Some(meta)),
            Answer::Meta { meta, .. } if number < number_of_look(self.places) && is_walked(meta) => {
                (number + 1, None)
            }
            _ => return Ok(None),
        };
        self.announce_one(follows, meta).map(|()| Some(follows))
    }

    /// Notes that something arrives under this number, with the bytes of its block.
    ///
    /// Errors: it is too large, too much is announced, or the number was used before.
    fn announce_one(&mut self, number: u64, meta: Option<&WireMeta>) -> Result<(), NotTaken> {
        let bytes = match meta {
            Some(meta) if meta.kind == FileKind::Regular => meta.size_bytes.0,
            _ => 0,
        };
        if bytes > self.file_bytes_max.into() {
            return Err(WireError::Unexpected("a larger file than may come without a request").into());
        }
        if self.items.len() as u64 > self.credit.window() / ITEM_BYTES + ITEMS_MIN {
            return Err(WireError::Unexpected("more than may be on its way").into());
        }
        match self.items.insert(number, AheadItem::Awaited(bytes as u32))? {
            Some(_) => Err(WireError::Unexpected("a number that it has given before").into()),
            None => Ok(()),
        }
    }

    /// Drops names that nobody takes, frees their credit, and adds what follows them to `below`, which is yet to be
    /// dropped.
    fn drop_names(&mut self, names: ArrivedNames, below: &mut Vec<u64>) {
        self.credit.handle_free(names.frames_bytes);
        for answer in names.answers {
            if let Answer::Names { entries, .. } = &*answer {
                below.extend(entries.iter().filter_map(|entry| entry.follows));
            }
        }
    }

    /// Nothing comes ahead any more: everything is requested, and nothing is held.
    pub(super) fn give_up(&mut self) {
        self.is_given_up = true;
        self.items.clear();
        self.lists.clear();
        (self.unwanted, self.reported) = (VecDeque::new(), HashSet::new());
        self.charges.clear();
    }

    /// Drops these with all that lies below them. The other side nests as deep as it likes: what is yet to be dropped
    /// is in a list, not on the stack.
    pub(super) fn drop_all(&mut self, mut left: Vec<u64>) {
        while let Some(number) = left.pop() {
            match self.items.remove(&number) {
                Some(AheadItem::Came(item)) => {
                    self.credit.handle_free(item.frames_bytes);
                    self.dropped_bytes += item.block_bytes();
                    self.blocks_bytes -= item.block_bytes();
                    self.forget_listed(number, true, &mut left);
                }
                Some(AheadItem::Awaited(bytes)) => {
                    self.put_back(number, AheadItem::Unwanted(bytes));
                    if bytes == 0 || bytes >= TOLD_BYTES {
                        self.put_unwanted(number);
                    }
                }
                Some(item @ AheadItem::Unwanted(_)) => self.put_back(number, item),
                None => {}
            }
        }
    }
}

/// Whether something comes under this number that nobody wants.
fn is_coming(items: &ChargedMap<u64, AheadItem>, lists: &ChargedMap<u64, AheadLists>, number: u64) -> bool {
    matches!(items.get(&number), Some(AheadItem::Unwanted(_))) || lists.contains_key(&number)
}

#[cfg(test)]
mod tests;
