//! The one source of randomness in tests and simulations: SplitMix64 (Steele, Lea, Flood, *Fast splittable
//! pseudorandom number generators*, 2014). Not for secrets.
//!
//! Must not know: what is decided by it.

/// A seeded stream of numbers; equal seeds give equal streams on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The stream of this seed for one purpose, so that two uses of one seed differ.
    pub fn seeded(seed: u64, purpose: &str) -> Random {
        let mut random = Random::new(seed);
        for byte in purpose.bytes() {
            random.0 = random.0.wrapping_add(u64::from(byte));
            random.0 = random.next_u64();
        }
        random
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A number below `bound` (0 for a bound of 0). Multiply-shift: the bias is below bound / 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A place in a list of this length, which is not empty.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Puts the items into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    /// True once in `one_in` times on average; never for 0.
    pub fn chance(&mut self, one_in: u64) -> bool {
        one_in > 0 && self.below(one_in) == 0
    }

    /// How many trials it takes until one succeeds, from 1 on, where each does with this probability: a geometric
    /// distribution, by inversion.
    pub fn until(&mut self, probability: f64) -> u64 {
        let uniform = (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        ((1.0 - uniform).ln() / (-probability).ln_1p()).floor().min(1e18) as u64 + 1
    }

    /// Fills the bytes with noise.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        // Whole words by themselves: copies of a length that is known are one instruction.
        let mut words = bytes.chunks_exact_mut(8);
        for word in &mut words {
            word.copy_from_slice(&self.next_u64().to_le_bytes());
        }
        let rest = words.into_remainder();
        if !rest.is_empty() {
            rest.copy_from_slice(&self.next_u64().to_le_bytes()[..rest.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // Reference values of SplitMix64 for seed 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn each_purpose_has_a_stream_of_its_own() {
        let first = |seed, purpose: &str| Random::seeded(seed, purpose).next_u64();
        assert_eq!(first(7, "order"), first(7, "order"));
        assert_ne!(first(7, "order"), first(8, "order"));
        assert_ne!(first(7, "order"), first(7, "bytes"));
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

    #[test]
    fn an_event_of_one_in_fifty_takes_fifty_trials_in_the_mean() {
        let mut random = Random::new(5);
        let trials: Vec<u64> = (0..20_000).map(|_| random.until(0.02)).collect();
        let mean = trials.iter().sum::<u64>() as f64 / 20_000.0;
        assert!((mean - 50.0).abs() < 1.5 && trials.contains(&1), "{mean}");
        assert_eq!(random.until(1.0), 1);
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        let mut random = Random::new(7);
        for bound in [1, 2, 3, 1000, u64::MAX] {
            assert!((0..100).all(|_| random.below(bound) < bound), "bound {bound}");
        }
        assert_eq!(random.below(0), 0);
    }
}
