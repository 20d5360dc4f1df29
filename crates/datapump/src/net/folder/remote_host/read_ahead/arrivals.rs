//! What came before it was requested, what is on its way, and what of that nobody wants: the bookkeeping of
//! [`ReadAhead`](super::ReadAhead), without locks and connections.
//!
//! Must not know: who waits for what, how anything is received.

use std::collections::{HashMap, HashSet, VecDeque};

use datapump_core::wire::WireError;
use datapump_core::wire::attributes::{Entry, EntryKind, WireMeta};
use datapump_core::wire::peer_request::Answer;
use datapump_core::wire::peer_request::credit::ReceiveCredit;
use datapump_core::wire::peer_request::walk_ahead::{is_walked, number_of_look};
use datapump_transport::{Digest, NetFault};

use super::super::{ANSWERS_MAX, RemoteHost, TripPhase, TripStamp};
use super::ListedAnswers;
use crate::job::budget::{Charge, OverBudget};
use crate::net::folder::weight;

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

/// What came, what is on its way, and what is to be told of it.
#[derive(Debug)]
pub(super) struct AheadState {
    places: u32,
    items: HashMap<u64, AheadItem>,
    lists: HashMap<u64, AheadLists>,
    pub(super) credit: ReceiveCredit,
    charges: Vec<Charge>,
    /// A lane receives.
    pub(super) is_receiving: bool,
    /// The numbers to tell as unwanted, and those that were told and are not answered.
    unwanted: VecDeque<u64>,
    told: HashSet<u64>,
    file_bytes_max: u32,
    /// Of what the other side waits for, until something comes.
    waits_for: Option<TripStamp>,
    dropped_bytes: u64,
}

/// Something with a number.
#[derive(Debug)]
pub(super) enum AheadItem {
    /// On its way; of a file the bytes that are expected.
    Awaited(u32),
    Came(Box<ArrivedItem>),
    /// Nobody wants it; of a file the bytes that are expected.
    Unwanted(u32),
}

/// Something that came.
#[derive(Debug)]
pub(crate) struct ArrivedItem {
    pub(crate) answer: Answer,
    /// Of a small file.
    pub(crate) block: Option<(Digest, Vec<u8>)>,
    pub(super) frames_bytes: u64,
}

/// Names of one folder, in the order of its listing.
#[derive(Debug, Default)]
pub(super) struct AheadLists {
    whole: VecDeque<ArrivedNames>,
    /// Where the first of them begins.
    cookie: u64,
    part: Option<ArrivedNames>,
    is_unwanted: bool,
}

/// One listing; or more than this side may hold.
#[derive(Debug)]
pub(super) struct ArrivedNames {
    pub(super) answers: Result<(Vec<Answer>, Charge), OverBudget>,
    /// Where the names behind them begin.
    next: u64,
    pub(super) frames_bytes: u64,
}

impl ArrivedNames {
    /// Nothing comes behind no names, and behind a fault.
    fn are_last(&self) -> bool {
        let has_names =
            |answer: &Answer| matches!(answer, Answer::Names { entries, .. } if !entries.is_empty());
        self.answers.as_ref().is_ok_and(|(answers, _)| !answers.iter().any(has_names))
    }
}

/// What one frame, or a file with its block, is.
pub(super) struct Arrival {
    pub(super) number: u64,
    pub(super) answer: Answer,
    pub(super) block: Option<(Digest, Vec<u8>)>,
    pub(super) frames_bytes: u64,
}

impl AheadLists {
    fn next(&mut self) -> Option<ArrivedNames> {
        let names = self.whole.pop_front()?;
        self.cookie = names.next;
        // Another listing of the folder is requested.
        self.is_unwanted |= names.are_last();
        Some(names)
    }
}

impl AheadState {
    /// Of so many places, with a window that is charged to the session.
    pub(super) fn new(places: u32, file_bytes_max: u32, (window, charge): (u64, Charge)) -> AheadState {
        let looks = (0..places).map(|place| (number_of_look(place), AheadItem::Awaited(0)));
        AheadState {
            items: looks.collect(),
            places,
            lists: HashMap::new(),
            credit: ReceiveCredit::new(window),
            charges: vec![charge],
            is_receiving: false,
            unwanted: VecDeque::new(),
            told: HashSet::new(),
            file_bytes_max,
            waits_for: None,
            dropped_bytes: 0,
        }
    }

    /// Bytes that came and that nobody wanted.
    pub(super) fn dropped_bytes(&self) -> u64 {
        self.dropped_bytes
    }

    /// What has this number: `None` while it is on its way, nothing where it will not come.
    pub(super) fn take(&mut self, number: u64) -> Option<Option<ArrivedItem>> {
        match self.items.remove(&number) {
            Some(AheadItem::Came(item)) => Some(Some(*item)),
            Some(item) => {
                let is_awaited = matches!(item, AheadItem::Awaited(_));
                self.items.insert(number, item);
                (!is_awaited).then_some(None)
            }
            None => Some(None),
        }
    }

    /// The names of a folder from a place on; the same.
    pub(super) fn take_names(&mut self, folder: u64, cookie: u64) -> Option<Option<ArrivedNames>> {
        match self.lists.get_mut(&folder) {
            Some(lists) if !lists.is_unwanted && lists.cookie == cookie => lists.next().map(Some),
            _ => Some(None),
        }
    }

    /// The names of a folder are not wanted any more; nor is anything else in it, where it is left.
    pub(super) fn forget_names(&mut self, folder: u64, is_left: bool) {
        let Some(lists) = self.lists.get_mut(&folder) else { return };
        lists.is_unwanted = true;
        let whole = std::mem::take(&mut lists.whole);
        whole.into_iter().for_each(|names| self.drop_names(names));
        if is_left {
            self.unwanted.push_back(folder);
        }
    }

    /// The other side waits for something that is said now.
    pub(super) fn handle_waits(&mut self, stamp: TripStamp) {
        self.waits_for.get_or_insert(stamp);
    }

    /// Nothing is on its way, and nothing that was freed would change that.
    pub(super) fn is_stuck(&self) -> bool {
        self.credit.is_stuck()
    }

    /// The first that comes after the other side waited for something.
    pub(super) fn count_trip(&mut self, host: &RemoteHost, arrival: &Arrival) {
        let phase = if arrival.block.is_some() { TripPhase::Data } else { TripPhase::Listing };
        self.waits_for.take().into_iter().for_each(|stamp| host.trips.answered(stamp, phase));
    }

    /// More room, if the session may hold more.
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

    /// The numbers to tell now as unwanted: what has come meanwhile, or never will, is not.
    pub(super) fn next_unwanted(&mut self) -> Vec<u64> {
        let mut next = Vec::new();
        while self.told.len() < TOLD_MAX
            && let Some(number) = self.unwanted.pop_front()
        {
            let is_coming = matches!(self.items.get(&number), Some(AheadItem::Unwanted(_)));
            if (is_coming || self.lists.contains_key(&number)) && self.told.insert(number) {
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
            Answer::File { meta, .. } if expected > 0 && meta.size_bytes.0 == u64::from(expected) => {
                Ok(Some(expected))
            }
            _ => Ok(None),
        }
    }

    /// Something came.
    pub(super) fn handle(&mut self, host: &RemoteHost, arrival: Arrival) -> Result<(), NetFault> {
        let Arrival { number, answer, block, frames_bytes } = arrival;
        if !self.fits(number, &answer) {
            return Err(WireError::Unexpected("another answer than was announced").into());
        }
        match (answer, self.items.remove(&number)) {
            (Answer::Done, item) if block.is_none() => {
                self.credit.handle_free(frames_bytes);
                return self.handle_done(number, item);
            }
            (answer @ Answer::Names { .. }, item) => {
                self.items.extend(item.map(|item| (number, item)));
                self.handle_names(host, number, answer, frames_bytes)?;
            }
            (answer @ Answer::Fault(_), item @ (None | Some(AheadItem::Came(_)))) => {
                self.items.extend(item.map(|item| (number, item)));
                self.handle_names(host, number, answer, frames_bytes)?;
            }
            (answer, Some(AheadItem::Awaited(_))) => {
                if matches!(answer, Answer::Folder { .. }) {
                    self.lists.insert(number, AheadLists::default());
                }
                self.announce_behind(number, &answer)?;
                let item = ArrivedItem { answer, block, frames_bytes };
                self.items.insert(number, AheadItem::Came(Box::new(item)));
            }
            (answer, Some(AheadItem::Unwanted(_))) => {
                self.credit.handle_free(frames_bytes);
                self.dropped_bytes += block.map_or(0, |(_, bytes)| bytes.len() as u64);
                match &answer {
                    Answer::Folder { .. } => {
                        let lists = AheadLists { is_unwanted: true, ..AheadLists::default() };
                        self.lists.insert(number, lists);
                    }
                    _ => drop(self.told.remove(&number)),
                }
                let follows = self.announce_behind(number, &answer)?;
                follows.into_iter().for_each(|follows| self.drop_item(follows));
            }
            _ => return Err(WireError::Unexpected("an answer that nobody asked for").into()),
        }
        Ok(())
    }

    /// Nothing more comes under this number.
    fn handle_done(&mut self, number: u64, item: Option<AheadItem>) -> Result<(), NetFault> {
        let was_told = self.told.remove(&number);
        let is_folder = self.lists.remove(&number).is_some();
        match item {
            Some(AheadItem::Unwanted(_)) => Ok(()),
            // What lies below something that was told.
            Some(AheadItem::Awaited(_)) if !self.told.is_empty() || was_told => Ok(()),
            None if is_folder && was_told => Ok(()),
            _ => Err(WireError::Unexpected("an answer that nobody asked for").into()),
        }
    }

    /// Names came, or why they cannot be had.
    fn handle_names(
        &mut self,
        host: &RemoteHost,
        folder: u64,
        answer: Answer,
        frames_bytes: u64,
    ) -> Result<(), NetFault> {
        let Some(lists) = self.lists.get_mut(&folder) else {
            return Err(WireError::Unexpected("names of another folder").into());
        };
        let is_unwanted = lists.is_unwanted;
        let more = matches!(answer, Answer::Names { more: true, .. });
        let begun = || {
            let answers = host.share.charge(0, 0).map(|charge| (Vec::new(), charge));
            ArrivedNames { answers, next: 0, frames_bytes: 0 }
        };
        let mut names = lists.part.take().unwrap_or_else(begun);
        names.frames_bytes += frames_bytes;
        if names.answers.as_ref().is_ok_and(|(answers, _)| answers.len() >= ANSWERS_MAX) {
            return Err(WireError::Unexpected("names without end").into());
        }
        if let Answer::Names { entries, cookie, .. } = &answer {
            names.next = *cookie;
            self.announce(entries)?;
        }
        names.answers = self.held(names.answers, answer);
        if is_unwanted {
            self.drop_names(names);
            return Ok(());
        }
        let lists = self.lists.get_mut(&folder).expect("it was there above");
        match more {
            true => lists.part = Some(names),
            false => lists.whole.push_back(names),
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
                Answer::Meta { .. } => self.is_look(number),
                Answer::Stream { .. } => number < number_of_look(self.places),
                Answer::Folder { .. } => *bytes == 0 && !self.is_look(number),
                Answer::File { .. } => !self.is_look(number),
                Answer::Names { .. } | Answer::End | Answer::Sum(_) => false,
            },
        }
    }

    /// Answers of one listing with one more; those that this side may not hold are forgotten, with what follows them.
    fn held(&mut self, before: ListedAnswers, answer: Answer) -> ListedAnswers {
        let (mut answers, held) = match before {
            Ok((answers, mut charge)) => (answers, charge.grow(weight::of_answer(&answer)).map(|()| charge)),
            Err(over) => (Vec::new(), Err(over)),
        };
        answers.push(answer);
        match held {
            Ok(charge) => Ok((answers, charge)),
            Err(over) => {
                self.drop_answers(&answers);
                Err(over)
            }
        }
    }

    /// Names tell what is on its way.
    fn announce(&mut self, entries: &[Entry]) -> Result<(), WireError> {
        let follows = |entry: &Entry| Some((entry.follows?, entry.meta));
        entries
            .iter()
            .filter_map(follows)
            .try_for_each(|(number, meta)| self.announce_one(number, meta.as_ref()))
    }

    /// What comes behind an answer: the folder or file of a place, the block of a file.
    fn announce_behind(&mut self, number: u64, answer: &Answer) -> Result<Option<u64>, WireError> {
        let (follows, meta) = match answer {
            Answer::File { meta, follows: Some(follows), .. } => (*follows, Some(meta)),
            Answer::Meta { meta, .. } if number < number_of_look(self.places) && is_walked(meta) => {
                (number + 1, None)
            }
            _ => return Ok(None),
        };
        self.announce_one(follows, meta).map(|()| Some(follows))
    }

    fn announce_one(&mut self, number: u64, meta: Option<&WireMeta>) -> Result<(), WireError> {
        let bytes = match meta {
            Some(meta) if meta.kind == EntryKind::Regular => meta.size_bytes.0,
            _ => 0,
        };
        if bytes > self.file_bytes_max.into() {
            return Err(WireError::Unexpected("a larger file than may come without a request"));
        }
        if self.items.len() as u64 > self.credit.window() / ITEM_BYTES + ITEMS_MIN {
            return Err(WireError::Unexpected("more than may be on its way"));
        }
        match self.items.insert(number, AheadItem::Awaited(bytes as u32)) {
            Some(_) => Err(WireError::Unexpected("a number that it has given before")),
            None => Ok(()),
        }
    }

    /// Nobody takes these names, nor what follows them.
    fn drop_names(&mut self, names: ArrivedNames) {
        self.credit.handle_free(names.frames_bytes);
        if let Ok((answers, _)) = names.answers {
            self.drop_answers(&answers);
        }
    }

    fn drop_answers(&mut self, answers: &[Answer]) {
        for answer in answers {
            if let Answer::Names { entries, .. } = answer {
                entries.iter().filter_map(|entry| entry.follows).for_each(|number| self.drop_item(number));
            }
        }
    }

    /// Nothing comes ahead after all: everything is requested.
    pub(super) fn give_up(&mut self) {
        self.items.clear();
        self.lists.clear();
    }

    pub(super) fn drop_item(&mut self, number: u64) {
        match self.items.remove(&number) {
            Some(AheadItem::Came(item)) => {
                self.credit.handle_free(item.frames_bytes);
                self.dropped_bytes += item.block.map_or(0, |(_, bytes)| bytes.len() as u64);
                self.forget_names(number, true);
            }
            Some(AheadItem::Awaited(bytes)) => {
                self.items.insert(number, AheadItem::Unwanted(bytes));
                if bytes == 0 || bytes >= TOLD_BYTES {
                    self.unwanted.push_back(number);
                }
            }
            Some(item @ AheadItem::Unwanted(_)) => drop(self.items.insert(number, item)),
            None => {}
        }
    }
}
