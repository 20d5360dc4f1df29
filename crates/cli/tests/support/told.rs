//! What an unfinished copy left: its temporary file, and what the journal beside it tells.

use std::path::{Path, PathBuf};

use datapump_core::resume::{JournalMachine, Ranges, ResumeHead, ResumeLife};

const HEAD_BYTES: usize = 512;
const RECORD_BYTES: usize = 32;

/// A temporary file and its journal.
pub struct Left {
    pub file: PathBuf,
    pub journal: PathBuf,
}

/// What stands in a folder; `None` where there is no journal.
pub fn left(folder: &Path) -> Option<Left> {
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let journal = entries.into_iter().find(|path| path.extension().is_some_and(|it| it == "journal"))?;
    Some(Left { file: journal.with_extension(""), journal })
}

impl Left {
    /// The ranges that the journal tells as written, or as synced.
    pub fn ranges(&self, synced: bool) -> Vec<(u64, u64)> {
        let bytes = std::fs::read(&self.journal).unwrap_or_default();
        let number = |record: &[u8], at: usize| {
            record[at..].first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk))
        };
        let records = bytes.get(HEAD_BYTES..).unwrap_or_default().chunks_exact(RECORD_BYTES).skip(1);
        let kind = u64::from(synced);
        let of_kind = records.filter(|record| number(record, 16) & 3 == kind && number(record, 8) > 0);
        let mut ranges: Vec<_> = of_kind.map(|record| (number(record, 0), number(record, 8))).collect();
        ranges.sort_unstable();
        ranges
    }

    /// Bytes in them. Two records may tell the same.
    pub fn told(&self, synced: bool) -> u64 {
        let mut end = 0;
        let ranges = self.ranges(synced).into_iter();
        ranges
            .map(|(from, to)| {
                let from = from.max(end);
                end = end.max(to);
                to.saturating_sub(from)
            })
            .sum()
    }

    /// Bytes of whole MiB that are there, told or not. Behind the last of them a direct write leaves zeros up to a
    /// page, until the file is complete.
    pub fn really(&self, content: &[u8]) -> u64 {
        let found = std::fs::read(&self.file).expect("the temporary file");
        let blocks = found.chunks(1 << 20).zip(content.chunks(1 << 20));
        blocks.filter(|(one, other)| one.starts_with(other)).map(|(_, other)| other.len() as u64).sum()
    }
}

impl Left {
    /// Makes the journal one of a run that looked at its source within a tick: it tells the same, of a source that has
    /// the times that this one has now.
    pub fn make_young(&self, source: Option<&std::fs::Metadata>) {
        use std::os::unix::fs::MetadataExt;
        let bytes = std::fs::read(&self.journal).expect("it is there");
        let mut head = ResumeHead::decode(&bytes).expect("a head");
        head.is_settled = false;
        if let Some(source) = source {
            let ns = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
            head.source.mtime_ns = ns(source.mtime(), source.mtime_nsec());
            head.source.ctime_ns = ns(source.ctime(), source.ctime_nsec());
        }
        let life = ResumeLife { boot: [0; 16], mount: 0, is_unsynced: false };
        let mut told = Ranges::default();
        [false, true]
            .iter()
            .flat_map(|&synced| self.ranges(synced))
            .for_each(|(from, to)| told.insert(from, to));
        let mut journal = JournalMachine::new(head, life);
        let mut bytes = head.encode().to_vec();
        for (at, record) in [journal.begin(1)].into_iter().chain(journal.add_synced(&told)) {
            bytes.resize(bytes.len().max(at as usize + RECORD_BYTES), 0);
            bytes[at as usize..at as usize + RECORD_BYTES].copy_from_slice(&record);
        }
        std::fs::write(&self.journal, bytes).expect("it is ours");
    }
}
