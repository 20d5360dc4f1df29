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

use super::super::attributes::{Entry, EntryKind, WireMeta};
use super::super::bounds::FileSize;
use super::{Answer, PeerRequest};

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
/// an empty one has nothing to send.
pub fn is_sent_whole(size_bytes: u64, allocated_bytes: u64, most: u32) -> bool {
    (1..=u64::from(most)).contains(&size_bytes) && allocated_bytes >= size_bytes
}

/// Whether a place is opened ahead. Pipes and devices are not.
pub fn is_walked(meta: &WireMeta) -> bool {
    matches!(meta.kind, EntryKind::Folder | EntryKind::Regular)
}

/// A request to answer next, and the number of its answer.
pub type AheadStep = (u64, PeerRequest);

/// A walk ahead of the requests.
#[derive(Debug)]
pub struct WalkAhead {
    /// Files up to this length are sent; none where it is 0.
    file_bytes_max: u32,
    with_attributes: Option<bool>,
    /// Digests are sent instead of blocks.
    sum: Option<bool>,
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
}

/// A part of the walk.
#[derive(Debug)]
enum AheadPart {
    Place(u32, EntryKind),
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
    /// Of so many places. Files up to `file_bytes_max` bytes are sent, none where that is 0; `sum`: their digests.
    pub fn new(
        places: u32,
        (file_bytes_max, sum): (u32, Option<bool>),
        with_attributes: Option<bool>,
    ) -> WalkAhead {
        WalkAhead {
            file_bytes_max,
            with_attributes,
            sum,
            next: number_of_look(places),
            current: (0..places).map(|place| (number_of_look(place), PeerRequest::Look(place))).collect(),
            stack: Vec::new(),
            asked: BTreeMap::new(),
            open: BTreeSet::new(),
        }
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
        if let Some(asked) = Unanswered::of(&step.1) {
            self.asked.insert(step.0, asked);
        }
        Some(step)
    }

    /// The next part becomes the current one.
    fn go_on(&mut self) -> Option<()> {
        match self.stack.pop()? {
            AheadPart::Names(steps) => self.current = steps,
            AheadPart::List(folder, cookie) => {
                let with_attributes = self.with_attributes;
                let list = PeerRequest::List { folder: AHEAD | folder, cookie, with_attributes };
                self.current.push_back((folder, list));
            }
            AheadPart::Place(place, kind) => {
                let number = number_of_root(place);
                let opened = match kind {
                    EntryKind::Folder => PeerRequest::Root { folder: AHEAD | number, place },
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
                if is_sent_whole(size, allocated, self.file_bytes_max) {
                    let (file, at, len) = (AHEAD | number, FileSize::of(0), size as u32);
                    *follows = Some(self.next);
                    self.current.push_front((self.next, PeerRequest::Read { file, at, len, sum: self.sum }));
                    self.next += 1;
                }
            }
            (Some(Unanswered::Folder(true)), Answer::Folder { .. }) => {
                self.open.insert(number);
                self.stack.push(AheadPart::List(number, 0));
            }
            (Some(Unanswered::Folder(false)), Answer::Folder { .. }) => return true,
            (Some(Unanswered::Names(listed)), Answer::Names { entries, cookie, more, .. }) => {
                self.handle_names(listed, (entries, *cookie, *more));
            }
            _ => {}
        }
        false
    }

    fn handle_names(&mut self, mut listed: ListedAhead, (entries, cookie, more): (&mut [Entry], u64, bool)) {
        if !listed.is_wanted {
            if more {
                self.asked.insert(listed.folder, Unanswered::Names(listed));
            }
            return;
        }
        for entry in entries {
            listed.is_end = false;
            if let Some(request) = self.request_of(listed.folder, entry) {
                entry.follows = Some(self.next);
                listed.steps.push((self.next, request));
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
            EntryKind::Folder => Some(PeerRequest::Enter { folder: AHEAD | self.next, above, name }),
            EntryKind::Regular if meta.links == 1 && is_sent_whole(size, allocated, self.file_bytes_max) => {
                Some(PeerRequest::Fetch { above, name, len: size as u32, sum: self.sum })
            }
            _ => None,
        }
    }

    /// The other side does not want what has this number, nor what lies below it. Gives the numbers that are answered
    /// with [`Answer::Done`]: nothing comes under them any more.
    pub fn handle_unwanted(&mut self, number: u64) -> Vec<u64> {
        let mut done = Vec::new();
        match self.asked.get_mut(&number) {
            Some(Unanswered::Folder(is_wanted)) => *is_wanted = false,
            Some(Unanswered::Names(listed)) => {
                listed.is_wanted = false;
                done.extend(listed.steps.drain(..).map(|(number, _)| number));
            }
            _ => {}
        }
        let mut drop_of = |steps: &mut VecDeque<AheadStep>| {
            let is_left = |step: &AheadStep| step.0 != number && above(&step.1) != Some(AHEAD | number);
            done.extend(steps.iter().filter(|step| !is_left(step)).map(|step| step.0));
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
        if self.open.remove(&number) || is_place {
            done.push(number);
        }
        done.sort_unstable();
        done.dedup();
        done
    }
}

impl Unanswered {
    fn of(request: &PeerRequest) -> Option<Unanswered> {
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
mod tests {
    use super::super::super::attributes::TimeNs;
    use super::super::super::bounds::OwnerId;
    use super::*;

    const SMALL: u32 = 1000;

    fn meta(kind: EntryKind, size: u64, links: u64) -> WireMeta {
        let (uid, gid, time) = (OwnerId(0), OwnerId(0), TimeNs(0));
        let size_bytes = FileSize::of(size);
        let (allocated_bytes, mode, device, inode) = (size_bytes, 0o644, 1, 1);
        let (atime, mtime, ctime, special_device, generation) = (time, time, time, 0, None);
        WireMeta {
            kind,
            mode,
            uid,
            gid,
            size_bytes,
            allocated_bytes,
            device,
            inode,
            links,
            atime,
            mtime,
            ctime,
            special_device,
            generation,
        }
    }

    fn folder() -> Answer {
        let meta = meta(EntryKind::Folder, 0, 2);
        Answer::Folder { meta, attributes: Vec::new(), made_up: false, owners: None }
    }

    fn looked(kind: EntryKind) -> Answer {
        Answer::Meta { meta: meta(kind, 500, 1), named: None, is_partial: None, owners: None }
    }

    /// `d…` are folders, `2…` a file with two names, `L…` a large one, others are small files.
    fn listed(names: &[&str]) -> Vec<Entry> {
        let entry = |name: &&str| {
            let meta = match name.as_bytes()[0] {
                b'd' => meta(EntryKind::Folder, 0, 2),
                b'2' => meta(EntryKind::Regular, 500, 2),
                b'L' => meta(EntryKind::Regular, 5000, 1),
                _ => meta(EntryKind::Regular, 500, 1),
            };
            let name = name.as_bytes().to_vec().into();
            let (points_to, attributes, errno, is_partial, follows) = (None, None, None, None, None);
            Entry { name, meta: Some(meta), points_to, attributes, errno, is_partial, follows }
        };
        names.iter().map(entry).collect()
    }

    fn words(request: &PeerRequest) -> String {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        match request {
            PeerRequest::Look(place) => format!("look {place}"),
            PeerRequest::Root { place, .. } => format!("root {place}"),
            PeerRequest::OpenPlace { place, .. } => format!("open {place}"),
            PeerRequest::Read { len, .. } => format!("read {len}"),
            PeerRequest::Enter { name, .. } => format!("enter {}", text(name)),
            PeerRequest::Fetch { name, .. } => text(name),
            PeerRequest::List { folder, cookie, .. } => format!("list {} {cookie}", folder & !AHEAD),
            other => format!("{other:?}"),
        }
    }

    /// Everything that a walk answers, in its order. `names` gives the names of a folder at a place, by the name of the
    /// folder.
    fn walked(walk: &mut WalkAhead, names: impl Fn(&str, u64) -> Vec<Entry>) -> Vec<String> {
        let (mut said, mut folders) = (Vec::new(), BTreeMap::new());
        while let Some((number, request)) = walk.poll() {
            said.push(words(&request));
            let mut answer = match &request {
                PeerRequest::Look(0) => looked(EntryKind::Folder),
                PeerRequest::Look(_) => looked(EntryKind::Regular),
                PeerRequest::Root { .. } => folder(),
                PeerRequest::Enter { name, .. } => {
                    folders.insert(number, String::from_utf8_lossy(name).into_owned());
                    folder()
                }
                PeerRequest::List { cookie, .. } => {
                    let name = folders.get(&number).map_or("", String::as_str);
                    let entries = names(name, *cookie);
                    Answer::Names { entries, cookie: cookie + 1, more: false, owners: None }
                }
                PeerRequest::OpenPlace { .. } => {
                    let ranges = Some(Vec::new());
                    let meta = meta(EntryKind::Regular, 500, 1);
                    Answer::File { meta, attributes: Vec::new(), ranges, owners: None, follows: None }
                }
                _ => Answer::Done,
            };
            assert!(!walk.handle_answer(number, &mut answer));
        }
        assert!(walk.is_over() && !walk.has_next());
        said
    }

    #[test]
    fn a_tree_is_walked_as_a_lane_walks_it() {
        let mut walk = WalkAhead::new(2, (SMALL, None), None);
        let names = |folder: &str, cookie: u64| match (folder, cookie) {
            ("", 0) => listed(&["a", "d1", "2links", "d2", "Large", "b"]),
            ("", 1) => listed(&["c"]),
            ("d2", 0) => listed(&["in d2"]),
            _ => Vec::new(),
        };
        let expected = [
            "look 0", "look 1", "root 0", "list 2 0", "a", "enter d1", "enter d2", "b", "list 7 0", "in d2",
            "list 7 1", "list 6 0", "list 2 1", "c", "list 2 2", "open 1", "read 500",
        ];
        assert_eq!(walked(&mut walk, names), expected);
    }

    #[test]
    fn folders_of_a_batch_come_before_the_next_batch() {
        let wide: Vec<String> = (0..BATCH_NAMES).map(|number| format!("d{number}")).collect();
        let mut wide: Vec<&str> = wide.iter().map(String::as_str).collect();
        wide.push("behind");
        let mut walk = WalkAhead::new(1, (SMALL, None), None);
        let said = walked(&mut walk, |folder, cookie| match (folder, cookie) {
            ("", 0) => listed(&wide),
            _ => Vec::new(),
        });
        let at = |what: &str| said.iter().position(|said| said == what).expect("it is walked");
        let lists = said.iter().filter(|said| said.starts_with("list")).count();
        assert_eq!((lists, at("behind")), (BATCH_NAMES + 2, 3 + 2 * BATCH_NAMES));
    }

    #[test]
    fn without_content_only_folders_follow() {
        let mut walk = WalkAhead::new(1, (0, None), Some(true));
        let said = walked(&mut walk, |folder, cookie| match (folder, cookie) {
            ("", 0) => listed(&["a", "d1"]),
            ("d1", 0) => listed(&["b"]),
            _ => Vec::new(),
        });
        assert_eq!(said, ["look 0", "root 0", "list 2 0", "enter d1", "list 3 0", "list 3 1", "list 2 1"]);
    }

    /// Answers until the folder of the place is listed with these names.
    fn begun(names: &[&str]) -> WalkAhead {
        let mut walk = WalkAhead::new(1, (SMALL, None), None);
        for answer in [looked(EntryKind::Folder), folder()] {
            let (number, _) = walk.poll().expect("a place");
            walk.handle_answer(number, &mut answer.clone());
        }
        let (number, _) = walk.poll().expect("its names");
        assert_eq!(walk.poll(), None, "what comes next is not known yet");
        let mut answer = Answer::Names { entries: listed(names), cookie: 1, more: false, owners: None };
        walk.handle_answer(number, &mut answer);
        let Answer::Names { entries, .. } = answer else { unreachable!("it was one") };
        let numbers: Vec<_> = entries.iter().map(|entry| entry.follows).collect();
        assert_eq!(numbers, (3..3 + names.len() as u64).map(Some).collect::<Vec<_>>());
        walk
    }

    #[test]
    fn what_is_unwanted_is_left_out_and_told_once() {
        let mut walk = begun(&["a", "b", "d", "c"]);
        assert_eq!(walk.handle_unwanted(4), [4], "a file that was to come");
        assert_eq!(walk.handle_unwanted(4), [0; 0]);
        assert_eq!(walk.poll().expect("a").0, 3);
        assert_eq!(walk.handle_unwanted(3), [0; 0], "it is on its way");
        // A folder that is being opened.
        assert_eq!(walk.poll().expect("d").0, 5);
        assert_eq!(walk.handle_unwanted(5), [0; 0]);
        assert!(walk.handle_answer(5, &mut folder()), "it is given back at once");
        // The root, with what is left of it.
        assert_eq!(walk.handle_unwanted(2), [2, 6]);
        assert!(walk.is_over() && walk.poll().is_none());
    }

    #[test]
    fn a_folder_that_is_left_while_it_is_listed_has_no_names_that_follow() {
        let mut walk = begun(&["d"]);
        assert_eq!(walk.poll().expect("d").0, 3);
        walk.handle_answer(3, &mut folder());
        assert_eq!(walk.poll().expect("its names").0, 3);
        assert_eq!(walk.handle_unwanted(3), [3]);
        let mut answer = Answer::Names { entries: listed(&["x"]), cookie: 1, more: false, owners: None };
        walk.handle_answer(3, &mut answer);
        let Answer::Names { entries, .. } = answer else { unreachable!("it was one") };
        assert_eq!(entries[0].follows, None);
        assert_eq!(words(&walk.poll().expect("the rest of the root").1), "list 2 1");
    }
}
