//! What the side that reads sends before it is requested: answers to the requests that a walk of the session's places
//! leads to, in the order of the walk.
//!
//! A machine of the side that reads: [`WalkAhead::poll`] says what is answered next and under which number, and
//! [`WalkAhead::handle_answer`] sees each answer before it is sent. The number of what is still to come stands in the
//! listing ([`Entry::follows`]), so that the other side knows what is on its way. The order is that of a walk of one
//! lane: names in batches, and the folders of a batch before the next one.
//!
//! Must not know: files, connections, credit, what the other side does with it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::super::attributes::{Entry, WireMeta};
use super::super::bounds::FileSize;
use super::{Answer, PeerRequest};
use crate::FileKind;

/// Names that a lane deals with at a time: enough to make a lock rare, few enough that lanes end together.
pub const BATCH_NAMES: usize = 64;
/// Folders and files that are opened without a request have the number under which that is answered, and this.
pub const AHEAD: u64 = 1 << 63;
/// Numbers of one place: what it is, and its folder or file.
const OF_A_PLACE: u64 = 2;

/// The number under which is answered what a place is.
pub fn number_of_look(place: u32) -> u64 {
    OF_A_PLACE * u64::from(place) + 1
}

/// The number under which the folder or the file of a place is opened.
pub fn number_of_root(place: u32) -> u64 {
    number_of_look(place) + 1
}

/// Whether a file of this length and so many bytes on the disk is sent with its opening: it is small, has no holes, and
/// an empty one has nothing to send. Digests are told of what is compared, whatever of it are holes.
pub fn is_sent_whole(size_bytes: u64, allocated_bytes: u64, most: u32, is_sum: bool) -> bool {
    (1..=u64::from(most)).contains(&size_bytes) && (is_sum || allocated_bytes >= size_bytes)
}

/// Whether a place is opened ahead. Pipes and devices are not.
pub fn is_walked(meta: &WireMeta) -> bool {
    matches!(meta.kind, FileKind::Folder | FileKind::Regular)
}

/// What a step takes besides its name: itself in a list that grew by doubling, and what an allocator adds.
const STEP_BYTES: usize = 2 * size_of::<AheadStep>() + 32;
/// A name has no more letters than this.
const STEP_BYTES_MAX: usize = STEP_BYTES + 256;

/// What a step with a name takes in memory.
fn bytes_of(step: &AheadStep) -> usize {
    match &step.1 {
        PeerRequest::Enter { name, .. } | PeerRequest::Fetch { name, .. } => STEP_BYTES + name.capacity(),
        _ => 0,
    }
}

/// A request to answer next, and the number of its answer.
pub type AheadStep = (u64, PeerRequest);

/// What a walk sends ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AheadScope {
    /// Files up to this length are sent; none where it is 0.
    pub file_bytes_max: u32,
    /// Names of regular files come with their attributes.
    pub with_attributes: Option<bool>,
    /// Digests are sent instead of blocks.
    pub sum: Option<bool>,
    /// Empty files are sent, too, where others are.
    pub empty_files: bool,
    /// The places alone are opened, and their names are not walked.
    pub places_alone: bool,
    /// Before the block of a place's file comes what the file is by then.
    pub looks: bool,
    /// Files of folders are sent as they are by now, whatever length was listed.
    pub any_length: bool,
}

/// A walk ahead of the requests.
#[derive(Debug)]
pub struct WalkAhead {
    scope: AheadScope,
    /// The number of the next thing that is found.
    next: u64,
    /// Names of a batch that are next.
    current: VecDeque<AheadStep>,
    /// What comes behind them, the next one last.
    stack: Vec<AheadPart>,
    /// What was polled and is not answered: what follows from it is not known yet.
    asked: BTreeMap<u64, Unanswered>,
    /// Folders that were opened.
    open: BTreeSet<u64>,
    /// What the names take that are to come, and what they may: those beyond are left to requests.
    names_bytes: usize,
    room_bytes: usize,
}

/// A part of the walk.
#[derive(Debug)]
enum AheadPart {
    Place(u32, FileKind),
    /// The names of a folder from a place on.
    List(u64, u64),
    /// A batch of the names of a folder.
    Names(VecDeque<AheadStep>),
}

/// What was polled and is not answered.
#[derive(Debug)]
enum Unanswered {
    Look(u32),
    File,
    /// A folder; whether its names are wanted.
    Folder(bool),
    Names(ListedAhead),
}

/// What came of a listing until now.
#[derive(Debug)]
struct ListedAhead {
    folder: u64,
    is_wanted: bool,
    is_end: bool,
    steps: Vec<AheadStep>,
}

impl WalkAhead {
    /// Of so many places.
    pub fn new(places: u32, scope: AheadScope) -> WalkAhead {
        WalkAhead {
            scope,
            next: number_of_look(places),
            current: (0..places).map(|place| (number_of_look(place), PeerRequest::Look(place))).collect(),
            stack: Vec::new(),
            asked: BTreeMap::new(),
            open: BTreeSet::new(),
            names_bytes: 0,
            room_bytes: usize::MAX,
        }
    }

    /// So much room is left for names that are to come.
    pub fn room_left(&self) -> usize {
        self.room_bytes.saturating_sub(self.names_bytes)
    }

    /// Names that are to come may take so much.
    pub fn set_room(&mut self, bytes: usize) {
        self.room_bytes = bytes;
    }

    /// The request to answer next. `None` when nothing is left, or when that is not known before something is answered.
    pub fn poll(&mut self) -> Option<AheadStep> {
        while self.current.is_empty() {
            if !self.asked.is_empty() {
                return None;
            }
            self.go_on()?;
        }
        let step = self.current.pop_front()?;
        self.names_bytes -= bytes_of(&step);
        if let Some(asked) = Unanswered::from_request(&step.1) {
            self.asked.insert(step.0, asked);
        }
        Some(step)
    }

    /// The next part becomes the current one.
    fn go_on(&mut self) -> Option<()> {
        match self.stack.pop()? {
            AheadPart::Names(steps) => self.current = steps,
            AheadPart::List(folder, cookie) => {
                let with_attributes = self.scope.with_attributes;
                let list = PeerRequest::List { folder: AHEAD | folder, cookie, with_attributes };
                self.current.push_back((folder, list));
            }
            AheadPart::Place(place, kind) => {
                let number = number_of_root(place);
                let opened = match kind {
                    FileKind::Folder => PeerRequest::Root { folder: AHEAD | number, place },
                    _ => PeerRequest::OpenPlace { file: AHEAD | number, place },
                };
                self.current.push_back((number, opened));
            }
        }
        Some(())
    }

    /// Whether there is something to be answered now.
    pub fn has_next(&self) -> bool {
        !self.current.is_empty() || (self.asked.is_empty() && !self.stack.is_empty())
    }

    /// Whether an open file is looked at behind its block.
    pub fn looks(&self) -> bool {
        self.scope.looks
    }

    /// Whether nothing is left.
    pub fn is_over(&self) -> bool {
        self.current.is_empty() && self.stack.is_empty() && self.asked.is_empty()
    }

    /// An answer is about to be sent under this number. Names get the numbers of what follows. Whether the folder that
    /// it opens is unwanted since it was polled: [`Answer::Done`] comes behind it.
    pub fn handle_answer(&mut self, number: u64, answer: &mut Answer) -> bool {
        match (self.asked.remove(&number), answer) {
            (Some(Unanswered::Look(place)), Answer::Meta { meta, .. }) if is_walked(meta) => {
                // Places are walked in their order: the first one lies on top.
                self.stack.insert(0, AheadPart::Place(place, meta.kind));
            }
            (Some(Unanswered::File), Answer::File { meta, ranges: Some(_), follows, .. }) => {
                let (size, allocated) = (meta.size_bytes.0, meta.allocated_bytes.0);
                // A file that is open tells its holes.
                if is_sent_whole(size, allocated, self.scope.file_bytes_max, false) {
                    let (file, at, len) = (AHEAD | number, FileSize::of(0), size as u32);
                    *follows = Some(self.next);
                    self.current
                        .push_front((self.next, PeerRequest::Read { file, at, len, sum: self.scope.sum }));
                    self.next += 1;
                }
            }
            (Some(Unanswered::Folder(true)), Answer::Folder { .. }) => {
                self.open.insert(number);
                if !self.scope.places_alone {
                    self.stack.push(AheadPart::List(number, 0));
                }
            }
            (Some(Unanswered::Folder(false)), Answer::Folder { .. }) => return true,
            (Some(Unanswered::Names(listed)), Answer::Names { entries, cookie, more, .. }) => {
                self.handle_names(listed, entries, *cookie, *more);
            }
            _ => {}
        }
        false
    }

    fn handle_names(&mut self, mut listed: ListedAhead, entries: &mut [Entry], cookie: u64, more: bool) {
        if !listed.is_wanted {
            if more {
                self.asked.insert(listed.folder, Unanswered::Names(listed));
            }
            return;
        }
        for entry in entries {
            listed.is_end = false;
            if self.room_left() < STEP_BYTES_MAX {
                continue;
            }
            if let Some(request) = self.request_of(listed.folder, entry) {
                entry.follows = Some(self.next);
                let step = (self.next, request);
                self.names_bytes += bytes_of(&step);
                listed.steps.push(step);
                self.next += 1;
            }
        }
        if more {
            self.asked.insert(listed.folder, Unanswered::Names(listed));
            return;
        }
        if !listed.is_end {
            self.stack.push(AheadPart::List(listed.folder, cookie));
        }
        self.put_up(listed.steps);
    }

    /// In batches, the first one on top.
    fn put_up(&mut self, steps: Vec<AheadStep>) {
        let mut batches = Vec::new();
        let mut steps = steps.into_iter().peekable();
        while steps.peek().is_some() {
            batches.push(AheadPart::Names(steps.by_ref().take(BATCH_NAMES).collect()));
        }
        self.stack.extend(batches.into_iter().rev());
    }

    /// What follows a name. A file with several names is left to requests: it is copied once.
    fn request_of(&self, folder: u64, entry: &Entry) -> Option<PeerRequest> {
        let (meta, name, above) = (entry.meta.as_ref()?, entry.name.clone(), AHEAD | folder);
        let (size, allocated) = (meta.size_bytes.0, meta.allocated_bytes.0);
        match meta.kind {
            FileKind::Folder => Some(PeerRequest::Enter { folder: AHEAD | self.next, above, name }),
            FileKind::Regular if meta.links == 1 && self.is_sent(size, allocated) => {
                let AheadScope { file_bytes_max, sum, any_length, .. } = self.scope;
                let len_max = (any_length && sum != Some(true)).then_some(file_bytes_max);
                Some(PeerRequest::Fetch { above, name, len: size as u32, sum, len_max })
            }
            _ => None,
        }
    }

    fn is_sent(&self, size: u64, allocated: u64) -> bool {
        let AheadScope { file_bytes_max, empty_files, sum, .. } = self.scope;
        let is_empty = size == 0 && empty_files && file_bytes_max > 0;
        is_empty || is_sent_whole(size, allocated, file_bytes_max, sum == Some(true))
    }

    /// The other side does not want what has this number, nor what lies below it. Gives the numbers that are answered
    /// with [`Answer::Done`]: nothing comes under them any more.
    pub fn handle_unwanted(&mut self, number: u64) -> Vec<u64> {
        let (mut done, mut freed_bytes) = (Vec::new(), 0);
        match self.asked.get_mut(&number) {
            Some(Unanswered::Folder(is_wanted)) => *is_wanted = false,
            Some(Unanswered::Names(listed)) => {
                listed.is_wanted = false;
                freed_bytes += listed.steps.iter().map(bytes_of).sum::<usize>();
                done.extend(listed.steps.drain(..).map(|(number, _)| number));
            }
            _ => {}
        }
        let mut drop_of = |steps: &mut VecDeque<AheadStep>| {
            let is_left = |step: &AheadStep| step.0 != number && above(&step.1) != Some(AHEAD | number);
            let dropped = || steps.iter().filter(|step| !is_left(step));
            freed_bytes += dropped().map(bytes_of).sum::<usize>();
            done.extend(dropped().map(|step| step.0));
            steps.retain(is_left);
        };
        drop_of(&mut self.current);
        let mut is_place = false;
        self.stack.retain_mut(|part| match part {
            AheadPart::Names(steps) => {
                drop_of(steps);
                !steps.is_empty()
            }
            AheadPart::List(folder, _) => *folder != number,
            AheadPart::Place(place, _) => {
                is_place |= number_of_root(*place) == number;
                number_of_root(*place) != number
            }
        });
        self.names_bytes -= freed_bytes;
        if self.open.remove(&number) || is_place {
            done.push(number);
        }
        done.sort_unstable();
        done.dedup();
        done
    }
}

impl Unanswered {
    fn from_request(request: &PeerRequest) -> Option<Unanswered> {
        match request {
            PeerRequest::Look(place) => Some(Unanswered::Look(*place)),
            PeerRequest::OpenPlace { .. } => Some(Unanswered::File),
            PeerRequest::Root { .. } | PeerRequest::Enter { .. } => Some(Unanswered::Folder(true)),
            PeerRequest::List { folder, .. } => Some(Unanswered::Names(ListedAhead {
                folder: folder & !AHEAD,
                is_wanted: true,
                is_end: true,
                steps: Vec::new(),
            })),
            _ => None,
        }
    }
}

/// The folder in which something is requested by its name.
fn above(request: &PeerRequest) -> Option<u64> {
    match request {
        PeerRequest::Enter { above, .. } | PeerRequest::Fetch { above, .. } => Some(*above),
        PeerRequest::List { folder, .. } => Some(*folder),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
