//! A seeded source of random numbers: the same seed gives the same shuffle and the same bytes on every machine.
//!
//! Not for secrets. Must not know: what the numbers decide.

/// A generator whose state is one number (splitmix64: Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Starts from a seed.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// Starts from a seed and the name of what it is for, so that two uses of one seed differ.
    pub fn of(seed: u64, purpose: &str) -> Random {
        let mut random = Random::new(seed);
        for byte in purpose.bytes() {
            random.state = random.state.wrapping_add(u64::from(byte));
            random.state = random.number();
        }
        random
    }

    /// The next number, any 64 bits.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// The next number below `limit`, which is not 0. Its bias is below `limit` / 2^64.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.number()) * limit as u128) >> 64) as usize
    }

    /// Fills the bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(8) {
            let number = self.number().to_le_bytes();
            part.copy_from_slice(&number[..part.len()]);
        }
    }

    /// Puts the items into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let first = |seed, purpose: &str| Random::of(seed, purpose).number();
        assert_eq!(first(7, "order"), first(7, "order"));
        assert_ne!(first(7, "order"), first(8, "order"));
        assert_ne!(first(7, "order"), first(7, "bytes"));
        // The first output for state 0, as published with the algorithm's reference code.
        assert_eq!(Random::new(0).number(), 0xE220_A839_7B1D_CDAF);
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_moves_some() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(1).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn bytes_are_filled_to_the_last() {
        let mut bytes = [0; 4099];
        Random::new(3).fill(&mut bytes);
        let zeros = bytes.iter().filter(|&&byte| byte == 0).count();
        assert!(zeros < 60 && bytes[4096..] != [0; 3], "{zeros} of 4099 bytes are 0");
    }
}
