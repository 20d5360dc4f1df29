//! What an unfinished copy left: its temporary file, and what the journal beside it tells.

use std::path::{Path, PathBuf};

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
