//! Adds up the sectors of a file: runs of one judgement, and faults of them.
//!
//! Must not know: how sectors are judged, how they are read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::layout::file_name;
use super::sector::{Judgement, SECTOR_BYTES, SectorForm, SectorName, is_zero};

const SECTOR: u64 = SECTOR_BYTES as u64;

/// The most runs of a file that are told apart: a run takes 100 bytes of memory, and whoever has
/// 50,000 faults in a file needs another disk, not a longer list.
const RUNS_MAX: usize = 100_000;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScrubFaultKind {
    /// Few bits differ; offset and length are those of the bytes.
    Bit,
    /// The content is another, from nowhere that is known.
    Sector,
    /// A block of another offset or file; `from` says which.
    Swapped,
    /// An older generation: a write was lost; `bits` says of how many bits it is wrong besides.
    Stale,
    /// Zeros.
    Zeroed,
    /// The tail is missing.
    Truncated,
    /// The file is missing.
    Missing,
    /// Bytes behind the end.
    Trailing,
    /// It could not be read, or there were too many faults before: nothing is known of it.
    Unread,
}

impl ScrubFaultKind {
    /// The name in `--json`.
    pub fn name(self) -> &'static str {
        match self {
            ScrubFaultKind::Bit => "bit",
            ScrubFaultKind::Sector => "sector",
            ScrubFaultKind::Swapped => "swapped",
            ScrubFaultKind::Stale => "stale",
            ScrubFaultKind::Zeroed => "zeroed",
            ScrubFaultKind::Truncated => "truncated",
            ScrubFaultKind::Missing => "missing",
            ScrubFaultKind::Trailing => "trailing",
            ScrubFaultKind::Unread => "unread",
        }
    }
}

/// A fault: neighbouring sectors of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScrubFault {
    /// The name of the file in the folder.
    pub file: String,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// How many bytes are concerned.
    pub length: u64,
    /// The kind of fault.
    pub kind: ScrubFaultKind,
    /// How many bits differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<u64>,
    /// The generation that was found: of what is stale, or was swapped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<u64>,
    /// Where a swapped block belongs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<ScrubOrigin>,
}

/// Where a swapped block belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScrubOrigin {
    /// The name of the file.
    pub file: String,
    /// Its offset there, in bytes.
    pub offset: u64,
}

/// Neighbouring sectors that are one in what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SectorRun {
    end: u64,
    found: FoundSectors,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FoundSectors {
    Whole {
        generation: u64,
    },
    /// From the first wrong byte to behind the last one, in the file.
    Bits {
        generation: u64,
        start: u64,
        end: u64,
        count: u64,
    },
    /// The run's first sector belongs there.
    Elsewhere(SectorName),
    Zeros,
    Garbage,
}

/// What was found in one file.
#[derive(Clone, Debug, Default)]
pub struct FileRuns {
    runs: BTreeMap<u64, SectorRun>,
    newest: u64,
    /// The offset of the bytes behind the last whole sector, and these bytes.
    tail: Option<(u64, Vec<u8>)>,
}

impl FileRuns {
    /// Adds a sector at this offset.
    pub fn add(&mut self, offset: u64, judged: Judgement) {
        let (start, end) = (offset, offset + SECTOR);
        let found = match judged {
            Judgement::Whole { generation } => FoundSectors::Whole { generation },
            Judgement::Bits { generation, first, last, count } => FoundSectors::Bits {
                generation,
                start: offset + u64::from(first),
                end: offset + u64::from(last) + 1,
                count: count.into(),
            },
            Judgement::Elsewhere(name) => FoundSectors::Elsewhere(name),
            Judgement::Zeros => FoundSectors::Zeros,
            Judgement::Garbage => FoundSectors::Garbage,
        };
        // What belongs elsewhere may be of another folder with this seed, whose generations count apart.
        if let Judgement::Whole { generation } = judged {
            self.newest = self.newest.max(generation);
        }
        self.insert(start, SectorRun { end, found });
    }

    /// Adds the bytes behind the last whole sector.
    pub fn add_tail(&mut self, offset: u64, bytes: &[u8]) {
        self.tail = Some((offset, bytes.to_vec()));
    }

    /// Adds what was found in other blocks of the file.
    pub fn merge(&mut self, other: FileRuns) {
        self.newest = self.newest.max(other.newest);
        self.tail = other.tail.or(self.tail.take());
        other.runs.into_iter().for_each(|(start, run)| self.insert(start, run));
    }

    /// The newest generation that was seen in a whole sector; 0 if there was none.
    pub fn newest(&self) -> u64 {
        self.newest
    }

    fn insert(&mut self, mut start: u64, mut run: SectorRun) {
        if let Some((&before, earlier)) = self.runs.range(..start).next_back()
            && let Some(found) = joined(before, *earlier, start, run)
        {
            (start, run.found) = (before, found);
        }
        if let Some((&behind, later)) = self.runs.range(run.end..).next()
            && let Some(found) = joined(start, run, behind, *later)
        {
            run = SectorRun { end: later.end, found };
            self.runs.remove(&behind);
        }
        if self.runs.len() >= RUNS_MAX && !self.runs.contains_key(&start) {
            return;
        }
        self.runs.insert(start, run);
    }

    /// The faults of the file that should have this length and was found with that one, or not at all.
    pub fn faults(
        &self,
        form: &SectorForm,
        file: u32,
        newest: u64,
        lengths: (u64, Option<u64>),
    ) -> Vec<ScrubFault> {
        let (expected, Some(length)) = lengths else {
            return vec![fault(file, 0, lengths.0, ScrubFaultKind::Missing)];
        };
        let judged = expected.min(length);
        let mut faults = Vec::new();
        let mut reached = 0;
        for (&start, run) in self.runs.range(..judged) {
            if start > reached {
                faults.push(fault(file, reached, start, ScrubFaultKind::Unread));
            }
            faults.extend(run.fault(file, start, newest));
            reached = run.end;
        }
        if let Some((offset, bytes)) = self.tail.as_ref().filter(|(offset, _)| *offset == reached) {
            reached = judged;
            faults.extend(tail_fault(form, SectorName { file, offset: *offset, generation: newest }, bytes));
        }
        let behind = [
            (reached, judged, ScrubFaultKind::Unread),
            (length, expected, ScrubFaultKind::Truncated),
            (expected, length, ScrubFaultKind::Trailing),
        ];
        let behind = behind.into_iter().filter(|(start, end, _)| start < end);
        faults.extend(behind.map(|(start, end, kind)| fault(file, start, end, kind)));
        faults
    }
}

/// What two runs are together, if they are one.
fn joined(start: u64, one: SectorRun, next: u64, other: SectorRun) -> Option<FoundSectors> {
    if one.end != next {
        return None;
    }
    match (one.found, other.found) {
        (
            FoundSectors::Bits { generation, start, count, .. },
            FoundSectors::Bits { generation: same, end, count: more, .. },
        ) => {
            (generation == same).then_some(FoundSectors::Bits { generation, start, end, count: count + more })
        }
        (FoundSectors::Elsewhere(from), FoundSectors::Elsewhere(then)) => {
            let offset = from.offset + (next - start);
            (SectorName { offset, ..from } == then).then_some(one.found)
        }
        (found, then) => (found == then).then_some(found),
    }
}

impl SectorRun {
    fn fault(&self, file: u32, start: u64, newest: u64) -> Option<ScrubFault> {
        let of = |kind| fault(file, start, self.end, kind);
        Some(match self.found {
            FoundSectors::Whole { generation } if generation == newest => return None,
            FoundSectors::Whole { generation } => {
                ScrubFault { generation: Some(generation), ..of(ScrubFaultKind::Stale) }
            }
            FoundSectors::Bits { generation, start, end, count } if generation == newest => {
                ScrubFault { bits: Some(count), ..fault(file, start, end, ScrubFaultKind::Bit) }
            }
            // All of it is another content than what should be there.
            FoundSectors::Bits { generation, count, .. } => {
                let stale = of(ScrubFaultKind::Stale);
                ScrubFault { bits: Some(count), generation: Some(generation), ..stale }
            }
            FoundSectors::Elsewhere(from) => ScrubFault {
                generation: Some(from.generation),
                from: Some(ScrubOrigin { file: file_name(from.file), offset: from.offset }),
                ..of(ScrubFaultKind::Swapped)
            },
            FoundSectors::Zeros => of(ScrubFaultKind::Zeroed),
            FoundSectors::Garbage => of(ScrubFaultKind::Sector),
        })
    }
}

/// The fault of a sector that is cut, of which only the first bytes can be compared.
fn tail_fault(form: &SectorForm, name: SectorName, bytes: &[u8]) -> Option<ScrubFault> {
    let mut expected = [0; SECTOR_BYTES];
    form.make(name, &mut expected);
    let end = name.offset + bytes.len() as u64;
    let kind = if is_zero(bytes) { ScrubFaultKind::Zeroed } else { ScrubFaultKind::Sector };
    (!expected.starts_with(bytes)).then(|| fault(name.file, name.offset, end, kind))
}

fn fault(file: u32, start: u64, end: u64, kind: ScrubFaultKind) -> ScrubFault {
    let (file, length) = (file_name(file), end - start);
    ScrubFault { file, offset: start, length, kind, bits: None, generation: None, from: None }
}
