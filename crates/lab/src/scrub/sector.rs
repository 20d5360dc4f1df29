//! Sectors that describe themselves: each carries the number of its file, its offset, its generation and a seal, so
//! that a wrong one says where it came from. Makes them and judges them.
//!
//! A sector is, in little-endian numbers: 8 bytes that name the form, offset (8), generation (8), number of the file
//! (4), zeros (4), content (464) and the seal (16): the first half of BLAKE3 over all before it, keyed by the seed.
//! Content is SplitMix64, seeded by all of these, so that a damaged sector can be compared with what it was, by bits.
//!
//! Must not know: files, folders, how sectors are read and written, which faults they add up to.

use datapump_engine::sim::Random;

/// What disks call a sector: the smallest piece that they lose, keep or misplace as a whole.
pub const SECTOR_BYTES: usize = 512;

/// What a sector begins with; the last byte is the version of the form.
pub const FORM: [u8; 8] = *b"pumpscr1";

const HEAD_BYTES: usize = 32;
const SEAL_BYTES: usize = 16;
const SEALED_BYTES: usize = SECTOR_BYTES - SEAL_BYTES;

/// Up to so many wrong bits are single bits. Other content differs in half of its 3,712 bits, give or take 31.
const BITS_MAX: u32 = 8;

const KEY_CONTEXT: &str = "datapump 2026-01 scrub: seal of a sector";

/// Which sector it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectorName {
    /// Number of the file, from 0.
    pub file: u32,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// How often the files have been written, from 1.
    pub generation: u64,
}

/// What a sector is found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It belongs where it was found; whether its generation is the newest is not known here.
    Whole {
        /// Its generation.
        generation: u64,
    },
    /// It belongs here, but for a few bits.
    Bits {
        /// Its generation.
        generation: u64,
        /// The first byte that is wrong, in the sector.
        first: u32,
        /// The last one.
        last: u32,
        /// How many bits are wrong.
        count: u32,
    },
    /// A whole sector that belongs elsewhere.
    Elsewhere(SectorName),
    /// Nothing but zeros.
    Zeros,
    /// Anything else.
    Garbage,
}

/// Makes and judges the sectors of one seed.
#[derive(Clone, Debug)]
pub struct SectorForm {
    seed: u64,
    key: [u8; 32],
}

impl SectorForm {
    /// The sectors of this seed.
    pub fn new(seed: u64) -> SectorForm {
        SectorForm { seed, key: blake3::derive_key(KEY_CONTEXT, &seed.to_le_bytes()) }
    }

    /// Makes the sector.
    pub fn make(&self, name: SectorName, sector: &mut [u8; SECTOR_BYTES]) {
        sector[..8].copy_from_slice(&FORM);
        sector[8..16].copy_from_slice(&name.offset.to_le_bytes());
        sector[16..24].copy_from_slice(&name.generation.to_le_bytes());
        sector[24..28].copy_from_slice(&name.file.to_le_bytes());
        sector[28..HEAD_BYTES].fill(0);
        self.content(name).fill(&mut sector[HEAD_BYTES..SEALED_BYTES]);
        let seal = self.seal(sector);
        sector[SEALED_BYTES..].copy_from_slice(&seal);
    }

    /// Each number goes through the generator by itself, so that no two sectors have one stream.
    fn content(&self, name: SectorName) -> Random {
        let numbers = [u64::from(name.file), name.offset, name.generation];
        let seed = numbers.iter().fold(self.seed, |seed, number| Random::new(seed ^ number).next_u64());
        Random::new(seed)
    }

    fn seal(&self, sector: &[u8; SECTOR_BYTES]) -> [u8; SEAL_BYTES] {
        let hash = blake3::keyed_hash(&self.key, &sector[..SEALED_BYTES]);
        *hash.as_bytes().first_chunk().expect("a hash has 32 bytes")
    }

    /// What the sector says it is, if its seal is right.
    pub fn name(&self, sector: &[u8; SECTOR_BYTES]) -> Option<SectorName> {
        (self.seal(sector) == sector[SEALED_BYTES..]).then(|| claimed(sector))
    }

    /// Judges what was found at this place. `newest` is the generation that is expected.
    pub fn judge(&self, file: u32, offset: u64, newest: u64, sector: &[u8; SECTOR_BYTES]) -> Judgement {
        match self.name(sector) {
            Some(name) if (name.file, name.offset) == (file, offset) => {
                Judgement::Whole { generation: name.generation }
            }
            Some(name) => Judgement::Elsewhere(name),
            None if is_zero(sector) => Judgement::Zeros,
            None => {
                // The bit may be one of the generation's.
                let generations = [newest, claimed(sector).generation];
                let near = |generation| self.bits(SectorName { file, offset, generation }, sector);
                generations.into_iter().find_map(near).unwrap_or(Judgement::Garbage)
            }
        }
    }

    /// How the sector differs from this one, if by few bits.
    fn bits(&self, name: SectorName, sector: &[u8; SECTOR_BYTES]) -> Option<Judgement> {
        let mut expected = [0; SECTOR_BYTES];
        self.make(name, &mut expected);
        let wrong = || expected.iter().zip(sector).map(|(one, other)| (one ^ other).count_ones());
        let count = wrong().sum();
        let first = wrong().position(|bits| bits > 0)?;
        let last = SECTOR_BYTES - 1 - wrong().rev().position(|bits| bits > 0)?;
        let generation = name.generation;
        (count <= BITS_MAX).then_some(Judgement::Bits {
            generation,
            first: first as u32,
            last: last as u32,
            count,
        })
    }
}

/// Whether it begins as sectors do, of whatever seed.
pub fn has_form(sector: &[u8; SECTOR_BYTES]) -> bool {
    sector.starts_with(&FORM)
}

pub fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

fn claimed(sector: &[u8; SECTOR_BYTES]) -> SectorName {
    let eight = |at: usize| sector[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let file = sector[24..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    SectorName { file, offset: eight(8), generation: eight(16) }
}
