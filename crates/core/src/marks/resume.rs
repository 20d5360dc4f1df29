//! The journal of one large file on its way, as bytes: which of its ranges are written and which are on stable storage,
//! so that the same command goes on with it after a cut or a kill.
//!
//! A head of 512 bytes tells what it belongs to: the source as it was, and the temporary file that is written. Behind
//! it stand records of 32 bytes, each one fact with a checksum of its own, true whatever became of the others: a torn
//! or lost record costs the range that it told, never more. A record is written anew as its range grows, so that the
//! journal of 4 TiB is as small as that of 64 MiB: one record for each piece that is not yet joined with another.
//!
//! Two words for two promises. *Written*: a direct write has ended, which the system keeps as long as it runs and the
//! file system stays mounted; such a record names that life, and counts for nothing in another. What went through the
//! cache is told as written only where no sync is asked for: the write-back may fail and tell nobody. *Synced*: on
//! stable storage, and told only behind the sync. A synced range that grows is told at two places in turn, so that
//! the power may fail while one of them is written.
//!
//! Must not know: files, where the journal is kept, what boot and mount are.

use std::collections::BTreeMap;

/// The first bytes of a journal; the digit is the version. One of version 2 is of a source that was too young when it
/// was looked at, or was written by an older pump, which did not ask.
const MAGIC: [u8; 8] = *b"pumpres3";
const MAGIC_UNSETTLED: [u8; 8] = *b"pumpres2";
/// Bytes before the first record.
pub const HEAD_BYTES: usize = 512;
/// Bytes of a record; none crosses a sector of a disk.
pub const RECORD_BYTES: usize = 32;
/// Most records: 2 MiB. Lanes draw neighbouring blocks, so that a thousandth of it would do.
pub const RECORDS_MAX: usize = 1 << 16;
/// Ranges that are gone on behind begin and end at multiples of this, as direct requests must.
pub const GRAIN_BYTES: u64 = 4096;

/// A file's source as it was told: any difference makes it another source. Times are nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceId {
    /// Device that it lies on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its length in bytes.
    pub size_bytes: u64,
    /// Last change of its content.
    pub mtime_ns: i128,
    /// Last change of its attributes: content may change in size and time of change alike.
    pub ctime_ns: i128,
}

/// The temporary file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetId {
    /// Device that it lies on.
    pub device: u64,
    /// Its number there, which is given to another file once it is gone.
    pub inode: u64,
    /// When it was made, if the file system tells; else 0.
    pub born_ns: i128,
}

/// What a journal belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumeHead {
    /// Where the bytes come from.
    pub source: SourceId,
    /// Where they are.
    pub target: TargetId,
    /// The times of the source had settled when it was looked at, so that any later change shows in them. Otherwise what
    /// is written may be of another content with the same times.
    pub is_settled: bool,
}

/// During which run of the system, and which mount of the file system, something was written. Zeros where the system
/// does not tell: then nobody knows whether it is the same life, and only what was synced counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumeLife {
    /// The boot.
    pub boot: [u8; 16],
    /// The mount, by a number that no later one gets.
    pub mount: u64,
    /// No sync was asked for: what was written may be in the cache alone, and counts for who asks for none either.
    pub is_unsynced: bool,
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo); with seed 0 as they wrote it.
pub fn fnv(seed: u64, bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325 ^ seed, step)
}

/// The same, mixed once more (the finisher of MurmurHash3, Appleby).
fn hash(seed: u64, bytes: &[u8]) -> u64 {
    let hash = fnv(seed, bytes);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ hash >> 33
}

impl ResumeLife {
    fn is_known(&self) -> bool {
        self.boot != [0; 16] && self.mount != 0
    }

    /// What records of this life bear: 62 bits.
    fn tag(&self) -> u64 {
        hash(self.mount ^ u64::from(self.is_unsynced).reverse_bits(), &self.boot) >> 2
    }
}

impl ResumeHead {
    /// The head as bytes.
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let ResumeHead { source, target, is_settled } = self;
        let mut bytes = Vec::from(if *is_settled { MAGIC } else { MAGIC_UNSETTLED });
        for number in [source.device, source.inode, source.size_bytes, target.device, target.inode] {
            bytes.extend(number.to_le_bytes());
        }
        for time in [source.mtime_ns, source.ctime_ns, target.born_ns] {
            bytes.extend(time.to_le_bytes());
        }
        bytes.extend(hash(0, &bytes).to_le_bytes());
        let mut head = [0; HEAD_BYTES];
        head[..bytes.len()].copy_from_slice(&bytes);
        head
    }

    /// Reads a head; `None` for what is none, or damaged, or of another version.
    pub fn decode(bytes: &[u8]) -> Option<ResumeHead> {
        let bytes: &[u8; HEAD_BYTES] = bytes.first_chunk()?;
        let number = |at: usize| bytes[at..].first_chunk().map(|chunk| u64::from_le_bytes(*chunk));
        let time = |at: usize| bytes[at..].first_chunk().map(|chunk| i128::from_le_bytes(*chunk));
        let source = SourceId {
            device: number(8)?,
            inode: number(16)?,
            size_bytes: number(24)?,
            mtime_ns: time(48)?,
            ctime_ns: time(64)?,
        };
        let target = TargetId { device: number(32)?, inode: number(40)?, born_ns: time(80)? };
        let head = ResumeHead { source, target, is_settled: bytes.starts_with(&MAGIC) };
        (head.encode() == *bytes).then_some(head)
    }

    fn seed(&self) -> u64 {
        hash(1, &self.encode())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordKind {
    Written,
    Synced,
    /// Not a range: how many bytes may have come without being told.
    Doubt,
}

const KINDS: [RecordKind; 3] = [RecordKind::Written, RecordKind::Synced, RecordKind::Doubt];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    kind: RecordKind,
    /// Of what is written: in which life.
    life: u64,
    start: u64,
    end: u64,
}

impl Record {
    fn encode(&self, seed: u64) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&self.start.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.end.to_le_bytes());
        bytes[16..24].copy_from_slice(&(self.life << 2 | self.kind as u64).to_le_bytes());
        let check = hash(seed, &bytes[..24]);
        bytes[24..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// `None` for a record that was never written, torn or damaged, and for one that leads out of the file.
    fn decode(bytes: &[u8], seed: u64, size_bytes: u64) -> Option<Record> {
        let bytes: &[u8; RECORD_BYTES] = bytes.first_chunk()?;
        let number = |at: usize| bytes[at..].first_chunk().map(|chunk| u64::from_le_bytes(*chunk));
        let (start, end, tag) = (number(0)?, number(8)?, number(16)?);
        let kind = *KINDS.get((tag & 3) as usize)?;
        let record = Record { kind, life: tag >> 2, start, end };
        let is_sane = start < end && end <= size_bytes;
        (is_sane && number(24)? == hash(seed, &bytes[..24])).then_some(record)
    }
}

/// Ranges of bytes, joined where they touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range.
    pub fn insert(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let (mut start, mut end) = (start, end);
        while let Some((&at, &until)) = self.0.range(..=end).next_back()
            && until >= start
        {
            self.0.remove(&at);
            (start, end) = (start.min(at), end.max(until));
        }
        self.0.insert(start, end);
    }

    /// The ranges, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(&start, &end)| (start, end))
    }

    /// Number of bytes.
    pub fn total(&self) -> u64 {
        self.iter().map(|(start, end)| end - start).sum()
    }

    fn covers(&self, start: u64, end: u64) -> bool {
        self.0.range(..=start).next_back().is_some_and(|(_, &until)| end <= until)
    }

    /// What of `wanted` (in order) is not in here. Edges that are in here are moved inwards to whole grains, but for
    /// the end of the file.
    pub fn missing(&self, wanted: &[(u64, u64)], size_bytes: u64) -> Vec<(u64, u64)> {
        let mut missing = Vec::new();
        let whole = |end: u64| if end == size_bytes { end } else { end / GRAIN_BYTES * GRAIN_BYTES };
        for &(start, end) in wanted {
            let mut at = start;
            for (known, until) in self.iter() {
                let (known, until) = (known.next_multiple_of(GRAIN_BYTES), whole(until));
                if until <= at || known >= end || known >= until {
                    continue;
                }
                if known > at {
                    missing.push((at, known));
                }
                at = until;
            }
            if at < end {
                missing.push((at, end));
            }
        }
        missing
    }
}

/// Bytes to be written at an offset of the journal.
pub type ResumeEntry = (u64, [u8; RECORD_BYTES]);

/// A synced range and where it is told: the newer place, and the one that is written next.
#[derive(Clone, Copy, Debug)]
struct ToldRange {
    start: u64,
    end: u64,
    place: u32,
    spare: Option<u32>,
}

/// A journal in memory. It does not write: it says what is to be written where, in this order.
#[derive(Debug)]
pub struct JournalMachine {
    head: ResumeHead,
    seed: u64,
    life: u64,
    /// All that counts, of earlier runs too.
    written: Ranges,
    synced: Ranges,
    /// Written ranges by their starts, and the starts by their ends: each has one place.
    starts: BTreeMap<u64, (u64, u32)>,
    ends: BTreeMap<u64, u64>,
    told: Vec<ToldRange>,
    free: Vec<u32>,
    /// Places in use, the first for doubt.
    places: u32,
    /// Bytes of earlier runs that came and do not count.
    doubt_bytes: u64,
}

impl JournalMachine {
    /// A journal in which nothing stands yet; what it belongs to is written first ([`ResumeHead::encode`]).
    pub fn new(head: ResumeHead, life: ResumeLife) -> JournalMachine {
        JournalMachine {
            head,
            seed: head.seed(),
            life: life.tag(),
            written: Ranges::default(),
            synced: Ranges::default(),
            starts: BTreeMap::new(),
            ends: BTreeMap::new(),
            told: Vec::new(),
            free: Vec::new(),
            places: 1,
            doubt_bytes: 0,
        }
    }

    /// What stands in a journal; `None` for what is none. Bytes beyond [`RECORDS_MAX`] records are not looked at.
    pub fn read(bytes: &[u8], life: ResumeLife) -> Option<JournalMachine> {
        let head = ResumeHead::decode(bytes)?;
        let mut journal = JournalMachine::new(head, life);
        let mut lost = Ranges::default();
        let records = bytes[HEAD_BYTES..].chunks_exact(RECORD_BYTES).take(RECORDS_MAX);
        for (place, record) in (0..).zip(records) {
            let record = Record::decode(record, journal.seed, head.source.size_bytes);
            journal.places = place + 1;
            match record {
                Some(Record { kind: RecordKind::Doubt, end, .. }) if place == 0 => journal.doubt_bytes = end,
                _ if place == 0 => {}
                Some(Record { kind: RecordKind::Written, life: of, start, end })
                    if life.is_known() && of == journal.life =>
                {
                    journal.place(start, end, place);
                }
                Some(Record { kind: RecordKind::Synced, start, end, .. }) => {
                    journal.told.push(ToldRange { start, end, place, spare: None });
                    journal.synced.insert(start, end);
                }
                other => {
                    lost.insert(other.map_or(0, |other| other.start), other.map_or(0, |other| other.end));
                    journal.free.push(place);
                }
            }
        }
        journal.places = journal.places.max(1);
        journal.forget_older_told();
        journal.synced.clone().iter().for_each(|(start, end)| journal.written.insert(start, end));
        let size_bytes = head.source.size_bytes;
        let lost: Vec<(u64, u64)> = lost.iter().collect();
        let lost = journal.written.missing(&lost, size_bytes).iter().map(|(start, end)| end - start).sum();
        journal.doubt_bytes = journal.doubt_bytes.saturating_add(lost).min(size_bytes);
        Some(journal)
    }

    /// A range that was told at two places counts at the later one; the other is free.
    fn forget_older_told(&mut self) {
        let told = std::mem::take(&mut self.told);
        for (index, one) in told.iter().enumerate() {
            let is_in = |(other_index, other): (usize, &ToldRange)| {
                let within = other.start <= one.start && one.end <= other.end;
                let same = (other.start, other.end) == (one.start, one.end);
                other_index != index && within && (!same || other_index < index)
            };
            if told.iter().enumerate().any(is_in) { self.free.push(one.place) } else { self.told.push(*one) }
        }
    }

    /// What it belongs to.
    pub fn head(&self) -> &ResumeHead {
        &self.head
    }

    /// The ranges that count.
    pub fn written(&self) -> &Ranges {
        &self.written
    }

    /// Bytes that came to earlier runs and do not count: at most so many come twice.
    pub fn doubt_bytes(&self) -> u64 {
        self.doubt_bytes
    }

    /// A run begins that may have so many bytes under way at a time, which a kill leaves unrecorded. One that ends in order
    /// says here how many it leaves.
    pub fn begin(&mut self, under_way_bytes: u64) -> ResumeEntry {
        let size_bytes = self.head.source.size_bytes;
        let end = self.doubt_bytes.saturating_add(under_way_bytes).clamp(1, size_bytes.max(1));
        self.entry(0, Record { kind: RecordKind::Doubt, life: 0, start: 0, end })
    }

    fn entry(&self, place: u32, record: Record) -> ResumeEntry {
        let at = HEAD_BYTES as u64 + u64::from(place) * RECORD_BYTES as u64;
        (at, record.encode(self.seed))
    }

    fn place(&mut self, start: u64, end: u64, place: u32) {
        self.written.insert(start, end);
        // Two of one start can only have come from a damaged journal; both count, and one place is not used again.
        self.starts.insert(start, (end, place));
        self.ends.insert(end, start);
    }

    fn free_place(&mut self) -> Option<u32> {
        let place = self.free.pop().or((self.places < RECORDS_MAX as u32).then_some(self.places))?;
        self.places = self.places.max(place + 1);
        Some(place)
    }

    /// A range is written. Returns the entry to write; `None` if the journal is full: then it is copied again.
    pub fn add_written(&mut self, start: u64, end: u64) -> Option<ResumeEntry> {
        let (mut whole, mut place) = ((start, end), None);
        if let Some(before) = self.ends.get(&start).copied()
            && let Some((until, used)) = self.starts.get(&before).copied()
            && until == start
        {
            self.drop_written(before, start);
            (whole.0, place) = (before, Some(used));
        }
        let mut freed = None;
        if let Some((until, used)) = self.starts.get(&end).copied() {
            self.drop_written(end, until);
            whole.1 = until;
            freed = place.replace(place.unwrap_or(used)).map(|_| used);
        }
        let place = place.or_else(|| self.free_place())?;
        // Free only now: this record tells what stood there, too.
        self.free.extend(freed);
        self.place(whole.0, whole.1, place);
        let record = Record { kind: RecordKind::Written, life: self.life, start: whole.0, end: whole.1 };
        Some(self.entry(place, record))
    }

    fn drop_written(&mut self, start: u64, end: u64) {
        self.starts.remove(&start);
        if self.ends.get(&end) == Some(&start) {
            self.ends.remove(&end);
        }
    }

    /// Ranges are on stable storage: what is to be told of them.
    pub fn add_synced(&mut self, ranges: &Ranges) -> Vec<ResumeEntry> {
        let mut entries = Vec::new();
        for (start, end) in ranges.iter() {
            if self.synced.covers(start, end) {
                continue;
            }
            self.synced.insert(start, end);
            self.written.insert(start, end);
            let (inside, others) = std::mem::take(&mut self.told)
                .into_iter()
                .partition(|told: &ToldRange| start <= told.start && told.end <= end);
            self.told = others;
            entries.extend(self.tell_synced(start, end, inside));
        }
        entries
    }

    fn tell_synced(&mut self, start: u64, end: u64, inside: Vec<ToldRange>) -> Option<ResumeEntry> {
        let mut inside = inside.into_iter();
        let longest = inside.next();
        let place = longest.and_then(|told| told.spare).or_else(|| self.free_place())?;
        // What they tell stays true; their places are written again only by what comes later.
        for told in inside {
            self.free.insert(0, told.place);
            told.spare.into_iter().for_each(|spare| self.free.insert(0, spare));
        }
        self.told.push(ToldRange { start, end, place, spare: longest.map(|told| told.place) });
        Some(self.entry(place, Record { kind: RecordKind::Synced, life: 0, start, end }))
    }
}
