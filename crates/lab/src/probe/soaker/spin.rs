//! A spin: a chain of multiplications in registers. A fixed number of them, timed, is the pace of the processor.
//!
//! The pace is taken from blocks of about 50 µs: the median of a hundred, times a hundred. What comes between two
//! blocks (an interrupt, another program's turn) does not change it; a clock, a neighbour on the same core or a
//! hypervisor that slow every block do. Must not know: what is run between two spins.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long the spin takes, about, and in how many blocks.
const SPIN: Duration = Duration::from_millis(5);
const BLOCKS: usize = 100;
/// The first count of iterations that is timed: some microseconds.
const ITERATIONS_FIRST: u64 = 1 << 12;

/// Iterations of a chain, each of which needs the result of the one before.
pub fn spin(iterations: u64, mut state: u64) -> u64 {
    for _ in 0..iterations {
        state = state.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23).wrapping_add(1);
    }
    black_box(state)
}

/// A fixed amount of arithmetic, whose time is the pace of the processor.
#[derive(Clone, Copy, Debug)]
pub struct FixedSpin {
    block_iterations: u64,
}

impl FixedSpin {
    /// An amount that takes about 5 ms on this CPU now.
    pub fn calibrated() -> FixedSpin {
        let first = FixedSpin { block_iterations: ITERATIONS_FIRST };
        let iterations = u128::from(ITERATIONS_FIRST) * SPIN.as_nanos() / u128::from(first.pace_ns().max(1));
        FixedSpin { block_iterations: (iterations as u64).max(1) }
    }

    /// How long it takes now, on the CPU of the calling thread.
    pub fn pace_ns(&self) -> u64 {
        let (mut state, mut before) = (1, Instant::now());
        let mut blocks = [0; BLOCKS].map(|_: u64| {
            state = spin(self.block_iterations, state);
            let now = Instant::now();
            let block_ns = (now - before).as_nanos() as u64;
            before = now;
            block_ns
        });
        *blocks.select_nth_unstable(BLOCKS / 2).1 * BLOCKS as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spin_depends_on_every_iteration() {
        assert_eq!(spin(0, 7), 7);
        assert_eq!(spin(5, 7), spin(2, spin(3, 7)));
    }

    #[test]
    fn twice_the_arithmetic_takes_longer() {
        let once = FixedSpin::calibrated();
        let four_times = FixedSpin { block_iterations: once.block_iterations * 4 };
        assert!(four_times.pace_ns() > once.pace_ns(), "{once:?}");
    }
}
