//! The files to scrub, and the length of each.
//!
//! Must not know: whether they are there, what is in them.

use datapump::units::bytes_words;

use super::sector::SECTOR_BYTES;

/// So many files, so that blocks which change places between files show.
pub const FILES: u32 = 8;

const SECTOR: u64 = SECTOR_BYTES as u64;
/// Each file has a sector.
pub const SIZE_MIN_BYTES: u64 = FILES as u64 * SECTOR;

/// The files, together of the size that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrubLayout {
    bytes: u64,
}

impl ScrubLayout {
    /// The layout of this size; else what is wrong with the size.
    pub fn new(bytes: u64) -> Result<ScrubLayout, String> {
        let most = i64::MAX as u64;
        if bytes < SIZE_MIN_BYTES {
            let words = bytes_words(bytes);
            return Err(format!(
                "{words} are too few: each of {FILES} files needs a sector; the least is 4KiB"
            ));
        }
        if !bytes.is_multiple_of(SECTOR) {
            let (below, above) = (bytes / SECTOR * SECTOR, bytes.div_ceil(SECTOR).saturating_mul(SECTOR));
            return Err(format!(
                "{bytes} bytes are no multiple of a sector (512 bytes): write {below}B or {above}B"
            ));
        }
        if bytes > most {
            return Err(format!("no file system holds {}", bytes_words(bytes)));
        }
        Ok(ScrubLayout { bytes })
    }

    /// Bytes of all files.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// The numbers of the files.
    pub fn files(self) -> std::ops::Range<u32> {
        0..FILES
    }

    /// Bytes of this file: sectors that do not come out even go to the first ones.
    pub fn file_bytes(self, file: u32) -> u64 {
        let (each, more) = (self.bytes / SECTOR / u64::from(FILES), self.bytes / SECTOR % u64::from(FILES));
        (each + u64::from(u64::from(file) < more)) * SECTOR
    }
}

/// The name of a file in the folder.
pub fn file_name(file: u32) -> String {
    format!("scrub-{file}.bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_add_up_to_the_size() {
        for bytes in [4096, 4608, 7 * 512 + 4096, 48 << 20, (1 << 30) + 512, i64::MAX as u64 / 512 * 512] {
            let layout = ScrubLayout::new(bytes).expect("a size that can be had");
            let sizes: Vec<u64> = layout.files().map(|file| layout.file_bytes(file)).collect();
            assert_eq!(sizes.iter().sum::<u64>(), bytes);
            assert!(sizes.iter().all(|size| *size >= 512 && size % 512 == 0), "{bytes}: {sizes:?}");
        }
    }

    #[test]
    fn what_is_no_size_says_which_is() {
        for (bytes, words) in [
            (0, "the least is 4KiB"),
            (4095, "the least is 4KiB"),
            (5000, "write 4608B or 5120B"),
            (u64::MAX - 511, "no file system"),
        ] {
            let error = ScrubLayout::new(bytes).expect_err("no size");
            assert!(error.contains(words), "{bytes}: {error}");
        }
    }
}
