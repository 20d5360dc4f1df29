//! A scrub in words.
//!
//! Must not know: how faults are found.

use std::fmt;

use datapump::units::{bytes_words, with_commas};

use super::faults::{ScrubFault, ScrubFaultKind};
use super::{Scrubbed, layout::FILES};

/// More faults than that are counted and left to --json.
const LINES_MAX: usize = 100;

/// What may explain what was found.
pub fn notes(done: &Scrubbed, others: usize) -> Vec<String> {
    let of_all = |kind| done.faults.iter().filter(|fault| fault.kind == kind).count() == FILES as usize;
    let is_other_size = of_all(ScrubFaultKind::Trailing) || of_all(ScrubFaultKind::Truncated);
    let notes = [
        (
            done.generation == 0,
            format!("no sector is of seed {}: were the files written with another?", done.seed),
        ),
        (is_other_size, "all files have another length: were they written with another --size?".into()),
        (others == 1, "one other name in the folder was not looked at".into()),
        (others > 1, format!("{others} other names in the folder were not looked at")),
    ];
    notes.into_iter().filter(|(holds, _)| *holds).map(|(_, words)| words).collect()
}

impl fmt::Display for Scrubbed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed_ns as f64 / 1e9;
        let verb = if self.written { "wrote" } else { "read" };
        writeln!(
            out,
            "{}: {verb} {} in {} files, seed {}, generation {}, in {seconds:.2} s, {}/s",
            self.folder,
            bytes_words(self.bytes),
            self.files,
            self.seed,
            self.generation,
            bytes_words((self.bytes as f64 / seconds.max(1e-9)) as u64),
        )?;
        if !self.written {
            self.write_faults(out)?;
        }
        if let Some((hash, all)) = self.hash_ns_per_byte.zip(self.cpu_ns_per_byte) {
            let what = if self.written { "making" } else { "checking" };
            writeln!(out, "{what} cost {hash:.2} ns/byte of CPU time, all of it {all:.2} ns/byte")?;
        }
        if self.written {
            writeln!(out, "synced; the same command without --write reads them back and checks them")?;
        } else {
            writeln!(out, "{}", self.cache_words())?;
        }
        self.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
    }
}

impl Scrubbed {
    fn write_faults(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sectors = with_commas(self.size_bytes / self.sector_bytes.max(1));
        match self.faults.len() {
            0 => return writeln!(out, "no faults in {sectors} sectors"),
            1 => writeln!(out, "1 fault in {sectors} sectors:")?,
            count => writeln!(out, "{} faults in {sectors} sectors:", with_commas(count as u64))?,
        }
        self.faults.iter().take(LINES_MAX).try_for_each(|fault| writeln!(out, "  {fault}"))?;
        match self.faults.len().saturating_sub(LINES_MAX) {
            0 => Ok(()),
            more => writeln!(out, "  and {} more, which --json tells", with_commas(more as u64)),
        }
    }

    /// Advice needs no root and promises nothing: what it came to is what stayed.
    fn cache_words(&self) -> String {
        match self.cached_bytes {
            Some(0) => "the page cache was told to let the files go, and holds none of them: the disk was read".into(),
            Some(stayed) => format!(
                "the page cache was told to let the files go, and kept {}: this much was read from memory, and says \
                 nothing about the disk; as root, `echo 3 > /proc/sys/vm/drop_caches` empties it, but not a file \
                 system in memory",
                bytes_words(stayed)
            ),
            None => "the page cache was told to let the files go; whether it did is told to their owner or root, by \
                     Linux 6.5 or newer, alone: some may have been read from memory"
                .into(),
        }
    }
}

impl fmt::Display for ScrubFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScrubFault { file, offset, length, kind, .. } = self;
        write!(out, "{file}, bytes {offset}..{}: {}", offset + length, kind.name())?;
        if let Some(bits) = self.bits {
            let words = if bits == 1 { "bit differs" } else { "bits differ" };
            write!(out, " ({bits} {words})")?;
        }
        if let Some(from) = &self.from {
            write!(out, " (from {}, byte {})", from.file, from.offset)?;
        }
        self.generation.map_or(Ok(()), |generation| write!(out, " (generation {generation})"))
    }
}
